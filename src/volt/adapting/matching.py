"""New rows by orthogonal matching pursuit against a donor model.

A donor is another model whose tokenizer knows the new tokens better. The donor's row of a new token
is written as a sum of a few donor rows of tokens that both models have; the same sum of the model's
own rows is the new row. Its norm is that of the model's rows, on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from volt.adapting.checkpoint import (
    INPUT_NAMES,
    RowMaker,
    is_called,
    open_checkpoint,
    table_rows,
)
from volt.base.errors import InputError
from volt.base.progress import Progress, Report
from volt.foreign.base import Added, Engine
from volt.foreign.engine_choice import open_engine
from volt.foreign.original import Original

ATOMS = 64
"""Tokens that a row is written with, at most."""
AT_ONCE = 64
"""Rows that are matched at once."""

Rows = NDArray[np.float64]


Sum = tuple[list[int], Rows]
"""The atoms that make a row, and their coefficients."""


def pursue(targets: Rows, atoms: Rows, most: int, report: Report) -> list[Sum]:
    """Orthogonal matching pursuit: for every target the atoms (rows) that approximate it best, one
    by one, and their coefficients by least squares.

    Many targets take a step at once, so that the matching is one product of matrices, in single
    precision. What is left of a target is kept orthogonal to the atoms chosen by Gram-Schmidt; the
    coefficients are solved for at the end. 1,000 rows over 12,000 atoms of 64 numbers take seconds;
    least squares after every step, row by row, took minutes.
    """
    norms = np.linalg.norm(atoms, axis=1)
    unit = atoms / np.where(norms > 0, norms, 1)[:, None]
    across = unit.astype(np.float32).T
    found: list[Sum] = []
    for start in range(0, len(targets), AT_ONCE):
        block = targets[start : start + AT_ONCE]
        for target, chosen in zip(block, _chosen(block, unit, across, most), strict=True):
            weights = np.linalg.lstsq(atoms[chosen].T, target, rcond=None)[0]
            found.append((chosen, np.asarray(weights, np.float64)))
        report(len(found))
    return found


def _chosen(targets: Rows, unit: Rows, across: NDArray[np.float32], most: int) -> list[list[int]]:
    """The atoms of each target, in the order they were chosen."""
    most = min(most, *unit.shape)
    chosen: list[list[int]] = [[] for _ in targets]
    basis = np.zeros((len(targets), most, unit.shape[1]))
    rest = targets.copy()
    scale = np.maximum(np.linalg.norm(targets, axis=1), 1e-30)
    open_ones = np.arange(len(targets))
    for step in range(most):
        left = np.linalg.norm(rest[open_ones], axis=1)
        open_ones = open_ones[left > 1e-9 * scale[open_ones]]
        if not len(open_ones):
            break
        now = rest[open_ones] / np.linalg.norm(rest[open_ones], axis=1)[:, None]
        match = np.abs(now.astype(np.float32) @ across)
        for place, row in enumerate(open_ones):
            match[place, chosen[row]] = -1
        best = match.argmax(axis=1)  # of equals the first
        new, before = unit[best], basis[open_ones, :step]
        for _ in range(2):  # once more, against what rounding left
            new = new - np.einsum("rs,rsd->rd", np.einsum("rsd,rd->rs", before, new), before)
        length = np.linalg.norm(new, axis=1)
        good = length > 1e-6  # else the atoms chosen make it, up to rounding
        open_ones, best, new = open_ones[good], best[good], (new[good] / length[good, None])
        basis[open_ones, step] = new
        rest[open_ones] -= (rest[open_ones] * new).sum(axis=1)[:, None] * new
        for row, atom in zip(open_ones.tolist(), best.tolist(), strict=True):
            chosen[row].append(atom)
    return chosen


def matched_rows(
    original: Original,
    donor: Path,
    added: Sequence[Added],
    parts: Sequence[Sequence[int]],
    messages: list[str],
    progress: Progress,
) -> RowMaker:
    """How the rows of new tokens are made from a donor."""
    theirs = open_engine(donor, native=False).engine
    other = open_checkpoint(donor, theirs.size)
    mine = original.engine.plain if original.engine is not None else _plain(original)
    shared = _shared(mine, theirs)
    if len(shared) < 2:
        raise InputError(f"{donor}: the two tokenizers have {len(shared)} tokens in common")
    marks = original.engine.marks if original.engine is not None else original.vocabulary.marks
    texts = [marks.text(one.text).decode(errors="ignore") for one in added]
    targets = [[i for i in ids if i < theirs.size] for ids in theirs.encode_batch(texts)]
    known = sum(len(one) == 1 for one in targets)
    messages.append(
        f"new rows by matching pursuit: {len(shared):,} tokens are in both models, {known:,} of "
        f"the {len(added):,} new ones are tokens of the donor {donor}"
    )
    if known * 2 < len(added):
        messages.append(
            f"the donor {donor} has few of the new tokens: the other {len(added) - known:,} rows "
            "are matched to the mean of several of its rows, which tells little of the new token; "
            "a donor whose tokenizer was made for such text helps more"
        )
    own = np.array([one for one, _ in shared])
    donated = np.array([one for _, one in shared])
    sums: dict[bool, list[Sum]] = {}

    def solved(is_input: bool) -> list[Sum]:
        name = next((name for name in other.tables
                     if is_called(name, INPUT_NAMES) == is_input), None)  # fmt: skip
        name = name or next(iter(other.tables))
        if is_input not in sums:
            table = table_rows(other, name)
            means = np.array([table[ids].mean(axis=0) if ids else np.zeros(table.shape[1])
                              for ids in targets])  # fmt: skip
            with progress.stage("Matching rows", len(means), "rows") as report:
                sums[is_input] = pursue(means, table[donated], ATOMS, report)
        return sums[is_input]

    def make(name: str, table: NDArray[np.float32]) -> NDArray[np.float64]:
        rows = np.zeros((len(added), table.shape[1]))
        norm = float(np.linalg.norm(table[own], axis=1).mean())
        for i, (chosen, weights) in enumerate(solved(is_called(name, INPUT_NAMES))):
            row = weights @ table[own[chosen]].astype(np.float64) if chosen else np.zeros(0)
            length = float(np.linalg.norm(row))
            if not chosen or not length > 0:
                rows[i] = table[list(parts[i]) or slice(None)].mean(axis=0)
            else:
                rows[i] = row * (norm / length)
        return rows

    return make


def _plain(original: Original) -> list[bytes | None]:
    vocabulary = original.vocabulary
    return [vocabulary.plain_text(token.text) if token.kind not in ("special", "symbol", "byte")
            else None for token in vocabulary.tokens]  # fmt: skip


def _shared(mine: Sequence[bytes | None], theirs: Engine) -> list[tuple[int, int]]:
    """Tokens of the same text in both, by their ids."""
    number_of = {data: i for i, data in reversed([*enumerate(theirs.plain)]) if data}
    return [(i, number_of[data]) for i, data in enumerate(mine) if data and data in number_of]
