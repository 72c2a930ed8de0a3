"""Residues: tokens of a merging vocabulary that a text makes and never shows, since they always
merge on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volt.tokenizing.pairs import last_pairs
from volt.tokenizing.vocabulary import Vocabulary

Ids = NDArray[np.int64]


def parents_of(vocabulary: Vocabulary) -> dict[int, tuple[int, int]]:
    """The two tokens that each merged token is made from."""
    if vocabulary.merge_rule == "concat":
        number_of = {token.text: i for i, token in enumerate(vocabulary.pool)
                     if token.kind in ("character", "merged")}  # fmt: skip
        return {number_of[text]: (number_of[left], number_of[right])
                for text, (left, right) in last_pairs(vocabulary).items()}  # fmt: skip
    return {i: token.parents for i, token in enumerate(vocabulary.pool)
            if token.parents is not None}  # fmt: skip


def made(vocabulary: Vocabulary, shown: Ids) -> Ids:
    """How often each token was made, on the way to others too."""
    parents = parents_of(vocabulary)
    pool = vocabulary.pool
    found = np.zeros(len(pool), np.int64)
    found[: len(shown)] = shown
    for i in sorted(parents, key=lambda i: -len(pool[i].text)):  # a token is longer than its parts
        for part in parents[i]:
            found[part] += found[i]
    return found


def find_residues(vocabulary: Vocabulary, shown: Ids | None = None) -> list[int] | None:
    """The merged tokens that were made, but never shown. `shown` is how often each token occurs; by
    default as often as in the text that the vocabulary was measured on. None if tokens are not
    merged, or nothing was counted."""
    if shown is None:
        shown = vocabulary.columns.frequencies.astype(np.int64)
    if vocabulary.look_up is not None or not shown.any():
        return None
    number = len(vocabulary)
    passed = made(vocabulary, shown)[:number]
    merged = vocabulary.columns.are("merged")
    return np.flatnonzero(merged & (np.asarray(shown)[:number] == 0) & (passed > 0)).tolist()
