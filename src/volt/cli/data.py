"""volt data: corpora to learn from and to try on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from volt.base.options import (
    Settings,
    argument,
    listed,
    number,
    option,
    pair,
    path,
    text,
    whole,
)
from volt.base.shown import plural
from volt.cli.arguments import REPLACE, Quiet
from volt.cli.command import HELP_FLAGS, command
from volt.cli.console import print_json, progress_for, say


@dataclass(frozen=True, kw_only=True)
class ListCommand(Settings, group="Output"):
    json: bool = option(False, "As JSON, with addresses, checksums, splits and cleaning.")


@dataclass(frozen=True, kw_only=True)
class GetCommand(Settings, group="Output"):
    name: str = argument(..., "One of `volt data list`.", text(), metavar="NAME")
    languages: tuple[str, ...] = option(
        (), "Which languages; for ted two, or *,en for all with English.", listed(), group="Input",
        metavar="X,Y", default_words="all",
    )  # fmt: skip
    no_clean: bool = option(False, "Keep pairs that the paper's cleaning drops.", group="Input")
    output: str = option(..., "Folder to write.", path("DIR"), short="-o")
    cache: str | None = option(
        None, "Where downloads are kept.", path("DIR"), default_words="DIR.downloads"
    )
    force: bool = option(False, "Replace a folder that volt data get wrote.")


@dataclass(frozen=True, kw_only=True)
class CleanCommand(Settings, group="Words"):
    source: str = argument(..., "Text, source side.", path(), metavar="SOURCE")
    target: str = argument(..., "Text, target side.", path(), metavar="TARGET")
    minimum: int = option(1, "Fewest words of a side.", whole(0), flag="min")
    maximum: int = option(80, "Most words of a side.", whole(0), flag="max")
    ratio: float = option(
        9.0, "Most words of one side for each word of the other; 0: any.", number()
    )
    output: tuple[str, str] = option(..., "Files to write.", pair(), group="Output", short="-o")
    force: bool = option(False, REPLACE, group="Output")


@command("volt data list", name="list")
def list_(shown: ListCommand) -> None:
    """List the data sets: languages, licence, where to read about them."""
    from volt.data import DATASETS

    if shown.json:
        print_json({name: _plain(one) for name, one in DATASETS.items()})
        return
    for name, one in DATASETS.items():
        languages = "60 languages" if one.languages == ("*",) else " ".join(one.languages)
        print(f"{name}\n    {one.title}\n    {languages}; {one.source}\n    licence: {one.licence}")


def _plain(dataset: Any) -> dict[str, Any]:
    checked = [side for parts in dataset.splits.values() for part in parts for side in part]
    return {
        "title": dataset.title,
        "languages": dataset.languages,
        "licence": dataset.licence,
        "source": dataset.source,
        "splits": list(dataset.splits),
        "held_out_every": dataset.held_out_every,
        "cleaning": None if dataset.cleaning is None else vars(dataset.cleaning),
        "paper_steps": dataset.paper_steps,
        "downloads": {
            key: {
                "address": one.address,
                "checksum": one.checksum,
                "text_sha256": next((s.sha256 for s in checked if s.download == key), None),
            }
            for key, one in dataset.downloads.items()
        },
    }


@command("volt data get multi30k -o multi30k/")
def get(asked: GetCommand, shown: Quiet) -> None:
    """Fetch a data set and write SPLIT.LANGUAGE files."""
    from volt.data import get as fetch

    result = fetch(
        asked.name,
        asked.output,
        languages=list(asked.languages),
        cache=asked.cache,
        clean=not asked.no_clean,
        force=asked.force,
        progress=progress_for(shown.quiet),
    )
    counts = ", ".join(f"{split} {lines:,}" for split, lines in result.lines.items())
    left_out = f"; cleaning left out {plural(result.dropped, 'pair')}" if result.dropped else ""
    say(shown.quiet, f"{counts} lines{left_out}")
    say(shown.quiet, *(f"note: {message}" for message in result.messages))
    say(shown.quiet, f"written to {asked.output}")


@command("volt data clean train.de train.en -o clean.de clean.en")
def clean(asked: CleanCommand, shown: Quiet) -> None:
    """Keep pairs of lines by length and ratio, as Moses' clean-corpus-n does."""
    from volt.data import clean_files

    done = clean_files(
        asked.source, asked.target, *asked.output, minimum=asked.minimum, maximum=asked.maximum,
        ratio=asked.ratio or None, force=asked.force,
    )  # fmt: skip
    say(shown.quiet, f"{done.kept:,} of {plural(done.pairs, 'pair')} kept")


data = click.Group(
    "data",
    [list_, get, clean],
    help="Fetch corpora; clean parallel text.",
    no_args_is_help=True,
    context_settings=HELP_FLAGS,
)
