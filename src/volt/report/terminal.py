"""The summary that `volt learn` ends with: at most a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.choosing.choice import Verdict
from volt.report.data import corpus_figures
from volt.result import LearnResult

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-=+*#@"
SPARK_WIDTH = 60


@dataclass(frozen=True)
class Line:
    """A line for people, and how it is drawn on a terminal."""

    text: str
    style: str = ""


def summary(
    result: LearnResult, folder: Path, files: Sequence[str], *, unicode: bool = True
) -> list[Line]:
    """The choice and how sure, the criteria, the curve, what to know, where the files are."""
    lines = [Line(""), Line(chosen(result), "bold"), *map(Line, vocabulary_lines(result)), Line("")]
    head = f"{'criterion':<10} {'size':>8}  {'figure':>9}  meaning"
    lines.append(Line(head, "dim"))
    for one in result.choices:
        style = "bold" if one.criterion == result.choice.criterion else ""
        lines.append(Line(criterion_row(one), style))
    lines += [Line(""), *map(Line, sparkline(result, unicode=unicode)), Line("")]
    lines += [Line(f"note: {message}", "yellow") for message in result.messages]
    lines.append(Line(f"written to {folder}: {', '.join(files)}"))
    return lines


def chosen(result: LearnResult) -> str:
    choice = result.choice
    if choice.verdict is None:
        return f"size fixed at {choice.size:,} tokens"
    return f"{choice.criterion} chose {choice.size:,} tokens"


def vocabulary_lines(result: LearnResult) -> list[str]:
    vocabulary = result.vocabulary
    learned = f"vocabulary: {len(vocabulary):,} tokens"
    if vocabulary.scaffolds:
        learned += f", {vocabulary.scaffolds:,} of them scaffolds"
    if vocabulary.hidden:
        learned += f", {len(vocabulary.hidden):,} more hidden"
    corpus = corpus_figures(result.counts, result.candidates, vocabulary)
    share = corpus["unknown_characters"] / corpus["characters"]
    text = (
        f"text: {corpus['tokens'] / corpus['spaced_words']:.3f} tokens per word between spaces, "
        f"{corpus['bytes'] / corpus['tokens']:.2f} bytes per token, "
        + (f"{share:.3g} of the characters unknown" if share else "no unknown characters")
    )
    lines = [learned, text]
    step = next((one for one in result.steps if one.size == result.choice.size), None)
    if step is not None:
        solution = step.solution
        lines.append(
            f"transport: {solution.iterations} iterations, epsilon {solution.problem.epsilon:g} "
            f"moved {solution.moved:.3%} of the mass, {step.dropped or 'no'} tokens dropped"
        )
    if result.overlap is not None:
        lines.append(f"{result.overlap:.1%} of the merged tokens are those of BPE of that size")
    if vocabulary.unreachable:
        lines.append(f"{len(vocabulary.unreachable):,} tokens are unreachable (see volt.json)")
    return lines


def criterion_row(one: Verdict) -> str:
    size = "-" if one.size is None else f"{one.size:,}"
    figure = "-" if one.value is None else f"{one.value:.4g}"
    doubt = " (in doubt)" if one.doubts else ""
    return f"{one.criterion:<10} {size:>8}  {figure:>9}  {one.meaning}{doubt}"


def sparkline(result: LearnResult, *, width: int = SPARK_WIDTH, unicode: bool = True) -> list[str]:
    """H over sizes, a column for a stretch of the logarithmic axis, and where the choice
    is."""
    sizes, values = spark_points(result, width)
    blocks = BLOCKS if unicode else PLAIN_BLOCKS
    low, high = float(values.min()), float(values.max())
    steps = np.zeros(len(values)) if high == low else (values - low) / (high - low)
    bars = "".join(blocks[min(len(blocks) - 1, int(one * len(blocks)))] for one in steps)
    size = result.choice.size
    at = int(np.argmin(np.abs(np.log(sizes / max(size, 1)))))
    where = "sizes" if result.exact else f"{len(result.curve)} sizes, where it was measured,"
    return [
        f"H of {result.curve_name}, {values[0]:.2f} to {values[-1]:.2f} nats, {where} on a "
        "logarithmic axis",
        f"  {bars}",
        f"  {' ' * at}^ {size:,} tokens, of {int(sizes[0]):,} to {int(sizes[-1]):,}",
    ]


def spark_points(
    result: LearnResult, width: int = SPARK_WIDTH
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rows = result.curve.spread(width)
    return result.curve.size[rows], result.curve.entropy_by(result.choice.length)[rows]


def summary_data(result: LearnResult, folder: Path, files: Sequence[str]) -> dict[str, Any]:
    """The same as data: what choices.json holds, the small curve, the text, the files."""
    sizes, values = spark_points(result)
    return {
        **result.summary(),
        "corpus": corpus_figures(result.counts, result.candidates, result.vocabulary),
        "curve": {"sizes": sizes.tolist(), "entropy": values.tolist()},
        "files": [str(folder / name) for name in files],
    }
