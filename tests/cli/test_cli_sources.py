"""--candidates and --encoding on the command line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

VOLT = Path(sys.executable).with_name("volt")

TEXT = "the cat sits at the window and looks at the rain\nthe rain stops, the cat still sits\n"
FAST = ["--sizes", "285,290,300", "--no-report"]


def run(folder, *arguments):
    return subprocess.run(
        [VOLT, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        cwd=folder,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "text").write_text(TEXT * 3)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "encoding"),
    [("unigram:80", "unigram"), ("substring:80", "unigram"), ("wordpiece:80", "longest")],
)
def test_learn_encode_decode(folder, source, encoding):
    learned = run(folder, "learn", "text", "-o", "out", "--candidates", source, *FAST)
    assert learned.returncode == 0, learned.stderr
    assert re.search(r"^\d+ tokens: the \w+ size that", learned.stderr, re.M)
    vocabulary = json.loads((folder / "out" / "volt.json").read_text())
    assert vocabulary["encoding"] == encoding
    assert f"|cand:{source.replace(':', '-')}|" in vocabulary["signature"]
    encoded = run(folder, "encode", "-m", "out", "text", "-o", "ids")
    assert encoded.returncode == 0, encoded.stderr
    decoded = run(folder, "decode", "-m", "out", "ids", "-o", "back")
    assert decoded.returncode == 0, decoded.stderr
    assert (folder / "back").read_text() == TEXT * 3


def test_candidates(folder):
    made = run(
        folder,
        "candidates",
        "text",
        "--candidates",
        "substring:50",
        "-o",
        "c.tsv",
        "--json",
    )
    assert made.returncode == 0, made.stderr
    data = json.loads(made.stdout)
    assert data["source"] == "substring:50"
    assert 4 + 256 + data["merges"] + data["alphabet"] == data["size"]
    curve = run(folder, "curve", "c.tsv")
    assert curve.returncode == 2
    assert "no parents" in curve.stderr


def test_a_vocabulary_as_candidates(folder):
    first = run(folder, "learn", "text", "-o", "one", "--candidates", "bpe:60", *FAST)
    assert first.returncode == 0, first.stderr
    options = ["--candidates", "file:one", "--encoding", "longest"]
    again = run(folder, "learn", "text", "-o", "two", *options, *FAST)
    assert again.returncode == 0, again.stderr
    one, two = (
        json.loads((folder / name / "volt.json").read_text())["tokens"] for name in ("one", "two")
    )
    pieces = {row["text"] for row in two if row["kind"] == "piece"}
    assert pieces
    assert pieces <= {row["text"] for row in one if row["kind"] == "merged"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--candidates", "file:none"], "no such file or folder: none"),
        (["--candidates", "substring:9", "--encoding", "merge"], "no parents"),
        (["--candidates", "substring:x"], "--candidates is bpe:N"),
        (["--candidates", "substring:90", "--rank", "merge"], "no order of merges"),
    ],
)
def test_what_can_not_be(folder, options, message):
    refused = run(folder, "learn", "text", "-o", "out", *options, *FAST)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (folder / "out").exists()


def test_the_page_tells_what_there_is(folder):
    learned = run(
        folder, "learn", "text", "-o", "out", "--candidates", "substring:80",
        "--sizes", "285,290,300",
    )  # fmt: skip
    assert learned.returncode == 0, learned.stderr
    report = json.loads((folder / "out" / "report.json").read_text())
    assert report["source"] == {"name": "substrings", "exact": False}
    assert report["bpe"] is None
    again = run(folder, "report", "out")
    assert again.returncode == 0, again.stderr
    compared = run(folder, "compare", "out", "out", "--on", "text")
    assert "Traceback" not in compared.stderr
