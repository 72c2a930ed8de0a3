"""volt trial: a model for every vocabulary, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any

from volt.base.errors import SettingsError
from volt.base.options import Settings, argument, many, option, pair, path, text
from volt.cli.arguments import Run
from volt.cli.command import Given, command
from volt.cli.console import print_json, progress_for, refuse, say
from volt.settings import InputSettings, TrialSettings, in_flags

if TYPE_CHECKING:
    from volt.trial.results import TrialResults


@dataclass(frozen=True, kw_only=True)
class HeldOutTexts(Settings, group="Input"):
    """Text that models are not trained on."""

    valid: tuple[str, str] | None = option(None, "Translation: validation text, two files.", pair())
    test: tuple[str, str] | None = option(None, "Translation: test text, two files.", pair())
    heldout: str | None = option(
        None, "Language models: held-out text.", path(),
        default_words="every 20th line of the training text",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TrialCommand(Settings, group="Input"):
    files: Sequence[str] = argument(
        (), "Language models: training text, one or more files.", many(path()), metavar="[FILE...]"
    )
    source: str | None = option(None, "Translation: training text, source side.", path())
    target: str | None = option(None, "Translation: training text, target side.", path())
    vocabularies: Sequence[str] = option(
        ..., "A vocabulary, once for each: a folder or file, bpe:N, spm-bpe:N, spm-unigram:N, "
        "wordpiece:N, char or byte. Differences are tested against the first.", many(text("V")),
        group="Tokens", flag="vocab",
    )  # fmt: skip
    output: str = option(
        ..., "Folder to write. A trial that was killed resumes there.", path("DIR"), group="Output",
        short="-o",
    )  # fmt: skip


@command(
    "volt trial --task lm train.txt --heldout valid.txt --vocab out --vocab bpe:8k -o trials/\n"
    "volt trial --source train.de --target train.en --valid valid.de valid.en \\\n"
    "           --test test.de test.en --vocab out --vocab bpe:8k -o trials/"
)
def trial(
    asked: TrialCommand,
    held_out: HeldOutTexts,
    reading: InputSettings,
    settings: TrialSettings,
    run: Run,
    given: Given,
) -> None:
    """Train a small model for every vocabulary and compare them.

    Translation models are compared by BLEU, chrF and bits per byte, language models (--task lm) by
    bits per byte of held-out text.
    """
    from volt import trial as trials

    options: dict[str, Any] = {
        **vars(reading),
        **vars(settings),
        "vocabularies": asked.vocabularies,
        "output": asked.output,
        "threads": run.threads,
        "progress": progress_for(run.quiet, lines=True),
        "say": lambda line: say(run.quiet, line),
    }
    if settings.task == "translation" and asked.files:
        source, target, *_ = *asked.files, "FILE"
        raise SettingsError(
            f"a translation trial takes its training text as --source {source} --target {target}; "
            "--task lm trains language models on FILE..."
        )
    check_held_out(settings.task, given)
    if settings.task == "lm":
        refuse(given, ("source", "target"), "--task lm")
        if not asked.files:
            raise SettingsError("--task lm needs FILE...: the training text")
        results = trials.lm_trial(asked.files, heldout=held_out.heldout, **options)
    else:
        if asked.source is None or asked.target is None:
            raise SettingsError("trial needs --source and --target, or --task lm and FILE...")
        options |= {"valid": held_out.valid, "test": held_out.test}
        results = trials.trial(asked.source, asked.target, **options)
    if run.json:
        print_json(results.plain())
    else:
        print(results.table(), flush=True)
    say(run.quiet, in_flags(results.answer()))
    tell_trial(results, asked.output, run.quiet)
    _tell_next(results, asked, run.quiet)


def _tell_next(results: TrialResults, asked: TrialCommand, quiet: bool) -> None:
    """What to do with the best vocabulary, where there is one."""
    measure = results.measure
    if results.no_verdict(measure):
        return
    best = min(results.rows(), key=measure.worst)["vocabulary"]
    specs = dict(zip(results.vocabularies, dict.fromkeys(asked.vocabularies), strict=True))
    kind, _, size = specs[best].partition(":")
    folder = Path(specs[best])
    if (folder / "volt.json").exists():
        target = folder.with_name(f"{folder.name}-hf")
        say(quiet, f"next: volt export -m {quote(str(folder))} --to hf -o {quote(str(target))}")
    elif kind == "bpe":
        files = join([*asked.files, *filter(None, (asked.source, asked.target))])
        say(quiet, f"next: volt learn {files} --size {size} -o out")


def check_held_out(task: str, given: Given) -> None:
    """Each task has its own held-out texts."""
    if task == "lm":
        refuse(given, ("valid", "test"), "--task lm, which has --heldout")
        return
    refuse(given, ("heldout",), "--task translation, which has --valid and --test")
    for name in ("valid", "test"):
        if name not in given:
            raise SettingsError(f"a translation trial needs --{name} SOURCE TARGET: two files")


def tell_trial(results: TrialResults, output: str, quiet: bool) -> None:
    """What people should know after a trial."""
    say(quiet, *(f"note: {message}" for message in results.messages))
    say(quiet, *(f"{name}: {one}" for name, one in results.signatures.items()))
    # There is no page without the extra `report`.
    names = ("results.json", "report.html", "plot.svg", "runs/")
    there = [name for name in names if (Path(output) / name).exists()]
    say(quiet, f"written to {output}: {', '.join(there)}")
    if "report.html" in there:
        say(quiet, f"look at: {Path(output) / 'report.html'}")
