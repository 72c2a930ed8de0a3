"""Transport that selects: problem, solver, output (METHOD 5).

The symbols of every word are transported into tokens through the word's positions, each exactly
once. A use of a token costs 1, and a token that carries any flow costs `mu`, once. Minimize

    sum_t m_t  +  mu * |{t : m_t > 0, t not a single symbol}|        m_t: uses of t

`mu` is the Lagrange multiplier of "at most K tokens": the marginal utility of a vocabulary entry,
in tokens of text. Rising `mu` walks through all sizes (`walk`); at one size the set is improved by
exchange, and a lower bound says how much better any other set can be (`solve_selection`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import InputError, SettingsError
from volt.base.progress import Progress, Report
from volt.proposing.base import Floats, Ids, Mask
from volt.proposing.fewest import FewestPieces
from volt.proposing.pieces import LearnedPieces, measure_pieces

WEIGHT = 4
"""What an occurrence of a word weighs in the native code."""
COST = 1 << 16
"""A use of a token in the native code, where costs are whole numbers."""
DEAREST = _core.NEVER - 1
"""The highest cost: even the longest token is cheaper symbol by symbol."""
FACTOR, FINE_FACTOR = 1.6, 1.1
"""How far `mu` rises from level to level: over all sizes, and close to one."""
PASSES = 2
"""How often the words are cut at each level."""
FEWEST = 16
"""The walk ends where so few tokens are in use."""
EXCHANGE, LEAST_EXCHANGE, ROUNDS = 0.05, 0.005, 8
"""Share of the tokens that an exchange adds and removes: halved when it gains little."""
LITTLE = 2e-5
STEPS, LEAST_STEPS = 120, 40
"""Steps that tighten the bound: fewer where they no longer change much."""
STEP, FRESH, PATIENCE, SHRINK = 0.3, 0.3, 6, 0.7
"""The length of a step, as a share of Polyak's; the weight of the newest cut in the averages; after
PATIENCE steps without progress, steps become shorter."""
CLOSE = 0.001
"""A set this close to its bound need not be improved."""
LOOSE = 0.02
"""A bound that is further away than this says little about the set."""


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """The words as networks of candidates, of which some are to be selected."""

    candidates: LearnedPieces
    lattice: _core.SelectionLattice = field(repr=False)

    @classmethod
    def of(cls, candidates: LearnedPieces) -> SelectionProblem:
        """The words that the candidates were proposed from. Symbols are always tokens."""
        words = candidates.words
        try:
            lattice = _core.selection_lattice(
                *candidates.keys, np.ones(len(candidates), np.uint8), candidates.alphabet_size,
                words.text, words.offsets, words.counts, words.unit, candidates.marks.native,
                candidates.rule.mode.byte_level, candidates.threads,
            )  # fmt: skip
        except ValueError as error:  # too long, or too many
            raise InputError(f"{error}, or `select='merges'`") from None
        return cls(candidates, lattice)

    @property
    def unit(self) -> int:
        return self.candidates.unit

    def search(self, inside: Mask | NDArray[np.uint8]) -> _core.SelectionSearch:
        return _core.SelectionSearch(self.lattice, inside.astype(np.uint8))

    def tokens(self, weight: float) -> float:
        """Weights of the native code in tokens of text."""
        return weight / WEIGHT / self.unit


@dataclass(frozen=True, eq=False)
class Level:
    """One value of `mu`, and what is used there."""

    mu: float
    """In the weights of the native code."""
    uses: Floats
    """The weight of each token on the cheapest paths."""
    expected: Floats
    """m_t: the average that a use of the token is priced by."""

    @property
    def in_use(self) -> int:
        return int(np.count_nonzero(self.uses))


@dataclass(frozen=True, eq=False)
class Walk:
    """Rising `mu`: fewer and fewer tokens are worth their price."""

    levels: list[Level]

    @cached_property
    def ranking(self) -> Ids:
        """The tokens, those first that are in use at the highest `mu`; then by their uses there,
        then in the order of the source."""
        last = np.zeros(len(self.levels[0].uses), np.int64)
        uses = self.levels[0].uses.copy()
        for number, level in enumerate(self.levels):
            used = level.uses > 0
            last[used], uses[used] = number, level.uses[used]
        return np.lexsort((np.arange(len(last)), -uses, -last))


@dataclass(frozen=True, eq=False)
class SelectionSolution:
    """A set of K tokens, and what there is to know about it."""

    problem: SelectionProblem = field(repr=False)
    inside: Mask = field(repr=False)
    """By candidate outside the alphabet."""
    tokens: int
    """Tokens of the training text cut with this set, in units."""
    bound: int | None
    """No set of as many of these candidates needs fewer, in units; None if it was not computed."""
    steps: int
    """Steps that the bound took."""
    one_less: float
    """Tokens of the training text that the worst token of the set saves."""
    one_more: float
    """Tokens of the training text that the best token outside the set would save."""

    @property
    def chosen(self) -> Ids:
        """The ids of the candidates."""
        return np.flatnonzero(self.inside) + self.problem.candidates.alphabet_size

    @property
    def gap(self) -> float | None:
        """How far the set is above its bound, relative to the set."""
        if self.bound is None or not self.tokens:
            return None
        return 1 - self.bound / self.tokens

    def summary(self) -> dict[str, Any]:
        """Plain data: the field `bound` of choices.json."""
        unit = self.problem.unit
        return {
            "tokens": self.tokens / unit if unit > 1 else self.tokens,
            "least": None if self.bound is None else math.ceil(self.bound / unit),
            "gap": self.gap,
            "tight": self.gap is not None and self.gap <= LOOSE,
            "steps": self.steps,
        }


# --------------------------------------------------------------------------------------- the solver


def walk(problem: SelectionProblem, report: Report = lambda done: None) -> Walk:
    """Slope scaling: a use of a token costs `1 + mu / m_t`, so that rare tokens are expensive."""
    places = _core.count_places(problem.lattice).astype(np.float64)
    level = Level(0.0, places, places)
    levels: list[Level] = []
    mu = float(WEIGHT * problem.unit)
    while not levels or levels[-1].in_use > FEWEST:
        level = _next_level(problem, level, mu)
        levels.append(level)
        mu *= FACTOR
        report(len(levels))
    return Walk(levels)


def _next_level(problem: SelectionProblem, level: Level, mu: float) -> Level:
    """Cut the words at these prices, average `m_t` with the uses, and again."""
    expected, uses = level.expected, level.uses
    for _ in range(PASSES):
        alive = expected >= WEIGHT * problem.unit / 2
        costs = np.full(len(expected), _core.NEVER, np.uint32)
        costs[alive] = np.minimum(COST * (1 + mu / expected[alive]), DEAREST).astype(np.uint32)
        uses = _core.count_uses(problem.lattice, costs, COST).astype(np.float64)
        expected = np.where(alive, (expected + uses) / 2, 0.0)
    return Level(mu, uses, expected)


def solve_selection(
    problem: SelectionProblem,
    path: Walk,
    size: int,
    *,
    certify: bool = True,
    report: Report = lambda done: None,
) -> SelectionSolution:
    """The best set of `size` tokens that was found, and a bound for any such set."""
    if not 0 <= size <= problem.lattice.tokens:
        raise SettingsError(
            f"{size:,} tokens can't be selected from {problem.lattice.tokens:,} candidates"
        )
    found = _improved(problem, _start(problem, path, size), path, size)
    bound, steps = _bound(found, size, report) if certify else (None, 0)
    less, more = problem.search(found.inside), problem.search(found.inside)
    less.prune(size - 1 if size else 0)
    more.grow(size + 1)
    return SelectionSolution(
        problem, found.inside.astype(bool), found.total, bound, steps,
        (less.total - found.total) / problem.unit, (found.total - more.total) / problem.unit,
    )  # fmt: skip


def _start(problem: SelectionProblem, path: Walk, size: int) -> NDArray[np.uint8]:
    """What is in use at the `mu` that leaves about as many tokens."""
    before = next((n for n, one in enumerate(path.levels) if one.in_use <= size), 0)
    if before == 0:  # the first prices leave fewer already
        return (path.levels[0].uses > 0).astype(np.uint8)
    level = path.levels[before - 1]
    while level.in_use > size:
        level = _next_level(problem, level, level.mu * FINE_FACTOR)
    return (level.uses > 0).astype(np.uint8)


def _improved(
    problem: SelectionProblem, inside: NDArray[np.uint8], path: Walk, size: int
) -> _core.SelectionSearch:
    """Exactly `size` tokens, then exchanges: some are added by gain, as many removed by loss, and
    the result is kept if it is better."""
    best = _exactly(problem, problem.search(inside), path, size)
    share = EXCHANGE
    for _ in range(ROUNDS):
        other = problem.search(best.inside)
        other.grow(size + max(1, round(size * share)))
        if other.size == size:
            break
        other.prune(size)
        gained = best.value - other.value
        if gained > 0:
            best = other
        if gained <= LITTLE * best.value:
            share /= 2
        if share < LEAST_EXCHANGE:
            break
    return best


def _exactly(
    problem: SelectionProblem, search: _core.SelectionSearch, path: Walk, size: int
) -> _core.SelectionSearch:
    """Reach the size: by exact losses, by gains and, where nothing is gained any more, with the
    first of the ranking."""
    search.prune(size)
    search.grow(size)
    if search.size == size:
        return search
    inside = search.inside.astype(bool)
    others = path.ranking[~inside[path.ranking]]
    inside[others[: size - search.size]] = True
    return problem.search(inside)


def _bound(found: _core.SelectionSearch, size: int, report: Report) -> tuple[int, int]:
    """Subgradient steps with Polyak's length, along averaged flows. The best bound, rounded up: a
    corpus has a whole number of tokens."""
    unit, slopes = _core.PRICE_UNIT, _core.SLOPE_UNIT**2
    fresh, share = round(FRESH * _core.WHOLE), STEP
    prices = _core.SelectionBound(found, size)
    bound, norm = prices.step(0.0, fresh)
    best, since, marks = bound, 0, [bound]
    for number in range(1, STEPS + 1):
        missing = found.total - bound / unit
        length = share * missing / (norm / slopes) * unit if norm else 0.0
        bound, norm = prices.step(length, fresh)
        since = 0 if bound > best else since + 1
        best = max(best, bound)
        marks.append(best)
        report(number)
        if since == PATIENCE:
            share, since = share * SHRINK, 0
        gap = found.total * unit - best
        still = number >= LEAST_STEPS and best - marks[number // 2] < gap * 0.1
        if gap <= CLOSE * best or still:
            break
    return max(0, -(-best // unit)), number


# ------------------------------------------------------------------------------------- candidates


@dataclass(frozen=True, eq=False, kw_only=True)
class Selectable(FewestPieces):
    """Candidates in the order of a walk, and what is needed to select at one size."""

    problem: SelectionProblem = field(repr=False)
    walk: Walk = field(repr=False)

    @property
    def least(self) -> int:
        """Rows of a vocabulary without any selected token."""
        return self.rows(np.arange(len(self)) < self.alphabet_size)

    def select(
        self, rows: int, *, certify: bool = True, progress: Progress | None = None
    ) -> SelectionSolution:
        """The set that fills a vocabulary of this many rows."""
        with (progress or Progress()).stage("Certifying", STEPS, "steps") as report:
            return solve_selection(
                self.problem, self.walk, rows - self.least, certify=certify, report=report
            )

    def mu_curve(self) -> dict[str, list[float]]:
        """Sizes in rows, and the tokens of text that an entry saves there."""
        mu: dict[int, float] = {}
        for level in self.walk.levels[::-1]:  # from the smallest set on
            size = self.least + level.in_use
            if size > max(mu, default=0):
                mu[size] = self.problem.tokens(level.mu)
        return {"sizes": [*mu], "mu": [*mu.values()]}


def selectable(pieces: LearnedPieces, progress: Progress | None = None) -> Selectable:
    """One pass of rising `mu` ranks the candidates; the curve is measured in that order."""
    progress = progress or Progress()
    with progress.stage("Selecting", unit="levels") as report:
        problem = SelectionProblem.of(pieces)
        path = walk(problem, report)
    found = Selectable(
        **{one.name: getattr(pieces, one.name) for one in fields(pieces)},
        order=path.ranking + pieces.alphabet_size, problem=problem, walk=path,
    )  # fmt: skip
    with progress.stage("Cutting words", found.measured_sizes, "sizes") as report:
        return measure_pieces(found, report)
