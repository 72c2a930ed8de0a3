"""The native reader of tokenizer.json beside its slow twin, and what it makes of odd files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volt import _core
from volt.base.errors import InputError
from volt.formats.huggingface.file import Columns, tokenizer_json
from volt.reference.tokenizer_json import split_tokenizer_json
from volt.tokenizing.schemas import MOST_TOKENS

LETTERS = 'abĠé語🙂"\\/\n\x00\x7f \u2028'
TOKENS = st.dictionaries(st.text(LETTERS, max_size=3), st.integers(0, 12), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('a"\\]}[{,', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=4,
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Files that are nearly as usual, in several layouts."""
    vocab = draw(TOKENS)
    some = st.sampled_from([*vocab, "a"])
    pairs = draw(st.lists(st.tuples(some, some), max_size=5))
    merges: list[Any] = [list(pair) for pair in pairs]
    if draw(st.booleans()):
        merges = [" ".join(pair) for pair in pairs]
    large = [("vocab", vocab), ("merges", merges)]
    if draw(st.integers(0, 7)) == 0:
        large.reverse()
    if draw(st.integers(0, 7)) == 0:
        large[draw(st.integers(0, 1))] = ("vocab", draw(VALUES))
    members = [("type", "BPE"), *large, ("unk_token", draw(VALUES))]
    before, after = draw(VALUES), draw(VALUES)
    value = {"version": "1.0", "before": before, "model": dict(members), "after": after}
    indent = draw(st.sampled_from([None, 1, "\t"]))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=indent)
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.text('{}[]",:\\0u', max_size=2)) + text[place:]
    return text.encode()


def split(data: bytes) -> tuple[Any, dict[str, int], list[tuple[int, int, int]]] | None:
    """The native reader, in the form of its twin. What it returns of a file that is not JSON does
    not matter: `rest` is read by Python."""
    found = _core.split_tokenizer_json(data)
    if found is None:
        return None
    rest, text, offsets, ids, joins = found
    columns = Columns(text, offsets, ids, joins.reshape(-1, 3))
    try:
        value = json.loads(rest)
    except ValueError:
        return None
    return value, columns.vocab, [(a, b, c) for a, b, c in columns.joins.tolist()]


@given(files())
def test_split(data: bytes) -> None:
    expected = split_tokenizer_json(data)
    found = split(data)
    if found is None or expected is not None:
        assert found == expected
    else:  # a key of `rest` may be there twice, which Python allows
        whole = json.loads(data)
        assert whole["model"]["vocab"] == found[1]


def is_usual(whole: Any) -> bool:
    """Tokens with ids and, if there are merges, pairs of tokens."""
    model = whole.get("model") if isinstance(whole, dict) else None
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict):
        return False
    merges = model.get("merges") or []
    pairs = [one.split(" ") if isinstance(one, str) else one for one in merges]
    return all(type(i) is int and 0 <= i < MOST_TOKENS for i in model["vocab"].values()) and all(
        isinstance(one, list) and list(map(type, one)) == [str, str] for one in pairs
    )


@given(files())
def test_whole_value(data: bytes) -> None:
    try:
        whole = json.loads(data)
    except ValueError:
        return
    try:
        content = tokenizer_json("name", data)
    except InputError:
        assert not is_usual(whole)
        return
    assert content.whole == whole
    if content.columns is not None:
        model = content.head["model"]
        assert (model["vocab"], model["merges"]) == ({}, [])
        assert content.columns.vocab == whole["model"]["vocab"]
        merges = whole["model"]["merges"]
        pairs = [one.split(" ") if isinstance(one, str) else one for one in merges]
        assert content.columns.merges == pairs


USUAL = '{"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}}'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"a": 0', '"a": -1'),
        ('"a": 0', '"a": 00'),
        ('"a": 0', '"a": 0.0'),
        ('"a": 0', '"a": 1e0'),
        ('"a": 0', '"a": 1234567890'),
        ('"a": 0', '"a": null'),
        ('"a": 0', '"a": 0, "a": 0'),
        ('"a": 0', '"\\ud800": 0'),
        ('"a": 0', '"\\ud800\\u0041": 0'),
        ('"a": 0', '"\\udc00": 0'),
        ('"a": 0', '"\\x": 0'),
        ('"a": 0', '"\\u12": 0'),
        ('"a": 0', '"\n": 0'),
        ('["a", "b"]', '["a", "c"]'),
        ('["a", "b"]', '["a"]'),
        ('["a", "b"]', '["a", "b", "a"]'),
        ('["a", "b"]', '"a  b"'),
        ('["a", "b"]', '"a b "'),
        ('["a", "b"]', '"ab"'),
        ('["a", "b"]', '["a", "b"],'),
        ('["a", "b"]', '3'),
        ('{"model"', '[{"model"'),
        ('"merges"', '"vocab"'),
        ('"merges"', '"other"'),
        ('{"model"', '{"model": 1, "model"'),
        ("}}", "}"),
        ("}}", ""),
    ],
)  # fmt: skip
def test_unusual(old: str, new: str) -> None:
    assert split(USUAL.encode()) is not None
    assert USUAL.count(old) == 1
    assert split(USUAL.replace(old, new).encode()) is None


def test_cut_anywhere() -> None:
    data = USUAL.replace('"a": 0', '"\\ud83d\\ude42\\n": 0, "a": 3').encode()
    assert split(data) is not None
    for end in range(len(data)):
        assert split(data[:end]) is None
    assert split(data + b"\xff") is None
