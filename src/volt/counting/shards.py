"""Parts of a corpus that are counted apart and added up: shards, partitions of a cluster.

Every input is a number of pieces: a Parquet file its row groups, an uncompressed file of lines its
stretches of 64 MiB, anything else one. Shard K of N counts every Nth piece. So all shards together
count each piece once, and their sum is what one machine counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from volt.base.arguments import names_arguments
from volt.base.checks import check_at_least
from volt.base.errors import InputError, SettingsError
from volt.base.options import accepts
from volt.counting.combine import Weighted, combine
from volt.counting.counts import WordCounts
from volt.counting.decoding import is_packed
from volt.counting.documents import Documents
from volt.counting.inputs import TextInput, open_records
from volt.counting.objects import Files, Texts
from volt.counting.records import Reading, fields_of_record, find_fields
from volt.settings import WordSettings

PIECE = 1 << 26
"""Bytes of a stretch of lines."""


def parse_shard(value: Any) -> str:
    """
    >>> parse_shard("3/64")
    '3/64'
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", str(value).strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"{value!r} is not a part such as 3/64")
    return found[0]


def shard_of(inputs: Sequence[TextInput], shard: str, by_line: bool) -> list[TextInput]:
    """The pieces of the inputs that a shard counts."""
    number, of = map(int, shard.split("/"))
    every = (piece for one in inputs for piece in pieces_of(one, by_line))
    return [piece for place, piece in enumerate(every) if place % of == number - 1]


def pieces_of(one: TextInput, by_line: bool) -> Iterator[TextInput]:
    """An input as pieces that can be read apart."""
    size = one.size()
    if one.path is None or one.sampled or size is None or size <= PIECE:
        yield one
    elif one.form == "parquet":
        from volt.counting.record_readers import row_groups

        reading = Reading(one.name, one.records.fields, one.records.on_invalid, part=True)
        for group in range(row_groups(str(one.path), reading)):
            batches = partial(_parquet_group, one, replace(reading), group)
            name = f"{one.name} (row group {group + 1})"
            yield replace(one, name=name, batches=batches, path=None)
    elif (one.form == "jsonl" or (one.batches is None and by_line)) and not _is_packed(one.path):
        for start in range(0, size, PIECE):
            name = f"{one.name} (from byte {start:,})" if start else one.name
            piece = replace(one, name=name, stretch=(start, min(start + PIECE, size)))
            if one.form == "jsonl":
                piece = replace(piece, batches=partial(open_records, piece, "jsonl", one.records))
            yield piece
    else:
        yield one


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return is_packed(file.read(10))


def _parquet_group(one: TextInput, reading: Reading, group: int) -> Iterator[Documents]:
    from volt.counting.record_readers import read_parquet

    with one.open_file() as stream:
        yield from read_parquet(stream, reading, [group])


# --------------------------------------------------------------------------------------- partitions


@accepts(WordSettings)
def count_partition(batch: Any, *, field: Sequence[str] | str = (), **options: Any) -> WordCounts:
    """The word counts of one batch of a cluster's data: strings, records (mappings), a mapping of
    columns, or a table of pandas, polars or pyarrow.

    Counts of several batches are added up by `volt.merge_counts`; the sum is what `volt.count`
    gives for all of the text. `docs/inputs.md` has stages for Ray Data and Dask.

    >>> import volt
    >>> volt.count_partition([{"text": "low low"}, {"text": "slow"}]).to_dict()
    {'▁low': 2, '▁slow': 1}
    """
    from volt.counting.count import count

    fields = (field,) if isinstance(field, str) else tuple(field)
    source = _strings_of(batch, fields)
    return count(source, threads=1, field=fields, **options)


def _strings_of(batch: Any, fields: Sequence[str]) -> Any:
    """What `count` reads: texts, or a table, which it knows."""
    if isinstance(batch, Mapping):
        names = [str(name) for name in batch]
        paths = find_fields(fields, lambda path: ".".join(path) in batch, names, "the batch")
        return Texts([text for path in paths for text in batch[".".join(path)] if text is not None])
    if isinstance(batch, Files):
        raise InputError("a batch contains texts, not names of files")
    if isinstance(batch, (str, bytes)):
        raise InputError("a batch contains several texts: [text]")
    if hasattr(batch, "schema") or hasattr(batch, "columns") or not isinstance(batch, Iterable):
        return batch
    items = list(batch)
    if items and all(isinstance(item, Mapping) for item in items):
        reading = Reading("the batch", fields)
        paths = fields_of_record(fields, items[0], "the batch")
        texts = [
            text.decode()
            for number, item in enumerate(items, 1)
            for text in reading.text_of(item, paths, number)
        ]
        return Texts(texts)
    return Texts(items)


@names_arguments
def merge_counts(parts: Iterable[WordCounts], *, min_count: int = 1) -> WordCounts:
    """The sum of counts that were made by the same rule.

    >>> import volt
    >>> parts = [volt.count_partition(["low low"]), volt.count_partition(["low slow"])]
    >>> volt.merge_counts(parts).to_dict()
    {'▁low': 3, '▁slow': 1}
    """
    check_at_least("min_count", min_count, 1)
    found = list(parts)
    if not found:
        raise SettingsError("there are no counts to merge")
    whole = combine([Weighted(one, Fraction(1)) for one in found], min_count=min_count)
    return replace(whole, parts=[])
