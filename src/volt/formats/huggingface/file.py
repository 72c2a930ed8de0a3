"""The file `tokenizer.json`. Its vocabulary and merges, nearly all of it, are read natively into
columns: as Python objects they take longer than everything else that is done with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import InputError
from volt.base.gate import decoded, parse_json
from volt.base.schema import check, fixed, number, optional, rows, table, text, whole
from volt.tokenizing.schemas import MOST_TOKENS, TOKEN_IDS


@dataclass(frozen=True, eq=False)
class Columns:
    """`model.vocab` and `model.merges` of a BPE model."""

    text: NDArray[np.uint8]
    """The tokens in the order of the file, packed."""
    offsets: NDArray[np.uint64]
    ids: NDArray[np.int64]
    joins: NDArray[np.int64]
    """Per merge: left, right and what they make, as places in the vocabulary; the last is negative
    if that is not a token."""

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens in the order of the file."""
        return _core.texts_of(self.text, self.offsets)

    @property
    def vocab(self) -> dict[str, int]:
        return dict(zip(self.tokens, self.ids.tolist(), strict=True))

    @property
    def in_order(self) -> bool:
        """Are the ids 0, 1, 2, ... in the order of the file, and is every token text?"""
        return bool(
            (self.ids == np.arange(len(self.ids))).all() and (np.diff(self.offsets) > 0).all()
        )

    @property
    def merges(self) -> list[list[str]]:
        tokens = self.tokens
        return [[tokens[left], tokens[right]] for left, right, _ in self.joins.tolist()]


@dataclass(frozen=True, eq=False)
class TokenizerJson:
    """What a file contains."""

    name: str
    data: bytes
    head: Any
    """The value of the file. If there are columns, its vocabulary and merges are empty."""
    columns: Columns | None

    @cached_property
    def whole(self) -> Any:
        """The value of the file."""
        return self.head if self.columns is None else parse_json(self.name, self.data)


@lru_cache(maxsize=1)
def tokenizer_json(name: str, data: bytes) -> TokenizerJson:
    """Read a file, which is not trusted: tokens, merges and added tokens are what they must be. The
    last file is kept, because conversion reads it again to verify."""
    found, columns = _core.split_tokenizer_json(data), None
    if found is not None:
        rest, text, offsets, ids, joins = found
        columns = Columns(text, offsets, ids, joins.reshape(-1, 3))
    head = parse_json(name, decoded(name, data) if found is None else rest)
    if not isinstance(head, dict) or not isinstance(head.get("model"), dict):
        raise InputError(f"{name}: not a tokenizer.json: it has no model")
    check(FILE, head, name)
    if columns and max(len(columns.joins), columns.ids.max(initial=-1) + 1) > MOST_TOKENS:
        raise InputError(f"{name}: model: an id, or a number of merges, above {MOST_TOKENS:,}")
    return TokenizerJson(name, data, head, columns)


MOST_ADDED = 200_000
_ID = whole(0, MOST_TOKENS - 1)
_SCORED = rows(fixed(text(), number()), MOST_TOKENS)
_PAIR = fixed(text(), text())


def _vocab(where: str, value: Any) -> None:
    """Tokens and ids or, of a Unigram model, tokens and scores."""
    (_SCORED if isinstance(value, list) else TOKEN_IDS)(where, value)


def _merge(where: str, value: Any) -> None:
    _PAIR(where, value.split(" ") if isinstance(value, str) else value)


FILE = table(
    {"model": table({"vocab": _vocab}, {"merges": optional(rows(_merge, MOST_TOKENS))})},
    {"added_tokens": optional(rows(table({"id": _ID, "content": text()}), MOST_ADDED))},
)
"""The schema of what is read of the file in any case."""
