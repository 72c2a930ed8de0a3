"""MUV-Search and its kin: score BPE at a list of sizes, from one run, and name the winner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.choosing.choice import Verdict, judge
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria.base import MODEL_WIDTH, Evidence, Score
from volt.choosing.entropy import Length
from volt.choosing.sizes import parse_sizes
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.pipeline import candidates
from volt.proposing.base import Candidates
from volt.proposing.curve import Curve

if TYPE_CHECKING:
    from volt.trial.results import TrialResults

DEFAULT_SIZES = "1000:10000:1000,20000,30000"


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A row per size and the winner."""

    candidates: Candidates
    score: Score
    """The criterion's value at each size."""
    choice: Verdict
    left_out: list[int]
    """Sizes that were asked for and that the text does not reach."""

    def rows(self) -> list[dict[str, Any]]:
        curve = self.candidates.curve
        found = curve.rows(curve.at_size(size) for size in self.score.sizes.tolist())
        for row, value in zip(found, self.score.values.tolist(), strict=True):
            del row["muv_types"], row["muv_occurrences"]
            row[self.score.criterion] = value
        return found


def search(
    inputs: Candidates | WordCounts | Text | Iterable[Text],
    *,
    by: str = "muv",
    sizes: str | Sequence[int] = DEFAULT_SIZES,
    length: Length = "types",
    model_width: int = MODEL_WIDTH,
    **candidate_options: Any,
) -> SearchResult:
    """Score BPE at some sizes, in rows of the embedding table, by one criterion."""
    criterion = CRITERIA[by]
    asked = parse_sizes(sizes)
    candidate_options.setdefault("merges", max(asked, default=0))
    found: Any = inputs
    if not hasattr(inputs, "curve_at"):  # text or word counts
        found = candidates(inputs, **candidate_options)
    if not found.exact:
        raise SettingsError(
            "search reads the curve of merges, which candidates without parents do not have; "
            "volt.learn scores these at the sizes that it measures"
        )
    curve: Curve = found.curve
    reached = [size for size in asked if curve.size[0] <= size <= curve.size[-1]]
    if len(reached) < 2:
        first, last = curve.size[0], curve.size[-1]
        given = f"{first:,} to {last:,}"
        if last - first == candidate_options.get("merges"):
            # All merges that were to be made are made: how many more there are is not known.
            given = f"from {first:,} on"
        raise InputError(f"the text gives sizes {given}; name at least two of these in sizes")
    rows = np.array(reached) - curve.size[0]
    score = criterion.score(Evidence(found, rows=rows, length=length, model_width=model_width))
    left_out = [size for size in asked if size not in reached]
    return SearchResult(found, score, judge(score), left_out)


@dataclass(frozen=True, eq=False)
class BleuSearchResult:
    """BPE-Search: the trials, the size with the highest BLEU, and what they cost."""

    results: TrialResults = field(repr=False)
    size: int
    bleu: float
    seconds: float
    left_out: list[int]
    """Sizes that were asked for and that the text does not reach."""

    def plain(self) -> dict[str, Any]:
        return {**self.results.plain(), "winner": self.size, "seconds": self.seconds}


def bleu_search(
    source: str,
    target: str,
    *,
    output: str | Path,
    sizes: str | Sequence[int] = DEFAULT_SIZES,
    **options: Any,
) -> BleuSearchResult:
    """Train a model for BPE at every size and take the one that translates best. Ties: the smaller.

    `options` are those of `volt.trial.trial`; its results in `output` get the winner and the cost.
    """
    from volt.trial import trial
    from volt.trial.results import write_json
    from volt.trial.run import check_output

    check_output(output, [source, target, *options.get("valid", ()), *options.get("test", ())])
    asked = parse_sizes(sizes)
    curve = candidates([source, target], merges=max(asked), threads=options.get("threads")).curve
    reached = [size for size in asked if curve.size[0] <= size <= curve.size[-1]]
    if not reached:
        raise InputError(
            f"the text gives sizes {curve.size[0]:,} to {curve.size[-1]:,}; name some of these"
        )
    vocabularies = [f"bpe:{size}" for size in reached]
    results = trial(source, target, vocabularies=vocabularies, output=output, **options)
    rows = results.rows()
    best = max(range(len(rows)), key=lambda number: rows[number]["bleu"])
    found = BleuSearchResult(
        results, reached[best], rows[best]["bleu"], sum(row["seconds"] for row in rows),
        [size for size in asked if size not in reached],
    )  # fmt: skip
    write_json(Path(output) / "results.json", found.plain())
    return found
