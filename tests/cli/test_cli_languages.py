"""volt learn with languages, and volt merge, as users call them."""

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import volt


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from volt.cli import main; main()", *map(str, arguments)],
        capture_output=True, encoding="utf-8",
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up text of three languages, two of them parallel."""
    target = tmp_path_factory.mktemp("text")
    for code, letters, lines in (("en", "abcdefg", 200), ("ru", "абвгдеж", 200), ("xx", "pqr", 50)):
        draw = random.Random(code)
        words = ["".join(draw.choices(letters, k=draw.randint(1, 7))) for _ in range(300)]
        text = [" ".join(draw.choices(words, k=8)) for _ in range(lines)]
        (target / f"train.{code}").write_text("\n".join(text) + "\n", encoding="utf-8")
    return target


SMALL = ("--candidates", "bpe:900", "--sizes", "480,680,880")


def test_a_folder_of_languages(folder: Path, tmp_path: Path) -> None:
    done = run("learn", "--multilingual", folder, "--temperature", "5", "--json",
               "-o", tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["languages"]
    assert [row["code"] for row in told["rows"]] == ["en", "ru", "xx"]
    assert told["rows"][2]["weight"] == "3031/1000"  # 4^0.8 = 3.0314...
    assert told["reference"] == "en" and told["temperature"] == "5"
    saved = json.loads((tmp_path / "out" / "choices.json").read_text(encoding="utf-8"))
    assert saved["languages"] == told
    assert "parity" in done.stderr
    assert "transport is solved at sizes from" in saved["paper_notes"][0]
    assert "merges, not 300,000" not in done.stderr
    assert str(folder) not in (tmp_path / "out" / "choices.json").read_text(encoding="utf-8")


def test_languages_by_name_weights_and_parallel_text(folder: Path, tmp_path: Path) -> None:
    done = run("learn", "--lang", f"en={folder}/train.en", "--lang", f"ru={folder}/train.ru",
               "--weight", "ru=0.5", "--reference", "ru", "--parallel", f"en={folder}/train.en",
               "--parallel", f"ru={folder}/train.ru", *SMALL, "--json",
               "-o", tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["languages"]["rows"]
    assert [row["weight"] for row in rows] == ["1", "1/2"]
    assert rows[1]["parity"] == 1
    assert volt.load(tmp_path / "out").vocabulary.unit == 2


def test_min_share_tells_its_cost(folder: Path, tmp_path: Path) -> None:
    done = run("learn", "--multilingual", folder, "--min-share", "0.1", "--size", "700", *SMALL,
               "-o", tmp_path / "out", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert all(row["share"] >= 0.1 for row in found["languages"]["rows"])
    assert "cost" in done.stderr and "a share of 0.1 for each language" in done.stderr


def test_scripts_apart(folder: Path, tmp_path: Path) -> None:
    done = run("learn", "--multilingual", folder, "--separate-scripts", *SMALL, "--json",
               "-o", tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["scripts"]) == {"Latin", "Cyrillic"}
    assert found["unreachable"] == 0 and len(found["languages"]["rows"]) == 3
    told = run("info", tmp_path / "out")
    assert told.returncode == 0 and "criterion" not in told.stdout, told.stderr
    plain = run("learn", f"{folder}/train.en", f"{folder}/train.ru", "--separate-scripts", *SMALL,
                "-o", tmp_path / "plain", "-q")  # fmt: skip
    assert plain.returncode == 0 and plain.stderr == "" and plain.stdout == ""


def test_data_sets_by_the_name_of_their_field(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    english, russian = (
        (folder / name).read_text(encoding="utf-8").splitlines()
        for name in ("train.en", "train.ru")
    )
    rows = [
        {"translation": {"en": one, "ru": other}, "text": other}
        for one, other in zip(english, russian, strict=False)
    ]
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    field = f"hf:{tmp_path}/set::train:translation"
    named = run("learn", "--multilingual", f"{field}.en", f"{field}.ru:2.5", *SMALL,
                "-o", tmp_path / "named", "--json")  # fmt: skip
    assert named.returncode == 0, named.stderr
    found = json.loads(named.stdout)["languages"]["rows"]
    assert [(row["code"], row["lines"]) for row in found] == [("en", len(rows)), ("ru", len(rows))]
    told = run("learn", "--lang", f"ru=hf:{tmp_path}/set::train:text", *SMALL,
               "-o", tmp_path / "told")  # fmt: skip
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize(("arguments", "message"), [
    (["--lang", "en"], "--lang is CODE=..."),
    (["--lang", "en={}/train.en", "--weight", "2"], "--weight is CODE=..."),
    (["{}/train.en", "--temperature", "5"], "name languages with --lang"),
    (["{}/train.en", "--lang", "ru={}/train.ru"], "every file belongs to a language"),
    (["--multilingual", "{}", "--min-share", "0.4"], "at most 0.3333"),
    (["--multilingual", "{}", "--temperature", "0"], "temperature is 1 or more"),
    (["--multilingual", "{}", "--reference", "de"], "'de' is none of en, ru, xx"),
    (["--multilingual", "-"], "stdin has no language: name it with --lang CODE=-"),
    (["--multilingual", "hf:ted::train:text"],
     "hf:ted::train:text has no language: name it with --lang CODE=hf:ted::train:text"),
])  # fmt: skip
def test_mistakes(folder: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    given = [argument.format(folder) for argument in arguments]
    done = run("learn", *given, *SMALL, "-o", tmp_path / "out")
    assert done.returncode == 2 and message in done.stderr
    assert not (tmp_path / "out").exists()


def test_merge(folder: Path, tmp_path: Path) -> None:
    for code in ("en", "ru"):
        assert run("learn", f"{folder}/train.{code}", *SMALL, "-o", tmp_path / code).returncode == 0
    done = run("merge", tmp_path / "en", tmp_path / "ru", "-o", tmp_path / "joint", "--json")
    assert done.returncode == 0, done.stderr
    assert "(special tokens, symbols and bytes not counted)" in done.stderr
    joint = volt.load(tmp_path / "joint")
    assert json.loads(done.stdout)["vocabulary_size"] == len(joint)
    for number, code in enumerate(("en", "ru"), 1):
        part = volt.load(tmp_path / code)
        id_map = np.load(tmp_path / "joint" / f"id_map.{number}.npy")
        assert [joint.tokens[i] for i in id_map] == part.tokens
        for line in (folder / f"train.{code}").read_text(encoding="utf-8").splitlines():
            assert joint.decode(joint.encode(line)) == line
            # The scripts have no letters in common: text comes out as before.
            assert joint.encode(line) == id_map[part.encode(line)].tolist()
    again = run("merge", tmp_path / "en", tmp_path / "ru", "-o", tmp_path / "joint")
    assert again.returncode == 2 and "--force" in again.stderr
    measured = run("merge", tmp_path / "en", tmp_path / "ru", "-o", tmp_path / "joint", "--force",
                   "--on", f"{folder}/train.en")  # fmt: skip
    assert measured.returncode == 0
    assert (tmp_path / "joint" / "signature.txt").read_text().startswith("volt|joined:2|")
