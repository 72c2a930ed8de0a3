"""Tokens of a vocabulary, in columns.

There are very many of them, and columns are quick to make, read and write. A single one is a
`Token`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import NDArray

Kind = Literal["special", "symbol", "byte", "character", "merged", "piece"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SPELLED: tuple[Kind, ...] = ("character", "merged", "piece")
"""The kinds of token that stand for text of their own."""
NO_TOKEN = -1


class Token(NamedTuple):
    """One token. A merged token joins two others, `parents`, which come before it; `rank` orders
    the merges. A scaffold was not chosen itself, others are made from it. Only the `unigram`
    encoding has scores."""

    text: str
    kind: Kind
    parents: tuple[int, int] | None = None
    rank: int = -1
    scaffold: bool = False
    frequency: int = 0
    score: float = 0.0


@dataclass(frozen=True, eq=False)
class Tokens(Sequence[Token]):
    """A list of tokens, stored by columns: one per field."""

    texts: list[str]
    kinds: NDArray[np.uint8]
    """Each kind as its place in KINDS."""
    parents: NDArray[np.int64]
    """Two per token; NO_TOKEN, twice, if it has none."""
    ranks: NDArray[np.int64]
    scaffolds: NDArray[np.bool_]
    frequencies: NDArray[np.int64]
    scores: NDArray[np.float64]

    @staticmethod
    def of(tokens: Iterable[Token]) -> Tokens:
        if isinstance(tokens, Tokens):
            return tokens
        tokens = list(tokens)
        if not tokens:
            return Tokens.made([], [])
        texts, kinds, parents, ranks, scaffolds, frequencies, scores = zip(*tokens, strict=True)
        return Tokens(
            list(texts),
            kind_numbers(kinds),
            np.array([both or (NO_TOKEN, NO_TOKEN) for both in parents], np.int64),
            np.array(ranks, np.int64),
            np.array(scaffolds, bool),
            np.array(frequencies, np.int64),
            np.array(scores, np.float64),
        )

    @staticmethod
    def made(
        texts: list[str],
        kinds: Sequence[Kind],
        *,
        parents: NDArray[np.int64] | None = None,
        ranks: NDArray[np.int64] | None = None,
        scaffolds: NDArray[np.bool_] | None = None,
    ) -> Tokens:
        """Tokens not counted yet; those without parents by default."""
        size = len(texts)
        return Tokens(
            texts,
            kind_numbers(kinds),
            np.full((size, 2), NO_TOKEN, np.int64) if parents is None else parents,
            np.full(size, -1, np.int64) if ranks is None else ranks,
            np.zeros(size, bool) if scaffolds is None else scaffolds,
            np.zeros(size, np.int64),
            np.zeros(size, np.float64),
        )

    def __add__(self, other: Tokens) -> Tokens:
        if not len(other):
            return self
        both = zip(self.arrays, other.arrays, strict=True)
        return Tokens(self.texts + other.texts, *map(np.concatenate, both))

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The columns but for the texts, in the order of the fields."""
        return [getattr(self, one.name) for one in fields(self)[1:]]

    def with_frequencies(self, frequencies: Sequence[int] | NDArray[np.integer[Any]]) -> Tokens:
        return replace(self, frequencies=np.asarray(frequencies, np.int64).reshape(len(self)))

    def are(self, *kinds: Kind) -> NDArray[np.bool_]:
        """Which tokens are of one of these kinds."""
        return np.isin(self.kinds, kind_numbers(kinds))

    def texts_at(self, numbers: Iterable[int]) -> list[str]:
        """The texts of some tokens."""
        return [self.texts[number] for number in numbers]

    @cached_property
    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """The texts in UTF-8, one after the other, and where each begins and ends."""
        joined = "\0".join(self.texts)
        if not self.texts or joined.count("\0") >= len(self.texts):
            return packed([text.encode() for text in self.texts])
        data = np.frombuffer(joined.encode(), np.uint8)
        ends = np.flatnonzero(data == 0)
        offsets = np.zeros(len(self.texts) + 1, np.uint64)
        offsets[1:-1] = ends - np.arange(len(ends))
        offsets[-1] = len(data) - len(ends)
        return data[data != 0], offsets

    def know_packed(self, texts: tuple[NDArray[np.uint8], NDArray[np.uint64]]) -> None:
        """Take them from a reader that has them, which saves 8 ms for 128,000 tokens."""
        self.__dict__["packed"] = texts

    # ----------------------------------------------------------------------------------- as a list

    def plain(self) -> list[list[Any]]:
        """The columns as lists."""
        return [self.texts, *(column.tolist() for column in self.arrays)]

    @cached_property
    def _rows(self) -> list[Token]:
        texts, kinds, parents, *others = self.plain()
        names = [KINDS[kind] for kind in kinds]
        pairs = [None if left < 0 else (left, right) for left, right in parents]
        return list(map(Token, texts, names, pairs, *others))

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Token]:
        return iter(self._rows)

    @overload
    def __getitem__(self, place: int) -> Token: ...

    @overload
    def __getitem__(self, place: slice) -> list[Token]: ...

    def __getitem__(self, place: int | slice) -> Token | list[Token]:
        return self._rows[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows == list(other)

    __hash__ = None  # type: ignore[assignment]


def kind_numbers(kinds: Iterable[Kind]) -> NDArray[np.uint8]:
    numbers = {kind: number for number, kind in enumerate(KINDS)}
    return np.array([numbers[kind] for kind in kinds], np.uint8)


def packed(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Texts one after the other, and where each begins and ends."""
    offsets = np.array([0, *accumulate(map(len, texts))], np.uint64)
    return np.frombuffer(b"".join(texts), np.uint8), offsets


def character_offsets(text: NDArray[np.uint8], offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Where packed texts of valid UTF-8 begin and end, in characters."""
    starts = offsets[:-1].astype(np.int64)
    lengths = np.diff(offsets) > 0  # `reduceat` gives one item for an empty text
    found = np.zeros(len(offsets), np.int64)
    begins = (text & 0xC0) != 0x80
    found[1:][lengths] = np.add.reduceat(begins, starts[lengths], dtype=np.int64)
    return np.cumsum(found)
