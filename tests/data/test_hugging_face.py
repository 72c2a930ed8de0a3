"""`hf:DATASET:CONFIG:SPLIT:FIELD` wherever a file is accepted. Data sets that lie here."""

import json

import pytest

import volt
from volt.base.errors import InputError, SettingsError
from volt.counting.inputs import find_inputs
from volt.data.clean import text_lines

pytest.importorskip("datasets")
ROWS = [
    {"text": "low low lower", "translation": {"de": "nieder", "en": "low"}, "n": 1},
    {"text": "two\nlines", "translation": {"de": "zwei\r\nZeilen", "en": "two"}, "n": 2},
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")


def test_words_are_counted_as_those_of_a_file(dataset, tmp_path):
    (tmp_path / "text").write_text("low low lower\ntwo\nlines\n")
    found = volt.count([f"hf:{dataset}::train:text"])
    assert found.digest() == volt.count([tmp_path / "text"]).digest()
    twice = volt.count([f"hf:{dataset}:default:train:text:2"])
    assert dict(twice.items())["▁low"] == 2 * dict(found.items())["▁low"]


def test_a_row_is_a_line_of_parallel_text(dataset):
    assert list(text_lines(f"hf:{dataset}::train:translation.de")) == ["nieder", "zwei Zeilen"]
    assert list(text_lines(f"hf:{dataset}::train:translation.en")) == ["low", "two"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("{}::train:nothing", "no field 'nothing'; there are: text"),
        ("{}::train:n", "field 'n' is int64, not text"),
        ("{}::nosplit:text", "nosplit"),
        ("{}/nowhere::train:text", "nowhere"),
    ],
)
def test_what_is_not_there_is_told(dataset, name, words):
    with pytest.raises(InputError, match=words):
        volt.count([f"hf:{name.format(dataset)}"])


def test_a_name_that_is_none():
    with pytest.raises(InputError, match="hf:DATASET:CONFIG:SPLIT:FIELD"):
        find_inputs("hf:only:two")
    with pytest.raises(SettingsError, match="has a weight in its name"):
        find_inputs(["hf:a:b:c:d:2"], weights=[3])
