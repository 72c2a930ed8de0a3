"""`literal`: the paper's transport as its text has it, for people who compare.

What it takes literally, where the paper profile does not (`volt.choosing.paper_sizes`):

- a token's column sums to its probability P(j), not to the characters it spells;
- P(j) comes from the counts of the corpus cut with all candidates: no push-down, so the tokens that
  are left out take their text with them;
- |sum_i P_ij - P(j)| <= epsilon, the same epsilon for every token;
- text is encoded greedily, without scaffolds: `volt.proposing.greedy`, with rule `concat`.

Two corrections stay, because nothing can be computed without them: the kernel exp(-D / gamma) where
Algorithm 1 writes D, which is infinite off the support, and the sign of Eq. 1 where Eq. 3 lost it.

**Supply and demand do not fit.** In Multi30k a full stop is one token in 14, but one character in
69: a column that sums to P(j) asks for five times as many full stops as there are. With a small
epsilon no plan meets both constraints. Algorithm 1 does not notice. Its turns are those of
generalized Sinkhorn, in the section of Peyré and Cuturi that the paper cites:

    u_j = clip((K v)_j, P(j) - epsilon, P(j) + epsilon) / (K v)_j
    v_i = a_i / (K' u)_i

They start from ones and go on "while not converge". u and v then grow without end, but the plan
converges, and that plan is taken. The last turn is the characters', so their constraint, an
equation in the paper, holds exactly. The tokens miss their limits by `missed`, the least mass that
any plan with exact characters can miss them by (the tests compare it with a linear program). The
turns are computed in logarithms, so nothing overflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from volt import _core
from volt.base.errors import SettingsError
from volt.base.progress import Report
from volt.choosing.entropy import entropy_per_length
from volt.choosing.paper_sizes import SizeStep, StepsProblem, utility_of
from volt.proposing.base import Candidates, Floats, rows_of, token_characters, token_set

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WARNING = (
    "profile literal takes the paper's text at its word, so that others can check what it comes "
    "to: supply and demand do not fit and greedy encoding reaches only part of the tokens, so use "
    "it to compare, not to learn a vocabulary"
)
EPSILON = 1e-5
"""The paper has no figure, only "small"."""
MAX_TURNS = 5_000
SETTLED = 1e-9
"""The turns end when nothing grows by more than this share of itself: no entry of the plan, and no
sum on its way back from beyond a limit, where it moves for a long time and the plan does not. What
shrinks may do so for ever: where supply and demand do not fit, some entries end at zero."""
TURNS_BETWEEN_CHECKS = 10
SMALLEST = 1e-130
"""Stands for a lower limit of zero, whose logarithm does not exist."""


@dataclass(frozen=True, eq=False)
class ProfileStep(SizeStep):
    """One size of S by another reading of the paper than volt's own."""

    iterations: int
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else the profile has to say."""

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), "iterations": self.iterations, **self.details}


def literal_steps(problem: StepsProblem, report: Report = lambda done: None) -> list[ProfileStep]:
    """The vocabulary and its entropy at every size of S; `epsilon` is absolute."""
    found, alphabet = problem.candidates, np.arange(problem.candidates.alphabet_size)
    sets = [np.sort(np.concatenate([alphabet, problem.ranking[: s - len(alphabet)]]))
            for s in problem.s]  # fmt: skip
    every = sets[-1]
    spelled, _ = token_characters(found, every)
    supply = _supply(found, spelled[: len(alphabet)])
    # A character that a foreign list of candidates has, but not the text, takes part in nothing.
    used = spelled @ supply > 0
    steps: list[ProfileStep] = []
    for number, (s, tokens) in enumerate(zip(problem.s, sets, strict=True), 1):
        rows = np.searchsorted(every, tokens)
        tokens, rows = tokens[used[rows]], rows[used[rows]]
        frequency = found.frequency[tokens].astype(np.float64)
        if not frequency.any():
            raise SettingsError(
                f"none of the first {s:,} tokens occurs in the text cut with all candidates: "
                "profile literal needs `rank` frequency"
            )
        lengths = found.lengths[tokens].astype(np.float64)
        asked = frequency / frequency.sum()
        plan = settle(spelled[rows], lengths, supply, asked, problem.epsilon, problem.gamma)
        enough = plan.token_mass >= problem.threshold * asked
        if not enough.any():
            raise SettingsError(
                f"threshold {problem.threshold:g} drops every token at {s:,}: lower it"
            )
        # A token's mass is its probability here, so it is not divided by its length.
        entropy = entropy_per_length(plan.token_mass[enough], lengths[enough], problem.length)
        utility = utility_of(s, entropy, steps)
        steps.append(ProfileStep(
            rows_of(found, tokens[enough]), s, tokens, enough, entropy, utility, plan.turns,
            {"missed": plan.missed, "settled": plan.settled},
        ))  # fmt: skip
        report(number)
    return steps


def _supply(found: Candidates, spelled: csr_array) -> Floats:
    """a: the share of each character among all characters of the corpus."""
    at = found.frequencies_at([token_set(found, [])])[0]
    mass = spelled[at.tokens].T @ at.frequency.astype(np.float64)
    return np.asarray(mass / mass.sum())


@dataclass(frozen=True, eq=False)
class SettledPlan:
    """Where the turns of Algorithm 1 end."""

    token_mass: Floats
    turns: int
    settled: bool
    """Whether the plan stopped changing before the turns ran out."""
    missed: float
    """How much mass lies outside the tokens' limits, in all."""


