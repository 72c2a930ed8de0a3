"""Transport of characters into tokens: TransportProblem -> solve -> TransportSolution.

The problem. Characters i have mass a_i, tokens j ask for mass b_j, and D_ij is the cost of putting
a unit of character i into token j, infinite where i does not occur in j. Over plans P >= 0 on the
support (the pairs of finite cost)

    minimise     <P, D> - gamma H(P),                   H(P) = -sum_ij P_ij ln P_ij
    subject to   sum_j P_ij = a_i                       every character exactly
                 |sum_i P_ij - b_j| <= epsilon b_j      every token, relative to what it asks for

The solution is P_ij = exp(alpha_i + beta_j - D_ij / gamma), with one potential a character and one
a token; beta_j is zero where a token lies strictly between its limits.

The paper's cost is D_ij = ln len(j), the same for all characters of a token, so the kernel
len(j)^(-1/gamma) is a factor of the token alone. At epsilon = 0 the token potential absorbs it:
every feasible plan has the same cost sum_j b_j ln len(j), and the solution is the plan of largest
entropy on the support. It does not depend on gamma at all; only the objective and the token
potentials do. For epsilon > 0 gamma is the exchange rate between the two terms: a small gamma moves
mass from long tokens to short ones as far as the limits and the characters allow, a large gamma
moves it to wherever the entropy grows.

The solver. For given alpha the best token potentials have a closed form, the token half step of
generalized Sinkhorn: with s_j = ln sum_i exp(alpha_i - D_ij / gamma) a token carries
m_j = clip(exp(s_j), lower_j, upper_j). What is left is a convex problem in alpha alone, a few
hundred to a few thousand numbers: minimise sum_j psi_j(s_j) - sum_i a_i alpha_i with
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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from volt import _core
from volt.base.errors import TransportError

if TYPE_CHECKING:  # SciPy takes a fifth of a second to import: the functions that need it do
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GAMMA = 1.0
EPSILON = 0.01
"""Relative play of a token's mass. docs/method.md has the figures behind it."""
TOLERANCE = 1e-9
"""Largest relative marginal error of a solution that counts as converged."""
THRESHOLD = 0.001
"""A token with less than this share of the mass it asks for is dropped (the paper's figure)."""
MAX_ITERATIONS = 2000

SMALLEST_EXPONENT = _core.SMALLEST_EXPONENT
"""No token's mass falls below exp(this) of what it asks for, and no entry of the plan below
exp(this) of its token's mass. So no character's mass is ever rounded to zero, and its logarithm
exists. What this adds is a hundred orders of magnitude below rounding."""
FEASIBILITY_INTERVAL = 50
"""Iterations between two looks for a proof that the problem has no solution."""


