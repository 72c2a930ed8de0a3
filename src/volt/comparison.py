"""Vocabularies side by side on one text: volt's own and those of other toolkits."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.counting.decoding import invalid_utf8
from volt.counting.inputs import Text, find_inputs
from volt.counting.marks import BYTES, SPACE, Marks
from volt.foreign.engine import Engine, open_engine

ORDER = 2.5
"""Of the Rényi efficiency (Zouhar et al. 2023), as in the criterion `renyi`."""


@dataclass(frozen=True)
class Compared:
    """One row of the table. Docs: docs/cli.md."""

    name: str
    encoded_by: str
    """`volt`, or the library that had to do it."""
    size: int
    tokens: int
    tokens_per_word: float | None
    bytes_per_token: float | None
    renyi_efficiency: float | None
    entropy_per_character: float | None
    """Nats: token entropy times tokens over characters."""
    single_token_words: float | None
    unknown: float | None
    """Share of the tokens that are `<unk>` or single bytes that spell an unknown character."""
    overlap: float | None
    """Share of its tokens that the first vocabulary has too."""
    messages: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Comparison:
    rows: list[Compared]
    lines: int
    words: int
    characters: int

    def summary(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    vocabularies: Sequence[str | os.PathLike[str]], on: Text | Iterable[Text]
) -> Comparison:
    """Encode the text `on` with each vocabulary: a folder or volt.json of volt's, or any file that
    `volt import` reads, or any tokenizer.json or SentencePiece model."""
    if not vocabularies:
        raise SettingsError("name at least one vocabulary")
    lines = _read_lines(on)
    words = Counter(word for line in lines for word in line.split())
    engines = [open_engine(Path(path)) for path in vocabularies]
    rows = [
        compared(name, engine, engines[0], lines, words)
        for name, engine in zip(_names(vocabularies), engines, strict=True)
    ]
    return Comparison(rows, len(lines), words.total(), sum(map(len, lines)))


def _read_lines(on: Text | Iterable[Text]) -> list[str]:
    lines: list[str] = []
    for source in find_inputs(on):
        try:
            with source.open() as stream:
                data = stream.read()
        except OSError as error:
            raise InputError(f"cannot read {source.name}: {error.strerror or error}") from error
        try:
            text = data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise invalid_utf8(source.name, line, error.start, data[error.start], "") from None
        found = text.split("\n")
        lines += [line.removesuffix("\r") for line in (found if found[-1] else found[:-1])]
    if not any(line.split() for line in lines):
        raise InputError("there is not one word in the text: nothing to compare on")
    return lines


def _names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The last part of each path, or as much of it as tells them apart."""
    parts = [Path(path).parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = [str(Path(*part[-length:])) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [os.fspath(path) for path in paths]


def compared(
    name: str, subject: Engine, first: Engine, lines: list[str], words: Counter[str]
) -> Compared:
    """The row of one tokenizer; `first` is that of the first row."""
    ids = [i for line in subject.encode(lines) for i in line]
    alone = subject.encode([subject.before_word + word for word in words])
    single = sum(count for count, cut in zip(words.values(), alone, strict=True) if len(cut) == 1)
    tokens = len(ids)
    if not tokens:
        raise InputError(f"{name} makes no tokens of the text")
    counts = np.bincount(np.array(ids, np.int64), minlength=subject.size).astype(np.float64)
    shares = counts[counts > 0] / tokens
    entropy = float(-(shares * np.log(shares)).sum())
    characters = sum(map(len, lines))
    unknown = {*subject.byte_ids, subject.unknown_id}
    renyi = None
    if subject.size > 1:
        renyi = math.log(float((shares**ORDER).sum())) / (1 - ORDER) / math.log(subject.size)
    return Compared(
        name=name,
        encoded_by=subject.library,
        size=subject.size,
        tokens=tokens,
        tokens_per_word=tokens / words.total(),
        bytes_per_token=sum(len(line.encode()) for line in lines) / tokens,
        renyi_efficiency=renyi,
        entropy_per_character=entropy * tokens / characters,
        single_token_words=single / words.total(),
        unknown=sum(i in unknown for i in ids) / tokens,
        overlap=overlap(first, subject),
        messages=subject.messages,
    )


def overlap(first: Engine, other: Engine) -> float | None:
    """Share of the tokens of `other` that `first` has too, with the marks of words if both have the
    same, else without."""
    mine, theirs = first.texts, other.texts
    if _shown(first.marks) != _shown(other.marks):
        mine, theirs = ({text.strip(b" \0") for text in texts} for texts in (mine, theirs))
    return len(mine & theirs) / len(theirs) if theirs else None


def _shown(marks: Marks) -> Marks:
    """What tokens tell about words: a space before one is the same however it is written."""
    return SPACE if marks is BYTES else marks
