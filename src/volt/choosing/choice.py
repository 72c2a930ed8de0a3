"""SizeProblem -> Choice: the third arrow. `learn`, `refit` and `search` all choose here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.workers import begin
from volt.choosing.beside_bpe import BesideBpe, beside_bpe
from volt.choosing.cost import (
    DEFAULT_MODEL,
    Model,
    cost,
    every_size,
    marginal_utility,
    parse_model,
    row_price,
)
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria.auto import cost_alone
from volt.choosing.criteria.base import Evidence, Score
from volt.choosing.entropy import Length
from volt.choosing.paper_sizes import SizeStep, StepsProblem, push_steps
from volt.choosing.profiles import PROFILES, Profile, profile_of
from volt.choosing.quality import (
    Quality,
    QualityProblem,
    SplitQuality,
    combined,
    grid,
    score_split,
)
from volt.choosing.selection import Selectable, SelectionSolution
from volt.choosing.size_problem import SizeProblem
from volt.choosing.sizes import fitting_s, paper_s, parse_sizes
from volt.choosing.splits import number_of_splits, split
from volt.proposing.base import Candidates, Ids, Rank, fill, rows_of
from volt.settings import ChoiceSettings, PaperSizes

NOT_MEASURED = "the text is too short to hold any of it out, so quality was not measured"


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
    splits: tuple[int | None, ...] = ()
    """What it chooses on each split; empty with a single one."""
    measures: str = ""
    """What it measures, and when people use it."""


@dataclass(frozen=True, eq=False)
class Selected:
    """Tokens that transport selected, and how they compare."""

    solution: SelectionSolution
    mu_curve: dict[str, list[float]]
    """`mu` over sizes: the tokens of text that an entry saves there."""
    beside_bpe: BesideBpe | None = None
    """None where nothing was held out."""

    def summary(self) -> dict[str, Any]:
        return {
            "mu": self.mu_curve,
            "one_less": self.solution.one_less,
            "one_more": self.solution.one_more,
            "heldout": None if self.beside_bpe is None else self.beside_bpe.summary(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """The candidates of the vocabulary, and how they were chosen."""

    candidates: Candidates
    chosen: Ids
    """The chosen candidates, by id; the alphabet is in every vocabulary."""
    size: int
    """Rows of the embedding table."""
    criterion: str
    """The one that decided, or `size` where the size was given."""
    verdicts: list[Verdict]
    """One for each criterion."""
    steps: Sequence[SizeStep]
    """The paper's transport at each size of S; empty where the text is too small for it."""
    length: Length
    model: Model
    """The model that the cost of a size is computed for."""
    quality: Quality | None = None
    reason: str = "size"
    """What decided: `cost` or `quality` (for auto), `merges` where there are no more of them,
    `only` where the text gives a single size, `size` where it was given, else the criterion."""
    messages: tuple[str, ...] = ()
    paper_notes: tuple[str, ...] = ()
    """What to know about the paper's sizes, where something else decided."""
    paper_sizes: PaperSizes = "pair"
    """Which sizes the paper's method was tried at."""
    multiple_of: int | None = None
    """What `auto` rounds sizes to; None: 64 rows, below 4,096 rows 8."""
    selected: Selected | None = None
    """Where transport selected the tokens."""

    @property
    def verdict(self) -> Verdict | None:
        """What the criterion that decided says."""
        return next((one for one in self.verdicts if one.criterion == self.criterion), None)

    @property
    def range(self) -> tuple[int, int] | None:
        """The sizes that cost no measurable quality."""
        return None if self.quality is None else self.quality.range

    @property
    def splits(self) -> tuple[int | None, ...]:
        """What each split chose by the criterion that decided."""
        return () if self.verdict is None else self.verdict.splits

    @property
    def mu(self) -> float | None:
        """The tokens of text that the last row saves."""
        if self.selected is not None:
            return self.selected.solution.one_less
        return marginal_utility(self.candidates.curve, self.size, self.candidates.unit)

    @property
    def price(self) -> float | None:
        """What the last row costs, in tokens of text; the cost is lowest where `mu` meets it."""
        return row_price(self.candidates.curve, self.size, self.model, self.candidates.unit)

    @property
    def cheapest(self) -> int:
        """The size with the lowest cost, whatever its quality."""
        sizes, tokens = every_size(self.candidates.curve)
        return int(sizes[np.argmin(cost(tokens, sizes, self.model))])

    @property
    def step(self) -> SizeStep | None:
        """The step of S that was chosen or, by size, lies nearest. Several steps may make
        vocabularies of one size: what one adds, another has as scaffolds."""

        def distance(step: SizeStep) -> tuple[int, bool, int]:
            other = not np.array_equal(step.kept, self.chosen)
            return abs(step.size - self.size), other, step.s

        return min(self.steps, key=distance, default=None)

    def summary(self) -> dict[str, Any]:
        """Plain data, the same for the same text."""
        return {
            "criterion": self.criterion,
            "size": self.size,
            "reason": self.reason,
            "range": None if self.range is None else list(self.range),
            "splits": list(self.splits),
            "mu": self.mu,
            "price": self.price,
            "quality": None if self.quality is None else self.quality.summary(),
            "cost": {
                "model": asdict(self.model),
                "lowest": self.cheapest,
                "last": int(self.candidates.curve.size[-1]),
                "multiple_of": self.multiple_of,
            },
            "bound": None if self.selected is None else self.selected.solution.summary(),
            "selection": None if self.selected is None else self.selected.summary(),
            "choices": [asdict(verdict) for verdict in self.verdicts],
            "steps": [step.summary() for step in self.steps],
            "paper_notes": list(self.paper_notes),
            "paper_sizes": self.paper_sizes,
        }

    def __repr__(self) -> str:
        return f"<Choice: {self.size:,} tokens, decided by {self.reason}>"

    def at_size(self, size: int, rank: Rank | None = None) -> Choice:
        """The same evidence, another size: a step of a ladder."""
        found = self.candidates
        chosen = fill(found, found.ranking(rank), size)
        return replace(self, chosen=chosen, size=size, criterion="size", reason="size")


