"""The data set of the documentation's examples: whole, and the same everywhere."""

import hashlib
import json

import pytest

from volt.base.errors import VoltError
from volt.data import get
from volt.data.sample import sentences


def test_the_sample_is_the_same_everywhere(tmp_path):
    result = get("sample", tmp_path / "sample")
    files = sorted(path for path in result.folder.iterdir() if not path.name.startswith("."))
    assert [path.name for path in files] == [
        "code.jsonl", "train.de", "train.en", "train.zh", "valid.de", "valid.en", "valid.zh",
        "web.jsonl",
    ]  # fmt: skip
    whole = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    assert whole == "9119f6034ff345f8b0103a73d19861e5401973b8c2e860288990f0e570ff3e1a"
    for split, lines in result.lines.items():
        for language in ("de", "en", "zh"):
            text = (result.folder / f"{split}.{language}").read_text(encoding="utf-8")
            assert text.count("\n") == lines
    for name in ("web", "code"):
        for line in (result.folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            assert json.loads(line)["text"]


def test_sentences_are_translations():
    """Names and numbers are in all languages, and German declines its articles."""
    for de, en, _ in sentences(200, 5):
        names = {word for word in en.split() if word[0].isupper() and word != "Where"}
        assert {name.strip(".") for name in names if name != "Monday."} <= {*de.split()}
        assert {word for word in de.split() if word.isdigit()} == {
            word for word in en.split() if word.isdigit()
        }
    assert any(" den " in de for de, _, _ in sentences(200, 5))


def test_some_languages_of_it(tmp_path):
    folder = get("sample", tmp_path / "two", languages=["de", "zh"]).folder
    assert {path.name for path in folder.glob("train.*")} == {"train.de", "train.zh"}
    with pytest.raises(VoltError, match="sample has de, en, zh"):
        get("sample", tmp_path / "none", languages=["de", "fr"])
