"""Profiles: readings of the paper. `paper` is METHOD 4; the others exist for comparison only."""

from __future__ import annotations

from volt.choosing.steps import Step, StepsProblem, solve_steps


def solve_profile(profile: str | None, problem: StepsProblem | None) -> list[Step]:
    """The entropies at the sizes of S, as the profile reads the paper."""
    return [] if problem is None else solve_steps(problem)
