"""The paper's profile: transport at each size of S, each solved from the one before (METHOD 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import SettingsError
from volt.base.progress import Report
from volt.choosing.entropy import Length, entropy_per_length
from volt.choosing.transport_problem import TransportProblem, TransportSolution
from volt.choosing.transport_solver import solve
from volt.proposing.base import Candidates, Ids, rows_of, token_characters, token_set

SHOWN = (
    "iterations", "character_error", "token_error", "moved", "largest_change", "entropy_cost",
)  # fmt: skip
"""What a summary says of a solution."""


@dataclass(frozen=True, eq=False)
class SizeStep:
    """One size of S: the tokens of its vocabulary, and their entropy."""

    size: int
    """Rows of the vocabulary that its tokens make."""
    s: int
    """S_t: the number of candidates that may be used, the alphabet included."""
    tokens: Ids = field(repr=False)
    """Candidates in use at this size, by id."""
    enough: NDArray[np.bool_] = field(repr=False)
    """Which of them are kept."""
    entropy: float
    """H_t by Eq. 2 over the kept tokens, or what a profile calls entropy."""
    muv: float | None
    """What is chosen by: the highest wins, the smaller size on a tie. M_t by Eq. 1, except in the
    profile `released`; the first size has none."""

    @property
    def kept(self) -> Ids:
        """The tokens of this step's vocabulary."""
        return self.tokens[self.enough]

    @property
    def dropped(self) -> int:
        """Tokens in use that the threshold dropped."""
        return int((~self.enough).sum())

    def summary(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "s": self.s,
            "tokens": len(self.tokens),
            "kept": len(self.kept),
            "dropped": self.dropped,
            "entropy": self.entropy,
            "muv": self.muv,
        }


@dataclass(frozen=True, eq=False)
class Step(SizeStep):
    """One size of S with its transport problem, solved."""

    solution: TransportSolution = field(repr=False)

    def summary(self) -> dict[str, Any]:
        return super().summary() | {name: getattr(self.solution, name) for name in SHOWN}


@dataclass(frozen=True, eq=False)
class StepsProblem:
    """S over these candidates, and the constants of the transport problem."""

    candidates: Candidates
    ranking: Ids
    s: Sequence[int]
    length: Length
    gamma: float
    epsilon: float
    threshold: float
    """Tokens that get less than this share of the mass they ask for are dropped."""


def push_steps(problem: StepsProblem) -> list[SizeStep]:
    """The entropies of the frequencies that the tokens of each size have, without transport: what
    a split is judged by. All tokens are kept."""
    found, alphabet = problem.candidates, problem.candidates.alphabet_size
    sets = [token_set(found, problem.ranking[: s - alphabet]) for s in problem.s]
    steps: list[SizeStep] = []
    for s, at in zip(problem.s, found.frequencies_at(sets), strict=True):
        entropy = entropy_per_length(at.frequency, found.lengths[at.tokens], problem.length)
        utility = utility_of(s, entropy, steps)
        size, every = rows_of(found, at.tokens), np.ones(len(at.tokens), bool)
        steps.append(SizeStep(size, s, at.tokens, every, entropy, utility))
    return steps


def utility_of(s: int, entropy: float, before: Sequence[SizeStep]) -> float | None:
    """M_t by Eq. 1; the first size has none."""
    return -(entropy - before[-1].entropy) / (s - before[-1].s) if before else None


def solve_steps(problem: StepsProblem, report: Report = lambda done: None) -> list[Step]:
    """Solve the transport problem at every size, each starting from the one before."""
    found, alphabet = problem.candidates, problem.candidates.alphabet_size
    sets = [token_set(found, problem.ranking[: s - alphabet]) for s in problem.s]
    frequencies = found.frequencies_at(sets)
    used = np.unique(np.concatenate([at.tokens for at in frequencies]))
    spelled, characters = token_characters(found, used)
    lengths = found.lengths.astype(np.float64)
    steps: list[Step] = []
    start: NDArray[np.float64] | None = None
    for number, (s, at) in enumerate(zip(problem.s, frequencies, strict=True), 1):
        transport = TransportProblem.from_tokens(
            lengths[at.tokens], at.frequency, spelled[np.searchsorted(used, at.tokens)],
            gamma=problem.gamma, epsilon=problem.epsilon,
            token_names=[found.tokens[t] for t in at.tokens.tolist()], character_names=characters,
        )  # fmt: skip
        solution = solve(transport, start=start)
        start = solution.character_potentials
        enough = solution.kept(problem.threshold)
        if not enough.any():
            raise SettingsError(
                f"threshold {problem.threshold:g} drops every token at {s:,}: lower it"
            )
        kept = lengths[at.tokens[enough]]
        entropy = entropy_per_length(solution.token_mass[enough] / kept, kept, problem.length)
        utility = utility_of(s, entropy, steps)
        size = rows_of(found, at.tokens[enough])
        steps.append(Step(size, s, at.tokens, enough, entropy, utility, solution))
        report(number)
    return steps
