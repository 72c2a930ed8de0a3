"""SizeProblem -> Choice: the third arrow. `learn`, `refit` and `search` all choose here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.base.progress import Progress
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria.base import Evidence, Score
from volt.choosing.entropy import Length
from volt.choosing.sizes import fitting_s, paper_s, parse_sizes
from volt.choosing.steps import Step, StepsProblem, solve_steps
from volt.proposing.base import Candidates, Ids, Rank, fill, rows_of
from volt.settings import ChoiceSettings


@dataclass(frozen=True)
class Verdict:
    """What one criterion says: a row of the table that every run prints."""

    criterion: str
    size: int | None
    """Rows of the embedding table. None: no size qualifies, `doubts` says why."""
    value: float | None
    """The criterion's value at the size: the figure that decided."""
    meaning: str
    doubts: tuple[str, ...]
    """Why the list of sizes decided, and not the data; empty if nothing says so."""


@dataclass(frozen=True, eq=False)
class SizeProblem:
    """Candidates, and how to choose among them."""

    candidates: Candidates
    settings: ChoiceSettings
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidates of the vocabulary, and how they were chosen."""

    candidates: Candidates = field(repr=False)
    chosen: Ids = field(repr=False)
    """The chosen candidates, by id; the alphabet is in every vocabulary."""
    size: int
    """Rows of the embedding table."""
    criterion: str
    """The one that decided, or `size` where the size was given."""
    verdicts: list[Verdict]
    """One for each criterion."""
    steps: list[Step] = field(repr=False)
    """The paper's transport at each size of S."""
    length: Length
    messages: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """What the criterion that decided says."""
        return next((one for one in self.verdicts if one.criterion == self.criterion), None)

    @property
    def step(self) -> Step:
        """The step of S that was chosen or, by size, lies nearest. Several steps may make
        vocabularies of one size: what one adds, another has as scaffolds."""

        def distance(step: Step) -> tuple[int, bool, int]:
            other = not np.array_equal(step.kept, self.chosen)
            return abs(step.size - self.size), other, step.s

        return min(self.steps, key=distance)

    def summary(self) -> dict[str, Any]:
        """Plain data, the same for the same text."""
        return {
            "criterion": self.criterion,
            "size": self.size,
            "choices": [asdict(verdict) for verdict in self.verdicts],
            "steps": [step.summary() for step in self.steps],
        }


def choose_size(problem: SizeProblem) -> Choice:
    """Evaluate every criterion; the one that was named decides, unless the size is given."""
    found, settings = problem.candidates, problem.settings
    s, messages = _s(found, settings)
    steps_problem = StepsProblem(
        found, found.ranking(settings.rank or "frequency"), s, settings.length, settings.gamma,
        settings.epsilon, settings.threshold,
    )  # fmt: skip
    with problem.progress.stage("Transport", len(s), "sizes") as report:
        steps = solve_steps(steps_problem, report)
    evidence = Evidence(found, steps, length=settings.length, model_width=settings.model_width)
    scores = {name: criterion.score(evidence) for name, criterion in CRITERIA.items()}
    verdicts = [judge(score) for score in scores.values()]
    if settings.size is not None:
        decided, chosen = "size", fill(found, found.ranking(settings.rank), settings.size)
    else:
        decided = settings.criterion
        chosen = _chosen(evidence, scores[decided], settings.rank)
    size = rows_of(found, chosen)
    for verdict in verdicts:
        if verdict.criterion == decided:
            messages += [f"{size:,}: {doubt}" for doubt in verdict.doubts]
    return Choice(found, chosen, size, decided, verdicts, steps, settings.length, tuple(messages))


def fixed_choice(candidates: Candidates, size: int, rank: Rank | None) -> Choice:
    """The best candidates that fill a given size, and nothing else."""
    chosen = fill(candidates, candidates.ranking(rank), size)
    return Choice(candidates, chosen, size, "size", [], [], "types")


def _s(found: Candidates, settings: ChoiceSettings) -> tuple[list[int], list[str]]:
    """S: what was asked for, in rows, or the paper's, as far as there are candidates."""
    if settings.sizes is None:
        return paper_s(found.alphabet_size, found.in_use, settings.multilingual)
    asked = parse_sizes(settings.sizes)
    if len(asked) < 2:
        raise SettingsError(f"`sizes` are two or more, not {settings.sizes!r}")
    # Rows of the table to the paper's S, which has no fixed rows but one for `<unk>`.
    other = found.fixed_rows - (found.unknown is not None)
    return fitting_s([size - other for size in asked], found.alphabet_size, found.in_use)


def _chosen(evidence: Evidence, score: Score, rank: Rank | None) -> Ids:
    if score.size is None:
        raise InputError(
            f"{score.criterion} chooses no size on this text ({judge(score).doubts[0]}): use "
            "another `criterion`, or give the `size`"
        )
    select = CRITERIA[score.criterion].select
    if select is not None:
        return select(evidence, score)
    found, none = evidence.candidates, np.zeros(0, np.int64)
    # Tokens that must stay may need more rows than the smallest sizes of the curve.
    return fill(found, found.ranking(rank), max(score.size, rows_of(found, none)))


def judge(score: Score) -> Verdict:
    """The best size by one criterion, and whether the data or the list of sizes decided it."""
    return Verdict(
        criterion=score.criterion,
        size=score.size,
        value=score.value,
        meaning=CRITERIA[score.criterion].meaning,
        doubts=tuple(_doubts(score)),
    )


def _doubts(score: Score) -> list[str]:
    if score.best is None:
        return ["no size meets it"]
    scored = np.flatnonzero(~np.isnan(score.values))
    first, last = int(scored[0]), int(scored[-1])
    tried = "S" if score.stepwise else "the sizes tried"
    if first == last:
        return ["only one size could be scored, so there was nothing to choose from"]
    if score.best == first:
        best = "best size"
        if score.stepwise:
            best = f"best step ({int(score.sizes[first - 1]):,} to {score.size:,})"
        return [f"the {best} is the first of {tried}: where it starts decided, not the data"]
    if score.best == last:
        return [
            f"the best size is the last of {tried} ({score.size:,}): where it ends decided, not "
            "the data"
        ]
    return []
