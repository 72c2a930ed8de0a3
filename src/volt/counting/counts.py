"""WordCounts: the word types of a corpus with their counts; make, merge, save, load.

From here on only counts matter: no later stage sees the text again.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, BinaryIO, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._version import __version__
from volt.base.checks import check_at_least as check_at_least
from volt.base.checks import check_choice as check_choice
from volt.base.checks import thread_count as thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_write
from volt.base.progress import Progress, Report
from volt.counting.inputs import (
    BLOCK,
    CANDIDATES_HEAD,
    COUNTS_HEAD,
    CleanText,
    OnInvalid,
    Source,
    Text,
    find_sources,
    invalid_utf8,
)
from volt.counting.words import PRETOKENIZERS as PRETOKENIZERS
from volt.counting.words import Normalization as Normalization
from volt.counting.words import WordRule as WordRule


def is_byte_level(pretokenizer: str) -> bool:
    """Is a character a byte?"""
    return PRETOKENIZERS[pretokenizer].byte_level


FORMAT = 1
MOST = 10**9
"""The most characters of a word, and the finest unit of counts."""
LARGEST = 1 << 63
"""No count reaches it."""
SAMPLE = 1 << 20
"""Bytes of a text that are kept as its sample, at most."""
SAMPLED_INPUTS = 40
"""Only so many inputs have one."""
SMALL_BLOCK = 2 * SAMPLE
"""What is read at a time of files that are smaller: packed ones hold more."""


@dataclass(frozen=True)
class CountTotals:
    """What was read, and what was lost on the way. Sums of two parts are the totals of both."""

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
    """Lines left out for invalid UTF-8."""
    pruned_words: int = 0
    """Occurrences lost to `max_types` and `min_count`."""
    max_undercount: int = 0
    """No count is too low by more than this (lossy counting under `max_types`)."""

    def __add__(self, other: CountTotals) -> CountTotals:
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return CountTotals(*(mine + theirs for mine, theirs in both))


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Word types with counts, most frequent first, equal counts by bytes.

    Word `w` is `text[offsets[w]:offsets[w + 1]]` in UTF-8. Counts are whole numbers of 1/`unit`:
    the unit is 1 but where weights such as 0.5 ask for a finer one.
    """

    rule: WordRule
    text: NDArray[np.uint8] = field(repr=False)
    offsets: NDArray[np.uint64] = field(repr=False)
    counts: NDArray[np.uint64] = field(repr=False)
    totals: CountTotals = field(default_factory=CountTotals)
    unit: int = 1
    lines_of: list[tuple[str, int]] = field(default_factory=list, repr=False)
    """Each input's name and lines, in order; not saved."""
    samples: list[bytes] = field(default_factory=list, repr=False)
    """The first lines of each text, as counted, for what the report says of files; not saved."""
    weighted_lines: Fraction | None = None
    """Lines, each times its weight as its words are; not saved, and None where counts files are
    among the inputs, which do not tell."""
    parts: list[tuple[WordCounts, int]] = field(default_factory=list, repr=False)
    """What these counts are the sum of, each times a whole number, if that is known; not saved."""

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def words(self) -> list[str]:
        data = self.text.tobytes()
        bounds = self.offsets.tolist()
        return [data[a:b].decode() for a, b in pairwise(bounds)]

    def items(self) -> Iterator[tuple[str, int]]:
        return zip(self.words, self.counts.tolist(), strict=True)

    def to_dict(self) -> dict[str, int]:
        return dict(self.items())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts file. The same counts give the same bytes."""
        with atomic_write(path) as stream:
            self.write(stream)

    def write(self, stream: BinaryIO) -> None:
        stream.write(counts_header(self.rule, self.unit, len(self), self.totals))
        stream.write(_core.write_words(self.text, self.offsets, self.counts))

    def digest(self) -> str:
        """sha256 of the words and counts: the same however the text was split into files."""
        return hashlib.sha256(_core.write_words(self.text, self.offsets, self.counts)).hexdigest()


def counts_header(rule: WordRule, unit: int, types: int, totals: CountTotals) -> bytes:
    """The first line of a counts file."""
    fields = {"format": FORMAT, "volt": __version__, **asdict(rule), "unit": unit, "types": types,
              **asdict(totals)}  # fmt: skip
    return COUNTS_HEAD + json.dumps(fields).encode() + b"\n"


def count(
    inputs: Text | Iterable[Text],
    *,
    pretokenizer: str | None = None,
    normalize: Normalization | None = None,
    max_word_length: int | None = None,
    on_invalid: OnInvalid = "error",
    min_count: int = 1,
    max_types: int | None = None,
    weights: Iterable[float | str | Fraction] | float | str | Fraction | None = None,
    glob: str = "*",
    input_format: Literal["auto", "text", "counts"] = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
) -> WordCounts:
    """Count the words of text, or add up counts files (or both).

    A rule that is not given comes from the counts files among the inputs, if any, else it is
    metaspace, no normalisation, words of at most 64 characters.
    """
    check_at_least("min_count", min_count, 1)
    check_at_least("max_types", max_types, 1)
    threads = thread_count(threads)
    progress = progress or Progress()

    # 1. What is there, and by which rule is it to be read?
    plan = plan_count(
        inputs,
        pretokenizer=pretokenizer,
        normalize=normalize,
        max_word_length=max_word_length,
        on_invalid=on_invalid,
        weights=weights,
        glob=glob,
        input_format=input_format,
    )

    # 2. Count.
    counter = _core.Counter(
        plan.rule.mode.native, plan.rule.max_word_length, threads, min(max_types or 0, LARGEST)
    )
    totals = CountTotals()
    lines_of: list[tuple[str, int]] = []
    samples: list[bytes] = []
    weighted_lines = Fraction(0)
    with progress.stage("Counting words", plan.size(), "B") as report:
        done = 0
        for one in plan.inputs:
            size = one.size
            read, sample = plan.read(one, counter, report_blocks(report, done, size))
            totals += read
            lines_of.append((one.name, read.lines))
            weighted_lines += one.source.weight * read.lines
            samples += [sample] if len(samples) < SAMPLED_INPUTS else []
            done += size or 0
            report(done)

    # 3. Sort, and leave out what is too rare.
    text, offsets, counts = counter.finish(plan.least(min_count))
    counted = counter.totals
    words = int(counts.sum())
    totals += CountTotals(
        words=words,
        cut_words=counted["cut_words"],
        reserved=counted["reserved"],
        pruned_words=counted["words"] - words,
        max_undercount=counted["max_undercount"],
    )
    check_totals(totals)
    return WordCounts(
        plan.rule, text, offsets, counts, totals, plan.unit, lines_of, samples,
        None if any(one.is_counts for one in plan.inputs) else weighted_lines,
    )  # fmt: skip


def check_totals(totals: CountTotals) -> None:
    for name, value in asdict(totals).items():
        if value >= LARGEST:
            raise InputError(f"{name} of all inputs together does not fit 63 bits")


@dataclass(frozen=True)
class BlockEnd:
    """Where the reading of a text stands after a block of it."""

    offset: int = 0
    """Bytes counted so far, of the text as the counter sees it."""
    lines: int = 0
    in_line: bool = False
    """Whether the last line counted has not come to its end."""


AfterBlock = Callable[[BlockEnd], None]


def report_blocks(report: Report, done: int, size: int | None) -> AfterBlock:
    """Tells how far the work is: bytes of the disk, `done` before this input of `size`."""
    return lambda end: report(done + min(end.offset, size or end.offset))


@dataclass(frozen=True)
class CountPlan:
    """What is to be counted, and by which rule."""

    inputs: list[_Opened]
    rule: WordRule
    unit: int
    on_invalid: OnInvalid
    block: int = BLOCK
    """Text is read in pieces of this size."""

    @cached_property
    def buffer(self) -> bytearray:
        """For all inputs: to make one takes longer than to read a small file."""
        sizes = [one.size for one in self.inputs]
        largest = max((self.block if size is None else size for size in sizes), default=0)
        return bytearray(min(self.block, max(largest + 1, SMALL_BLOCK)))

    def size(self) -> int | None:
        """Bytes to read from disk, if that can be known."""
        sizes = [one.size for one in self.inputs]
        known = sum(size for size in sizes if size is not None)
        return known if None not in sizes else None

    def least(self, min_count: int) -> int:
        """The least count to be listed. A minimum of 1 leaves out nothing, not even a word that
        weighs less than 1: its other occurrences may be in another shard."""
        return min(min_count * self.unit, LARGEST) if min_count > 1 else 1

    def read(
        self,
        one: _Opened,
        counter: _core.Counter,
        after_block: AfterBlock,
        *,
        start: BlockEnd = BlockEnd(),
    ) -> tuple[CountTotals, bytes]:
        """Count one input, a text from `start` on: its totals, and the first lines of a text."""
        weight = int(one.source.weight * self.unit / one.file_unit)
        try:
            with one.stream() as stream:
                if one.is_counts:
                    return _read_counts(one, stream, counter, weight, self, after_block), b""
                return _read_text(one, stream, counter, weight, self, after_block, start)
        except OverflowError:
            raise InputError(f"{one.name}: the counts do not fit 63 bits") from None
        except OSError as error:
            raise InputError(f"cannot read {one.name}: {error.strerror or error}") from error


def plan_count(
    inputs: Text | Iterable[Text],
    *,
    pretokenizer: str | None,
    normalize: Normalization | None,
    max_word_length: int | None,
    on_invalid: OnInvalid,
    weights: Iterable[float | str | Fraction] | float | str | Fraction | None,
    glob: str,
    input_format: Literal["auto", "text", "counts"],
) -> CountPlan:
    """Look into the inputs: what `count` does before it counts."""
    check_choice("pretokenizer", pretokenizer, PRETOKENIZERS)
    check_choice("normalize", normalize, get_args(Normalization))
    check_choice("on_invalid", on_invalid, get_args(OnInvalid))
    check_choice("input_format", input_format, ("auto", "text", "counts"))
    check_at_least("max_word_length", max_word_length, 2)
    if max_word_length is not None and max_word_length > MOST:
        raise SettingsError(f"max_word_length is at most {MOST:,}, not {max_word_length:,}")
    opened = [_Opened(source) for source in find_sources(inputs, glob=glob, weights=weights)]
    given = {"pretokenizer": pretokenizer, "normalize": normalize,
             "max_word_length": max_word_length}  # fmt: skip
    for one in opened:
        one.look(input_format)
    rule = _common_rule([one for one in opened if one.header], given)
    if rule.unicode != _core.unicode_version and not all(one.is_counts for one in opened):
        raise SettingsError(
            f"the counts were made with Unicode {rule.unicode}, text would be counted with "
            f"{_core.unicode_version}: count all of it with one version of volt"
        )
    unit = math.lcm(*(one.unit for one in opened))
    if unit > MOST:
        raise SettingsError(f"the weights need counts in units of 1/{unit}; give rounder ones")
    return CountPlan(opened, rule, unit, on_invalid, BLOCK)


class _Opened:
    """A source that has been looked into: text or counts, and by which rule."""

    # There may be a million of them.
    __slots__ = ("_kept", "file_unit", "header", "is_counts", "name", "size", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source.name
        self.is_counts = False
        self.header: dict[str, Any] | None = None
        self.file_unit = 1
        self.size: int | None = None
        self._kept: BinaryIO | None = None

    def look(self, input_format: str) -> None:
        stream = self.source.open()
        self.size = self.source.size()
        if self.size is None:
            self._kept = stream  # a pipe or an iterable can be opened only once
        try:
            head = cast(io.BufferedReader, stream).peek(len(CANDIDATES_HEAD))
            has_header = head.startswith(COUNTS_HEAD)
            if input_format == "auto" and head.startswith(CANDIDATES_HEAD):
                raise InputError(f"{self.name}: a candidates file, neither text nor counts")
            self.is_counts = input_format == "counts" or (input_format == "auto" and has_header)
            if self.is_counts and self.source.normalizer is not None:
                raise SettingsError(
                    f"{self.name}: a counts file, but the tokenizer has a normaliser, which must "
                    "see the text: name the text itself"
                )
            if self.is_counts and has_header:
                self.header = self._parse(stream.readline(1 << 16))
                self.file_unit = self.header["unit"]
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror or error}") from error
        finally:
            if self._kept is None:
                stream.close()

    @property
    def unit(self) -> int:
        """Counts in this unit are whole, whatever the source's counts."""
        return (self.source.weight / self.file_unit).denominator

    def stream(self) -> BinaryIO:
        if self._kept is not None:
            return self._kept
        stream = self.source.open()
        if self.header:
            stream.readline(1 << 16)
        return stream

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            header = json.loads(line[len(COUNTS_HEAD) :])
            if header["format"] != FORMAT:
                raise InputError(
                    f"{self.name}: counts format {header['format']!r}; this volt reads {FORMAT}"
                )
            rule = header["pretokenizer"], header["normalize"]
            if rule[0] not in PRETOKENIZERS or rule[1] not in get_args(Normalization):
                raise ValueError("unknown pre-tokenizer or normalisation")
            totals = [one.name for one in fields(CountTotals)]
            numbers = ["max_word_length", "unit", "types", *totals]
            for name in numbers:
                if type(header[name]) is not int or not 0 <= header[name] < 1 << 63:
                    raise ValueError(f"{name} is no count")
            if not 2 <= header["max_word_length"] <= MOST or not 0 < header["unit"] <= MOST:
                raise ValueError("max_word_length or unit out of range")
            if not isinstance(header["unicode"], str):
                raise ValueError("unicode is no version")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{self.name}, line 1: a damaged counts header ({error})") from None
        return cast(dict[str, Any], header)


