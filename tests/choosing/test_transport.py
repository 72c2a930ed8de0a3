"""Transport against POT, a convex solver and a slow twin; and on every input that is no problem."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import cvxpy
import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.special import logsumexp

from volt import _core, reference
from volt.base.errors import TransportError, VoltError
from volt.choosing.transport_problem import TransportProblem, TransportSolution
from volt.choosing.transport_solver import solve

Floats = NDArray[np.float64]

# --- problems ---------------------------------------------------------------------------------


def from_costs(
    costs: Any, characters: Any, tokens: Any, gamma: float = 1.0, epsilon: float = 0.01
) -> TransportProblem:
    """Any costs on any sparse support, tokens x characters."""
    return TransportProblem(
        csr_array(costs, dtype=float), np.array(characters, float), np.array(tokens, float),
        gamma, epsilon, np.arange(costs.shape[0]),
    )  # fmt: skip


def random_problem(
    generator: np.random.Generator,
    gamma: float = 1.0,
    epsilon: float = 0.0,
    largest: int = 12,
    rare: bool = False,
) -> TransportProblem:
    """Any costs on a random support, and the marginals of a plan that is positive on all of it:
    all of a size, or, with `rare`, over many orders of magnitude."""
    tokens, characters = generator.integers(1, largest, 2)
    support = generator.random((tokens, characters)) < generator.choice([0.2, 0.5, 1.0])
    support[np.arange(tokens), generator.integers(0, characters, tokens)] = True
    support[generator.integers(0, tokens, characters), np.arange(characters)] = True
    if rare:
        plan = support * generator.exponential(size=support.shape) ** 5
    else:
        plan = support * generator.uniform(0.1, 1, support.shape)
    plan /= plan.sum()
    row, column = np.nonzero(support)
    costs = csr_array((generator.random(row.size), (row, column)), support.shape)
    return from_costs(costs, plan.sum(axis=0), plan.sum(axis=1), gamma=gamma, epsilon=epsilon)


def from_words(frequencies: dict[str, int], **options: Any) -> TransportProblem:
    """The paper's problem over plain strings."""
    words = list(frequencies)
    alphabet = sorted(set("".join(words)))
    counts = [[word.count(character) for character in alphabet] for word in words]
    options = {"token_names": words, "character_names": alphabet} | options
    return TransportProblem.from_tokens(
        [len(word) for word in words], list(frequencies.values()), csr_array(counts), **options
    )


def words(largest: int) -> st.SearchStrategy[dict[str, int]]:
    frequency = st.one_of(st.integers(1, 9), st.integers(1, largest))
    return st.dictionaries(st.text("abcdef", min_size=1, max_size=9), frequency, min_size=1)


def dense_costs(problem: TransportProblem) -> Floats:
    dense = np.full(problem.costs.shape, np.inf)
    entries = problem.costs.tocoo()
    dense[entries.row, entries.col] = entries.data
    return dense


# --- judges -----------------------------------------------------------------------------------


def sinkhorn_twin(problem: TransportProblem, rounds: int = 10_000) -> Floats:
    """Generalized Sinkhorn as the books have it: dense, in logarithms, one half step after the
    other. u and v are the logarithms of the scalings of tokens and characters."""
    log_kernel = -dense_costs(problem) / problem.gamma
    log_a = np.log(problem.character_marginal)
    lower, upper = np.log(problem.lower), np.log(problem.upper)
    v = np.zeros(log_a.size)
    for _ in range(rounds):
        reached = logsumexp(log_kernel + v, axis=1)
        u = np.clip(reached, lower, upper) - reached
        before, v = v, log_a - logsumexp(log_kernel + u[:, None], axis=0)
        if np.abs(v - before).max() < 1e-14:
            break
    return np.asarray(np.exp(u[:, None] + log_kernel + v))


def objective(problem: TransportProblem, plan: Floats) -> float:
    on = plan > 0
    cost = (plan[on] * dense_costs(problem)[on]).sum()
    return float(cost + problem.gamma * (plan[on] * np.log(plan[on])).sum())


