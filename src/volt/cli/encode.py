"""volt encode: text to tokens or ids, a line for a line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import numpy as np
import typer
from numpy.typing import NDArray

import volt
from volt.base.errors import SettingsError
from volt.base.output import atomic_write
from volt.cli import options
from volt.cli.console import progress_for, refuse_options, write_stdout
from volt.tokenizing.tokenizer import OnInvalid as OnInvalidName

Model = Annotated[
    Path,
    typer.Option(
        "--model", "-m", metavar="DIR", help="A learned vocabulary: its folder, or volt.json.",
        show_default=False,
    ),
]  # fmt: skip
Form = Annotated[
    Literal["tokens", "ids", "npy"],
    typer.Option(
        "--as",
        help="Tokens or ids with a space between; or NumPy files: X.npy with all ids and "
        "X.offsets.npy with where lines begin.",
    ),
]
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE...]",
        help="Files, folders, or - for stdin; gz, bz2, xz, zst as they are.  [default: stdin]",
        show_default=False,
    ),
]


def encode(
    model: Model,
    files: Files = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write here.  [default: stdout]", show_default=False),
    ] = None,
    form: Form = "tokens",
    allow_special: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help='Names that are special tokens in the text, or "all".',
            show_default=False,
        ),
    ] = "",
    dropout: Annotated[
        float, typer.Option(min=0, max=1, help="Skip merges with this probability (BPE-dropout).")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Of dropout.")] = 0,
    on_invalid: Annotated[OnInvalidName, typer.Option(help="What to do with invalid UTF-8.")] = (
        "error"
    ),
    engine: options.Engine = "local",
    master: options.Master = None,
    field: options.Field = None,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Spark: the new column of ids.  [default: ids]", show_default=False
        ),
    ] = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Encode text with a vocabulary: a line of tokens for a line of text; with Spark Parquet to
    Parquet, with a column of ids."""
    if engine == "spark":
        from volt.counting import spark

        unfit = {"--as": form != "tokens", "--dropout": dropout, "--seed": seed,
                 "--on-invalid": on_invalid != "error", "--threads": threads}  # fmt: skip
        refuse_options(unfit, "--engine spark")
        if output is None or not files:
            raise SettingsError("Spark reads and writes Parquet: name inputs, and a folder with -o")
        tokenizer = volt.load(model, threads=1)
        allowed = "all" if allow_special == "all" else _names(allow_special)
        with spark.session(master) as session:
            spark.encode(
                session,
                tokenizer,
                files,
                output,
                field=field or "text",
                column=column or "ids",
                allowed_special=allowed,
            )
        return
    refuse_options({"--master": master, "--field": field, "--column": column}, "--engine local")
    if form == "npy" and output is None:
        raise SettingsError("--as npy writes two files: name the first with -o")
    tokenizer = volt.load(model, threads=threads)
    settings: dict[str, Any] = {
        "allowed_special": "all" if allow_special == "all" else _names(allow_special),
        "dropout": dropout,
        "seed": seed,
        "on_invalid": on_invalid,
        "progress": progress_for(quiet),
    }
    inputs = files or ["-"]
    if form == "npy" and output is not None:
        with (
            atomic_write(offsets_path(Path(output))) as offsets_stream,
            atomic_write(output) as ids_stream,
        ):
            ids, offsets = _NpyWriter(ids_stream, "<u4"), _NpyWriter(offsets_stream, "<u8")
            offsets.add(np.zeros(1, np.uint64))
            for some_ids, line_ends in tokenizer.encode_to_arrays(inputs, **settings):
                ids.add(some_ids)
                offsets.add(line_ends)
            ids.finish()
            offsets.finish()
        return

    def write(stream: BinaryIO) -> None:
        text_form: Literal["tokens", "ids"] = "ids" if form == "ids" else "tokens"
        for block in tokenizer.encode_to_text(inputs, text_form, **settings):
            stream.write(block)

    if output is None:
        write_stdout(write)
    else:
        with atomic_write(output) as stream:
            write(stream)


def offsets_path(path: Path) -> Path:
    """`ids.npy` has its offsets in `ids.offsets.npy`."""
    return path.with_name(f"{path.name.removesuffix('.npy')}.offsets.npy")


def _names(listed: str) -> list[str]:
    return [name for name in listed.split(",") if name]


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
