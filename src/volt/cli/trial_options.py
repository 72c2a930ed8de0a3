"""Options of commands that train models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from volt.cli.console import say
from volt.trial.presets import BatchUnit, ModelName, PresetName

if TYPE_CHECKING:
    from volt.trial.results import TrialResults

Model = Annotated[ModelName, typer.Option(help="The kind of model.")]
Preset = Annotated[PresetName, typer.Option(help="Its size, and how it is trained.")]
Seeds = Annotated[int, typer.Option(min=1, help="Models a vocabulary.")]
Minutes = Annotated[
    float | None,
    typer.Option(help="Budget: training time of each model.", show_default=False),
]
Epochs = Annotated[
    float | None, typer.Option(help="Budget: times through the text.", show_default=False)
]
Updates = Annotated[
    int | None, typer.Option(help="Budget: steps of the optimizer.", show_default=False)
]
Device = Annotated[
    str, typer.Option(help="auto (CUDA, MPS or CPU, what there is), cpu, cuda, cuda:1, mps.")
]

# Each changes one number of the preset.
LearningRate = Annotated[
    float | None, typer.Option(help="Highest learning rate.", show_default=False)
]
Warmup = Annotated[int | None, typer.Option(help="Updates of warm-up.", show_default=False)]
Batch = Annotated[
    int | None, typer.Option(help="Size of a batch, padding included.", show_default=False)
]
Unit = Annotated[
    BatchUnit | None,
    typer.Option(
        help="What a batch is measured in; characters: the same batches for all.",
        show_default=False,
    ),
]
Accumulate = Annotated[int | None, typer.Option(help="Batches an update.", show_default=False)]
Dropout = Annotated[float | None, typer.Option(help="Dropout.", show_default=False)]
LabelSmoothing = Annotated[float | None, typer.Option(help="Label smoothing.", show_default=False)]
Patience = Annotated[
    int | None,
    typer.Option(
        help="Stop after this many checkpoints that are no better; 0: never.", show_default=False
    ),
]
Checkpoints = Annotated[
    int | None, typer.Option(help="Checkpoints in the budget.", show_default=False)
]
Average = Annotated[
    int | None, typer.Option(help="Checkpoints that are averaged at the end.", show_default=False)
]
MaxTokens = Annotated[
    int | None, typer.Option(help="Leave out longer training pairs.", show_default=False)
]
Beam = Annotated[int | None, typer.Option(help="Beam width.", show_default=False)]
BleuTokenize = Annotated[
    str, typer.Option(help="sacrebleu's tokenizer, such as zh, ja-mecab, char.")
]
ValidPair = Annotated[
    tuple[str, str] | None,
    typer.Option("--valid", help="For bleu: validation text, two files.", show_default=False),
]
TestPair = Annotated[
    tuple[str, str] | None,
    typer.Option("--test", help="For bleu: test text, two files.", show_default=False),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="Folder to write.", show_default=False),
]
Criterion = Literal["muv", "mdl", "frequency", "renyi", "zipf", "knee", "bleu"]


def tell(results: TrialResults, output: Path, quiet: bool) -> None:
    """What people should know after a trial."""
    say(quiet, *(f"note: {message}" for message in results.messages))
    say(quiet, *(f"{name}: {one}" for name, one in results.signatures.items()))
    say(quiet, f"written to {output}: results.json, report.html, runs/")
