"""Residues: tokens of a merging vocabulary that a text makes and never shows, since they always
merge on."""

from __future__ import annotations

import numpy as np

from volt.counting.marks import letter_bytes
from volt.proposing.base import Ids
from volt.proposing.tokens import NO_TOKEN
from volt.tokenizing.borders import Merging
from volt.tokenizing.merge_pairs import last_parents
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


def certain_residues(vocabulary: Vocabulary) -> list[int]:
    """The tokens of bytes that no text shows, whatever it is: they begin or end inside a character,
    and are merged with all that can stand there. Others can only be counted on a text, since a text
    may be no more than the token."""
    if vocabulary.look_up is not None or not vocabulary.rule.mode.byte_level:
        return []
    parents = {i: (a, b) for i, (a, b) in enumerate(parents_of(vocabulary).tolist())
               if a != NO_TOKEN}  # fmt: skip
    texts = vocabulary.pool_columns.texts
    merging = Merging(parents, vocabulary.pool_columns.ranks.tolist(), [*map(len, texts)])
    kinds = vocabulary.pool_columns.are("character", "merged")
    data = {i: letter_bytes(texts[i]) for i in np.flatnonzero(kinds).tolist()}
    middle = {i for i, some in data.items() if all(map(_is_inside, some))}
    opening = [*middle, *(i for i, some in data.items() if open_bytes(some))]
    inside = [i for i, some in data.items() if _is_inside(some[0])]

    def is_hidden(i: int) -> bool:
        """At the end, or at the start: does it merge with all that it can be beside?"""
        after = not open_bytes(data[i]) or any(
            may_follow(data[i], data[other]) and merging.are_neighbours(i, other)
            for other in inside
        )
        return not after or (_is_inside(data[i][0]) and not any(
            (other in middle or may_follow(data[other], data[i]))
            and merging.are_neighbours(other, i)
            for other in opening
        ))  # fmt: skip

    return [i for i in parents if is_hidden(i)]


def open_bytes(data: bytes) -> int:
    """How many bytes the last character of some bytes lacks."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            return max(0, (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) - back)
        if byte < 0x80:
            break
    return 0


def may_follow(first: bytes, second: bytes) -> bool:
    """Can UTF-8 have these bytes side by side? `first` ends inside a character."""
    number = open_bytes(first)
    inside = next((i for i, byte in enumerate(second) if not _is_inside(byte)), len(second))
    if inside > number or (inside < number and inside < len(second)):
        return False
    start = next(i for i in range(1, 5) if first[-i] >= 0xC0)
    character = first[-start:] + second[:inside]
    filled = [character + bytes([byte]) * (number - inside) for byte in (0x80, 0xBF)]
    return any(some.decode(errors="ignore") for some in filled)


def _is_inside(byte: int) -> bool:
    """Is it a byte inside a character?"""
    return byte & 0xC0 == 0x80
