"""Minimum description length."""

from __future__ import annotations

import numpy as np

from volt.choosing.criteria.base import Criterion, Evidence, Score, lowest


def score(evidence: Evidence) -> Score:
    """Bits of the corpus under a unigram code, plus a BIC price for the d parameters of a token:
    n H2 + d/2 log2(n) V. The lowest is best."""
    curve = evidence.curve
    tokens = curve.tokens / evidence.candidates.unit
    code = tokens * curve.entropy / np.log(2)
    price = 0.5 * evidence.model.width * np.log2(np.maximum(tokens, 1)) * curve.learned
    return Score("mdl", curve.size, code + price, lowest(code + price))


CRITERION = Criterion(
    "mdl",
    "shortest description of the corpus and of the embeddings",
    False,
    score,
    measures="Bits to write down text and embeddings together; for the smallest model that will "
    "do.",
)
