"""volt candidates: tokens to choose from, by BPE or from another source."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import volt
from volt.base.errors import SettingsError
from volt.base.shown import plural
from volt.cli.arguments import File, Inputs, Run
from volt.cli.command import command
from volt.cli.console import print_json, progress_for, say
from volt.cli.count import count_notes, count_summary
from volt.settings import CandidateSettings, CountSettings


@command("volt candidates train.txt -n 30k -o candidates.tsv")
def candidates(
    inputs: Inputs, counting: CountSettings, settings: CandidateSettings, target: File, run: Run
) -> None:
    """Learn candidates: by BPE, with the exact curve of every vocabulary size, or others."""
    from volt.proposing.candidates_file import write_candidates

    if run.json and target.output is None:
        raise SettingsError("--json and the candidates both go to stdout: name a file with -o")
    target.claim(inputs.files, settings.source.path, glob=counting.glob)
    common: dict[str, Any] = {"threads": run.threads, "progress": progress_for(run.quiet)}
    counts = volt.count(inputs.files, **vars(counting), **common)
    found = volt.candidates(counts, **vars(settings), **common)
    target.write(lambda stream: write_candidates(found, stream))
    if run.json:
        print_json({**asdict(found.rule), "alphabet": found.alphabet_size,
                    "left_out": found.left_out, "source": str(settings.source),
                    "asked": settings.source.number,
                    **found.curve.rows([len(found.curve) - 1])[0]})  # fmt: skip
    say(run.quiet, *count_summary(counts), *count_notes(counts))
    say(run.quiet, *candidates_summary(found), *found.messages)


def candidates_summary(found: volt.Candidates) -> list[str]:
    what = "merge" if found.exact else "candidate"
    symbols, made = plural(found.alphabet_size, "symbol"), plural(found.merges, what)
    lines = [f"{symbols}, {made}, {plural(len(found), 'token')}"]
    if found.left_out:
        lines.append(f"{found.left_out:,} rare characters left out of the alphabet (--coverage)")
    return lines