def assert_optimal(solution: TransportSolution, tolerance: float = 1e-9) -> None:
    """The optimality conditions, measured on the plan. The problem is convex: they suffice."""
    problem, plan = solution.problem, solution.plan.toarray()
    a, b = problem.character_marginal, problem.token_marginal
    mass = plan.sum(axis=1)
    assert solution.converged
    assert np.abs(plan.sum(axis=0) - a).max() <= 1e-13
    assert np.abs(plan.sum(axis=0)[a > 0] / a[a > 0] - 1).max() <= 1e-12
    assert (mass >= problem.lower - tolerance * b).all()
    assert (mass <= problem.upper + tolerance * b).all()
    alpha, beta = solution.character_potentials, solution.token_potentials
    exponent = alpha + beta[:, None] - dense_costs(problem) / problem.gamma
    np.testing.assert_allclose(plan, np.exp(exponent), rtol=1e-9, atol=1e-100)
    # A token is held up only at its lower limit and held down only at its upper one.
    assert (beta[mass > problem.lower * (1 + 1e-8)] <= 1e-9).all()
    assert (beta[mass < problem.upper * (1 - 1e-8)] >= -1e-9).all()
    np.testing.assert_allclose(solution.token_mass, mass, rtol=1e-12)
    assert solution.objective == pytest.approx(objective(problem, plan), abs=1e-12)


# --- the plan is the right one ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_balanced_plan_equals_pot_sinkhorn(seed: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(90):
        problem = random_problem(generator, gamma=float(10 ** generator.uniform(-1, 1)))
        solution = solve(problem)
        expected = ot.sinkhorn(
            problem.character_marginal,
            problem.token_marginal,
            dense_costs(problem).T,
            problem.gamma,
            stopThr=1e-13,
            numItermax=100_000,
        )
        assert np.abs(solution.plan.toarray() - expected.T).max() < 1e-7
        assert_optimal(solution)


def test_cost_tends_to_pot_emd_as_gamma_falls() -> None:
    generator = np.random.default_rng(1)
    for _ in range(25):
        problem = random_problem(generator, epsilon=0.0)
        forbidden = np.where(np.isfinite(dense_costs(problem)), dense_costs(problem), 1e4)
        least = ot.emd2(problem.character_marginal, problem.token_marginal, forbidden.T)
        start, gaps = None, []
        for gamma in (1.0, 0.1, 0.01, 0.001):
            solution = solve(replace(problem, gamma=gamma), start=start)
            gaps.append(solution.cost - least)
            assert -1e-9 <= gaps[-1] <= solution.entropy_cost + 1e-9
            assert solution.entropy_cost <= solution.cost - solution.objective + 1e-12
            # Potentials are exponents: at a tenth of gamma the same prices are ten times as large.
            start = solution.character_potentials * 10
        assert all(after <= before + 1e-9 for before, after in pairwise(gaps))
        assert gaps[-1] < 2e-3


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.5])
def test_relaxed_plan_equals_convex_solver(epsilon: float) -> None:
    generator = np.random.default_rng(7)
    for _ in range(8):
        gamma = float(10 ** generator.uniform(-1, 0.5))
        problem = random_problem(generator, gamma, epsilon, largest=7)
        solution = solve(problem)
        assert_optimal(solution)
        costs = dense_costs(problem)
        on = np.isfinite(costs)
        plan = cvxpy.Variable(costs.shape, nonneg=True)
        program = cvxpy.Problem(
            cvxpy.Minimize(
                cvxpy.sum(cvxpy.multiply(np.where(on, costs, 0), plan))
                - gamma * cvxpy.sum(cvxpy.entr(plan))
            ),
            [
                cvxpy.multiply(plan, ~on) == 0,
                cvxpy.sum(plan, axis=0) == problem.character_marginal,
                cvxpy.sum(plan, axis=1) >= problem.lower,
                cvxpy.sum(plan, axis=1) <= problem.upper,
            ],
        )
        program.solve(solver=cvxpy.CLARABEL)
        assert solution.objective == pytest.approx(program.value, abs=1e-6)
        assert np.abs(solution.plan.toarray() - plan.value).max() < 1e-3


def test_relaxed_plan_equals_slow_twin() -> None:
    generator = np.random.default_rng(3)
    for _ in range(40):
        gamma = float(10 ** generator.uniform(-0.5, 1))
        problem = random_problem(generator, gamma, float(generator.choice([0.0, 0.1, 0.5])))
        np.testing.assert_allclose(
            solve(problem).plan.toarray(), sinkhorn_twin(problem), rtol=1e-6, atol=1e-9
        )


