"""volt search: a table over BPE sizes, and the winner."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import volt
from volt.base.errors import SettingsError
from volt.base.options import option, pair, path
from volt.base.table import text_table
from volt.cli.arguments import Inputs, Run
from volt.cli.command import Given, command
from volt.cli.console import print_json, progress_for, refuse, say
from volt.settings import AlphabetSettings, CountSettings, SearchSettings, TrialSettings


@dataclass(frozen=True, kw_only=True)
class SearchCommand(Inputs):
    """What only bleu needs: the text of trials, and a folder for them."""

    valid: tuple[str, str] | None = option(
        None, "For bleu: validation text, two files.", pair(), group="Training"
    )
    test: tuple[str, str] | None = option(
        None, "For bleu: test text, two files.", pair(), group="Training"
    )
    output: str | None = option(
        None, "For bleu: folder for the trials.", path("DIR"), group="Output", short="-o"
    )


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
    """Score BPE at a list of sizes, from one run; by bleu, train a model at every size.

    By bleu, the two FILEs are the source and the target side of the training text, and the options
    in the group Training say how models are trained.
    """
    if settings.by == "bleu":
        # A trial has its own BPE.
        of_curves = vars(settings).keys() - {"by", "sizes"}
        not_used = (*sorted(of_curves), *vars(counting), *vars(alphabet))
        refuse(given, not_used, "--by bleu")
        _by_bleu(asked, settings, training, run)
        return
    of_trials = ("valid", "test", "output", *vars(training))
    refuse(given, of_trials, f"--by {settings.by}, only with --by bleu")
    result = volt.search(
        asked.files, **vars(settings), **vars(counting), **vars(alphabet), threads=run.threads,
        progress=progress_for(run.quiet),
    )  # fmt: skip
    rows = result.rows()
    choice = result.choice
    if run.json:
        print_json({"rows": rows, "winner": asdict(choice)})
        return
    names = list(dict.fromkeys(["heldout", settings.by])) if result.quality else [settings.by]
    columns = [("", "<1"), ("size", ">9,"), ("tokens", ">13,"), ("H/type", ">8.4f"),
               ("H/char", ">8.4f"), *((name, ">12.5g") for name in names)]  # fmt: skip
    shown = ["size", "tokens", "entropy_types", "entropy_occurrences", *names]
    lines = (["*" * (row["size"] == choice.size), *map(row.get, shown)] for row in rows)
    print("\n".join(text_table(columns, lines)))
    winner = "no size" if choice.size is None else f"{choice.size:,}"
    say(run.quiet, f"{settings.by}: {winner} ({choice.meaning})")
    say(run.quiet, *(f"note: {doubt}" for doubt in choice.doubts))
    _tell_left_out(result.left_out, run.quiet)


def _by_bleu(
    asked: SearchCommand, settings: SearchSettings, training: TrialSettings, run: Run
) -> None:
    """BPE-Search: a trial at every size, the winner, and what it all cost."""
    from volt.cli.trial import tell_trial
    from volt.searching import bleu_search

    if len(asked.files) != 2 or not (asked.valid and asked.test and asked.output):
        raise SettingsError(
            "--by bleu trains models: name two FILEs (source and target), --valid, --test and -o"
        )
    found = bleu_search(
        *asked.files,
        valid=asked.valid,
        test=asked.test,
        output=asked.output,
        sizes=settings.sizes,
        threads=run.threads,
        progress=progress_for(run.quiet),
        say=lambda line: say(run.quiet, line),
        **vars(training),
    )
    if run.json:
        print_json(found.plain())
    else:
        print(found.results.table())
    say(run.quiet, f"bleu: {found.size:,} (BLEU {found.bleu:.2f})")
    say(run.quiet, f"cost: {found.seconds / 60:.1f} minutes of training and translation")
    _tell_left_out(found.left_out, run.quiet)
    tell_trial(found.results, asked.output, run.quiet)


def _tell_left_out(sizes: list[int], quiet: bool) -> None:
    if sizes:
        say(quiet, f"note: the text does not reach {', '.join(f'{size:,}' for size in sizes)}")
