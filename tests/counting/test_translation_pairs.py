"""Two files that look like a translation pair, and what a small one is told."""

from dataclasses import replace

import pytest

import volt
from volt.counting.translation_pairs import FEW_PAIRS, few_pairs, is_pair

NOTE = "with fewer than 100,000 pairs, published searches"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["train.en", "train.de"], True),
        (["a/train.en.xz", "a/train.de.gz"], True),
        (["a/train.en", "b/train.en"], False),
        (["a/train.en", "b/train.de"], False),
        (["train.en", "train.en"], False),
        (["train.en", "valid.de"], False),
        (["train.en"], False),
        (["train.en", "train.de", "train.fr"], False),
    ],
)
def test_what_is_taken_for_a_parallel_pair(names, found):
    assert is_pair(names) == found


@pytest.mark.parametrize(
    ("lines", "said"),
    [((FEW_PAIRS - 1,) * 2, True), ((FEW_PAIRS,) * 2, False), ((9, 10), False), ((), False)],
)
def test_only_a_small_pair_is_told(lines, said):
    counts = volt.count([["low lower lowest"]])
    names = ("train.de", "train.en")
    found = few_pairs(replace(counts, lines_of=list(zip(names, lines, strict=False))))
    assert [one.startswith(NOTE) for one in found] == [True] * said


def test_the_note_names_both_ends_of_the_range():
    pairs = [("train.de", 9), ("train.en", 9)]
    counts = replace(volt.count([["low lower lowest"]]), lines_of=pairs)
    (told,) = few_pairs(counts, (453, 576))
    assert told.endswith("the range (volt trial of bpe:453 and bpe:576)")
    assert few_pairs(counts)[0].endswith("the range (volt trial)")
    assert few_pairs(counts, (453, 453)) == few_pairs(counts)


def test_learning_tells_it_whoever_chooses_the_size(tmp_path):
    for name in ("t.de", "t.en"):
        (tmp_path / name).write_text("low lower lowest flow blow\n" * 30)
    pair = [tmp_path / "t.de", tmp_path / "t.en"]
    assert any(one.startswith(NOTE) for one in volt.learn(pair).messages)
    assert any(one.startswith(NOTE) for one in volt.learn(pair, size=278).messages)
    assert not any(one.startswith(NOTE) for one in volt.learn(pair[:1]).messages)
