"""Rényi efficiency, after Zouhar et al. 2023."""

from __future__ import annotations

import numpy as np

from volt.choosing.criteria.base import Criterion, Evidence, Score, highest

ORDER = 2.5


def score(evidence: Evidence) -> Score:
    """ln(sum p^2.5) / (1 - 2.5) / ln V; the highest is best."""
    curve = evidence.curve
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.log(curve.f_power) - ORDER * np.log(curve.tokens)
        values = power / (1 - ORDER) / np.log(curve.learned)
    values = np.where(curve.learned > 1, values, np.nan)
    return Score("renyi", curve.size, values, highest(values))


CRITERION = Criterion(
    "renyi",
    "most even use of the vocabulary (Rényi efficiency, order 2.5)",
    True,
    score,
    measures="How evenly tokens are used; compares tokenizers of one size (Zouhar et al. 2023).",
)
