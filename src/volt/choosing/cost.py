"""What a size costs to train with (METHOD 6), and the table of models.

`C(V) = tokens(V) * (body + V * width)`: the multiplications that a model needs to process the
corpus once. A larger vocabulary makes the text shorter and the model larger. One table of V rows is
counted, that of the output: at the input a row is looked up, and nothing is multiplied.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from volt.base.errors import SettingsError
from volt.base.registry import Registry
from volt.proposing.base import Floats, Ids
from volt.proposing.curve import Curve


@dataclass(frozen=True)
class Model:
    """The model that a vocabulary is for."""

    name: str
    body: int
    """Parameters outside the embeddings."""
    width: int
    """Embedding width: parameters per row."""


MODELS: Registry[Model] = Registry(
    "model",
    [
        Model("base", 44_000_000, 512),
        Model("big", 176_000_000, 1024),
        Model("gpt2", 85_000_000, 768),
        Model("1b", 1_000_000_000, 2048),
        Model("7b", 6_600_000_000, 4096),
        Model("70b", 69_000_000_000, 8192),
    ],
)
WIDTHS = {
    44e6: 512, 100e6: 768, 300e6: 1024, 1e9: 2048, 3e9: 3072, 7e9: 4096, 13e9: 5120, 30e9: 6656,
    70e9: 8192, 400e9: 16384,
}  # fmt: skip
"""Usual embedding widths by parameters, for examples."""
DEFAULT_MODEL = "base"
LARGE_BODY = 1_000_000_000
"""From here on twice as many merges are learned (METHOD 1)."""

_OWN = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMBT]?):([0-9]{1,6})", re.IGNORECASE)
_FACTORS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


def model_forms() -> list[str]:
    """What `for_model` may say."""
    return [*MODELS, "PARAMS:WIDTH"]


def parse_model(text: str) -> Model:
    """A name from the table, or `PARAMS:WIDTH`, such as `300M:1024`."""
    if (name := text.strip().lower()) in MODELS:
        return MODELS[name]
    found = _OWN.fullmatch(text.strip())
    if found is not None:
        body, width = round(float(found[1]) * _FACTORS[found[2].upper()]), int(found[3])
        if 0 < body <= 10**15 and width > 0:
            return Model(text.strip(), body, width)
    hint = ""
    if bare := _OWN.fullmatch(f"{name}:1"):  # with the usual width of a model of that size
        size = max(1.0, float(bare[1]) * _FACTORS[bare[2].upper()])
        nearest = min(WIDTHS, key=lambda body: abs(np.log(body / size)))
        hint = f"; it lacks the width: {text}:{WIDTHS[nearest]}, for instance"
    raise SettingsError(
        f"`for_model` is one of {', '.join(MODELS)}, or PARAMS:WIDTH such as 300M:1024 (parameters "
        f"outside the embeddings of input and output, and embedding width), not {text!r}{hint}"
    )


def cost(tokens: Floats | Ids, sizes: Ids, model: Model) -> Floats:
    """C(V) at some sizes."""
    found: Floats = np.asarray(tokens, np.float64) * (model.body + sizes * float(model.width))
    return found


def every_size(curve: Curve) -> tuple[Ids, Floats]:
    """Every size of the curve, and the tokens of the corpus there.

    Candidates without parents are measured at some sizes only; between these the tokens are read
    off a line over the logarithm of the size.
    """
    sizes = np.arange(curve.size[0], curve.size[-1] + 1)
    if len(sizes) == len(curve.size):
        return sizes, curve.tokens.astype(np.float64)
    return sizes, np.interp(np.log(sizes), np.log(curve.size), curve.tokens)


def marginal_utility(curve: Curve, size: int, unit: int = 1) -> float | None:
    """mu(V): the tokens of text that the V-th row saves; None at the first size."""
    sizes, tokens = every_size(curve)
    place = size - int(sizes[0])
    if not 0 < place < len(sizes):
        return None
    return float(tokens[place - 1] - tokens[place]) / unit


def row_price(curve: Curve, size: int, model: Model, unit: int = 1) -> float | None:
    """What the V-th row costs, in tokens of text: the size is cheapest where `mu` falls below."""
    sizes, tokens = every_size(curve)
    place = size - int(sizes[0])
    if not 0 <= place < len(sizes):
        return None
    return float(tokens[place]) / unit * model.width / (model.body + size * float(model.width))