def fixed_choice(candidates: Candidates, size: int, rank: Rank | None) -> Choice:
    """The best candidates that fill a given size, and no evidence."""
    chosen = fill(candidates, candidates.ranking(rank), size)
    return Choice(
        candidates, chosen, size, "size", [], [], "types", parse_model(DEFAULT_MODEL)
    )  # fmt: skip


def choose_size(problem: SizeProblem) -> Choice:
    """Evaluate every criterion; the one that was named decides, unless the size is given."""
    settings = problem.settings
    model, decided = parse_model(settings.for_model), settings.decided_by
    profile = profile_of(settings.profile, problem.candidates)
    if profile.adapt is not None:
        problem = replace(problem, candidates=profile.adapt(problem.candidates))
    found = problem.candidates
    given: Ids | None = None
    if settings.size is not None:  # an error, before any work, if there is no such size
        given = fill(found, found.ranking(settings.rank), settings.size)
    steps_problem, messages, paper_notes = _paper_problem(found, settings, profile)
    # Transport is solved while the splits are measured: neither needs the other.
    solved = None if steps_problem is None else begin(partial(profile.solve, steps_problem))
    quality, on_splits = measure_quality(problem, model)
    steps = [] if solved is None else solved.result()
    evidence = Evidence(
        found, steps, length=settings.length, quality=quality, model=model,
        multiple_of=settings.multiple_of,
    )  # fmt: skip
    scores = score_all(evidence)
    if quality is None:  # cost alone
        scores["auto"] = cost_alone(scores["auto"])
    verdicts = [
        replace(judge(score), splits=_split_sizes(name, on_splits))
        for name, score in scores.items()
    ]
    chosen = _chosen(evidence, scores[decided], settings.rank) if given is None else given
    choice = Choice(
        found, chosen, settings.size or rows_of(found, chosen),
        decided if given is None else "size", verdicts, steps, settings.length, model, quality,
        multiple_of=settings.multiple_of, paper_notes=tuple(paper_notes),
        paper_sizes=settings.paper_sizes,
    )  # fmt: skip
    choice = replace(choice, reason=_reason(choice))
    verdict = choice.verdict
    said = choice.reason in ("merges", "only")
    if verdict is not None and verdict.size is not None and not said:
        messages += [f"{choice.size:,}: {doubt}" for doubt in verdict.doubts]
    if quality is None:
        messages.append(NOT_MEASURED)
    choice = replace(choice, messages=tuple(messages))
    return _select(choice, found, problem) if isinstance(found, Selectable) else choice


