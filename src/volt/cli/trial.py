"""volt trial: a translation model for every vocabulary, and their BLEU."""

from __future__ import annotations

from typing import Annotated

import typer

from volt.cli import options
from volt.cli import trial_options as of
from volt.cli.console import print_json, progress_for, say


@of.with_training
def trial(
    source: Annotated[str, typer.Option(help="Training text, source side.", show_default=False)],
    target: Annotated[str, typer.Option(help="Training text, target side.", show_default=False)],
    valid: Annotated[
        tuple[str, str],
        typer.Option(help="Validation text: source and target.", show_default=False),
    ],
    test: Annotated[
        tuple[str, str], typer.Option(help="Test text: source and target.", show_default=False)
    ],
    vocab: Annotated[
        list[str],
        typer.Option(
            help="A vocabulary: a folder or file, bpe:N, spm-bpe:N, spm-unigram:N, wordpiece:N, "
            "char, byte. Differences are tested against the first.",
            show_default=False,
        ),
    ],
    output: of.Output,
    training: of.TrainingOptions,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a small translation model for every vocabulary and compare what they translate."""
    from volt.trial import trial as run

    results = run(
        source,
        target,
        valid=valid,
        test=test,
        vocabularies=vocab,
        output=output,
        threads=threads,
        progress=progress_for(quiet),
        say=lambda line: say(quiet, line),
        **training.settings(),
    )
    if json:
        print_json(results.plain())
    else:
        print(results.table())
    of.tell(results, output, quiet)
