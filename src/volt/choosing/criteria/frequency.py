"""Frequent types, after Gowda & May 2020."""

from __future__ import annotations

import numpy as np

from volt.choosing.criteria.base import Criterion, Evidence, Score

ENOUGH = 0.95


def score(evidence: Evidence) -> Score:
    """Share of the types seen at least 100 times; the largest size with 95% is best."""
    curve = evidence.curve
    share = curve.frequent / curve.learned
    enough = np.flatnonzero(share >= ENOUGH)
    return Score("frequency", curve.size, share, int(enough[-1]) if len(enough) else None)


CRITERION = Criterion(
    "frequency", "largest size with 95% of the types seen 100 times or more", True, score
)
