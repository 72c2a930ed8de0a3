"""Curve: the corpus at every size, from one run.

A merge of `a` and `b` that happens k times changes three token counts, so the sums below are
carried along while merging, and one run gives them for every size.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import SettingsError
from volt.base.output import write_file

CURVE_ROWS = 1000
"""About as many rows of it are saved with a result."""
FREQUENT = 100
"""A type seen this often counts as frequent (Gowda & May 2020)."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The corpus at every size. Under BPE row m is the state after m merges; candidates without
    parents are measured at some sizes only.

    `frequent` is the number of merged types seen at least 100 times, `f_power` is the sum of f^2.5.
    Criteria read them.

    >>> import volt
    >>> found = volt.candidates([["low lower lowest flow blow"] * 30], merges=3).curve
    >>> found.learned.tolist()
    [10, 11, 12, 13]
    """

    size: NDArray[np.int64]
    """Rows of the embedding table: fixed rows, characters, and merges or pieces."""
    tokens: NDArray[np.int64]
    """Tokens in the corpus."""
    types: NDArray[np.int64]
    """Tokens of the vocabulary that occur."""
    type_length: NDArray[np.int64]
    """Sum of their lengths."""
    characters: int
    """Characters in the corpus: the sum of frequency times length, the same at every size."""
    learned: NDArray[np.int64]
    """Symbols and merges, without the fixed rows: the V of the criteria's formulas."""
    f_ln_f: NDArray[np.float64] = field(repr=False)
    f_power: NDArray[np.float64] = field(repr=False)
    frequent: NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.size)

    def __repr__(self) -> str:
        sizes = f"{len(self):,} sizes, {int(self.size[0]):,} to {int(self.size[-1]):,} tokens"
        return f"<Curve: {sizes}>"

    @property
    def merges(self) -> NDArray[np.int64]:
        """Merges or pieces at each size."""
        return self.size - self.size[:1]

    @cached_property
    def entropy(self) -> NDArray[np.float64]:
        """Token entropy in nats, -sum P ln P = ln n - (sum f ln f) / n."""
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.log(self.tokens) - self.f_ln_f / self.tokens
        return np.where(self.tokens > 0, np.maximum(entropy, 0.0), 0.0)

    @cached_property
    def entropy_types(self) -> NDArray[np.float64]:
        """H of Eq. 2: entropy over the mean length of the types in use."""
        return _ratio(self.entropy * self.types, self.type_length)

    @cached_property
    def entropy_occurrences(self) -> NDArray[np.float64]:
        """Entropy over the mean length of the tokens in the corpus: nats per character."""
        return _ratio(self.entropy * self.tokens, np.full(len(self), self.characters))

    def entropy_by(self, length: str) -> NDArray[np.float64]:
        if length not in ("types", "occurrences"):
            raise SettingsError(f"`length` must be types or occurrences, not {length!r}")
        return self.entropy_types if length == "types" else self.entropy_occurrences

    def muv(self, length: str = "types") -> NDArray[np.float64]:
        """M of Eq. 1 at every size, against the size before; the first has none (NaN)."""
        entropy = self.entropy_by(length)
        return np.concatenate([[np.nan], -np.diff(entropy) / np.diff(self.size)])

    def at(self, rows: NDArray[np.int64]) -> Curve:
        """The curve at some of its rows only."""
        columns: dict[str, Any] = {
            one.name: value[rows]
            if isinstance(value := getattr(self, one.name), np.ndarray)
            else value
            for one in fields(self)
        }
        return Curve(**columns)

    def at_size(self, size: int) -> int:
        """The index of the largest size up to `size`; of the first if there is none."""
        return max(0, int(np.searchsorted(self.size, size, side="right")) - 1)

    def spread(self, rows: int) -> NDArray[np.int64]:
        """Indices of about this many sizes, evenly spaced on a logarithmic axis, ends included."""
        spaced = np.rint(np.geomspace(self.size[0], self.size[-1], rows))
        found = np.searchsorted(self.size, spaced, side="right") - 1
        return np.unique(np.clip(found, 0, len(self) - 1))

    def rows(self, indices: Iterable[int] | None = None) -> list[dict[str, float | int]]:
        """The table as dictionaries, of all rows or of some."""
        columns: dict[str, NDArray[Any]] = {
            "size": self.size,
            "merges": self.merges,
            "tokens": self.tokens,
            "types": self.types,
            "entropy": self.entropy,
            "entropy_types": self.entropy_types,
            "entropy_occurrences": self.entropy_occurrences,
            "muv_types": self.muv("types"),
            "muv_occurrences": self.muv("occurrences"),
        }
        chosen = list(range(len(self)) if indices is None else indices)
        lists = [column[chosen].tolist() for column in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, if pandas is installed."""
        return data_frame(self.rows())

    def save(self, path: str | os.PathLike[str], indices: Iterable[int] | None = None) -> None:
        """Write the table as CSV; an undefined MUV is an empty cell."""
        rows, text = self.rows(indices), io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows[0] if rows else [])
        writer.writerows(
            ["" if value != value else repr(value) for value in row.values()] for row in rows
        )
        write_file(path, text.getvalue().encode())


def _ratio(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    out = np.zeros(len(a), np.float64)
    np.divide(a, b, out=out, where=b != 0)
    return out


def data_frame(table: Any) -> Any:
    """A pandas DataFrame."""
    try:
        import pandas
    except ImportError:
        raise SettingsError("to_frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(table)
