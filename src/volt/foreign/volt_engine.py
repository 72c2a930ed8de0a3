"""volt's own encoder as an engine: for vocabularies of volt, and files that it was checked on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from volt.base.errors import SettingsError
from volt.counting.marks import SPACE_MARK, Marks
from volt.foreign.base import Change, Engine
from volt.foreign.inner import Inner
from volt.tokenizing.tokenizer import Tokenizer

WORD_AFTER_SPACES = re.compile(" *[^ ]+| +")


class Native(Engine):
    """Encodes by native code. `behind` is the engine that it was checked against, which still cuts
    words and rewrites the file."""

    def __init__(
        self, tokenizer: Tokenizer, kind: str, behind: Engine | None = None, *, alone: bool = False
    ) -> None:
        self.tokenizer, self.kind, self.behind = tokenizer, kind, behind
        vocabulary = self.vocabulary = tokenizer.vocabulary
        self.library = "volt"
        self.messages = [] if behind is None else list(behind.messages)
        columns = vocabulary.columns
        self.named = frozenset(np.flatnonzero(columns.are("special", "symbol")).tolist())
        self.unknown_id = vocabulary.unknown_id
        self.byte_ids = frozenset(np.flatnonzero(columns.are("byte")).tolist())
        self.before_word = " " if vocabulary.rule.mode.byte_level else ""
        found = () if behind is None else behind.found
        self.allowed = frozenset(vocabulary.of_kind("special")) & {*found}
        # SentencePiece and Hugging Face do not tell a `▁` in the text from a space, but added
        # tokens may have it: such texts, which are rare, are left to the library, unless this is
        # `alone`.
        self.mark_is_space = behind is not None and vocabulary.rule.mode.space_before
        self.leaves_marks = self.mark_is_space and not alone
        self.by_lines = behind is None and vocabulary.rule.reads == "line"

    @cached_property
    def names(self) -> list[str | None]:  # type: ignore[override]
        return [*self.vocabulary.texts]

    @property
    def around(self) -> tuple[list[str], list[str]] | None:
        if self.behind is not None:
            return self.behind.around
        before, after = self.vocabulary.around
        return [self.vocabulary.texts[i] for i in before], [self.vocabulary.texts[i] for i in after]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        if self.leaves_marks and self.behind is not None and any(SPACE_MARK in t for t in texts):
            return [self.behind.encode(text) if SPACE_MARK in text else self._encode([text])[0]
                    for text in texts]  # fmt: skip
        return self._encode(texts)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        if self.mark_is_space:
            texts = [text.replace(SPACE_MARK, " ") for text in texts]
        if not self.by_lines:
            return self.tokenizer.encode_batch(texts, allowed_special=self.allowed)
        # Such a vocabulary was learned from lines: a line end is not text to it.
        lines = [[line for line in text.split("\n") if line] for text in texts]
        found = iter(self.tokenizer.encode_batch([*chain(*lines)]))
        return [[*chain.from_iterable(next(found) for _ in one)] for one in lines]

    def decode(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids)

    def words(self, text: str) -> list[str]:
        if self.behind is not None:
            return self.behind.words(text)
        if self.vocabulary.word_ends != "runs":
            raise SettingsError("the words of this vocabulary are counted by volt")
        return [word for line in text.split("\n") for word in self._words_of_line(line)]

    def _words_of_line(self, line: str) -> list[str]:
        vocabulary = self.vocabulary
        if vocabulary.normalizer is not None:
            line = vocabulary.normalizer(line)
        first = " " if vocabulary.adds_space and line else ""
        found = WORD_AFTER_SPACES.findall((first + line).replace(SPACE_MARK, " "))
        return [word.replace(" ", SPACE_MARK) for word in found]

    def inner(self) -> Inner:
        return Inner(self.vocabulary) if self.behind is None else self.behind.inner()

    def rewrite(self, change: Change) -> dict[str, bytes]:
        return {} if self.behind is None else self.behind.rewrite(change)

    @property
    def marks(self) -> Marks:
        return self.vocabulary.marks
