"""Profiles: readings of the paper. `paper` is METHOD 4; the others exist for comparison only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from volt.base.errors import SettingsError
from volt.base.registry import Registry
from volt.choosing.paper_sizes import SizeStep, StepsProblem, solve_steps
from volt.choosing.profiles.literal import EPSILON, literal_steps
from volt.choosing.profiles.literal import WARNING as LITERAL_WARNING
from volt.choosing.profiles.released import WARNING as RELEASED_WARNING
from volt.choosing.profiles.released import released_s, released_steps
from volt.proposing.base import Candidates
from volt.proposing.greedy import greedy


@dataclass(frozen=True)
class Profile:
    """One way to read the paper."""

    name: str
    solve: Callable[[StepsProblem], Sequence[SizeStep]]
    """The vocabulary and its entropy at each size of S."""
    epsilon: float = 0.01
    warning: str = ""
    s: Callable[[Candidates], tuple[list[int], list[str]]] | None = None
    """Its own S; None: the paper's."""
    adapt: Callable[[Candidates], Candidates] | None = None
    """How its vocabularies cut text, if not as the candidates do."""


PROFILES: Registry[Profile] = Registry(
    "profile",
    [
        Profile("paper", solve_steps),
        Profile("literal", literal_steps, EPSILON, LITERAL_WARNING, adapt=greedy),
        Profile("released", released_steps, warning=RELEASED_WARNING, s=released_s),
    ],
)


def profile_of(name: str | None, candidates: Candidates) -> Profile:
    """The profile by name; `paper` without one."""
    if name in ("literal", "released") and not candidates.exact:
        raise SettingsError(f"`profile={name}` is for the candidates of BPE")
    return PROFILES[name or "paper"]
