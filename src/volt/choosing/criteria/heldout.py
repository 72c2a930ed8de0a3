"""Held-out quality alone."""

from __future__ import annotations

import numpy as np

from volt.choosing.criteria.base import Criterion, Evidence, Score, lowest


def score(evidence: Evidence) -> Score:
    """Held-out bits per byte of a Kneser-Ney model over tokens; the lowest is best."""
    quality = evidence.quality
    if quality is None:
        sizes = evidence.curve.size[:1]
        return Score("heldout", sizes, np.full(len(sizes), np.nan), None)
    if evidence.rows is None:
        return Score("heldout", quality.sizes, quality.scores, lowest(quality.scores))
    values = quality.at(evidence.curve.size)
    return Score("heldout", evidence.curve.size, values, lowest(values))


CRITERION = Criterion(
    "heldout",
    "fewest bits per byte of held-out text",
    False,
    score,
    needs_quality=True,
    measures="How well a small model of tokens predicts unseen text; rules out sizes that cost "
    "quality.",
)