def settle(
    spelled: csr_array, lengths: Floats, supply: Floats, asked: Floats, epsilon: float, gamma: float
) -> SettledPlan:
    """Take turns, the tokens' and the characters', until the plan does not change.

    `spelled` is tokens x characters, and stored where the token contains the character. Every
    token contains one that has a supply.
    """
    pointer = spelled.indptr.astype(np.int32, copy=False)
    character = spelled.indices.astype(np.int32, copy=False)
    support = _core.TransportSupport(pointer, character, supply.size)
    costs = np.repeat(np.log(lengths), np.diff(pointer))
    lower, upper = np.maximum(asked - epsilon, SMALLEST), np.maximum(asked + epsilon, SMALLEST)
    log_lower, log_upper = np.log(lower), np.log(upper)
    has_mass = supply > 0
    potential = np.where(has_mass, 0.0, -np.inf)  # ln v, with v = 1
    plan, log_sum, token_mass = np.empty(costs.size), np.empty(asked.size), np.empty(asked.size)
    character_mass, step = np.empty(supply.size), np.zeros(supply.size)

    def balanced() -> Floats:
        """The plan after the characters' turn."""
        result: Floats = plan * np.exp(step)[character]
        return result

    turns, settled = 0, False
    while turns < MAX_TURNS and not settled:
        turns += 1
        check = turns % TURNS_BETWEEN_CHECKS == 0
        before = (balanced(), log_sum.copy()) if check else None
        support.half_step(
            costs, gamma, potential, lower, upper, log_lower, log_upper,
            plan, log_sum, token_mass, character_mass,
        )  # fmt: skip
        step[has_mass] = np.log(supply[has_mass] / character_mass[has_mass])
        potential += step
        if before is not None:
            moved = log_sum - before[1]
            returning = np.where(log_sum < log_lower, moved, 0)
            returning -= np.where(log_sum > log_upper, moved, 0)
            grown = (balanced() > before[0] * (1 + SETTLED)).any()
            settled = not grown and not (returning > SETTLED).any()
    mass = np.add.reduceat(balanced(), pointer[:-1])
    missed = float(np.abs(mass - np.clip(mass, lower, upper)).sum())
    return SettledPlan(mass, turns, settled, missed)
