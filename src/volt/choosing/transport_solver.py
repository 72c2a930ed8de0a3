"""The solver of the transport problem: generalized Sinkhorn, accelerated.

For given alpha the best token potentials have a closed form, the token half step of
generalized Sinkhorn: with s_j = ln sum_i exp(alpha_i - D_ij / gamma) a token carries
m_j = clip(exp(s_j), lower_j, upper_j). What is left is a convex problem in alpha alone, a few
hundred to a few thousand numbers: minimize sum_j psi_j(s_j) - sum_i a_i alpha_i with
psi_j' = clip(exp, lower_j, upper_j). Its gradient is r - a, where r_i is the mass of character i
after the token half step, and Sinkhorn's character half step is alpha <- alpha + ln(a / r).

That step alone is slow: where clusters of characters share few tokens, or where limits bind, it
takes thousands of rounds. So the step is multiplied by (I - theta G)^-1, where G is the derivative
of Sinkhorn's map alpha -> alpha + ln(a / r), |C| x |C| and made of the plan. theta = 0 is Sinkhorn,
theta = 1 is Newton's method on ln r = ln a; between them it is the sum of the Sinkhorn steps to
come, each discounted by theta. theta rises with every step that keeps its promise and falls with
every one that does not: `solve` has the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._core import dot, total
from volt.base.errors import TransportError
from volt.choosing.transport_problem import TransportProblem, TransportSolution, label
from volt.proposing.base import Floats

TOLERANCE = 1e-9
"""Largest relative marginal error of a solution that counts as converged."""
MAX_ITERATIONS = 2000

SMALLEST_EXPONENT = _core.SMALLEST_EXPONENT
"""No token's mass falls below exp(this) of what it asks for, and no entry of the plan below
exp(this) of its token's mass. So no character's mass is ever rounded to zero, and its logarithm
exists. What this adds is a hundred orders of magnitude below rounding."""
FEASIBILITY_INTERVAL = 50
"""Iterations between two looks for a proof that the problem has no solution."""


def solve(
    problem: TransportProblem,
    *,
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    check: bool = True,
) -> TransportSolution:
    """The plan that solves the problem; the module's docstring has the mathematics.

    `start`: character potentials of a similar problem over the same characters, such as the
    previous size's. Without convergence this is an error, unless `check=False` asks for the last
    plan as it is, marked `converged=False`. A problem proved infeasible is an error always.

    Each iteration tries one step. It is taken if it lowers the dual by no less than a Sinkhorn step
    is sure to; else it is tried again with a smaller theta, down to Sinkhorn's own step, which is
    always taken. So every step taken makes the progress that Sinkhorn's convergence rests on.
    (Taking steps that halve the residual while the dual rises was tried: two of 7,200 random
    problems then did not end within 2,000 iterations. As it is, none takes more than 269.)
    """
    if not tolerance > 0 or max_iterations < 1:
        raise TransportError(
            f"tolerance must be above 0 and max_iterations at least 1, not {tolerance} and "
            f"{max_iterations}"
        )
    support = Support(problem)
    alpha = support.log_marginal if start is None else support.started(start)

    here = support.half_steps(alpha)
    damping = min(1.0, here.residual)  # theta = 1 / (1 + damping)
    iterations = 1
    travel: Floats | float = 1.0
    coupling: Floats | None = None
    # The residual bounds the error relative to a token's mass, at most 1 + epsilon of what it asks
    # for. Half of the tolerance is left for rounding.
    while here.residual > tolerance / 2 / (1 + problem.epsilon):
        if iterations % FEASIBILITY_INTERVAL == 1:
            support.refuse_infeasible(alpha, tolerance)
        if iterations >= max_iterations:
            break
        if coupling is None:
            coupling = support.coupling(here, travel)
        plain = damping > 100
        step = here.sinkhorn if plain else support.accelerate(here, coupling, 1 / (1 + damping))
        there = support.half_steps(alpha + step)
        iterations += 1
        if plain or there.improves(here, step):
            # 3 and 6: 1,299 iterations over 24 problems (three sizes, epsilon 0 to 0.5, gamma 0.01
            # to 1) against 1,656 with 10 and 20, 1,443 with 2 and 2, 1,513 with 4 and 4. Close to
            # the solution the residual itself says how little damping is needed: 139 iterations
            # over the ten sizes of Europarl against 175 without.
            damping = max(min(damping / 3, there.residual / 10), 1e-10)
            travel = np.abs(there.log_sum - here.log_sum)
            alpha, here, coupling = alpha + step, there, None
        else:
            damping *= 6
        del there  # one plan less in memory while the next is made

    solution = support.solution(alpha, here, iterations, tolerance)
    if check and not solution.converged:
        support.refuse_infeasible(alpha, tolerance)
        raise TransportError(
            f"transport did not converge in {iterations} iterations: a token marginal is off by "
            f"{solution.token_error:.2e} of itself, {tolerance:.2e} was asked for; raise "
            f"max_iterations, gamma ({problem.gamma:g}) or the tolerance"
        )
    return solution


class HalfSteps(NamedTuple):
    """Token half step at some alpha, and the character half step it asks for."""

    plan: Floats  # P on the support after the token half step: tokens exact, characters not
    log_sum: Floats  # s_j
    token_mass: Floats  # m_j
    character_mass: Floats  # r_i
    excess: Floats  # r - a, the gradient of the dual
    sinkhorn: Floats  # ln a - ln r, the character half step
    residual: float  # bound of the relative token error after the character half step
    dual: float  # sum_j psi_j(s_j) - sum_i a_i alpha_i
    rounding: float  # of the dual
    promise: float  # a Sinkhorn step lowers the dual by at least this, KL(a | r)

    def improves(self, before: HalfSteps, step: Floats) -> bool:
        """Whether the step from `before` to here lowered the dual as it should."""
        if abs(self.dual - before.dual) > self.rounding:
            return self.dual <= before.dual - before.promise
        # The difference is lost in rounding. Its trapezoid estimate is not.
        return dot(before.excess + self.excess, step) < 0


class Support:
    """A problem with its limits in logarithms. A character of no mass has potential -inf, and
    nothing is moved from it."""

    def __init__(self, problem: TransportProblem) -> None:
        self.problem = problem
        costs = problem.costs
        self.marginal = problem.character_marginal
        self.has_mass = self.marginal > 0
        with np.errstate(divide="ignore"):
            self.log_marginal = np.log(self.marginal)
        self.pointer = costs.indptr.astype(np.int32, copy=False)
        self.character = costs.indices.astype(np.int32, copy=False)
        self.native = _core.TransportSupport(self.pointer, self.character, self.marginal.size)
        smallest = problem.token_marginal * np.exp(SMALLEST_EXPONENT)
        self.lower, self.upper = np.maximum(problem.lower, smallest), problem.upper
        self.log_lower, self.log_upper = np.log(self.lower), np.log(self.upper)

    def started(self, start: Floats) -> Floats:
        """The potentials of a similar problem, where they say something."""
        start = np.asarray(start, dtype=np.float64)
        if start.shape != self.marginal.shape:
            raise TransportError(
                f"{start.size} start potentials for {self.marginal.size} characters: start from a "
                "problem over the same characters"
            )
        return np.where(self.has_mass & np.isfinite(start), start, self.log_marginal)

    def half_steps(self, alpha: Floats) -> HalfSteps:
        plan = np.empty(self.character.size)
        log_sum, token_mass = np.empty(self.lower.size), np.empty(self.lower.size)
        character_mass = np.empty(self.marginal.size)
        self.native.half_step(
            self.problem.costs.data, self.problem.gamma, alpha,
            self.lower, self.upper, self.log_lower, self.log_upper,
            plan, log_sum, token_mass, character_mass,
        )  # fmt: skip
        sinkhorn = self._where_mass(lambda mass: np.log(self.marginal[mass] / character_mass[mass]))
        # sum_j psi_j: exp(s) between the limits, continued by its tangents outside.
        psi = log_sum - np.clip(log_sum, self.log_lower, self.log_upper)
        psi += 1
        psi *= token_mass
        linear = self._where_mass(lambda mass: self.marginal[mass] * alpha[mass])
        return HalfSteps(
            plan=plan,
            log_sum=log_sum,
            token_mass=token_mass,
            character_mass=character_mass,
            excess=character_mass - self.marginal,
            sinkhorn=sinkhorn,
            # The character half step multiplies each token's mass by a mean of its a_i / r_i.
            residual=float(np.abs(sinkhorn).max()),
            dual=total(psi) - total(linear),
            rounding=1e-15 * float(np.abs(psi, out=psi).sum() + np.abs(linear).sum()),
            promise=dot(self.marginal, sinkhorn) - total(self.marginal) + total(character_mass),
        )

    def _where_mass(self, values: Callable[[NDArray[np.bool_]], Floats]) -> Floats:
        """Zero for characters of no mass, whose logarithms do not exist."""
        result = np.zeros(self.marginal.size)
        result[self.has_mass] = values(self.has_mass)
        return result

    def coupling(self, here: HalfSteps, travel: Floats | float) -> Floats:
        """G: how far a step of each character is undone by the tokens it shares with others.

        G = R^-1/2 P' diag((1 - free) / m) P R^-1/2, with P the plan (tokens x characters), m its
        token and R its character masses. Its eigenvalues lie in 0..1: P' diag(1 / m) P R^-1 moves
        mass and makes none. A token at a limit keeps its mass (free = 0), so what one character
        gains the others lose; a token between its limits (free = 1) couples nothing.

        A step crosses a narrow range as a whole, and the derivative at a point says little about
        it. So `free` is the share of the way, as far as the last step went in either direction,
        that lies between the limits: 833 iterations over 24 problems against 1,299 with the
        derivative.
        """
        reach = np.maximum(travel, 1e-12)
        within = np.minimum(here.log_sum + reach, self.log_upper)
        within -= np.maximum(here.log_sum - reach, self.log_lower)
        free = np.clip(within / (2 * reach), 0, 1)
        scale = self._where_mass(lambda mass: 1 / np.sqrt(here.character_mass[mass]))
        coupling = np.empty(self.native.couplings)
        self.native.couple(here.plan, (1 - free) / here.token_mass, scale, coupling)
        return coupling

    def accelerate(self, here: HalfSteps, coupling: Floats, theta: float) -> Floats:
        """(I - theta G)^-1 times the Sinkhorn step, by conjugate gradients, in coordinates scaled
        by sqrt(r), where G is symmetric.

        The step need not be exact, the next one corrects it: 1e-4 (its square) takes no more steps
        than 1e-14.
        """
        scale = np.sqrt(here.character_mass)
        step = np.empty(scale.size)
        self.native.solve_coupled(coupling, theta, 1e-8, here.sinkhorn * scale, step)
        step = self._where_mass(lambda mass: step[mass] / scale[mass])
        # A rare character's potential can be thrown far without the dual noticing, and would come
        # back by no more than the smallest exponent at a time.
        return step * min(1.0, -SMALLEST_EXPONENT / float(np.abs(step).max()))

    def refuse_infeasible(self, alpha: Floats, tolerance: float) -> None:
        """Raise if the potentials prove that no plan meets the marginals.

        Characters A fit only into tokens that contain one of them: a(A) <= sum of their upper
        limits. Tokens B made of characters A alone take only those: a(A) >= sum of their lower
        limits. If there is no plan some A breaks this (Hall's theorem), and the potentials of such
        an A run away from the others. So the sets to try are the characters above, and those below,
        each gap in their order.
        """
        order = np.argsort(-alpha, kind="stable")  # those of no mass come last
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        first = np.minimum.reduceat(rank[self.character], self.pointer[:-1])
        slack = tolerance * self.problem.token_marginal
        supply = self.marginal[order]
        accepted = _sum_by(first, self.upper + slack, order.size)
        demanded = _sum_by(first, self.lower - slack, order.size)
        rounding = 1e-13
        too_much = np.cumsum(supply) - np.cumsum(accepted)
        too_little = np.cumsum(demanded[::-1]) - np.cumsum(supply[::-1])
        if too_much.max() > rounding:
            top = int(too_much.argmax()) + 1
            raise TransportError(
                f"transport has no solution: {self._list(order[:top])} carry "
                f"{supply[:top].sum():.6g} of the mass, and all tokens that contain them accept "
                f"{self.upper[first < top].sum():.6g} at most; raise epsilon "
                f"({self.problem.epsilon:g}) or correct the marginals"
            )
        if too_little.max() > rounding:
            bottom = int(too_little.argmax()) + 1
            top = order.size - bottom
            raise TransportError(
                f"transport has no solution: tokens made of nothing but {self._list(order[top:])} "
                f"ask for {self.lower[first >= top].sum():.6g} of the mass at least, and these "
                f"carry {supply[top:].sum():.6g}; raise epsilon ({self.problem.epsilon:g}) or "
                "correct the marginals"
            )

    def _list(self, characters: NDArray[np.integer[Any]]) -> str:
        names = self.problem.character_names
        characters = np.sort(characters[self.has_mass[characters]])
        shown = [label(int(i), names) for i in characters[:5]]
        more = characters.size - len(shown)
        return f"the characters {', '.join(shown)}" + (f" and {more} more" if more else "")

    def solution(
        self, alpha: Floats, here: HalfSteps, iterations: int, tolerance: float
    ) -> TransportSolution:
        """The character half step, which makes characters exact, and what to measure after it."""
        from scipy.sparse import csr_array

        problem, mass = self.problem, self.has_mass
        factor = self._where_mass(lambda mass: self.marginal[mass] / here.character_mass[mass])
        flow = here.plan  # in place: nobody needs it before this step any more
        flow *= factor[self.character]
        plan = csr_array((flow, problem.costs.indices, problem.costs.indptr), problem.costs.shape)
        character_mass = plan.T @ np.ones(self.lower.size)
        token_mass = np.add.reduceat(flow, self.pointer[:-1])
        outside = np.abs(token_mass - np.clip(token_mass, self.lower, self.upper))
        character_error = float(np.abs(character_mass[mass] / self.marginal[mass] - 1).max())
        token_error = float((outside / problem.token_marginal).max())
        alpha, beta = alpha + here.sinkhorn, np.log(here.token_mass) - here.log_sum
        return TransportSolution(
            problem=problem,
            plan=plan,
            character_potentials=alpha,
            token_potentials=beta,
            token_mass=token_mass,
            iterations=iterations,
            character_error=character_error,
            token_error=token_error,
            # sum P ln P with ln P_ij = alpha_i + beta_j - D_ij / gamma: the costs cancel.
            objective=problem.gamma
            * (dot(character_mass[mass], alpha[mass]) + dot(token_mass, beta)),
            cost=dot(flow, problem.costs.data),
            converged=max(character_error, token_error) <= tolerance,
        )


def _sum_by(index: NDArray[np.integer[Any]], values: Floats, size: int) -> Floats:
    return np.bincount(index, values, size).astype(np.float64, copy=False)
