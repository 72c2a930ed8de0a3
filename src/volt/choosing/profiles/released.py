"""`released`: an emulation of the authors' released code, for people who compare.

Their code differs from their paper. At a size, with the first t merges in the order of merging:

- A merge is the line that a file of merges has for it, `th e</w>`. Its length counts the space and
  the four letters of the mark, and it contains a character if its line does.
- f_j is one plus the counts of all tokens of the segmented corpus that contain the merge's text.
- a_i = n_i / N + 1e-4 for characters that occur three times or more, b_j = f_j len(j) / F + 1e-4.
- D_ij = 0.001 j if merge j contains character i, else 100.
- Plain Sinkhorn-Knopp with the kernel exp(-D), 500 iterations. If a number overflows, or a sum is
  zero, it stops and returns the u and v before.
- "Entropy" is sum p ln(1 + p) over the plan. The size after which it grows most is chosen.
- A merge is kept if, for one of its characters, p_ij times the number of candidates is above
  1e-5 f_j.

The sums of a and b differ: 1.01 and about 5 on real text. So each iteration multiplies u by 1/5 and
v by 5, and after 400 or so they leave the range of a double. By then characters whose u became zero
have lost their mass: what is left of the plan is decided by the order in which numbers overflow,
and so is the choice of a size.

The kernel is exp(-100) in all entries but those on the support, so nothing dense is stored: its
products are sparse ones plus a constant. All other steps, and the order in which numbers are
multiplied, are those of the released code, so that the same numbers overflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from volt.base.errors import InputError
from volt.base.progress import Report
from volt.choosing.paper_sizes import StepsProblem
from volt.choosing.profiles.literal import ProfileStep
from volt.choosing.sizes import fitting_s
from volt.proposing.base import Candidates, Floats, Ids, rows_of, token_set

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WARNING = (
    "profile released imitates the authors' released code, so that others can compare with it: its "
    "iterations overflow, and which number does so first decides the size, so use it to compare, "
    "not to learn a vocabulary"
)
COST = 0.001
"""Cost of a merge that contains the character, times its rank."""
FAR_COST = 100.0
"""Cost of a merge that does not."""
ADDED = 1e-4
"""Added to every share."""
ITERATIONS = 500
LEAST_COUNT = 3
"""Characters that occur less often are left out."""
THRESHOLD = 1e-5
SIZES = range(1000, 10_000, 1000)
"""S, in merges: theirs does not count the alphabet, and ends before the largest size."""


def released_s(candidates: Candidates) -> tuple[list[int], list[str]]:
    """Their sizes, with the alphabet as `StepsProblem` counts it, and what there is to say."""
    alphabet = candidates.alphabet_size
    other = candidates.fixed_rows - (candidates.unknown is not None)
    return fitting_s([alphabet + merges for merges in SIZES], alphabet, candidates.merges, other)


def released_steps(problem: StepsProblem, report: Report = lambda done: None) -> list[ProfileStep]:
    """The vocabulary and its "entropy" at every size of S. Of the problem, only the candidates and
    S matter: the order is that of merging, and the constants are those of the released code."""
    found = problem.candidates
    merges = found.ranking()[: problem.s[-1] - found.alphabet_size]
    lines = written_merges(found, merges)
    counts = character_counts(found)
    used = np.flatnonzero(found.frequency)
    used = used[used != (-1 if found.unknown is None else found.unknown)]
    contained = containing_counts(
        [found.tokens[j] for j in merges.tolist()],
        zip([found.tokens[j] for j in used.tolist()], found.frequency[used].tolist(), strict=True),
    )
    frequency = 1 + np.array(contained, np.float64) / found.unit
    steps: list[ProfileStep] = []
    for number, s in enumerate(problem.s, 1):
        taken = s - found.alphabet_size
        plan = released_plan(lines[:taken], frequency[:taken], counts)
        enough = plan.largest * found.merges > THRESHOLD * frequency[:taken]
        # Not divided by the step, and a rise where Eq. 1 has a fall.
        utility = None if not steps else plan.entropy - steps[-1].entropy
        tokens = merges[:taken]
        steps.append(ProfileStep(
            rows_of(found, tokens[enough]), s, tokens, enough, plan.entropy, utility,
            plan.iterations, {"mass": plan.mass, "overflow": plan.overflow},
        ))  # fmt: skip
        report(number)
    return steps


def written_merges(found: Candidates, merges: Ids) -> list[str]:
    """Each merge as a file of merges has it: `th e</w>`. A token without parents is its text."""
    return [
        f"{found.tokens[left]} {found.tokens[right]}" if left >= 0 else found.tokens[merge]
        for merge, (left, right) in zip(
            merges.tolist(), found.parents[merges].tolist(), strict=True
        )
    ]


def character_counts(found: Candidates) -> dict[str, float]:
    """The characters of the text that occur often enough, and their counts."""
    at = found.frequencies_at([token_set(found, [])])[0]
    counts: dict[str, float] = {}
    for token, text, count in zip(
        at.tokens.tolist(), found.plain_texts(at.tokens), at.frequency.tolist(), strict=True
    ):
        if token != found.unknown:
            counts[text] = counts.get(text, 0) + count / found.unit
    often = {text: count for text, count in counts.items() if count >= LEAST_COUNT}
    if not often:
        raise InputError(
            f"profile released leaves out characters that occur fewer than {LEAST_COUNT} times, "
            "and this text has no others: give it more text"
        )
    return often


def containing_counts(texts: Sequence[str], segmented: Iterable[tuple[str, int]]) -> list[int]:
    """For each text, the counts of all tokens that contain it, added up. Every part of every token
    is looked up once."""
    found = dict.fromkeys(texts, 0)
    lengths = sorted({len(text) for text in texts})
    for token, count in segmented:
        parts = {
            token[start : start + length]
            for length in lengths if length <= len(token)
            for start in range(len(token) - length + 1)
        }  # fmt: skip
        for part in parts & found.keys():
            found[part] += count
    return [found[text] for text in texts]


@dataclass(frozen=True, eq=False)
class ReleasedPlan:
    """What the released code makes of its plan."""

    entropy: float
    """sum p ln(1 + p)."""
    mass: float
    """sum p: 1 + 1e-4 per character, unless characters lost theirs to an overflow."""
    largest: Floats
    """The largest entry of each merge."""
    iterations: int
    overflow: bool
    """Whether the iterations were stopped."""


def released_plan(
    lines: Sequence[str], frequency: Floats, counts: dict[str, float]
) -> ReleasedPlan:
    """The problem at one size, "solved"."""
    from scipy.sparse import csr_array

    row_of = {character: row for row, character in enumerate(counts)}
    contained = [sorted({row_of[c] for c in line if c in row_of}) for line in lines]
    sizes = [len(rows) for rows in contained]
    near = csr_array(
        (
            np.exp(-COST * np.repeat(np.arange(len(lines)), sizes)),
            np.array([row for rows in contained for row in rows], np.int64),
            np.concatenate([[0], np.cumsum(sizes)]),
        ),
        (len(lines), len(counts)),
    )
    supply = np.array([*counts.values()])
    supply = supply / supply.sum() + ADDED
    demand = frequency * np.array([len(line) for line in lines]) / frequency.sum() + ADDED
    with np.errstate(all="ignore"):
        u, v, iterations, overflow = sinkhorn_knopp(near, supply, demand)
        # Row by row: an entry off the support counts, too, where a character is in no merge.
        rows = csr_array(near.T)
        entropy, mass, largest = 0.0, 0.0, np.zeros(len(lines))
        for i, (begin, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            kernel = np.full(len(lines), np.exp(-FAR_COST))
            kernel[rows.indices[begin:end]] = rows.data[begin:end]
            row = u[i] * kernel * v
            entropy += float((row * np.log1p(row)).sum())
            mass += float(row.sum())
            np.maximum(largest, row, out=largest)
    return ReleasedPlan(entropy, mass, largest, iterations, overflow)


def sinkhorn_knopp(
    near: csr_array, supply: Floats, demand: Floats
) -> tuple[Floats, Floats, int, bool]:
    """u and v of the plan u_i K_ij v_j, how many iterations made them, and whether an overflow
    stopped them. `near` is K on its support, merges x characters. There is no test for convergence:
    as the masses differ, the released code's is never passed."""
    from scipy.sparse import csr_array

    far = np.exp(-FAR_COST)
    divided = csr_array((near.data / supply[near.indices], near.indices, near.indptr), near.shape)
    u, v = np.full(supply.size, 1 / supply.size), np.full(demand.size, 1 / demand.size)
    for done in range(ITERATIONS):
        before = u, v
        column_sums = near @ u + (far * u).sum()
        v = demand / column_sums
        u = 1 / (divided.T @ v + (far * v).sum() / supply)
        if not (column_sums.all() and np.isfinite(u).all() and np.isfinite(v).all()):
            return *before, done, True
    return u, v, ITERATIONS, False
