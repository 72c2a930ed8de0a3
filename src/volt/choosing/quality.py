"""The quality curve: what a language model gains or loses with the size of its vocabulary.

At each size of a geometric grid the words are cut, an interpolated Kneser-Ney model over the tokens
inside words is fitted to nine tenths of the counts, and the other tenth is scored in bits per byte
(METHOD 6). Small vocabularies lose context, large ones lose evidence, so the curve has a minimum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from volt import _core
from volt.base.workers import side_by_side
from volt.choosing.splits import MANY_TYPES, HeldOut, Split
from volt.proposing.base import Candidates, Floats, Ids, marks_word_ends
from volt.proposing.curve import data_frame
from volt.proposing.cuts import Cut, text_bytes

GRID_SIZES, FEW_GRID_SIZES = 24, 16
ORDER = 3
TOLERANCE = 0.005


@dataclass(frozen=True, eq=False)
class Quality:
    """Held-out bits per byte at some sizes; with several languages, relative to each one's best."""

    sizes: Ids
    """Rows of the embedding table."""
    split_scores: list[Floats] = field(repr=False)
    """One curve per split; NaN at sizes that the split's candidates do not reach."""
    tolerance: float = TOLERANCE
    order: int = ORDER
    languages: dict[str, Floats] = field(default_factory=dict, repr=False)
    """The mean curve of each language, in bits per byte."""

    def __repr__(self) -> str:
        low, high = self.range
        return f"<Quality: best at {self.best:,} tokens, range {low:,} to {high:,}>"

    @cached_property
    def scores(self) -> Floats:
        """The mean over the splits that reach a size; NaN where none does."""
        return mean_reached(self.split_scores)

    @cached_property
    def best(self) -> int:
        """The size with the lowest score."""
        return int(self.sizes[np.nanargmin(self.scores)])

    @property
    def lowest(self) -> float:
        return float(np.nanmin(self.scores))

    @cached_property
    def range(self) -> tuple[int, int]:
        """The connected stretch around the best size whose score is within the tolerance."""
        reached = ~np.isnan(self.scores)
        sizes, scores = self.sizes[reached], self.scores[reached]
        best = int(np.argmin(scores))
        limit = float(scores[best]) * (1 + self.tolerance)
        return (
            _crossing(sizes, scores, best, -1, limit),
            _crossing(sizes, scores, best, 1, limit),
        )

    @property
    def open_upward(self) -> bool:
        """Does the range end because there are no more merges, not because quality falls?"""
        return self.range[1] == int(self.sizes[~np.isnan(self.scores)][-1])

    def at(self, sizes: Ids) -> Floats:
        """The mean score at other sizes: linear in the logarithm of the size; NaN outside."""
        return interpolated(self.sizes, self.scores, sizes)

    def loss_of(self, language: str, size: int) -> float:
        """What a size costs a language, relative to that language's own best size."""
        scores = self.languages[language]
        here = interpolated(self.sizes, scores, np.array([size]))[0]
        return float(here / np.nanmin(scores) - 1)

    def summary(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "sizes": self.sizes.tolist(),
            "scores": plain(self.scores),
            "splits": [plain(scores) for scores in self.split_scores],
            "best": self.best,
            "range": list(self.range),
            "open_upward": self.open_upward,
            "tolerance": self.tolerance,
            "order": self.order,
            "languages": {
                code: {"scores": plain(scores), "best": int(self.sizes[np.nanargmin(scores)])}
                for code, scores in self.languages.items()
            },
        }

    def to_frame(self) -> Any:
        """A row per size and a column per split, as a pandas DataFrame, if pandas is installed."""
        columns = {f"split_{i + 1}": one for i, one in enumerate(self.split_scores)}
        table = {"size": self.sizes, "score": self.scores, **columns, **self.languages}
        return data_frame(table)


def grid(first: int, last: int, types: int) -> Ids:
    """The sizes at which models are fitted, evenly spaced on a logarithmic axis."""
    number = GRID_SIZES if types <= MANY_TYPES else FEW_GRID_SIZES
    spaced = np.rint(np.geomspace(max(1, first), max(1, last), number)).astype(np.int64)
    return np.unique(np.clip(spaced, first, last))


@dataclass(frozen=True, eq=False)
class QualityProblem:
    """A split, the candidates learned from it, and the sizes at which to score them."""

    split: Split
    candidates: Candidates
    sizes: Ids
    order: int = ORDER
    byte_fallback: bool = False
    """Is an unknown character spelled in byte tokens?"""
    threads: int = 1


@dataclass(frozen=True, eq=False)
class SplitQuality:
    """The curve of one split: of everything, and of each language."""

    sizes: Ids
    scores: Floats
    languages: dict[str, Floats]

    def at(self, sizes: Ids) -> SplitQuality:
        """The curve at other sizes."""
        if np.array_equal(sizes, self.sizes):
            return self
        languages = {
            code: interpolated(self.sizes, scores, sizes) for code, scores in self.languages.items()
        }
        return SplitQuality(sizes, interpolated(self.sizes, self.scores, sizes), languages)


