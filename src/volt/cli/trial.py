"""volt trial: a translation model for every vocabulary, and their BLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from volt.base.options import Settings, many, option, pair, path, text
from volt.cli.arguments import Run
from volt.cli.command import command
from volt.cli.console import print_json, progress_for, say
from volt.settings import TrialSettings

if TYPE_CHECKING:
    from volt.trial.results import TrialResults


@dataclass(frozen=True, kw_only=True)
class TrialCommand(Settings):
    source: str = option(..., "Training text, source side.", path(), group="Input")
    target: str = option(..., "Training text, target side.", path(), group="Input")
    valid: tuple[str, str] = option(..., "Validation text: two files.", pair(), group="Input")
    test: tuple[str, str] = option(..., "Test text: two files.", pair(), group="Input")
    vocabularies: Sequence[str] = option(
        ..., "A vocabulary, once for each: a folder or file, bpe:N, spm-bpe:N, spm-unigram:N, "
        "wordpiece:N, char or byte. Differences are tested against the first.", many(text("V")),
        group="Tokens", flag="vocab",
    )  # fmt: skip
    output: str = option(
        ..., "Folder to write. A trial that was killed goes on there.", path("DIR"),
        group="Output", short="-o",
    )  # fmt: skip


@command(
    "volt trial --source train.de --target train.en --valid valid.de valid.en \\\n"
    "           --test test.de test.en --vocab out --vocab bpe:8k -o trials/"
)
def trial(asked: TrialCommand, settings: TrialSettings, run: Run) -> None:
    """Train a small translation model for every vocabulary and compare what they translate."""
    from volt.trial import trial

    results = trial(
        **vars(asked),
        **vars(settings),
        threads=run.threads,
        progress=progress_for(run.quiet),
        say=lambda line: say(run.quiet, line),
    )
    if run.json:
        print_json(results.plain())
    else:
        print(results.table())
    tell_trial(results, asked.output, run.quiet)


def tell_trial(results: TrialResults, output: str, quiet: bool) -> None:
    """What people should know after a trial."""
    say(quiet, *(f"note: {message}" for message in results.messages))
    say(quiet, *(f"{name}: {one}" for name, one in results.signatures.items()))
    # There is no page without the extra `report`.
    names = ("results.json", "report.html", "runs/")
    there = [name for name in names if (Path(output) / name).exists()]
    say(quiet, f"written to {output}: {', '.join(there)}")
