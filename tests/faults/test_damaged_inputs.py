"""Inputs that vanish, change, are damaged, never end, unfold without end: an error names them."""

import bz2
import gzip
import io
import lzma
import os
import random
import subprocess
from pathlib import Path

import pytest
import zstandard
from commands import VOLT, names, run

import volt
from volt.base.errors import InputError
from volt.counting import decoding, inputs

PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def failing(path, **options) -> str:
    """What the error says when the path is counted."""
    with pytest.raises(InputError) as raised:
        volt.count(path, **options)
    return str(raised.value)


# ---------------------------------------------------------------------------- they change meanwhile


def test_an_input_that_vanishes_before_its_turn_is_named(tmp_path):
    second = tmp_path / "second"
    second.write_text("b\n")

    def first():
        yield "a"
        second.unlink()

    assert failing([first(), second]) == f"cannot read {second}: No such file or directory"


@pytest.mark.parametrize("change", ["grows", "shrinks", "is written over"])
@pytest.mark.parametrize("pack", [None, "gz"])
def test_a_file_that_changes_while_it_is_read_is_no_corpus(tmp_path, monkeypatch, change, pack):
    monkeypatch.setattr("volt.counting.count.BLOCK", 1000)
    path = tmp_path / "text"
    data = "".join(f"{random.Random(n).random()}\n" for n in range(5000)).encode()
    data = PACK[pack](data) if pack else data
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))

    # The file is first looked into; the change comes with the first block that is read then.
    original = inputs._SteadyFile.readinto
    readers = []

    def readinto(self, buffer):
        got = original(self, buffer)
        if self not in readers:
            readers.append(self)
            if len(readers) < 2:
                pass
            elif change == "grows":
                with path.open("ab") as stream:
                    stream.write(b"more\n")
            elif change == "shrinks":
                os.truncate(path, len(data) // 2 + len(data) // 4)
            else:
                path.write_bytes(data)
        return got

    monkeypatch.setattr(inputs._SteadyFile, "readinto", readinto)
    message = failing(path)
    assert message.startswith(f"{path}: ")
    assert "changed while it was read" in message or "damaged or cut short" in message


# --------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("kind", PACK)
def test_compressed_text_that_is_damaged_in_the_middle(work, kind):
    text = "".join(f"{random.Random(n).random()}\n" for n in range(3000)).encode()
    data = bytearray(PACK[kind](text))
    middle = len(data) // 2
    data[middle : middle + 20] = bytes(20)
    (work / "packed").write_bytes(data)
    assert "packed: the compressed data is damaged or cut short" in failing("packed")
    if kind in ("gz", "zst"):
        result = run("encode", "-m", "model", "packed", "-o", "out", cwd=work)
        assert result.returncode == 2
        assert b"volt: packed: the compressed data is damaged or cut short" in result.stderr
        assert b"Traceback" not in result.stderr
        assert not {name for name in names(work) if name.startswith((".volt", "out"))}


# ---------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_a_bomb_is_not_unfolded(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(decoding, "EXPANDED", 1 << 20)
    monkeypatch.setattr(decoding, "MAX_RATIO", 200)
    path = tmp_path / "bomb"
    path.write_bytes(PACK[kind](bytes(8 << 20)))
    assert "unpacks to more than 200 times its size" in failing(path)
    # What is small enough may be as regular as it likes.
    path.write_bytes(PACK[kind](b"a\n" * (1 << 18)))
    assert volt.count(path).to_dict() == {"▁a": 1 << 18}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_bomb_of_frames_takes_little_memory(tmp_path):
    """Zstandard can say 128 KiB in 4 bytes. 64 GB are promised here by 2 MB."""
    frame = zstandard.ZstdCompressor().compress(bytes(1 << 20))
    path = tmp_path / "bomb"
    path.write_bytes(frame * (2_000_000 // len(frame)))
    program = (
        "import pathlib, sys, volt\n"
        "try: volt.count(sys.argv[1])\n"
        "except volt.InputError as error: print(error)\n"
        # Not ru_maxrss, which a process inherits from the one that started it.
        "status = pathlib.Path('/proc/self/status').read_text().partition('VmHWM:')[2]\n"
        "print(int(status.split()[0]) // 1024)"
    )
    done = subprocess.run(
        [VOLT.with_name("python"), "-c", program, path], capture_output=True, text=True
    )
    message, megabytes = done.stdout.splitlines()
    assert "more than 1,000 times its size" in message
    assert int(megabytes) < 1000


def test_a_line_too_long_to_be_skipped_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "LONGEST_SKIPPED", 1 << 12)
    monkeypatch.setattr("volt.counting.count.BLOCK", 1 << 10)
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"b " * 10_000 + b"\n")
    assert "line 2: longer than" in failing(path, on_invalid="skip-line")
    assert volt.count(path, on_invalid="replace").to_dict()["▁b"] == 10_000


def test_many_files(tmp_path):
    folder = tmp_path / "many"
    for part in range(20):
        (folder / f"{part}").mkdir(parents=True)
        for number in range(100):
            (folder / f"{part}" / f"{number}").write_text("a b\n")
    counts = volt.count(folder)
    assert (counts.totals.lines, counts.to_dict()) == (2000, {"▁a": 2000, "▁b": 2000})
    out = tmp_path / "out"
    volt.count_to_file(folder, out, memory="256M")
    stream = io.BytesIO()
    counts.write(stream)
    assert out.read_bytes() == stream.getvalue()


def test_a_folder_below_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    """Its files would be missing, and nobody told."""
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text("a\n")
    scan = os.scandir

    def scandir(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert failing(tmp_path) == f"cannot read {tmp_path / 'closed'}: Permission denied"


def test_an_empty_name_is_not_the_folder_one_is_in(work):
    result = run("count", "", cwd=work)
    assert result.returncode == 2
    assert result.stderr.startswith(b"volt: an input has an empty name")


def test_more_files_than_may_be_open_at_once(work):
    import resource

    folder = work / "many"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number}").write_text("a b\n")
    result = run(
        "count", "many", cwd=work,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_is_refused(work, device):
    result = run("count", device, cwd=work)
    assert result.returncode == 2
    assert result.stderr.decode() == f"volt: {device}: a device, which may never end; name a file\n"


def test_the_null_device_is_an_empty_text():
    assert volt.count(os.devnull).to_dict() == {}


def test_a_pipe_by_name_is_read_to_its_end(work):
    os.mkfifo("pipe")
    with subprocess.Popen(["sh", "-c", "cat text > pipe"], cwd=work):
        result = run("count", "pipe", "-o", "out", "-q", cwd=work)
    assert result.returncode == 0, result.stderr
    assert volt.count("out").to_dict() == volt.count("text").to_dict()


def test_a_link_to_itself_is_no_file(work):
    (work / "loop").symlink_to("loop")
    result = run("count", "loop", cwd=work)
    assert (result.returncode, result.stderr) == (2, b"volt: no such file: loop\n")


def test_folders_that_link_to_each_other_are_read_once(work):
    folder = work / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "text").write_text("a\n")
    (folder / "below" / "back").symlink_to(folder)
    (folder / "below" / "lost").symlink_to("lost")
    assert volt.count(folder).to_dict() == {"▁a": 1}
