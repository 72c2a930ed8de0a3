"""Two files that look like a translation pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from volt.counting.counts import WordCounts
from volt.counting.records import COMPRESSED

FEW_PAIRS = 100_000
"""Below this, published searches for the best size do not agree: docs/study.md."""


def is_pair(names: Sequence[str]) -> bool:
    """Two names that differ in the language suffix only, such as train.de and train.en."""
    paths = [Path(COMPRESSED.sub("", name)) for name in names]
    return (
        len(paths) == 2
        and paths[0].with_suffix("") == paths[1].with_suffix("")
        and paths[0].suffix != paths[1].suffix
    )


def few_pairs(counts: WordCounts, ends: tuple[int, int] | None = None) -> list[str]:
    """What to know about the size, if the text is a small pair with as many lines on each side.
    `ends` are those of the range of sizes that cost no measurable quality."""
    names, lines = [name for name, _ in counts.lines_of], {n for _, n in counts.lines_of}
    if not is_pair(names) or len(lines) > 1 or max(lines) >= FEW_PAIRS:
        return []
    low, high = ends or (0, 0)
    both = f" of bpe:{low} and bpe:{high}" if low < high else ""
    return [
        f"with fewer than {FEW_PAIRS:,} pairs, published searches for the best size of a "
        "translation model do not agree: before you decide, train small models at both ends of "
        f"the range (volt trial{both})"
    ]