def _select(choice: Choice, found: Selectable, problem: SizeProblem) -> Choice:
    """Transport selects the tokens of the size, on the whole text and, beside BPE, on a part."""
    solution = found.select(choice.size, progress=problem.progress)
    beside = None
    if problem.first_split and problem.merges is not None:
        part, again = problem.first_split[0]
        if isinstance(again, Selectable):
            beside = beside_bpe(
                part, again, problem.merges(part.learn), choice.size, order=problem.settings.order,
                byte_fallback=problem.byte_fallback, threads=problem.threads,
            )  # fmt: skip
    selected = Selected(solution, found.mu_curve(), beside)
    return replace(choice, chosen=solution.chosen, selected=selected)


def _split_sizes(
    criterion: str, on_splits: Sequence[Mapping[str, int | None]]
) -> tuple[int | None, ...]:
    """What a criterion chose on each split; empty if it was asked on none."""
    if not any(criterion in sizes for sizes in on_splits):
        return ()
    return tuple(sizes.get(criterion) for sizes in on_splits)


def score_all(evidence: Evidence) -> dict[str, Score]:
    """The score of each criterion, as far as there is evidence for it."""
    found: dict[str, Score] = {}
    for name, criterion in CRITERIA.items():
        if criterion.needs_steps and not evidence.steps:
            continue
        found[name] = criterion.score(evidence)
    return found


def _paper_problem(
    found: Candidates, settings: ChoiceSettings, profile: Profile
) -> tuple[StepsProblem | None, list[str], list[str]]:
    """What the paper solves, with messages, and those that only concern its own section: there
    where something else decides."""
    if isinstance(found, Selectable):
        return None, [], []
    asked = settings.decided_by == "muv" or settings.sizes is not None
    try:
        problem, told = _steps_problem(found, settings, profile)
    except VoltError as error:
        if asked:
            raise
        return None, [], [f"the paper's transport was not solved: {error}"]
    return (problem, told, []) if asked else (problem, [], told)


def _steps_problem(
    found: Candidates, settings: ChoiceSettings, profile: Profile
) -> tuple[StepsProblem, list[str]]:
    """S, and transport over it; an error where the text is too small for two sizes."""
    if profile.s is not None and settings.sizes is None:
        s, messages = profile.s(found)
    else:
        s, messages = _s(found, settings)
    epsilon = profile.epsilon if settings.epsilon is None else settings.epsilon
    steps_problem = StepsProblem(
        found, found.ranking(settings.rank or "frequency"), s, settings.length, settings.gamma,
        epsilon, settings.threshold,
    )  # fmt: skip
    return steps_problem, [*([profile.warning] if profile.warning else []), *messages]


# ------------------------------------------------------------------------------------------- splits


def measure_quality(
    problem: SizeProblem, model: Model
) -> tuple[Quality | None, list[dict[str, int | None]]]:
    """The quality curve, and what every criterion chooses on each split."""
    settings, found, counts = problem.settings, problem.candidates, problem.counts
    number = settings.splits
    if number is None:
        single = settings.size is not None or not found.exact
        number = 1 if single else number_of_splits(len(counts))
    curve = found.curve
    # A tokenizer that exists may end with merges that the text never uses.
    used = np.flatnonzero(np.diff(curve.tokens, prepend=curve.tokens[0] + 1))
    first, last = int(curve.size[0]), int(curve.size[used[-1]])
    sizes = grid(first, last, len(counts))
    curves: list[SplitQuality] = []
    chosen: list[dict[str, int | None]] = []
    with problem.progress.stage("Quality", number, "part") as report:
        for one in range(number):
            part = split(counts, one, settings.seed)
            if not len(part.learn):
                continue
            again = problem.of_split(part)
            if not problem.first_split:
                problem.first_split.append((part, again))
            if not found.exact:  # measured at its own sizes; as many pieces are as many rows
                own_sizes = again.curve.size - again.curve.size[0] + first
                most = max(last, first + len(own_sizes) - 1)
                sizes = np.minimum(own_sizes, most + 1 - np.arange(len(own_sizes), 0, -1))
            measured = score_split(
                QualityProblem(
                    part, again, sizes, settings.order, problem.byte_fallback, problem.threads
                )
            )
            curves.append(measured)
            if number > 1:
                # Characters that were held out altogether are not rows of the split's vocabulary.
                own = replace(measured, sizes=measured.sizes - first + again.curve.size[0])
                alone = combined([own], settings.order, settings.tolerance)
                chosen.append(_choices_of_split(again, alone, model, settings))
            report(one + 1)
    quality = combined(curves, settings.order, settings.tolerance)
    return quality, [] if quality is None else chosen


