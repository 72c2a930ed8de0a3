"""Counting on a cluster, with Apache Spark (extra `spark`).

Spark reads, schedules, shuffles and retries; in its workers volt's native code counts. The counts
are those of one machine, byte for byte: a line, a word and a total mean the same, and sums do not
depend on who adds them up. docs/spark.md lists the differences. Encoding: tokenizing/spark.py.
"""

from __future__ import annotations

import io
import json
import logging
import math
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._version import __version__
from volt.base.checks import check_choice
from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.extras import need
from volt.base.options import options_of
from volt.counting.counts import CountTotals, WordCounts
from volt.counting.decoding import CleanText, OnInvalid
from volt.counting.documents import documents_of
from volt.counting.inputs import Weight, weight_in_name, weight_of_each
from volt.counting.reading import Reader, read_documents
from volt.counting.records import DEFAULT_FIELDS, MISSING, find_fields, member_of
from volt.counting.words import WordRule
from volt.settings import MOST, CountSettings, WordSettings

InputForm = Literal["auto", "text", "jsonl", "parquet"]

FORM_OF = {"parquet": "parquet", "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl"}
"""The form of a file by the end of its name, compressed or not (`x.jsonl.gz`). All else is text."""
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "0",  # the word types come here; they fit into one machine
    "spark.sql.ansi.enabled": "true",  # a sum that does not fit 63 bits is an error
}
WORDS_IN_BATCH = 1 << 16
TOTALS = ("lines", "words", "cut_words", "reserved", "replaced", "skipped_lines",
          "documents")  # fmt: skip
