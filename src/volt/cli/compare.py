"""volt compare: vocabularies side by side on one text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import volt
from volt.base.output import atomic_write
from volt.cli import options
from volt.cli.console import print_json, say
from volt.comparison import Comparison


def compare(
    vocabularies: Annotated[
        list[Path],
        typer.Argument(
            metavar="VOCABULARY...",
            help="Folders of volt's; or tokenizer.json, a .model, and what else volt import reads.",
            show_default=False,
        ),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            metavar="FILE", help="The text; may be given several times.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write a page too.", show_default=False
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Compare vocabularies, of any toolkit, on a text."""
    comparison = volt.compare(vocabularies, on)
    if output is not None:
        from volt.report.page import make_comparison_page

        page = make_comparison_page(comparison)
        with atomic_write(output) as stream:
            stream.write(page)
    if json:
        print_json(comparison.summary())
    else:
        for line in table(comparison):
            print(line)
    for row in comparison.rows:
        say(quiet, *(f"note: {row.name}: {message}" for message in row.messages))
    if output is not None:
        say(quiet, f"written to {output}")


def table(comparison: Comparison) -> list[str]:
    width = max(10, *(len(row.name) for row in comparison.rows))
    lines = [
        f"{'vocabulary':<{width}} {'size':>9} {'tok/word':>9} {'bytes/tok':>9} {'Rényi':>7} "
        f"{'H/char':>7} {'one-token':>9} {'unknown':>8} {'overlap':>8}"
    ]
    for row in comparison.rows:
        lines.append(
            f"{row.name:<{width}} {row.size:>9,} {_figure(row.tokens_per_word, '9.3f')} "
            f"{_figure(row.bytes_per_token, '9.3f')} {_figure(row.renyi_efficiency, '7.4f')} "
            f"{_figure(row.entropy_per_character, '7.4f')} "
            f"{_figure(row.single_token_words, '9.1%')} {_figure(row.unknown, '8.3%')} "
            f"{_figure(row.overlap, '8.1%')}"
        )
    return lines


def _figure(value: float | None, form: str) -> str:
    return f"{'-':>{form.partition('.')[0]}}" if value is None else f"{value:{form}}"
