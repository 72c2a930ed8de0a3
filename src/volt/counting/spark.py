"""Counting on a cluster, with Apache Spark (extra `spark`).

Spark reads, schedules, shuffles and retries; in its workers volt's native code counts. The counts
are those of one machine, byte for byte: a line, a word and a total mean the same, and sums do not
depend on who adds them up. docs/spark.md lists the differences. Encoding: tokenizing/spark.py.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from volt.base.checks import check_choice
from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.extras import Library, need
from volt.base.workers import begin
from volt.counting.counts import CountTotals, WordCounts, common_unit
from volt.counting.documents import tell_left_out
from volt.counting.inputs import split_group, weight_in_name, weight_of_each
from volt.counting.record_readers import string_buffers
from volt.counting.records import DEFAULT_FIELDS, fields_of_record, form_by_name
from volt.counting.sampling import Census, Sampling, choose, sample_report
from volt.counting.spark_worker import (
    COUNTED,
    LEFT_OUT,
    PARTIAL,
    RANGES,
    Work,
    census_partition,
    count_on_worker,
    failing,
    version,
)
from volt.counting.words import WordRule
from volt.settings import CountSettings, WordSettings

InputForm = Literal["auto", "text", "jsonl", "parquet"]
functions = Library("pyspark.sql.functions", "spark")
arrow, compute = Library("pyarrow", "spark"), Library("pyarrow.compute", "spark")

SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "0",  # the word types come here; they fit into one machine
    "spark.sql.ansi.enabled": "true",  # a sum that does not fit 63 bits is an error
}


PATIENCE = 2.0
"""Seconds in which Spark has to stop after a signal."""
AFTER_MARK = "substring(cast(value AS binary), 4)"
"""A file of text without the byte order mark."""


@contextmanager
def session(master: str | None = None) -> Iterator[Any]:
    """A Spark session at `master` (a URL, or `local[4]`), stopped at the end. Without a master,
    Spark's own settings decide."""
    sql = need("pyspark.sql", "spark")
    need("pyarrow", "spark")
    # Workers run the Python that this process runs, which has volt, unless told otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Our own messages tell of a broken connection; this logger would add a traceback.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    builder = sql.SparkSession.builder.appName("volt").config(map=SETTINGS)
    with warnings.catch_warnings():
        # A warning about pandas, which is not used here.
        warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
        interrupt = signal.getsignal(signal.SIGINT)
        try:
            spark = (builder.master(master) if master else builder).getOrCreate()
        except Exception as error:  # of Java, of the network, of Spark
            raise SettingsError(
                f"cannot start Spark at {master or 'its default master'}: {_first_line(error)}; "
                "it needs Java 17 or later, and a master such as local[*] or spark://HOST:7077"
            ) from error
        if interrupt is not None and threading.current_thread() is threading.main_thread():
            # Spark's own handler would turn Ctrl-C into a failed job.
            signal.signal(signal.SIGINT, interrupt)
        patience: float | None = None
        try:
            yield spark
        except BaseException as error:
            # After a signal nobody waits for a worker that hangs: Java ends after this process.
            patience = None if isinstance(error, Exception) else PATIENCE
            raise
        finally:
            stopping = threading.Thread(target=_stop, args=(spark,), daemon=True)
            stopping.start()
            stopping.join(patience)


def _stop(spark: Any) -> None:
    with suppress(Exception):  # it may have died
        spark.stop()


# ------------------------------------------------------------------------------------------- count


def count_on_spark(
    spark: Any,
    inputs: Sequence[str],
    *,
    form: InputForm = "auto",
    **options: Any,
) -> WordCounts:
    """Count the words of text, JSON Lines or Parquet at any path that Spark reads.

    `options` are those of `volt.count`, except for `input_format`, `max_types` and `shard`. Null is
    not text. Each string, or file of text, is a document. Where lines are read (`unit`) it ends
    like a line, and may contain several lines.
    """
    check_choice("form", form, get_args(InputForm))
    settings = CountSettings(**options)
    if settings.shard is not None:
        raise SettingsError("Spark divides the work itself: leave `shard` out")
    asked = WordSettings.values_in(settings)
    asked["reads"] = asked.pop("unit")
    rule = WordRule(**{name: value for name, value in asked.items() if value is not None})
    sampling = Sampling.of(settings, rule.reads)

    # 1. Which inputs are there? Those of one kind, weight and part of a mixture are read together.
    groups = _groups(inputs, settings, form)
    unit = common_unit(one.weight for one in groups)

    with spark_errors():
        works = []
        for one, paths in groups.items():
            frame = _read(spark, one.form, paths, settings, rule.reads == "document")
            members = _members(frame, settings.field, paths) if one.form == "jsonl" else None
            work = Work(rule, settings.on_invalid, int(one.weight * unit), members, sampling)
            works.append((one.group, frame, work))

        # 2. Which documents are kept?
        report = None
        if sampling is not None:
            censuses = _take_census(works, sampling)
            limits, _ = choose(censuses, sampling)
            report = sample_report(censuses, limits, sampling)
            works = [(group, frame, replace(work, limit=limits[group]))
                     for group, frame, work in works]  # fmt: skip

        # 3. Count each partition where its text is, add up, leave out rare words, sort.
        least = min(settings.min_count * unit, 1 << 62) if settings.min_count > 1 else 1
        table = _count(works, least)
    return replace(_word_counts(table, rule, unit), sample=report)


