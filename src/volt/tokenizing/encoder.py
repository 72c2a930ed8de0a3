"""The native encoder of a vocabulary: its tokens as bytes, with marks as flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.arguments import fits, wrong_type
from volt.base.errors import InputError, SettingsError
from volt.counting.marks import BYTES, INNER, WORD_END, byte_of
from volt.proposing.tokens import NO_TOKEN, SPELLED, Tokens, packed
from volt.tokenizing.vocabulary import LookUp, Vocabulary

END, START = 1, 2
"""A token that ends a word, or starts one, and shows it by its mark."""


@dataclass(frozen=True, eq=False)
class NativeColumns:
    """What the native encoder needs of the pool of tokens, beyond its columns. It takes most of the
    time that a vocabulary needs to load, so the compiled cache keeps it."""

    text: NDArray[np.uint8]
    """The bytes that tokens stand for, one after the other (see `token_bytes`)."""
    offsets: NDArray[np.uint64]
    flags: NDArray[np.uint8]
    """See `word_flags`."""
    pairs: NDArray[np.uint32]
    """Rule `concat`: all pairs that make a token, as `Encoder.pairs` returns them. Empty: the
    encoder looks for them."""

    def pieces(self) -> list[bytes]:
        """The bytes that each token stands for."""
        text, ends = self.text.tobytes(), self.offsets.tolist()
        return [text[start:end] for start, end in pairwise(ends)]


NO_PAIRS = np.zeros(0, np.uint32)


def native_columns(vocabulary: Vocabulary) -> NativeColumns:
    pool = vocabulary.pool_columns
    if vocabulary.marks is BYTES:
        text, offsets = _core.letter_bytes(*pool.packed, pool.are(*SPELLED).view(np.uint8))
        return NativeColumns(text, offsets, np.zeros(len(pool), np.uint8), NO_PAIRS)
    flags = word_flags(vocabulary)
    text, offsets = packed(token_bytes(vocabulary, flags))
    return NativeColumns(text, offsets, np.array(flags, np.uint8), NO_PAIRS)


def native_encoder(vocabulary: Vocabulary) -> _core.Encoder:
    pool, columns = vocabulary.pool_columns, vocabulary.native
    parents = np.maximum(pool.parents, 0).astype(np.uint32)
    unknown = vocabulary.unknown_id
    look_up = vocabulary.look_up or LookUp()
    try:
        return _core.Encoder(
            vocabulary.rule.mode.native,
            vocabulary.merge_rule,
            columns.text,
            columns.offsets,
            pool.kinds,
            columns.flags,
            np.ascontiguousarray(parents[:, 0]),
            np.ascontiguousarray(parents[:, 1]),
            np.maximum(pool.ranks, 0).astype(np.uint64),
            pool.scores,
            len(vocabulary),
            -1 if unknown is None else unknown,
            vocabulary.fuse_unknown,
            _core.Matching(
                vocabulary.encoding,
                vocabulary.marks is INNER,
                look_up.longest_word,
                look_up.arithmetic == "float32",
                look_up.restart == "space",
                look_up.unknown_score,
                _highest_score(pool),
                vocabulary.word_ends,
                vocabulary.whole_words,
                vocabulary.space_first,
            ),
            columns.pairs,
        )
    except (ValueError, OverflowError) as error:
        raise InputError(f"the vocabulary contradicts itself: {error}") from None


@dataclass(frozen=True)
class NameFinder:
    """Finds the names of symbols and allowed special tokens in text."""

    encoder: _core.Encoder
    allowed: bytes

    def split(self, text: str) -> list[str]:
        """The text between names, and the names: every second item is one."""
        try:
            return self.encoder.split_names(text, self.allowed)
        except UnicodeEncodeError:  # a lone surrogate, which the encoder refuses
            return [text]


def _highest_score(pool: Tokens) -> float:
    scores = pool.scores[pool.are(*SPELLED)]
    return float(scores.max()) if len(scores) else 0.0


def word_flags(vocabulary: Vocabulary) -> list[int]:
    """Which tokens of the pool end or start a word, and show it."""
    pool, marks = vocabulary.pool_columns, vocabulary.marks
    if marks is INNER:
        return [START * bool(marks.position(text).starts) for text in pool.texts]
    if marks is not WORD_END:
        return [0] * len(pool)
    if vocabulary.look_up is not None:
        return [END * bool(marks.position(text).ends) for text in pool.texts]
    # A text may end in `</w>` without being marked, if the corpus contains that; the parents tell.
    flags = [0] * len(pool)
    for i in np.flatnonzero(pool.are("character")).tolist():
        flags[i] = END * (len(pool.texts[i]) > 1)
    second = pool.parents[:, 1].tolist()
    for i in sorted(range(len(pool)), key=lambda i: len(pool.texts[i])):  # parents are shorter
        if second[i] != NO_TOKEN:
            flags[i] = flags[second[i]]
    return flags


def token_bytes(vocabulary: Vocabulary, flags: Sequence[int]) -> list[bytes]:
    """The bytes of text that each token of the pool stands for; for a special token or symbol, its
    name."""
    pool, marks = vocabulary.pool_columns, vocabulary.marks
    if marks is WORD_END:
        found = [
            marks.text(text) if flag == END else text.encode()
            for text, flag in zip(pool.texts, flags, strict=True)
        ]
    else:
        found = [
            marks.text(text) if spelled else b""
            for text, spelled in zip(pool.texts, pool.are(*SPELLED).tolist(), strict=True)
        ]
    for i in np.flatnonzero(pool.are("byte")).tolist():
        found[i] = bytes([byte_of(pool.texts[i])])
    for i in np.flatnonzero(pool.are("special", "symbol")).tolist():
        found[i] = pool.texts[i].encode()
    return found


def lone_surrogate(where: str, error: UnicodeEncodeError) -> InputError:
    return InputError(
        f"{where}, character {error.start}: a lone surrogate "
        f"(U+{ord(error.object[error.start]):04X}) is not text"
    )


def check_dropout(vocabulary: Vocabulary, dropout: float, seed: int) -> None:
    """Refuse a dropout or a seed that encoding can't be done with."""
    if not fits(dropout, float):
        raise wrong_type("dropout", "a number", dropout)
    if not fits(seed, int):
        raise wrong_type("seed", "a whole number", seed)
    if not 0 <= dropout <= 1:
        raise SettingsError(f"`dropout` must be between 0 and 1, not {dropout}")
    if not 0 <= seed < 1 << 64:
        raise SettingsError(f"`seed` must be between 0 and 2^64 - 1, not {seed}")
    if dropout and vocabulary.look_up is not None:
        raise SettingsError(
            f"`dropout` skips merges, and the encoding {vocabulary.encoding} has none"
        )
