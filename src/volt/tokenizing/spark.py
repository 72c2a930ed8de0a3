"""Encoding on a cluster, with Apache Spark (extra `spark`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from volt.base.errors import InputError, SettingsError
from volt.base.extras import Library
from volt.counting.spark import spark_errors, text_column
from volt.tokenizing.tokenizer import AllowedSpecial, Tokenizer

arrow, functions = Library("pyarrow", "spark"), Library("pyspark.sql.functions", "spark")


def encode_on_spark(
    spark: Any,
    tokenizer: Tokenizer,
    inputs: Sequence[str],
    output: str,
    *,
    field: str = "text",
    column: str = "ids",
    glob: str = "*",
    allowed_special: AllowedSpecial = (),
) -> None:
    """Read Parquet and write it again with one more column: the ids of the text in `field`, as
    `Tokenizer.encode` returns them, or null where the text is null."""
    if not inputs:
        raise InputError("no input: name at least one path")
    mask = frozenset(tokenizer.special_names(allowed_special))
    tokenizer.encode("", allowed_special=mask)  # unknown names are refused here
    with spark_errors():
        reader = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", glob)
        frame = reader.parquet(*inputs)
        if column in frame.columns:
            raise SettingsError(f"there is already a column {column!r}; name another (`column`)")
        texts = text_column(frame, field).cast("binary").alias(column)
        kinds = frame.select("*", functions.lit(None).cast("array<int>").alias(column)).schema
        work = partial(_encode_partition, Tokenizer(tokenizer.vocabulary, threads=1), mask)
        frame.select("*", texts).mapInArrow(work, kinds).write.parquet(output)


def _encode_partition(
    tokenizer: Tokenizer, allowed: frozenset[str], batches: Iterator[Any]
) -> Iterator[Any]:
    """The batches with ids in place of the text in their last column."""
    for batch in batches:
        *kept, texts = batch.columns
        try:
            given = [text and text.decode() for text in texts.to_pylist()]
        except UnicodeDecodeError as error:
            raise InputError(f"invalid UTF-8 in the text {error.object[:80]!r}") from None
        ids = iter(tokenizer.encode_batch((t or "" for t in given), allowed_special=allowed))
        rows = [None if t is None else row for t, row in zip(given, ids, strict=True)]
        kept.append(arrow.array(rows, arrow.list_(arrow.int32())))
        yield arrow.RecordBatch.from_arrays(kept, names=batch.schema.names)