@dataclass(frozen=True, eq=False)
class TransportProblem:
    """What to transport, at which cost, how exactly. Checked when made: bad input is an error."""

    costs: csr_array
    """D, tokens x characters, float64. The support is what is stored: a stored zero costs nothing,
    what is not stored is forbidden."""
    character_marginal: Floats
    """a: shares that add up to 1. A character without mass may stand in tokens; none is moved."""
    token_marginal: Floats
    """b: what each token asks for, above zero."""
    gamma: float
    """Weight of the entropy, above zero."""
    epsilon: float
    """Relative play of each token marginal; 0 is the balanced problem."""
    token_ids: Integers
    """Row r is token `token_ids[r]` of what the problem was made from: not all tokens are in it."""
    token_names: Sequence[str] | None = field(default=None, repr=False)
    """Text of row r, for messages only."""
    character_names: Sequence[str] | None = field(default=None, repr=False)
    """Text of column i, for messages only."""

    @classmethod
    def from_tokens(
        cls,
        lengths: ArrayLike,
        frequencies: ArrayLike,
        token_characters: Any,
        *,
        gamma: float = GAMMA,
        epsilon: float = EPSILON,
        character_marginal: ArrayLike | None = None,
        token_names: Sequence[str] | None = None,
        character_names: Sequence[str] | None = None,
    ) -> TransportProblem:
        """The paper's problem: b_j = f_j len(j) / sum, D_ij = ln len(j).

        `token_characters` is sparse, tokens x characters: how often character i occurs in token j,
        so that each row adds up to the token's length. Tokens of frequency zero ask for nothing and
        are not in the problem: hand over all candidates with their frequencies at one size, and
        `token_ids` says which are in. The characters' shares follow from the tokens unless they are
        given. All characters keep their column, so potentials fit from one size to the next. The
        index arrays of a canonical `token_characters` are shared, not copied.
        """
        from scipy.sparse import csr_array

        length = np.asarray(lengths, dtype=np.float64)
        frequency = np.asarray(frequencies, dtype=np.float64)
        counts = csr_array(token_characters, dtype=np.float64)
        if not (counts.has_canonical_format and counts.data.all()):
            counts = counts.copy()
            counts.sum_duplicates()
            counts.eliminate_zeros()
        tokens = counts.shape[0]
        if length.shape != (tokens,) or frequency.shape != (tokens,):
            raise TransportError(
                f"{tokens} tokens have characters, but there are {length.size} lengths and "
                f"{frequency.size} frequencies: give one of each for every token"
            )
        for what, values in (("length", length), ("frequency", frequency)):
            _refuse(~(np.isfinite(values) & (values >= 0)), "token", token_names, what, values)
        _refuse(np.diff(counts.indptr) == 0, "token", token_names, "characters", "no", _NO_TEXT)
        if not (np.isfinite(counts.data) & (counts.data > 0)).all():
            raise TransportError("how often a character occurs in a token must be a count above 0")
        spelled = np.add.reduceat(counts.data, counts.indptr[:-1])
        _refuse(
            spelled != length,
            "token",
            token_names,
            "length",
            length,
            "which is not the number of its characters; marks that are no text count 0",
        )
        ids = np.flatnonzero(frequency > 0)
        if ids.size == 0:
            raise TransportError("no token has a frequency above 0: there is nothing to transport")
        if ids.size < tokens:
            counts, length, frequency = counts[ids], length[ids], frequency[ids]
        asked = frequency * length
        if character_marginal is None:
            mass = np.asarray(counts.T @ frequency)
        else:
            mass = np.array(character_marginal, dtype=np.float64)
        return cls(
            costs=csr_array(
                (
                    np.repeat(np.log(length), np.diff(counts.indptr)),
                    counts.indices,
                    counts.indptr,
                ),
                counts.shape,
            ),
            # Each by its own sum, so that both add up to 1 and not to two roundings of it.
            character_marginal=mass / (mass.sum() or 1.0),
            token_marginal=asked / asked.sum(),
            gamma=gamma,
            epsilon=epsilon,
            token_ids=ids,
            token_names=None if token_names is None else [token_names[j] for j in ids.tolist()],
            character_names=character_names,
        )

    @classmethod
    def from_costs(
        cls,
        costs: Any,
        character_marginal: ArrayLike,
        token_marginal: ArrayLike,
        *,
        gamma: float = GAMMA,
        epsilon: float = EPSILON,
    ) -> TransportProblem:
        """Any costs on any sparse support, tokens x characters."""
        from scipy.sparse import csr_array, issparse

        if not issparse(costs):
            raise TransportError("costs must be sparse: what they store is the support")
        return cls(
            costs=csr_array(costs, dtype=np.float64),
            character_marginal=np.array(character_marginal, dtype=np.float64),
            token_marginal=np.array(token_marginal, dtype=np.float64),
            gamma=gamma,
            epsilon=epsilon,
            token_ids=np.arange(costs.shape[0]),
        )

    def __post_init__(self) -> None:
        a, b = self.character_marginal, self.token_marginal
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise TransportError(f"gamma must be a number above 0, not {self.gamma}")
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise TransportError(f"epsilon must be a number of at least 0, not {self.epsilon}")
        if self.costs.shape != (b.size, a.size) or 0 in self.costs.shape:
            raise TransportError(
                f"costs of {self.costs.shape[0]} tokens x {self.costs.shape[1]} characters need as "
                f"many marginals, at least one of each; there are {b.size} and {a.size}"
            )
        if not self.costs.has_canonical_format:
            raise TransportError("a cost is stored twice, or out of order: call sum_duplicates()")
        _refuse(~(np.isfinite(a) & (a >= 0)), "character", self.character_names, "marginal", a)
        _refuse(
            ~(np.isfinite(b) & (b > 0)),
            "token",
            self.token_names,
            "marginal",
            b,
            "and a token must ask for a finite mass above 0; leave out those that ask for none",
            self.token_ids,
        )
        if abs(a.sum() - 1) > 1e-9:
            raise TransportError(f"the character marginals must add up to 1, not {a.sum():.12g}")
        _refuse(
            np.diff(self.costs.indptr) == 0,
            "token",
            self.token_names,
            "characters",
            "no",
            _NO_TEXT,
            self.token_ids,
        )
        largest = np.abs(self.costs.data).max()
        if not largest < 1e100 * self.gamma:
            raise TransportError(
                f"stored costs must be finite and gamma not too small for them; the largest cost "
                f"is {largest:g}, gamma {self.gamma:g}"
            )
        contained = np.zeros(a.size, dtype=bool)
        contained[self.costs.indices] = True
        _refuse(
            (a > 0) & ~contained,
            "character",
            self.character_names,
            "mass",
            a,
            "but no token contains it; add it as a token of its own or leave it out",
        )
        has_mass = np.maximum.reduceat(a[self.costs.indices], self.costs.indptr[:-1]) > 0
        _refuse(
            ~has_mass,
            "token",
            self.token_names,
            "characters with mass",
            "no",
            "so nothing can be transported to it; leave it out or correct the marginals",
            self.token_ids,
        )

    @property
    def lower(self) -> Floats:
        """The least mass each token may get."""
        return self.token_marginal * max(0.0, 1 - self.epsilon)

    @property
    def upper(self) -> Floats:
        """The most mass each token may get."""
        return self.token_marginal * (1 + self.epsilon)


