"""The criteria: each equal to its definition, computed from the frequencies at every size."""

import math
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import volt
from volt import reference
from volt.base.errors import SettingsError
from volt.choosing.choice import judge
from volt.choosing.cost import Model
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria import zipf as zipf_file
from volt.choosing.criteria.base import Evidence, Score
from volt.choosing.entropy import entropy_per_length
from volt.choosing.quality import Quality
from volt.proposing.base import token_set
from volt.proposing.curve import Curve

PRETOKENIZERS = ["whitespace", "metaspace", "byte-level"]
OF_CURVE = ["mdl", "frequency", "renyi", "zipf", "knee"]

word = st.text("abc", min_size=1, max_size=8)
counted_words = st.dictionaries(word, st.sampled_from([1, 2, 3, 50, 99, 100, 400, 10**6, 10**12]))


def counts_of(words, pretokenizer="whitespace", scale=1):
    """Word counts without text, so that they can be as large as need be."""
    ordered = sorted(words.items(), key=lambda item: (-item[1], item[0].encode()))
    data = [text.encode() for text, _ in ordered]
    return volt.WordCounts(
        rule=volt.WordRule(pretokenizer),
        text=np.frombuffer(b"".join(data), np.uint8),
        offsets=np.cumsum([0, *map(len, data)]).astype(np.uint64),
        counts=np.array([count * scale for _, count in ordered], np.uint64),
    )


