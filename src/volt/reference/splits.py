"""Splits of a corpus: how many occurrences of each word are held out.

Every occurrence is held out with probability 1/10. One uniform number per word, a hash of the seed,
the split and the word, says how many of its occurrences that makes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from statistics import NormalDist

EXACT = 1000
"""Up to this count the binomial distribution is summed, above it is taken for normal."""


def thin(counts: Mapping[bytes, int], seed: int, split: int) -> dict[bytes, int]:
    """How many occurrences of each word are held out.

    >>> thin({b"low": 10, b"lower": 1000, b"lowest": 100_000}, seed=0, split=0)
    {b'low': 0, b'lower': 87, b'lowest': 9911}
    """
    return {word: held_out(count, level(word, seed, split)) for word, count in counts.items()}


def level(word: bytes, seed: int, split: int) -> Fraction:
    """The word's uniform number: 53 bits of a hash, as a fraction."""
    return Fraction(seeded_hash(word, seed, split) >> 11, 2**53)


def seeded_hash(data: bytes, seed: int, draw: int) -> int:
    """64 bits that look random and depend on the bytes, a seed and the number of the draw."""
    state = _mix(seed ^ 0x9E3779B97F4A7C15, draw ^ 0xE7037ED1A0B428DB)
    for start in range(0, len(data), 8):
        chunk = int.from_bytes(data[start : start + 8], "little")
        state = (_mix(state ^ chunk, 0x9E3779B97F4A7C15) + 0xD6E8FEB86659FD93) % 2**64
    state = _mix(state ^ len(data), 0xE7037ED1A0B428DB)
    return _mix(state ^ seed, 0xD6E8FEB86659FD93)


def _mix(a: int, b: int) -> int:
    """Both halves of the product of two 64-bit numbers, folded into one."""
    product = a * b
    return product % 2**64 ^ product >> 64


def held_out(count: int, level: Fraction) -> int:
    """The smallest h with F(h) >= level, where F is the binomial distribution function.

    >>> [held_out(10, Fraction(step, 10)) for step in range(10)]
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    """
    if count > EXACT:
        if level == 0:
            return 0
        deviations = NormalDist().inv_cdf(float(level))
        mean, deviation = count * 0.1, math.sqrt(count * 0.1 * 0.9)
        return min(count, max(0, math.floor(mean + deviations * deviation + 0.5)))
    # P(h) = C(n, h) * 9^(n - h) / 10^n: sums of whole numbers are exact.
    h, sum_so_far = 0, 9**count
    while sum_so_far < level * 10**count:
        h += 1
        sum_so_far += math.comb(count, h) * 9 ** (count - h)
    return h