@settings(deadline=None, max_examples=40)
@given(words(10**6), st.sampled_from([0.0, 0.01, 0.3, 2.0]), st.sampled_from([0.05, 1.0, 20.0]))
def test_no_feasible_perturbation_lowers_the_objective(
    frequencies: dict[str, int], epsilon: float, gamma: float
) -> None:
    problem = from_words(frequencies, epsilon=epsilon, gamma=gamma)
    solution = solve(problem)
    plan = solution.plan.toarray()
    # Feasible plans to move towards: each occurrence where it stands, and two other optima.
    others = [
        solve(replace(problem, gamma=gamma / 3, epsilon=epsilon)).plan.toarray(),
        solve(replace(problem, epsilon=epsilon / 2)).plan.toarray(),
    ]
    alphabet = sorted(set("".join(frequencies)))
    spelled = np.array([[f * w.count(c) for c in alphabet] for w, f in frequencies.items()])
    others.append(spelled / spelled.sum())
    for other in others:
        for share in (1e-3, 0.1, 1.0):
            mixed = (1 - share) * plan + share * other
            assert objective(problem, mixed) >= solution.objective - 1e-8


@settings(deadline=None, max_examples=80)
@given(words(10**12), st.sampled_from([0.0, 0.001, 0.01, 0.9995, 5.0]), st.floats(0.01, 50))
def test_the_papers_problem_is_always_solved(
    frequencies: dict[str, int], epsilon: float, gamma: float
) -> None:
    assert_optimal(solve(from_words(frequencies, epsilon=epsilon, gamma=gamma)))


# --- the native sums --------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_native_sums_equal_their_twins(seed: int, paper: bool, wide: bool) -> None:
    """Tokens of one cost take another way through the code than others do, and potentials hundreds
    apart another than near ones; so do few characters for the tokens there are, and many."""
    generator = np.random.default_rng(seed)
    tokens, characters = generator.integers(1, [60, 15])
    on = generator.random((tokens, characters)) < 0.4
    on[np.arange(tokens), generator.integers(0, characters, tokens)] = True
    costs = csr_array(np.where(on, generator.random((tokens, 1 if paper else characters)) + 1, 0))
    potential = generator.normal(scale=300 if wide else 3, size=characters)
    without = generator.random(characters) < 0.2
    rows = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            for row in (costs[[j]] for j in range(tokens))]  # fmt: skip
    for row in rows:  # a token needs a character that has mass
        if all(without[i] for i in row):
            without[next(iter(row))] = False
    potential[without] = -np.inf
    lower = generator.exponential(size=tokens)
    upper = lower * generator.choice([1.0, 1.5, 1e9], tokens)
    gamma = 0.5

    plan, log_sum, mass = np.empty(costs.nnz), np.empty(tokens), np.empty(tokens)
    character_mass = np.empty(characters)
    native = _core.TransportSupport(costs.indptr, costs.indices, characters)
    native.half_step(
        costs.data, gamma, potential, lower, upper, np.log(lower), np.log(upper),
        plan, log_sum, mass, character_mass,
    )  # fmt: skip
    expected, log_sums, masses = reference.transport.token_half_step(
        rows, gamma, potential.tolist(), lower.tolist(), upper.tolist()
    )
    np.testing.assert_allclose(log_sum, log_sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mass, masses, rtol=1e-12)
    flat = [value for row in expected for _, value in sorted(row.items())]
    np.testing.assert_allclose(plan, flat, rtol=1e-10)
    sums = np.zeros(characters)
    np.add.at(sums, costs.indices, flat)
    np.testing.assert_allclose(character_mass, sums, rtol=1e-10)

    weight = generator.choice([0.0, 1.0, 0.3], tokens)
    scale = generator.uniform(0.1, 1, characters)
    value = np.empty(native.couplings)
    native.couple(plan, weight, scale, value)
    pattern = (native.pattern_column, native.pattern_pointer)
    upper_half = csr_array((value, *pattern), (characters, characters)).toarray()
    whole = np.array(reference.transport.coupling(expected, weight.tolist(), scale.tolist()))
    np.testing.assert_allclose(upper_half, np.triu(whole), rtol=1e-9)

    theta = 0.9 / max(1.0, float(np.linalg.eigvalsh(whole)[-1]))
    right, solved = generator.normal(size=characters), np.empty(characters)
    native.solve_coupled(value, theta, 1e-24, right, solved)
    np.testing.assert_allclose(solved - theta * whole @ solved, right, atol=1e-9)


@pytest.mark.parametrize(
    ("pointer", "character", "characters"),
    [([], [], 1), ([0, 1], [], 1), ([0, 0], [], 1), ([0, 2, 1], [0], 1), ([0, 1], [1], 1),
     ([0, 1], [-1], 1), ([0, 2], [1, 0], 2), ([0, 2], [0, 0], 2), ([1, 2], [0, 1], 2)],
)  # fmt: skip
def test_native_support_refuses(pointer: list[int], character: list[int], characters: int) -> None:
    arrays = [np.array(values, np.int32) for values in (pointer, character)]
    with pytest.raises(ValueError, match=r"pointers|characters|support"):
        _core.TransportSupport(*arrays, characters)


