"""Options of commands that train models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from volt.cli.console import say
from volt.trial.presets import BatchUnit, ModelName, PresetName

if TYPE_CHECKING:
    from volt.trial.results import TrialResults

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


def _option(help: str) -> Any:
    """An option without a default of its own: the preset has one."""
    return typer.Option(help=help, show_default=False)


@dataclass(frozen=True)
class TrainingOptions:
    """How models are trained, and how they translate and are scored: an option a field."""

    model: Annotated[ModelName, typer.Option(help="The kind of model.")] = "transformer"
    preset: Annotated[PresetName, typer.Option(help="Its size, and how it is trained.")] = "tiny"
    seeds: Annotated[int, typer.Option(min=1, help="Models a vocabulary.")] = 1
    minutes: Annotated[float | None, _option("Budget: training time of each model.")] = None
    epochs: Annotated[float | None, _option("Budget: times through the text.")] = None
    updates: Annotated[int | None, _option("Budget: steps of the optimizer.")] = None
    patience: Annotated[
        int | None, _option("Stop after this many checkpoints that are no better; 0: never.")
    ] = None
    learning_rate: Annotated[float | None, _option("Highest learning rate.")] = None
    warmup: Annotated[int | None, _option("Updates of warm-up.")] = None
    batch: Annotated[int | None, _option("Size of a batch, padding included.")] = None
    batch_unit: Annotated[
        BatchUnit | None,
        _option("What a batch is measured in; characters: the same batches for all."),
    ] = None
    accumulate: Annotated[int | None, _option("Batches an update.")] = None
    dropout: Annotated[float | None, _option("Dropout.")] = None
    label_smoothing: Annotated[float | None, _option("Label smoothing.")] = None
    checkpoints: Annotated[int | None, _option("Checkpoints in the budget.")] = None
    average: Annotated[int | None, _option("Checkpoints that are averaged at the end.")] = None
    max_tokens: Annotated[int | None, _option("Leave out training pairs with as many or more.")] = (
        None
    )
    beam: Annotated[int | None, _option("Beam width.")] = None
    bleu_tokenize: Annotated[
        str, typer.Option(help="sacrebleu's tokenizer, such as zh, ja-mecab, char.")
    ] = "13a"
    device: Annotated[
        str, typer.Option(help="auto (CUDA, MPS or CPU, what there is), cpu, cuda, cuda:1, mps.")
    ] = "auto"

    def settings(self) -> dict[str, Any]:
        """By the names that `volt.trial.trial` has for them."""
        given = dict(vars(self))
        return {"size": given.pop("preset"), **given}


def with_training(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all of these options in the place of its parameter `training`."""
    hints = get_type_hints(TrainingOptions, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command, eval_str=True).parameters.values():
        if one.name == "training":
            parameters += (
                one.replace(name=field.name, default=field.default, annotation=hints[field.name])
                for field in fields(TrainingOptions)
            )
        else:
            parameters.append(one)

    @wraps(command)
    def run(**given: Any) -> None:
        training = {field.name: given.pop(field.name) for field in fields(TrainingOptions)}
        command(**given, training=TrainingOptions(**training))

    vars(run)["__signature__"] = inspect.Signature(parameters)  # what typer makes options of
    return run


def tell(results: TrialResults, output: Path, quiet: bool) -> None:
    """What people should know after a trial."""
    say(quiet, *(f"note: {message}" for message in results.messages))
    say(quiet, *(f"{name}: {one}" for name, one in results.signatures.items()))
    # There is no page without the extra `report`.
    there = [name for name in ("results.json", "report.html", "runs/") if (output / name).exists()]
    say(quiet, f"written to {output}: {', '.join(there)}")
