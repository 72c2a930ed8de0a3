"""volt import: the vocabulary of another toolkit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import volt
from volt.base.output import atomic_folder
from volt.cli import options
from volt.cli.console import print_json, say
from volt.cli.export import FormatName


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="tokenizer.json, a .model, codes, vocab.json, ranks, a list; or their folder.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="A folder for volt.json.", show_default=False
        ),
    ],
    form: Annotated[
        FormatName | None,
        typer.Option("--from", help="The format.  [default: as it looks]", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace DIR if volt made it.")] = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Read the vocabulary of another toolkit into a folder that volt can use."""
    vocabulary, messages = volt.import_vocabulary(file, form)
    with atomic_folder(output, force=force) as folder:
        vocabulary.save(folder / "volt.json")
    rule = vocabulary.rule.pretokenizer
    merges = vocabulary.look_up is None
    how = f"rule {vocabulary.merge_rule}" if merges else f"encoding {vocabulary.encoding}"
    say(quiet, f"{len(vocabulary):,} tokens, {rule}, {how}", *messages)
    if json:
        print_json(
            {
                "size": len(vocabulary),
                "pretokenizer": rule,
                "encoding": vocabulary.encoding,
                "merge_rule": vocabulary.merge_rule,
                "unknown": vocabulary.unknown,
                "hidden": len(vocabulary.hidden),
                "unreachable": len(vocabulary.unreachable),
                "messages": messages,
            }
        )
