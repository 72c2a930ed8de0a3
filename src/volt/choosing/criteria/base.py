"""What a criterion is: a value per size, and which of them is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from volt.choosing.cost import DEFAULT_MODEL, MODELS, Model
from volt.choosing.entropy import Length
from volt.choosing.paper_sizes import SizeStep
from volt.choosing.quality import Quality
from volt.proposing.base import Candidates, Floats, Ids
from volt.proposing.curve import Curve


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a criterion may look at."""

    candidates: Candidates
    steps: Sequence[SizeStep] = ()
    """The sizes of S, with the entropies of the paper's transport or, on a split, of a push-down;
    empty where only the curve is compared."""
    rows: Ids | None = None
    """Rows of the curve to score; None: all of them."""
    length: Length = "types"
    quality: Quality | None = None
    """None where nothing was held out."""
    model: Model = MODELS[DEFAULT_MODEL]
    multiple_of: int | None = None

    @cached_property
    def curve(self) -> Curve:
        if self.rows is None:
            return self.candidates.curve
        return self.candidates.curve_at(self.rows)


@dataclass(frozen=True, eq=False)
class Score:
    """A criterion's value at each size, and where it is best: None if no size qualifies."""

    criterion: str
    sizes: Ids
    """Rows of the embedding table."""
    values: Floats
    best: int | None
    stepwise: bool = False
    """Does a value belong to the step from the size before it? Then the first size has none."""
    tried: Ids | None = None
    """What was asked for at each size, if its rows are more: S counts no fixed rows and no tokens
    that others are made from."""

    @property
    def size(self) -> int | None:
        return None if self.best is None else int(self.sizes[self.best])

    @property
    def value(self) -> float | None:
        return None if self.best is None else float(self.values[self.best])


@dataclass(frozen=True)
class Criterion:
    """One way to choose a size."""

    name: str
    meaning: str
    """What the chosen size is, in half a sentence."""
    higher_is_better: bool
    score: Callable[[Evidence], Score]
    select: Callable[[Evidence, Score], Ids] | None = None
    """The candidates of the chosen size; None: the best ones that fill it."""
    needs_quality: bool = False
    """Does it read the quality curve?"""
    needs_steps: bool = False
    """Is it asked only where the sizes of S were solved?"""
    measures: str = ""
    """What it measures, and when people use it: one sentence."""


def highest(values: Floats) -> int | None:
    """The first of the highest values; None if there is none."""
    return None if np.isnan(values).all() else int(np.nanargmax(values))


def lowest(values: Floats) -> int | None:
    return None if np.isnan(values).all() else int(np.nanargmin(values))
