"""Splits: random parts of the counts that every criterion is repeated on (METHOD 6).

Each occurrence of a word goes to the held-out part with probability 1/10. How many do is decided by
one hash per word, so a split depends neither on the order of the words nor on threads, and ten more
lines of text barely change it. Occurrences are drawn before weights are applied.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.counting.combine import only_words
from volt.counting.counts import WordCounts

Numbers = NDArray[np.uint64]

FEW_TYPES, MANY_TYPES = 100_000, 300_000


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Words with the occurrences a model is fitted to, and those it is tested on."""

    words: WordCounts = field(repr=False)
    train: Numbers = field(repr=False)
    held: Numbers = field(repr=False)
    language: str | None = None
    weight: float = 1.0
    """The share of this language in the mean over languages."""


@dataclass(frozen=True, eq=False)
class Split:
    """Nine tenths of the counts to learn from, and the tenth that is held out."""

    number: int
    learn: WordCounts
    """What candidates are learned from: the nine tenths, with weights."""
    parts: list[HeldOut]
    """What models are fitted to, without weights: one per language, or one for everything."""


def number_of_splits(types: int) -> int:
    """Fixed by the data, not by the speed of the machine."""
    if types <= FEW_TYPES:
        return 5
    return 3 if types <= MANY_TYPES else 1


def split(counts: WordCounts, number: int, seed: int = 0) -> Split:
    """One split."""
    if not counts.parts:
        held = _held(counts, seed, number)
        learn = only_words(counts, counts.counts - held * np.uint64(counts.unit))
        raw = counts.counts // np.uint64(counts.unit)
        return Split(number, learn, [HeldOut(counts, raw - held, held)])
    learned = np.zeros(len(counts), np.uint64)
    train, tested = np.zeros(len(counts), np.uint64), np.zeros(len(counts), np.uint64)
    parts: list[HeldOut] = []
    for part in counts.parts:
        words = part.counts
        held = _held(words, seed, number)
        raw = words.counts // np.uint64(words.unit)
        rows = _core.find_words(counts.text, counts.offsets, words.text, words.offsets)
        inside = rows >= 0
        left = words.counts - held * np.uint64(words.unit)
        learned[rows[inside]] += left[inside] * np.uint64(part.weight)
        train[rows[inside]] += (raw - held)[inside]
        tested[rows[inside]] += held[inside]
        if part.language is not None:
            parts.append(HeldOut(words, raw - held, held, part.language, part.share))
    return Split(number, only_words(counts, learned), parts or [HeldOut(counts, train, tested)])


def _held(words: WordCounts, seed: int, number: int) -> Numbers:
    raw = words.counts // np.uint64(words.unit)
    return _core.thin(words.text, words.offsets, raw, seed, number)