PARTIAL = "field string, word binary, count bigint"
"""What a partition has counted: rows for words have no field, rows for totals have no word."""


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
        try:
            yield spark
        finally:
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

    `options` are those of `volt.count`, except for `input_format` and `max_types`. Null is not
    text. Each string, or file of text, is a document. Where lines are read (`unit`) it ends like a
    line, and may contain several lines.
    """
    check_choice("form", form, get_args(InputForm))
    settings = CountSettings(**options)
    for name in ("sample", "document_cap", "mix", "shard"):
        if getattr(settings, name) is not None:
            raise SettingsError(f"Spark counts all of its inputs: leave `{name}` out")
    asked = {name: getattr(settings, name) for name in options_of(WordSettings)}
    asked["reads"] = asked.pop("unit")
    rule = WordRule(**{name: value for name, value in asked.items() if value is not None})
    functions = need("pyspark.sql.functions", "spark")

    # 1. Which inputs are there? Those of one kind and weight are read together.
    groups: dict[tuple[str, Fraction], list[str]] = {}
    for path, weight in _weighted(inputs, settings.weights):
        groups.setdefault((_form_of(path) if form == "auto" else form, weight), []).append(path)
    parts = math.lcm(*(weight.denominator for _, weight in groups))
    if parts > MOST:
        raise SettingsError(f"the weights need counts in units of 1/{parts}; give rounder ones")

    with spark_errors():
        # 2. Count each partition where its text is.
        frames = []
        for (kind, weight), paths in groups.items():
            whole = rule.reads == "document"
            frame = _read(spark, kind, paths, settings.field, settings.glob, whole)
            members = _members(frame, settings.field, paths) if kind == "jsonl" else None
            work = partial(
                _count_partition, rule, settings.on_invalid, int(weight * parts), members
            )
            frames.append((frame, work))
        counted = reduce(
            lambda some, more: some.union(more),
            (frame.mapInArrow(work, PARTIAL) for frame, work in frames),
        )

        # 3. Add up, leave out rare words, sort: highest count first, then by bytes.
        total = functions.sum("count").alias("count")
        least = min(settings.min_count * parts, 1 << 62) if settings.min_count > 1 else 1
        rows = (
            counted.groupBy("field", "word").agg(total)
            .where((functions.col("field") != "") | (functions.col("count") >= least))
            .orderBy("field", functions.desc("count"), "word")
        )  # fmt: skip
        try:
            with spark_errors():
                table = rows.toArrow()
        except InputError as error:
            raise _find_file(frames, error) from error
    return _word_counts(table, rule, parts)


def _weighted(
    inputs: Sequence[str], weights: Iterable[Weight] | Weight | None
) -> list[tuple[str, Fraction]]:
    """Each path with its weight: from its name (`PATH:2.0`), or from the list."""
    if not inputs:
        raise InputError("no input: name at least one path")
    if "-" in inputs:
        raise SettingsError("Spark does not read stdin; name a path that its workers can read")
    each = weight_of_each(weights or None, len(inputs))
    return [weight_in_name(name, weight) for name, weight in zip(inputs, each, strict=True)]


def _form_of(path: str) -> str:
    name = re.sub(r"\.(gz|bz2|zst|deflate|snappy|lz4)$", "", path.rstrip("/").lower())
    return FORM_OF.get(name.rpartition(".")[2], "text")


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
    return find_fields(
        fields, lambda path: member_of(record, path) is not MISSING, list(record), paths[0]
    )


def _read(
    spark: Any, form: str, paths: list[str], fields: Sequence[str], glob: str, whole: bool
) -> Any:
    """A frame of one column, `text`: lines or `whole` files as bytes, or the strings of a column
    as bytes."""
    functions = need("pyspark.sql.functions", "spark")
    for path in paths:
        if path.lower().endswith(".xz"):
            raise InputError(f"{path}: Spark does not read xz; use gz, bz2 or zst")
    reader = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", glob)
    if form == "parquet":
        frame = reader.parquet(*paths)
        kinds = dict(frame.dtypes)
        names = fields or [next((name for name in DEFAULT_FIELDS if name in kinds), "text")]
        columns = [text_column(frame, name).cast("binary") for name in names]
        column = functions.explode(functions.array(*columns)) if columns[1:] else columns[0]
    else:
        # Spark's strings are the bytes of the line, whatever they are: nothing is decoded. Only LF
        # ends a line here; the worker puts CR LF together again.
        if whole and form == "text":
            frame = reader.text(paths, wholetext=True)
        else:
            frame = reader.text(paths, lineSep="\n")
        column = functions.col("value")
    return frame.select(column.cast("binary").alias("text"))


def text_column(frame: Any, field: str) -> Any:
    functions = need("pyspark.sql.functions", "spark")
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
    arrow = need("pyarrow", "spark")
    compute = need("pyarrow.compute", "spark")
    is_word = compute.equal(table.column("field"), "")
    totals = {
        row["field"]: row["count"] for row in table.filter(compute.invert(is_word)).to_pylist()
    }
    for name in sorted(set(totals) - set(TOTALS)):
        if name != _version():
            raise SettingsError(
                f"workers have {name}, this is {_version()}: install the same there"
            )
    table = table.filter(is_word)
    texts: list[NDArray[np.uint8]] = [np.zeros(0, np.uint8)]
    lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    for chunk in table.column("word").cast(arrow.large_binary()).chunks:
        if len(chunk):
            text, bounds = _buffers(chunk)
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
            **{name: totals.get(name, 0) for name in TOTALS if name != "words"},
            words=words,
            pruned_words=totals.get("words", 0) - words,
        ),
        unit,
    )


def _buffers(strings: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of an Arrow array of `large_binary`, and where in them its strings begin."""
    _, offsets, data = strings.buffers()
    bounds = np.frombuffer(offsets, np.int64)[strings.offset :][: len(strings) + 1]
    text = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return text[bounds[0] : bounds[-1]], bounds - bounds[0]


def _version() -> str:
    return f"volt {__version__} with Unicode {_core.unicode_version}"


# --------------------------------------------------------------------------------- in the workers


def _count_partition(
    rule: WordRule,
    on_invalid: OnInvalid,
    weight: int,
    members: Sequence[tuple[str, ...]] | None,
    batches: Iterator[Any],
) -> Iterator[Any]:
    """The words of one partition, and its totals."""
    arrow = need("pyarrow", "spark")
    counter = rule.counter()
    totals = CountTotals()
    for batch in batches:
        totals += _feed(counter, batch.column(0), rule, on_invalid, weight, members)
    counted = counter.totals
    sums = {
        "lines": totals.lines,
        "documents": totals.documents,
        "words": counted["words"],
        "cut_words": counted["cut_words"],
        "reserved": counted["reserved"],
        "replaced": totals.replaced,
        "skipped_lines": totals.skipped_lines,
        _version(): 0,
    }
    names = ["field", "word", "count"]
    kinds = arrow.schema(
        [("field", arrow.string()), ("word", arrow.binary()), ("count", arrow.int64())]
    )
    rows = [list(sums), [b""] * len(sums), list(sums.values())]
    yield arrow.RecordBatch.from_pydict(dict(zip(names, rows, strict=True)), kinds)
    text, offsets, counts = counter.finish(1)
    for first in range(0, len(counts), WORDS_IN_BATCH):
        bounds = offsets[first : first + WORDS_IN_BATCH + 1].astype(np.int64)
        size = len(bounds) - 1
        words = arrow.LargeBinaryArray.from_buffers(
            arrow.large_binary(),
            size,
            [
                None,
                arrow.py_buffer(bounds - bounds[0]),
                arrow.py_buffer(text[bounds[0] : bounds[-1]]),
            ],
        )
        columns = [
            arrow.repeat("", size),
            words.cast(arrow.binary()),
            arrow.array(counts[first : first + size].astype(np.int64)),
        ]
        yield arrow.RecordBatch.from_arrays(columns, schema=kinds)