def test_native_sums_refuse_arrays_that_do_not_fit() -> None:
    native = _core.TransportSupport(np.array([0, 2], np.int32), np.array([0, 1], np.int32), 2)
    one, two, three = np.ones(1), np.ones(2), np.ones(3)
    with pytest.raises(ValueError, match="does not fit"):
        native.half_step(two, 1.0, two, one, one, one, one, three, one, one, two)
    with pytest.raises(ValueError, match="does not fit"):
        native.couple(two, one, one, np.ones(native.couplings))
    with pytest.raises(ValueError, match="does not fit"):
        native.solve_coupled(np.ones(native.couplings), 0.5, 1e-8, one, two)


# --- the paper's problem ----------------------------------------------------------------------


def test_marginals_and_costs_by_hand() -> None:
    problem = from_words({"a": 2, "b": 1, "ab": 3, "aab": 1, "bb": 0}, epsilon=0.1)
    # Characters spelled: a 2 + 3 + 2, b 1 + 3 + 1; tokens ask for 2, 1, 6, 3 of 12.
    np.testing.assert_allclose(problem.character_marginal, np.array([7, 5]) / 12)
    np.testing.assert_allclose(problem.token_marginal, np.array([2, 1, 6, 3]) / 12)
    np.testing.assert_allclose(problem.lower, np.array([2, 1, 6, 3]) / 12 * 0.9)
    np.testing.assert_allclose(problem.upper, np.array([2, 1, 6, 3]) / 12 * 1.1)
    assert problem.token_ids.tolist() == [0, 1, 2, 3]
    assert problem.token_names == ["a", "b", "ab", "aab"]
    lengths, infinite = np.log([1, 1, 2, 3]), np.inf
    np.testing.assert_allclose(
        dense_costs(problem) - lengths[:, None], [[0, infinite], [infinite, 0], [0, 0], [0, 0]]
    )


def test_plan_by_hand() -> None:
    # No choice: "ab" gets what the single characters leave.
    solution = solve(from_words({"a": 1, "b": 3, "ab": 2}, epsilon=0.0))
    np.testing.assert_allclose(solution.plan.toarray() * 8, [[1, 0], [0, 3], [2, 2]], atol=1e-7)
    # 5 a and 4 b for "aab" and "abb" (3 each) and "ba" (2) and "a" (1): tokens over the same
    # characters take them in the same proportion, the 4 : 4 that "a" leaves.
    solution = solve(from_words({"a": 1, "aab": 1, "abb": 1, "ba": 1}, epsilon=0.0))
    np.testing.assert_allclose(
        solution.plan.toarray() * 9, [[1, 0], [1.5, 1.5], [1.5, 1.5], [1, 1]], atol=1e-7
    )


