"""Pieces of which every word uses as few as possible: the candidates that transport selects from.

Of equally few tokens those with the highest sum of unigram log-probabilities are used. Scores make
the encoding `unigram` do this: each token pays an offset that is larger than the log-probabilities
of a word can differ, so the fewest tokens win. Scores are multiples of 1/16, which 32-bit numbers
add without error up to 2^20.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import SettingsError
from volt.proposing.base import Frequencies, Ids, Mask, Rank
from volt.proposing.pieces import UNSEEN, LearnedPieces

SCORE_STEPS = 16
LONGEST_CUT = 64
"""Words of more tokens than this may be cut into one more, for the sake of their probability."""
SIZES, FEW_SIZES, MANY_TYPES = 24, 8, 300_000
"""At how many sizes the curve is measured; fewer where there are many different words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FewestPieces(LearnedPieces):
    """Candidates in the order in which rising `mu` gives them up, the last first."""

    order: Ids = field(repr=False)
    scored: dict[bytes, tuple[Frequencies, NDArray[np.float64]]] = field(
        default_factory=dict, repr=False
    )
    """What was found out for each set."""

    @property
    def measured_sizes(self) -> int:
        return SIZES if len(self.words) <= MANY_TYPES else FEW_SIZES

    def ranking(self, by: Rank | None = None) -> Ids:
        if by is not None:
            raise SettingsError(
                "`rank` is for `select='merges'`: transport has an order of its own"
            )
        return self.order

    def only(self, used: Mask) -> FewestPieces:
        """All of them: what no word uses together with the others may be of use without them."""
        return self

    def cut_scored(self, inside: Mask) -> tuple[Frequencies, NDArray[np.float64]]:
        """The fewest tokens, then of equally few the most probable."""
        key = np.packbits(inside).tobytes()
        if key not in self.scored:
            scores = self._scores(inside, self._count(inside, -np.ones(len(self))))
            self.scored[key] = self._count(inside, scores), scores
        return self.scored[key]

    def _scores(self, inside: Mask, frequency: Frequencies) -> NDArray[np.float64]:
        share = np.maximum(frequency, UNSEEN) / max(1, int(frequency.sum()))
        scores: NDArray[np.float64] = np.rint(np.log(share) * SCORE_STEPS) / SCORE_STEPS
        return scores - self._offset(scores[inside], LONGEST_CUT)

    @staticmethod
    def _offset(scores: NDArray[np.float64], tokens: int) -> float:
        """More than the sums of that many scores can differ."""
        return float(tokens * (scores.max() - scores.min()) + 1) if len(scores) else 0.0

    def final_scores(self, inside: Mask) -> NDArray[np.float64]:
        """With the smallest offset that the words of the corpus need: sums stay small."""
        scores = self.cut_scored(inside)[1]
        _, offsets = self._cut_with(inside, scores, self.words, self.threads, False)
        most = min(LONGEST_CUT, int(np.diff(offsets.astype(np.int64)).max(initial=1)))
        apart = scores[inside]
        return scores + (self._offset(apart, LONGEST_CUT) - self._offset(apart, most))