@dataclass(frozen=True, eq=False)
class TransportSolution:
    """The plan and what there is to know about it. Errors are measured on the plan itself."""

    problem: TransportProblem
    plan: csr_array
    """P, tokens x characters, stored where the costs are stored."""
    character_potentials: Floats
    """alpha; -inf for a character without mass. They start the solve of the next size."""
    token_potentials: Floats
    """beta: P_ij = exp(alpha_i + beta_j - D_ij / gamma)."""
    token_mass: Floats
    """What each token gets: the row sums of the plan."""
    iterations: int
    """How often the half steps were computed, rejected trial steps included."""
    character_error: float
    """max_i |sum_j P_ij - a_i| / a_i, over characters with mass."""
    token_error: float
    """max_j of the distance of token mass j from its limits, / b_j. The summed distance is no more
    than this times sum_j b_j, which is 1 or near it."""
    objective: float
    """<P, D> - gamma H(P)."""
    cost: float
    """<P, D>."""
    converged: bool
    """Whether both errors are within the tolerance that was asked for."""

    @property
    def moved(self) -> float:
        """Share of all mass that lies in other tokens than asked: half of sum |token_mass - b|."""
        return float(np.abs(self.token_mass - self.problem.token_marginal).sum() / 2)

    @property
    def largest_change(self) -> float:
        """max_j |token_mass_j - b_j| / b_j: epsilon where the play is used up."""
        return float(np.abs(self.token_mass / self.problem.token_marginal - 1).max())

    @property
    def entropy_cost(self) -> float:
        """An upper bound of what the entropy term costs: <P, D> above the least cost of any plan
        within the limits.

        Two lower bounds of that least cost, the better one counts. Filling the cheapest tokens
        first, each at its cheapest character, ignores the characters' mass; at epsilon = 0 with
        the paper's cost it is exact. And gamma alpha, gamma beta satisfy the constraints of the
        dual of the problem without entropy, since no P_ij is above 1; the gap is gamma H(P).
        """
        problem = self.problem
        cheapest = np.minimum.reduceat(problem.costs.data, problem.costs.indptr[:-1])
        order = np.argsort(cheapest, kind="stable")
        lower, play = problem.lower[order], (problem.upper - problem.lower)[order]
        spare = problem.character_marginal.sum() - lower.sum()
        extra = np.clip(spare - (np.cumsum(play) - play), 0, play)
        filled = float(cheapest[order] @ (lower + extra))
        return max(0.0, self.cost - max(filled, self.objective))

    def kept(self, threshold: float = THRESHOLD) -> NDArray[np.bool_]:
        """Tokens (rows of the problem) that get at least `threshold` of the mass they ask for.

        No token is dropped for the solver's own error. With threshold <= 1 - epsilon none can be.
        """
        asked = self.problem.token_marginal
        kept: NDArray[np.bool_] = self.token_mass >= (threshold - self.token_error) * asked
        return kept

    def summary(self, threshold: float = THRESHOLD) -> str:
        """How the plan differs from what was asked, in words."""
        problem = self.problem
        tokens = problem.token_marginal.size
        at_lower = int((self.token_mass <= problem.lower * (1 + 1e-7)).sum())
        at_upper = int((self.token_mass >= problem.upper * (1 - 1e-7)).sum())
        dropped = tokens - int(self.kept(threshold).sum())
        if problem.epsilon == 0:
            relaxed = "epsilon 0: every token gets what it asks for"
        else:
            relaxed = (
                f"epsilon {problem.epsilon:g} moved {self.moved:.3%} of the mass, "
                f"{self.largest_change:.3%} of a token's at most ({at_lower} of {tokens} tokens at "
                f"their lower limit, {at_upper} at their upper)"
            )
        return (
            f"{'converged' if self.converged else 'NOT CONVERGED'} in {self.iterations} "
            f"iterations, marginal errors {self.character_error:.1e} (characters) and "
            f"{self.token_error:.1e} (tokens); {relaxed}; gamma {problem.gamma:g} costs at most "
            f"{self.entropy_cost:.3g} of {self.cost:.3g}; threshold {threshold:g} dropped "
            f"{dropped or 'no'} token{'' if dropped == 1 else 's'}"
        )


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
    support = _Support(problem)
    alpha = support.log_marginal
    if start is not None:
        start = np.asarray(start, dtype=np.float64)
        if start.shape != problem.character_marginal.shape:
            raise TransportError(
                f"{start.size} start potentials for {problem.character_marginal.size} characters: "
                "start from a problem over the same characters"
            )
        alpha = np.where(support.has_mass & np.isfinite(start), start, alpha)

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


