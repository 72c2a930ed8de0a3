"""What can be said of a vocabulary from its tokens' frequencies: entropy, and the criteria that
compare vocabularies of different sizes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise


def entropy(frequencies: Iterable[int]) -> float:
    """-sum P ln P over the relative frequencies."""
    used = [f for f in frequencies if f > 0]
    total = sum(used)
    return math.fsum(-f / total * math.log(f / total) for f in used)


def entropy_per_length(frequencies: dict[str, int], length_of: dict[str, int], by: str) -> float:
    """H of Eq. 2, with the mean length over types or over occurrences."""
    used = {token: f for token, f in frequencies.items() if f > 0}
    if not used:
        return 0.0
    if by == "types":
        mean = sum(length_of[token] for token in used) / len(used)
    else:
        mean = sum(f * length_of[token] for token, f in used.items()) / sum(used.values())
    return entropy(used.values()) / mean


def muv(sizes: Sequence[int], entropies: Sequence[float]) -> list[float]:
    """M_t of Eq. 1 at every size but the first, which has no size before it.

    >>> muv([10, 20, 40], [3.0, 2.0, 1.0])
    [0.1, 0.05]
    """
    return [
        -(after - before) / (size - smaller)
        for (smaller, size), (before, after) in zip(
            pairwise(sizes), pairwise(entropies), strict=True
        )
    ]


def mdl(frequencies: Sequence[int], size: int, width: int) -> float:
    """Bits of the corpus under its unigram code, plus d/2 log2(n) bits for each of V tokens."""
    tokens = sum(frequencies)
    code = math.fsum(f * math.log2(tokens / f) for f in frequencies if f)
    return code + 0.5 * width * math.log2(tokens) * size


def frequency(frequencies: Sequence[int], merges: int) -> float:
    """The share of the merged types that occur at least 100 times. `frequencies` are those of the
    merged types that occur at all. NaN without merges."""
    return sum(f >= 100 for f in frequencies) / merges if merges else math.nan


def renyi(frequencies: Sequence[int], size: int) -> float:
    """Rényi entropy of order 2.5 over ln V, the entropy of V equally frequent tokens."""
    tokens = sum(frequencies)
    power = math.fsum((f / tokens) ** 2.5 for f in frequencies)
    return math.log(power) / (1 - 2.5) / math.log(size)


def zipf(frequencies: Sequence[int]) -> float:
    """R^2 of the line of ln f on ln rank. NaN for fewer than three types, or if all are equal."""
    used = sorted((f for f in frequencies if f), reverse=True)
    if len(used) < 3 or used[0] == used[-1]:
        return math.nan
    ranks = [math.log(rank) for rank in range(1, len(used) + 1)]
    return statistics.correlation(ranks, [math.log(f) for f in used]) ** 2


def knee(sizes: Sequence[int], entropies: Sequence[float]) -> list[float]:
    """The distance of each point (ln V, H) from the line through the first and the last point, with
    both axes scaled to 0..1."""

    def scaled(values: Sequence[float]) -> list[float]:
        low, high = min(values), max(values)
        return [(value - low) / (high - low) if high > low else 0.0 for value in values]

    points = list(zip(scaled([math.log(size) for size in sizes]), scaled(entropies), strict=True))
    (x0, y0), (x1, y1) = points[0], points[-1]
    chord = math.hypot(x1 - x0, y1 - y0) or 1.0
    return [abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) / chord for x, y in points]