def _common_rule(files: list[_Opened], given: dict[str, Any]) -> WordRule:
    """The one rule that the options and all counts files agree on."""
    rule = WordRule(**{name: value for name, value in given.items() if value is not None})
    if not files:
        return rule
    names = [one.name for one in fields(WordRule)]
    first = WordRule(**{name: cast(dict[str, Any], files[0].header)[name] for name in names})
    for name, value in given.items():
        if value is not None and value != getattr(first, name):
            raise SettingsError(
                f"{files[0].name} was counted with {name}={getattr(first, name)}, "
                f"not {value}: leave the option out, or count the text again"
            )
    for one in files[1:]:
        header = cast(dict[str, Any], one.header)
        for name in names:
            if header[name] != getattr(first, name):
                raise SettingsError(
                    f"{files[0].name} and {one.name} were counted by different rules "
                    f"({name}: {getattr(first, name)} and {header[name]}); they can't be added up"
                )
    return first


def _read_text(
    one: _Opened,
    stream: BinaryIO,
    counter: _core.Counter,
    weight: int,
    plan: CountPlan,
    after_block: AfterBlock,
    start: BlockEnd,
) -> tuple[CountTotals, bytes]:
    """Feed a text to the counter, block by block; the block bounds depend on the text alone. The
    first lines come back as a sample."""
    clean = None
    head = cast(io.BufferedReader, stream).peek(3)[:3]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{one.name}: this is UTF-16; convert it first (iconv -t UTF-8)")
    skip = 3 if head == b"\xef\xbb\xbf" else 0
    stream.read(skip)
    normalizer = one.source.normalizer
    if plan.rule.normalize != "none" or plan.on_invalid != "error" or normalizer is not None:
        clean = CleanText(
            stream, one.name, plan.on_invalid, plan.rule.normalize, normalizer, offset=skip
        )
        stream = cast(BinaryIO, io.BufferedReader(_BlockReader(clean.blocks(plan.block))))
    _skip(stream, start.offset, one.name)
    buffer = plan.buffer
    have, offset, lines = 0, start.offset, start.lines
    open_line = False  # what was fed so far ends in the middle of a line
    sample: bytes | None = None
    while True:
        got = stream.readinto(memoryview(buffer)[have:])  # type: ignore[attr-defined]
        have += got
        if got and have < len(buffer):
            continue
        if sample is None:
            # Whole lines, unless all of the text is kept.
            end = have
            if got or have > SAMPLE:
                end = buffer.rfind(b"\n", 0, min(have, SAMPLE)) + 1
            sample = bytes(memoryview(buffer)[:end])
        consumed, ends, invalid = counter.feed(memoryview(buffer)[:have], got == 0, weight)
        if invalid >= 0:
            line = lines + buffer.count(b"\n", 0, invalid) + 1
            raise invalid_utf8(one.name, line, skip + offset + invalid, buffer[invalid])
        lines += ends
        if consumed:
            open_line = buffer[consumed - 1] != 0x0A
        if not got:
            break
        offset += consumed
        rest = have - consumed
        if rest == len(buffer):
            buffer = buffer + bytes(len(buffer))  # a word that fills the block; not for the next
        else:
            buffer[:rest] = buffer[consumed:have]
        have = rest
        after_block(BlockEnd(offset, lines, open_line))
    totals = CountTotals(lines=lines + open_line)
    if clean:
        totals = replace(totals, skipped_lines=clean.skipped_lines, replaced=clean.replaced)
    return totals, sample or b""


