"""volt extend: a tokenizer that exists, with tokens more for a text."""

from __future__ import annotations

from typing import Annotated

import typer

from volt.cli import options
from volt.cli.console import progress_for
from volt.cli.refit import (
    Checkpoint,
    Folder,
    Force,
    From,
    MoreFiles,
    On,
    TokenizerFile,
    check_arguments,
    tell,
)
from volt.counting.counts import MOST


def extend(
    tokenizer: TokenizerFile,
    add: Annotated[
        int, typer.Option("--add", min=1, max=MOST, help="Tokens to add.", show_default=False)
    ],
    files: MoreFiles = None,
    on: On = None,
    output: Folder = None,
    model: Checkpoint = None,
    form: From = None,
    min_frequency: options.MinFrequency = 2,
    on_invalid: options.OnInvalid = "error",
    min_count: options.MinCount = 1,
    weight: options.Weights = None,
    glob: options.Glob = "*",
    input_format: options.InputFormat = "auto",
    threads: options.Threads = None,
    force: Force = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Add tokens for a text to a tokenizer, and rows for them to a model; old ids stay."""
    from volt.adapting.extend import extend as extended

    output, texts = check_arguments(output, force, on, files)
    result = extended(
        tokenizer, texts, add, model=model, form=form, min_frequency=min_frequency,
        on_invalid=on_invalid, min_count=min_count, weights=weight or None, glob=glob,
        input_format=input_format, threads=threads, progress=progress_for(quiet),
    )  # fmt: skip
    head = f"{result.before.size:,} tokens -> {result.after.size:,}; the old ones have their ids"
    tell(result, [head], output, force, quiet, json)
