"""Weighted sums of word counts, which remember their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import InputError, SettingsError
from volt.counting.counts import CountTotals, Part, WordCounts, common_unit
from volt.counting.excerpts import Excerpt

SHOWN_INPUTS = 40
"""Only the first inputs have an excerpt."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """Counts, and how often each of their words is to be counted."""

    counts: WordCounts
    weight: Fraction
    language: str | None = None
    share: float = 1.0

    @property
    def name(self) -> str:
        """The language, or the inputs."""
        names = [name for name, _ in self.counts.lines_of] or ["word counts"]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return self.language or f"{names[0]}{more}"


def combine(weighted: Sequence[Weighted], *, min_count: int = 1, threads: int = 1) -> WordCounts:
    """The words of all parts, those of each as often as it weighs; exact."""
    rules = {one.counts.rule for one in weighted}
    if len(rules) > 1:
        raise SettingsError("the texts were counted by different rules: count them by the same one")
    (rule,) = rules
    unit = common_unit(one.weight / one.counts.unit for one in weighted)
    counter = rule.counter(threads)
    totals = CountTotals()
    parts: list[Part] = []
    for one in weighted:
        words, weight = one.counts, int(one.weight * unit / one.counts.unit)
        parts.append(Part(words, weight, one.language, one.share))
        try:
            counter.add_words(words.text, words.offsets, words.counts, weight)
        except OverflowError:
            raise InputError(f"{one.name}: the counts do not fit into 63 bits") from None
        totals += replace(words.totals.times(weight), words=0)
    text, offsets, numbers = counter.finish(min_count * unit if min_count > 1 else 1)
    kept = int(numbers.sum())
    totals += CountTotals(words=kept, pruned_words=counter.totals["words"] - kept)
    totals.check()
    lines = [one.counts.weighted_lines for one in weighted]
    excerpts = [excerpt for one in weighted for excerpt in one.counts.excerpts]
    counts = WordCounts(
        rule, text, offsets, numbers, totals, unit,
        [line for one in weighted for line in one.counts.lines_of],
        [one if place < SHOWN_INPUTS else Excerpt() for place, one in enumerate(excerpts)],
        None if None in lines
        else sum((one.weight * (one.counts.weighted_lines or 0) for one in weighted), Fraction(0)),
        told=[note for one in weighted for note in one.counts.told],
    )  # fmt: skip
    if min_count > 1:
        parts = [replace(part, counts=_listed(part.counts, counts)) for part in parts]
    return replace(counts, parts=parts)


def _listed(part: WordCounts, whole: WordCounts) -> WordCounts:
    """The words of the part that the whole lists."""
    found = _core.find_words(whole.text, whole.offsets, part.text, part.offsets) >= 0
    return only_words(part, np.where(found, part.counts, np.uint64(0)))


def some_texts(
    text: NDArray[np.uint8], offsets: NDArray[np.uint64], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Some of the texts that are stored one after the other."""
    lengths = np.diff(offsets)
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(lengths[kept], dtype=np.uint64)])
    return text[: int(offsets[-1])][np.repeat(kept, lengths.astype(np.int64))], ends


def only_words(counts: WordCounts, numbers: NDArray[np.uint64]) -> WordCounts:
    """Other numbers for the same words, without the words that have none."""
    kept = numbers > 0
    text, offsets = some_texts(counts.text, counts.offsets, kept)
    totals = replace(counts.totals, words=int(numbers.sum()))
    return replace(
        counts, text=text, offsets=offsets, counts=numbers[kept], totals=totals, parts=[]
    )
