"""volt encode: text to tokens or ids, line by line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import volt
from volt.base.errors import SettingsError
from volt.base.options import Settings, choice, option, text
from volt.cli.arguments import File, Folder, Model, QuietRun, Spark, Stdin
from volt.cli.command import Given, command
from volt.cli.console import progress_for, refuse
from volt.settings import EncodeSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOT_WITH_SPARK = ("form", "dropout", "seed", "on_invalid", "threads", "force")


@dataclass(frozen=True, kw_only=True)
class IdForm(Settings):
    form: Literal["tokens", "ids", "npy"] = option(
        "tokens", "Tokens or ids with a space between; or NumPy files: X.npy with all ids and "
        "X.offsets.npy with where lines begin", choice("tokens", "ids", "npy"), group="Output",
        flag="as",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SparkColumns(Spark):
    field: str | None = option(
        None, "Spark: the column that contains the text.", text("NAME"), group="Input",
        default_words="text",
    )  # fmt: skip
    column: str | None = option(
        None, "Spark: the new column of ids.", text("NAME"), group="Output", default_words="ids"
    )


@command("volt encode -m out test.txt -o test.tok")
def encode(
    model: Model,
    inputs: Stdin,
    settings: EncodeSettings,
    spark: SparkColumns,
    form: IdForm,
    target: File,
    run: QuietRun,
    given: Given,
) -> None:
    """Encode text with a vocabulary, line by line; with Spark, add a column of ids to Parquet."""
    if spark.engine == "spark":
        refuse(given, NOT_WITH_SPARK, "--engine spark")
        if target.output is None or "files" not in given:
            raise SettingsError("Spark reads and writes Parquet: name inputs, and a folder with -o")
        if "://" not in target.output:
            Folder(output=target.output).claim(inputs.files, model.file)
        _with_spark(volt.load(model.model, threads=1), inputs, settings, spark, target.output)
        return
    refuse(given, ("master", "field", "column"), "--engine local")
    if form.form == "npy" and target.output is None:
        raise SettingsError("--as npy writes two files: name the first with -o")
    target.claim(inputs.files, model.file)
    tokenizer = volt.load(model.model, threads=run.threads)
    options = {**vars(settings), "progress": progress_for(run.quiet)}
    if form.form == "npy" and target.output is not None:
        offsets = replace(target, output=str(offsets_path(Path(target.output))))
        offsets.claim(inputs.files, model.file)
        _write_arrays(tokenizer, inputs, options, target.output)
    else:
        _write_text(tokenizer, inputs, options, form, target)


def _with_spark(
    tokenizer: volt.Tokenizer,
    inputs: Stdin,
    settings: EncodeSettings,
    spark: SparkColumns,
    output: str,
) -> None:
    from volt.counting.spark import session as spark_session
    from volt.tokenizing.spark import encode_on_spark

    with spark_session(spark.master) as session:
        encode_on_spark(
            session, tokenizer, inputs.files, output, field=spark.field or "text",
            column=spark.column or "ids", allowed_special=settings.allowed_special,
        )  # fmt: skip


def _write_arrays(
    tokenizer: volt.Tokenizer, inputs: Stdin, options: dict[str, Any], output: str
) -> None:
    import numpy as np

    from volt.base.output import atomic_files

    with atomic_files(output, offsets_path(Path(output))) as streams:
        ids, offsets = _NpyWriter(streams[0], "<u4"), _NpyWriter(streams[1], "<u8")
        offsets.add(np.zeros(1, np.uint64))
        for some_ids, line_ends in tokenizer.encode_to_arrays(inputs.files, **options):
            ids.add(some_ids)
            offsets.add(line_ends)
        ids.finish()
        offsets.finish()


def _write_text(
    tokenizer: volt.Tokenizer, inputs: Stdin, options: dict[str, Any], form: IdForm, target: File
) -> None:
    def write(stream: BinaryIO) -> None:
        text_form: Literal["tokens", "ids"] = "ids" if form.form == "ids" else "tokens"
        for block in tokenizer.encode_to_text(inputs.files, text_form, **options):
            stream.write(block)

    target.write(write)


def offsets_path(path: Path) -> Path:
    """`ids.npy` has its offsets in `ids.offsets.npy`."""
    return path.with_name(f"{path.name.removesuffix('.npy')}.offsets.npy")


class _NpyWriter:
    """An array of unknown length: its header is written once more when the length is known."""

    def __init__(self, stream: BinaryIO, kind: str) -> None:
        self._stream = stream
        self._kind = kind
        self._length = 0
        stream.write(self._header())

    def add(self, values: NDArray[Any]) -> None:
        self._stream.write(values.astype(self._kind, copy=False).tobytes())
        self._length += len(values)

    def finish(self) -> None:
        self._stream.seek(0)
        self._stream.write(self._header())

    def _header(self) -> bytes:
        """Format 1.0 (numpy.lib.format): magic, length, a dictionary; 128 bytes in all."""
        about = {"descr": self._kind, "fortran_order": False, "shape": (self._length,)}
        text = f"{about}".ljust(117) + "\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