class _HalfSteps(NamedTuple):
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

    def improves(self, before: _HalfSteps, step: Floats) -> bool:
        """Whether the step from `before` to here lowered the dual as it should."""
        if abs(self.dual - before.dual) > self.rounding:
            return self.dual <= before.dual - before.promise
        # The difference is lost in rounding. Its trapezoid estimate is not.
        return float((before.excess + self.excess) @ step) < 0


class _Support:
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

    def half_steps(self, alpha: Floats) -> _HalfSteps:
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
        return _HalfSteps(
            plan=plan,
            log_sum=log_sum,
            token_mass=token_mass,
            character_mass=character_mass,
            excess=character_mass - self.marginal,
            sinkhorn=sinkhorn,
            # The character half step multiplies each token's mass by a mean of its a_i / r_i.
            residual=float(np.abs(sinkhorn).max()),
            dual=float(psi.sum() - linear.sum()),
            rounding=1e-15 * float(np.abs(psi, out=psi).sum() + np.abs(linear).sum()),
            promise=float(self.marginal @ sinkhorn - self.marginal.sum() + character_mass.sum()),
        )

    def _where_mass(self, values: Callable[[NDArray[np.bool_]], Floats]) -> Floats:
        """Zero for characters of no mass, whose logarithms do not exist."""
        result = np.zeros(self.marginal.size)
        result[self.has_mass] = values(self.has_mass)
        return result

    def coupling(self, here: _HalfSteps, travel: Floats | float) -> Floats:
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

    def accelerate(self, here: _HalfSteps, coupling: Floats, theta: float) -> Floats:
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
        shown = [_label(int(i), names) for i in characters[:5]]
        more = characters.size - len(shown)
        return f"the characters {', '.join(shown)}" + (f" and {more} more" if more else "")

    def solution(
        self, alpha: Floats, here: _HalfSteps, iterations: int, tolerance: float
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
            objective=problem.gamma * float(character_mass[mass] @ alpha[mass] + token_mass @ beta),
            cost=float(flow @ problem.costs.data),
            converged=max(character_error, token_error) <= tolerance,
        )


def _sum_by(index: NDArray[np.integer[Any]], values: Floats, size: int) -> Floats:
    return np.bincount(index, values, size).astype(np.float64, copy=False)


_NO_TEXT = "so nothing can be transported to it; leave out tokens that stand for no text"


def _refuse(
    bad: NDArray[np.bool_],
    kind: str,
    names: Sequence[str] | None,
    what: str,
    values: Floats | str,
    why: str = "which must be a finite number of at least 0",
    ids: Integers | None = None,
) -> None:
    """Raise for the first token or character that is bad, and say how many there are."""
    if not bad.any():
        return
    index = int(bad.argmax())
    has = f"{values} {what}" if isinstance(values, str) else f"{what} {values[index]:g}"
    more = int(bad.sum()) - 1
    raise TransportError(
        f"{kind} {_label(index, names, ids)} has {has}, {why}"
        + (f" (and {more} more like it)" if more else "")
    )


def _label(index: int, names: Sequence[str] | None, ids: Integers | None = None) -> str:
    number = index if ids is None else int(ids[index])
    return str(number) if names is None else f"{number} ({names[index]!r})"