def test_zero_frequencies_leave_the_problem_but_columns_stay() -> None:
    problem = from_words({"c": 0, "a": 1, "bc": 0, "ab": 5})
    assert problem.token_ids.tolist() == [1, 3]
    assert problem.costs.shape == (2, 3)
    solution = solve(problem)
    assert solution.character_potentials[2] == -np.inf
    assert solution.plan.shape == (2, 3)
    # Its potentials still start a problem in which the character has mass.
    later = from_words({"c": 1, "a": 1, "bc": 2, "ab": 3})
    again = solve(later, start=solution.character_potentials)
    np.testing.assert_allclose(again.token_mass, solve(later).token_mass, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(words(1000))
def test_gamma_changes_nothing_at_epsilon_zero(frequencies: dict[str, int]) -> None:
    sharp = solve(from_words(frequencies, epsilon=0.0, gamma=0.01))
    soft = solve(from_words(frequencies, epsilon=0.0, gamma=10.0))
    np.testing.assert_allclose(sharp.plan.toarray(), soft.plan.toarray(), atol=1e-9)
    assert sharp.cost == pytest.approx(soft.cost, abs=1e-8)
    assert sharp.entropy_cost < 1e-8
    assert sharp.moved < 1e-9


def test_small_gamma_moves_mass_to_short_tokens() -> None:
    frequencies = {"a": 30, "b": 20, "c": 40, "ab": 12, "abc": 9, "bca": 7, "cabbac": 5}
    costs, masses = [], []
    for gamma in (0.01, 1.0, 100.0):
        solution = solve(from_words(frequencies, epsilon=0.2, gamma=gamma))
        assert_optimal(solution)
        costs.append(solution.cost)
        masses.append(solution.token_mass)
    assert costs[0] < costs[1] < costs[2]
    assert masses[0][-1] == pytest.approx(0.8 * solution.problem.token_marginal[-1])


@settings(deadline=None, max_examples=30)
@given(words(1000), st.sampled_from([0.0, 0.1]), st.randoms(use_true_random=False))
def test_order_and_scale_change_nothing(
    frequencies: dict[str, int], epsilon: float, random: Any
) -> None:
    one = solve(from_words(frequencies, epsilon=epsilon))
    shuffled = list(frequencies)
    random.shuffle(shuffled)
    other = solve(from_words({w: frequencies[w] * 7 for w in shuffled}, epsilon=epsilon))
    where = [shuffled.index(word) for word in frequencies]
    np.testing.assert_allclose(one.token_mass, other.token_mass[where], atol=1e-9)


def test_given_character_marginal() -> None:
    counts = csr_array(np.array([[1, 0], [0, 1], [1, 1]]))
    given_shares = TransportProblem.from_tokens(
        [1, 1, 2], [1, 3, 2], counts, character_marginal=[3, 5]
    )
    np.testing.assert_allclose(given_shares.character_marginal, [3 / 8, 5 / 8])
    problem = replace(given_shares, character_marginal=np.array([0.5, 0.5]), epsilon=0.5)
    assert_optimal(solve(problem))


def test_input_is_left_alone() -> None:
    counts = csr_array(
        (np.array([1, 0, 1, 1]), np.array([1, 0, 0, 1]), np.array([0, 2, 4])), (2, 2)
    )
    before = counts.copy()
    problem = TransportProblem.from_tokens([1, 2], [4, 2], counts)
    solve(problem)
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(counts, name), getattr(before, name))
    assert problem.costs.nnz == 3  # a stored count of zero is no occurrence


# --- the solution says what it is -------------------------------------------------------------


def test_errors_are_those_of_the_plan() -> None:
    problem = from_words({"a": 5, "b": 3, "ab": 9, "abc": 4, "c": 1, "cab": 2}, epsilon=0.05)
    for rounds in (1, 2, 5, 2000):
        solution = solve(problem, max_iterations=rounds, check=False)
        mass = solution.plan.toarray().sum(axis=1)
        outside = np.maximum(mass - problem.upper, problem.lower - mass) / problem.token_marginal
        assert solution.token_error == pytest.approx(max(0.0, outside.max()), rel=1e-6, abs=1e-15)
        alpha, beta = solution.character_potentials, solution.token_potentials
        exponent = alpha + beta[:, None] - dense_costs(problem)
        np.testing.assert_allclose(solution.plan.toarray(), np.exp(exponent), rtol=1e-12)
        assert solution.iterations <= rounds
        assert solution.converged == (solution.token_error <= 1e-9)
        assert solution.character_error <= 1e-14
    assert solution.converged
    assert not solve(problem, max_iterations=2, check=False).converged


def test_not_converging_is_an_error() -> None:
    problem = from_words({"a": 5, "b": 3, "ab": 9, "abc": 4, "c": 1, "cab": 2}, epsilon=0.05)
    with pytest.raises(TransportError, match=r"did not converge in 2 iterations: a token marginal"):
        solve(problem, max_iterations=2)
    with pytest.raises(VoltError, match="max_iterations at least 1"):
        solve(problem, max_iterations=0)
    with pytest.raises(TransportError, match="tolerance must be above 0"):
        solve(problem, tolerance=float("nan"))


def test_tolerance_is_kept() -> None:
    problem = from_words({"a": 5, "b": 3, "ab": 9, "abc": 4, "c": 1, "cab": 2}, epsilon=0.05)
    rough, fine = solve(problem, tolerance=1e-3), solve(problem, tolerance=1e-12)
    assert rough.iterations < fine.iterations
    assert fine.token_error <= 1e-12
    assert rough.token_error <= 1e-3


def test_deviation_is_reported() -> None:
    problem = from_words({"a": 5, "b": 3, "ab": 9, "abc": 4, "c": 1, "cab": 2}, epsilon=0.05)
    solution = solve(problem)
    change = solution.token_mass - problem.token_marginal
    assert solution.moved == pytest.approx(np.maximum(change, 0).sum(), abs=1e-12)
    assert 0 < solution.moved <= 0.025
    assert solution.largest_change == pytest.approx(0.05, abs=1e-9)
    assert solution.converged
    assert solution.kept().all()
    balanced = solve(replace(problem, epsilon=0.0))
    assert balanced.token_mass == pytest.approx(problem.token_marginal, rel=1e-8)
    assert not solve(problem, max_iterations=1, check=False).converged


