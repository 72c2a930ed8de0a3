"""The profile `literal` against its slow twin, against what follows by hand, and on real text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

import volt
from volt import reference
from volt.base.errors import SettingsError
from volt.choosing.entropy import entropy_per_length
from volt.choosing.paper_sizes import StepsProblem, solve_steps
from volt.choosing.profiles import literal
from volt.choosing.profiles.literal import EPSILON, MAX_TURNS, WARNING, literal_steps, settle
from volt.choosing.sizes import paper_s
from volt.proposing.base import Candidates, rows_of

corpora = st.dictionaries(st.text("abcde", min_size=1, max_size=6), st.integers(1, 40), min_size=3)


def candidates(counts: dict[str, int], pretokenizer: str = "whitespace") -> Candidates:
    lines = [" ".join([word] * count) for word, count in counts.items()]
    return volt.candidates([lines], pretokenizer=pretokenizer, min_frequency=1)


def steps_problem(
    found: Candidates, sizes: int = 3, epsilon: float = EPSILON, threshold: float = 0.001
) -> StepsProblem:
    """S of a few sizes, as far as the candidates that occur go."""
    taken = sorted({max(1, found.in_use * part // sizes) for part in range(1, sizes + 1)})
    s = [found.alphabet_size + number for number in taken]
    ranking = found.ranking("frequency")
    return StepsProblem(found, ranking, s, "types", 1.0, epsilon, threshold)


@settings(max_examples=25)
@given(corpora, st.sampled_from(["whitespace", "metaspace"]), st.sampled_from([1e-5, 1e-2, 0.3]))
def test_steps_equal_the_slow_twin(
    counts: dict[str, int], pretokenizer: str, epsilon: float
) -> None:
    found = candidates(counts, pretokenizer)
    spelled = {("▁" if pretokenizer == "metaspace" else "") + w: n for w, n in counts.items()}
    cut = reference.merges.bpe(spelled, pretokenizer, 10_000, min_frequency=1)
    frequency = reference.profiles.token_counts(cut, spelled)
    characters = reference.profiles.character_counts(spelled)
    merged = [left + right for left, right in cut.merges]
    ranked = sorted(merged, key=lambda token: -frequency.get(token, 0))
    problem = steps_problem(found, epsilon=epsilon)
    with patch.object(literal, "MAX_TURNS", 300):  # enough to compare: the twin is slow
        steps = literal_steps(problem)
    assert [step.s for step in steps] == [*problem.s]
    before = None
    for step in steps:
        tokens = [*cut.alphabet, *ranked[: step.s - len(cut.alphabet)]]
        mass = reference.profiles.literal(
            {token: frequency.get(token, 0) for token in tokens}, characters, epsilon,
            step.iterations,
        )  # fmt: skip
        occurring = sum(frequency.get(token, 0) for token in tokens)
        kept = {token for token in tokens
                if mass[token] >= 0.001 * frequency.get(token, 0) / occurring}  # fmt: skip
        assert {found.tokens[i] for i in step.kept.tolist()} == kept
        assert step.dropped == len(tokens) - len(kept)
        lengths = [len(token.removesuffix("</w>")) for token in kept]
        expected = entropy_per_length([mass[token] for token in kept], lengths, "types")
        assert step.entropy == pytest.approx(expected, abs=1e-9)
        assert step.size == rows_of(found, step.kept)
        if before is None:
            assert step.muv is None
        else:
            assert step.muv == -(step.entropy - before.entropy) / (step.s - before.s)
        before = step


def test_where_epsilon_allows_everything_only_the_cost_decides() -> None:
    """Each character is then shared out among its tokens by exp(-ln len / gamma)."""
    spelled = csr_array([[1, 0], [0, 1], [1, 1], [2, 1]])
    lengths, supply = np.array([1.0, 1.0, 2.0, 3.0]), np.array([0.7, 0.3])
    plan = settle(spelled, lengths, supply, np.array([0.4, 0.3, 0.2, 0.1]), 1.0, 0.5)
    weights = lengths**-2
    assert plan.settled
    assert plan.missed == 0
    first = 0.7 * weights / weights[[0, 2, 3]].sum()
    second = 0.3 * weights / weights[1:].sum()
    first[1] = second[0] = 0
    np.testing.assert_allclose(plan.token_mass, first + second, rtol=1e-12)


def test_tokens_that_ask_for_more_than_there_is_get_what_there_is() -> None:
    """Two full stops in ten characters, and half of the tokens: no plan meets both."""
    spelled = csr_array([[1, 0, 0], [0, 1, 1]])  # . and ab
    plan = settle(spelled, np.array([1.0, 2.0]), np.array([0.2, 0.4, 0.4]), np.array([0.5, 0.5]),
                  0.01, 1.0)  # fmt: skip
    assert plan.settled
    np.testing.assert_allclose(plan.token_mass, [0.2, 0.8], rtol=1e-12)
    assert plan.missed == pytest.approx(0.29 * 2)


@given(st.integers(0, 2**32), st.sampled_from([1e-3, 0.01, 0.1]))
def test_no_plan_misses_the_limits_by_less(seed: int, epsilon: float) -> None:
    generator = np.random.default_rng(seed)
    tokens, characters = 6, 4
    on = generator.random((tokens, characters)) < 0.4
    on[np.arange(tokens), generator.integers(0, characters, tokens)] = True
    on[generator.integers(0, tokens, characters), np.arange(characters)] = True
    supply, asked = (generator.dirichlet(np.ones(size)) for size in (characters, tokens))
    plan = settle(csr_array(on.astype(float)), on.sum(axis=1), supply, asked, epsilon, 1.0)
    # Minimize over + under, with each token's mass between lower - under and upper + over.
    row, column = np.nonzero(on)
    mass = csr_array((np.ones(row.size), (row, np.arange(row.size))), (tokens, row.size))
    shares = csr_array((np.ones(row.size), (column, np.arange(row.size))), (characters, row.size))
    one, none = np.eye(tokens), np.zeros((tokens, tokens))
    program = linprog(
        np.repeat([0, 1], [row.size, 2 * tokens]),
        A_ub=np.block([[mass.toarray(), -one, none], [-mass.toarray(), none, -one]]),
        b_ub=np.concatenate([asked + epsilon, -np.maximum(asked - epsilon, 0)]),
        A_eq=np.hstack([shares.toarray(), np.zeros((characters, 2 * tokens))]),
        b_eq=supply,
    )
    assert plan.token_mass.sum() == pytest.approx(1, abs=1e-12)
    assert plan.missed == pytest.approx(program.fun, abs=1e-5 if plan.settled else 1e-3)


def test_counts_are_not_pushed_down() -> None:
    """`low` stands in `lower` only, so it has no count of its own; and a token that is left out
    takes its text with it."""
    found = candidates({"lower": 4, "slow": 3, "ow": 1})
    problem = steps_problem(found, epsilon=1.0)
    first = literal_steps(problem)[0]
    in_text = found.frequency[first.tokens]
    assert in_text.sum() < found.frequency.sum()
    assert set(first.tokens[: found.alphabet_size].tolist()) == set(range(found.alphabet_size))


def test_a_summary_is_plain_and_says_what_was_missed() -> None:
    step = literal_steps(steps_problem(candidates({"x": 20, "abcdefgh": 5, "abcd": 5})))[0]
    summary = step.summary()
    assert summary["kept"] + summary["dropped"] == summary["tokens"] == step.s
    assert summary["missed"] > 0.1  # `x` is two tokens in three and one character in four
    assert summary["settled"] is True
    assert summary["iterations"] == step.iterations < MAX_TURNS
    assert "literal" in WARNING


def test_what_cannot_be_done_is_said() -> None:
    found = candidates({"abab": 5})
    in_order = StepsProblem(found, found.ranking("merge"), [found.alphabet_size + 1], "types",
                            1.0, EPSILON, 0.001)  # fmt: skip
    with pytest.raises(SettingsError, match="`rank` frequency"):
        literal_steps(in_order)
    found = volt.candidates([["ab ab ac b c"]], pretokenizer="whitespace")
    assert found.frequency.all()
    with pytest.raises(SettingsError, match="threshold 1e\\+09 drops every token"):
        literal_steps(steps_problem(found, sizes=1, threshold=1e9))


@pytest.mark.parametrize("epsilon", [1e-5, 1e-4, 1e-3, 1e-2])
def test_on_multi30k_every_epsilon_chooses_the_papers_size(
    volt_data: Callable[[str], Path], epsilon: float
) -> None:
    files = [volt_data("multi30k/train.en"), volt_data("multi30k/train.de")]
    found = volt.candidates(files)
    s, _ = paper_s(found.alphabet_size, found.in_use, False)
    problem = StepsProblem(found, found.ranking("frequency"), s, "types", 1.0, 0.01, 0.001)
    paper = max(solve_steps(problem)[1:], key=lambda step: step.muv)
    steps = literal_steps(replace(problem, epsilon=epsilon))
    assert max(steps[1:], key=lambda step: step.muv).s == paper.s == 10_000
    assert all(step.dropped <= 7 for step in steps)
    assert all(step.details["settled"] for step in steps)