def made_up(seed, types=400, most=2000):
    """Words of a few syllables with counts that fall like Zipf's."""
    generator = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = {
        "".join(generator.choices(syllables, k=generator.randint(1, 5))): max(1, most // rank)
        for rank in range(1, types + 1)
    }
    return counts_of(words)


def frequencies_at_every_size(found):
    """The slow twin of the curve: for each of its rows the frequencies of all types in use, and
    those of the merged ones."""
    ranking = found.ranking("merge")
    parents = {
        found.alphabet_size + m: pair
        for m, pair in enumerate(zip(found.left.tolist(), found.right.tolist(), strict=True))
    }
    everything = dict(enumerate(found.frequency.tolist()))
    rows = [
        reference.merges.push_down(everything, parents, set(ranking[:merges].tolist()))
        for merges in range(found.merges + 1)
    ]
    merged = [[f for token, f in row.items() if token in parents] for row in rows]
    return [list(row.values()) for row in rows], merged


def scored(name, found, **evidence):
    """What a criterion makes of the curve alone."""
    return CRITERIA[name].score(Evidence(found, **evidence))


class GivenEntropies:
    """A curve of which only the entropies are known."""

    muv = Curve.muv

    def __init__(self, sizes, entropies):
        self.size, self.entropies = np.array(sizes), np.array(entropies)

    def entropy_by(self, length):
        return self.entropies


def muv_score(sizes, entropies):
    curve = GivenEntropies(sizes, entropies)
    return CRITERIA["muv"].score(SimpleNamespace(steps=(), curve=curve, length="types"))


def assert_best(score, choose, rows=None):
    """The best size is the first one with the best value."""
    values = score.values.tolist()
    usable = [i for i, value in enumerate(values) if not math.isnan(value)]
    assert score.best == (choose(usable, key=lambda i: values[i]) if usable else None)
    if score.best is not None:
        assert score.size == score.sizes[score.best]
        assert score.value == score.values[score.best]


# ------------------------------------------------------------------------------- against the twins


@given(counted_words, st.sampled_from(PRETOKENIZERS), st.sampled_from([1, 512]))
@example({"a": 1}, "whitespace", 512)
@example({"a": 1, "b": 1, "c": 1}, "whitespace", 512)
@example({"ab": 3, "ba": 3}, "byte-level", 1)
@example({"abc": 10**12, "cab": 1}, "metaspace", 512)
def test_every_criterion_equals_its_definition_at_every_size(words, pretokenizer, width):
    assume(words)
    found = volt.candidates(counts_of(words, pretokenizer), merges=40, min_frequency=1, threads=1)
    curve = found.curve
    sizes = curve.learned.tolist()
    at_size, merged = frequencies_at_every_size(found)

    score = scored("mdl", found, model=Model("own", 1, width))
    assert score.sizes.tolist() == curve.size.tolist()
    slow = [reference.curve.mdl(f, size, width) for f, size in zip(at_size, sizes, strict=True)]
    # n H = n ln n - sum f ln f: what n ln n is rounded to is lost.
    rounding = 1e-13 * float(curve.tokens.max())
    assert score.values.tolist() == pytest.approx(slow, rel=1e-9, abs=rounding)
    assert_best(score, min)

    score = scored("frequency", found)
    slow = [reference.curve.frequency(f, merges) for merges, f in enumerate(merged)]
    assert score.values.tolist() == pytest.approx(slow, rel=0, abs=0, nan_ok=True)
    enough = [row for row, share in enumerate(slow) if share >= 0.95]
    assert score.best == (enough[-1] if enough else None)

    score = scored("renyi", found)
    slow = [
        reference.curve.renyi(f, size) if size > 1 else math.nan
        for f, size in zip(at_size, sizes, strict=True)
    ]
    assert score.values.tolist() == pytest.approx(slow, rel=1e-9, abs=1e-9, nan_ok=True)
    assert_best(score, max)

    score = scored("zipf", found, rows=np.arange(len(curve)))
    assert score.sizes.tolist() == curve.size.tolist()
    for value, f in zip(score.values.tolist(), at_size, strict=True):
        # Frequencies that differ by less than a billionth: their logarithms are mostly rounding.
        if max(f) == min(f) or max(f) / min(f) > 1 + 1e-9:
            assert value == pytest.approx(reference.curve.zipf(f), rel=1e-4, nan_ok=True)
    assert_best(score, max)

    score = scored("knee", found)
    slow = reference.curve.knee(sizes, curve.entropy_occurrences.tolist())
    assert score.values.tolist() == pytest.approx(slow, rel=1e-9, abs=1e-9)
    assert_best(score, max)


def test_every_criterion_equals_its_definition_on_a_larger_corpus():
    found = volt.candidates(made_up(3), merges=600)
    assert found.merges > 300
    curve, (at_size, merged) = found.curve, frequencies_at_every_size(found)
    every, model = np.arange(len(curve)), Model("own", 1, 64)
    scores = {name: scored(name, found, rows=every, model=model) for name in OF_CURVE}
    assert list(CRITERIA) == ["auto", "heldout", "muv", *OF_CURVE]
    sizes = curve.learned.tolist()
    slow = {
        "mdl": [reference.curve.mdl(f, size, 64) for f, size in zip(at_size, sizes, strict=True)],
        "frequency": [reference.curve.frequency(f, merges) for merges, f in enumerate(merged)],
        "renyi": [reference.curve.renyi(f, size) for f, size in zip(at_size, sizes, strict=True)],
        "zipf": [reference.curve.zipf(f) for f in at_size],
        "knee": reference.curve.knee(sizes, curve.entropy_occurrences.tolist()),
    }
    for name, score in scores.items():
        assert score.criterion == name
        assert score.values == pytest.approx(np.array(slow[name]), rel=1e-9, abs=1e-9, nan_ok=True)
    best = {
        "mdl": int(np.argmin(slow["mdl"])),
        "frequency": int(np.flatnonzero(np.array(slow["frequency"]) >= 0.95)[-1]),
        "renyi": int(np.argmax(slow["renyi"])),
        "zipf": int(np.argmax(slow["zipf"])),
        "knee": int(np.argmax(slow["knee"])),
    }
    assert {name: score.best for name, score in scores.items()} == best
    # Each has something to choose here: none ends at an edge by the shape of the corpus alone.
    assert all(0 < best[name] < len(curve) - 1 for name in ("mdl", "frequency", "renyi", "knee"))


def test_zipf_reads_the_curve_at_some_sizes_from_end_to_end():
    found = volt.candidates(made_up(5), merges=600)
    score = scored("zipf", found)
    assert len(score.sizes) <= zipf_file.SIZES
    assert score.sizes[0] == 4 + found.alphabet_size
    assert score.sizes[-1] == 4 + len(found)
    assert (np.diff(score.sizes) > 0).all()
    everywhere = scored("zipf", found, rows=np.arange(len(found.curve))).values
    assert np.array_equal(score.values, everywhere[score.sizes - score.sizes[0]])


@given(
    st.lists(st.integers(1, 10**6), min_size=2, max_size=12, unique=True),
    st.randoms(use_true_random=False),
)
def test_muv_equals_the_twin(sizes, generator):
    sizes = sorted(sizes)
    entropies = [generator.random() * 3 for _ in sizes]
    score = muv_score(sizes, entropies)
    slow = reference.curve.muv(sizes, entropies)
    assert math.isnan(score.values[0])
    assert score.values[1:].tolist() == pytest.approx(slow, rel=1e-12)
    assert_best(score, max)


# ------------------------------------------------------------------------------------------- edges


def test_muv_prefers_the_smaller_of_equals_and_needs_two_sizes():
    score = muv_score([10, 20, 30, 40], [4.0, 3.0, 2.0, 1.5])
    assert (score.size, score.value) == (20, 0.1)
    with pytest.raises(SettingsError, match="at least two sizes"):
        muv_score([10], [4.0])


def test_muv_can_be_negative_everywhere():
    score = muv_score([10, 20, 30], [1.0, 2.0, 2.5])
    assert (score.size, score.value) == (30, -0.05)


def test_one_symbol_and_nothing_to_merge():
    found = volt.candidates(counts_of({"a": 5}), merges=10)
    scores = {name: scored(name, found) for name in OF_CURVE}
    assert {name: score.size for name, score in scores.items()} == {
        "mdl": 5,
        "frequency": None,  # nothing is merged
        "renyi": None,  # the entropy of one symbol has no largest value to compare with
        "zipf": None,  # no line through one point
        "knee": 5,
    }
    assert scores["mdl"].value == pytest.approx(0.5 * 512 * math.log2(5))
    assert scores["knee"].value == 0
    assert scores["frequency"].value is None


def test_one_symbol_that_merges_with_itself():
    found = volt.candidates(counts_of({"aaaaaaaa": 200}), merges=10)
    scores = {name: scored(name, found) for name in CRITERIA}
    assert found.tokens[-1] == "aaaaaaaa</w>"
    assert found.curve.types.tolist()[-1] == 1
    for score in scores.values():
        assert not np.isinf(score.values).any()


def test_no_merges():
    found = volt.candidates(counts_of({"abc": 200, "bca": 100}), merges=0)
    size = 4 + found.alphabet_size
    scores = {name: scored(name, found) for name in OF_CURVE}
    assert [len(score.values) for score in scores.values()] == [1] * 5
    # `frequency` is the share of the merged types, and there are none.
    expected = dict.fromkeys(scores, size) | {"frequency": None}
    assert {name: score.size for name, score in scores.items()} == expected


def test_equal_frequencies_lie_on_no_line():
    found = volt.candidates(counts_of({"a": 7, "b": 7, "c": 7}), merges=3)
    assert found.merges == 0
    assert scored("zipf", found).best is None
    assert scored("renyi", found).value == pytest.approx(math.log(3) / math.log(3))


def test_frequency_is_met_by_none_by_some_by_all():
    rare = volt.candidates(counts_of({"ab": 99, "cd": 99}), merges=3)
    assert scored("frequency", rare).best is None
    often = volt.candidates(counts_of({"ab": 1000, "cd": 1000}), merges=2)
    assert scored("frequency", often).best == often.merges == 2
    # 19 of 20 merged types are enough, 18 of 19 are not. Characters do not count.
    pairs = dict.fromkeys(zip("abcdefghijklmnopqrs", "ABCDEFGHIJKLMNOPQRS", strict=True), 100)
    words = {a + b: count for (a, b), count in pairs.items()}
    exactly = volt.candidates(counts_of({**words, "tT": 99}), merges=20)
    assert (exactly.merges, scored("frequency", exactly).best) == (20, 20)
    del words["aA"]
    short = volt.candidates(counts_of({**words, "tT": 99}), merges=20)
    assert (short.merges, scored("frequency", short).best) == (19, 18)


@pytest.mark.parametrize("name", OF_CURVE)
def test_weights_are_counted_in_whole_words(name):
    """A word of weight 0.5 is half a word: the unit of the counts is no part of the criteria."""
    counts = made_up(11)
    halves = replace(counts, counts=counts.counts * np.uint64(2), unit=2)
    whole, same = (volt.candidates(some, merges=400) for some in (counts, halves))
    assert np.array_equal(whole.left, same.left)
    one, again = (scored(name, found) for found in (whole, same))
    assert again.values == pytest.approx(one.values, rel=1e-9, nan_ok=True)
    assert again.size == one.size


# -------------------------------------------------------------------------------------- metamorphic


def chosen_by_muv(counts, sizes, min_frequency, by):
    found = volt.candidates(counts, merges=300, min_frequency=min_frequency)
    ranking = found.ranking(by)
    entropies = []
    for size in sizes:
        frequency = found.push_down(token_set(found, ranking[:size]))
        entropies.append(entropy_per_length(frequency, found.lengths, "types"))
    return muv_score(sizes, entropies)


@pytest.mark.parametrize("by", ["frequency", "merge"])
@pytest.mark.parametrize("seed", range(6))
def test_seven_times_the_text_changes_no_choice_of_muv(seed, by):
    once = made_up(seed)
    seven = replace(once, counts=once.counts * np.uint64(7))
    sizes = [20, 40, 60, 90, 120, 150, 200]
    one = chosen_by_muv(once, sizes, 2, by)
    same = chosen_by_muv(seven, sizes, 14, by)
    assert same.best == one.best
    assert same.values == pytest.approx(one.values, rel=1e-9, nan_ok=True)


@given(counted_words, word, st.integers(1, 1000))
def test_adding_a_word_never_makes_a_count_negative(words, added, count):
    """Counts are unsigned: one below zero would be near 2^64."""
    assume(words)
    total = sum(map(len, words)) * 10**12 + len(added) * 1000 + 10**13
    for some in (words, words | {added: words.get(added, 0) + count}):
        found = volt.candidates(counts_of(some), merges=60, min_frequency=1, threads=1)
        curve = found.curve
        for column in (curve.tokens, curve.types, curve.type_length, curve.frequent):
            assert ((column >= 0) & (column <= total)).all()
        assert (found.frequency >= 0).all()
        assert (found.merge_counts <= found.pair_counts).all()
        for size in range(0, found.merges, 7):
            inside = token_set(found, found.ranking("frequency")[:size])
            assert (found.push_down(inside) <= total).all()


@pytest.mark.parametrize("seed", range(5))
def test_muv_of_plain_bpe_is_largest_at_the_first_step(seed):
    """Known property of the method: over BPE, H falls and is convex, so where the sizes start
    decides. (Of H per character, at sizes far enough apart to be no chance of a single merge.)"""
    found = volt.candidates(made_up(seed, types=1500, most=20000), merges=1000)
    curve = found.curve
    rows = np.arange(50, len(curve), 100)
    entropies = curve.entropy_by("occurrences")[rows]
    score = muv_score(curve.size[rows], entropies)
    assert (np.diff(entropies) < 0).all()
    assert score.best == 1
    doubts = judge(score).doubts
    assert "is the first one tried" in doubts[0]
    searched = scored("muv", found, rows=rows, length="occurrences")
    assert (searched.best, searched.stepwise) == (1, True)
    assert np.array_equal(searched.values, score.values, equal_nan=True)
    assert np.array_equal(searched.sizes, curve.size[rows])


# ----------------------------------------------------------------------------------- the registry


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("source", ["bpe:80", "substring:80"])
def test_every_registered_criterion_scores_every_kind_of_candidates(name, source):
    """One value per size, in rows of the embedding table, and a best size that says why."""
    found = volt.candidates(made_up(2, types=120), candidates=source)
    criterion = CRITERIA[name]
    assert criterion.name == name
    assert 20 < len(criterion.meaning) < 80
    assert "\n" not in criterion.meaning
    curve = found.curve
    sizes = curve.size[:: len(curve) // 8]
    quality = Quality(sizes, [np.abs(np.linspace(-0.5, 1, len(sizes))) + 1])
    score = criterion.score(Evidence(found, quality=quality))
    assert score.criterion == name
    assert score.values.shape == score.sizes.shape
    assert curve.size[0] <= score.sizes[0]
    assert score.sizes[-1] <= curve.size[-1]
    assert (np.diff(score.sizes) > 0).all()
    assert not np.isinf(score.values).any()
    # Without a step before it, or without merges, the first size has no value.
    assert np.isnan(score.values[0]) == (score.stepwise or name == "frequency")
    assert judge(score).meaning == criterion.meaning
    assert judge(score).size == score.size
    inside = ~np.isnan(score.values)
    if name == "frequency":  # the largest size that qualifies, not the highest value
        return
    if name == "auto":  # the lowest cost in the range; rounded if that stays inside
        low, high = quality.range
        assert low <= score.size <= high
        inside &= (score.sizes >= low) & (score.sizes <= high)
        if any(size % 8 == 0 for size in range(low, high + 1)):
            inside &= score.sizes % 8 == 0
    best = np.max if criterion.higher_is_better else np.min
    assert score.value == best(score.values[inside])


def test_without_quality_two_criteria_choose_nothing():
    found = volt.candidates(made_up(2, types=120), merges=80)
    for name, criterion in CRITERIA.items():
        assert (criterion.score(Evidence(found)).best is None) == (name in ("auto", "heldout"))


@pytest.mark.parametrize("name", CRITERIA)
def test_every_registered_criterion_decides_when_it_is_named(name):
    lines = [f"{a}{b}{c}" for a in "klmn" for b in "aeio" for c in ("t", "s", "ts")] * 150
    result = volt.learn([lines], criterion=name, merges=60, threads=1)
    assert [verdict.criterion for verdict in result.choices] == list(CRITERIA)
    assert result.choice.criterion == name
    verdict = result.choice.verdict
    assert verdict is not None and verdict.criterion == name
    assert result.choice.size == len(result.vocabulary)
    assert verdict.size == result.choice.size


def test_a_registered_criterion_is_used_without_further_ado():
    """A new file under criteria/ is all that a new criterion needs."""

    def score(evidence):
        sizes = evidence.curve.size
        return Score("small", sizes, -sizes.astype(float), 3)

    one = replace(CRITERIA["mdl"], name="small", meaning="the fourth size of all", score=score)
    lines = ["low lower lowest newest widest"] * 30
    CRITERIA.register(one)
    try:
        result = volt.learn([lines], criterion="small", threads=1)
        assert result.choice.size == len(result.vocabulary) == result.curve.size[3]
        assert result.choices[-1].meaning == "the fourth size of all"
        assert result.choice.splits == (result.choice.size,) * 5
    finally:
        del CRITERIA["small"]
    with pytest.raises(SettingsError, match=r"one of auto, heldout, .*, not .small."):
        volt.learn([lines], criterion="small")
