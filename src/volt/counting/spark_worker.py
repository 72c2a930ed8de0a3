"""What a worker of Spark does: volt's native code on the strings of one partition.

Every function takes the batches of a partition and yields batches of rows, for `mapInArrow`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from volt import _core
from volt._version import __version__
from volt.base.errors import InputError, VoltError
from volt.base.extras import Library
from volt.counting.counts import CountTotals
from volt.counting.decoding import Cleaner, OnInvalid
from volt.counting.documents import Documents, as_lines, documents_of, one_document
from volt.counting.reading import Reader, feed_documents
from volt.counting.record_readers import string_buffers, texts_of_lines
from volt.counting.records import Reading
from volt.counting.sampling import BUCKETS, Census, Sampling, below, units_of
from volt.counting.words import WordRule

WORDS_IN_BATCH = 1 << 16
arrow, compute = Library("pyarrow", "spark"), Library("pyarrow.compute", "spark")
PARTIAL = "field string, word binary, count bigint"
"""What a partition has counted: rows for words have no field, rows for totals have no word."""
COUNTED = ("lines", "words", "cut_words", "reserved", "replaced", "skipped_lines", "documents")
"""Totals of the counts file."""
LEFT_OUT = ("skipped", "nulls")
"""Totals of records that are not text."""
RANGES = "range bigint, size bigint, documents bigint"
"""What a partition has by ranges of hashes; in range -1 is the size before documents were cut."""


@dataclass(frozen=True)
class Work:
    """What is asked of the workers."""

    rule: WordRule
    on_invalid: OnInvalid = "error"
    weight: int = 1
    members: Sequence[tuple[str, ...]] | None = None
    """Where the text is in a line of JSON; None if strings are text."""
    sampling: Sampling | None = None
    limit: int = BUCKETS
    """Only documents whose hash is in a range below this are counted."""

    @property
    def by_line(self) -> bool:
        return self.rule.reads == "line"


def version() -> str:
    return f"volt {__version__} with Unicode {_core.unicode_version}"


# -------------------------------------------------------------------------------------------- count


def count_on_worker(work: Work, batches: Iterator[Any]) -> Iterator[Any]:
    """The words of one partition, and its totals."""
    counter = work.rule.counter()
    totals = CountTotals()
    reading = _LineReading("the text", on_invalid=work.on_invalid)
    cleaner = Cleaner(work.on_invalid, work.rule.normalize, whole=work.rule.reads == "document")
    reader = Reader("the text", work.rule, cleaner, work.weight, bytearray())
    for batch in batches:
        found = _documents(batch.column(0), work, reading)
        if work.on_invalid == "error":
            _check_text(found)
        totals += feed_documents(reader, iter([found]), counter, lambda _: None)[0]
    totals += CountTotals.of(counter)
    sums = {name: getattr(totals, name) for name in COUNTED}
    yield from _rows(sums | {name: getattr(reading, name) for name in LEFT_OUT}, counter)


def _rows(sums: dict[str, int], counter: _core.Counter) -> Iterator[Any]:
    kinds = arrow.schema(
        [("field", arrow.string()), ("word", arrow.binary()), ("count", arrow.int64())]
    )
    sums = {**sums, version(): 0}
    columns = [list(sums), [b""] * len(sums), list(sums.values())]
    yield arrow.RecordBatch.from_pydict(dict(zip(kinds.names, columns, strict=True)), kinds)
    text, offsets, counts = counter.finish(1)
    for first in range(0, len(counts), WORDS_IN_BATCH):
        bounds = offsets[first : first + WORDS_IN_BATCH + 1].astype(np.int64)
        size = len(bounds) - 1
        buffers = [None, bounds - bounds[0], text[bounds[0] : bounds[-1]]]
        words = arrow.LargeBinaryArray.from_buffers(
            arrow.large_binary(), size, [one if one is None else arrow.py_buffer(one)
                                         for one in buffers]
        )  # fmt: skip
        columns = [
            arrow.repeat("", size),
            words.cast(arrow.binary()),
            arrow.array(counts[first : first + size].astype(np.int64)),
        ]
        yield arrow.RecordBatch.from_arrays(columns, schema=kinds)


# ------------------------------------------------------------------------------------------- sample


def census_partition(work: Work, batches: Iterator[Any]) -> Iterator[Any]:
    """Bytes and documents of one partition by ranges of their hashes."""
    assert work.sampling is not None
    census = Census()
    reading = _LineReading("the text", on_invalid=work.on_invalid)
    for batch in batches:
        found, size = units_of(_whole(batch.column(0), work, reading), work.sampling)
        census.read_bytes += size
        census.add(found, work.sampling)
    ranges = np.flatnonzero(census.documents)
    columns = [
        np.append(ranges, -1),
        np.append(census.sizes[ranges], census.read_bytes),
        np.append(census.documents[ranges], 0),
    ]
    names = ["range", "size", "documents"]
    yield arrow.RecordBatch.from_arrays([arrow.array(one) for one in columns], names)


# -------------------------------------------------------------------------------------- the strings


def _documents(strings: Any, work: Work, reading: _LineReading) -> Documents:
    """The documents that are counted. Those that are read by lines become one, in which each ends
    with a line feed."""
    found = _whole(strings, work, reading)
    if work.sampling is None:
        return found
    units, _ = units_of(found, work.sampling)
    chosen = below(units, work.sampling, work.limit)
    return _as_one(b"".join(as_lines([chosen]))) if work.by_line else chosen


def _whole(strings: Any, work: Work, reading: _LineReading) -> Documents:
    """All strings of a batch that are text, as documents; as one where lines are read."""
    if work.members is None:
        reading.nulls += strings.null_count
        texts = strings.drop_null().cast(arrow.large_binary())
    else:
        reading.lines = strings.to_pylist()
        from orjson import loads

        found = texts_of_lines(reading.lines, work.members, 1, reading, loads)
        texts = arrow.array(found, arrow.large_binary())
    if work.by_line:
        return _as_one(_ended(texts))
    text, bounds = string_buffers(texts)
    return Documents(text, bounds[1:].astype(np.uint64))


def _as_one(lines: bytes) -> Documents:
    """Lines as one document. Without any there is none: an empty document would be a line."""
    return one_document(lines) if lines else documents_of([])


def _ended(texts: Any) -> bytes:
    """The strings one after the other, each followed by a line feed unless it ends with one."""
    nothing, line_end = (arrow.scalar(value, arrow.large_binary()) for value in (b"", b"\n"))
    ended = compute.binary_join_element_wise(texts, nothing, line_end)
    lines = compute.if_else(compute.ends_with(texts, pattern=b"\n"), texts, ended)
    return bytes(string_buffers(lines)[0])


@dataclass
class _LineReading(Reading):
    """Spark does not say which record of a file a string is: errors show the line itself."""

    lines: list[bytes] = field(default_factory=list)

    def error(self, record: int, problem: str, more: str = "") -> InputError:
        line = self.lines[record - 1][:80]
        return InputError(f"{problem}, in the line {line!r}{more}; `field` names the text")


def _check_text(found: Documents) -> None:
    """An error that shows the line with invalid UTF-8."""
    invalid = _core.find_invalid_utf8(found.text)
    if invalid >= 0:
        data = bytes(found.text)
        start = data.rfind(b"\n", 0, invalid) + 1
        line = data[start : start + 80].partition(b"\n")[0]
        raise InputError(
            f"invalid UTF-8 (0x{data[invalid]:02X}) in the line {line!r}; fix the file, or use "
            "`on_invalid='replace'` or `on_invalid='skip-line'`"
        )


def failing(work: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """The first string of a partition that can't be counted, found by halving its batch."""

    def problem(batch: Any) -> str:
        try:
            list(work(iter([batch])))
        except VoltError as error:
            return str(error)
        return ""

    for batch in batches:
        if problem(batch):
            while len(batch) > 1:
                half = batch.slice(0, len(batch) // 2)
                batch = half if problem(half) else batch.slice(len(half))
            rows = {"file": [batch.column("file")[0].as_py()], "problem": [problem(batch)]}
            yield arrow.RecordBatch.from_pydict(rows)
            return
