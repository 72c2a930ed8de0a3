"""volt merge: vocabularies of ours joined into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from volt.base.errors import SettingsError
from volt.base.output import check_folder
from volt.cli import options
from volt.cli.console import print_json, progress_for, say
from volt.cli.languages import joined_lines


def merge(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR DIR...",
            help="Folders with a volt.json, or such files.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder to write.", show_default=False),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(help="Text or counts to measure frequencies on.", show_default=False),
    ] = None,
    merge_rule: Annotated[
        Literal["pairs", "concat"] | None,
        typer.Option(help="What may merge.  [default: that of the parts]", show_default=False),
    ] = None,
    threads: options.Threads = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder.")] = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Join vocabularies into one that is closed, with a map of the ids of each."""
    from volt.adapting.join import join
    from volt.counting.counts import count
    from volt.tokenizing.volt_json import load_vocabulary

    if output is None:
        raise SettingsError("name the folder to write with -o")
    check_folder(output, force=force)
    parts = [load_vocabulary(folder) for folder in folders]
    counts = None
    if on:
        rule = parts[0].rule
        counts = count(
            on, pretokenizer=rule.pretokenizer, normalize=rule.normalize,
            max_word_length=rule.max_word_length, threads=threads, progress=progress_for(quiet),
        )  # fmt: skip
    joined = join(parts, counts=counts, merge_rule=merge_rule, threads=threads)
    joined.save(output, force=force)
    if json:
        print_json(joined.summary())
    maps = ", ".join(f"id_map.{number}.npy" for number in range(1, len(parts) + 1))
    say(quiet, *joined_lines(joined.summary()))
    if counts is None:
        say(quiet, "note: frequencies are sums of the parts'; --on FILE measures them")
    say(quiet, f"written to {output}: volt.json, signature.txt, {maps}")
