"""WordCounts: the word types of a corpus with their counts, and the file that stores them.

From here on only counts matter: no later stage reads the text again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._version import __version__
from volt.base.errors import InputError, SettingsError
from volt.base.gate import parse_json
from volt.base.output import atomic_write
from volt.base.schema import check, table, whole
from volt.base.shown import plural
from volt.counting.excerpts import Excerpt
from volt.counting.words import READS, RULE, WordRule, read_rule
from volt.settings import MOST

if TYPE_CHECKING:
    from volt.counting.sampling import SampleReport

FORMAT_VERSION = 1
DOCUMENT_FORMAT = 2
"""For the words of whole documents, which may contain line ends."""
COUNTS_HEAD = b"# volt counts "
"""The start of a counts file."""
LARGEST = 1 << 63
"""All counts are below this."""


@dataclass(frozen=True)
class CountTotals:
    """What was read, and what was lost on the way. Totals of two parts can be added.

    >>> import volt
    >>> volt.count([["low slow", "low"]]).totals.lines
    2
    """

    lines: int = 0
    words: int = 0
    """Occurrences of the words listed, each times its weight."""
    cut_words: int = 0
    """Words longer than `max_word_length`, cut at that length."""
    reserved: int = 0
    """`▁` (U+2581) in metaspace text: left out of the words, to be spelled in byte tokens."""
    replaced: int = 0
    """Invalid UTF-8 sequences replaced by U+FFFD."""
    skipped_lines: int = 0
    """Lines left out because of invalid UTF-8."""
    pruned_words: int = 0
    """Occurrences lost to `max_types` and `min_count`."""
    max_undercount: int = 0
    """No count is too low by more than this (lossy counting under `max_types`)."""
    documents: int = 0
    """Files, records or items; 0 if lines were read."""

    def __add__(self, other: CountTotals) -> CountTotals:
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return CountTotals(*(mine + theirs for mine, theirs in both))

    @classmethod
    def of(cls, counter: _core.Counter) -> CountTotals:
        """What a counter knows."""
        counted = counter.totals
        return cls(
            words=counted["words"], cut_words=counted["cut_words"], reserved=counted["reserved"]
        )

    def times(self, weight: int | Fraction) -> CountTotals:
        """The same text, each occurrence counted so often."""
        names = ("words", "reserved", "pruned_words", "max_undercount")
        return replace(self, **{name: int(getattr(self, name) * weight) for name in names})

    def check(self) -> None:
        for name, value in asdict(self).items():
            if value >= LARGEST:
                raise InputError(f"{name} of all inputs together does not fit into 63 bits")


def lost_words(totals: CountTotals, rule: WordRule, unit: int) -> list[str]:
    """What was lost while text was counted, where anything was."""
    long = f"longer than {rule.max_word_length} characters"
    left = "'▁' in the text left to byte tokens"
    lost = [
        (totals.cut_words, f"word {long} was cut", f"words {long} were cut"),
        (totals.reserved / unit, left, left),
        (totals.replaced, "invalid UTF-8 sequence was replaced",
         "invalid UTF-8 sequences were replaced"),
        (totals.skipped_lines, "line with invalid UTF-8 was skipped",
         "lines with invalid UTF-8 were skipped"),
    ]  # fmt: skip
    return [plural(number, one, many) for number, one, many in lost if number]


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Word types with counts, most frequent first, equal counts by bytes.

    Word `w` is `text[offsets[w]:offsets[w + 1]]` in UTF-8. Counts are whole numbers of 1/`unit`.
    The unit is 1 unless weights such as 0.5 need a finer one.

    >>> import volt
    >>> found = volt.count([["low slow low"]])
    >>> len(found), found.totals.words, found.words
    (2, 3, ['▁low', '▁slow'])
    """

    rule: WordRule
    text: NDArray[np.uint8] = field(repr=False)
    offsets: NDArray[np.uint64] = field(repr=False)
    counts: NDArray[np.uint64] = field(repr=False)
    totals: CountTotals = field(default_factory=CountTotals)
    unit: int = 1
    lines_of: list[tuple[str, int]] = field(default_factory=list, repr=False)
    """Each input's name and lines, in order; not saved."""
    excerpts: list[Excerpt] = field(default_factory=list, repr=False)
    """Lines from all over each input of `lines_of`, as counted, for what the report says of files;
    empty for counts files and after the first 40 inputs; not saved."""
    weighted_lines: Fraction | None = None
    """Lines, each times its weight; not saved. None if counts files are among the inputs, because
    these do not say."""
    parts: list[Part] = field(default_factory=list, repr=False)
    """What these counts are the weighted sum of, if they are one; not saved."""
    sample: SampleReport | None = field(default=None, repr=False)
    """What was read and kept, if only some of the documents were counted; not saved."""
    half: Callable[[], WordCounts] | None = field(default=None, repr=False)
    """Counts a sample of half the size, if these are the counts of a sample; not saved."""
    told: list[str] = field(default_factory=list, repr=False)
    """What to know about inputs: files without words, line ends of Windows; not saved."""

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        words, types = plural(self.totals.words, "word"), plural(len(self), "type")
        return f"<WordCounts: {words}, {types}, {self.rule.pretokenizer}>"

    @cached_property
    def words(self) -> list[str]:
        return [word.decode() for word in self.word_bytes()]

    def word_bytes(self) -> list[bytes]:
        data = self.text.tobytes()
        return [data[a:b] for a, b in pairwise(self.offsets.tolist())]

    @property
    def character_offsets(self) -> NDArray[np.int64]:
        """`offsets` in characters instead of bytes."""
        characters = np.concatenate([[0], np.cumsum((self.text & 0xC0) != 0x80)])
        return np.asarray(characters[self.offsets.astype(np.int64)], np.int64)

    def lengths(self) -> NDArray[np.int64]:
        """Characters of each word (bytes in byte-level mode)."""
        starts = self.offsets if self.rule.mode.byte_level else self.character_offsets
        return np.asarray(np.diff(starts.astype(np.int64)), np.int64)

    @cached_property
    def characters(self) -> int:
        """Of all words, each as often as it was counted."""
        return int(self.lengths().astype(np.uint64) @ self.counts)

    @cached_property
    def text_characters(self) -> int:
        """The same, of the text: a character is one in byte-level mode, too."""
        return int(np.diff(self.character_offsets).astype(np.uint64) @ self.counts)

    def items(self) -> Iterator[tuple[str, int]]:
        return zip(self.words, self.counts.tolist(), strict=True)

    def to_dict(self) -> dict[str, int]:
        return dict(self.items())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts file. The same counts give the same bytes."""
        with atomic_write(path) as stream:
            self.write(stream)

    def write(self, stream: BinaryIO) -> None:
        stream.write(CountsHeader(self.rule, self.unit, len(self), self.totals).line())
        stream.write(_core.write_words(self.text, self.offsets, self.counts))

    def digest(self) -> str:
        """sha256 of the words and counts: the same however the text was split into files."""
        return hashlib.sha256(_core.write_words(self.text, self.offsets, self.counts)).hexdigest()


def common_unit(weights: Iterable[Fraction]) -> int:
    """The largest unit in which counts of these weights are whole numbers."""
    unit = math.lcm(*(weight.denominator for weight in weights))
    if unit > MOST:
        raise SettingsError(f"the weights need counts in units of 1/{unit}; give rounder ones")
    return unit


@dataclass(frozen=True, eq=False)
class Part:
    """Counts that are part of a weighted sum."""

    counts: WordCounts
    weight: int
    """How many units of the sum one unit of these counts is worth."""
    language: str | None = None
    share: float = 1.0
    """The language's share of the sum: how often it is met."""


