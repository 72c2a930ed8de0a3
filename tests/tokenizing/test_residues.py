"""Residues that are certain before there is a text."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from volt.counting.marks import byte_letters
from volt.foreign.inner import merging
from volt.tokenizing.residues import certain_residues, may_follow, open_bytes
from volt.tokenizing.tokenizer import Tokenizer

LETTERS = [byte_letters(bytes([byte])) for byte in range(256)]


def model(pairs):
    names = [*LETTERS, *dict.fromkeys(left + right for left, right in pairs)]
    return merging(names, frozenset(), pairs=pairs, byte_level=True).vocabulary


def test_a_token_that_merges_with_every_byte_that_can_follow_is_one():
    """The first two bytes of three, and all 64 ways to go on; then 63 of them."""
    start = byte_letters(b"\xe4\xbd")
    first = (start[0], start[1])
    goes_on = [(start, LETTERS[byte]) for byte in range(0x80, 0xC0)]
    whole = model([first, *goes_on])
    assert [whole.texts[i] for i in certain_residues(whole)] == [start]
    assert certain_residues(model([first, *goes_on[1:]])) == []
    # As the second half of a character, after all 30 bytes that can stand before it.
    tail = byte_letters(b"\xa0 ")
    last = (tail[0], tail[1])
    before = [(LETTERS[byte], tail) for byte in range(0xC2, 0xE0)]
    assert certain_residues(model([last, *before])) == []  # longer characters end so, too
    inside = [(LETTERS[byte], tail) for byte in range(0x80, 0xC0)]
    some = model([last, *before, *inside])
    assert [some.texts[i] for i in certain_residues(some)] == [tail]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_no_text_shows_them(chosen):
    """Over all texts of up to three characters of a few."""
    made = [byte_letters(bytes([byte])) for byte in b"\xc2\xc3\x80\x81a\xe1"]
    pairs = []
    for left, right in chosen:
        pairs.append((made[left % len(made)], made[right % len(made)]))
        made.append("".join(pairs[-1]))
    vocabulary = model(list(dict.fromkeys(pairs)))
    hidden = {*certain_residues(vocabulary)}
    tokenizer = Tokenizer(vocabulary)
    characters = "\x80\x81\xc0\xc1a\u1040\u1041"
    for length in (1, 2, 3):
        for text in map("".join, product(characters, repeat=length)):
            assert not hidden & {*tokenizer.encode(text)}, text


@pytest.mark.parametrize(
    ("first", "second", "may"),
    [(b"\xe4", b"\xbd", True), (b"\xe0", b"\x80", False), (b"\xe0", b"\xa0", True),
     (b"\xe4\xbd", b"\xa0a", True), (b"\xe4\xbd", b"\xa0\xa0", False), (b"\xc3", b"\xa0a", True),
     (b"\xe4", b"\xbda", False), (b"\xf4", b"\x90", False), (b"\xed", b"\xa0", False)],
)  # fmt: skip
def test_bytes_side_by_side(first, second, may):
    assert open_bytes(first) > 0
    assert may_follow(first, second) == may
