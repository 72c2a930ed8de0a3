"""volt search: a table over BPE sizes, and the winner."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from shlex import join
from typing import Any

import volt
from volt.base.errors import SettingsError
from volt.base.options import option, options_of, path
from volt.base.table import text_table
from volt.cli.arguments import Inputs, Run
from volt.cli.command import Given, command
from volt.cli.console import print_json, progress_for, refuse, say
from volt.cli.trial import HeldOutTexts, check_held_out, tell_trial
from volt.settings import (
    TRAINED,
    AlphabetSettings,
    CountSettings,
    InputSettings,
    SearchSettings,
    TrialSettings,
)


@dataclass(frozen=True, kw_only=True)
class SearchCommand(Inputs, HeldOutTexts, group="Output"):
    """What only loss and bleu need: the text of trials, and a folder for them."""

    output: str | None = option(
        None, "For loss and bleu: folder for the trials.", path("DIR"), short="-o"
    )


FORMS = {"cost": ">+12.1%"}
"""Of columns that are not a plain number."""


@command("volt search train.txt --by muv --sizes 1k:10k:1k")
def search(
    asked: SearchCommand,
    settings: SearchSettings,
    counting: CountSettings,
    alphabet: AlphabetSettings,
    training: TrialSettings,
    run: Run,
    given: Given,
) -> None:
    """Score BPE at a list of sizes, from one run; by loss or bleu, train a model at every size.

    By loss, the FILEs are the training text of language models; by bleu, the two FILEs are the
    source and the target side of that of translation models. The options in the group Training say
    how models are trained.
    """
    if settings.by in TRAINED:
        # A trial has its own BPE.
        of_curves = vars(settings).keys() - {"by", "sizes"}
        read_as = InputSettings.values_in(counting)
        not_used = (*sorted(of_curves), *(vars(counting).keys() - read_as), *vars(alphabet))
        refuse(given, not_used, f"--by {settings.by}")
        if settings.by == "loss" and "task" not in given:
            training = replace(training, task="lm")
        check_held_out(training.task, given)
        if asked.output is None:
            raise SettingsError(f"--by {settings.by} trains models: name a folder for them with -o")
        _by_training(asked, settings, training, read_as, run)
        return
    of_trials = (*options_of(HeldOutTexts), "output", *vars(training))
    refuse(given, of_trials, f"--by {settings.by}, only with --by loss or bleu")
    result = volt.search(
        asked.files, **vars(counting) | vars(settings) | vars(alphabet), threads=run.threads,
        progress=progress_for(run.quiet),
    )  # fmt: skip
    rows = result.rows()
    choice = result.choice
    if run.json:
        print_json({"rows": rows, "winner": asdict(choice)})
        return
    if settings.by == "auto":  # the work is in no unit that people know
        lowest = min(row["auto"] for row in rows)
        rows = [{**row, "cost": row["auto"] / lowest - 1} for row in rows]
    by = "cost" if settings.by == "auto" else settings.by
    names = list(dict.fromkeys(["heldout", by])) if result.quality else [by]
    columns = [("", "<1"), ("size", ">9,"), ("tokens", ">13,"), ("H/type", ">8.4f"),
               ("H/char", ">8.4f")]  # fmt: skip
    columns += [(name, FORMS.get(name, ">12.5g")) for name in names]
    shown = ["size", "tokens", "entropy_types", "entropy_occurrences", *names]
    lines = (["*" * (row["size"] == choice.size), *map(row.get, shown)] for row in rows)
    print("\n".join(text_table(columns, lines)), flush=True)
    if choice.size is not None:
        say(run.quiet, f"*: the size that {settings.by} chooses")
    winner = "no size" if choice.size is None else f"{choice.size:,}"
    meaning, by_auto = choice.meaning, settings.by == "auto"
    if by_auto:
        meaning = meaning.replace("size that", f"of these {len(rows)} sizes that")
    say(run.quiet, f"{settings.by}: {winner} ({meaning})")
    if by_auto:
        say(run.quiet, "learning looks at the sizes between them, too")
    if settings.by == "muv":
        say(run.quiet, "plain BPE, without transport, which `volt learn --profile paper` solves")
    say(run.quiet, *(f"note: {doubt}" for doubt in choice.doubts))
    _tell_left_out(result.left_out, run.quiet)
    # Between the sizes of auto may lie a better one, which learning finds.
    size = "" if by_auto else _as_option(choice.size)
    options = given & {*vars(counting), *vars(alphabet)}
    _tell_next(asked.files, None if choice.doubts and not by_auto else size, options, run.quiet)


def _by_training(
    asked: SearchCommand,
    settings: SearchSettings,
    training: TrialSettings,
    read_as: dict[str, Any],
    run: Run,
) -> None:
    """BPE-Search: a trial at every size, the winner, and what it all cost."""
    from volt.base.extras import need

    for module in ("torch", "transformers", "sacrebleu"):
        need(module, "trial")
    from volt.trial.search import trained_search

    texts = HeldOutTexts.values_in(asked)
    output = str(asked.output)
    found = trained_search(
        asked.files,
        by=settings.by,
        output=output,
        sizes=settings.sizes,
        threads=run.threads,
        progress=progress_for(run.quiet, lines=True),
        say=lambda line: say(run.quiet, line),
        **{name: one for name, one in texts.items() if one is not None},
        **read_as,
        **vars(training),
    )
    if run.json:
        print_json(found.plain())
    else:
        print(found.table(), flush=True)
    say(run.quiet, found.said)
    say(run.quiet, f"cost: {found.seconds / 60:.1f} minutes of training and measuring")
    _tell_left_out(found.left_out, run.quiet)
    tell_trial(found.results, output, run.quiet)
    size = _as_option(found.size)
    _tell_next(asked.files, size, frozenset(), run.quiet)


def _as_option(size: int | None) -> str | None:
    return None if size is None else f"--size {size} "


def _tell_next(
    files: Sequence[str], size: str | None, options: frozenset[str], quiet: bool
) -> None:
    """How to get the winner; options that learning would need, too, are the user's to repeat."""
    if size is not None and not options:
        say(quiet, f"next: volt learn {join(map(str, files))} {size}-o {_free('out')}")


def _free(name: str) -> str:
    """The name, with a number where it is taken."""
    names = (f"{name}{number}" for number in count(2))
    return next(one for one in chain([name], names) if not os.path.lexists(one))


def _tell_left_out(sizes: list[int], quiet: bool) -> None:
    if sizes:
        say(quiet, f"note: the text does not reach {', '.join(f'{size:,}' for size in sizes)}")
