"""volt compare: vocabularies side by side on one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import volt
from volt.base.errors import SettingsError
from volt.base.options import argument, file_list, many, option, path
from volt.cli.arguments import File, Pattern, Printing
from volt.cli.command import command
from volt.cli.console import print_json, say
from volt.settings import TextSettings

if TYPE_CHECKING:
    from volt.comparison import Comparison

MORE = "all figures, and what each means: -o compare.html; as data: -o compare.csv, or --json"
ENDINGS = (".csv", ".tex", ".html", ".htm", "")
"""Of files with a comparison. Without an ending it is a page."""


@dataclass(frozen=True, kw_only=True)
class CompareCommand(File, Pattern, group="Input"):
    vocabularies: Sequence[str] = argument(
        ..., "Tokenizers of any toolkit: files or folders.", many(path()), metavar="VOCABULARY..."
    )
    on: Sequence[str] = option(
        ..., "The text; may be given several times. code=FILE,en=FILE compares per kind of text.",
        file_list(),
    )  # fmt: skip
    output: str | None = option(
        None, "Write the tables too: FILE.csv, FILE.tex, or FILE.html, a page with charts.",
        path("FILE"), group="Output", short="-o",
    )  # fmt: skip


@command("volt compare out/ other/tokenizer.json --on test.txt")
def compare(asked: CompareCommand, reading: TextSettings, shown: Printing) -> None:
    """Compare vocabularies, of any toolkit, on a text."""
    from volt.comparison import as_text
    from volt.foreign.documents import GROUP, parse_groups

    vocabularies = [*map(Path, asked.vocabularies)]
    for one in vocabularies:
        if GROUP.fullmatch(str(one)) and not one.exists():
            raise SettingsError(
                f"no such file or folder: {one}; kinds of text are one list with commas: "
                f"--on NAME=FILE,{one}"
            )
    on = parse_groups(asked.on)
    texts = list(on.values()) if isinstance(on, Mapping) else on
    asked.claim([[*one.iterdir()] if one.is_dir() else one for one in vocabularies], texts)
    if asked.output is not None and Path(asked.output).suffix not in ENDINGS:
        raise SettingsError(f"{asked.output}: a comparison ends in .csv, .tex or .html")
    comparison = volt.compare(asked.vocabularies, on, pattern=asked.pattern, **vars(reading))
    if asked.output is not None:
        data = written(comparison, asked.output)
        asked.write(lambda stream: stream.write(data))
    if shown.json:
        print_json(comparison.summary())
    else:
        print(*as_text(comparison), sep="\n")
    say(shown.quiet, *(f"note: {message}" for message in comparison.notes))
    if asked.output is None and not shown.json:
        say(shown.quiet, MORE)
    if asked.output is not None:
        say(shown.quiet, f"written to {asked.output}")


def written(comparison: Comparison, name: str) -> bytes:
    """The tables in the form that the file's name asks for."""
    from volt.comparison import as_csv, as_latex

    if name.endswith(".csv"):
        return as_csv(comparison)
    if name.endswith(".tex"):
        return as_latex(comparison)
    from volt.report.page import make_comparison_page

    return make_comparison_page(comparison)