def test_cost_of_the_entropy_is_a_bound() -> None:
    generator = np.random.default_rng(11)
    for _ in range(20):
        problem = random_problem(generator, gamma=0.05, epsilon=0.2, largest=7)
        # Without entropy: the same program with the least cost, to which small gamma comes close.
        least = solve(replace(problem, gamma=0.001)).cost
        solution = solve(problem)
        assert solution.cost - least <= solution.entropy_cost + 1e-9


def test_kept_tokens() -> None:
    frequencies = {"a": 50, "b": 50, "ab": 20, "abab": 10}
    asked = solve(from_words(frequencies, epsilon=0.01))
    assert asked.kept().all()
    # Without a lower limit and with little entropy all goes to the short tokens.
    free = solve(from_words(frequencies, epsilon=1.0, gamma=0.1))
    share = free.token_mass / free.problem.token_marginal
    assert free.kept().tolist() == [True, True, True, False]
    assert share[3] < 0.001 < share[2]
    assert free.kept(threshold=share[2] * 1.01).tolist() == [True, True, False, False]
    # At its lower limit a token has the threshold's share exactly, and stays.
    edge = solve(from_words(frequencies, epsilon=0.999, gamma=0.1))
    assert edge.token_mass[3] == pytest.approx(0.001 * edge.problem.token_marginal[3], rel=1e-6)
    assert edge.kept().all()


# --- speed and numbers at the edge ------------------------------------------------------------


def test_a_chain_takes_few_iterations() -> None:
    # Characters that meet only their neighbours: what one gains travels token by token.
    length = 80
    generator = np.random.default_rng(4)
    plan = np.zeros((2 * length - 1, length))
    plan[np.arange(length), np.arange(length)] = 1e-3
    plan[length + np.arange(length - 1), np.arange(length - 1)] = generator.random(length - 1)
    plan[length + np.arange(length - 1), np.arange(1, length)] = generator.random(length - 1)
    plan /= plan.sum()
    costs = csr_array((plan > 0) * 1.0)
    problem = from_costs(costs, plan.sum(axis=0), plan.sum(axis=1), epsilon=0.0)
    solution = solve(problem)
    assert_optimal(solution)
    np.testing.assert_allclose(solution.plan.toarray(), plan, atol=1e-9)  # there is no other
    assert solution.iterations < 40
    # Sinkhorn's own steps are far from it after ten times as many.
    error = sinkhorn_twin(problem, rounds=500).sum(axis=1) / problem.token_marginal - 1
    assert np.abs(error).max() > 1e-4


def test_warm_start_gives_the_same_plan_sooner() -> None:
    problem = from_words({"a": 50, "b": 9, "ab": 9, "abc": 4, "c": 1, "cab": 2}, epsilon=0.02)
    cold = solve(problem)
    warm = solve(problem, start=cold.character_potentials)
    assert warm.iterations == 1
    np.testing.assert_allclose(warm.plan.toarray(), cold.plan.toarray(), atol=1e-9)
    far = solve(problem, start=np.array([500.0, -500.0, np.nan]))
    np.testing.assert_allclose(far.plan.toarray(), cold.plan.toarray(), atol=1e-9)
    with pytest.raises(TransportError, match="2 start potentials for 3 characters"):
        solve(problem, start=np.zeros(2))


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0])
def test_extreme_numbers(epsilon: float) -> None:
    generator = np.random.default_rng(2)
    frequencies = dict.fromkeys("abcdefghij", 1)
    for length in (2, 3, 5, 9, 30, 100, 400):
        for frequency in (1, 10**6, 10**12):
            frequencies["".join(generator.choice(list("abcdefghij"), length))] = frequency
    for gamma in (0.01, 1.0, 100.0):
        solution = solve(from_words(frequencies, epsilon=epsilon, gamma=gamma))
        assert_optimal(solution)
        for value in (solution.objective, solution.cost, solution.moved, solution.entropy_cost):
            assert np.isfinite(value)
        assert (solution.plan.data > 0).all()


def test_costs_beyond_the_range_of_exp() -> None:
    # exp(-D / gamma) is zero for all but the cheapest entries.
    generator = np.random.default_rng(5)
    for _ in range(20):
        problem = random_problem(generator, gamma=2e-4, epsilon=float(generator.choice([0, 0.1])))
        assert_optimal(solve(problem), tolerance=1e-9)


