"""Marginal utility of vocabularization: what the paper chooses by."""

from __future__ import annotations

import numpy as np

from volt.base.errors import SettingsError
from volt.choosing.criteria.base import Criterion, Evidence, Score, highest
from volt.proposing.base import Ids


def score(evidence: Evidence) -> Score:
    """M_t = -(H_t - H_t-1) / (S_t - S_t-1), Eq. 1; the highest is best, ties: the smaller size.

    H comes from the transport at the sizes of S or, without it, from the curve of BPE (MUV-Search).
    The first size has none before it, so it has no MUV and cannot be chosen.
    """
    steps, tried = evidence.steps, None
    if steps:
        tried = np.array([step.s for step in steps])
        sizes = np.array([step.size for step in steps])
        values = np.array([np.nan if step.muv is None else step.muv for step in steps])
    else:
        sizes = evidence.curve.size
        if len(sizes) < 2:
            raise SettingsError(
                "muv compares each size with the one before: give at least two sizes"
            )
        values = evidence.curve.muv(evidence.length)
    return Score("muv", sizes, values, highest(values), stepwise=True, tried=tried)


def select(evidence: Evidence, score: Score) -> Ids:
    """The tokens that transport kept at the chosen size."""
    assert score.best is not None
    return evidence.steps[score.best].kept


CRITERION = Criterion(
    "muv",
    "most entropy saved per token added, over the sizes S (the paper)",
    True,
    score,
    select,
    needs_steps=True,
    measures="Entropy saved per token added (Eq. 1); what the VOLT paper chooses by.",
)
