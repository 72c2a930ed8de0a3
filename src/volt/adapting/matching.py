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
from volt.foreign.base import Added, Engine
from volt.foreign.engine_choice import open_engine
from volt.foreign.original import Original

ATOMS = 64
"""Tokens that a row is written with, at most."""

Rows = NDArray[np.float64]


def pursue(target: Rows, atoms: Rows, most: int) -> tuple[list[int], Rows]:
    """Orthogonal matching pursuit: the atoms (rows) that approximate a target best, one by one, and
    their coefficients by least squares."""
    norms = np.linalg.norm(atoms, axis=1)
    unit = atoms / np.where(norms > 0, norms, 1)[:, None]
    chosen: list[int] = []
    weights: Rows = np.zeros(0)
    rest = target.copy()
    scale = float(np.linalg.norm(target))
    for _ in range(min(most, len(atoms), atoms.shape[1])):
        if np.linalg.norm(rest) <= 1e-9 * max(scale, 1e-30):
            break
        match = np.abs(unit @ rest)
        match[chosen] = -1
        best = int(np.argmax(match))  # of equals the first
        if match[best] <= 0:
            break
        chosen.append(best)
        weights = np.asarray(np.linalg.lstsq(atoms[chosen].T, target, rcond=None)[0], np.float64)
        rest = target - atoms[chosen].T @ weights
    return chosen, weights


def matched_rows(
    original: Original,
    donor: Path,
    added: Sequence[Added],
    parts: Sequence[Sequence[int]],
    messages: list[str],
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
    messages.append(
        f"new rows by matching pursuit: {len(shared):,} tokens are in both models, "
        f"{sum(len(one) == 1 for one in targets):,} of the new ones are tokens of {donor.name}"
    )
    own = np.array([one for one, _ in shared])
    donated = np.array([one for _, one in shared])
    sums: dict[bool, list[tuple[list[int], Rows]]] = {}

    def solved(is_input: bool) -> list[tuple[list[int], Rows]]:
        name = next((name for name in other.tables
                     if is_called(name, INPUT_NAMES) == is_input), None)  # fmt: skip
        name = name or next(iter(other.tables))
        if is_input not in sums:
            table = table_rows(other, name)
            atoms = table[donated]
            sums[is_input] = [
                pursue(table[ids].mean(axis=0), atoms, ATOMS) if ids else ([], np.zeros(0))
                for ids in targets
            ]
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
