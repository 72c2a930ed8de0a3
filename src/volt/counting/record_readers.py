"""Readers of record files, one function per form. JSON is parsed by orjson, all else by pyarrow.

A reader gets a file and a `Reading`, and yields batches of documents: the texts of the fields.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from volt import _core
from volt.base.errors import InputError
from volt.base.extras import Library
from volt.counting.decoding import invalid_utf8, position_of
from volt.counting.documents import (
    BATCH,
    LONGEST_RECORD,
    Documents,
    documents_of,
    small_batches,
)
from volt.counting.inputs import TextInput
from volt.counting.objects import read_pairs
from volt.counting.records import NO_LISTS, Reading, RecordBatches, fields_of_record, find_fields

EXTRA = "records"
arrow, tables = Library("pyarrow", EXTRA), Library("pyarrow.csv", EXTRA)
parquet, compute = Library("pyarrow.parquet", EXTRA), Library("pyarrow.compute", EXTRA)
CSV_BLOCK = 1 << 24
"""Bytes that pyarrow parses at a time; a record has to fit."""
BAD_ROW = re.compile(r"CSV parse error: Row #([0-9]+): Expected ([0-9]+) columns, got ([0-9]+)")
"""What pyarrow says about a row. The names are its row 1."""


# --------------------------------------------------------------------------------------------- JSON


def read_json_lines(stream: BinaryIO, reading: Reading) -> Iterator[Documents]:
    """One object per line. A record's number is its line's."""
    from orjson import loads

    paths: list[tuple[str, ...]] = []
    number = 1
    for lines in _lines(stream, reading):
        if not paths:  # the first record decides which fields are read
            _check_lines(lines, number, reading)
            first = _first_record(lines, number, reading, loads)
            paths = _fields_of(*first, reading) if first else []
        texts = texts_of_lines(lines, paths, number, reading, loads)
        if texts:
            yield documents_of(texts, number)
        number += len(lines)
    if number == 1:
        reading.nothing()


def _check_lines(lines: list[bytes], number: int, reading: Reading) -> None:
    """Refuse an array."""
    start = next((line.lstrip() for line in lines if line.strip()), b"")
    if number == 1 and not reading.part and start.startswith(b"["):
        raise InputError(
            f"{reading.name}: a JSON array, not an object per line: use `input_format='json'`"
        )


def texts_of_lines(
    lines: list[bytes],
    paths: Sequence[tuple[str, ...]],
    number: int,
    reading: Reading,
    loads: Callable[[bytes], Any],
) -> list[bytes]:
    """The texts of lines of JSON, the first of which is record `number`."""
    if len(paths) == 1 and len(paths[0]) == 1:
        (name,) = paths[0]
        try:  # all is well, nearly always
            return [loads(line)[name].encode() for line in lines if line]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass  # then one by one
    texts: list[bytes] = []
    for place, line in enumerate(lines, number):
        if not line.strip():
            continue
        try:
            record = _parsed(line, reading, loads)
        except (ValueError, RecursionError) as error:
            if not reading.invalid(place, line):
                reading.bad(place, f"not a complete JSON object ({_why(error)})")
        else:
            texts += reading.text_of(record, paths, place)
    return texts


def _first_record(
    lines: list[bytes], number: int, reading: Reading, loads: Callable[[bytes], Any]
) -> tuple[Any, int] | None:
    """The first line that can be parsed, and its number. Others are met again when all are read."""
    for place, line in enumerate(lines, number):
        if line.strip():
            try:
                return _parsed(line, reading, loads), place
            except (ValueError, RecursionError):
                continue
    return None


def _fields_of(record: Any, number: int, reading: Reading) -> list[tuple[str, ...]]:
    where = f"{reading.name}, record {number:,}"
    if not isinstance(record, dict):
        raise InputError(f"{where}: not an object with fields; this is not a file of records")
    paths = reading.paths = fields_of_record(reading.fields, record, where)
    return paths


def _parsed(line: bytes, reading: Reading, loads: Callable[[bytes], Any]) -> Any:
    try:
        return loads(line)
    except ValueError:
        # The standard library keeps lone surrogates, which are met or replaced later.
        return json.loads(
            line.decode(errors="replace" if reading.on_invalid == "replace" else "strict")
        )


def _why(error: Exception) -> str:
    """What a parser says, and where."""
    if isinstance(error, json.JSONDecodeError):
        said = error.msg.removesuffix(" at")  # as of "unterminated string starting at"
        return f"{said[:1].lower()}{said[1:]} at character {error.pos + 1:,}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _lines(stream: BinaryIO, reading: Reading) -> Iterator[list[bytes]]:
    """Whole lines, some megabytes at a time."""
    number, rest, size = 1, [b""], 0
    too_long = False
    while more := stream.read(BATCH):
        end = more.rfind(b"\n")
        if end < 0:
            size += len(more)
            if size > LONGEST_RECORD:
                if not too_long:
                    reading.bad(number, f"longer than {LONGEST_RECORD >> 20} MiB")
                too_long, rest = True, [b""]
            else:
                rest.append(more)
            continue
        lines = b"".join([*rest, more[:end]]).split(b"\n")
        if too_long:
            lines[0], too_long = b"", False
        yield lines
        number += len(lines)
        rest, size = [more[end + 1 :]], len(more) - end - 1
    last = b"".join(rest)
    if last and not too_long:
        yield [last]


def read_json_array(stream: BinaryIO, reading: Reading) -> Iterator[Documents]:
    """A JSON array of objects, which is read whole."""
    from orjson import loads

    data = stream.read(LONGEST_RECORD + 1)
    if len(data) > LONGEST_RECORD:
        raise InputError(
            f"{reading.name}: an array of JSON objects of more than {LONGEST_RECORD >> 20} MiB; "
            "convert it to JSON Lines, one object per line"
        )
    try:
        records = _parsed(data, reading, loads)
    except (ValueError, RecursionError) as error:
        if (offset := _core.find_invalid_utf8(data)) >= 0:
            line = data.count(b"\n", 0, offset) + 1
            raise invalid_utf8(reading.name, line, offset, data[offset]) from None
        raise InputError(f"{reading.name}: not complete JSON ({_why(error)})") from None
    paths = _fields_of(records[0], 1, reading)
    texts = [
        text
        for number, record in enumerate(records, 1)
        for text in reading.text_of(record, paths, number)
    ]
    yield from small_batches(documents_of(texts, 1))


# ------------------------------------------------------------------------------------ CSV and TSV


def _read_table(stream: BinaryIO, reading: Reading, delimiter: str) -> Iterator[Documents]:
    """Rows below a line of names. The first row below it is record 1."""
    names = _names(stream, reading, delimiter)
    if names is None:
        return
    paths = reading.paths = find_fields(
        reading.fields, lambda path: len(path) == 1 and path[0] in names, names,
        f"{reading.name}, line 1",
    )  # fmt: skip
    columns = [path[0] for path in paths]

    def skip(row: Any) -> str:
        reading.bad((row.number or 2) - 1, f"{row.actual_columns} fields, not {len(names)}")
        return "skip"

    number = 1  # rows that were skipped are not counted
    with arrow_errors(reading), _without_traceback(skip):
        rows = tables.open_csv(
            stream,
            tables.ReadOptions(use_threads=False, block_size=CSV_BLOCK),
            tables.ParseOptions(
                delimiter=delimiter, newlines_in_values=True,
                invalid_row_handler=skip if reading.on_invalid == "skip-line" else None,
            ),
            tables.ConvertOptions(
                check_utf8=False,
                include_columns=columns,
                column_types=dict.fromkeys(columns, arrow.binary()),
            ),
        )  # fmt: skip
        while True:
            try:
                batch = rows.read_next_batch()
            except StopIteration:
                return
            yield from _texts_of_batch(batch, paths, number, reading)
            number += len(batch)
            reading.read = number - 1


@contextmanager
def _without_traceback(handler: object) -> Iterator[None]:
    """pyarrow can't give a row to a handler if it is not valid UTF-8. It then prints a traceback,
    and raises the error that it raises without a handler."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda told: None if told.object is handler else before(told)
    try:
        yield
    finally:
        sys.unraisablehook = before


