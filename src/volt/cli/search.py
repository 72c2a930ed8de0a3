"""volt search: a table over BPE sizes, and the winner."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

import volt
from volt.cli import options
from volt.cli.console import print_json, progress_for, say
from volt.criteria import MODEL_WIDTH
from volt.search import DEFAULT_SIZES


def search(
    files: options.Files,
    by: Annotated[
        Literal["muv", "mdl", "frequency", "renyi", "zipf", "knee"],
        typer.Option(help="What to compare the sizes by."),
    ] = "muv",
    sizes: Annotated[
        str, typer.Option(help="BPE sizes: START:STOP:STEP or a list.")
    ] = DEFAULT_SIZES,
    length: Annotated[
        Literal["types", "occurrences"], typer.Option(help="Mean length in the entropy.")
    ] = "types",
    model_width: Annotated[
        int, typer.Option(min=1, help="Embedding width, for mdl.")
    ] = MODEL_WIDTH,
    pretokenizer: options.Pretokenizer = None,
    normalize: options.Normalize = None,
    coverage: options.Coverage = None,
    min_frequency: options.MinFrequency = 2,
    glob: options.Glob = "*",
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Score BPE at a list of sizes from one run, without training anything."""
    result = volt.search(
        files,
        by=by,
        sizes=sizes,
        length=length,
        model_width=model_width,
        pretokenizer=pretokenizer,
        normalize=normalize,
        coverage=coverage,
        min_frequency=min_frequency,
        glob=glob,
        threads=threads,
        progress=progress_for(quiet),
    )
    rows = result.rows()
    choice = result.choice
    if json:
        print_json({"rows": [{k: v if v == v else None for k, v in row.items()} for row in rows],
                    "winner": asdict(choice)})  # fmt: skip
        return
    print(f"{'':2}{'size':>9} {'tokens':>13} {'H/type':>8} {'H/char':>8} {by:>12}")
    for row in rows:
        value = row[by]
        star = "*" if row["size"] == choice.size else ""
        figure = f"{value:>12.5g}" if value == value else f"{'-':>12}"
        print(f"{star:2}{row['size']:>9,} {row['tokens']:>13,} {row['entropy_types']:>8.4f}"
              f" {row['entropy_occurrences']:>8.4f} {figure}")  # fmt: skip
    winner = "no size" if choice.size is None else f"{choice.size:,}"
    say(quiet, f"{by}: {winner} ({choice.meaning})")
    say(quiet, *(f"note: {doubt}" for doubt in choice.doubts))
    if result.left_out:
        say(quiet, f"note: the text does not reach {', '.join(f'{s:,}' for s in result.left_out)}")