def _skip(stream: BinaryIO, size: int, name: str) -> None:
    """Go past what was counted before."""
    if stream.seekable():
        stream.seek(size, os.SEEK_CUR)
        return
    while size:
        skipped = len(stream.read(min(size, BLOCK)))
        if not skipped:
            raise InputError(f"{name}: the text is shorter than it was")
        size -= skipped


class _BlockReader(io.RawIOBase):
    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._block:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._block = memoryview(block)
        size = min(len(buffer), len(self._block))
        buffer[:size] = self._block[:size]
        self._block = self._block[size:]
        return size


def _read_counts(
    one: _Opened,
    stream: BinaryIO,
    counter: _core.Counter,
    weight: int,
    plan: CountPlan,
    after_block: AfterBlock,
) -> CountTotals:
    header = one.header or {}
    first = line = 2 if header else 1
    words_before = counter.totals["words"]
    data, offset = b"", 0
    while True:
        more = stream.read(plan.block)
        data += more
        consumed, lines, problem = counter.read_words(data, not more, weight)
        line += lines
        if problem:
            raise InputError(f"{one.name}, line {line}: {problem}; a line is word<TAB>count")
        data = data[consumed:]
        if not more:
            break
        # There is no going on inside a counts file: all of it is read again, as a line would be.
        offset += consumed
        after_block(BlockEnd(offset, in_line=True))
    words = (counter.totals["words"] - words_before) // weight
    if header and (line - first, words) != (header["types"], header["words"]):
        raise InputError(
            f"{one.name}, line {line}: the file ends with {line - first:,} types and {words:,} "
            f"words where its header says {header['types']:,} and {header['words']:,}; "
            "it is cut short or edited"
        )
    totals = CountTotals(**{name.name: header.get(name.name, 0) for name in fields(CountTotals)})
    return replace(
        totals,
        words=0,  # the counter has them
        reserved=totals.reserved * weight,
        pruned_words=totals.pruned_words * weight,
        max_undercount=totals.max_undercount * weight,
    )
