"""volt curve: entropy, length and MUV of BPE over sizes."""

from __future__ import annotations

from dataclasses import dataclass

import volt
from volt.base.errors import InputError, SettingsError
from volt.base.gate import named, open_file
from volt.base.options import anything, option, path
from volt.base.shown import plural
from volt.base.table import text_table
from volt.cli.arguments import File, Inputs, Run
from volt.cli.command import command
from volt.cli.console import print_json, progress_for, say
from volt.settings import CountSettings, MergeSettings

ROUND_SIZES = [factor * 10**power for power in range(2, 7) for factor in (1, 2, 5)]
"""What the table shows unless sizes are named."""
COLUMNS = {
    "size": ("size", ">9,"), "tokens": ("tokens", ">13,"), "types": ("in use", ">9,"),
    "entropy": ("H", ">8.4f"), "entropy_types": ("H/type", ">8.4f"),
    "entropy_occurrences": ("H/char", ">8.4f"), "muv_types": ("MUV (types)", ">12.4g"),
    "muv_occurrences": ("MUV (chars)", ">12.4g"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CurveCommand(File, group="Size"):
    sizes: str | None = option(
        None, "Sizes to show: START:STOP:STEP or a list.", anything("SIZES"),
        default_words="round ones",
    )  # fmt: skip
    output: str | None = option(
        None, "Write every size here, as CSV.", path("FILE"), group="Output", short="-o"
    )


@command("volt curve train.txt --sizes 1k:10k:1k")
def curve(
    inputs: Inputs, asked: CurveCommand, counting: CountSettings, settings: MergeSettings, run: Run
) -> None:
    """Show entropy, sequence length and MUV of BPE at chosen sizes; FILE may be candidates."""
    from volt.choosing.sizes import parse_sizes

    asked.claim(inputs.files, glob=counting.glob)
    sizes = parse_sizes(asked.sizes) if asked.sizes is not None else []
    if len(inputs.files) == 1 and _is_candidates(inputs.files[0]):
        found: volt.Candidates = volt.load_candidates(inputs.files[0])
    else:
        options = {name: value for name, value in vars(settings).items() if value is not None}
        found = volt.candidates(
            inputs.files, **vars(counting), **options, threads=run.threads,
            progress=progress_for(run.quiet),
        )  # fmt: skip
    table = found.curve
    smallest, largest = int(table.size[0]), int(table.size[-1])
    sizes = sizes or [smallest, *ROUND_SIZES, largest]
    wanted = sorted({size for size in sizes if smallest <= size <= largest})
    if not wanted:
        raise SettingsError(
            f"`sizes` names none from {smallest:,} to {largest:,}, the sizes that the text gives"
        )
    rows = table.rows(table.at_size(size) for size in wanted)
    if run.json:
        print_json(rows)
    else:
        print(
            "\n".join(text_table([*COLUMNS.values()], ([row[n] for n in COLUMNS] for row in rows)))
        )
    left_out = len(set(sizes)) - len(wanted)
    if asked.sizes and left_out:
        say(run.quiet, f"{left_out} sizes outside {smallest:,} to {largest:,} left out")
    if asked.output is not None:
        table.save(asked.output)
        say(run.quiet, f"{plural(len(table), 'row')} in {asked.output}")


def _is_candidates(name: str) -> bool:
    """A pipe is left alone: what is read from it here is lost to whoever counts its words."""
    from volt.proposing.candidates_file import HEAD

    try:
        with open_file(named(name)) as stream:
            return stream.read(len(HEAD)) == HEAD.encode()
    except InputError:
        return False