def _choices_of_split(
    again: Candidates, quality: Quality | None, model: Model, settings: ChoiceSettings
) -> dict[str, int | None]:
    """What each criterion chooses on one split. MUV goes by pushed-down entropies: transport is
    solved on the whole text only, and the other readings of the paper are not repeated."""
    steps: list[SizeStep] = []
    if settings.profile in (None, "paper"):
        with suppress(VoltError):  # too small for two sizes
            steps = push_steps(_steps_problem(again, settings, PROFILES["paper"])[0])
    evidence = Evidence(
        again, steps, length=settings.length, quality=quality, model=model,
        multiple_of=settings.multiple_of,
    )  # fmt: skip
    return {name: score.size for name, score in score_all(evidence).items()}


# ----------------------------------------------------------------------------------------- choosing


def _s(found: Candidates, settings: ChoiceSettings) -> tuple[list[int], list[str]]:
    """S: what was asked for, in rows, or the paper's, as far as there are candidates."""
    # Rows of the table to the paper's S, which has no fixed rows but one for `<unk>`.
    other = found.fixed_rows - (found.unknown is not None)
    if settings.sizes is None:
        return paper_s(found.alphabet_size, found.in_use, settings.multilingual, other)
    asked = parse_sizes(settings.sizes)
    if len(asked) < 2:
        raise SettingsError(f"`sizes` are two or more, not {settings.sizes!r}")
    return fitting_s([size - other for size in asked], found.alphabet_size, found.in_use, other)


def _chosen(evidence: Evidence, score: Score, rank: Rank | None) -> Ids:
    criterion = CRITERIA[score.criterion]
    if score.size is None:
        unmeasured = criterion.needs_quality and evidence.quality is None
        why = NOT_MEASURED if unmeasured else judge(score).doubts[0]
        raise InputError(
            f"{score.criterion} chooses no size on this text ({why}): use another `criterion`, or "
            "give the `size`"
        )
    if criterion.select is not None:
        return criterion.select(evidence, score)
    found, none = evidence.candidates, np.zeros(0, np.int64)
    # Tokens that must stay may need more rows than the smallest sizes of the curve.
    return fill(found, found.ranking(rank), max(score.size, rows_of(found, none)))


def _reason(choice: Choice) -> str:
    """What decided."""
    if choice.criterion != "auto":
        return choice.criterion
    if len(choice.candidates.curve) == 1:
        return "only"
    if choice.quality is None:
        return "cost"
    low, high = choice.quality.range
    if low <= choice.cheapest <= high:
        at_end = choice.cheapest == int(choice.candidates.curve.size[-1])
        return "merges" if at_end else "cost"
    return "merges" if choice.quality.open_upward and choice.cheapest > high else "quality"


def judge(score: Score) -> Verdict:
    """The best size by one criterion, and whether the data or the list of sizes decided it."""
    criterion = CRITERIA[score.criterion]
    return Verdict(
        criterion=score.criterion,
        size=score.size,
        value=score.value,
        meaning=criterion.meaning,
        doubts=tuple(_doubts(score)),
        measures=criterion.measures,
    )


def _doubts(score: Score) -> list[str]:
    if score.best is None:
        return ["no size meets it"]
    scored = np.flatnonzero(~np.isnan(score.values))
    first, last = int(scored[0]), int(scored[-1])
    if first == last:
        return ["only one size could be scored, so there was nothing to choose from"]
    if score.best == first:
        best = "best size"
        if score.stepwise:
            best = f"best step ({int(score.sizes[first - 1]):,} to {score.size:,})"
        return [f"the {best} is the first one tried, so the list of sizes decided, not the data"]
    if score.best == last:
        best = f"the best size ({score.size:,})"
        if score.tried is not None:
            counted = f"{int(score.tried[last]):,} tokens"
            best = (
                f"the best size, {counted} as the paper counts and {score.size:,} rows of the "
                "embedding table,"
            )
        return [f"{best} is the last one tried, so the list of sizes decided, not the data"]
    return []
