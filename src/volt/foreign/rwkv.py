"""RWKV's vocabulary: at every byte the longest token that fits. There is no library to ask."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

from volt import _core
from volt.base.errors import InputError
from volt.base.gate import read_bytes
from volt.counting.counts import WordCounts
from volt.counting.marks import byte_letters, letter_bytes
from volt.foreign.base import Change, Engine, by_id, is_utf8
from volt.foreign.inner import Inner, looking_up
from volt.proposing.tokens import packed
from volt.tokenizing.schemas import MOST_TOKENS
from volt.tokenizing.tokenizer import Tokenizer

LONGEST_LINE = 4096


class Rwkv(Engine):
    """Runs a vocabulary of lines such as `33 ' ' 1`: the id, a literal of Python, its bytes."""

    def __init__(self, path: Path) -> None:
        self.name, self.kind, self.file = str(path), "rwkv", path
        self.library = "volt"
        self.messages = []
        self.lines: dict[int, bytes] = {}
        self.token_of: dict[bytes, int] = {}
        for number, line in enumerate(read_bytes(path).splitlines(keepends=True), 1):
            if line.strip():
                self._read_line(line, number)
        self.names = by_id((byte_letters(data), i) for data, i in self.token_of.items())
        missing = [byte for byte in range(256) if bytes([byte]) not in self.token_of]
        if missing:
            raise InputError(f"{path}: the byte {missing[0]} is not a token")
        self.before_word = " "

    def _read_line(self, line: bytes, number: int) -> None:
        head, _, rest = line.rstrip(b"\r\n").partition(b" ")
        literal, _, length = rest.rpartition(b" ")
        try:
            text = ast.literal_eval(literal.decode()) if len(line) < LONGEST_LINE else None
            data = text.encode() if isinstance(text, str) else text
            fine = isinstance(data, bytes) and len(data) == int(length) > 0
            token = int(head)
        except (ValueError, SyntaxError, UnicodeError, MemoryError, RecursionError):
            fine, data, token = False, b"", 0
        if not fine or data is None or not 0 < token < MOST_TOKENS or data in self.token_of:
            raise InputError(f"{self.name}: line {number}: not an id, a new token and its length")
        self.token_of[data] = token
        self.lines[token] = line

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Every text as one word of the native encoder, which takes no empty ones."""
        some = [text.encode() for text in texts if text]
        if not some:
            return [[] for _ in texts]
        one_each = np.ones(len(some), np.uint64)
        words = WordCounts(self._native.vocabulary.rule, *packed(some), one_each)
        ids, offsets = self._native.encode_words(words)
        found = (ids[start:end].tolist() for start, end in pairwise(offsets.tolist()))
        return [next(found) if text else [] for text in texts]

    @cached_property
    def _native(self) -> Tokenizer:
        return Tokenizer(self.inner().vocabulary)

    def decode(self, ids: list[int]) -> str:
        return b"".join(self.plain[i] or b"" for i in ids).decode(errors="replace")

    def words(self, text: str) -> list[str]:
        """RWKV cuts no words. A word here ends where both a token and a word of GPT-2 end, so each
        one alone gives the tokens that it gives in the text."""
        data = text.encode()
        ends = {0, *accumulate(len(word.encode()) for word in _core.words_of(text, "byte-level"))}
        words, start, place = [], 0, 0
        for token in self.encode(text):
            place += len(self.plain[token] or b"")
            if place in ends or place == len(data):
                words.append(byte_letters(data[start:place]))
                start = place
        return words

    def inner(self) -> Inner:
        return looking_up(self.names, self.named, encoding="longest", byte_level=True)

    def rewrite(self, change: Change) -> dict[str, bytes]:
        """The lines of the tokens that stay, with their new ids and otherwise as they were."""
        lines = [b"%d %s" % (change.id_map[old], line.partition(b" ")[2])
                 for old, line in self.lines.items() if change.id_map[old] >= 0]  # fmt: skip
        end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
        if lines and not lines[-1].endswith(b"\n"):
            lines[-1] += end
        for number, one in enumerate(change.added, change.kept):
            data = letter_bytes(one.text)
            literal = repr(data.decode() if is_utf8(data) else data)
            lines.append(f"{number} {literal} {len(data)}".encode() + end)
        return {self.file.name: b"".join(lines)}
