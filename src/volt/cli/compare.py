"""volt compare: vocabularies side by side on one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import volt
from volt.base.options import argument, many, option, path
from volt.base.table import text_table
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
        from volt.report.page import make_comparison_page

        page = make_comparison_page(comparison)
        asked.write(lambda stream: stream.write(page))
    if shown.json:
        print_json(comparison.summary())
    else:
        print("\n".join(table(comparison)))
    for row in comparison.rows:
        say(shown.quiet, *(f"note: {row.name}: {message}" for message in row.messages))
    if asked.output is not None:
        say(shown.quiet, f"written to {asked.output}")


def table(comparison: Comparison) -> list[str]:
    width = max(10, *(len(row.name) for row in comparison.rows))
    columns = [
        ("vocabulary", f"<{width}"), ("size", ">9,"), ("tok/word", ">9.3f"), ("bytes/tok", ">9.3f"),
        ("Rényi", ">7.4f"), ("H/char", ">7.4f"), ("one-token", ">9.1%"), ("unknown", ">8.3%"),
        ("overlap", ">8.1%"),
    ]  # fmt: skip
    return text_table(columns, (
        (row.name, row.size, row.tokens_per_word, row.bytes_per_token, row.renyi_efficiency,
         row.entropy_per_character, row.single_token_words, row.unknown, row.overlap)
        for row in comparison.rows
    ))  # fmt: skip
