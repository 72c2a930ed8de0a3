"""The model of held-out quality: probabilities that sum to one, and native sums equal to the slow
twin's."""

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from volt import _core
from volt.reference.quality import END, KneserNey

ROWS = 5

few_tokens = st.lists(st.integers(0, ROWS - 1), max_size=6).map(tuple)
numbers = st.sampled_from([0, 0, 1, 1, 2, 3, 5, 70, 10**6])
corpora = st.dictionaries(few_tokens, st.tuples(numbers, numbers), max_size=12)


def native_loss(corpus, rows, order, ends):
    """The loss of words of tokens with (train, held) counts."""
    tokens = np.array([token for word in corpus for token in word], np.uint32)
    offsets = np.cumsum([0, *map(len, corpus)], dtype=np.uint64)
    train, held = (np.array([c[i] for c in corpus.values()], np.uint64) for i in (0, 1))
    return _core.kneser_ney(tokens, offsets, train, held, rows, order, ends)


def slow_loss(corpus, rows, order, ends):
    model = KneserNey({word: train for word, (train, _) in corpus.items()}, rows, order, ends)
    return model.loss({word: held for word, (_, held) in corpus.items()})


def assert_equal(corpus, rows, order, ends):
    (nats, predicted), (expected, events) = (
        loss(corpus, rows, order, ends) for loss in (native_loss, slow_loss)
    )
    assert predicted == events
    # A probability next to one is exact to 1e-16, and so is its logarithm, which is next to zero.
    assert math.isclose(nats, expected, rel_tol=1e-12, abs_tol=1e-15 * predicted)


@given(corpora, st.integers(1, 6), st.booleans())
@example({}, 3, True)
@example({(): (1, 1)}, 3, True)
@example({(): (1, 1)}, 3, False)
@example({(0, 1, 2, 3): (0, 1)}, 4, True)
@example({(0, 1, 2): (1, 0), (3, 1, 2): (1, 1), (4, 1, 2): (0, 1)}, 3, False)
@settings(max_examples=300)
def test_losses_equal_the_slow_twin(corpus, order, ends):
    assert_equal(corpus, ROWS, order, ends)


@given(corpora, st.integers(1, 4), st.booleans())
def test_probabilities_sum_to_one_in_every_context(corpus, order, ends):
    model = KneserNey({word: train for word, (train, _) in corpus.items()}, ROWS, order, ends)
    choices = [*range(ROWS), *([END] if ends else [])]
    starts = [-2 - place for place in range(order - 1)]
    contexts = {(*starts[length:], *context)
                for length in range(order)
                for context in product(range(ROWS), repeat=length)}  # fmt: skip
    assert len(contexts) == sum(ROWS**length for length in range(order))
    for context in contexts:
        probabilities = [model.probability(token, context) for token in choices]
        assert sum(probabilities) == 1
        assert min(probabilities) > 0


@given(
    st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=9).map(tuple), max_size=300),
    st.integers(2, 4),
    st.sampled_from([401, 2**20]),
)
@settings(max_examples=20)
def test_wide_tokens_and_many_words(found, order, factor):
    """Large token numbers need wider keys; counts of all sizes stay exact."""
    corpus = {
        tuple(token * (factor // 401) for token in word): (place % 90, place % 23)
        for place, word in enumerate(found)
    }
    assert_equal(corpus, factor, order, True)


def test_a_number_that_no_token_has_is_refused():
    with pytest.raises(ValueError, match="too many tokens"):
        native_loss({(2**29, 1): (1, 1)}, 2**30, 6, True)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_gaps_between_the_numbers_of_tokens_do_not_matter(order):
    generator = np.random.default_rng(order)
    corpus = {
        tuple(generator.integers(0, 40, generator.integers(1, 7)).tolist()): (
            int(generator.integers(0, 20)),
            int(generator.integers(0, 4)),
        )
        for _ in range(500)
    }
    numbers = np.cumsum(generator.integers(1, 100_000, 40)).tolist()
    apart = {tuple(numbers[t] for t in word): counts for word, counts in corpus.items()}
    for ends in (True, False):
        assert native_loss(corpus, 50, order, ends) == native_loss(apart, 50, order, ends)


def test_more_rows_cost_more():
    corpus = {(0, 1): (5, 1), (1, 2): (3, 1)}
    losses = [native_loss(corpus, rows, 3, True)[0] for rows in (3, 30, 300)]
    assert losses == sorted(set(losses))


@pytest.mark.parametrize("tokens", [3, 50, 3000])
def test_sums_do_not_depend_on_threads_or_the_order_of_words(tokens):
    """With few tokens many events have the same context, and the native code sorts by digits."""
    generator = np.random.default_rng(5)
    corpus = {
        tuple(generator.integers(0, tokens, generator.integers(1, 9)).tolist()): (
            int(generator.integers(0, 20)),
            int(generator.integers(0, 4)),
        )
        for _ in range(5000)
    }
    backwards = dict(reversed(corpus.items()))
    expected = native_loss(corpus, tokens, 3, True)
    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(native_loss, one, tokens, 3, True) for one in (corpus, backwards) * 4]
    assert {task.result() for task in tasks} == {expected}
    assert_equal(corpus, tokens, 3, True)


def test_damaged_arrays_are_refused():
    tokens, offsets = np.array([0, 1], np.uint32), np.array([0, 2], np.uint64)
    one = np.ones(1, np.uint64)
    for order in (0, 7):
        with pytest.raises(ValueError, match="order"):
            _core.kneser_ney(tokens, offsets, one, one, 2, order, True)
    with pytest.raises(ValueError, match="rows"):
        _core.kneser_ney(tokens, offsets, one, one, 0, 3, True)
    with pytest.raises(ValueError, match="differ in length"):
        _core.kneser_ney(tokens, offsets, one, np.ones(2, np.uint64), 2, 3, True)
    with pytest.raises(ValueError, match="span"):
        _core.kneser_ney(tokens[:1], offsets, one, one, 2, 3, True)