def _names(stream: BinaryIO, reading: Reading, delimiter: str) -> list[str] | None:
    """The names in the first line."""
    head = stream.peek(1 << 16)  # type: ignore[attr-defined]
    if not head:
        reading.nothing()
        return None
    text = head.decode("utf-8-sig", errors="replace")
    try:
        return next(csv.reader(io.StringIO(text), delimiter=delimiter))
    except (csv.Error, StopIteration) as error:
        raise InputError(f"{reading.name}, line 1: no names of fields ({error})") from None


# -------------------------------------------------------------------------------- Parquet and Arrow


def read_parquet(
    stream: BinaryIO, reading: Reading, row_groups: Sequence[int] | None = None
) -> Iterator[Documents]:
    """All rows, or those of some row groups."""
    with arrow_errors(reading):
        file = parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
        paths = _fields_of_schema(file.schema_arrow, reading)
        groups = range(file.num_row_groups) if row_groups is None else row_groups
        for group in groups:
            about = file.metadata.row_group(group)
            number = 1 + sum(file.metadata.row_group(g).num_rows for g in range(group))
            wide = max(about.total_byte_size // max(about.num_rows, 1), 1)
            rows = min(max(BATCH // wide, 16), 1 << 16)
            for batch in file.iter_batches(
                rows, row_groups=[group], columns=[".".join(path) for path in paths]
            ):
                yield from _texts_of_batch(batch, paths, number, reading)
                number += len(batch)
                reading.read = number - 1
                reading.done = number / max(file.metadata.num_rows, 1)


def row_groups(path: str, reading: Reading) -> int:
    """How many row groups a Parquet file has."""
    with arrow_errors(reading):
        return int(parquet.ParquetFile(path).num_row_groups)


def read_arrow(stream: BinaryIO, reading: Reading) -> Iterator[Documents]:
    """Arrow's file format, or its stream format, which `datasets` saves."""
    with arrow_errors(reading):
        if stream.peek(6)[:6] == b"ARROW1":  # type: ignore[attr-defined]
            file = arrow.ipc.open_file(stream)
            batches = (file.get_batch(place) for place in range(file.num_record_batches))
        else:
            file = arrow.ipc.open_stream(stream)
            batches = iter(file)
        yield from read_arrow_batches(batches, reading, _fields_of_schema(file.schema, reading))


def read_arrow_batches(
    batches: Iterator[Any], reading: Reading, paths: list[tuple[str, ...]] | None = None
) -> Iterator[Documents]:
    """Tables or record batches, such as those of a data set. The first says where the text is,
    unless `paths` does."""
    with arrow_errors(reading):
        number = 1
        for batch in batches:
            paths = paths or _fields_of_schema(batch.schema, reading)
            yield from _texts_of_batch(batch, paths, number, reading)
            number += batch.num_rows
            reading.read = number - 1


def _fields_of_schema(schema: Any, reading: Reading) -> list[tuple[str, ...]]:
    def has(path: tuple[str, ...]) -> bool:
        return _type_at(schema, path) is not None

    def is_list(path: tuple[str, ...]) -> bool:
        kind = _type_at(schema, path)
        return kind is not None and (arrow.types.is_list(kind) or arrow.types.is_large_list(kind))

    paths = find_fields(reading.fields, has, schema.names, reading.name, is_list)
    for path in paths:
        kind = _type_at(schema, path)
        if not _is_text(kind):
            hint = NO_LISTS if is_list(path) else "`field` names the text"
            raise InputError(
                f"{reading.name}: field {'.'.join(path)!r} is {kind}, not text; {hint}"
            )
    reading.paths = paths
    return paths


def _type_at(schema: Any, path: Sequence[str]) -> Any:
    place = schema.get_field_index(path[0])
    if place < 0:
        return None
    kind = schema.field(place).type
    for part in path[1:]:
        if not arrow.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return None
        kind = kind.field(part).type
    return kind


def _is_text(kind: Any) -> bool:
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    types = arrow.types
    plain = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary,
             types.is_string_view, types.is_binary_view, types.is_null)  # fmt: skip
    return any(test(kind) for test in plain)


def _texts_of_batch(
    batch: Any, paths: Sequence[tuple[str, ...]], number: int, reading: Reading
) -> Iterator[Documents]:
    """The texts of a batch's columns. Those of one record follow each other."""
    columns = [_column(batch, path) for path in paths]
    reading.nulls += sum(column.null_count for column in columns)
    if len(columns) == 1:
        rows, (texts,) = None, columns
        if texts.null_count:
            rows = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False))
            texts = texts.drop_null()
    else:
        each = [column.to_pylist() for column in columns]
        both = [(row, text) for row, texts in enumerate(zip(*each, strict=True))
                for text in texts if text is not None]  # fmt: skip
        rows = np.array([row for row, _ in both], np.int64)
        texts = arrow.array([text for _, text in both], arrow.large_binary())
    text, bounds = string_buffers(texts)
    found = Documents(text, bounds[1:].astype(np.uint64), number)
    if not len(found.ends):
        return
    longest = int(np.diff(bounds).max())

    def numbered(place: int) -> int:
        return number + int(place if rows is None else rows[place])

    if longest > LONGEST_RECORD:
        found = _without_long(found, numbered, reading)
    yield from small_batches(reading.valid(found, numbered))


