"""BPE-Search: train a model for BPE at every size and take the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from volt.base.errors import InputError, SettingsError
from volt.base.output import write_file
from volt.choosing.sizes import parse_sizes
from volt.pipeline import candidates
from volt.searching import DEFAULT_SIZES
from volt.trial.results import BITS, BLEU, TrialResults, write_json
from volt.trial.run import (
    PLOT,
    RESULTS,
    check_output,
    lm_trial,
    read_as,
    training_lines,
    training_pairs,
    trial,
)

BY = {"loss": BITS, "bleu": BLEU}


@dataclass(frozen=True, eq=False)
class TrainedSearch:
    """The trials, the best size, and what they cost."""

    results: TrialResults = field(repr=False)
    by: str
    size: int | None
    """None: the models give no verdict."""
    value: float | None
    """Its BLEU, or its bits per byte."""
    seconds: float
    left_out: list[int]
    """Sizes that were asked for and that the text does not reach."""

    def plain(self) -> dict[str, Any]:
        return {
            **self.results.plain(), "by": self.by, "winner": self.size, "seconds": self.seconds,
        }  # fmt: skip

    @property
    def said(self) -> str:
        """The winner and its figure in words, or why there is none."""
        if self.size is None:
            return self.results.answer(BY[self.by])
        return f"{self.by}: {self.size:,} ({BY[self.by].form.format(self.value)})"

    def table(self) -> str:
        """That of the trials, the winner starred."""
        return self.results.table(winner="" if self.size is None else f"bpe:{self.size}")


def trained_search(
    files: Sequence[str],
    *,
    by: str,
    output: str | Path,
    sizes: str | Sequence[int] | None = None,
    **options: Any,
) -> TrainedSearch:
    """Train a model for BPE at every size; take the one with the highest BLEU or the lowest loss.
    There is none if models are not trained yet or the best two are equal.

    `by` is `bleu` or `loss`. `options` are those of `volt.trial.trial` or, for `task="lm"`, of
    `volt.trial.lm_trial`; its results in `output` get the winner and the cost. A search that was
    killed resumes in `output`; with more sizes, only the missing ones are trained.
    """
    task = options.setdefault("task", "translation" if by == "bleu" else "lm")
    if by == "bleu" and task != "translation":
        raise SettingsError("`by='bleu'` scores translations: use `by='loss'` for language models")
    if task == "translation" and len(files) != 2:
        raise SettingsError("translation models are trained on two files: source and target")
    held_out = (*(options.get("valid") or ()), *(options.get("test") or ()), options.get("heldout"))
    check_output(output, [*files, *(one for one in held_out if one)])
    asked = parse_sizes(sizes or DEFAULT_SIZES)
    reading = read_as(options)
    text, *_ = (
        training_lines(files, options.get("heldout"), reading)
        if task == "lm"
        else training_pairs(files[0], files[1], reading)
    )
    curve = candidates([text.lines()], merges=max(asked), threads=options.get("threads")).curve
    reached = [size for size in asked if curve.size[0] <= size <= curve.size[-1]]
    if not reached:
        raise InputError(
            f"the text gives sizes {curve.size[0]:,} to {curve.size[-1]:,}; name some of these"
        )
    names = [f"bpe:{size}" for size in reached]
    if task == "lm":
        results = lm_trial(files, vocabularies=names, output=output, **options)
    else:
        results = trial(*files, vocabularies=names, output=output, **options)
    rows = dict(zip(reached, results.rows(), strict=True))
    best = None if results.no_verdict(BY[by]) else min(rows, key=lambda n: BY[by].worst(rows[n]))
    found = TrainedSearch(
        results, by, best, None if best is None else rows[best][BY[by].name],
        sum(row["seconds"] for row in rows.values()),
        [size for size in asked if size not in reached],
    )  # fmt: skip
    write_json(Path(output) / RESULTS, found.plain())
    _plot(found, Path(output) / PLOT)
    return found


def _plot(found: TrainedSearch, path: Path) -> None:
    """What was measured over size, with intervals and the winner; nothing without matplotlib."""
    from volt.report.plot import new_figure, render, star

    try:
        figure, (axes,) = new_figure(1, (1,))
    except SettingsError:
        return
    by = BY[found.by]
    rows = sorted(found.results.rows(), key=lambda row: row["size"])
    sizes, values, halves = ([row[name] for row in rows] for name in ("size", by.name, by.interval))
    axes.errorbar(sizes, values, halves, marker="o", capsize=3)
    if found.size is not None and found.value is not None:
        star(axes, found.size, found.value)
    axes.set(ylabel=by.title)
    write_file(path, render(figure, "svg"))
