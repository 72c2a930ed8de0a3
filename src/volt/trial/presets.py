"""What a model looks like and how it is trained: plain numbers, by name.

`base` and `big` train as in the VOLT paper (Appendix B): Adam at 5e-4 with 4,000 updates of
warm-up, inverse square root decay, dropout 0.3, four batches of 9,600 tokens per update, 40 epochs,
the last five checkpoints averaged, beam 4. `big` is its Transformer-big (Ott et al. 2018). `tiny`
and `small` are for a laptop and a few minutes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from volt.base.errors import SettingsError
from volt.settings import TrialSettings
from volt.settings.trial import MOST_TOKENS as MOST_TOKENS

CHARACTERS_PER_TOKEN = 4
"""Approximate; for what must not depend on the vocabulary."""

ModelName = Literal["transformer", "conv"]
PresetName = Literal["tiny", "small", "base", "big"]
BatchUnit = Literal["tokens", "characters"]
TaskName = Literal["translation", "lm"]
Schedule = Literal["cosine", "inverse-sqrt"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Shape:
    """The architecture. Convolutions are (channels, kernel) of `conv`, unused by `transformer`.
    Without encoder layers it is a language model."""

    model: ModelName
    width: int
    encoder_layers: int
    decoder_layers: int
    heads: int = 1
    inner: int = 0
    """Width of the transformer's feed-forward layers."""
    encoder_convolutions: tuple[tuple[int, int], ...] = ()
    decoder_convolutions: tuple[tuple[int, int], ...] = ()
    dropout: float = 0.1


@dataclass(frozen=True)
class Training:
    """How a model is trained and how it translates."""

    learning_rate: float
    """The highest, at the end of the warm-up."""
    warmup: int
    """Updates over which the rate rises, but at most a fifth of a `cosine` schedule."""
    batch: int
    """Size of a batch of the longer side, padding included, in `batch_unit`."""
    schedule: Schedule = "cosine"
    """How the rate falls: to zero at the end of the budget, or with the inverse square root."""
    batch_unit: BatchUnit = "characters"
    """`characters`: the same sentences in every batch, whatever the vocabulary."""
    accumulate: int = 1
    """Batches per update."""
    label_smoothing: float = 0.1
    adam_betas: tuple[float, float] = (0.9, 0.98)
    clip_norm: float = 0.0
    """Longest gradient; 0 for no limit."""
    precision: Precision = "float32"
    """What matrices are multiplied in while training. Losses are always measured in float32."""
    updates: int | None = None
    epochs: float | None = None
    minutes: float | None = None
    """The budget: one of these three."""
    checkpoints: int = 20
    """Checkpoints in the whole budget; at each the validation loss is measured."""
    average: int = 5
    """How many of the last checkpoints are averaged."""
    patience: int = 3
    """Stop after this many checkpoints without a better validation loss; 0: never."""
    max_tokens: int = 256
    """Training lines with a side as long, in any of the vocabularies, are left out."""
    beam: int = 5
    length_penalty: float = 1.0
    """Hypotheses are ranked by log-probability / length ** length_penalty."""

    def __post_init__(self) -> None:
        budgets = [self.updates, self.epochs, self.minutes]
        if sum(budget is not None for budget in budgets) != 1:
            raise SettingsError("the budget is one of `minutes`, `epochs` and `updates`")


@dataclass(frozen=True)
class Preset:
    transformer: Shape
    conv: Shape
    training: Training = field(repr=False)
    decoder_layers: int = 2
    """Layers of the language model."""


def _transformer(
    width: int, inner: int, heads: int, layers: tuple[int, int], dropout: float
) -> Shape:
    return Shape("transformer", width, *layers, heads=heads, inner=inner, dropout=dropout)


def _conv(
    width: int,
    encoder: tuple[tuple[int, int], ...],
    decoder: tuple[tuple[int, int], ...],
    dropout: float,
) -> Shape:
    return Shape(
        "conv", width, len(encoder), len(decoder), dropout=dropout,
        encoder_convolutions=encoder, decoder_convolutions=decoder,
    )  # fmt: skip


_WMT = ((512, 3),) * 9 + ((1024, 3),) * 4 + ((2048, 1),) * 2
"""Gehring et al. 2017, WMT14 En-De."""

_PAPER: dict[str, Any] = {
    "schedule": "inverse-sqrt", "batch_unit": "tokens", "accumulate": 4, "epochs": 40,
    "checkpoints": 40, "beam": 4, "patience": 0,
}  # fmt: skip
"""The VOLT paper, Appendix B."""

PRESETS: dict[str, Preset] = {
    "tiny": Preset(
        _transformer(128, 512, 4, (1, 1), 0.1),
        _conv(128, ((128, 3),) * 2, ((128, 3),) * 2, 0.1),
        Training(3e-3, 300, batch=2400, epochs=5, clip_norm=1.0),
        decoder_layers=2,
    ),
    "small": Preset(
        _transformer(256, 1024, 4, (3, 3), 0.2),
        _conv(256, ((256, 3),) * 4, ((256, 3),) * 3, 0.2),
        Training(1e-3, 1000, batch=9600, epochs=15, clip_norm=1.0),
        decoder_layers=4,
    ),
    "base": Preset(
        _transformer(512, 2048, 8, (6, 6), 0.3),
        _conv(512, ((512, 3),) * 20, ((512, 3),) * 20, 0.3),
        Training(5e-4, 4000, batch=9600, **_PAPER),
        decoder_layers=12,
    ),
    "big": Preset(
        _transformer(1024, 4096, 16, (6, 6), 0.3),
        _conv(768, _WMT, _WMT, 0.3),
        Training(5e-4, 4000, batch=9600, **_PAPER),
        decoder_layers=24,
    ),
}

_LANGUAGE_MODEL: dict[str, Any] = {
    "schedule": "cosine", "batch_unit": "characters", "label_smoothing": 0.0, "patience": 3,
}  # fmt: skip
"""What differs for language models: the same lines in every batch for every vocabulary."""


def from_preset(settings: TrialSettings) -> tuple[Shape, Training]:
    """A preset's numbers, with those of the settings that are given."""
    chosen = PRESETS[settings.preset]
    shape = chosen.transformer if settings.model == "transformer" else chosen.conv
    training = chosen.training
    if settings.task == "lm":
        shape = language_model(shape, chosen.decoder_layers)
        unit = CHARACTERS_PER_TOKEN if training.batch_unit == "tokens" else 1
        training = replace(training, **_LANGUAGE_MODEL, batch=training.batch * unit)
    given = {name: value for name, value in vars(settings).items() if value is not None}
    dropout = given.get("dropout", shape.dropout)
    given = {name: given[name] for name in given.keys() & {one.name for one in fields(Training)}}
    if given.keys() & {"updates", "epochs", "minutes"}:
        given = {"updates": None, "epochs": None, "minutes": None, **given}
    return replace(shape, dropout=dropout), replace(training, **given)


def language_model(shape: Shape, layers: int) -> Shape:
    """The decoder alone, with this many transformer layers."""
    layers = layers if shape.model == "transformer" else shape.decoder_layers
    return replace(shape, encoder_layers=0, encoder_convolutions=(), decoder_layers=layers)
