"""volt refit: the smaller vocabulary of a tokenizer that exists, fitted to a text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import volt
from volt.base.errors import SettingsError
from volt.base.lines import WARNING, Line
from volt.base.options import Settings, option
from volt.base.shown import plural
from volt.cli.arguments import Folder, Run, TokenizerInput
from volt.cli.command import Given, command
from volt.cli.console import print_json, progress_for, say, say_lines
from volt.settings import ChoiceSettings, ReadSettings

if TYPE_CHECKING:
    from volt.adapting.checkpoint import Checkpoint
    from volt.adapting.subject import RefitResult


FAR = 0.1
"""How far below the answers of the parts the answer may lie, relative, before both are offered."""
OTHER_BITS = (
    "bits per byte may rise in volt compare, which measures them in another way "
    '(docs/refit.md, "Which figure to believe")'
)


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
    given: Given,
) -> None:
    """Shrink a tokenizer to the tokens that fit a text, and a model with it."""
    chosen = vars(settings)
    if "for_model" not in given:  # the model that is cut says it, if there is one
        chosen = {name: value for name, value in chosen.items() if name != "for_model"}
    result = volt.refit(
        tokenizer.tokenizer, fitting_texts(tokenizer, target), model=tokenizer.model,
        form=tokenizer.form, pattern=tokenizer.pattern, residues=asked.residues, **chosen,
        **vars(reading), threads=run.threads,
        progress=progress_for(run.quiet),
    )  # fmt: skip
    stays = "every special token, byte and character stays: what could be encoded still can"
    engine = result.original.engine
    kept = [] if engine is not None and engine.whole else [stays]  # a note says what is lost
    following = next_command(tokenizer, target) if result.dropped else ""
    if following and result.choice is not None and result.choice.summary().get("quality"):
        kept.append(OTHER_BITS)
    tell_refit(result, [*answer_lines(result), *kept], following, target, run)


def answer_lines(result: RefitResult) -> list[str]:
    """The sizes before and after, and why."""
    from volt.report.answer import answer

    before = plural(result.before.size, "token")
    same = [] if result.dropped else [f"nothing was removed: {before} before and after"]
    if result.choice is None:  # only residues went, or what the text does not use
        return same or [f"{before} -> {result.after.size:,}"]
    told = answer(result.choice.summary())
    if result.choice.reason == "size":
        told = replace(told, rows=())
    if result.choice.reason == "merges":  # there are no more tokens
        rows = [row for row in told.rows if row[0] != "merges"]
        told = replace(told, why="every token that the text uses", rows=tuple(rows))
    head, *reasons = told.lines
    reasons += advice(result.choice.summary())
    return [*same, *([head] if same else [f"{before} -> {head}"]), *reasons]


def advice(found: Mapping[str, Any]) -> list[str]:
    """What to do if the parts of the text chose clearly more than the whole text."""
    chose = [size for size in found.get("splits") or [] if size is not None]
    if len(chose) < 2 or found["reason"] == "size" or min(chose) <= (1 + FAR) * found["size"]:
        return []
    more = min(chose)
    return [
        f"  or        {more:,}, as the parts chose (--size {more}): take it if rows are cheap for "
        f"you, {found['size']:,} if not"
    ]


def fitting_texts(tokenizer: TokenizerInput, target: Folder) -> volt.Files:
    """All text that was named; before any work, a look at the folder to write."""
    texts = volt.Files([*tokenizer.on, *tokenizer.files])
    if not texts:
        raise SettingsError("name the text to fit to with --on FILE")
    for one in texts:
        if "=" in one and "://" not in one and not Path(one).exists():
            files = [part.partition("=")[2] or part for part in one.split(",")]
            raise SettingsError(
                f"{one}: inputs have no names here; list the files: --on {shlex.join(files)}"
            )
    target.claim(texts, tokenizer.tokenizer, tokenizer.model)
    return texts


def tell_refit(
    result: RefitResult, head: list[str], following: str, target: Folder, run: Run
) -> None:
    """Save it, and say what it is and which command may follow."""
    messages = [*result.messages, *result.save(target.output, force=target.force)]
    files = [path.name for path in Path(target.output).iterdir()]
    names = sorted(name for name in files if not name.startswith("."))
    if run.json:
        print_json({**result.summary(), "messages": messages, "files": names})
    before, after = result.before, result.after
    warned = [message for message in messages if message.startswith(WARNING)]
    lines = [*warned, *head]
    if before.tokens_per_line is not None and after.tokens_per_line is not None:
        lines.append(
            f"tokens per line: {before.tokens_per_line:.2f} -> {after.tokens_per_line:.2f}"
        )
    nats = before.entropy_per_character, after.entropy_per_character
    shown = f"{nats[0]:.4f} -> {nats[1]:.4f}"
    lines.append(f"nats per character: {shown} (unigram entropy)")
    if after.unknown:
        # Unknown text looks cheap: without this line the figures above would flatter.
        shares = f"{before.unknown:.3%} -> {after.unknown:.3%}"
        lines.append(f"tokens that are <unk>, or single bytes of characters it lacks: {shares}")
    lines += [f"note: {message}" for message in messages if message not in warned]
    say(run.quiet, *lines, f"written to {target.output}: {', '.join(names)}")
    ending = []
    if result.changes_model and result.checkpoint is not None:
        model = Path(target.output, "model")
        say(run.quiet, model_line(result.checkpoint, model, len(result.vocabulary)))
        load = f"{result.checkpoint.auto_class}.from_pretrained({json.dumps(str(model))})"
        ending.append(Line(f"next: {load}, from transformers", "bold"))
    if following:
        ending.append(Line(f"next: {following}", "bold"))
    say_lines(run.quiet, ending)


def model_line(checkpoint: Checkpoint, written: Path, rows: int) -> str:
    """What became of the model."""
    sizes = (checkpoint.tensor_bytes, checkpoint.bytes_after(rows))
    before, after = (f"{size / 1e6:,.1f}" for size in sizes)
    return f"the model: {written} ({checkpoint.rows:,} -> {rows:,} rows, {before} -> {after} MB)"


def next_command(tokenizer: TokenizerInput, target: Folder) -> str:
    """Old and new side by side; on the text that it was fitted to, the new one would look good."""
    words = ["volt", "compare", tokenizer.tokenizer, target.output, "--on", "HELD-OUT-TEXT"]
    words += [] if tokenizer.pattern is None else ["--pattern", tokenizer.pattern]
    return shlex.join(words)