def _without_long(found: Documents, numbered: Callable[[int], int], reading: Reading) -> Documents:
    kept = []
    for place, text in enumerate(found.split()):
        if len(text) > LONGEST_RECORD:
            reading.bad(numbered(place), f"longer than {LONGEST_RECORD >> 20} MiB")
        else:
            kept.append(text)
    return documents_of(kept)


def _column(batch: Any, path: Sequence[str]) -> Any:
    """The strings at a path, as one array of `large_binary`."""
    batch.validate()
    column = batch.column(path[0])
    if len(path) > 1:
        column = compute.struct_field(column, list(path[1:]))
    # pyarrow believes the offsets of a damaged file and reads beyond its end.
    for chunk in column.chunks if isinstance(column, arrow.ChunkedArray) else [column]:
        _as_binary(chunk).validate(full=True)
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow.types.is_string_view(column.type) or arrow.types.is_binary_view(column.type):
        column = column.cast(arrow.large_string())
    column = column.cast(arrow.large_binary())
    return column.combine_chunks() if isinstance(column, arrow.ChunkedArray) else column


def _as_binary(column: Any) -> Any:
    """Strings as bytes, without a copy. Whether they are UTF-8 is checked later, by record."""
    if arrow.types.is_string(column.type):
        return column.view(arrow.binary())
    return column.view(arrow.large_binary()) if arrow.types.is_large_string(column.type) else column


