"""The knee of the entropy curve."""

from __future__ import annotations

import numpy as np

from volt.choosing.criteria.base import Criterion, Evidence, Score, highest
from volt.proposing.base import Floats


def score(evidence: Evidence) -> Score:
    """Distance of (ln V, nats per character) from the chord between the ends of the curve, both
    axes scaled to 0..1; the highest is best."""
    curve = evidence.curve
    x = _scaled(np.log(np.maximum(curve.learned, 1)))
    y = _scaled(curve.entropy_occurrences)
    chord = y[0] + (y[-1] - y[0]) * x
    values = np.abs(y - chord) / np.hypot(1.0, y[-1] - y[0])
    return Score("knee", curve.size, values, highest(values))


def _scaled(values: Floats) -> Floats:
    span = values.max() - values.min()
    scaled: Floats = (values - values.min()) / (span if span > 0 else 1.0)
    return scaled


CRITERION = Criterion(
    "knee",
    "where nats per character stop falling fast",
    True,
    score,
    measures="The bend of the entropy curve; a rule of thumb where nothing else is known.",
)
