"""Residues: tokens of a merging vocabulary that a text makes and never shows, since they always
merge on."""

from __future__ import annotations

import numpy as np

from volt.proposing.base import Ids
from volt.proposing.tokens import NO_TOKEN
from volt.tokenizing.pairs import last_parents
from volt.tokenizing.vocabulary import Vocabulary


def parents_of(vocabulary: Vocabulary) -> Ids:
    """The two tokens that each token of the pool is merged from; NO_TOKEN twice if it is not."""
    concat = vocabulary.merge_rule == "concat"
    return last_parents(vocabulary) if concat else vocabulary.pool_columns.parents


def made(vocabulary: Vocabulary, shown: Ids) -> Ids:
    """How often each token was made, on the way to others too."""
    parents = parents_of(vocabulary)
    found = np.zeros(len(parents), np.int64)
    found[: len(shown)] = shown
    merged = np.flatnonzero(parents[:, 0] != NO_TOKEN)
    lengths = np.array([len(vocabulary.pool_columns.texts[i]) for i in merged.tolist()], np.int64)
    for length in np.unique(lengths)[::-1]:  # a token is longer than its parts
        here = merged[lengths == length]
        np.add.at(found, parents[here], found[here, None])
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
