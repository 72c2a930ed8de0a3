"""volt compare: vocabularies side by side on one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import volt
from volt.base.options import argument, many, option, path
from volt.cli.arguments import File, Told
from volt.cli.command import command
from volt.cli.console import print_json, say

if TYPE_CHECKING:
    from volt.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class CompareCommand(File):
    vocabularies: Sequence[str] = argument(
        ..., "Folders of volt; or tokenizer.json, a .model, and what else volt import reads.",
        many(path()), metavar="VOCABULARY...",
    )  # fmt: skip
    on: Sequence[str] = option(
        ..., "The text; may be given several times.", many(path()), group="Input"
    )
    output: str | None = option(
        None, "Write a page with the table and charts too.", path("FILE"), group="Output",
        short="-o",
    )  # fmt: skip


@command("volt compare out/ other/tokenizer.json --on test.txt")
def compare(asked: CompareCommand, shown: Told) -> None:
    """Compare vocabularies, of any toolkit, on a text."""
    vocabularies = map(Path, asked.vocabularies)
    asked.claim([[*one.iterdir()] if one.is_dir() else one for one in vocabularies], asked.on)
    comparison = volt.compare(asked.vocabularies, asked.on)
    if asked.output is not None:
        from volt.base.output import atomic_write
        from volt.report.page import make_comparison_page

        page = make_comparison_page(comparison)
        with atomic_write(asked.output) as stream:
            stream.write(page)
    if shown.json:
        print_json(comparison.summary())
    else:
        for line in table(comparison):
            print(line)
    for row in comparison.rows:
        say(shown.quiet, *(f"note: {row.name}: {message}" for message in row.messages))
    if asked.output is not None:
        say(shown.quiet, f"written to {asked.output}")


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
