"""How close ranks and frequencies are to Zipf's law."""

from __future__ import annotations

from volt.choosing.criteria.base import Criterion, Evidence, Score, highest

SIZES = 64
"""The line is fitted at this many sizes, evenly spaced on a logarithmic axis, unless told where."""


def score(evidence: Evidence) -> Score:
    """R^2 of the line of ln frequency on ln rank, over the types in use; the highest is best."""
    rows = evidence.rows
    if rows is None:
        rows = evidence.candidates.curve.spread(SIZES)
    values = evidence.candidates.zipf_fit(rows)
    return Score("zipf", evidence.candidates.curve.size[rows], values, highest(values))


CRITERION = Criterion(
    "zipf",
    "rank and frequency closest to a power law",
    True,
    score,
    measures="How closely frequencies follow Zipf's law; compares tokenizers of natural text.",
)
