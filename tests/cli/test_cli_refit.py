"""volt refit and volt extend, as users call them."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import volt


def run(*arguments: str | Path, seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from volt.cli import main; main()", *map(str, arguments)],
        capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONHASHSEED": seed},
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of one made-up text, and two files of another."""
    target = tmp_path_factory.mktemp("text")
    for name, letters in (("old.txt", "abcdefg"), ("one.txt", "abcd"), ("two.txt", "cdefg")):
        draw = random.Random(name)
        words = ["".join(draw.choices(letters, k=draw.randint(1, 7))) for _ in range(300)]
        text = [" ".join(draw.choices(words, k=8)) for _ in range(200)]
        (target / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    vocabulary = volt.learn([target / "old.txt"], size=700, pretokenizer="byte-level")
    volt.export(vocabulary.vocabulary, "hf", target / "hf")
    return target


FILES = ["generation_config.json", "id_map.npy", "refit.json", "signature.txt",
         "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
         "volt.json"]  # fmt: skip


def test_refit(folder: Path, tmp_path: Path) -> None:
    tokenizer, out = folder / "hf" / "tokenizer.json", tmp_path / "out"
    done = run("refit", tokenizer, "--on", folder / "one.txt", folder / "two.txt", "-o", out,
               "--sizes", "310,360,410", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["before"]["size"] == 700 and told["criterion"] == "auto"
    assert told["vocabulary_size"] == 700 - told["dropped"] < 700
    assert told["files"] == FILES == sorted(path.name for path in (tmp_path / "out").glob("[!.]*"))
    assert f"700 tokens -> {told['vocabulary_size']} tokens: the cheapest size that" in done.stderr
    assert "what could be encoded still can" in done.stderr
    id_map = np.load(tmp_path / "out" / "id_map.npy")
    assert int((id_map < 0).sum()) == told["dropped"]
    saved = json.loads((tmp_path / "out" / "refit.json").read_text(encoding="utf-8"))
    assert saved["signature"] == told["signature"]
    assert volt.load(tmp_path / "out").vocabulary.signature == told["signature"]


def test_the_same_bytes_for_any_threads_and_hash_seed(folder: Path, tmp_path: Path) -> None:
    for command, more in (("refit", ("--size", "500")), ("extend", ("--add", "20"))):
        for number in ("1", "2"):
            out = tmp_path / command / number
            done = run(command, folder / "hf", "--on", folder / "one.txt", *more, "-q", "-o", out,
                       "--threads", number, seed=number)  # fmt: skip
            assert done.returncode == 0 and done.stderr == done.stdout == "", done.stderr
        first, second = (
            {path.name: path.read_bytes() for path in (tmp_path / command / number).iterdir()}
            for number in ("1", "2")
        )
        assert first == second


def test_extend(folder: Path, tmp_path: Path) -> None:
    done = run("extend", folder / "hf", "--on", folder / "one.txt", "--add", "25",
               "-o", tmp_path / "out", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["added"] == 25 and told["vocabulary_size"] == 725 and told["dropped"] == 0
    assert told["after"]["tokens"] < told["before"]["tokens"]
    assert "700 tokens -> 725; the old ones have their ids" in done.stderr
    assert np.load(tmp_path / "out" / "id_map.npy").tolist() == list(range(700))


def test_errors_leave_nothing(folder: Path, tmp_path: Path) -> None:
    tokenizer, text, out = folder / "hf", folder / "one.txt", tmp_path / "out"
    damaged = tmp_path / "tokenizer.json"
    damaged.write_text('{"model": {"type": "BPE", "vocab": {"a": 7}}}', encoding="utf-8")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"vocab_size": 700}', encoding="utf-8")
    (model / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    for arguments, message in (
        (("refit", tokenizer, "-o", out), "--on FILE"),
        (("refit", tokenizer, "--on", tmp_path / "none", "-o", out), "no such file"),
        (("refit", damaged, "--on", text, "-o", out), "tokenizer.json"),
        (("refit", tokenizer, "--on", text, "-o", out, "--model", model), "cut short"),
        (("refit", tokenizer, "--on", text, "-o", folder), "contains"),
        (("extend", tokenizer, "--on", text, "-o", out), "--add"),
    ):
        done = run(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert message in done.stderr and "Traceback" not in done.stderr
        assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "tokenizer.json"]
