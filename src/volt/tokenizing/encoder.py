"""The native encoder of a vocabulary: its tokens as bytes, with marks as flags."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from volt import _core
from volt.base.errors import InputError
from volt.counting.marks import INNER, WORD_END, byte_of
from volt.proposing.tokens import NO_TOKEN, SPELLED, packed
from volt.tokenizing.vocabulary import LookUp, Vocabulary

END, START = 1, 2
"""A token that ends a word, or starts one, and shows it by its mark."""


def native_encoder(vocabulary: Vocabulary) -> _core.Encoder:
    pool = vocabulary.pool_columns
    flags = word_flags(vocabulary)
    parents = np.maximum(pool.parents, 0).astype(np.uint32)
    unknown = vocabulary.unknown_id
    look_up = vocabulary.look_up or LookUp()
    try:
        return _core.Encoder(
            vocabulary.rule.mode.native,
            vocabulary.merge_rule,
            *packed(token_bytes(vocabulary, flags)),
            pool.kinds,
            np.array(flags, np.uint8),
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
                max(pool.scores[pool.are(*SPELLED)].tolist(), default=0.0),
                vocabulary.word_ends,
                vocabulary.whole_words,
                vocabulary.space_first,
            ),
        )
    except (ValueError, OverflowError) as error:
        raise InputError(f"the vocabulary contradicts itself: {error}") from None


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