class _Alike(NamedTuple):
    """What inputs that are read together have in common."""

    form: str
    weight: Fraction
    group: str = ""


def _groups(
    inputs: Sequence[str], settings: CountSettings, form: InputForm = "auto"
) -> dict[_Alike, list[str]]:
    """The paths by kind, weight and part of the mixture. The weight is that of the name
    (`PATH:2.0`) or of the list."""
    if not inputs:
        raise InputError("no input: name at least one path")
    each = weight_of_each(settings.weights or None, len(inputs))
    found: dict[_Alike, list[str]] = {}
    for name, given in zip(inputs, each, strict=True):
        group, path = split_group(name, cast(Any, settings.mix) or ())
        path, weight = weight_in_name(path, given)
        if path == "-":
            raise SettingsError("Spark does not read stdin; name a path that its workers can read")
        alike = _Alike(_form_of(path) if form == "auto" else form, weight, group)
        found.setdefault(alike, []).append(path)
    return found


def _take_census(works: Sequence[tuple[str, Any, Work]], sampling: Sampling) -> dict[str, Census]:
    """The first pass over the text: bytes and documents by ranges of hashes."""
    censuses = {name: Census() for name in sampling.mix or ("",)}
    for group, frame, work in works:
        rows = (
            frame.mapInArrow(partial(census_partition, work), RANGES).groupBy("range")
            .agg(functions.sum("size").alias("size"), functions.sum("documents").alias("documents"))
        )  # fmt: skip
        table = _collect(rows, [(frame, partial(census_partition, work))])
        ranges, sizes, documents = (table.column(place).to_numpy() for place in range(3))
        kept, census = ranges >= 0, censuses[group]
        census.read_bytes += int(sizes[~kept].sum())
        census.sizes[ranges[kept]] += sizes[kept]
        census.documents[ranges[kept]] += documents[kept]
    return censuses


def _count(works: Sequence[tuple[str, Any, Work]], least: int) -> Any:
    """The rows of all partitions, added up: highest count first, then by bytes."""
    parts = [(frame, partial(count_on_worker, work)) for _, frame, work in works]
    counted = reduce(
        lambda some, more: some.union(more),
        (frame.mapInArrow(work, PARTIAL) for frame, work in parts),
    )
    rows = (
        counted.groupBy("field", "word").agg(functions.sum("count").alias("count"))
        .where((functions.col("field") != "") | (functions.col("count") >= least))
        .orderBy("field", functions.desc("count"), "word")
    )  # fmt: skip
    return _collect(rows, parts)


def _collect(rows: Any, parts: Sequence[tuple[Any, Any]]) -> Any:
    try:
        with spark_errors():
            # In a thread: after a signal, toArrow itself would wait for the end of the job.
            return begin(rows.toArrow).result()
    except InputError as error:
        raise _find_file(parts, error) from error


def _form_of(path: str) -> str:
    """Of JSON, only lines are read; of other records, only Parquet."""
    found = form_by_name(path.rstrip("/"))
    return {"parquet": "parquet", "jsonl": "jsonl", "json": "jsonl"}.get(found or "", "text")


def _members(frame: Any, fields: Sequence[str], paths: list[str]) -> list[tuple[str, ...]]:
    """The members of JSON objects that are read: those that the first object has."""
    row = frame.first()
    try:
        record = json.loads(row[0]) if row is not None else {}
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or row is None:
        # Whoever counts it will say what is wrong with it.
        return [tuple(name.split(".")) for name in fields] or [("text",)]
    return fields_of_record(fields, record, paths[0])


