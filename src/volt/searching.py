"""MUV-Search and its kin: score BPE at a list of sizes, from one run, and name the winner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.options import accepts
from volt.base.progress import Progress
from volt.choosing.choice import Verdict, judge, measure_quality
from volt.choosing.cost import parse_model
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria.base import Evidence, Score
from volt.choosing.quality import Quality
from volt.choosing.size_problem import SizeProblem, proposed
from volt.choosing.sizes import parse_sizes
from volt.counting.count import counted, some_words
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.proposing.base import Candidates
from volt.proposing.curve import Curve
from volt.settings import (
    GONE,
    AlphabetSettings,
    CountSettings,
    LearnSettings,
    QualitySettings,
    SearchSettings,
)

DEFAULT_SIZES = "1000:10000:1000,20000,30000"


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A row per size and the winner.

    >>> import volt
    >>> found = volt.search([["low lower lowest flow blow"] * 30], by="mdl", sizes=[272, 278])
    >>> found.score.criterion
    'mdl'
    """

    candidates: Candidates
    score: Score
    """The criterion's value at each size."""
    choice: Verdict
    left_out: list[int]
    """Sizes that were asked for and that the text does not reach."""
    quality: Quality | None = None
    """The quality curve, for criteria that need it."""

    def __repr__(self) -> str:
        size = "no size" if self.choice.size is None else f"{self.choice.size:,} tokens"
        return f"<SearchResult: {self.choice.criterion}: {size}>"

    def rows(self) -> list[dict[str, Any]]:
        curve = self.candidates.curve
        found = curve.rows(curve.at_size(size) for size in self.score.sizes.tolist())
        for row, value in zip(found, self.score.values.tolist(), strict=True):
            del row["muv_types"], row["muv_occurrences"]
            if self.quality is not None:
                row["heldout"] = float(self.quality.at(np.array([row["size"]]))[0])
            row[self.score.criterion] = value
        return found


@accepts(CountSettings, AlphabetSettings, SearchSettings, gone=GONE)
def search(
    inputs: Candidates | WordCounts | Text | Iterable[Text],
    *,
    merges: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> SearchResult:
    """Score BPE at some sizes, in rows of the embedding table, by one criterion.

    Without `sizes`, `auto` and `heldout` use the sizes at which quality is measured. Candidates
    that are given instead of text have no words to hold out, so these two need text or counts.

    >>> import volt
    >>> text = [["low lower lowest flow blow"] * 30]
    >>> volt.search(text, by="mdl", sizes=[272, 278]).score.sizes.tolist()
    [272, 278]
    """
    compared = SearchSettings.take(options)
    criterion, model = CRITERIA[compared.by], parse_model(compared.for_model)
    threads, progress = thread_count(threads), progress or Progress()
    sizes = compared.sizes
    if sizes is None and not criterion.needs_quality:
        sizes = DEFAULT_SIZES
    asked = [] if sizes is None else parse_sizes(sizes)
    settings = LearnSettings(
        **QualitySettings.values_in(compared), **vars(AlphabetSettings.take(options)),
        merges=merges or max(asked, default=None),
    )  # fmt: skip
    quality = None
    if hasattr(inputs, "curve_at"):
        found: Candidates = inputs  # type: ignore[assignment]
        if criterion.needs_quality:
            raise SettingsError(
                f"{compared.by} holds words out: give text or word counts, not candidates"
            )
    else:
        counts = some_words(counted(inputs, options, threads, progress, seed=settings.seed))
        found = proposed(counts, settings, threads, progress)
        if criterion.needs_quality:
            problem = SizeProblem.of(found, counts, settings, threads, progress)
            quality, _ = measure_quality(problem, model)
    if not found.exact:
        raise SettingsError(
            "search reads the curve of merges, which candidates without parents do not have; "
            "volt.learn scores these at the sizes that it measures"
        )
    if sizes is None and quality is not None:
        asked = quality.sizes[~np.isnan(quality.scores)].tolist()
    reached = _reached(asked, found.curve, settings.merges)
    rows = np.array(reached) - found.curve.size[0]
    evidence = Evidence(found, rows=rows, length=settings.length, quality=quality, model=model)
    score = criterion.score(evidence)
    left_out = [size for size in asked if size not in reached]
    return SearchResult(found, score, judge(score), left_out, quality)


def _reached(asked: list[int], curve: Curve, merges: int | None) -> list[int]:
    """The sizes that the text gives."""
    first, last = int(curve.size[0]), int(curve.size[-1])
    reached = [size for size in asked if first <= size <= last]
    if len(reached) < 2:
        # If all merges that were to be made are made, how many more there are is not known.
        given = f"from {first:,} on" if last - first == merges else f"{first:,} to {last:,}"
        raise InputError(f"the text gives sizes {given}: name at least two of these in `sizes`")
    return reached
