"""The summary that `volt learn` ends with: at most a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.report.answer import (
    CriterionRow,
    answer,
    criterion_rows,
    marginal_line,
    quality_points,
    share,
)
from volt.report.data import corpus_figures
from volt.result import LearnResult

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-=+*#@"
SPARK_WIDTH = 60
PARTS, MEASURES = "parts of the text", "what it measures"
LEAST_WIDTH = 36
"""Columns that a sentence in a table needs; with fewer it goes on at the start of the next line."""
CLIPPED = 10
"""Tolerances of quality that the small curve shows; what loses more has full height."""


@dataclass(frozen=True)
class Line:
    """A line for people, and how it is drawn on a terminal."""

    text: str
    style: str = ""
    indent: int = 0
    """Where the text goes on if the line is too long for the terminal; 0: at its start."""

    def wrapped(self, width: int) -> list[str]:
        """The lines of a terminal of that width."""
        if not self.indent:
            return [self.text]
        indent = self.indent if self.indent <= width - LEAST_WIDTH else min(self.indent, 4)
        return textwrap.wrap(
            self.text, width, subsequent_indent=" " * indent, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip


def summary(
    result: LearnResult, folder: Path, files: Sequence[str], *, unicode: bool = True
) -> list[Line]:
    """The answer and why, the vocabulary, the other criteria, the curve, what to know, where the
    files are."""
    found = result.summary()
    head, *reasons = answer(found).lines
    lines = [Line(""), Line(head, "bold")]
    lines += [*(Line(line, indent=12) for line in reasons), Line("")]
    lines += [*(Line(line, indent=2) for line in vocabulary_lines(result)), Line("")]
    others = [row for row in criterion_rows(found) if row.name != result.choice.criterion]
    table = criteria_table(others)
    indent = table[0].index(MEASURES)
    lines += [Line(table[0], "dim"), *(Line(row, indent=indent) for row in table[1:]), Line("")]
    lines += [*map(Line, sparkline(spark(result, found), unicode=unicode)), Line("")]
    # The doubts of the criterion that decided are in the first line already.
    notes = [
        one for one in result.messages if one.removeprefix(f"{result.choice.size:,}: ") not in head
    ]
    lines += [Line(f"note: {message}", "yellow", indent=6) for message in notes]
    lines.append(Line(f"written to {folder}: {', '.join(files)}", indent=2))
    return lines


def vocabulary_lines(result: LearnResult) -> list[str]:
    vocabulary = result.vocabulary
    learned = f"vocabulary: {len(vocabulary):,} tokens"
    if vocabulary.scaffolds:
        learned += f", {vocabulary.scaffolds:,} of them scaffolds"
    if vocabulary.hidden:
        learned += f", {len(vocabulary.hidden):,} more hidden"
    corpus = corpus_figures(result.counts, result.candidates, vocabulary)
    unknown = corpus["unknown_characters"] / corpus["characters"]
    spaced = corpus["spaced_words"]  # none in text of white space
    per_word = f"{corpus['tokens'] / spaced:.3f} tokens per word between spaces, " if spaced else ""
    text = f"text: {per_word}{corpus['bytes'] / corpus['tokens']:.2f} bytes per token, " + (
        f"{unknown:.3g} of the characters unknown" if unknown else "no unknown characters"
    )
    lines = [learned, text]
    if marginal := marginal_line(result.summary()):
        lines.append(f"marginal utility: {marginal}")
    step = next((one for one in result.steps if one.size == result.choice.size), None)
    if step is not None:
        solution = step.solution
        lines.append(
            f"transport at this size: {solution.iterations} iterations, epsilon "
            f"{solution.problem.epsilon:g} moved {solution.moved:.3%} of the mass, "
            f"{step.dropped or 'no'} tokens dropped"
        )
    if result.overlap is not None and result.overlap < 1:
        lines.append(f"{result.overlap:.1%} of the merged tokens are those of BPE of that size")
    if vocabulary.unreachable:
        lines.append(f"{len(vocabulary.unreachable):,} tokens are unreachable (see volt.json)")
    return lines


def criteria_table(rows: Sequence[CriterionRow]) -> list[str]:
    """A line for each criterion; the third column only if several parts of the text chose."""
    wide = max((len(row.parts) for row in rows), default=0) and len(PARTS)
    wide = max([wide, *(len(row.parts) for row in rows)])
    head = CriterionRow("criterion", "size", PARTS if wide else "", MEASURES)
    return [
        f"{row.name:<10} {row.size:>8}  "
        + (f"{row.parts:>{wide}}  " if wide else "")
        + row.sentence
        for row in [head, *rows]
    ]


@dataclass(frozen=True)
class Spark:
    """A small curve over sizes."""

    title: str
    sizes: NDArray[np.int64]
    values: NDArray[np.float64]
    size: int
    """The chosen one."""
    range: tuple[int, int] | None = None


def spark(result: LearnResult, found: Mapping[str, Any], width: int = SPARK_WIDTH) -> Spark:
    """The quality curve; where it was not measured, H."""
    quality, size = found.get("quality"), result.choice.size
    if not quality:
        sizes, values = entropy_points(result, width)
        title = f"H of {result.curve_name}, {values[0]:.2f} to {values[-1]:.2f} nats"
        return Spark(title, sizes, values, size)
    grid, scores = quality_points(quality)
    sizes = np.unique(np.rint(np.geomspace(grid[0], grid[-1], width)).astype(np.int64))
    most = scores.min() * (1 + CLIPPED * quality["tolerance"])
    values = np.minimum(np.interp(np.log(sizes), np.log(grid), scores), most)
    low, high = quality["range"]
    best = "" if quality.get("languages") else f" ({scores.min():.3f})"
    above = share(CLIPPED * quality["tolerance"])
    title = f"held-out bits per byte, from the best{best} to {above} above it"
    return Spark(title, sizes, values, size, (low, high))


def entropy_points(
    result: LearnResult, width: int = SPARK_WIDTH
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rows = result.curve.spread(width)
    return result.curve.size[rows], result.curve.entropy_by(result.choice.length)[rows]


def sparkline(curve: Spark, *, unicode: bool = True) -> list[str]:
    """A column for each size on a logarithmic axis, the range below it, and where the choice is."""
    sizes, values = curve.sizes, curve.values
    blocks = BLOCKS if unicode else PLAIN_BLOCKS
    low, high = float(values.min()), float(values.max())
    steps = np.zeros(len(values)) if high == low else (values - low) / (high - low)
    bars = "".join(blocks[min(len(blocks) - 1, int(one * len(blocks)))] for one in steps)

    def column(size: int) -> int:
        return int(np.argmin(np.abs(np.log(sizes / max(size, 1)))))

    below = [" "] * len(sizes)
    if curve.range is not None:
        first, last = map(column, curve.range)
        below[first : last + 1] = "-" * (last + 1 - first)
    below[column(curve.size)] = "^"
    about = f"{curve.size:,} tokens, of {int(sizes[0]):,} to {int(sizes[-1]):,}"
    return [
        f"{curve.title}, over log size",
        f"  {bars}",
        f"  {''.join(below).rstrip()} {about}",
    ]


def summary_data(result: LearnResult, folder: Path, files: Sequence[str]) -> dict[str, Any]:
    """The same as data: what choices.json holds, the small curve, the text, the files."""
    sizes, values = entropy_points(result)
    return {
        **result.summary(),
        "corpus": corpus_figures(result.counts, result.candidates, result.vocabulary),
        "curve": {"sizes": sizes.tolist(), "entropy": values.tolist()},
        "files": [str(folder / name) for name in files],
    }
