"""volt export: a vocabulary as files of another toolkit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import volt
from volt.cli import options
from volt.cli.console import print_json, say
from volt.cli.encode import Model

FormatName = Literal[
    "hf", "sentencepiece", "subword-nmt", "gpt2", "tiktoken", "fairseq", "marian", "text"
]


def export(
    model: Model,
    to: Annotated[FormatName, typer.Option("--to", help="The format.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="A folder for hf and gpt2, a file for the others; further files go beside it.",
            show_default=False,
        ),
    ],
    check: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Count the words of this text that the toolkit encodes otherwise.",
            show_default=False,
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Write a vocabulary for another toolkit, which then gives the same tokens."""
    result = volt.export(volt.load(model).vocabulary, to, output, check=check or None)
    say(quiet, *(f"wrote {file}" for file in result.files), *result.messages)
    if result.check is not None:
        say(quiet, f"encoded otherwise: {result.check}")
    if json:
        print_json(result.summary())
