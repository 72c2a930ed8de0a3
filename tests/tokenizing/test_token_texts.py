"""The native code that looks at all tokens at once, beside its slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from volt import _core
from volt.counting.marks import BYTE_LETTERS
from volt.counting.words import PRETOKENIZERS
from volt.proposing.tokens import Tokens, character_offsets, packed
from volt.reference import token_texts

PIECES = [b" ", b"\n", b"\t", b"a", b"Bc", b"12", b"'s", b"!", "é".encode(), "語".encode(), b"\xc3",
          b"\xe8\xaa", b"\xff", b"\x80", "\u00a0".encode(), b"\xf0\x9f\x99\x82"]  # fmt: skip
TOKENS = st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), max_size=12)
NATIVE = [name for name, mode in PRETOKENIZERS.items() if mode.byte_level]


@given(TOKENS, st.sampled_from(NATIVE))
def test_cut_inside(tokens: list[bytes], name: str) -> None:
    mode = PRETOKENIZERS[name]
    found = _core.cut_inside(*packed(tokens), mode.native)
    assert found.tolist() == token_texts.cut_inside(tokens, mode.words)


@given(TOKENS)
@example([b"\xe8\xaaa", b"\xe8\xaa \xc3", b"\xed\xa0\x80", b"\x80\x80"])
def test_show_text(tokens: list[bytes]) -> None:
    assert _core.show_text(*packed(tokens)).tolist() == token_texts.show_text(tokens)


@given(st.data(), st.lists(st.text("abé", min_size=1, max_size=3), min_size=1, max_size=6))
def test_find_unjoined(data: st.DataObject, tokens: list[str]) -> None:
    parents = [(-1, -1)] * len(tokens)
    for _ in range(data.draw(st.integers(0, 8))):
        left, right = (data.draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        wrong = data.draw(st.integers(0, 9)) == 0
        tokens.append(tokens[left] + tokens[right] + "x" * wrong)
        parents.append((left, right))
    numbers = np.array(parents, np.int64).ravel()
    found = _core.find_unjoined(*packed([token.encode() for token in tokens]), numbers)
    assert found == token_texts.find_unjoined(tokens, parents)


def test_parents_that_are_not_tokens() -> None:
    texts = packed([b"a", b"ab"])
    for parents in ([-1, -1, 0, 2], [-1, -1, 0, -1], [-1, -1, 0]):
        with pytest.raises(ValueError):
            _core.find_unjoined(*texts, np.array(parents, np.int64))


@given(st.lists(st.tuples(st.text(sorted(map(chr, BYTE_LETTERS.values()))), st.booleans())))
def test_letter_bytes(listed: list[tuple[str, bool]]) -> None:
    tokens, spelled = [token for token, _ in listed], [own for _, own in listed]
    texts = packed([token.encode() for token in tokens])
    text, offsets = _core.letter_bytes(*texts, np.array(spelled, np.uint8))
    expected = packed(token_texts.letter_bytes(tokens, spelled))
    assert text.tobytes() == expected[0].tobytes()
    assert offsets.tolist() == expected[1].tolist()


@pytest.mark.parametrize("text", ["\x00", " ", "\xad", "\u0144", "語", "\U0001f642"])
def test_what_is_not_a_letter(text: str) -> None:
    texts = packed([text.encode()])
    with pytest.raises(ValueError, match="not a byte letter"):
        _core.letter_bytes(*texts, np.ones(1, np.uint8))
    assert _core.letter_bytes(*texts, np.zeros(1, np.uint8))[0].tobytes() == text.encode()


def test_letters_must_be_utf8() -> None:
    for tokens in ([b"\xff"], [b"\xc3", b"\xa9"]):
        with pytest.raises(ValueError):
            _core.letter_bytes(*packed(tokens), np.ones(len(tokens), np.uint8))


@given(st.lists(st.text("aé語\0🙂", max_size=4), max_size=8))
def test_packed_columns(texts: list[str]) -> None:
    tokens = Tokens.made(texts, ["piece"] * len(texts))
    text, offsets = tokens.packed
    expected = packed([one.encode() for one in texts])
    assert text.tobytes() == expected[0].tobytes()
    assert offsets.tolist() == expected[1].tolist()
    lengths = np.diff(character_offsets(text, offsets))
    assert lengths.tolist() == [len(one) for one in texts]
