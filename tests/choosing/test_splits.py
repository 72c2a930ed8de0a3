"""Splits of word counts: the two parts add up to the whole, with weights, languages and in any
order."""

import random

import numpy as np
import pytest

import volt
from volt.choosing.splits import split
from volt.languages.balance import count_languages

WORDS = ["low", "lower", "lowest", "newer", "wider", "new", "slow", "ünïcode", "日本"]


def text(seed, lines=60):
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=12)) for _ in range(lines)]


def table(words, counts):
    return dict(zip(words.words, np.asarray(counts).tolist(), strict=True))


def test_the_two_parts_add_up_to_the_whole():
    counts = volt.count([text(1)])
    for one in (split(counts, number) for number in range(5)):
        [part] = one.parts
        assert part.train + part.held == pytest.approx(counts.counts)
        assert 0 < part.held.sum() < counts.counts.sum() / 5
        assert table(one.learn, one.learn.counts) == {
            word: count for word, count in table(counts, part.train).items() if count
        }


def test_splits_and_seeds_hold_out_different_words():
    counts = volt.count([text(1)])
    found = [split(counts, *pair).parts[0].held.tolist() for pair in ((0, 0), (1, 0), (0, 1))]
    assert found[0] != found[1] != found[2] != found[0]


def test_the_order_of_lines_files_and_threads_do_not_matter():
    lines = text(1)
    expected = split(volt.count([lines]), 3)
    backwards = volt.count([lines[40:][::-1], lines[:40]], threads=3)
    found = split(backwards, 3)
    assert table(found.learn, found.learn.counts) == table(expected.learn, expected.learn.counts)
    assert table(backwards, found.parts[0].held) == table(
        volt.count([lines]), expected.parts[0].held
    )


def test_occurrences_are_drawn_before_weights():
    """A word of a file that counts three times is held out as often as it occurs."""
    plain = [volt.count([text(seed)]) for seed in (1, 2)]
    weighted = volt.count([text(1), text(2)], weights=[3, "1/2"])
    assert weighted.unit == 2
    for number in range(3):
        one = split(weighted, number)
        [part] = one.parts
        parts = [split(counts, number).parts[0] for counts in plain]
        held = [table(each, own.held) for each, own in zip(plain, parts, strict=True)]
        train = [table(each, own.train) for each, own in zip(plain, parts, strict=True)]
        assert table(weighted, part.held) == {w: held[0][w] + held[1][w] for w in weighted.words}
        assert table(weighted, part.train) == {w: train[0][w] + train[1][w] for w in weighted.words}
        assert table(one.learn, one.learn.counts) == {
            w: 6 * train[0][w] + train[1][w] for w in one.learn.words
        }


def test_every_language_is_held_out_by_itself():
    _, counts, _ = count_languages({"aa": [text(1)], "bb": [text(2, 20)]}, temperature=2)
    one = split(counts, 0)
    assert [part.language for part in one.parts] == ["aa", "bb"]
    assert sum(part.weight for part in one.parts) == pytest.approx(1)
    assert one.parts[0].weight == pytest.approx(3**0.5 / (1 + 3**0.5), rel=1e-3)
    for part, seed, lines in zip(one.parts, (1, 2), (60, 20), strict=True):
        alone = volt.count([text(seed, lines)])
        assert table(part.words, part.train + part.held) == table(alone, alone.counts)
        assert table(part.words, part.held) == table(alone, split(alone, 0).parts[0].held)
