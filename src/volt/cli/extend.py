"""volt extend: a tokenizer that exists, with more tokens for a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import volt
from volt.base.options import Settings, choice, option, path, size, whole
from volt.base.shown import plural
from volt.cli.arguments import Folder, Run, TokenizerInput
from volt.cli.command import command
from volt.cli.console import progress_for
from volt.cli.refit import fitting_texts, next_command, tell_refit
from volt.settings import MOST, ReadSettings


@dataclass(frozen=True, kw_only=True)
class ExtendCommand(Settings, group="Size"):
    add: int = option(..., "Number of tokens to add.", size(1, MOST))
    min_frequency: int = option(
        2, "Do not merge pairs rarer than this.", whole(1, MOST), group="Tokens"
    )
    swap: bool = option(False, "Keep the size: the tokens that the text uses least make room.")
    init: Literal["mean", "omp"] = option(
        "mean", "How rows of new tokens start: the mean of their parts, or matching pursuit "
        "against `donor`", choice("mean", "omp"), group="Training",
    )  # fmt: skip
    donor: str | None = option(
        None, "Model, with its tokenizer, that rows of new tokens are matched to.", path("DIR"),
        group="Training",
    )  # fmt: skip


@command("volt extend tokenizer.json --on medical.txt --add 2k -o larger/")
def extend(
    tokenizer: TokenizerInput, asked: ExtendCommand, reading: ReadSettings, target: Folder, run: Run
) -> None:
    """Add tokens for a text to a tokenizer, and rows to a model; old ids stay unless --swap."""
    result = volt.extend(
        tokenizer.tokenizer, fitting_texts(tokenizer, target), asked.add, model=tokenizer.model,
        form=tokenizer.form, pattern=tokenizer.pattern, min_frequency=asked.min_frequency,
        swap=asked.swap, init=asked.init, donor=asked.donor, **vars(reading),
        threads=run.threads, progress=progress_for(run.quiet),
    )  # fmt: skip
    before, after, added = result.before.size, result.after.size, len(result.parts)
    head = f"{plural(before, 'token')} -> {after:,}; the old ones have their ids"
    if asked.swap:
        head = (
            f"{plural(added, 'token')} added, {result.dropped:,} taken out: still {after:,}; the "
            "ids of others moved, also of special tokens: id_map.npy has the new id of every old "
            "one"
        )
    tell_refit(result, [head], next_command(tokenizer, target), target, run)
