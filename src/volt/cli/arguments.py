"""Options that several commands share and that only the command line has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import click

import volt
from volt.base.errors import InputError, VoltError
from volt.base.options import (
    Settings,
    argument,
    choice,
    file_list,
    one_of,
    option,
    path,
    registered,
    text,
    whole,
)
from volt.cli.streams import DataOut

if TYPE_CHECKING:
    from volt.tokenizing.tokenizer import Tokenizer

formats = registered("volt.formats", "FORMATS")

INPUTS = (
    "Text or counts files, folders, or - for stdin; gz, bz2, xz and zst are read as they are. "
    "FILE:2.0 gives a file a weight."
)
REPLACE = "Replace a file that exists."


@dataclass(frozen=True, kw_only=True)
class Inputs(Settings):
    files: Sequence[str] = argument(..., INPUTS, file_list(), metavar="FILE...")


@dataclass(frozen=True, kw_only=True)
class ModelOption(Settings, group="Tokens"):
    model: str = option(
        ..., "A learned vocabulary: its folder, or volt.json.", path("DIR"), short="-m"
    )

    @property
    def file(self) -> str:
        folder = Path(self.model)
        return str(folder / "volt.json" if folder.is_dir() else folder)

    def load(self, threads: int | None = None) -> Tokenizer:
        _check_not_swapped(self.model)
        check_learned(self.model)
        return volt.load(self.model, threads=threads)


def _check_not_swapped(path: str) -> None:
    """Refuse a text as the vocabulary where the text is a vocabulary."""
    context = click.get_current_context(silent=True)
    files = (context.params.get("files") if context else None) or ()
    if context is None or not Path(path).is_file() or _is_learned(path):
        return
    for one in filter(_is_learned, files):
        command = f"volt {context.info_name} -m {quote(one)} {quote(path)}"
        raise InputError(
            f"-m takes a vocabulary, which {one} is and {path} is not: are they swapped? {command}"
        )


def _is_learned(path: str) -> bool:
    """Is it a folder of volt, or its volt.json?"""
    return Path(path).name == "volt.json" or (Path(path) / "volt.json").exists()


def check_learned(path: str) -> None:
    """Refuse a tokenizer of another toolkit; what can't be read is left to who reads it."""
    place = Path(path)
    its = place.suffix == ".json" and place.name != "tokenizer.json"
    if its or (place / "volt.json").exists() or not place.exists():
        return
    from volt.formats.detect import identify

    try:
        found = identify(place)
    except VoltError:
        return
    if found.kind == "text":
        raise InputError(
            f"{path} is {found.said}, not a vocabulary of volt: -m takes a folder that volt learn "
            "wrote"
        )
    if found.kind != "volt":
        raise InputError(
            f"{path} is {found.said}, not a vocabulary of volt; read it first: "
            f"volt import {path} -o DIR"
        )


@dataclass(frozen=True, kw_only=True)
class Stdin(Settings):
    """Inputs of commands that read stdin where none is named."""

    files: Sequence[str] = argument(
        ("-",), "Files, folders, or - for stdin; gz, bz2, xz and zst are read as they are.",
        file_list(), metavar="[FILE...]",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class File(Settings, group="Output"):
    """Output of commands that write a file."""

    output: str | None = option(
        None, "Write here.", path("FILE"), short="-o", default_words="stdout"
    )
    force: bool = option(False, REPLACE)

    def claim(self, *inputs: object, glob: str = "*") -> None:
        """Refuse, before any work, an output that must not be written."""
        from volt.base.output import claim

        claim(self.output, inputs=inputs, force=self.force, glob=glob)

    def write(self, write: Callable[[BinaryIO], object]) -> None:
        """Have the output written: to the file, or to stdout."""
        from volt.base.output import atomic_write

        if self.output is not None:
            with atomic_write(self.output) as stream:
                write(stream)
        else:
            out = DataOut()
            write(cast(BinaryIO, out))
            out.flush()


@dataclass(frozen=True, kw_only=True)
class Folder(Settings, group="Output"):
    """Output of commands that write a folder."""

    output: str = option(..., "Folder to write.", path("DIR"), short="-o")
    force: bool = option(False, "Replace a folder that volt wrote.")

    def claim(self, *inputs: object) -> None:
        """Refuse, before any work, a folder that must not be written."""
        from volt.base.output import claim

        claim(self.output, inputs=inputs, force=self.force, folder=True)


@dataclass(frozen=True, kw_only=True)
class Learned(Settings):
    folder: str = argument(..., "What volt learn wrote: the folder.", path(), metavar="DIR")

    @property
    def files(self) -> list[str]:
        """The files that are read."""
        folder = Path(self.folder)
        folder = folder.parent if folder.name == "volt.json" else folder
        names = ("volt.json", "choices.json", "curve.csv", "report.json")
        return [str(folder / name) for name in names]


@dataclass(frozen=True, kw_only=True)
class Spark(Settings, group="Input"):
    """Where the work is done."""

    engine: Literal["local", "spark"] = option(
        "local", "This machine, or Apache Spark (extra spark)", choice("local", "spark")
    )
    master: str | None = option(
        None, "Spark's master: spark://HOST:7077, yarn, local[4].", text("URL"),
        default_words="as Spark is set up",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Pattern(Settings, group="Input"):
    pattern: str | None = option(
        None, "How a tokenizer cuts text, where its files do not say it: a byte-level "
        "pre-tokenizer such as qwen2, or a regular expression.", text("NAME"),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TokenizerInput(Pattern, group="Input"):
    """A tokenizer of any toolkit, the text to fit it to, and the model that uses it."""

    tokenizer: str = argument(
        ..., "tokenizer.json, a .model, vocab.json, ranks, codes, or their folder; or a volt.json.",
        path(), metavar="TOKENIZER",
    )  # fmt: skip
    files: Sequence[str] = argument((), "More text, as `on`.", file_list(), metavar="[FILE...]")
    on: Sequence[str] = option(
        (), "Text or counts to fit to; may be given several times.", file_list(),
        default_words="required",
    )  # fmt: skip
    model: str | None = option(
        None, "Checkpoint that uses the tokenizer, to be changed with it.", path("DIR")
    )
    form: str | None = option(
        None, "Format of the tokenizer", one_of(formats, aliases=True), flag="from",
        default_words="as it looks",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Quiet(Settings, group="Output"):
    quiet: bool = option(False, "No progress, no summary, no notes; warnings stay.", short="-q")


@dataclass(frozen=True, kw_only=True)
class Printing(Quiet, group="Output"):
    json: bool = option(False, "Print the result as JSON on stdout.")


@dataclass(frozen=True, kw_only=True)
class Threads(Settings, group="Output"):
    threads: int | None = option(None, "Number of threads.", whole(1), default_words="one per core")


@dataclass(frozen=True, kw_only=True)
class QuietRun(Quiet, Threads):
    """For commands that have no result to print as JSON."""


@dataclass(frozen=True, kw_only=True)
class Run(Printing, Threads):
    """How a command runs and what it prints."""
