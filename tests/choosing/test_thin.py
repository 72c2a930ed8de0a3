"""Thinned counts: equal to the slow twin, and as stable as they have to be."""

import random
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from volt import _core
from volt.proposing.tokens import packed
from volt.reference import splits

words = st.binary(min_size=1, max_size=20)
counts = st.integers(0, 50) | st.integers(900, 1100) | st.integers(0, 2**63 - 1)
seeds = st.integers(0, 2**64 - 1)


def thin(counts: dict[bytes, int], seed: int = 0, split: int = 0) -> dict[bytes, int]:
    text, offsets = packed([*counts])
    held = _core.thin(text, offsets, np.array([*counts.values()], np.uint64), seed, split)
    return dict(zip(counts, held.tolist(), strict=True))


def word_levels(number: int) -> dict[bytes, Fraction]:
    """Many words, with the level of each in split 0 of seed 0."""
    found = [b"word %d" % i for i in range(number)]
    return {word: splits.level(word, 0, 0) for word in found}


@given(st.dictionaries(words, counts, min_size=1, max_size=20), seeds, seeds)
@example({b"a": 0, b"b": 1, b"c": 1000, b"d": 1001, b"e": 2**63 - 1}, 0, 0)
def test_held_out_counts_equal_the_slow_twin(counts, seed, split):
    held = thin(counts, seed, split)
    assert held == splits.thin(counts, seed, split)
    assert all(0 <= held[word] <= count for word, count in counts.items())


@given(st.dictionaries(words, counts, min_size=2, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_the_words_does_not_matter(counts, generator):
    shuffled = [*counts.items()]
    generator.shuffle(shuffled)
    assert thin(dict(shuffled)) == thin(counts)


@pytest.mark.parametrize("count", [1, 3, 10, 100, 1000, 1001, 30_000])
def test_a_tenth_is_held_out_on_average(count):
    number = 20_000
    held = [*thin({b"word %d" % i: count for i in range(number)}).values()]
    error = np.sqrt(count * 0.09 / number)
    assert abs(np.mean(held) - count / 10) < 4 * error
    assert abs(np.var(held) / (count * 0.09) - 1) < 0.1


def test_seeds_and_splits_draw_differently():
    counts = {b"word %d" % i: 1 for i in range(20_000)}
    first = np.array([*thin(counts).values()])
    for seed, split in [(0, 1), (1, 0), (1, 1)]:
        other = np.array([*thin(counts, seed, split).values()])
        assert abs(np.mean(first & other) - 0.01) < 0.003  # both held out: independent draws


def test_one_occurrence_more_moves_the_held_out_count_by_at_most_one():
    found = [b"word %d" % i for i in range(300)]
    before = thin(dict.fromkeys(found, 0))
    for count in range(1, 1001):
        after = thin(dict.fromkeys(found, count))
        assert all(0 <= after[word] - before[word] <= 1 for word in found), count
        before = after
    for count in [*range(1001, 1200), 10**6, 10**12]:
        lower, upper = thin(dict.fromkeys(found, count)), thin(dict.fromkeys(found, count + 1))
        assert all(0 <= upper[word] - lower[word] <= 1 for word in found), count


def test_the_normal_approximation_joins_the_sums():
    """Where they meet, both round the same number up to the skewness, (1 - 2p)(z^2 - 1) / 6."""
    levels = word_levels(20_000)
    below, above = thin(dict.fromkeys(levels, 1000)), thin(dict.fromkeys(levels, 1001))
    for word, level in levels.items():
        skewness = 0.8 * abs(NormalDist().inv_cdf(float(level)) ** 2 - 1) / 6
        assert abs(above[word] - below[word]) <= 1 + skewness


def test_words_are_found_in_another_list():
    generator = random.Random(3)
    whole = list({bytes(generator.choices(b"abc", k=generator.randint(1, 20))) for _ in range(999)})
    part = [*generator.sample(whole, 100), b"d", b"a" * 30, whole[0] + b"d"]
    found = _core.find_words(*packed(whole), *packed(part)).tolist()
    assert found == [whole.index(word) if word in whole else -1 for word in part]
    assert found[-3:] == [-1, -1, -1]
    assert _core.find_words(*packed([]), *packed(part)).tolist() == [-1] * len(part)


def test_damaged_arrays_are_refused():
    text, offsets = packed([b"ab", b"c"])
    counts = np.ones(2, np.uint64)
    with pytest.raises(ValueError, match="differ in length"):
        _core.thin(text, offsets, counts[:1], 0, 0)
    with pytest.raises(ValueError, match="span"):
        _core.thin(text[:2], offsets, counts, 0, 0)
    with pytest.raises(ValueError, match="span"):
        _core.find_words(text, offsets, text[1:], offsets)
