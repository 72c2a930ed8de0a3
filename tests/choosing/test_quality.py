"""The quality curve: its mean, its best size, its range; and splits against the slow twin."""

import math
from itertools import pairwise

import numpy as np
import pytest

import volt
from volt import reference
from volt.choosing.choice import measure_quality
from volt.choosing.cost import MODELS
from volt.choosing.quality import Quality, grid, interpolated
from volt.choosing.size_problem import SizeProblem, proposed
from volt.choosing.splits import number_of_splits, split
from volt.proposing.cuts import text_bytes
from volt.settings import LearnSettings

NAN = math.nan
LINES = [
    "the quick brown fox jumps over the lazy dog",
    "a lazier dog is quicker than the laziest fox",
    "foxes jump and dogs jumped over quicker foxes",
] * 40


def curve(sizes, *scores, **options):
    return Quality(np.array(sizes), [np.array(one, float) for one in scores], **options)


def test_the_mean_is_over_the_splits_that_reach_a_size():
    found = curve([10, 20, 40, 80], [3, 2, 4, NAN], [5, 2, NAN, NAN])
    assert found.scores.tolist()[:3] == [4, 2, 4]
    assert math.isnan(found.scores[3])
    assert found.best == 20


def test_a_split_that_ends_leaves_no_step_in_the_mean():
    """Splits differ in level: without the highest one the mean of the others would be lower."""
    found = curve([10, 20, 40, 80, 160], [3, 2, 2.5, 3, 4], [9, 8, 8.5, NAN, NAN])
    assert found.scores.tolist() == [6, 5, 5.5, 6, 7]
    assert found.best == 20
    # A split of which nothing was held out takes no part.
    found = curve([10, 20], [NAN, NAN], [3, 2])
    assert found.scores.tolist() == [3, 2]


def test_the_range_ends_where_the_line_crosses_the_tolerance():
    found = curve([100, 200, 400, 800], [2.0, 1.0, 1.005, 1.015], tolerance=0.01)
    # Up: half way between 400 and 800 on a logarithmic axis. Down: 1 per cent of the way to 100.
    assert found.range == (math.ceil(200 * 0.5**0.01), math.floor(400 * 2**0.5))
    assert not found.open_upward


def test_the_range_is_connected():
    found = curve([100, 200, 400, 800], [1.0, 1.5, 1.001, 1.0001], tolerance=0.005)
    assert found.best == 100
    assert found.range[1] < 200


def test_a_range_that_ends_with_the_merges_is_open():
    found = curve([100, 200, 400, 800], [1.2, 1.0, 1.001, NAN])
    assert found.range[1] == 400
    assert found.open_upward


def test_scores_between_sizes_are_read_off_a_line_over_the_logarithm():
    at = interpolated(np.array([100, 400]), np.array([1.0, 2.0]), np.array([50, 100, 200, 500]))
    assert np.isnan(at[[0, 3]]).all()
    assert at[1:3].tolist() == pytest.approx([1.0, 1.5])


@pytest.mark.parametrize(
    ("first", "last", "types", "number"),
    [(300, 100_000, 10, 24), (300, 100_000, 300_001, 16), (5, 7, 10, 3), (9, 9, 10, 1)],
)
def test_the_grid_goes_from_no_merges_to_the_last(first, last, types, number):
    sizes = grid(first, last, types)
    assert (sizes[0], sizes[-1], len(sizes)) == (first, last, number)
    assert (np.diff(sizes) > 0).all()


def test_the_number_of_splits_is_fixed_by_the_data():
    found = [number_of_splits(types) for types in (1, 100_000, 100_001, 300_000, 300_001)]
    assert found == [5, 5, 3, 3, 1]


@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level"])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_curve_equals_its_slow_twin(pretokenizer, order):
    counts = volt.count([LINES], pretokenizer=pretokenizer)
    settings = LearnSettings(order=order, splits=2, merges=40)
    found = proposed(counts, settings, 1)
    problem = SizeProblem.of(found, counts, settings, 1, volt.base.progress.Progress())
    quality, _ = measure_quality(problem, MODELS["base"])
    ends = pretokenizer != "whitespace"
    for number, scores in enumerate(quality.split_scores):
        part = split(counts, number)
        held = part.parts[0]
        again = proposed(part.learn, settings, 1)
        tested = int((text_bytes(counts) * held.held.astype(np.int64)).sum())
        cuts = again.cuts(counts, 1, problem.byte_fallback)
        for size, score in zip(quality.sizes.tolist(), scores.tolist(), strict=True):
            row = size - int(quality.sizes[0])
            if row >= len(again.curve):
                assert math.isnan(score)
                continue
            tokens, offsets = cuts(row)
            words = [tuple(tokens[a:b].tolist()) for a, b in pairwise(offsets.tolist())]
            train = dict(zip(words, held.train.tolist(), strict=True))
            model = reference.quality.KneserNey(train, size, order, ends)
            nats = math.fsum(
                h * -math.log(model.probability(token, context))
                for word, h in zip(words, held.held.tolist(), strict=True)
                for context, token in model.events(word)
            )
            assert score == pytest.approx(nats / math.log(2) / tested, rel=1e-9)