def _read(spark: Any, form: str, paths: list[str], settings: CountSettings, whole: bool) -> Any:
    """A frame of one column, `text`: lines or `whole` files as bytes, or the strings of a column
    as bytes."""
    for path in paths:
        if path.lower().endswith(".xz"):
            raise InputError(f"{path}: Spark does not read xz; use gz, bz2 or zst")
    reader = spark.read.option("recursiveFileLookup", "true").option(
        "pathGlobFilter", settings.glob
    )
    if form == "parquet":
        frame = reader.parquet(*paths)
        kinds = dict(frame.dtypes)
        names = settings.field or [next((name for name in DEFAULT_FIELDS if name in kinds), "text")]
        columns = [text_column(frame, name).cast("binary") for name in names]
        column = functions.explode(functions.array(*columns)) if columns[1:] else columns[0]
    else:
        # Spark's strings are the bytes of the line, whatever they are: nothing is decoded. Only LF
        # ends a line here; the worker puts CR LF together again.
        if whole and form == "text":
            frame = reader.text(paths, wholetext=True)
        else:
            frame = reader.text(paths, lineSep="\n")
        column = functions.col("value").cast("binary")
        if whole and form == "text":  # of lines, Spark leaves out the mark of a file's start
            marked = functions.substring(column, 1, 3) == functions.lit(b"\xef\xbb\xbf")
            column = functions.when(marked, functions.expr(AFTER_MARK)).otherwise(column)
    return frame.select(column.cast("binary").alias("text"))


def text_column(frame: Any, field: str) -> Any:
    kinds = dict(frame.dtypes)
    quoted = functions.col(f"`{field}`") if field in kinds else functions.col(field)
    try:
        kind = frame.select(quoted).dtypes[0][1]
    except Exception:
        raise InputError(
            f"no column {field!r}; there are: {', '.join(kinds)} (`field` names the text)"
        ) from None
    if kind not in ("string", "binary"):
        raise InputError(f"column {field!r} is {kind}, not text; `field` names the text")
    return quoted


def _word_counts(table: Any, rule: WordRule, unit: int) -> WordCounts:
    """WordCounts from the rows that Spark has added up and sorted."""
    is_word = compute.equal(table.column("field"), "")
    totals = {
        row["field"]: row["count"] for row in table.filter(compute.invert(is_word)).to_pylist()
    }
    for name in sorted(set(totals) - {*COUNTED, *LEFT_OUT, version()}):
        raise SettingsError(f"workers have {name}, this is {version()}: install the same there")
    tell_left_out("Spark's inputs", *(totals.get(name, 0) for name in LEFT_OUT))
    table = table.filter(is_word)
    texts: list[NDArray[np.uint8]] = [np.zeros(0, np.uint8)]
    lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    for chunk in table.column("word").cast(arrow.large_binary()).chunks:
        if len(chunk):
            text, bounds = string_buffers(chunk)
            texts.append(text)
            lengths.append(np.diff(bounds))
    counts = table.column("count").to_numpy().astype(np.uint64)
    words = int(counts.sum())
    return WordCounts(
        rule,
        np.concatenate(texts),
        np.cumsum(np.concatenate(lengths)).astype(np.uint64),
        counts,
        CountTotals(
            **{name: totals.get(name, 0) for name in COUNTED if name != "words"},
            words=words,
            pruned_words=totals.get("words", 0) - words,
        ),
        unit,
    )


# ------------------------------------------------------------------------------------------ errors


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn what Spark raises into an error of ours, with the one line that says what is wrong."""
    try:
        yield
    except VoltError:
        raise
    except Exception as error:
        before: BaseException = error
        while isinstance(before, Exception) and before.__context__ is not None:
            before = before.__context__
        if not isinstance(before, Exception):  # Ctrl-C, and what it broke on the way out
            raise before from None
        raise InputError(_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    """Our message if a worker raised it, else the first line of a trace that may fill pages."""
    text = str(error)
    ours = re.search(r"volt\.base\.errors\.\w+: (.+)", text)
    if ours:
        return ours[1]
    if "ARITHMETIC_OVERFLOW" in text:
        return "the counts do not fit into 63 bits"
    causes = re.findall(r"^(?:Caused by: |: )?([\w.]+(?:Error|Exception): .+)", text, re.MULTILINE)
    return f"Spark: {(causes or text.strip().splitlines() or [type(error).__name__])[-1][:400]}"


def _find_file(frames: Iterable[tuple[Any, Any]], failed: InputError) -> InputError:
    """The error of a worker with the name of its file. The text is read once more for that."""
    for frame, work in frames:
        row = (
            frame.withColumn("file", functions.input_file_name())
            .mapInArrow(partial(failing, work), "file string, problem string").first()
        )  # fmt: skip
        if row is not None:
            return InputError(f"{row[0]}: {row[1]}")
    return failed
