"""The words of a text as somebody's tokenizer makes them, and how it cuts the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.base.options import options_of
from volt.choosing.entropy import entropy_per_length
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.objects import Texts
from volt.foreign.base import Engine
from volt.foreign.documents import look_at, read_documents
from volt.foreign.inner import Inner
from volt.foreign.opening import MOST_CHECKED
from volt.settings import CountSettings

USABLE = ("glob", "min_count", "on_invalid", "input_format", "field")


@dataclass(frozen=True)
class Fit:
    """How a vocabulary cuts the text."""

    size: int
    tokens: float
    tokens_per_line: float | None
    """A line counts as often as its words do. None where counts do not tell of lines."""
    entropy_per_character: float
    """Nats: token entropy times tokens over characters."""
    unknown: float
    """Characters that the vocabulary lacks, as `<unk>` or spelled in bytes, over tokens."""


def fitting_documents(on: WordCounts | Text | Iterable[Text], options: dict[str, Any]) -> list[str]:
    """The documents of a text that an engine has to see."""
    if isinstance(on, WordCounts):
        raise SettingsError("this tokenizer has to see the text itself: word counts are not enough")
    settings, defaults = CountSettings(**options), CountSettings()
    for name in options_of(CountSettings):
        if name not in USABLE and getattr(settings, name) != getattr(defaults, name):
            raise SettingsError(f"the tokenizer cuts the text itself: `{name}` does not go with it")
    return read_documents(on, settings)


class FittingText:
    """A text that a tokenizer is fitted to, as inputs and options of `count`."""

    def __init__(self, on: WordCounts | Text | Iterable[Text], options: dict[str, Any]) -> None:
        self.on, self.options = on, options

    def look(self) -> list[str]:
        """Its first documents, or its words, for the check of the encoder."""
        settings = CountSettings(**self.options)
        self.on, texts = look_at(self.on, settings, MOST_CHECKED)
        if settings.weights is not None and not isinstance(self.on, WordCounts):
            weights = [one.weight for one in self.on]  # a folder is several inputs now
            self.options = {**self.options, "weights": weights}
        return texts

    def keep(self) -> None:
        """Read it once. An engine encodes it more than once."""
        if not isinstance(self.on, WordCounts):
            self.on = [Texts(fitting_documents(self.on, self.options))]


def used_words(engine: Engine, documents: list[str], min_count: int) -> Counter[str]:
    """The words that the engine's model sees, and how often."""
    words = Counter(word for document in documents for word in engine.words(document))
    if min_count > 1:
        words = Counter({word: count for word, count in words.items() if count >= min_count})
    words.pop("", None)
    if not words:
        raise InputError("the text has no words")
    return words


def count_engine_words(
    engine: Engine, inner: Inner, documents: list[str], min_count: int
) -> WordCounts:
    """The same as word counts of volt."""
    words = used_words(engine, documents, min_count)
    return inner.counts(words, sum(document.count("\n") + 1 for document in documents))


def fit_engine(engine: Engine, documents: list[str]) -> Fit:
    """How an engine cuts documents."""
    found = engine.encode_fitting(documents)
    ids = np.array([i for one in found for i in one], np.int64)
    counts = np.bincount(ids, minlength=engine.size)
    nats = entropy_per_length(counts, np.ones(len(counts)), "occurrences")
    unknown = [i for i in engine.unknown_ids if not 0x80 <= (engine.plain[i] or b"\0")[0] < 0xC0]
    lines = sum(document.count("\n") + 1 for document in documents)
    return Fit(
        size=engine.size,
        tokens=float(len(ids)),
        tokens_per_line=len(ids) / max(1, lines),
        entropy_per_character=nats * len(ids) / max(1, sum(map(len, documents))),
        unknown=float(counts[unknown].sum()) / max(1, len(ids)),
    )
