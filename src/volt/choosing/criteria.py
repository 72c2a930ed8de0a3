"""The criteria: one function each, from the exact curve to a score per size and the best size.

All but `muv` read the curve of BPE at every size; `muv` reads entropies at the sizes of S. None
trains anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import SettingsError
from volt.proposing.merges import Candidates, Curve

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MODEL_WIDTH = 512
FREQUENT_SHARE = 0.95
RENYI_ORDER = 2.5
ZIPF_SIZES = 64
"""`zipf` is fitted at this many sizes, evenly spaced on a logarithmic axis."""


@dataclass(frozen=True, eq=False)
class Score:
    """A criterion's value at each size, and where it is best: None if no size qualifies."""

    criterion: str
    sizes: Integers
    values: Floats
    best: int | None

    @property
    def size(self) -> int | None:
        return None if self.best is None else int(self.sizes[self.best])

    @property
    def value(self) -> float | None:
        return None if self.best is None else float(self.values[self.best])


def muv(sizes: Integers, entropies: Floats) -> Score:
    """Marginal utility of vocabularization (Eq. 1), M_t = -(H_t - H_t-1) / (S_t - S_t-1).

    The first size of S has none before it: it has no MUV and cannot be chosen. Ties: the smaller.
    """
    if len(sizes) < 2:
        raise SettingsError("muv compares each size with the one before: give at least two sizes")
    values = np.concatenate([[np.nan], -np.diff(entropies) / np.diff(sizes)])
    return Score("muv", sizes, values, int(np.nanargmax(values)))


def mdl(curve: Curve, model_width: int = MODEL_WIDTH, unit: int = 1) -> Score:
    """Bits of the corpus under a unigram code, and a BIC price for the d parameters of a token:
    n H2 + d/2 log2(n) V. The smallest is best. Counts are whole numbers of 1/unit."""
    tokens = curve.tokens / unit
    code = tokens * curve.entropy / np.log(2)
    price = 0.5 * model_width * np.log2(np.maximum(tokens, 1)) * curve.size
    return _best("mdl", curve, code + price, np.argmin)


def frequency(curve: Curve) -> Score:
    """Share of the types seen at least 100 times; the largest size with 95% (Gowda & May 2020)."""
    share = curve.frequent / curve.size
    enough = np.flatnonzero(share >= FREQUENT_SHARE)
    best = int(enough[-1]) if len(enough) else None
    return Score("frequency", curve.size, share, best)


def renyi(curve: Curve) -> Score:
    """Rényi efficiency of order 2.5 (Zouhar et al. 2023), ln(sum p^2.5) / (1 - 2.5) / ln V."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.log(curve.f_power) - RENYI_ORDER * np.log(curve.tokens)
        values = power / (1 - RENYI_ORDER) / np.log(curve.size)
    return _best("renyi", curve, np.where(curve.size > 1, values, np.nan), np.nanargmax)


def zipf(candidates: Candidates, rows: Integers | None = None) -> Score:
    """R^2 of the line of ln frequency on ln rank, over the types in use; the largest is best.

    It is fitted at these rows of the curve; by default at ZIPF_SIZES sizes.
    """
    if rows is None:
        rows = candidates.curve.spread(ZIPF_SIZES)
    sizes, values = candidates.zipf_fit(rows)
    best = None if np.isnan(values).all() else int(np.nanargmax(values))
    return Score("zipf", sizes, values, best)


def knee(curve: Curve) -> Score:
    """Distance of (ln V, nats per character) from the chord between the ends of the curve, both
    axes scaled to 0..1; the largest is best."""
    entropy = curve.entropy_occurrences
    x = _scaled(np.log(np.maximum(curve.size, 1)))
    y = _scaled(entropy)
    chord = y[0] + (y[-1] - y[0]) * x
    return _best("knee", curve, np.abs(y - chord) / np.hypot(1.0, y[-1] - y[0]), np.argmax)


def _scaled(values: Floats) -> Floats:
    span = values.max() - values.min()
    scaled: Floats = (values - values.min()) / (span if span > 0 else 1.0)
    return scaled


def _best(name: str, curve: Curve, values: Floats, choose: Callable[[Floats], Any]) -> Score:
    usable = not np.isnan(values).all()
    return Score(name, curve.size, values, int(choose(values)) if usable else None)


MEANING = {
    "muv": "most entropy saved per token added, over the sizes S (the paper)",
    "mdl": "shortest description of the corpus and of the embeddings",
    "frequency": "largest size with 95% of the types seen 100 times or more",
    "renyi": "most even use of the vocabulary (Rényi efficiency, order 2.5)",
    "zipf": "rank and frequency closest to a power law",
    "knee": "where nats per character stop falling fast",
}
CRITERIA = tuple(MEANING)


def curve_scores(
    candidates: Candidates,
    model_width: int = MODEL_WIDTH,
    *,
    rows: Integers | None = None,
    zipf_rows: Integers | None = None,
) -> dict[str, Score]:
    """Every criterion that reads the curve, at every size or only at some rows of the curve."""
    curve = candidates.curve if rows is None else candidates.curve_at(rows)
    scores = [
        mdl(curve, model_width, candidates.unit),
        frequency(curve),
        renyi(curve),
        zipf(candidates, zipf_rows),
        knee(curve),
    ]
    return {score.criterion: score for score in scores}
