"""volt refit: the smaller vocabulary of a tokenizer that exists, fitted to a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import volt
from volt.base.errors import SettingsError
from volt.base.options import Settings, option
from volt.cli.arguments import Folder, Run, TokenizerInput
from volt.cli.command import command
from volt.cli.console import print_json, progress_for, say
from volt.settings import ChoiceSettings, ReadSettings

if TYPE_CHECKING:
    from volt.adapting.refit import RefitResult


@dataclass(frozen=True, kw_only=True)
class RefitCommand(Settings, group="Size"):
    residues: bool = option(False, "Only take out tokens that the text makes, but never shows.")


@command("volt refit tokenizer.json --on medical.txt --model checkpoint/ -o smaller/")
def refit(
    tokenizer: TokenizerInput,
    asked: RefitCommand,
    settings: ChoiceSettings,
    reading: ReadSettings,
    target: Folder,
    run: Run,
) -> None:
    """Shrink a tokenizer to the tokens that fit a text, and a model with it."""
    result = volt.refit(
        tokenizer.tokenizer, fitting_texts(tokenizer, target), model=tokenizer.model,
        form=tokenizer.form, pattern=tokenizer.pattern, residues=asked.residues, **vars(settings),
        **vars(reading), threads=run.threads,
        progress=progress_for(run.quiet),
    )  # fmt: skip
    stays = "every special token, byte and character stays: what could be encoded still can"
    engine = result.original.engine
    kept = [] if engine is not None and engine.whole else [stays]  # a note says what is lost
    tell_refit(result, [*answer_lines(result), *kept], target, run)


def answer_lines(result: RefitResult) -> list[str]:
    """The sizes before and after, and why."""
    from volt.report.answer import answer

    if result.choice is None:  # only residues went, or what the text does not use
        return [f"{result.before.size:,} tokens -> {result.after.size:,}"]
    told = answer(result.choice.summary())
    if result.choice.reason == "size":
        told = replace(told, rows=())
    if result.choice.reason == "merges":  # there are no more tokens
        rows = [row for row in told.rows if row[0] != "merges"]
        told = replace(told, why="every token that the text uses", rows=tuple(rows))
    head, *reasons = told.lines
    return [f"{result.before.size:,} tokens -> {head}", *reasons]


def fitting_texts(tokenizer: TokenizerInput, target: Folder) -> volt.Files:
    """All text that was named; before any work, a look at the folder to write."""
    texts = volt.Files([*tokenizer.on, *tokenizer.files])
    if not texts:
        raise SettingsError("name the text to fit to with --on FILE")
    target.claim(texts, tokenizer.tokenizer, tokenizer.model)
    return texts


def tell_refit(result: RefitResult, head: list[str], target: Folder, run: Run) -> None:
    """Save it, and say what it is."""
    messages = [*result.messages, *result.save(target.output, force=target.force)]
    files = [path.name for path in Path(target.output).iterdir()]
    names = sorted(name for name in files if not name.startswith("."))
    if run.json:
        print_json({**result.summary(), "messages": messages, "files": names})
    before, after = result.before, result.after
    lines = [*head]
    if before.tokens_per_line is not None and after.tokens_per_line is not None:
        lines.append(
            f"tokens per line: {before.tokens_per_line:.2f} -> {after.tokens_per_line:.2f}"
        )
    nats = before.entropy_per_character, after.entropy_per_character
    lines.append(f"nats per character: {nats[0]:.4f} -> {nats[1]:.4f}")
    if after.unknown:
        # Unknown text looks cheap: without this line the figures above would flatter.
        shares = f"{before.unknown:.2%} -> {after.unknown:.2%}"
        lines.append(f"characters it has no token for: {shares} of the tokens")
    lines += [f"note: {message}" for message in messages]
    say(run.quiet, *lines, f"written to {target.output}: {', '.join(names)}")
