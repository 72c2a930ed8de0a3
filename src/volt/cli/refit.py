"""volt refit: the smaller vocabulary of a tokenizer that exists, fitted to a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from volt.base.errors import SettingsError
from volt.base.output import check_folder
from volt.cli import options
from volt.cli.console import print_json, progress_for, say
from volt.cli.export import FormatName
from volt.settings import LearnSettings

if TYPE_CHECKING:
    from volt.adapting.refit import RefitResult

DEFAULT = LearnSettings()

TokenizerFile = Annotated[
    str,
    typer.Argument(
        metavar="TOKENIZER",
        help="tokenizer.json, a .model, vocab.json, ranks, codes, or their folder; or a volt.json.",
        show_default=False,
    ),
]
MoreFiles = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE...]", help="More text, as --on.", show_default=False),
]
On = Annotated[
    list[str] | None,
    typer.Option("--on", help="Text or counts to fit to.", show_default=False),
]
Folder = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Folder to write.", show_default=False),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="DIR", help="Checkpoint that uses the tokenizer.", show_default=False
    ),
]
From = Annotated[
    FormatName | None,
    typer.Option("--from", help="The format.  [default: as it looks]", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing folder.")]


def refit(
    tokenizer: TokenizerFile,
    files: MoreFiles = None,
    on: On = None,
    output: Folder = None,
    model: Checkpoint = None,
    form: From = None,
    criterion: Annotated[
        Literal["muv", "mdl", "frequency", "renyi", "zipf", "knee"],
        typer.Option(help="What decides the size."),
    ] = "muv",
    size: Annotated[
        int | None,
        typer.Option(min=1, help="Fix the size of the whole vocabulary.", show_default=False),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="S, the sizes to try: START:STOP:STEP or a list.  [default: 1000:10000:1000]",
            show_default=False,
        ),
    ] = None,
    rank: Annotated[
        Literal["frequency", "merge"] | None,
        typer.Option(
            help="Which tokens come first: the most frequent, or the most merged.  "
            "[default: frequency for muv, else merge]",
            show_default=False,
        ),
    ] = None,
    length: options.Length = DEFAULT.length,
    gamma: options.Gamma = DEFAULT.gamma,
    epsilon: options.Epsilon = DEFAULT.epsilon,
    threshold: options.Threshold = DEFAULT.threshold,
    model_width: options.ModelWidth = DEFAULT.model_width,
    bootstrap: options.Bootstrap = DEFAULT.bootstrap,
    seed: options.Seed = DEFAULT.seed,
    on_invalid: options.OnInvalid = "error",
    min_count: options.MinCount = 1,
    weight: options.Weights = None,
    glob: options.Glob = "*",
    input_format: options.InputFormat = "auto",
    threads: options.Threads = None,
    force: Force = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Shrink a tokenizer to the tokens that fit a text, and a model with it."""
    from volt.adapting.refit import refit as refitted

    output, texts = check_arguments(output, force, on, files)
    result = refitted(
        tokenizer, texts, model=model, form=form, criterion=criterion, size=size, sizes=sizes,
        rank=rank, length=length, gamma=gamma, epsilon=epsilon, threshold=threshold,
        model_width=model_width, bootstrap=bootstrap, seed=seed, on_invalid=on_invalid,
        min_count=min_count, weights=weight or None, glob=glob, input_format=input_format,
        threads=threads, progress=progress_for(quiet),
    )  # fmt: skip
    chose = f"{result.criterion} chose {result.chosen_size:,}"
    if result.criterion == "size":
        chose = f"--size {result.chosen_size:,}"
    head = f"{result.before.size:,} tokens -> {result.after.size:,} ({chose})"
    stays = "every special token, byte and character stays: what could be encoded still can"
    tell(result, [head, stays], output, force, quiet, json)


def check_arguments(
    output: Path | None, force: bool, on: list[str] | None, files: list[str] | None
) -> tuple[Path, list[str]]:
    """The folder to write, and all text that was named."""
    if output is None:
        raise SettingsError("name the folder to write with -o")
    texts = [*(on or []), *(files or [])]
    if not texts:
        raise SettingsError("name the text to fit to with --on FILE")
    check_folder(output, force=force)
    return output, texts


def tell(
    result: RefitResult, head: list[str], output: Path, force: bool, quiet: bool, json: bool
) -> None:
    """Save it, and say what it is."""
    messages = [*result.messages, *result.save(output, force=force)]
    names = sorted(path.name for path in output.iterdir() if not path.name.startswith("."))
    if json:
        print_json({**result.summary(), "messages": messages, "files": names})
    before, after = result.before, result.after
    say(quiet, *head)
    if before.tokens_per_line is not None and after.tokens_per_line is not None:
        say(quiet, f"tokens a line: {before.tokens_per_line:.2f} -> {after.tokens_per_line:.2f}")
    nats = before.entropy_per_character, after.entropy_per_character
    say(quiet, f"nats a character: {nats[0]:.4f} -> {nats[1]:.4f}")
    if after.unknown:
        # Unknown text looks cheap: without this line the figures above would flatter.
        say(
            quiet,
            f"characters it has no token for: {before.unknown:.2%} -> {after.unknown:.2%} of the "
            "tokens; neither refit nor extend adds characters",
        )
    say(
        quiet,
        *(f"note: {message}" for message in messages),
        f"written to {output}: {', '.join(names)}",
    )