@dataclass(frozen=True)
class CountsHeader:
    """The first line of a counts file."""

    rule: WordRule = field(default_factory=WordRule)
    unit: int = 1
    types: int = 0
    totals: CountTotals = field(default_factory=CountTotals)

    def line(self) -> bytes:
        documents = self.rule.reads == "document"
        totals = asdict(self.totals)
        if not documents:
            del totals["documents"]
        data = {"format": DOCUMENT_FORMAT if documents else FORMAT_VERSION, "volt": __version__,
                **self.rule.to_data(), "unit": self.unit, "types": self.types,
                **totals}  # fmt: skip
        return COUNTS_HEAD + json.dumps(data).encode() + b"\n"

    @staticmethod
    def parse(line: bytes, name: str) -> CountsHeader:
        """Read the first line of the file `name`, which is not trusted."""
        header = f"{name}, line 1: the counts header"
        data = parse_json(header, line[len(COUNTS_HEAD) :], HEADER)
        if data["format"] not in (FORMAT_VERSION, DOCUMENT_FORMAT):
            raise InputError(
                f"{name}: counts format {data['format']}; this volt reads up to {DOCUMENT_FORMAT}"
            )
        check(FIELDS, data, header)
        rule = read_rule(header, data)
        if (rule.reads == "document") != (data["format"] == DOCUMENT_FORMAT):
            raise InputError(f"{header}: format: not that of {rule.reads}s")
        totals = {one.name: data.get(one.name, 0) for one in fields(CountTotals)}
        return CountsHeader(rule, data["unit"], data["types"], CountTotals(**totals))


HEADER = table({"format": whole()})
FIELDS = table(
    {**RULE, "unit": whole(1, MOST), "types": whole(),
     **{one.name: whole() for one in fields(CountTotals) if one.name != "documents"}},
    {**READS, "documents": whole()},
)  # fmt: skip
