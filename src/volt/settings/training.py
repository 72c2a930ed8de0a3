"""Options of training: `volt trial`, and `volt search` by loss or BLEU."""

from __future__ import annotations

from dataclasses import dataclass

from volt.base.options import Settings, chance, one_of, option, positive, registered, text, whole

MOST_TOKENS = 1024
"""Positions of a translation model. Longer lines of validation and test text are cut there."""


@dataclass(frozen=True, kw_only=True)
class TrialSettings(Settings):
    """How models are trained, and how they translate and are scored."""

    task: str = option(
        "translation", "What models learn: to translate, or to predict text (lm)",
        one_of(registered("volt.trial.presets", "TaskName")), group="Training",
    )  # fmt: skip
    model: str = option(
        "transformer", "Kind of model", one_of(registered("volt.trial.presets", "ModelName")),
        group="Training",
    )  # fmt: skip
    preset: str = option(
        "tiny", "Size of the model and how it is trained",
        one_of(registered("volt.trial.presets", "PresetName")), group="Training",
    )  # fmt: skip
    seeds: int = option(1, "Number of models per vocabulary.", whole(1), group="Training")
    minutes: float | None = option(
        None, "Budget of each model: wall time of training and of measuring the loss.",
        positive(), group="Training", default_words="by preset",
    )  # fmt: skip
    epochs: float | None = option(
        None, "Budget of each model: passes through the text.", positive(), group="Training",
        default_words="by preset",
    )  # fmt: skip
    updates: int | None = option(
        None, "Budget of each model: steps of the optimizer.", whole(1), group="Training",
        default_words="by preset",
    )  # fmt: skip
    patience: int | None = option(
        None, "Stop after this many checkpoints without a better validation loss; 0: never.",
        whole(0), group="Training", default_words="by preset",
    )  # fmt: skip
    schedule: str | None = option(
        None, "How the learning rate falls: to zero at the end of the budget, or with the inverse "
        "square root of the updates", one_of(registered("volt.trial.presets", "Schedule")),
        group="Training", default_words="by preset",
    )  # fmt: skip
    learning_rate: float | None = option(
        None, "Highest learning rate.", positive(), group="Training", default_words="by preset"
    )
    warmup: int | None = option(
        None, "Number of warm-up updates.", whole(0), group="Training", default_words="by preset"
    )
    batch: int | None = option(
        None, "Size of a batch, padding included.", whole(1), group="Training",
        default_words="by preset",
    )  # fmt: skip
    batch_unit: str | None = option(
        None, "What a batch is measured in; with characters all vocabularies have the same batches",
        one_of(registered("volt.trial.presets", "BatchUnit")), group="Training",
        default_words="by preset",
    )  # fmt: skip
    accumulate: int | None = option(
        None, "Number of batches per update.", whole(1), group="Training",
        default_words="by preset",
    )  # fmt: skip
    precision: str | None = option(
        None, "What matrices are multiplied in while training; bfloat16 is faster on most "
        "processors", one_of(registered("volt.trial.presets", "Precision")), group="Training",
        default_words="float32",
    )  # fmt: skip
    dropout: float | None = option(
        None, "Dropout probability.", chance(), group="Training", default_words="by preset"
    )
    label_smoothing: float | None = option(
        None, "Label smoothing.", chance(), group="Training", default_words="0.1; 0 for lm"
    )
    checkpoints: int | None = option(
        None, "Number of checkpoints in the whole budget.", whole(1), group="Training",
        default_words="by preset",
    )  # fmt: skip
    average: int | None = option(
        None, "Number of last checkpoints that are averaged.", whole(1), group="Training",
        default_words="5",
    )  # fmt: skip
    max_tokens: int | None = option(
        None, "Leave out training lines or pairs with this many tokens or more.",
        whole(1, MOST_TOKENS), group="Training", default_words="256",
    )  # fmt: skip
    beam: int | None = option(
        None, "Beam width.", whole(1), group="Training", default_words="by preset"
    )
    bleu_tokenize: str = option(
        "13a", "Tokenizer of sacrebleu, such as zh, ja-mecab or char.", text("NAME"),
        group="Output",
    )  # fmt: skip
    device: str = option(
        "auto", "Where to train: auto (CUDA, MPS or CPU), cpu, cuda, cuda:1 or mps.", text("NAME"),
        group="Training",
    )  # fmt: skip
