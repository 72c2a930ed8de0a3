"""The words of a text as somebody's tokenizer makes them, and how it cuts the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from volt.adapting.own_candidates import token_frequencies
from volt.base.errors import InputError, SettingsError
from volt.base.options import options_of
from volt.base.progress import Progress
from volt.choosing.entropy import entropy_per_length
from volt.counting.count import counted, some_words
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text, find_inputs
from volt.counting.marks import SPACE_MARK
from volt.counting.objects import Texts
from volt.counting.reading import lines_of
from volt.counting.records import RecordOptions
from volt.counting.words import WordRule
from volt.foreign.base import Engine
from volt.foreign.documents import look_at, read_documents
from volt.foreign.inner import Inner
from volt.foreign.original import Original
from volt.foreign.volt_engine import Native
from volt.proposing.tokens import packed
from volt.settings import CountSettings
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

LONGEST_SPACED_WORD = 10_000
"""Where only spaces end a word, it may be long."""
USABLE = ("glob", "min_count", "on_invalid", "input_format", "field")


@dataclass(frozen=True)
class Fit:
    """How a vocabulary cuts the text."""

    size: int
    tokens: float
    tokens_per_line: float | None
    """A line counts as often as its words do. None where counts do not tell of lines."""
    entropy_per_character: float
    """Nats: token entropy times tokens over the characters of the text, as in `compare`. The words
    of WordPiece are counted without the spaces between them."""
    unknown: float
    """Share of the tokens that are `<unk>` or single bytes that spell an unknown character; line
    ends apart. In `compare`, `unknown` and `in_bytes` together."""


def fitting_documents(on: WordCounts | Text | Iterable[Text], options: dict[str, Any]) -> list[str]:
    """The documents of a text that an engine has to see."""
    if isinstance(on, WordCounts):
        raise SettingsError("this tokenizer has to see the text itself: word counts are not enough")
    settings, defaults = CountSettings(**options), CountSettings()
    for name in options_of(CountSettings):
        if name not in USABLE and getattr(settings, name) != getattr(defaults, name):
            if name == "weights":
                raise SettingsError(
                    "`weights`: the words of this tokenizer are counted over whole documents, as "
                    "its own library cuts them, and documents have no weights"
                )
            raise SettingsError(f"the tokenizer cuts the text itself: `{name}` does not go with it")
    return read_documents(on, settings)


class FittingText:
    """A text that a tokenizer is fitted to, as inputs and options of `count`."""

    def __init__(self, on: WordCounts | Text | Iterable[Text], options: dict[str, Any]) -> None:
        self.on, self.options = on, options

    def look(self) -> list[str]:
        """What the encoder is checked on: parts of its documents, or its words."""
        settings = CountSettings(**self.options)
        self.on, texts = look_at(self.on, settings)
        if settings.weights is not None and not isinstance(self.on, WordCounts):
            weights = [one.weight for one in self.on]  # a folder is several inputs now
            self.options = {**self.options, "weights": weights}
        return texts

    def keep(self) -> None:
        """Read it once. An engine encodes it more than once."""
        if not isinstance(self.on, WordCounts):
            self.on = [Texts(fitting_documents(self.on, self.options))]


def _lines(documents: list[str]) -> int:
    return sum(len(lines_of(document)) for document in documents)


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
    return inner.counts(words, _lines(documents))


def fit_engine(engine: Engine, documents: list[str]) -> Fit:
    """How an engine cuts documents."""
    found = engine.encode_fitting(documents)
    ids = np.array([i for one in found for i in one], np.int64)
    counts = np.bincount(ids, minlength=engine.size)
    nats = entropy_per_length(counts, np.ones(len(counts)), "occurrences")
    unknown = sorted(engine.unknown_ids)
    lines = _lines(documents)
    return Fit(
        size=engine.size,
        tokens=float(len(ids)),
        tokens_per_line=len(ids) / max(1, lines),
        entropy_per_character=nats * len(ids) / max(1, sum(map(len, documents))),
        unknown=float(counts[unknown].sum()) / max(1, len(ids)),
    )


def fit(vocabulary: Vocabulary, counts: WordCounts, threads: int) -> Fit:
    """How the vocabulary cuts the text: every word type is encoded with it."""
    frequency = token_frequencies(Tokenizer(vocabulary, threads=threads), counts)
    tokens = int(frequency.sum()) / counts.unit
    lines = counts.weighted_lines
    nats = entropy_per_length(frequency, np.ones(len(frequency)), "occurrences")
    unknown = sorted(Native(Tokenizer(vocabulary), "volt").unknown_ids)
    return Fit(
        size=len(vocabulary),
        tokens=tokens,
        tokens_per_line=tokens / float(lines) if lines else None,
        entropy_per_character=nats * float(frequency.sum()) / max(1, counts.text_characters),
        unknown=float(frequency[unknown].sum()) / max(1, int(frequency.sum())),
    )


def count_for(
    original: Original | Vocabulary,
    on: WordCounts | Text | Iterable[Text],
    options: dict[str, Any],
    threads: int,
    progress: Progress,
) -> WordCounts:
    """The words of the text, cut as the tokenizer cuts them."""
    original = Original(original) if isinstance(original, Vocabulary) else original
    vocabulary = original.vocabulary
    rule = vocabulary.rule
    if not original.exact or (vocabulary.word_ends == "runs" and not isinstance(on, WordCounts)):
        engine = original.engine or Native(Tokenizer(vocabulary, threads=threads), "volt")
        least = options.get("min_count") or 1
        return count_engine_words(engine, Inner(vocabulary), fitting_documents(on, options), least)
    if isinstance(on, WordCounts):
        return some_words(counted(on, options, threads, progress))
    # Tokens that are looked up may reach over all but spaces, and some that are merged.
    reaching = vocabulary.look_up is not None or vocabulary.word_ends == "spaces"
    spaced = reaching and rule.mode.space_before
    fixed = {
        "pretokenizer": "whitespace" if spaced else rule.pretokenizer,
        "normalize": rule.normalize,
        "max_word_length": LONGEST_SPACED_WORD if spaced else rule.max_word_length,
        "unit": rule.reads,
    }
    if clash := fixed.keys() & options.keys():
        raise SettingsError(f"the tokenizer decides about {', '.join(sorted(clash))}")
    options = {**fixed, **options}
    if vocabulary.normalizer is not None:
        weights, records = options.pop("weights", None), RecordOptions.of(CountSettings(**options))
        glob = options.pop("glob", "*")
        found = find_inputs(on, glob=glob, weights=weights, records=records)
        on = [replace(source, normalizer=vocabulary.normalizer) for source in found]
    counts = some_words(counted(on, options, threads, progress))
    return _after_spaces(counts, rule) if spaced else counts


def _after_spaces(counts: WordCounts, rule: WordRule) -> WordCounts:
    """Words between spaces as metaspace words: with a `▁` before them. A `▁` that is text is in no
    token, and left out, as in metaspace counts; words that become equal are added up."""
    words = [(SPACE_MARK + word.replace(SPACE_MARK, "")).encode() for word in counts.words]
    counter = rule.counter()
    counter.add_words(*packed(words), counts.counts, 1)
    text, offsets, numbers = counter.finish(1)
    parts = [replace(part, counts=_after_spaces(part.counts, rule)) for part in counts.parts]
    return replace(counts, rule=rule, text=text, offsets=offsets, counts=numbers, parts=parts)