def score_split(problem: QualityProblem) -> SplitQuality:
    """Held-out bits per byte at each size; NaN where the candidates do not reach it."""
    by_language: dict[str, Floats] = {}
    weights: list[float] = []
    curves: list[Floats] = []
    for part in problem.split.parts:
        scores = _score_part(problem, part)
        if part.language is None:
            return SplitQuality(problem.sizes, scores, {})
        if np.isnan(scores).all():  # a language of which nothing was held out
            continue
        by_language[part.language] = scores
        weights.append(part.weight)
        curves.append(scores / np.nanmin(scores))
    if not curves:
        return SplitQuality(problem.sizes, np.full(len(problem.sizes), np.nan), {})
    mean = sum(weight * curve for weight, curve in zip(weights, curves, strict=True))
    return SplitQuality(problem.sizes, np.asarray(mean) / sum(weights), by_language)


def _score_part(problem: QualityProblem, part: HeldOut) -> Floats:
    found = problem.candidates
    scores = np.full(len(problem.sizes), np.nan)
    held_bytes = int((text_bytes(part.words).astype(np.uint64) * part.held).sum())
    if held_bytes == 0:
        return scores
    cuts = found.cuts(part.words, problem.threads, problem.byte_fallback)
    ends = not marks_word_ends(found)
    rows = problem.sizes - problem.sizes[0] if found.exact else np.arange(len(problem.sizes))

    def score(place: int) -> float:
        cut, size = cuts(int(rows[place])), int(problem.sizes[place])
        return held_out_bits(part, cut, size, problem.order, ends) / held_bytes

    reached = np.flatnonzero(rows < len(found.curve))
    scores[reached] = side_by_side(score, reached.tolist(), problem.threads)
    return scores


def held_out_bits(part: HeldOut, cut: Cut, size: int, order: int, ends: bool) -> float:
    """Bits of the held-out words under a model of the others, both cut into tokens; `ends`: is the
    end of a word predicted?"""
    nats, _ = _core.kneser_ney(*cut, part.train, part.held, size, order, ends)
    return nats / math.log(2)


def combined(found: Sequence[SplitQuality], order: int, tolerance: float) -> Quality | None:
    """The curves of all splits together, at the sizes of the first; None if nothing could be
    scored."""
    if not found:
        return None
    sizes = found[0].sizes
    found = [one.at(sizes) for one in found]
    split_scores = [one.scores for one in found]
    if np.isnan(split_scores).all():
        return None
    codes = dict.fromkeys(code for one in found for code in one.languages)
    languages = {
        code: mean_reached(one.languages[code] for one in found if code in one.languages)
        for code in codes
    }
    return Quality(sizes, split_scores, tolerance, order, languages)


def mean_reached(curves: Iterable[Floats]) -> Floats:
    """The mean over the splits that reach a size; NaN where none does.

    Splits differ in level, by the text they hold out. Where one of them ends, the mean of the
    others would jump, so from there on it goes on by the mean of their steps.
    """
    rows = [one for one in curves if not np.isnan(one).all()]
    mean = np.asarray(sum(rows)) / len(rows)
    for place in np.flatnonzero(np.isnan(mean)).tolist():
        steps = [float(one[place] - one[place - 1]) for one in rows if place > 0]
        steps = [one for one in steps if not math.isnan(one)]
        if steps:
            mean[place] = mean[place - 1] + sum(steps) / len(steps)
    return mean


def interpolated(sizes: Ids, scores: Floats, at: Ids) -> Floats:
    """Linear between the sizes that have a score, over the logarithm of the size."""
    reached = ~np.isnan(scores)
    if not reached.any():
        return np.full(len(at), np.nan)
    log = np.log(np.maximum(sizes[reached], 1))
    wanted = np.log(np.maximum(at, 1))
    return np.interp(wanted, log, scores[reached], left=np.nan, right=np.nan)


def _crossing(sizes: Ids, scores: Floats, best: int, step: int, limit: float) -> int:
    """The last size, going one way from the best, whose score is within the limit."""
    place = best
    while 0 <= place + step < len(sizes) and scores[place + step] <= limit:
        place += step
    if not 0 <= place + step < len(sizes):
        return int(sizes[place])
    inside, outside = float(scores[place]), float(scores[place + step])
    share = (limit - inside) / (outside - inside)
    log = np.log(sizes[[place, place + step]])
    size = float(np.exp(log[0] + share * (log[1] - log[0])))
    found = int(np.ceil(size)) if step < 0 else int(np.floor(size))
    low, high = sorted((int(sizes[place]), int(sizes[place + step])))
    return min(max(found, low), high)


def plain(values: Floats) -> list[float | None]:
    """For JSON, which has no NaN."""
    return [None if np.isnan(value) else float(value) for value in values]
