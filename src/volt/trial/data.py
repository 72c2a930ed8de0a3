"""Text for a trial: read it, turn it into ids, cut it into batches.

A translation model reads a source and predicts a target; a language model has a target only.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError
from volt.base.shown import plural
from volt.data.clean import AS_NAMED, text_lines
from volt.settings import InputSettings
from volt.trial.presets import CHARACTERS_PER_TOKEN, MOST_TOKENS, BatchUnit
from volt.trial.vocabularies import TrialVocabulary

PAD, END, OFFSET = 0, 1, 2
"""The model's own ids: padding (also what the decoder starts from), the end of a sentence; the
vocabulary's ids follow."""

POOL = 50
"""Sentences of similar length are batched together, within pools of about this many batches."""

HELD_OUT = 20
"""Where no held-out text is given, one line in this many is held out."""

PathName = str | os.PathLike[str]


@dataclass(frozen=True)
class TrialText:
    """Lines that models predict, and the lines they are the translation of, if any."""

    source: list[str] | None = field(repr=False)
    target: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.target)

    @property
    def sides(self) -> list[list[str]]:
        return [self.target] if self.source is None else [self.source, self.target]

    def lines(self) -> list[str]:
        """All lines, those of the source first."""
        return [line for side in self.sides for line in side]

    def some(self, numbers: Iterable[int]) -> TrialText:
        """These lines, in this order."""
        kept = list(numbers)
        sides = [[side[i] for i in kept] for side in self.sides]
        return TrialText(sides[0] if len(sides) == 2 else None, sides[-1])

    def digest(self) -> str:
        """Identifies the text."""
        whole = hashlib.sha256()
        for lines in self.sides:
            for line in lines:
                whole.update(line.encode() + b"\n")
            whole.update(b"\0")
        return whole.hexdigest()[:16]


def read_parallel(
    source: PathName, target: PathName, reading: InputSettings = AS_NAMED
) -> TrialText:
    """Two files with the same number of lines."""
    sides = list(text_lines(source, reading)), list(text_lines(target, reading))
    if len(sides[0]) != len(sides[1]):
        raise InputError(
            f"{source} has {plural(len(sides[0]), 'line')} and {target} {len(sides[1]):,}: "
            "line n of one must be the translation of line n of the other"
        )
    if not sides[0]:
        raise InputError(f"{source} and {target} are empty: there is nothing to translate")
    return TrialText(*sides)


def read_sentences(*paths: PathName, reading: InputSettings = AS_NAMED) -> TrialText:
    """The lines of some files, for a language model."""
    lines = [line for path in paths for line in text_lines(path, reading)]
    if not lines:
        raise InputError(f"{', '.join(map(str, paths))}: the text has no lines")
    return TrialText(None, lines)


def hold_out(text: TrialText) -> tuple[TrialText, TrialText]:
    """The text without every 20th of its lines, and these lines."""
    if len(text) < HELD_OUT:
        raise InputError(
            f"too little text to hold one line in {HELD_OUT} out ({plural(len(text), 'line')}): "
            "name a file in `heldout`"
        )
    chosen = [number % HELD_OUT == HELD_OUT - 1 for number in range(len(text))]
    numbers = range(len(text))
    return (
        text.some(n for n in numbers if not chosen[n]),
        text.some(n for n in numbers if chosen[n]),
    )


def without_empty(text: TrialText) -> tuple[TrialText, int]:
    """The lines that have text on all sides, and the number of lines that do not."""
    kept = [
        number
        for number, lines in enumerate(zip(*text.sides, strict=True))
        if all(line.strip() for line in lines)
    ]
    return text.some(kept), len(text) - len(kept)


def without_long(
    text: TrialText, vocabularies: Sequence[TrialVocabulary], max_tokens: int
) -> tuple[TrialText, int]:
    """Training lines below `max_tokens` in every vocabulary, so that all models see the same text,
    and how many are not."""
    fits = np.ones(len(text), bool)
    for vocabulary in vocabularies:
        for lines in text.sides:
            fits &= np.array([len(ids) for ids in vocabulary.encode(lines)]) < max_tokens
    kept = np.flatnonzero(fits).tolist()
    return text.some(kept), len(text) - len(kept)


# ------------------------------------------------------------------------------------------- as ids


@dataclass(frozen=True, eq=False)
class EncodedText:
    """TrialText as the model's ids, without the end of sentence."""

    source: list[NDArray[np.int32]] | None = field(repr=False)
    target: list[NDArray[np.int32]] = field(repr=False)
    characters: NDArray[np.int64] = field(repr=False)
    """Characters of the longer side of each line, line end counted."""
    bytes: NDArray[np.int64] = field(repr=False)
    """UTF-8 bytes of each target line, or of what is left of it, line end counted: what the loss
    is divided by."""
    unknown: int = 0
    """Unknown tokens on all sides."""
    cut: int = 0
    """Sides that were cut at MOST_TOKENS."""

    def __len__(self) -> int:
        return len(self.target)

    @property
    def sides(self) -> list[list[NDArray[np.int32]]]:
        return [self.target] if self.source is None else [self.source, self.target]

    @property
    def tokens_per_sentence(self) -> tuple[float | None, float]:
        """Mean tokens of a source, if there is one, and of a target sentence."""
        means = [sum(map(len, side)) / max(1, len(self)) for side in self.sides]
        return (means[0] if len(means) == 2 else None), means[-1]


def encode_text(text: TrialText, vocabulary: TrialVocabulary) -> EncodedText:
    unknown = cut = 0
    sides = []
    characters = np.zeros(len(text), np.int64)
    lengths: list[int] = []
    for lines in text.sides:
        side = []
        lengths = [len(line.encode()) + 1 for line in lines]
        characters = np.maximum(characters, [len(line) + 1 for line in lines])
        for number, ids in enumerate(vocabulary.encode(lines)):
            if vocabulary.unknown is not None:
                unknown += ids.count(vocabulary.unknown)
            if len(ids) >= MOST_TOKENS:
                ids = ids[: MOST_TOKENS - 1]
                lengths[number] = len(vocabulary.decode(ids).encode()) + 1
                cut += 1
            side.append(np.array(ids, np.int32) + OFFSET)
        sides.append(side)
    source = sides[0] if len(sides) == 2 else None
    return EncodedText(source, sides[-1], characters, np.array(lengths, np.int64), unknown, cut)


# ------------------------------------------------------------------------------------------ batches


def batches(
    text: EncodedText,
    size: int,
    unit: BatchUnit,
    order: np.random.Generator | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Cut the lines into batches of similar length.

    Order and similarity are decided by characters, so that they do not depend on the vocabulary;
    with unit `characters` the batches are the same for all vocabularies. Without `order` sentences
    come by length: for measuring, where the order does not matter.
    """
    in_characters = size
    characters = text.characters
    if unit == "tokens":
        in_characters *= CHARACTERS_PER_TOKEN
        weights = 1 + np.max([[len(ids) for ids in side] for side in text.sides], 0)
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
