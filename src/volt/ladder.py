"""Ladder: vocabularies of several sizes from one run, each contained in the next."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from volt._core import dot
from volt.base.errors import InputError
from volt.base.output import atomic_folder
from volt.base.table import text_table
from volt.choosing.cost import cost
from volt.choosing.sizes import parse_sizes
from volt.proposing.base import Candidates
from volt.proposing.cuts import text_bytes
from volt.result import LearnResult
from volt.tokenizing.volt_json import LADDER


def ladder_sizes(ladder: str | Sequence[int | str]) -> dict[int, str]:
    """The sizes in rising order, and what the folder of each is called."""
    words = ladder.split(",") if isinstance(ladder, str) else [str(one) for one in ladder]
    names = {size: word.strip() for word in words if ":" not in word for size in parse_sizes(word)}
    return {size: names.get(size, _short(size)) for size in parse_sizes(",".join(words))}


def check_ladder(sizes: Iterable[int], found: Candidates) -> None:
    """An error, before any work, if a size is not one that the text gives."""
    first, last = int(found.curve.size[0]), int(found.curve.size[-1])
    sizes = list(sizes)
    fitting = [str(size) for size in sizes if first <= size <= last]
    if len(fitting) == len(sizes):
        return
    size = next(size for size in sizes if str(size) not in fitting)
    instead = f": `ladder={','.join(fitting)}` fits" if fitting else ""
    raise InputError(
        f"`ladder` has {size:,}, but vocabularies of this text have {first:,} rows "
        f"(special tokens, bytes and characters) to {last:,} (all merges){instead}"
    )


def _short(size: int) -> str:
    return f"{size // 1000}k" if size % 1000 == 0 else str(size)


class Ladder(dict[int, LearnResult]):
    """Results by size. Every vocabulary contains all smaller ones.

    >>> import volt
    >>> found = volt.learn([["low lower lowest flow blow"] * 30], ladder=[272, 278])
    >>> [len(one.vocabulary) for one in found.values()]
    [272, 278]
    """

    def __init__(self, results: Sequence[LearnResult], names: Mapping[int, str]) -> None:
        super().__init__({one.choice.size: one for one in results})
        self.names = dict(names)
        """What the folder of each size is called."""

    @property
    def alone(self) -> int | None:
        """About what `auto` would choose; None where quality was not measured."""
        choice = next(iter(self.values())).choice
        auto = next(one for one in choice.verdicts if one.criterion == "auto")
        return None if choice.quality is None else auto.size

    @property
    def cheapest(self) -> int:
        """The cheapest of the sizes that cost no measurable quality; of all sizes if none does."""
        rows = self.rows()
        return int(min(rows, key=lambda row: (not row["in_range"], row["cost"]))["size"])

    def __repr__(self) -> str:
        return "\n".join(["<Ladder:", *self.table(), ">"])

    def changed(self, change: Callable[[LearnResult], LearnResult]) -> Ladder:
        """A ladder of changed results."""
        return Ladder([change(one) for one in self.values()], self.names)

    def rows(self) -> list[dict[str, Any]]:
        """The table: for each size its tokens, bytes per token, quality and cost."""
        return [self._row(size, result) for size, result in self.items()]

    def _row(self, size: int, result: LearnResult) -> dict[str, Any]:
        counts, choice = result.counts, result.choice
        curve, at = result.curve, np.array([size])
        tokens = float(curve.tokens[curve.at_size(size)]) / counts.unit
        text = dot(text_bytes(counts).astype(float), counts.counts.astype(float)) / counts.unit
        score = float("nan") if choice.quality is None else float(choice.quality.at(at)[0])
        return {
            "name": self.names[size],
            "size": size,
            "tokens": round(tokens),
            "bytes_per_token": text / max(1.0, tokens),
            "heldout": None if np.isnan(score) else score,
            "cost": float(cost(np.array([tokens]), at, choice.model)[0]),
            "in_range": choice.range is not None and choice.range[0] <= size <= choice.range[1],
        }

    def table(self) -> list[str]:
        """The table as lines of text; a star marks sizes without measurable loss of quality."""
        rows = self.rows()
        cheapest = min(row["cost"] for row in rows)
        columns = [("", "<1"), ("size", ">9,"), ("tokens", ">13,"), ("bytes/token", ">12.3f"),
                   ("bits/byte", ">10.4f"), ("cost", ">8")]  # fmt: skip
        return text_table(columns, (
            ("*" * row["in_range"], row["size"], row["tokens"], row["bytes_per_token"],
             row["heldout"], f"{row['cost'] / cheapest:.3f}x")
            for row in rows
        ))  # fmt: skip

    def save(
        self, folder: str | os.PathLike[str], *, force: bool = False, report: bool = True
    ) -> None:
        """Write a folder with the table and a complete result per size, or nothing at all."""
        with atomic_folder(folder, force=force) as temporary:
            for size, result in self.items():
                result.save(temporary / self.names[size], report=report)
            text = io.StringIO()
            rows = self.rows()
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            (temporary / LADDER).write_text(text.getvalue(), encoding="utf-8")
