"""volt trial: a translation model for every vocabulary, and their BLEU."""

from __future__ import annotations

from typing import Annotated

import typer

from volt.cli import options
from volt.cli import trial_options as of
from volt.cli.console import print_json, progress_for, say


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
    model: of.Model = "transformer",
    preset: of.Preset = "tiny",
    seeds: of.Seeds = 1,
    minutes: of.Minutes = None,
    epochs: of.Epochs = None,
    updates: of.Updates = None,
    patience: of.Patience = None,
    learning_rate: of.LearningRate = None,
    warmup: of.Warmup = None,
    batch: of.Batch = None,
    batch_unit: of.Unit = None,
    accumulate: of.Accumulate = None,
    dropout: of.Dropout = None,
    label_smoothing: of.LabelSmoothing = None,
    checkpoints: of.Checkpoints = None,
    average: of.Average = None,
    max_tokens: of.MaxTokens = None,
    beam: of.Beam = None,
    bleu_tokenize: of.BleuTokenize = "13a",
    device: of.Device = "auto",
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
        model=model,
        size=preset,
        seeds=seeds,
        bleu_tokenize=bleu_tokenize,
        device=device,
        threads=threads,
        progress=progress_for(quiet),
        say=lambda line: say(quiet, line),
        minutes=minutes,
        epochs=epochs,
        updates=updates,
        patience=patience,
        learning_rate=learning_rate,
        warmup=warmup,
        batch=batch,
        batch_unit=batch_unit,
        accumulate=accumulate,
        dropout=dropout,
        label_smoothing=label_smoothing,
        checkpoints=checkpoints,
        average=average,
        max_tokens=max_tokens,
        beam=beam,
    )
    if json:
        print_json(results.plain())
    else:
        print(results.table())
    of.tell(results, output, quiet)
