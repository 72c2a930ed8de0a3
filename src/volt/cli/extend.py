"""volt extend: a tokenizer that exists, with more tokens for a text."""

from __future__ import annotations

from dataclasses import dataclass

import volt
from volt.base.options import Settings, option, size, whole
from volt.cli.arguments import Folder, Run, TokenizerInput
from volt.cli.command import command
from volt.cli.console import progress_for
from volt.cli.refit import fitting_texts, tell_refit
from volt.settings import MOST, ReadSettings


@dataclass(frozen=True, kw_only=True)
class ExtendCommand(Settings):
    add: int = option(..., "Number of tokens to add.", size(1, MOST), group="Size")
    min_frequency: int = option(
        2, "Do not merge pairs rarer than this.", whole(1, MOST), group="Tokens"
    )


@command("volt extend tokenizer.json --on medical.txt --add 2k -o larger/")
def extend(
    tokenizer: TokenizerInput, asked: ExtendCommand, reading: ReadSettings, target: Folder, run: Run
) -> None:
    """Add tokens for a text to a tokenizer, and rows for them to a model; old ids stay."""
    result = volt.extend(
        tokenizer.tokenizer, fitting_texts(tokenizer, target), asked.add, model=tokenizer.model,
        form=tokenizer.form, min_frequency=asked.min_frequency, **vars(reading),
        threads=run.threads, progress=progress_for(run.quiet),
    )  # fmt: skip
    head = f"{result.before.size:,} tokens -> {result.after.size:,}; the old ones have their ids"
    tell_refit(result, [head], target, run)
