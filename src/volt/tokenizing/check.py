"""What encoding shows about a vocabulary: frequencies, reachability, a self-test."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress

import numpy as np

from volt.counting.counts import Part, WordCounts
from volt.counting.marks import BYTES, SPACE_MARK, WORD_END
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
    rule, texts, marks = vocabulary.rule, vocabulary.texts, vocabulary.marks
    known = {marks.strip(text) for text in vocabulary.of_kind("character")}
    stranger = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in known).encode()
    numbers = [
        number for number in np.flatnonzero(vocabulary.columns.are(*SPELLED)).tolist()
        if not marks.is_inner(texts[number])
    ]  # fmt: skip
    pieces = vocabulary.native.pieces() if marks is BYTES else []  # the same, and made already
    words = [pieces[number] if pieces else marks.word(texts[number]) for number in numbers]
    if marks is WORD_END:
        words = [
            word if marks.position(texts[number]).ends else word + stranger
            for number, word in zip(numbers, words, strict=True)
        ]
    ids, ends = tokenizer.encode_words(
        WordCounts(rule, *packed(words), np.ones(len(words), np.uint64))
    )
    starts = ends[:-1].astype(np.int64)
    expected = np.array([1 + word.endswith(stranger) for word in words])
    single = np.diff(ends).astype(np.int64) == expected
    reached = single & (ids[np.minimum(starts, len(ids) - 1)] == np.array(numbers))
    return [number for number, fine in zip(numbers, reached.tolist(), strict=True) if not fine]


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

    parts = vocabulary.of_kind(*SPELLED)
    if vocabulary.rule.mode.byte_level:
        pieces, blank = vocabulary.native.pieces(), " \t\r\n"
        spelled = np.flatnonzero(vocabulary.columns.are(*SPELLED)).tolist()
        shown = (pieces[number].decode(errors="ignore").strip(blank) for number in spelled)
        parts = list(compress(parts, shown))
    elif vocabulary.rule.mode.space_before:
        parts = [token for token in parts if token.strip(f"{SPACE_MARK} \t\r\n")]
    strung = [
        "".join(text_of(parts[(start * 7919 + i * 104729) % len(parts)]) for i in range(5))
        for start in range(24)
    ] if parts else []  # fmt: skip
    return [*FIXED_TEXTS, *strung]
