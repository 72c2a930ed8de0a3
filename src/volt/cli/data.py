"""volt data: corpora to learn from and to try on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from volt.base.errors import SettingsError
from volt.cli import options
from volt.cli.console import print_json, progress_for, say

data = typer.Typer(
    help="Fetch corpora; clean parallel text.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@data.command("list")
def list_(json: options.Json = False) -> None:
    """List the data sets: languages, licence, where to read about them."""
    from volt.data import DATASETS

    if json:
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


@data.command()
def get(
    name: Annotated[str, typer.Argument(help="One of `volt data list`.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder to write.", show_default=False),
    ],
    languages: Annotated[
        str,
        typer.Option(
            metavar="X,Y",
            help="Which languages; of ted two, or *,en for all with English.  [default: all]",
            show_default=False,
        ),
    ] = "",
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where downloads are kept.  [default: DIR.downloads]",
            show_default=False,
        ),
    ] = None,
    no_clean: Annotated[
        bool, typer.Option("--no-clean", help="Keep pairs that the paper's cleaning drops.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Fetch a data set and write SPLIT.LANGUAGE files."""
    from volt.data import get as fetch

    result = fetch(
        name,
        output,
        languages=[one for one in languages.split(",") if one],
        cache=cache,
        clean=not no_clean,
        progress=progress_for(quiet),
    )
    counts = ", ".join(f"{split} {lines:,}" for split, lines in result.lines.items())
    say(quiet, f"{counts} lines; cleaning left out {result.dropped:,} pairs")
    say(quiet, *(f"note: {message}" for message in result.messages))
    say(quiet, f"written to {output}")


@data.command()
def clean(
    source: Annotated[str, typer.Argument(help="Text, source side.", show_default=False)],
    target: Annotated[str, typer.Argument(help="Text, target side.", show_default=False)],
    output: Annotated[
        tuple[Path, Path],
        typer.Option(
            "--output", "-o", metavar="SOURCE TARGET", help="Files to write.", show_default=False
        ),
    ],
    minimum: Annotated[int, typer.Option("--min", min=0, help="Fewest words of a side.")] = 1,
    maximum: Annotated[int, typer.Option("--max", min=0, help="Most words of a side.")] = 80,
    ratio: Annotated[
        float, typer.Option(help="Most words of one side for a word of the other; 0: any.")
    ] = 9.0,
    quiet: options.Quiet = False,
) -> None:
    """Keep pairs of lines by length and ratio, as Moses' clean-corpus-n does."""
    from volt.data import clean_files

    if output[0] == output[1]:
        raise SettingsError(f"{output[0]} is named for both sides: name two files")
    done = clean_files(
        source, target, *output, minimum=minimum, maximum=maximum, ratio=ratio or None
    )
    say(quiet, f"{done.kept:,} of {done.pairs:,} pairs kept")
