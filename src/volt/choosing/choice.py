"""Scores and error bars -> Choice: the size a criterion picks, how sure, and when to doubt it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from volt.choosing.criteria import MEANING, Score

COVERED = 0.95
"""Share of the bootstrap draws whose choices the interval holds."""


@dataclass(frozen=True)
class Choice:
    """One row of the table that every run prints."""

    criterion: str
    size: int | None
    """None: no size qualifies, `doubts` says why."""
    interval: tuple[int, int] | None
    """Where 95% of the draws' choices lie; None without draws, or if a draw chose nothing."""
    value: float | None
    """The criterion's value at the size: the figure that decided."""
    meaning: str
    doubts: tuple[str, ...]
    """Why the size is not to be taken for the data's choice; empty if nothing speaks against it."""


def choose(score: Score, draws: Sequence[Score] = ()) -> Choice:
    """The best size by one criterion, with its interval over the draws and its words of doubt."""
    interval = None
    picks = [draw.size for draw in draws]
    if picks and None not in picks:
        tail = (1 - COVERED) / 2
        ends = np.quantile(np.array(picks, np.int64), [tail, 1 - tail], method="inverted_cdf")
        interval = int(ends[0]), int(ends[1])
    return Choice(
        criterion=score.criterion,
        size=score.size,
        interval=interval,
        value=score.value,
        meaning=MEANING[score.criterion],
        doubts=tuple(_doubts(score, interval, picks)),
    )


def _doubts(
    score: Score, interval: tuple[int, int] | None, picks: Sequence[int | None]
) -> list[str]:
    if score.best is None:
        return ["no size meets it"]
    doubts: list[str] = []
    scored = np.flatnonzero(~np.isnan(score.values))
    first, last = int(scored[0]), int(scored[-1])
    low, high = int(score.sizes[0]), int(score.sizes[-1])
    tried = "the sizes tried" if score.criterion != "muv" else "S"
    if first == last:
        doubts.append("only one size could be scored, so there was nothing to choose from")
    elif score.best == first:
        best = "best size"
        if score.criterion == "muv":
            best = f"best step ({low:,} to {score.size:,})"
        doubts.append(f"the {best} is the first of {tried}: where it starts decided, not the data")
    elif score.best == last:
        doubts.append(
            f"the best size is the last of {tried} ({high:,}): where it ends decided, not the data"
        )
    if interval and interval[1] - interval[0] > (high - low) / 2:
        doubts.append(
            f"resampled counts choose anything from {interval[0]:,} to {interval[1]:,}, more than "
            f"half of {tried}"
        )
    if interval and score.size is not None and not interval[0] <= score.size <= interval[1]:
        instead = " to ".join(f"{size:,}" for size in sorted(set(interval)))
        doubts.append(f"resampled counts, which lack rare words, choose {instead} instead")
    if None in picks:
        doubts.append(f"in {sum(p is None for p in picks)} of {len(picks)} draws no size meets it")
    return doubts
