"""Frequent types, after Gowda & May 2020."""

from __future__ import annotations

import numpy as np

from volt.choosing.criteria.base import Criterion, Evidence, Score

ENOUGH = 0.95


def score(evidence: Evidence) -> Score:
    """Share of the merged types seen at least 100 times; the largest size with 95% is best."""
    curve = evidence.curve
    merged = curve.size - evidence.candidates.curve.size[0]
    share = np.where(merged > 0, curve.frequent / np.maximum(merged, 1), np.nan)
    enough = np.flatnonzero(share >= ENOUGH)
    return Score("frequency", curve.size, share, int(enough[-1]) if len(enough) else None)


CRITERION = Criterion(
    "frequency",
    "largest size with 95% of the merged types seen 100 times or more",
    True,
    score,
    measures="Whether tokens are seen often enough to be learned; proposed for translation with "
    "little text (Gowda & May 2020). In volt's study such sizes are too small.",
)
