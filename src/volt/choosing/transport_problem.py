"""Transport of characters into tokens: the problem and its solution.

The problem. Characters i have mass a_i, tokens j ask for mass b_j, and D_ij is the cost of putting
a unit of character i into token j, infinite where i does not occur in j. Over plans P >= 0 on the
support (the pairs of finite cost)

    minimize     <P, D> - gamma H(P),                   H(P) = -sum_ij P_ij ln P_ij
    subject to   sum_j P_ij = a_i                       every character exactly
                 |sum_i P_ij - b_j| <= epsilon b_j      every token, relative to what it asks for

The solution is P_ij = exp(alpha_i + beta_j - D_ij / gamma), with one potential per character and
one per token; beta_j is zero where a token lies strictly between its limits.

The paper's cost is D_ij = ln len(j), the same for all characters of a token, so the kernel
len(j)^(-1/gamma) is a factor of the token alone. At epsilon = 0 the token potential absorbs it:
every feasible plan has the same cost sum_j b_j ln len(j), and the solution is the plan of largest
entropy on the support. It does not depend on gamma at all; only the objective and the token
potentials do. For epsilon > 0 gamma is the exchange rate between the two terms: a small gamma moves
mass from long tokens to short ones as far as the limits and the characters allow, a large gamma
moves it to wherever the entropy grows.

`volt.choosing.transport_solver` solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from volt._core import dot
from volt.base.errors import TransportError
from volt.proposing.base import Floats

if TYPE_CHECKING:  # SciPy takes a fifth of a second to import: the functions that need it do
    from scipy.sparse import csr_array

Integers = NDArray[np.int64]

GAMMA = 1.0
EPSILON = 0.01
"""Relative tolerance of a token's mass. docs/paper.md has the figures that led to it."""
THRESHOLD = 0.001
"""A token with less than this share of the mass it asks for is dropped (the paper's figure)."""


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
    """Relative tolerance of each token marginal; 0 is the balanced problem."""
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
        _refuse(spelled != length, "token", token_names, "length", length, _MISSPELLED)
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
        costs = np.repeat(np.log(length), np.diff(counts.indptr))
        return cls(
            costs=csr_array((costs, counts.indices, counts.indptr), counts.shape),
            # Each by its own sum, so that both add up to 1 and not to two roundings of it.
            character_marginal=mass / (mass.sum() or 1.0),
            token_marginal=asked / asked.sum(),
            gamma=gamma,
            epsilon=epsilon,
            token_ids=ids,
            token_names=None if token_names is None else [token_names[j] for j in ids.tolist()],
            character_names=character_names,
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

        def refuse_tokens(
            bad: NDArray[np.bool_], what: str, values: Floats | str, why: str
        ) -> None:
            _refuse(bad, "token", self.token_names, what, values, why, self.token_ids)

        refuse_tokens(
            ~(np.isfinite(b) & (b > 0)), "marginal", b,
            "and a token must ask for a finite mass above 0; leave out those that ask for none",
        )  # fmt: skip
        if abs(a.sum() - 1) > 1e-9:
            raise TransportError(f"the character marginals must add up to 1, not {a.sum():.12g}")
        refuse_tokens(np.diff(self.costs.indptr) == 0, "characters", "no", _NO_TEXT)
        largest = np.abs(self.costs.data).max()
        if not largest < 1e100 * self.gamma:
            raise TransportError(
                f"stored costs must be finite and gamma not too small for them; the largest cost "
                f"is {largest:g}, gamma {self.gamma:g}"
            )
        contained = np.zeros(a.size, dtype=bool)
        contained[self.costs.indices] = True
        _refuse(
            (a > 0) & ~contained, "character", self.character_names, "mass", a,
            "but no token contains it; add it as a token of its own or leave it out",
        )  # fmt: skip
        has_mass = np.maximum.reduceat(a[self.costs.indices], self.costs.indptr[:-1]) > 0
        refuse_tokens(
            ~has_mass, "characters with mass", "no",
            "so nothing can be transported to it; leave it out or correct the marginals",
        )  # fmt: skip

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

    @cached_property
    def moved(self) -> float:
        """Share of all mass that went to other tokens than asked: half of sum |token_mass - b|."""
        return float(np.abs(self.token_mass - self.problem.token_marginal).sum() / 2)

    @cached_property
    def largest_change(self) -> float:
        """max_j |token_mass_j - b_j| / b_j: epsilon if the tolerance is used up."""
        return float(np.abs(self.token_mass / self.problem.token_marginal - 1).max())

    @cached_property
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
        filled = dot(cheapest[order], lower + extra)
        return max(0.0, self.cost - max(filled, self.objective))

    def kept(self, threshold: float = THRESHOLD) -> NDArray[np.bool_]:
        """Tokens (rows of the problem) that get at least `threshold` of the mass they ask for.

        No token is dropped for the solver's own error. With threshold <= 1 - epsilon none can be.
        """
        asked = self.problem.token_marginal
        kept: NDArray[np.bool_] = self.token_mass >= (threshold - self.token_error) * asked
        return kept


_MISSPELLED = "which is not the number of its characters; marks that are not text count as 0"
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
        f"{kind} {label(index, names, ids)} has {has}, {why}"
        + (f" (and {more} more like it)" if more else "")
    )


def label(index: int, names: Sequence[str] | None, ids: Integers | None = None) -> str:
    number = index if ids is None else int(ids[index])
    return str(number) if names is None else f"{number} ({names[index]!r})"