def _feed(
    counter: _core.Counter,
    strings: Any,
    rule: WordRule,
    on_invalid: OnInvalid,
    weight: int,
    members: Sequence[tuple[str, ...]] | None,
) -> CountTotals:
    """Count one batch of documents, or of lines and strings that end like lines."""
    if rule.reads == "document":
        return _feed_documents(counter, strings, rule, on_invalid, weight, members)
    data = _as_lines(strings, members)
    clean = None
    if rule.normalize != "none" or on_invalid != "error":
        clean = CleanText(io.BytesIO(data), "the text", on_invalid, rule.normalize)
        data = b"".join(clean.blocks(len(data) + 1))
    _, lines, invalid = counter.feed(data, True, weight)
    if invalid >= 0:
        start = data.rfind(b"\n", 0, invalid) + 1
        line = data[start : start + 80].partition(b"\n")[0]
        raise InputError(
            f"invalid UTF-8 (0x{data[invalid]:02X}) in the line {line!r}; fix the file, or use "
            "`on_invalid='replace'` or `on_invalid='skip-line'`"
        )
    if clean is None:
        return CountTotals(lines=lines)
    return CountTotals(lines=lines, replaced=clean.replaced, skipped_lines=clean.skipped_lines)


def _feed_documents(
    counter: _core.Counter,
    strings: Any,
    rule: WordRule,
    on_invalid: OnInvalid,
    weight: int,
    members: Sequence[tuple[str, ...]] | None,
) -> CountTotals:
    """Count one batch of strings, each of which is a document."""
    texts = [text for text in strings.to_pylist() if text is not None]
    if members is not None:
        found = (_member(line, member) for line in texts for member in members)
        texts = [text for text in found if text is not None]
    reader = Reader("the text", rule, on_invalid, None, weight, bytearray())
    return read_documents(reader, iter([documents_of(texts)]), counter, lambda _: None)[0]


def _as_lines(strings: Any, members: Sequence[tuple[str, ...]] | None) -> bytes:
    """The strings one after the other, each followed by a line feed unless it ends with one."""
    arrow, compute = need("pyarrow", "spark"), need("pyarrow.compute", "spark")
    if members is not None:
        lines = strings.to_pylist()
        found = (_member(line, member) for line in lines for member in members)
        return b"".join(t if t.endswith(b"\n") else t + b"\n" for t in found if t is not None)
    strings = strings.drop_null().cast(arrow.large_binary())
    nothing, line_end = (arrow.scalar(value, arrow.large_binary()) for value in (b"", b"\n"))
    ended = compute.binary_join_element_wise(strings, nothing, line_end)
    lines = compute.if_else(compute.ends_with(strings, pattern=b"\n"), strings, ended)
    return _buffers(lines)[0].tobytes() if len(lines) else b""


def _member(line: bytes, member: Sequence[str]) -> bytes | None:
    """The text in a line of JSON; None if it is null."""
    try:
        found = json.loads(line)
        for part in member:
            found = found[part]
        if found is None:
            return None
        if not isinstance(found, str):
            raise TypeError(f"{'.'.join(member)} is a {type(found).__name__}")
        return found.encode()
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        name, kind = ".".join(member), type(error).__name__
        raise InputError(
            f"a line that is not a JSON object with text in {name!r} ({kind}: {error}): "
            f"{line[:80]!r}; `field` names the text"
        ) from None


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
    functions = need("pyspark.sql.functions", "spark")
    for frame, work in frames:
        row = (
            frame.withColumn("file", functions.input_file_name())
            .mapInArrow(partial(_failing, work), "file string, problem string").first()
        )  # fmt: skip
        if row is not None:
            return InputError(f"{row[0]}: {row[1]}")
    return failed


def _failing(work: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """The first line of a partition that can't be counted, found by halving its batch."""
    arrow = need("pyarrow", "spark")

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
