"""volt search: a table over BPE sizes, and the winner."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Literal

import typer

import volt
from volt.base.errors import SettingsError
from volt.choosing.criteria import MODEL_WIDTH
from volt.cli import options
from volt.cli import trial_options as of
from volt.cli.console import options_given, print_json, progress_for, refuse_options, say
from volt.searching import DEFAULT_SIZES

OF_CURVES = (
    "length", "model_width", "pretokenizer", "normalize", "coverage", "min_frequency", "glob",
)  # fmt: skip
"""What bleu has no use for: a trial has its own BPE."""
OF_TRIALS = ("valid", "test", "output", *(field.name for field in fields(of.TrainingOptions)))


@of.with_training
def search(
    context: typer.Context,
    files: options.Files,
    by: Annotated[of.Criterion, typer.Option(help="What to compare the sizes by.")] = "muv",
    sizes: Annotated[
        str, typer.Option(help="BPE sizes: START:STOP:STEP or a list.")
    ] = DEFAULT_SIZES,
    length: Annotated[
        Literal["types", "occurrences"], typer.Option(help="Mean length in the entropy.")
    ] = "types",
    model_width: Annotated[
        int, typer.Option(min=1, help="Embedding width, for mdl.")
    ] = MODEL_WIDTH,
    pretokenizer: options.Pretokenizer = None,
    normalize: options.Normalize = None,
    coverage: options.Coverage = None,
    min_frequency: options.MinFrequency = 2,
    glob: options.Glob = "*",
    valid: of.ValidPair = None,
    test: of.TestPair = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder for the trials of bleu.",
            show_default=False,
        ),
    ] = None,
    *,
    training: of.TrainingOptions,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Score BPE at a list of sizes, from one run; by bleu, train a model at every size.

    By bleu, the two FILEs are the source and the target side of the training text, and the options
    from --valid to --device say how models are trained.
    """
    if by == "bleu":
        refuse_options(options_given(context, OF_CURVES), "--by bleu")
        _by_bleu(files, sizes, valid, test, output, training, threads, quiet, json)
        return
    refuse_options(options_given(context, OF_TRIALS), f"--by {by}, only with --by bleu")
    result = volt.search(
        files,
        by=by,
        sizes=sizes,
        length=length,
        model_width=model_width,
        pretokenizer=pretokenizer,
        normalize=normalize,
        coverage=coverage,
        min_frequency=min_frequency,
        glob=glob,
        threads=threads,
        progress=progress_for(quiet),
    )
    rows = result.rows()
    choice = result.choice
    if json:
        print_json({"rows": [{k: v if v == v else None for k, v in row.items()} for row in rows],
                    "winner": asdict(choice)})  # fmt: skip
        return
    print(f"{'':2}{'size':>9} {'tokens':>13} {'H/type':>8} {'H/char':>8} {by:>12}")
    for row in rows:
        value = row[by]
        star = "*" if row["size"] == choice.size else ""
        figure = f"{value:>12.5g}" if value == value else f"{'-':>12}"
        print(f"{star:2}{row['size']:>9,} {row['tokens']:>13,} {row['entropy_types']:>8.4f}"
              f" {row['entropy_occurrences']:>8.4f} {figure}")  # fmt: skip
    winner = "no size" if choice.size is None else f"{choice.size:,}"
    say(quiet, f"{by}: {winner} ({choice.meaning})")
    say(quiet, *(f"note: {doubt}" for doubt in choice.doubts))
    if result.left_out:
        say(quiet, f"note: the text does not reach {', '.join(f'{s:,}' for s in result.left_out)}")


def _by_bleu(
    files: list[str],
    sizes: str,
    valid: tuple[str, str] | None,
    test: tuple[str, str] | None,
    output: Path | None,
    training: of.TrainingOptions,
    threads: int | None,
    quiet: bool,
    json: bool,
) -> None:
    """BPE-Search: a trial at every size, the winner, and what it all cost."""
    from volt.searching import bleu_search

    if len(files) != 2 or valid is None or test is None or output is None:
        raise SettingsError(
            "--by bleu trains models: name two FILEs (source and target), --valid, --test and -o"
        )
    found = bleu_search(
        files[0],
        files[1],
        valid=valid,
        test=test,
        output=output,
        sizes=sizes,
        threads=threads,
        progress=progress_for(quiet),
        say=lambda line: say(quiet, line),
        **training.settings(),
    )
    if json:
        print_json(found.plain())
    else:
        print(found.results.table())
    say(quiet, f"bleu: {found.size:,} (BLEU {found.bleu:.2f})")
    say(quiet, f"cost: {found.seconds / 60:.1f} minutes of training and translation")
    if found.left_out:
        say(quiet, f"note: the text does not reach {', '.join(f'{s:,}' for s in found.left_out)}")
    of.tell(found.results, output, quiet)
