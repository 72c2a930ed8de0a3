"""volt.counting.marks: what holds for every kind of marks."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volt.counting.marks import (
    BYTE_TOKENS,
    BYTES,
    INNER,
    SPACE,
    UNMARKED,
    WORD_END,
    byte_letters,
    byte_of,
    converted,
    letter_bytes,
    marks_used,
)

EVERY = [UNMARKED, SPACE, WORD_END, INNER, BYTES]
TEXT = st.text(st.characters(exclude_characters="▁</w>#", exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize("marks", EVERY)
@given(text=TEXT, starts=st.sampled_from([None, True, False]), ends=st.booleans())
def test_a_spelled_token_stands_for_its_text(marks, text, starts, ends):
    for token in marks.spell(text, starts, ends):
        assert marks.text(token).decode().removeprefix(" ") == text.removeprefix(" ")
        assert marks.is_spelled(token)


@pytest.mark.parametrize("marks", EVERY)
@given(text=TEXT, starts=st.booleans(), ends=st.booleans())
def test_symbols_are_characters_and_make_the_token_again(marks, text, starts, ends):
    for token in marks.spell(text, starts, ends):
        symbols = marks.symbols(token)
        assert marks.join(symbols) == token
        assert len(symbols) == marks.length(token)
        assert all(map(marks.is_character, symbols))
        assert sum(map(marks.length, symbols)) == marks.length(token)


@pytest.mark.parametrize("marks", [UNMARKED, SPACE, WORD_END, BYTES])
@given(text=TEXT)
def test_cuts_leave_marks_whole(marks, text):
    for token in marks.spell(text):
        cuts = marks.cuts(token)
        assert [left + right for left, right in cuts] == [token] * (marks.length(token) - 1)
        for left, right in cuts:
            assert marks.length(left) + marks.length(right) == marks.length(token)


def test_length_counts_text_only():
    assert SPACE.length("▁low") == 4
    assert WORD_END.length("low</w>") == 3
    assert INNER.length("##low") == 3
    assert INNER.length("##") == 2
    assert BYTES.length(byte_letters("é".encode())) == 2


def test_keys_tell_marked_tokens_from_others():
    assert WORD_END.key("a</w>") == b"a\xff"
    assert WORD_END.key("a") == b"a"
    assert INNER.key("##a") == b"a"
    assert INNER.key("a") == b"\xfea"
    assert SPACE.key("▁a") == "▁a".encode()
    assert BYTES.key("Ġa") == b" a"


@pytest.mark.parametrize(
    ("token", "old", "new", "expected"),
    [
        ("▁low", SPACE, WORD_END, ["low</w>", "low"]),
        ("▁low", SPACE, INNER, ["low"]),
        ("low", SPACE, INNER, ["##low"]),
        ("▁low", SPACE, BYTES, ["Ġlow"]),
        ("low</w>", WORD_END, SPACE, ["▁low", "low"]),
        ("##low", INNER, SPACE, ["low"]),
        ("##", INNER, SPACE, ["▁##"]),
        ("Ġlow", BYTES, SPACE, ["▁low"]),
        ("▁", SPACE, WORD_END, []),
        ("Ã", BYTES, SPACE, []),
        ("Ã", BYTES, BYTES, ["Ã"]),
    ],
)
def test_tokens_in_other_marks(token, old, new, expected):
    assert converted(token, old, new) == expected


@given(st.binary())
def test_byte_letters_there_and_back(data):
    letters = byte_letters(data)
    assert letter_bytes(letters) == data
    assert BYTES.is_spelled(letters)
    assert letters.isprintable()
    assert " " not in letters


def test_byte_tokens():
    assert BYTE_TOKENS[10] == "<0x0A>"
    assert [byte_of(token) for token in BYTE_TOKENS] == list(range(256))


def test_which_marks_are_used():
    found = marks_used(["▁a", "▁", "b", "Ġc", "##d", "e</w>"])
    assert found == {SPACE: 2, BYTES: 1, INNER: 1, WORD_END: 1}


@pytest.mark.parametrize("marks", EVERY)
def test_a_copy_is_the_same_object(marks):
    assert pickle.loads(pickle.dumps(marks)) is marks
    assert copy.deepcopy(marks) is marks