@pytest.mark.parametrize("seed", [192, 341, 501, 881, 1018])
def test_rare_characters_are_not_thrown_far(seed: int) -> None:
    # A character of next to no mass can be moved by millions of nats at next to no cost, and takes
    # hundreds of iterations to come back.
    generator = np.random.default_rng(seed)
    problem = random_problem(generator, gamma=0.001, epsilon=0.3, largest=16, rare=True)
    solution = solve(problem)
    assert_optimal(solution)
    assert solution.iterations < 200


# --- degenerate, but defined ------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 2.0])
@pytest.mark.parametrize(
    "frequencies",
    [
        {"a": 1},
        {"ab": 7},
        {"a": 3, "aa": 2, "aaa": 1},
        {"a": 5, "b": 5, "ab": 5, "ba": 5},
        {"a": 1, "ab": 10**12},
        {"a": 1, "b": 10**12, "ab": 1},
        {"a": 3, "ab": 2, "x": 1, "xyx": 4, "z": 9},
    ],
    ids=["one", "one token", "one character", "equal", "rare", "frequent", "disconnected"],
)
def test_degenerate_problems_are_solved(frequencies: dict[str, int], epsilon: float) -> None:
    solution = solve(from_words(frequencies, epsilon=epsilon))
    assert_optimal(solution)
    assert (solution.problem.lower >= 0).all()
    assert solution.kept().all()
    assert np.isfinite([solution.moved, solution.largest_change, solution.entropy_cost]).all()


def test_one_character_leaves_no_choice() -> None:
    solution = solve(from_words({"a": 3, "aa": 2, "aaa": 1}, epsilon=0.0))
    np.testing.assert_allclose(solution.token_mass, [0.3, 0.4, 0.3], rtol=1e-12)
    assert solution.iterations == 1


def test_plan_on_the_edge_of_the_support() -> None:
    # Feasible, but only with nothing in the entry that both could use.
    costs = csr_array(np.array([[1.0, 0.0], [1.0, 1.0]]))
    solution = solve(from_costs(costs, [0.5, 0.5], [0.5, 0.5], epsilon=0.0))
    np.testing.assert_allclose(solution.plan.toarray(), [[0.5, 0], [0, 0.5]], atol=1e-9)


def test_characters_without_mass_are_left_out() -> None:
    costs = csr_array(np.array([[1.0, 1.0], [2.0, 1.0]]))
    solution = solve(from_costs(costs, [1.0, 0.0], [0.25, 0.75], epsilon=0.0))
    np.testing.assert_allclose(solution.plan.toarray(), [[0.25, 0], [0.75, 0]], rtol=1e-12)
    assert solution.character_potentials[1] == -np.inf
    assert np.isfinite(solution.objective)


# --- no problem at all ------------------------------------------------------------------------

