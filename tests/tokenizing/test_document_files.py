"""Encoding whole documents: the ids of the text, wherever blocks and threads end."""

import json
import random
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import Tokenizer
from volt.counting.documents import documents_of
from volt.counting.inputs import TextInput
from volt.counting.words import PRETOKENIZERS
from volt.tokenizing.build import build_vocabulary

NAMES = [name for name, mode in PRETOKENIZERS.items() if mode.byte_level]
CUSTOM = r"custom:\p{L}+\n?|\s+"
PARTS = [
    *"aA1!/'é日。ガ \t\n\r\u3000\x00", "'s", "12345", "\r\n", "  ", "def f(x):", "\n    ", "return",
    "!!\n\n", " \n ", "x" * 70, "\n" * 70, " " * 70, "\n/\n/" * 9, "<x y>",
]  # fmt: skip
texts = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)


@cache
def learned(pretokenizer, symbols=()):
    generator = random.Random(8)
    some = ["".join(generator.choices(PARTS, k=200)) for _ in range(60)]
    return volt.learn([some], pretokenizer=pretokenizer, size=500, symbols=symbols).vocabulary


def rows(found):
    ids, offsets = found
    return [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())]


@pytest.mark.parametrize("pretokenizer", [*NAMES, CUSTOM, "metaspace", "whitespace"])
@given(st.lists(texts, min_size=1, max_size=3), st.integers(1, 90), st.integers(1, 3))
def test_files(tmp_path_factory, pretokenizer, documents, block, threads):
    tok = Tokenizer(learned(pretokenizer), threads=threads)
    folder = tmp_path_factory.getbasetemp()
    files = [folder / f"document-{number}" for number in range(len(documents))]
    for file, text in zip(files, documents, strict=True):
        file.write_bytes(text.encode())
    expected = [tok.encode(text) for text in documents]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("volt.tokenizing.feeding.BLOCK", block)
        for file, ids in zip(files, expected, strict=True):
            assert rows(tok.encode_file(file, unit="document")) == [ids]
        printed = b"".join(tok.encode_to_text(files, "ids", unit="document")).decode()
        assert [[*map(int, row.split())] for row in printed.split("\n")[:-1]] == expected
        blocks = list(tok.encode_to_arrays(files, unit="document"))
    ends = np.concatenate([ends for _, ends in blocks]).tolist()
    assert ends == np.cumsum([len(ids) for ids in expected]).tolist()


@pytest.mark.parametrize("pretokenizer", [*NAMES, CUSTOM])
def test_large_documents_and_many_small_ones(pretokenizer):
    generator = random.Random(3)
    tok = Tokenizer(learned(pretokenizer, ("<x y>",)), threads=3)
    plain = Tokenizer(learned(pretokenizer), threads=3)
    large = "".join(generator.choices(PARTS, k=60_000))
    small = ["".join(generator.choices(PARTS, k=generator.randrange(9))) for _ in range(9_000)]
    documents = [large, *small, "", large[:90_000]]
    source = TextInput(
        "text", 1, batches=lambda: iter([documents_of([text.encode() for text in documents])])
    )
    for one in (plain, tok):  # names may be anywhere, so that texts with them are not cut
        assert rows(one.encode_file(source)) == one.encode_batch(documents)
    dropped = plain.encode_file(source, dropout=0.2, seed=4)
    if not pretokenizer.startswith("custom"):
        assert rows(dropped) == plain.encode_batch(documents, dropout=0.2, seed=4)
    lines = [line for text in documents for line in text.removesuffix("\n").split("\n")]
    assert rows(plain.encode_file(source, unit="line")) == plain.encode_batch(lines)


def test_what_a_file_reads_is_in_volt_json(tmp_path):
    vocabulary = learned("byte-level")
    vocabulary.save(tmp_path / "volt.json")
    data = json.loads((tmp_path / "volt.json").read_text())
    assert (data["format"], data["reads"]) == (5, "document")
    text = tmp_path / "text"
    text.write_text("a\nb\n")
    assert len(volt.load(tmp_path / "volt.json").encode_file(text)[1]) == 2
    # Files of older versions read lines, as they did.
    del data["reads"]
    data["format"] = 1
    (tmp_path / "volt.json").write_text(json.dumps(data))
    old = volt.load(tmp_path / "volt.json")
    assert old.vocabulary.rule.reads == "line"
    assert len(old.encode_file(text)[1]) == 3
    old.vocabulary.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["format"] == 1
    for wrong in ({"format": 1, "reads": "document"}, {"format": 5, "reads": "page"}):
        (tmp_path / "volt.json").write_text(json.dumps(data | wrong))
        with pytest.raises(volt.InputError, match="reads"):
            volt.load(tmp_path / "volt.json")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_older_files_read_lines(version):
    path = Path(__file__).parents[1] / "golden" / f"volt-format-{version}.json"
    assert volt.load(path).vocabulary.rule.reads == "line"


def test_offsets_and_decoding():
    for pretokenizer in (*NAMES, CUSTOM):
        tok = Tokenizer(learned(pretokenizer), threads=1)
        text = "def f(x):\n\n    return é日\r\n'sx\n"
        ids, spans = tok.encode_with_offsets(text)
        assert ids == tok.encode(text) == tok.encode_array(text).tolist()
        assert tok.count(text) == len(ids)
        assert tok.decode(ids) == text
        assert (spans[0][0], spans[-1][1]) == (0, len(text))
        assert all(a[1] == b[0] or a == b for a, b in pairwise(spans))


@given(
    st.lists(st.text("ab é日 \n<x", max_size=40), min_size=1, max_size=3).map("".join),
    st.integers(1, 20),
    st.sampled_from(["line", "document"]),
    st.booleans(),
)
def test_a_run_of_unknown_characters_goes_on_across_blocks(
    tmp_path_factory, text, block, unit, names
):
    """With a vocabulary that makes one <unk> of it."""
    found = volt.candidates([["a b ab x <"]], pretokenizer="metaspace", min_frequency=1)
    vocabulary = build_vocabulary(found, [], unknown="unk", symbols=["<x"] if names else [])
    tok = Tokenizer(replace(vocabulary, fuse_unknown=True), threads=1)
    file = tmp_path_factory.getbasetemp() / "unknown"
    file.write_bytes(text.encode())
    lines = [text] if unit == "document" else text.removesuffix("\n").split("\n") if text else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("volt.tokenizing.feeding.BLOCK", block)
        assert rows(tok.encode_file(file, unit=unit)) == tok.encode_batch(lines)
