"""The file `tokenizer.json`. Its vocabulary and merges, nearly all of it, are read natively into
columns: as Python objects they take longer than everything else that is done with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.gate import decoded, parse_json
from volt.proposing.tokens import character_offsets


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
        joined = self.text.tobytes().decode()
        ends = character_offsets(self.text, self.offsets).tolist()
        return [joined[start:end] for start, end in pairwise(ends)]

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
    """Read a file. The last one is kept, because conversion reads it again to verify."""
    found = _core.split_tokenizer_json(data)
    if found is None:
        return TokenizerJson(name, data, parse_json(name, decoded(name, data)), None)
    rest, text, offsets, ids, joins = found
    columns = Columns(text, offsets, ids, joins.reshape(-1, 3))
    return TokenizerJson(name, data, parse_json(name, rest), columns)
