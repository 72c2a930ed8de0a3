"""OPUS-MT: pieces of source.spm, numbered by vocab.json, as `MarianTokenizer` does it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from volt.base.errors import InputError, SettingsError
from volt.base.gate import read_bytes, read_json
from volt.counting.marks import SPACE_MARK
from volt.foreign.base import Change, Engine, by_id
from volt.foreign.inner import Inner
from volt.foreign.sentencepiece import SentencePiece
from volt.tokenizing.volt_json import MOST_TOKENS

LANGUAGE = re.compile(r">>.+?<<")
UNKNOWN = "<unk>"


class MarianMT(Engine):
    """The source side of a translation model; `>>de<<` before a text names the target language."""

    def __init__(self, folder: Path) -> None:
        self.name, self.kind, self.folder = str(folder), "marian-mt", folder
        table = read_json(folder / "vocab.json")
        fine = isinstance(table, dict) and all(
            type(i) is int and 0 <= i < MOST_TOKENS for i in table.values()
        )
        if not fine or UNKNOWN not in table:
            raise InputError(f"{folder / 'vocab.json'}: no table of tokens and ids with {UNKNOWN}")
        self.pieces = SentencePiece(str(folder / "source.spm"), read_bytes(folder / "source.spm"))
        self.library = self.pieces.library
        self.ids: dict[str, int] = table
        self.names = by_id(table.items())
        self.unknown_id = table[UNKNOWN]
        named = {"</s>", UNKNOWN, "<pad>", *(name for name in table if LANGUAGE.fullmatch(name))}
        self.named = frozenset(table[name] for name in named if name in table)
        self.before_word = self.pieces.before_word
        self.messages = ["the source side, source.spm; target.spm writes the same ids"]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.ids.get(piece, self.ids[UNKNOWN]) for piece in self._cut(text)]
                for text in texts]  # fmt: skip

    def _cut(self, text: str) -> list[str]:
        code = LANGUAGE.match(text)
        head = [code[0]] if code else []
        rest = text[code.end() :] if code else text
        return [*head, *self.pieces.model.encode(rest, out_type=str)]

    def decode(self, ids: list[int]) -> str:
        pieces = [self.names[i] or "" for i in ids if i not in self.named]
        return "".join(pieces).replace(SPACE_MARK, " ").removeprefix(" ")

    def words(self, text: str) -> list[str]:
        return self.pieces.words(text)

    def inner(self) -> Inner:
        raise SettingsError(
            f"{self.name}: an OPUS-MT folder has two models for one vocabulary: refit and extend "
            "do not take it; take source.spm or target.spm alone"
        )

    def rewrite(self, change: Change) -> dict[str, bytes]:
        raise SettingsError(f"{self.name}: an OPUS-MT folder can't be rewritten")
