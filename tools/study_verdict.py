"""The verdict on the two constants of `auto`: the order of the quality model and the tolerance.

They are fixed on one half of the experiments and judged on the other. An experiment belongs to the
first half if its place in the alphabetical list is even, so the halves were not picked by result.
`auto` is computed again from the stored curves, as `volt.choosing` does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from volt.choosing.cost import MODELS, cost
from volt.choosing.criteria.auto import rounded
from volt.choosing.quality import ORDER, TOLERANCE, Quality

if TYPE_CHECKING:
    from study_page import Results

ORDERS = (2, 3, 4)
TOLERANCES = (0.0, 0.0025, 0.005, 0.01, 0.02)
SAMPLES = 10_000
"""Bootstrap samples of experiments."""


class Constants(NamedTuple):
    order: int
    tolerance: float

    def __str__(self) -> str:
        return f"order {self.order}, {100 * self.tolerance:g}%"


DEFAULT = Constants(ORDER, TOLERANCE)
ALL = [Constants(*one) for one in product(ORDERS, TOLERANCES)]


def choice(one: Results, constants: Constants) -> int:
    """The size that `auto` would choose with other constants.

    Tokens are stored at the sizes of the grid; between these they are read off a line in the
    logarithms of size and tokens.
    """
    stored = one.data["corpus"]["quality"][str(constants.order)]
    scores = np.array([np.nan if score is None else score for score in stored["scores"]])
    quality = Quality(np.array(stored["sizes"]), [scores], constants.tolerance, constants.order)
    low, high = quality.range
    known = one.data["corpus"]["tokens"]
    sizes = np.arange(low, high + 1)
    tokens = np.exp(np.interp(np.log(sizes), np.log([int(size) for size in known]),
                              np.log(list(known.values()))))  # fmt: skip
    best = int(sizes[np.argmin(cost(tokens, sizes, MODELS["base"]))])
    return rounded(best, low, high)


def chosen(one: Results, constants: Constants) -> int | None:
    """With the default constants, what `volt learn` chose."""
    return one.choice("auto") if constants == DEFAULT else choice(one, constants)


def halves(results: Sequence[Results], figure: str) -> tuple[list[Results], list[Results]]:
    """The experiments that fix the constants, and those that judge them."""
    some = [one for one in results if one.question == "size" and one.judged]
    some = [one for one in some if one.translates or figure != "bleu"]
    some.sort(key=lambda one: one.name)
    return some[::2], some[1::2]


def regrets(some: Sequence[Results], sizes: Sequence[int | None], figure: str) -> list[float]:
    """What the sizes lose, where that can be read off."""
    found = [one.regret(size, figure) for one, size in zip(some, sizes, strict=True)]
    return [value for value in found if value is not None]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95% of the means of bootstrap samples of the experiments."""
    random = np.random.default_rng(0)
    means = random.choice(np.asarray(values), (SAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def fixed(first: Sequence[Results], figure: str) -> tuple[Constants, dict[Constants, float]]:
    """The constants with the lowest mean regret on the first half, the default on a tie; and the
    mean regret of all."""
    means = {
        one: mean(regrets(first, [chosen(each, one) for each in first], figure)) for one in ALL
    }
    return min(ALL, key=lambda one: (means[one], one != DEFAULT, one)), means
