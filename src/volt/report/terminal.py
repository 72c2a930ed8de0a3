"""The summary that `volt learn` ends with: at most a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.lines import Line
from volt.formats import FORMATS
from volt.report.answer import answer, notes, percent, quality_points
from volt.report.data import overview
from volt.report.facts import facts
from volt.result import LearnResult
from volt.tokenizing.vocabulary import Vocabulary

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-=+*#@"
SPARK_WIDTH = 60
SAID_BEFORE = ("text", "sample", "mixture")
"""Facts that were said when the text was counted."""
ON_THE_PAGE = "the tokens, and what other sizes would lose"
CLIPPED = 10
"""Tolerances of quality that the small curve shows; what loses more has full height."""


def summary(
    result: LearnResult, folder: Path, files: Sequence[str], *, unicode: bool = True
) -> list[Line]:
    """The answer and why, the quality curve, the figures of the vocabulary, what to know, and where
    the files are."""
    found = result.summary()
    head, *reasons = answer(found).lines
    lines = [Line(""), Line(head, "bold", indent=2)]
    lines += [*(Line(line, indent=12) for line in reasons), Line("")]
    lines += [*map(Line, sparkline(spark(result, found), unicode=unicode)), Line("")]
    shown = facts(result.vocabulary, found, overview(result))
    lines += [Line(fact.line, indent=22) for fact in shown if fact.name not in SAID_BEFORE]
    lines.append(Line(""))
    lines += [Line(note, "yellow", indent=note.index(" ") + 1) for note in notes(found)]
    lines.append(Line(f"written to {folder}: {', '.join(files)}", indent=2))
    return lines


def next_lines(vocabulary: Vocabulary, folder: Path, files: Sequence[str]) -> list[Line]:
    """What to do with a folder: the page, a command for the first toolkit that takes it, and the
    others that do."""
    page = f"look at: {folder / 'report.html'} ({ON_THE_PAGE})"
    lines = [Line(page)] if "report.html" in files else []
    taking = {name: form for name, form in FORMATS.items() if not form.refuse(vocabulary)}
    name, form = next(iter(taking.items()))
    target = folder.with_name(f"{folder.name}-{form.example[0]}")
    command = f"volt export -m {quote(str(folder))} --to {name} -o {quote(str(target))}"
    others = [one for one in taking if one != name]
    if "sentencepiece" in others:  # whose model Marian reads, and encodes by itself
        others = ["sentencepiece (also for Marian)" if one == "sentencepiece" else one
                  for one in others if one != "marian"]  # fmt: skip
    said = f"  for other toolkits: --to {', '.join(others)}"
    instead = [Line(said, indent=4)] if others else []
    return [*lines, Line(f"next: {command}", "bold"), *instead]


@dataclass(frozen=True)
class Sparkline:
    """A small curve over sizes."""

    title: str
    sizes: NDArray[np.int64]
    values: NDArray[np.float64]
    size: int
    """The chosen one."""
    range: tuple[int, int] | None = None
    below: str = ""
    """What the range is."""


def spark(result: LearnResult, found: Mapping[str, Any], width: int = SPARK_WIDTH) -> Sparkline:
    """The quality curve; where it was not measured, H."""
    quality, size = found.get("quality"), result.choice.size
    if not quality:
        sizes, values = entropy_points(result, width)
        title = f"H of {result.curve_name} ({values[0]:.2f} to {values[-1]:.2f} nats)"
        return Sparkline(title, sizes, values, size)
    grid, scores = quality_points(quality)
    sizes = np.unique(np.rint(np.geomspace(grid[0], grid[-1], width)).astype(np.int64))
    most = scores.min() * (1 + CLIPPED * quality["tolerance"])
    values = np.minimum(np.interp(np.log(sizes), np.log(grid), scores), most)
    low, high = quality["range"]
    above = f"{percent(CLIPPED * quality['tolerance'])} above"
    best = "the best" if quality.get("languages") else f"{scores.min():.3f} (the best)"
    title = f"held-out bits per byte, low is good: {best} to {above}"
    below = f"---- within {percent(quality['tolerance'])} of the best"
    return Sparkline(title, sizes, values, size, (low, high), below)


def entropy_points(
    result: LearnResult, width: int = SPARK_WIDTH
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rows = result.curve.spread(width)
    return result.curve.size[rows], result.curve.entropy_by(result.choice.length)[rows]


def sparkline(curve: Sparkline, *, unicode: bool = True) -> list[str]:
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
    axis = f"{int(sizes[0]):,} to {int(sizes[-1]):,} tokens, logarithmic"
    return [
        curve.title,
        f"  {bars}",
        f"  {''.join(below).rstrip()} chosen: {curve.size:,}",
        f"  {axis}; {curve.below}" if curve.below else f"  {axis}",
    ]


def summary_data(result: LearnResult, folder: Path, files: Sequence[str]) -> dict[str, Any]:
    """The same as data: what choices.json contains, the small curve, the text, the files."""
    sizes, values = entropy_points(result)
    return {
        **result.summary(),
        "corpus": overview(result)["corpus"],
        "curve": {"sizes": sizes.tolist(), "entropy": values.tolist()},
        "files": [str(folder / name) for name in files],
    }
