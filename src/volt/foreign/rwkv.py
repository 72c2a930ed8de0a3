"""RWKV's vocabulary: the longest token that fits, byte by byte. It has no library; this is all."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from volt.base.errors import InputError, SettingsError
from volt.base.gate import read_bytes
from volt.counting.marks import byte_letters
from volt.foreign.base import Change, Engine, by_id
from volt.foreign.inner import Inner
from volt.tokenizing.volt_json import MOST_TOKENS

LONGEST_LINE = 4096


class Rwkv(Engine):
    """Runs a vocabulary of lines such as `33 ' ' 1`: the id, a literal of Python, its bytes."""

    def __init__(self, path: Path) -> None:
        self.name, self.kind, self.file = str(path), "rwkv", path
        self.library = "volt (RWKV has no library of its own)"
        self.messages = []
        self.lines: dict[int, bytes] = {}
        self.token_of: dict[bytes, int] = {}
        for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
            if line.strip():
                self._read_line(line.rstrip(b"\r"), number)
        self.longest = max(map(len, self.token_of), default=0)
        self.names = by_id((byte_letters(data), i) for data, i in self.token_of.items())
        missing = [byte for byte in range(256) if bytes([byte]) not in self.token_of]
        if missing:
            raise InputError(f"{path}: the byte {missing[0]} is not a token")
        self.before_word = " "

    def _read_line(self, line: bytes, number: int) -> None:
        head, _, rest = line.partition(b" ")
        literal, _, length = rest.rpartition(b" ")
        try:
            text = ast.literal_eval(literal.decode()) if len(line) < LONGEST_LINE else None
            data = text.encode() if isinstance(text, str) else text
            fine = isinstance(data, bytes) and len(data) == int(length) > 0
            token = int(head)
        except (ValueError, SyntaxError, UnicodeError, MemoryError, RecursionError):
            fine, data, token = False, b"", 0
        if not fine or data is None or not 0 < token < MOST_TOKENS or data in self.token_of:
            raise InputError(f"{self.name}: line {number}: no new token with its id and length")
        self.token_of[data] = token
        self.lines[token] = line

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._encode(text.encode()) for text in texts]

    def _encode(self, data: bytes) -> list[int]:
        ids: list[int] = []
        place, token_of = 0, self.token_of
        while place < len(data):
            for end in range(min(len(data), place + self.longest), place, -1):
                token = token_of.get(data[place:end])
                if token is not None:
                    ids.append(token)
                    place = end
                    break
        return ids

    def decode(self, ids: list[int]) -> str:
        return b"".join(self.plain[i] or b"" for i in ids).decode(errors="replace")

    def words(self, text: str) -> list[str]:
        return [byte_letters(text.encode())] if text else []

    def inner(self) -> Inner:
        raise SettingsError(
            f"{self.name}: RWKV cuts no words, so its tokens can't be counted by word: refit and "
            "extend do not take it"
        )

    def rewrite(self, change: Change) -> dict[str, bytes]:
        raise SettingsError(f"{self.name}: an RWKV vocabulary can't be rewritten")
