"""What encoding shows about a vocabulary: frequencies, reachability, a self-test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.counting.combine import some_texts
from volt.counting.counts import Part, WordCounts
from volt.counting.marks import BYTES, SPACE, SPACE_MARK, WORD_END
from volt.proposing.tokens import SPELLED, packed
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary


def measure(vocabulary: Vocabulary, counts: WordCounts, threads: int) -> Tokenizer:
    """Frequencies, unreachable tokens and the self-test, all by encoding with the vocabulary."""
    tokenizer = Tokenizer(vocabulary, threads=threads)
    frequencies = np.zeros(len(vocabulary), np.int64)
    for part in counts.parts or [Part(counts, 1)]:
        frequencies += tokenizer.usage(part.counts)[0] * part.weight
    measured = replace(
        vocabulary.with_frequencies(frequencies),
        unreachable=find_unreachable(tokenizer),
        self_test=[(text, tokenizer.encode(text)) for text in self_test_texts(vocabulary)],
    )
    return tokenizer.with_vocabulary(measured)


def find_unreachable(tokenizer: Tokenizer) -> list[int]:
    """The tokens whose own text, as a word, is not encoded as that one token.

    A token that cannot end a word (`whitespace` mode) is followed by a character that is not in the
    vocabulary, with which nothing merges. One that cannot start a word (`##`) can follow any that
    can.
    """
    vocabulary = tokenizer.vocabulary
    columns, marks = vocabulary.columns, vocabulary.marks
    spelled = columns.are(*SPELLED)
    numbers = np.flatnonzero(spelled)
    expected: NDArray[np.integer[Any]] = np.ones(len(numbers), np.int64)
    if marks in (BYTES, SPACE):
        native, size = vocabulary.native, len(vocabulary)  # native: hidden tokens, too
        made = (native.text, native.offsets[: size + 1]) if marks is BYTES else columns.packed
        words = some_texts(*made, spelled)
    else:
        texts = vocabulary.texts
        numbers = numbers[[not marks.is_inner(texts[number]) for number in numbers.tolist()]]
        known = {marks.strip(text) for text in vocabulary.of_kind("character")}
        stranger = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in known).encode()
        listed = [
            marks.word(text) + stranger * (marks is WORD_END and not marks.position(text).ends)
            for text in vocabulary.columns.texts_at(numbers.tolist())
        ]
        expected = np.array([1 + word.endswith(stranger) for word in listed])
        words = packed(listed)
    ids, ends = tokenizer.encode_words(
        WordCounts(vocabulary.rule, *words, np.ones(len(numbers), np.uint64))
    )
    starts = ends[:-1].astype(np.int64)
    single = np.diff(ends).astype(np.int64) == expected
    reached = single & (ids[np.minimum(starts, len(ids) - 1)] == numbers)
    return [int(number) for number in numbers[~reached]]


FIXED_TEXTS = (
    "",
    " ",
    "a",
    "Hello, world! 1234567890",
    "  two  spaces, a tab\there and trailing ",
    "naïve café, Übermäßigkeit, señor, fiancée",
    "пример текста, παράδειγμα, דוגמה, مثال, उदाहरण",
    "語彙は大切です。词汇很重要。 어휘는 중요합니다.",
    "e\u0301 and é, ﬁ, ①②③, ½, x²",
    "👩‍🚀🏳️‍🌈 \U0001f9ff \ue000",
    "don't they'll we've I'm 's",
    "▁literal▁mark </w> <unk> <s> @@ ##",
)


def self_test_texts(vocabulary: Vocabulary) -> list[str]:
    """A few dozen texts: fixed ones, and tokens of the vocabulary strung together. None is a
    sentence of the corpus."""

    def text_of(token: str) -> str:
        return vocabulary.plain_text(token).decode(errors="ignore")

    columns = vocabulary.columns
    numbers = np.flatnonzero(columns.are(*SPELLED))
    if vocabulary.rule.mode.byte_level:
        native = vocabulary.native
        numbers = numbers[_core.show_text(native.text, native.offsets)[numbers] > 0]
    elif vocabulary.rule.mode.space_before:
        blank = f"{SPACE_MARK} \t\r\n"
        numbers = numbers[[bool(text.strip(blank)) for text in columns.texts_at(numbers.tolist())]]
    size = len(numbers)
    strung = [
        "".join(
            text_of(text)
            for text in columns.texts_at(
                int(numbers[(start * 7919 + i * 104729) % size]) for i in range(5)
            )
        )
        for start in range(24)
    ] if size else []  # fmt: skip
    return [*FIXED_TEXTS, *strung]
