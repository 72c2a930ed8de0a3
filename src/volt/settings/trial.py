"""Options of training: `volt trial`, and `volt search` by loss or BLEU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from volt.base.options import (
    Settings,
    ValueKind,
    chance,
    one_of,
    option,
    positive,
    registered,
    text,
    whole,
)

MOST_TOKENS = 1024
"""Positions of a translation model. Longer lines of validation and test text are cut there."""


def by_preset(help: str, kind: ValueKind) -> Any:
    """An option whose default the preset says."""
    return option(None, help, kind, default_words="by preset")


@dataclass(frozen=True, kw_only=True)
class TrialSettings(Settings, group="Training"):
    """How models are trained, and how they translate and are scored."""

    task: str = option(
        "translation", "What models learn: to translate, or to predict text (lm)",
        one_of(registered("volt.trial.presets", "TaskName")),
    )  # fmt: skip
    model: str = option(
        "transformer", "Kind of model", one_of(registered("volt.trial.presets", "ModelName"))
    )
    preset: str = option(
        "tiny", "Size of the model and how it is trained",
        one_of(registered("volt.trial.presets", "PresetName")),
    )  # fmt: skip
    seeds: int = option(1, "Number of models per vocabulary.", whole(1))
    minutes: float | None = by_preset(
        "Budget of each model: wall time of training and of measuring the loss.", positive()
    )
    epochs: float | None = by_preset("Budget of each model: passes through the text.", positive())
    updates: int | None = by_preset("Budget of each model: steps of the optimizer.", whole(1))
    patience: int | None = by_preset(
        "Stop after this many checkpoints without a better validation loss; 0: never.", whole(0)
    )
    schedule: str | None = by_preset(
        "How the learning rate falls: to zero at the end of the budget, or with the inverse "
        "square root of the updates", one_of(registered("volt.trial.presets", "Schedule")),
    )  # fmt: skip
    learning_rate: float | None = by_preset("Highest learning rate.", positive())
    warmup: int | None = by_preset("Number of warm-up updates.", whole(0))
    batch: int | None = by_preset("Size of a batch, padding included.", whole(1))
    batch_unit: str | None = by_preset(
        "What a batch is measured in; with characters all vocabularies have the same batches",
        one_of(registered("volt.trial.presets", "BatchUnit")),
    )  # fmt: skip
    accumulate: int | None = by_preset("Number of batches per update.", whole(1))
    precision: str | None = option(
        None, "What matrices are multiplied in while training; bfloat16 is faster on most "
        "processors", one_of(registered("volt.trial.presets", "Precision")),
        default_words="float32",
    )  # fmt: skip
    dropout: float | None = by_preset("Dropout probability.", chance())
    label_smoothing: float | None = option(
        None, "Label smoothing.", chance(), default_words="0.1; 0 for lm"
    )
    checkpoints: int | None = by_preset("Number of checkpoints in the whole budget.", whole(1))
    average: int | None = option(
        None, "Number of last checkpoints that are averaged.", whole(1), default_words="5"
    )
    max_tokens: int | None = option(
        None, "Leave out training lines or pairs with this many tokens or more.",
        whole(1, MOST_TOKENS), default_words="256",
    )  # fmt: skip
    beam: int | None = by_preset("Beam width.", whole(1))
    bleu_tokenize: str = option(
        "13a", "Tokenizer of sacrebleu, such as zh, ja-mecab or char.", text("NAME"), group="Output"
    )
    device: str = option(
        "auto", "Where to train: auto (CUDA, MPS or CPU), cpu, cuda, cuda:1 or mps.", text("NAME")
    )
