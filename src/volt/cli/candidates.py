"""volt candidates: tokens to choose from, by BPE or from another source."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import volt
from volt.base.errors import SettingsError
from volt.cli.arguments import File, Inputs, Run
from volt.cli.command import command
from volt.cli.console import print_json, progress_for, say, write_stdout
from volt.cli.count import summary as count_summary
from volt.settings import CandidateSettings, CountSettings

if TYPE_CHECKING:
    from volt.proposing.sources import Source


@command("volt candidates train.txt -n 30k -o candidates.tsv")
def candidates(
    inputs: Inputs, counting: CountSettings, settings: CandidateSettings, target: File, run: Run
) -> None:
    """Learn candidates: by BPE, with the exact curve of every vocabulary size, or others."""
    if run.json and target.output is None:
        raise SettingsError("--json and the candidates both go to stdout: name a file with -o")
    target.claim(inputs.files, glob=counting.glob)
    common: dict[str, Any] = {"threads": run.threads, "progress": progress_for(run.quiet)}
    counts = volt.count(inputs.files, **vars(counting), **common)
    options = dict(vars(settings))
    del options["candidates"], options["merges"]
    found, messages = volt.candidates_from(counts, settings.source, **options, **common)
    if target.output is None:
        write_stdout(found.write)
    else:
        found.save(target.output)
    curve = found.curve
    last = curve.rows([len(curve) - 1])[0]
    if run.json:
        print_json({**asdict(found.rule), "alphabet": found.alphabet_size,
                    "left_out": found.left_out, "source": str(settings.source),
                    "asked": settings.source.number, **last,
                    "muv_types": _or_none(last["muv_types"]),
                    "muv_occurrences": _or_none(last["muv_occurrences"])})  # fmt: skip
    say(run.quiet, *count_summary(counts), *summary(found, settings.source), *messages)


def _or_none(value: float) -> float | None:
    return value if value == value else None


def summary(found: volt.Candidates, asked: Source) -> list[str]:
    from volt.proposing.pieces import PieceCandidates

    what = "candidates" if isinstance(found, PieceCandidates) else "merges"
    lines = [f"{found.alphabet_size:,} symbols, {found.merges:,} {what}, {len(found):,} tokens"]
    if found.left_out:
        lines.append(f"{found.left_out:,} rare characters left out of the alphabet (--coverage)")
    return lines
