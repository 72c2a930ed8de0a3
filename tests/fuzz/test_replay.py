"""The inputs that fuzzers found worth keeping, without fuzzers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from readers import READERS, run

HERE = Path(__file__).parent
NATIVE = ("count", "merge", "encode")
"""Their inputs are settings and text; tests/fuzz/NAME.cpp says how they are read."""


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_its_files_or_refuses_them_in_words(name, tmp_path):
    number = list(READERS).index(name)
    kept = [file.read_bytes() for file in sorted((HERE / "corpus" / "readers").iterdir())]
    kept = [data for data in kept if data and data[0] % len(READERS) == number]
    assert kept, f"no input for {name}"
    assert any(run(data, tmp_path) == "" for data in kept), "all of them are refused"


@pytest.mark.parametrize("name", READERS)
def test_a_file_cut_short_or_damaged_is_refused_in_words(name, tmp_path):
    number = list(READERS).index(name)
    whole = (HERE / "corpus" / "readers" / f"seed-{name.replace('/', '-')}").read_bytes()
    for cut in range(1, len(whole), max(1, len(whole) // 40)):
        run(bytes([number]) + whole[1:cut], tmp_path)
        damaged = bytearray(whole)
        damaged[cut] ^= 1 << cut % 8
        run(bytes([number]) + damaged[1:], tmp_path)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_native_code_keeps_its_promises(tmp_path):
    """Every kept input through its harness, without sanitizers; `make fuzz` has them."""
    source = HERE.parents[1] / "src" / "core"
    main = tmp_path / "replay.cpp"
    main.write_text(REPLAY)
    objects = [file for file in source.glob("*/*.cpp") if file.parent.name != "bindings"]
    compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-O0", "-pthread", f"-I{source}"]
    subprocess.run(
        [*compiler, "-shared", "-fPIC", *objects, "-o", tmp_path / "libcore.so"], check=True
    )
    for name in NATIVE:
        program = tmp_path / name
        link = [f"-L{tmp_path}", "-lcore", f"-Wl,-rpath,{tmp_path}"]
        subprocess.run(
            [*compiler, f"-I{HERE}", main, HERE / f"{name}.cpp", *link, "-o", program], check=True
        )
        files = sorted((HERE / "corpus" / name).iterdir())
        assert files
        done = subprocess.run([program, *files], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


REPLAY = """
#include <cstdint>
#include <fstream>
#include <iterator>
#include <vector>
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
int main(int count, char** names) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    const std::vector<char> data((std::istreambuf_iterator<char>(file)), {});
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(data.data()), data.size());
  }
}
"""
