"""Bootstrap draws: exact multinomial samples of the words, carried through the merges unchanged.

Bounds of the statistics are wide enough for the seeds used, which never change, and narrow enough
for a wrong distribution to break them: each is stated in standard errors.
"""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from volt import _core

count = st.one_of(
    st.integers(0, 12), st.integers(13, 10**4), st.sampled_from([10**6, 10**9, 10**12])
)


def draw(counts, draws, seed=0, threads=1):
    counts = np.array(counts, np.uint64)
    return _core.resample(counts, draws, seed, threads).reshape(len(counts), draws)


@given(st.lists(count, min_size=1, max_size=30), st.integers(1, 3), st.integers(0, 2**64 - 1))
@example([1], 3, 0)
@example([0], 1, 0)
@example([0, 0, 5], 3, 1)
@example([16], 3, 2)  # up to here all words are drawn one by one
@example([17], 3, 2)
@example([1, 2**62], 2, 0)
def test_every_draw_has_as_many_words_as_the_corpus(counts, draws, seed):
    drawn = draw(counts, draws, seed)
    assert drawn.shape == (len(counts), draws)
    assert drawn.sum(axis=0).tolist() == [sum(counts)] * draws
    assert not drawn[np.array(counts) == 0].any(), "a word that is not there is not drawn"


def test_no_words_and_no_draws():
    assert draw([], 3).shape == (0, 3)
    assert draw([5, 6], 0).shape == (2, 0)
    assert draw([0, 0], 2).tolist() == [[0, 0], [0, 0]]


def test_counts_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError, match="63 bits"):
        draw([2**62, 2**62], 1)


@given(
    st.lists(count, min_size=1, max_size=200),
    st.integers(1, 5),
    st.integers(0, 100),
)
def test_the_same_seed_gives_the_same_draws_on_any_number_of_threads(counts, draws, seed):
    once = draw(counts, draws, seed, threads=1)
    for threads in (1, 2, 5):
        assert np.array_equal(draw(counts, draws, seed, threads), once)


def test_draws_and_seeds_differ_and_more_draws_keep_the_first():
    counts = [50 + i % 7 for i in range(300)]
    drawn = draw(counts, 6, seed=4)
    assert len({tuple(column) for column in drawn.T.tolist()}) == 6
    assert np.array_equal(draw(counts, 3, seed=4), drawn[:, :3])
    assert not np.array_equal(draw(counts, 6, seed=5), drawn)


# ---------------------------------------------------------------------------------------- moments


@pytest.mark.parametrize(
    "counts",
    [
        [1] * 50,
        [3, 1, 9, 10, 11, 2, 40, 5],
        [10, 20, 30, 40],
        [1, 5, 9, 10, 99, 1000, 12345],
        [1, 10**6, 10**10, 10**10],
    ],
    ids=["ones", "tiny", "tens", "mixed", "large"],
)
def test_mean_variance_and_covariance_are_those_of_a_multinomial(counts):
    draws = 4000
    total, p = sum(counts), np.array(counts) / sum(counts)
    drawn = draw(counts, draws, seed=12).astype(np.float64)
    off = drawn - total * p[:, None]
    variance = total * p * (1 - p)

    # The mean of the draws has standard error sd / sqrt(draws).
    assert (np.abs(off.mean(axis=1)) < 4.5 * np.sqrt(variance / draws)).all()

    # A sample variance has standard error sd^2 sqrt((kurtosis - 1) / draws); the kurtosis of a
    # binomial number is 3 + (1 - 6 p q) / variance.
    kurtosis = 3 + (1 - 6 * p * (1 - p)) / variance
    error = variance * np.sqrt((kurtosis - 1) / draws)
    assert (np.abs((off**2).mean(axis=1) - variance) < 4.5 * error).all()

    # What one word has more the others have less: the covariance is -n p_i p_j.
    covariance = off @ off.T / draws
    spread = np.sqrt(np.outer(variance, variance) * np.sqrt(np.outer(kurtosis, kurtosis)) / draws)
    others = ~np.eye(len(counts), dtype=bool)
    assert (np.abs(covariance + total * np.outer(p, p)) < 5 * spread)[others].all()


@pytest.mark.parametrize("each", [1, 2, 5, 9, 10, 11, 15, 60, 400])
def test_single_counts_are_binomial(each):
    """The whole distribution, by Pearson's chi-square: every way to draw a number is met."""
    words, draws = 20, 4000
    total = words * each
    drawn = draw([each] * words, draws, seed=3)[0]
    ln_choose = [
        math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1)
        for k in range(total + 1)
    ]
    p = 1 / words
    expected = draws * np.exp(
        [ln_choose[k] + k * math.log(p) + (total - k) * math.log1p(-p) for k in range(total + 1)]
    )
    seen = np.bincount(drawn.astype(np.int64), minlength=total + 1)
    usual = expected >= 5
    seen = np.append(seen[usual], seen[~usual].sum())
    expected = np.append(expected[usual], expected[~usual].sum())
    chi_square = ((seen - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
    cells = len(seen) - 1
    assert chi_square < cells + 4 * math.sqrt(2 * cells)


def test_huge_counts_spread_by_their_square_root():
    counts = [10**12, 10**12, 3 * 10**12]
    drawn = draw(counts, 12, seed=1).astype(np.float64)
    p = np.array(counts) / sum(counts)
    off = (drawn - np.array(counts)[:, None]) / np.sqrt(sum(counts) * p * (1 - p))[:, None]
    assert np.abs(off).max() < 4
    assert 0.5 < np.sqrt((off**2).mean()) < 1.5
