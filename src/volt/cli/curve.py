"""volt curve: entropy, length and MUV of BPE over sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import volt
from volt.base.errors import SettingsError
from volt.choosing.sizes import parse_sizes
from volt.cli import options
from volt.cli.console import print_json, progress_for, say
from volt.proposing.merges import DEFAULT_MERGES, HEAD

ROUND_SIZES = [
    factor * 10**power for power in range(2, 7) for factor in (1, 2, 5)
]  # what the table shows unless sizes are named


def curve(
    files: options.Files,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write every size here, as CSV.", show_default=False),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="Sizes to show: START:STOP:STEP or a list.", show_default=False),
    ] = None,
    merges: options.Merges = DEFAULT_MERGES,
    pretokenizer: options.Pretokenizer = None,
    normalize: options.Normalize = None,
    coverage: options.Coverage = None,
    min_frequency: options.MinFrequency = 2,
    glob: options.Glob = "*",
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Show entropy, sequence length and MUV of BPE at chosen sizes; FILE may be candidates."""
    asked = parse_sizes(sizes) if sizes is not None else []
    if len(files) == 1 and _is_candidates(files[0]):
        found = volt.load_candidates(files[0])
    else:
        found = volt.candidates(
            files,
            merges=merges,
            pretokenizer=pretokenizer,
            normalize=normalize,
            coverage=coverage,
            min_frequency=min_frequency,
            glob=glob,
            threads=threads,
            progress=progress_for(quiet),
        )
    table = found.curve
    smallest, largest = int(table.size[0]), int(table.size[-1])
    asked = asked or [smallest, *ROUND_SIZES, largest]
    wanted = sorted({size for size in asked if smallest <= size <= largest})
    if not wanted:
        raise SettingsError(
            f"no size between {smallest:,} and {largest:,}: those are what there is"
        )
    rows = table.rows(table.at_size(size) for size in wanted)
    if json:
        print_json([{k: v if v == v else None for k, v in row.items()} for row in rows])
    else:
        print(f"{'size':>9} {'tokens':>13} {'in use':>9} {'H':>8} {'H/type':>8} {'H/char':>8}"
              f" {'MUV (types)':>12} {'MUV (chars)':>12}")  # fmt: skip
        for row in rows:
            print(
                f"{row['size']:>9,} {row['tokens']:>13,} {row['types']:>9,} {row['entropy']:>8.4f}"
                f" {row['entropy_types']:>8.4f} {row['entropy_occurrences']:>8.4f}"
                f" {_number(row['muv_types'])} {_number(row['muv_occurrences'])}"
            )
    left_out = len(set(asked)) - len(wanted)
    if sizes and left_out:
        say(quiet, f"{left_out} sizes outside {smallest:,} to {largest:,} left out")
    if output is not None:
        table.save(output)
        say(quiet, f"{len(table):,} rows in {output}")


def _number(value: float) -> str:
    return f"{value:>12.4g}" if value == value else f"{'-':>12}"


def _is_candidates(name: str) -> bool:
    """A pipe is left alone: what is read from it here is lost to whoever counts its words."""
    try:
        with Path(name).open("rb") as stream:
            return stream.seekable() and stream.read(len(HEAD)) == HEAD.encode()
    except OSError:
        return False
