"""Python objects as text: lists, data sets, columns of a table, word counts.

`Texts` and `Files` remove all doubt about what a string means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO

from volt.base.checks import nearest_path
from volt.base.errors import InputError
from volt.counting.documents import (
    Batches,
    Documents,
    batches_of_strings,
    bytes_of_some,
    documents_of,
)
from volt.counting.records import Reading, RecordBatches, RecordOptions, find_fields

LOOKED_AT = 1000
"""So many strings of a list are looked at to find out whether they name files."""
LONGEST_NAME = 4096
PATH_LIKE = re.compile(r"\S*[/\\]\S*|\S+\.[A-Za-z][A-Za-z0-9]{0,7}")
"""A string that was probably meant to name a file."""


@dataclass(frozen=True)
class Texts:
    """Strings that are text, whatever they look like.

    >>> import volt
    >>> volt.count(volt.Texts(["low slow", "low"])).to_dict()
    {'▁low': 2, '▁slow': 1}
    """

    strings: Iterable[str]


class Files(tuple[Any, ...]):
    """Strings that name files, folders or data sets: `Files(["train.txt"])`."""

    __slots__ = ()

    def __new__(cls, paths: Iterable[Any]) -> Files:
        named = (paths,) if isinstance(paths, (str, os.PathLike)) else tuple(paths)
        return super().__new__(cls, named)


def names_file(string: str, exists: Callable[[str], bool]) -> bool:
    """Is a string in a list the name of a file? If it looks like one but there is no such file,
    that is an error."""
    if not string or len(string) > LONGEST_NAME or "\n" in string:
        return False
    if string == "-" or exists(string):
        return True
    if PATH_LIKE.fullmatch(string):
        hint = nearest_path(Path(string))
        text = f"{' If' if hint else '; if'} it is text, say so: volt.Texts([...])"
        raise InputError(f"no such file: {string[:200]}{hint}{text}")
    return False


def are_names(strings: list[str], exists: Callable[[str], bool]) -> bool:
    """Do the strings of a list name files, or are they text?"""
    named = [names_file(string, exists) for string in strings[:LOOKED_AT]]
    if any(named) and not all(named):
        one, other = strings[named.index(True)], strings[named.index(False)]
        raise InputError(
            f"a list with both: {one[:80]!r} names a file, {other[:80]!r} does not; "
            "say which it is: volt.Files([...]) or volt.Texts([...])"
        )
    return all(named)


# ------------------------------------------------------------------------------------ word counts


def is_word_counts(value: Any) -> bool:
    """A mapping of words to whole numbers. Languages with their texts are a mapping, too."""
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(
            isinstance(count, Integral) and not isinstance(count, bool) for count in value.values()
        )
    )


def word_count_batches(counts: Mapping[Any, Any], name: str) -> Iterator[Documents]:
    """Each word is a text of its own that occurs so often."""
    return _by_count(((word, int(count)) for word, count in counts.items()), name, "item")


def _by_count(pairs: Iterable[tuple[Any, int]], name: str, what: str) -> Iterator[Documents]:
    """Those with the same count are one batch."""
    groups: dict[int, list[bytes]] = {}
    for number, (word, count) in enumerate(pairs, 1):
        if not isinstance(word, str):
            raise InputError(f"{name}, {what} {number:,}: a {type(word).__name__}, not a string")
        if not 0 <= count < 1 << 63:
            raise InputError(f"{name}, {what} {number:,}: {count} is not a count")
        try:
            text = word.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name}, {what} {number:,}: a lone surrogate is not text") from None
        if count:
            groups.setdefault(count, []).append(text)
    for count, texts in groups.items():
        yield documents_of(texts)._replace(times=count)


def read_pairs(stream: BinaryIO, reading: Reading) -> Iterator[Documents]:
    """Lines `word<TAB>count`, as SentencePiece reads them: each word is a text of its own."""

    def pairs(lines: list[bytes], first: int) -> Iterator[tuple[str, int]]:
        for number, line in enumerate(lines, first):
            word, tab, count = line.rstrip(b"\r\n").rpartition(b"\t")
            if not line.strip():
                continue
            if not tab or not re.fullmatch(rb"[0-9]{1,18}", count):
                reading.bad(number, "not word<TAB>count")
                continue
            try:
                yield word.decode(), int(count)
            except UnicodeDecodeError as error:
                if reading.on_invalid == "replace":
                    yield word.decode(errors="replace"), int(count)
                else:
                    reading.bad(number, f"invalid UTF-8 ({error.reason})")

    number = 1
    while lines := stream.readlines(1 << 24):
        yield from _by_count(pairs(lines, number), reading.name, "record")
        number += len(lines)


# ------------------------------------------------------------------------- data sets and columns


def object_batches(
    value: Any, name: str, options: RecordOptions
) -> Callable[[], Iterator[Documents]] | None:
    """How to read a data set, or a table or column of another library; None if it is neither."""
    kind, library = type(value).__name__, type(value).__module__.partition(".")[0]
    if library == "datasets" and kind in ("DatasetDict", "IterableDatasetDict"):
        raise InputError(f"{name}: a data set with splits {', '.join(value)}; name one: x['train']")
    if library == "pandas" and (kind == "DataFrame" or hasattr(value, "to_list")):
        column = _column_of(value, name, options) if kind == "DataFrame" else value
        return lambda: _PandasColumn(column, name)
    tables: Callable[[], Iterable[Any]]
    size = getattr(value, "nbytes", None)
    if library == "datasets" and hasattr(value, "with_format"):
        size = getattr(getattr(value, "data", None), "nbytes", None)  # not of an IterableDataset
        tables = lambda: value.with_format("arrow").iter(BATCH_ROWS)  # noqa: E731
    elif library == "pyarrow" and hasattr(value, "to_batches"):  # a table
        tables = value.to_batches
    elif library == "pyarrow" and kind == "RecordBatch":
        tables = lambda: [value]  # noqa: E731
    elif library == "polars" and hasattr(value, "to_arrow"):
        table = value.to_frame("text") if kind == "Series" else value
        options = replace(options, fields=("text",)) if kind == "Series" else options
        size, tables = table.estimated_size(), lambda: table.to_arrow().to_batches()
    else:
        return None
    rows = None if size is None else len(value)
    return lambda: TableBatches(name, options, tables, size, rows)


BATCH_ROWS = 1000
"""Rows that are asked of a data set at a time."""


class TableBatches(RecordBatches):
    """The texts of Arrow tables. `size` is that of all of them in bytes, and `rows` how many rows
    they have, if that is known."""

    def __init__(
        self,
        name: str,
        options: RecordOptions,
        tables: Callable[[], Iterable[Any]],
        size: int | None = None,
        rows: int | None = None,
    ) -> None:
        super().__init__(Reading(name, options.fields, options.on_invalid))
        self.expected = size
        self._tables, self._rows = tables, rows

    @property
    def position(self) -> int | None:  # type: ignore[override]
        if self.expected is None or not self._rows:
            return None
        return self.expected * min(self._reading.read, self._rows) // self._rows

    def read(self) -> Iterator[Documents]:
        from volt.counting.record_readers import read_arrow_batches

        yield from read_arrow_batches(iter(self._tables()), self._reading)


def _column_of(frame: Any, name: str, options: RecordOptions) -> Any:
    names = [str(column) for column in frame.columns]
    paths = find_fields(
        options.fields, lambda path: path[0] in names and len(path) == 1, names, name
    )
    if len(paths) > 1:
        raise InputError(f"{name}: name one column (`field`), or give a list of columns")
    return frame[paths[0][0]]


class _PandasColumn(Batches):
    def __init__(self, column: Any, name: str) -> None:
        super().__init__()
        self._column, self.name = column, name
        step = max(len(column) // 100, 1)
        self.expected = (bytes_of_some(column.iloc[::step].to_list()) or 0) * step

    def read(self) -> Iterator[Documents]:
        yield from batches_of_strings(self._column[self._column.notna()], self.name)

    def left_out(self) -> tuple[int, int]:
        return 0, int(self._column.isna().sum())
