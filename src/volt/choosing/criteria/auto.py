"""The default: the cheapest size that costs no measurable quality (METHOD 6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from volt.choosing.cost import cost, every_size
from volt.choosing.criteria.base import Criterion, Evidence, Score

ROUND, ROUND_SMALL, SMALL = 64, 8, 4096
"""Sizes are multiples of 64 rows, below 4,096 rows of 8."""


def score(evidence: Evidence) -> Score:
    """C(V) = tokens(V) * (body + V * width); the lowest within the range of the quality curve,
    rounded, is best."""
    found, unit = evidence.candidates, evidence.candidates.unit
    sizes, tokens = every_size(found.curve)
    if evidence.rows is not None:
        sizes, tokens = evidence.curve.size, evidence.curve.tokens.astype(np.float64)
    values = cost(tokens / unit, sizes, evidence.model)
    quality = evidence.quality
    if quality is None:
        return Score("auto", sizes, values, None)
    low, high = quality.range
    if evidence.rows is None:  # a split may have pieces that the whole text does not have
        low, high = min(low, int(sizes[-1])), max(high, int(sizes[0]))
    inside = np.flatnonzero((sizes >= low) & (sizes <= high))
    if not len(inside):
        return Score("auto", sizes, values, None)
    best = int(inside[np.argmin(values[inside])])
    if evidence.rows is None:
        size = rounded(int(sizes[best]), int(sizes[inside[0]]), int(sizes[inside[-1]]),
                       evidence.multiple_of)  # fmt: skip
        best = size - int(sizes[0])
    return Score("auto", sizes, values, best)


def cost_alone(score: Score) -> Score:
    """The lowest cost of all, where quality could not be measured."""
    return replace(score, best=int(np.argmin(score.values)))


def rounded(size: int, low: int, high: int, multiple_of: int | None = None) -> int:
    """The multiple nearest to the size that lies inside the range, ties down; if there is none, the
    size itself."""
    step = multiple_of or (ROUND if size >= SMALL else ROUND_SMALL)
    below = size // step * step
    inside = [one for one in (below, below + step) if low <= one <= high]
    return min(inside, key=lambda one: (abs(one - size), one), default=size)


CRITERION = Criterion(
    "auto",
    "the cheapest size that costs no measurable quality",
    False,
    score,
    needs_quality=True,
    measures="The work of training once over the text, among sizes of nearly the best held-out "
    "quality; the default.",
)
