"""Tokenizer: text to ids and back, with a finished vocabulary."""

from __future__ import annotations

from itertools import accumulate
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.candidates import WORD_FINAL
from volt.counts import WordCounts, thread_count
from volt.errors import InputError, SettingsError
from volt.vocabulary import Kind, Token, Vocabulary

KINDS = get_args(Kind)


class Tokenizer:
    """Encodes with a vocabulary. Several Python threads may use one at the same time."""

    def __init__(self, vocabulary: Vocabulary, *, threads: int | None = None) -> None:
        self.vocabulary = vocabulary
        self.threads = thread_count(threads)
        self._encoder = _native(vocabulary)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        try:
            return self._encoder.encode(text)
        except UnicodeEncodeError as error:
            raise InputError(
                f"character {error.start} is a lone surrogate "
                f"(U+{ord(text[error.start]):04X}), which is no text"
            ) from None

    def encode_words(self, counts: WordCounts) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The ids of every word type, one after the other, and where each word's begin: word `w`
        is `ids[offsets[w]:offsets[w + 1]]`."""
        mine, theirs = self.vocabulary.rule.pretokenizer, counts.rule.pretokenizer
        if mine != theirs:
            raise SettingsError(f"the words are {theirs}, the vocabulary is {mine}")
        return self._encoder.encode_words(counts.text, counts.offsets, self.threads)


def _native(vocabulary: Vocabulary) -> _core.Encoder:
    pool = vocabulary.pool
    whitespace = vocabulary.rule.pretokenizer == "whitespace"
    final = [False] * len(pool)
    if whitespace:
        # Not every text that ends in `</w>` carries the mark, so the parents tell.
        for i in sorted(range(len(pool)), key=lambda i: pool[i].rank):
            parents = pool[i].parents
            if parents is not None:
                final[i] = final[parents[1]]
            elif pool[i].kind == "character":
                final[i] = len(pool[i].text) > 1
    texts = [_text(vocabulary, token, mark) for token, mark in zip(pool, final, strict=True)]
    merges = [token.parents or (0, 0) for token in pool]
    offsets = [0, *accumulate(map(len, texts))]
    unknown = vocabulary.unknown_id
    try:
        return _core.Encoder(
            vocabulary.rule.pretokenizer,
            vocabulary.merge_rule,
            np.frombuffer(b"".join(texts), np.uint8),
            np.array(offsets, np.uint64),
            np.array([KINDS.index(token.kind) for token in pool], np.uint8),
            np.array(final, np.uint8),
            np.array([left for left, _ in merges], np.uint32),
            np.array([right for _, right in merges], np.uint32),
            np.array([max(token.rank, 0) for token in pool], np.uint64),
            len(vocabulary),
            -1 if unknown is None else unknown,
        )
    except (ValueError, OverflowError) as error:
        raise InputError(f"the vocabulary can't be used: {error}") from None


def _text(vocabulary: Vocabulary, token: Token, final: bool) -> bytes:
    """The bytes a token stands for; of a special token or symbol its name."""
    if token.kind == "byte":
        return bytes([int(token.text[3:5], 16)])
    if token.kind in ("special", "symbol"):
        return token.text.encode()
    if vocabulary.rule.pretokenizer == "whitespace":
        return token.text.removesuffix(WORD_FINAL if final else "").encode()
    return vocabulary.plain_text(token)
