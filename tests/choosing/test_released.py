"""The profile `released` against its slow twin and against POT, which the released code calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from ot.bregman import sinkhorn_knopp as pot_sinkhorn_knopp
from scipy.sparse import csr_array

import volt
from volt import reference
from volt.base.errors import InputError
from volt.choosing.paper_sizes import StepsProblem
from volt.choosing.profiles.released import (
    WARNING,
    character_counts,
    containing_counts,
    released_plan,
    released_s,
    released_steps,
    sinkhorn_knopp,
    written_merges,
)
from volt.proposing.base import Candidates, rows_of

corpora = st.dictionaries(
    st.text("abcde", min_size=1, max_size=7), st.integers(1, 40), min_size=3, max_size=8
)


def candidates(counts: dict[str, int], pretokenizer: str = "whitespace") -> Candidates:
    lines = [" ".join([word] * count) for word, count in counts.items()]
    return volt.candidates([lines], pretokenizer=pretokenizer, min_frequency=1)


def steps_problem(found: Candidates, s: list[int]) -> StepsProblem:
    """Its ranking and constants are of no consequence: the profile has its own."""
    return StepsProblem(found, found.ranking("frequency")[::-1], s, "types", 9.0, 9.0, 9.0)


def entropy(plan: NDArray[np.float64]) -> float:
    return float((plan * np.log1p(plan)).sum())


@settings(max_examples=20)
@given(corpora, st.sampled_from(["whitespace", "metaspace"]))
def test_steps_equal_the_slow_twin(counts: dict[str, int], pretokenizer: str) -> None:
    found = candidates(counts, pretokenizer)
    spelled = {("▁" if pretokenizer == "metaspace" else "") + w: n for w, n in counts.items()}
    cut = reference.merges.bpe(spelled, pretokenizer, 10_000, min_frequency=1)
    characters = reference.profiles.character_counts(spelled)
    if max(characters.values()) < 3 or not cut.merges:
        return
    tokens = reference.profiles.token_counts(cut, spelled)
    taken = sorted({max(1, found.merges // 3), found.merges})
    steps = released_steps(steps_problem(found, [found.alphabet_size + n for n in taken]))
    sums = []
    for step, number in zip(steps, taken, strict=True):
        plan, iterations = reference.profiles.released(cut.merges[:number], tokens, characters)
        whole = np.array(plan)
        sums.append(entropy(whole))
        assert step.iterations == iterations
        assert step.entropy == pytest.approx(sums[-1], rel=1e-6, abs=1e-15)
        assert step.details["mass"] == pytest.approx(whole.sum(), rel=1e-6)
        assert step.tokens.tolist() == found.ranking("merge")[:number].tolist()
        assert step.size == rows_of(found, step.kept)
    assert steps[0].muv is None
    for step, before, after in zip(steps[1:], sums, sums[1:], strict=False):
        assert step.muv == pytest.approx(after - before, rel=1e-5, abs=1e-12)


@given(st.integers(0, 2**32), st.floats(0.2, 8))
def test_sinkhorn_knopp_is_that_of_pot(seed: int, ratio: float) -> None:
    """Supply and demand of unequal sums: above a ratio of four or so, numbers overflow."""
    generator = np.random.default_rng(seed)
    merges, characters = generator.integers(1, [25, 8])
    on = generator.random((merges, characters)) < 0.4
    cost = np.where(on, 0.001 * np.arange(merges)[:, None], 100.0)
    supply, demand = generator.random(characters) + 1e-4, generator.random(merges) + 1e-4
    supply /= supply.sum()
    demand *= ratio / demand.sum()
    near = csr_array(np.where(on, np.exp(-cost), 0.0))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        u, v, iterations, overflow = sinkhorn_knopp(near, supply, demand)
        expected, log = pot_sinkhorn_knopp(
            supply, demand, cost.T, 1.0, numItermax=500, stopThr=0, log=True
        )
        plan = u[:, None] * np.exp(-cost.T) * v
    assert iterations == log["niter"] + (not overflow)
    np.testing.assert_allclose(plan, expected, rtol=1e-6, atol=1e-15)


def test_some_overflow_and_some_do_not() -> None:
    short = released_plan(["a b", "b a"], np.array([5.0, 4.0]), {"a": 9, "b": 9})
    assert not short.overflow
    assert short.iterations == 500
    assert short.mass == pytest.approx(1 + 2e-4)
    long = released_plan(["aaaa bbbb</w>", "b aaaa"], np.array([5.0, 4.0]), {"a": 9, "b": 9})
    assert long.overflow
    assert long.iterations < 400


def test_a_merge_is_the_line_of_a_file_of_merges() -> None:
    found = candidates({"low": 9, "lower": 4})
    merges = found.ranking("merge")[:2]
    assert written_merges(found, merges) == ["l o", "lo w</w>"]
    listed = volt.candidates([["low low lower"]], candidates="substring:9", min_frequency=1)
    pieces = listed.ranking()[:2]
    assert written_merges(listed, pieces) == [listed.tokens[i] for i in pieces.tolist()]


def test_a_merge_is_counted_in_all_tokens_that_contain_it() -> None:
    tokens = [("low</w>", 5), ("lowlow", 2), ("w</w>", 1)]
    assert containing_counts(["lo", "w</w>", "xy"], tokens) == [7, 6, 0]


def test_rare_characters_are_left_out() -> None:
    assert character_counts(candidates({"ab": 3, "b": 1, "xy": 2})) == {"a": 3, "b": 4}
    with pytest.raises(InputError, match="fewer than 3 times"):
        character_counts(candidates({"ab": 2, "xy": 1}))


def test_s_counts_merges_and_ends_before_its_last_size() -> None:
    found = candidates({f"{a}{b}{c}": 2 for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuv"})
    s, messages = released_s(found)
    assert len(messages) == 1  # scaled down to the candidates of a small text
    assert len(s) == 9
    assert s[-1] == found.alphabet_size + found.merges
    assert "released" in WARNING


def test_on_multi30k_it_is_what_pot_makes_of_it(volt_data: Callable[[str], Path]) -> None:
    """The choice is decided by overflow, so it is compared with that of POT on the same machine."""
    files = [volt_data("multi30k/train.en"), volt_data("multi30k/train.de")]
    found = volt.candidates(files, pretokenizer="whitespace")
    s, messages = released_s(found)
    assert not messages
    steps = released_steps(steps_problem(found, s))
    counts = character_counts(found)
    lines = written_merges(found, steps[-1].tokens)
    used = np.flatnonzero(found.frequency)
    segmented = zip((found.tokens[i] for i in used), found.frequency[used].tolist(), strict=True)
    texts = [found.tokens[i] for i in steps[-1].tokens.tolist()]
    frequency = np.array(containing_counts(texts, segmented), float) + 1
    on = np.array([[c in line for line in lines] for c in counts])
    supply = np.array([*counts.values()], float)
    supply = supply / supply.sum() + 1e-4
    expected = []
    for step in steps:
        taken = len(step.tokens)
        cost = np.where(on[:, :taken], 0.001 * np.arange(taken), 100.0)
        f, lengths = frequency[:taken], np.array([len(line) for line in lines[:taken]])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = pot_sinkhorn_knopp(
                supply, f * lengths / f.sum() + 1e-4, cost, 1.0, numItermax=500
            )
        expected.append(entropy(plan))
        assert step.details["overflow"]
    np.testing.assert_allclose([step.entropy for step in steps], expected, rtol=1e-9)
    best = max(steps[1:], key=lambda step: step.muv)
    assert best is steps[1 + int(np.diff(expected).argmax())]