SQUARE = csr_array(np.array([[1, 0], [1, 1]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, -1], SQUARE), r"token 1 \('xy'\) has frequency -1, which must be a finite"),
        (([1, 2], [np.nan, 1], SQUARE), r"token 0 \('x'\) has frequency nan"),
        (([1, np.inf], [1, 1], SQUARE), r"token 1 \('xy'\) has length inf"),
        (([1, 3], [1, 1], SQUARE), r"token 1 \('xy'\) has length 3, .* number of its characters"),
        (([1], [1, 1], SQUARE), "1 lengths and 2 frequencies"),
        (([1, 2], [0, 0], SQUARE), "no token has a frequency above 0"),
        (([1, 0], [1, 1], csr_array(np.array([[1], [0]]))), r"token 1 \('xy'\) has no characters"),
        (([1, 0], [1, 1], csr_array(np.array([[1, 0], [1, -1]]))), "must be a count above 0"),
    ],
)
def test_bad_tokens(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(TransportError, match=message):
        TransportProblem.from_tokens(*arguments, token_names=["x", "xy"])


def test_token_is_named_by_where_it_came_from() -> None:
    with pytest.raises(TransportError, match=r"token 2 \('b'\) has no characters with mass"):
        from_words({"z": 0, "a": 1, "b": 2}, character_marginal=[1, 0, 0])


def test_many_bad_tokens_are_counted() -> None:
    with pytest.raises(TransportError, match=r"token 0 \('a'\) .* \(and 1 more like it\)"):
        from_words({"a": -1, "b": 2, "c": -1})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a number above 0, not 0"),
        ({"gamma": np.nan}, "gamma must be"),
        ({"epsilon": -0.1}, "epsilon must be a number of at least 0, not -0.1"),
        ({"epsilon": np.inf}, "epsilon must be"),
        ({"gamma": 5e-324}, "gamma not too small"),
        ({"character_marginal": np.array([0.5, 0.6])}, "add up to 1, not 1.1"),
        ({"character_marginal": np.array([1.5, -0.5])}, r"character 1 \('b'\) has marginal -0.5"),
        ({"character_marginal": np.array([1.0, 0.0])}, r"token 1 \('b'\) has no characters with"),
        ({"character_marginal": np.array([1.0])}, "need as many marginals"),
        ({"token_marginal": np.array([0.5, 0.5, 0.0])}, r"token 2 \('ab'\) has marginal 0"),
        ({"token_marginal": np.array([0.5, np.nan, 0.5])}, r"token 1 \('b'\) has marginal nan"),
        ({"costs": csr_array(np.array([[1.0, 0], [0, np.inf], [1, 1]]))}, "must be finite"),
        ({"costs": csr_array(np.array([[1.0, 0], [0, 0], [1, 1]]))}, r"token 1 \('b'\) has no ch"),
        (
            {"costs": csr_array(np.array([[1.0, 0], [1, 0], [1, 0]]))},
            r"character 1 \('b'\) has mass 0.5, but no token contains it; add it",
        ),
        ({"costs": csr_array((np.ones(4), [0, 0, 1, 0], [0, 2, 3, 4]), (3, 2))}, "stored twice"),
    ],
)
def test_bad_problems(changes: dict[str, Any], message: str) -> None:
    problem = from_words({"a": 1, "b": 1, "ab": 1})
    with pytest.raises(TransportError, match=message):
        replace(problem, **changes)


# --- no solution ------------------------------------------------------------------------------


def test_a_character_with_too_much_mass_is_named() -> None:
    problem = from_words({"a": 1, "b": 1, "c": 2, "bc": 2}, epsilon=0.1)
    problem = replace(problem, character_marginal=np.array([0.4, 0.3, 0.3]))
    with pytest.raises(
        TransportError,
        match=r"no solution: the characters 0 \('a'\) carry 0.4 .* accept 0.1375 at most; raise",
    ):
        solve(problem, check=False)


def test_tokens_that_ask_for_too_much_are_named() -> None:
    # The other tokens could take more than is left, so that only the lower limits fail.
    costs = csr_array(np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]]))
    problem = from_costs(costs, [0.1, 0.2, 0.7], [0.3, 0.3, 0.3, 0.3], epsilon=0.1, gamma=2)
    with pytest.raises(TransportError, match=r"made of nothing but the characters 0 ask for 0.27"):
        solve(replace(problem, token_marginal=np.array([0.3, 0.1, 0.4, 0.4])))


def test_total_mass_must_fit() -> None:
    problem = from_words({"a": 1, "b": 1, "ab": 1}, epsilon=0.01)
    with pytest.raises(TransportError, match="no solution"):
        solve(replace(problem, token_marginal=problem.token_marginal * 1.2))
    with pytest.raises(TransportError, match="no solution"):
        solve(replace(problem, token_marginal=problem.token_marginal / 1.2))
    assert_optimal(solve(replace(problem, token_marginal=problem.token_marginal * 1.005)))


def test_infeasible_is_told_from_feasible() -> None:
    generator = np.random.default_rng(8)
    outcomes = {True: 0, False: 0}
    for _ in range(100):
        problem = random_problem(generator, epsilon=float(generator.choice([0.0, 0.3])), largest=9)
        tokens, characters = problem.costs.shape
        problem = replace(problem, token_marginal=generator.dirichlet(np.full(tokens, 0.8)))
        entries = problem.costs.tocoo()
        number = np.arange(entries.nnz)
        ones = np.ones(entries.nnz)
        to_characters = csr_array((ones, (entries.col, number)), (characters, entries.nnz))
        to_tokens = csr_array((ones, (entries.row, number)), (tokens, entries.nnz))
        feasible = linprog(
            np.zeros(entries.nnz),
            A_ub=vstack([to_tokens, -to_tokens]),
            b_ub=np.concatenate([problem.upper, -problem.lower]),
            A_eq=to_characters,
            b_eq=problem.character_marginal,
        ).success
        outcomes[feasible] += 1
        if feasible:
            assert_optimal(solve(problem))
        else:
            with pytest.raises(TransportError, match="no solution"):
                solve(problem)
    assert min(outcomes.values()) >= 20