def string_buffers(strings: Any) -> tuple[Any, Any]:
    """The bytes of an Arrow array of `large_binary`, and where in them its strings begin."""
    _, offsets, data = strings.buffers()
    if not len(strings):
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    bounds = np.frombuffer(offsets, np.int64)[strings.offset :][: len(strings) + 1]
    text = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return text[bounds[0] : bounds[-1]], bounds - bounds[0]


@contextmanager
def arrow_errors(reading: Reading) -> Iterator[None]:
    """What pyarrow says about a damaged file, as an error of ours."""
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        text = str(error).split("\n")[0] or "it asks for too much memory"
        if row := BAD_ROW.match(text):
            number, columns, found = map(int, row.groups())
            raise reading.error(number - 1, f"{found} fields, not {columns}") from None
        if "straddling object" in text:
            text = f"a record longer than {CSV_BLOCK >> 20} MiB, or a quote that is never closed"
        where = reading.name
        if reading.read:
            where += f", after record {reading.read:,}"
        raise InputError(f"{where}: damaged or cut short ({text})") from error


READERS: dict[str, Callable[..., Iterator[Documents]]] = {
    "jsonl": read_json_lines,
    "json": read_json_array,
    "parquet": read_parquet,
    "csv": partial(_read_table, delimiter=","),
    "tsv": partial(_read_table, delimiter="\t"),
    "arrow": read_arrow,
    "pairs": read_pairs,
}


# -------------------------------------------------------------------------------- a file of records


class RecordFile(RecordBatches):
    """The texts of a file's records."""

    def __init__(
        self, source: TextInput, form: str, fields: Sequence[str], on_invalid: str
    ) -> None:
        part = source.stretch is not None
        super().__init__(Reading(source.name, fields, on_invalid, part=part))
        self._source, self._form = source, form
        self._size = source.size()
        self._stream: BinaryIO | None = None

    @property
    def position(self) -> int | None:  # type: ignore[override]
        if self._form in ("parquet", "arrow"):
            return int(self._reading.done * (self._size or 0))
        return position_of(self._stream) if self._stream else 0

    def read(self) -> Iterator[Documents]:
        with self._source.open_file() as self._stream:
            yield from READERS[self._form](self._stream, self._reading)
