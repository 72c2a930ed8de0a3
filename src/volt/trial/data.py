"""Parallel text: read it, see that it is parallel, turn it into ids, cut it into batches."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError
from volt.data.clean import text_lines
from volt.trial.presets import MOST_TOKENS, BatchUnit
from volt.trial.vocabularies import TrialVocabulary

PAD, END, OFFSET = 0, 1, 2
"""The model's own ids: padding (also what the decoder starts from), the end of a sentence; the
vocabulary's ids follow."""

POOL = 50
"""Batches are made of sentences of like length, sought among about this many batches."""

CHARACTERS_A_TOKEN = 4
"""About; how many sentences fill a pool must not depend on the vocabulary."""

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Parallel:
    """Lines of two languages that belong together."""

    source: list[str] = field(repr=False)
    target: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.source)

    def digest(self) -> str:
        """Tells one text from another."""
        whole = hashlib.sha256()
        for lines in (self.source, self.target):
            for line in lines:
                whole.update(line.encode() + b"\n")
            whole.update(b"\0")
        return whole.hexdigest()[:16]


def read_parallel(source: Path, target: Path) -> Parallel:
    """Two files with as many lines each."""
    found = Parallel(list(text_lines(source)), list(text_lines(target)))
    if len(found.source) != len(found.target):
        raise InputError(
            f"{source} has {len(found.source):,} lines and {target} {len(found.target):,}: "
            "line n of one must be the translation of line n of the other"
        )
    if not len(found):
        raise InputError(f"{source} and {target} are empty: there is nothing to translate")
    return found


def without_empty(text: Parallel) -> tuple[Parallel, int]:
    """Training pairs that have text on both sides, and how many have not."""
    kept = [
        (one, other)
        for one, other in zip(text.source, text.target, strict=True)
        if one.strip() and other.strip()
    ]
    left_out = len(text) - len(kept)
    return Parallel([one for one, _ in kept], [other for _, other in kept]), left_out


def without_long(
    text: Parallel, vocabularies: Sequence[TrialVocabulary], max_tokens: int
) -> tuple[Parallel, int]:
    """Training pairs below `max_tokens` in every vocabulary, so that all models see the same text,
    and how many are not."""
    fits = np.ones(len(text), bool)
    for vocabulary in vocabularies:
        for lines in (text.source, text.target):
            fits &= np.array([len(ids) for ids in vocabulary.encode(lines)]) < max_tokens
    kept = np.flatnonzero(fits).tolist()
    shorter = Parallel([text.source[i] for i in kept], [text.target[i] for i in kept])
    return shorter, len(text) - len(kept)


# ------------------------------------------------------------------------------------------- as ids


@dataclass(frozen=True, eq=False)
class Encoded:
    """Parallel text as the model's ids, without the end of sentence."""

    source: list[NDArray[np.int32]] = field(repr=False)
    target: list[NDArray[np.int32]] = field(repr=False)
    source_characters: NDArray[np.int64] = field(repr=False)
    target_characters: NDArray[np.int64] = field(repr=False)
    """Characters of each line, or of what is left of it, line end counted: what the loss is divided
    by."""
    unknown: int = 0
    """Unknown tokens on both sides."""
    cut: int = 0
    """Sides that were cut at MOST_TOKENS."""

    def __len__(self) -> int:
        return len(self.source)

    @property
    def tokens_per_sentence(self) -> tuple[float, float]:
        """Mean tokens of a source and of a target sentence."""
        return (
            sum(map(len, self.source)) / max(1, len(self)),
            sum(map(len, self.target)) / max(1, len(self)),
        )


def encode_pairs(text: Parallel, vocabulary: TrialVocabulary) -> Encoded:
    unknown = cut = 0
    sides = []
    characters = []
    for lines in (text.source, text.target):
        side = []
        lengths = [len(line) + 1 for line in lines]
        for number, ids in enumerate(vocabulary.encode(lines)):
            if vocabulary.unknown is not None:
                unknown += ids.count(vocabulary.unknown)
            if len(ids) >= MOST_TOKENS:
                ids = ids[: MOST_TOKENS - 1]
                lengths[number] = len(vocabulary.decode(ids)) + 1
                cut += 1
            side.append(np.array(ids, np.int32) + OFFSET)
        sides.append(side)
        characters.append(np.array(lengths, np.int64))
    return Encoded(sides[0], sides[1], characters[0], characters[1], unknown, cut)


# ------------------------------------------------------------------------------------------ batches


def batches(
    text: Encoded,
    size: int,
    unit: BatchUnit,
    order: np.random.Generator | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Cut the pairs into batches of sentences of like length.

    The order and the likeness are told by characters, so that they do not depend on the vocabulary;
    with unit `characters` the batches are the same for all vocabularies. Without `order` sentences
    come by length: for measuring, where the order is nothing.
    """
    in_characters = size
    characters = np.maximum(text.source_characters, text.target_characters)
    if unit == "tokens":
        in_characters *= CHARACTERS_A_TOKEN
        weights = 1 + np.array([
            max(len(one), len(other)) for one, other in zip(text.source, text.target, strict=True)
        ])  # fmt: skip
    else:
        weights = characters
    if order is None:
        yield from _cut(np.argsort(characters, kind="stable"), weights, size)
        return
    shuffled = order.permutation(len(text))
    per_pool = max(1, int(POOL * in_characters / float(characters.mean())))
    for start in range(0, len(shuffled), per_pool):
        pool = shuffled[start : start + per_pool]
        pool = pool[np.argsort(characters[pool], kind="stable")]
        found = list(_cut(pool, weights, size))
        for number in order.permutation(len(found)):
            yield found[number]


def _cut(
    ranked: NDArray[np.int64], weights: NDArray[np.int64], size: int
) -> Iterator[NDArray[np.int64]]:
    start, longest = 0, 0
    for position, weight in enumerate(weights[ranked].tolist()):
        grown = max(longest, weight)
        if position > start and grown * (position - start + 1) > size:
            yield ranked[start:position]
            start, longest = position, weight
        else:
            longest = grown
    if start < len(ranked):
        yield ranked[start:]


def padded(sentences: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Sentences as rows, each ended by END, filled up with PAD."""
    longest = max(map(len, sentences)) + 1
    rows = np.full((len(sentences), longest), PAD, np.int64)
    for row, ids in zip(rows, sentences, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = END
    return rows
