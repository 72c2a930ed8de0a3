"""Records are encoded, compared and verified by the same options as they are counted."""

import json
from collections import Counter
from itertools import pairwise

import pytest

import volt
from volt.tokenizing.build import build_vocabulary

TEXTS = ["low lower\nlowest", "", "slow 日本", "widest newest low"]
RECORDS = [{"id": 1, "page": {"body": text}} for text in TEXTS]


@pytest.fixture(scope="module")
def tokenizer():
    found = volt.candidates([TEXTS * 5], pretokenizer="byte-level")
    return volt.Tokenizer(build_vocabulary(found, range(len(found))), threads=1)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in RECORDS))
    (tmp_path / "b.txt").write_text("left out by the glob")
    return tmp_path


def test_a_field_of_records_is_encoded(tokenizer, files):
    expected = [tokenizer.encode(text) for text in TEXTS]
    ids, ends = tokenizer.encode_file(files / "a.jsonl", field="page.body")
    assert [ids[a:b].tolist() for a, b in pairwise(ends)] == expected
    lines = b"".join(tokenizer.encode_to_text(files, "ids", field=["page.body"], glob="*.jsonl"))
    assert [list(map(int, line.split())) for line in lines.decode().splitlines()] == expected
    found = volt.encode_to_files(
        tokenizer, files / "a.jsonl", files / "x.bin", field="page.body", document_eos=False
    )
    assert found.tokens == sum(map(len, expected))


def test_what_is_not_text_is_not_encoded(tokenizer, files):
    with pytest.raises(volt.InputError, match=r"record 1: no field named .*there are: id, page"):
        tokenizer.encode_file(files / "a.jsonl")
    with pytest.raises(volt.SettingsError, match="word counts, not text"):
        list(tokenizer.encode_to_arrays(Counter(TEXTS * 2)))
    with pytest.raises(volt.SettingsError, match="word counts are not text"):
        tokenizer.encode_file(files / "b.txt", input_format="counts")
    (files / "c.jsonl").write_text('{"text": "low \\ud800"}\n')
    with pytest.raises(volt.InputError, match=r"c\.jsonl, record 1"):
        tokenizer.encode_file(files / "c.jsonl")
    ids, _ = tokenizer.encode_file(files / "c.jsonl", on_invalid="replace")
    assert tokenizer.decode(ids.tolist()) == "low \ufffd"


def test_records_are_compared_and_verified(tokenizer, files):
    tokenizer.vocabulary.save(files / "volt.json")
    path = files / "volt.json"
    found = volt.compare([path], files / "a.jsonl", field="page.body")
    assert (found.documents, found.rows[0].tokens) == (
        3, sum(len(tokenizer.encode(text)) for text in TEXTS)
    )  # fmt: skip
    before = volt.verify(path, path).documents
    assert volt.verify(path, path, files / "a.jsonl", field="page.body").documents == before + 3
    for asked in (volt.compare, lambda paths, on: volt.verify(*paths, on)):
        with pytest.raises(volt.InputError, match="no field named text"):
            asked([path, path], files / "a.jsonl")
