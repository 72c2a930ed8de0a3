"""Excerpts: lines from all over a text, for what the report says of files.

A line is taken by a hash of its number, so the files of a translation give the same lines. The hash
has levels, each with half the lines of the one below: the excerpt rises until it is small enough.
It depends on the text alone, and no second reading is needed.

Documents are taken like lines. If they are too much, at most 16 KiB of each are taken, so that one
long document does not push out all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.counting.documents import Documents

EXCERPT = 1 << 20
"""Bytes of an excerpt, at most. A longer line is in none."""
PIECE = 1 << 14
"""Bytes of a document, at most, unless all of the text is in the excerpt."""
RUN = 16
"""Lines of a document that stay together where less than the excerpt is taken."""
MOST_LINES = 1 << 16
"""Lines of an excerpt, at most: each takes memory, even if it is empty."""
LEVELS = 63


@dataclass(frozen=True)
class Excerpt:
    """Lines of a text, or documents that end like lines, in order."""

    lines: list[bytes] = field(default_factory=list, repr=False)
    numbers: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64), repr=False)
    """Which of the text each is, from 0."""

    @property
    def text(self) -> bytes:
        return b"".join(self.lines)

    def at(self, level: int) -> Excerpt:
        """The part of it at a level."""
        return self.where(is_at(self.numbers, level))

    def where(self, kept: NDArray[np.bool_]) -> Excerpt:
        lines = [self.lines[i] for i in np.flatnonzero(kept).tolist()]
        return Excerpt(lines, self.numbers[kept])

    def runs(self) -> Excerpt:
        """With its documents cut into runs of lines, each with a number of its own."""
        cut = [_runs(line) for line in self.lines]
        if all(len(one) == 1 for one in cut):
            return self
        numbers = [
            number + np.uint64(place << 40)
            for number, one in zip(self.numbers, cut, strict=True)
            for place in range(1, len(one) + 1)
        ]
        return Excerpt([run for one in cut for run in one], np.array(numbers, np.uint64))

    def level(self, room: int) -> int:
        """The lowest level at which it fits."""
        sizes = np.fromiter(map(len, self.lines), np.int64, len(self.lines))
        return next(
            level for level in range(LEVELS + 1)
            if level == LEVELS or sizes[is_at(self.numbers, level)].sum() <= room
        )  # fmt: skip


def is_at(numbers: NDArray[np.uint64], level: int) -> NDArray[np.bool_]:
    """Which lines are taken at a level."""
    return np.asarray((_mixed(numbers) & np.uint64((1 << level) - 1)) == 0)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _runs(document: bytes) -> list[bytes]:
    lines = document.splitlines(keepends=True) if document.count(b"\n") > RUN else []
    return [b"".join(lines[i : i + RUN]) for i in range(0, len(lines), RUN)] or [document]


def _start(number: int, size: int) -> int:
    """Where the piece of a document begins that is too long."""
    return int(_mixed(np.array([number], np.uint64))[0] >> np.uint64(1)) % (size - PIECE + 1)


def _whole_lines(piece: bytes) -> bytes:
    """The lines that are whole in a piece of a document; without any, the whole characters."""
    first, last = piece.find(b"\n") + 1, piece.rfind(b"\n") + 1
    return piece[first:last] if first < last else piece.decode(errors="ignore").encode() + b"\n"


class Excerpting:
    """Takes an excerpt of a text that passes by once."""

    def __init__(self, first: int = 0) -> None:
        self._next = first
        self._level = 0
        self._size = 0
        self._lines: list[bytes] = []
        self._numbers: list[int] = []
        self._sizes: list[int] = []
        """Of each line, or of the piece that it is a part of."""
        self._pieces = False
        """Are these documents that are too much, of which pieces are taken?"""
        self._open: bytes | None = None
        """The start of a line that goes on in the next block."""

    def block(self, text: bytes | bytearray | memoryview) -> None:
        """A part of a text, which may begin and end in a line."""
        view = memoryview(text).cast("B")
        first = self._next
        lines, complete, numbers, begins, ends = _core.taken_lines(text, first, self._level)
        if not lines:
            if len(view):
                self._open = _cut((self._open or b"") + bytes(view[: EXCERPT + 1]))
            return
        self._next += lines
        sizes, before = (ends - begins).view(np.int64), b""
        if self._open is not None and len(numbers) and int(numbers[0]) == first:
            before = self._open
            sizes[0] += len(before)
        self._take(_Parts(view, begins, ends, before=before), numbers, sizes)
        rest = view[complete : complete + EXCERPT + 1]
        self._open = bytes(rest) if len(rest) else None

    def documents(self, found: Documents) -> None:
        """Whole documents."""
        view = memoryview(found.text).cast("B")
        ends, sizes = found.ends.astype(np.int64), found.sizes()
        numbers, taken = self._numbered(len(ends)), sizes + 1
        if not self._pieces and self._is_too_much(taken):
            self._pieces = True
            self._lines = [
                one if len(one) <= PIECE else _whole_lines(one[at : at + PIECE - 1])
                for one, number in zip(self._lines, self._numbers, strict=True)
                for at in [_start(number, len(one)) if len(one) > PIECE else 0]
            ]
            self._sizes = [min(one, PIECE) for one in self._sizes]
            self._size = sum(self._sizes)
        if self._pieces:
            taken = np.minimum(taken, PIECE)
        parts = _Parts(view, ends - sizes, ends, b"\n", pieces=numbers if self._pieces else None)
        self._take(parts, numbers, taken)

    def done(self) -> Excerpt:
        if self._open is not None:
            self._take([self._open], self._numbered(1), np.array([len(self._open)]))
            self._open = None
        return Excerpt(self._lines, np.array(self._numbers, np.uint64))

    def _numbered(self, lines: int) -> NDArray[np.uint64]:
        """The numbers of the next lines."""
        self._next += lines
        return np.arange(self._next - lines, self._next, dtype=np.uint64)

    def _take(
        self, lines: Sequence[bytes] | _Parts, numbers: NDArray[np.uint64], sizes: NDArray[np.int64]
    ) -> None:
        """Some of the lines that follow those before."""
        fits = np.flatnonzero(is_at(numbers, self._level) & (sizes <= EXCERPT))
        while self._is_too_much(sizes[fits]):
            self._level += 1
            fits = fits[is_at(numbers[fits], self._level)]
            kept = is_at(np.array(self._numbers, np.uint64), self._level).tolist()
            self._lines = [*compress(self._lines, kept)]
            self._numbers = [*compress(self._numbers, kept)]
            self._sizes = [*compress(self._sizes, kept)]
            self._size = sum(self._sizes)
        self._lines += [lines[i] for i in fits.tolist()]
        self._numbers += numbers[fits].tolist()
        self._sizes += sizes[fits].tolist()
        self._size += int(sizes[fits].sum())

    def _is_too_much(self, more: NDArray[np.int64]) -> bool:
        return self._size + int(more.sum()) > EXCERPT or len(self._lines) + len(more) > MOST_LINES


@dataclass(frozen=True)
class _Parts:
    """Parts of a text, copied when they are asked for."""

    view: memoryview
    starts: NDArray[np.integer[Any]]
    ends: NDArray[np.integer[Any]]
    end: bytes = b""
    """What each ends with."""
    before: bytes = b""
    """What comes before the first."""
    pieces: NDArray[np.uint64] | None = None
    """The numbers of documents of which only a piece is taken if they are long."""

    def __getitem__(self, i: int) -> bytes:
        size = int(self.ends[i] - self.starts[i]) + 1
        if self.pieces is not None and size > PIECE:
            at = int(self.starts[i]) + _start(int(self.pieces[i]), size)
            return _whole_lines(bytes(self.view[at : min(at + PIECE - 1, int(self.ends[i]))]))
        found = bytes(self.view[self.starts[i] : self.ends[i]])
        if i == 0:
            found = self.before + found
        return found if found.endswith(self.end) else found + self.end


def _cut(line: bytes) -> bytes:
    """So much of a line that is too long that it is known to be."""
    return line[: EXCERPT + 1]
