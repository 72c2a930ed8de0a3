"""A volt tokenizer with the interface of `tiktoken.Encoding`.

>>> from volt.compat.tiktoken import Encoding
>>> encoding = Encoding(tokenizer)
>>> encoding.decode(encoding.encode("low slow"))
'low slow'
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import volt

ALL: Literal["all"] = "all"


class Encoding:
    """What `tiktoken.get_encoding` returns, made of a volt tokenizer or its folder.

    >>> Encoding(tokenizer).encode("low")
    [272]
    """

    def __init__(
        self, tokenizer: volt.Tokenizer | str | os.PathLike[str], name: str = "volt"
    ) -> None:
        self.tokenizer = (
            tokenizer if isinstance(tokenizer, volt.Tokenizer) else volt.load(tokenizer)
        )
        self.name = name

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ------------------------------------------------------------------------------------- encode

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: Literal["all"] | Collection[str] = ALL,
    ) -> list[int]:
        """The ids of a text. The name of a special token that is not allowed is an error, unless
        `disallowed_special` leaves it out: then it is ordinary text."""
        allowed = self._checked(text, allowed_special, disallowed_special)
        return self.tokenizer.encode(_whole(text), allowed_special=allowed)

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text without special tokens."""
        return self.tokenizer.encode(_whole(text))

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: Literal["all"] | Collection[str] = ALL,
    ) -> NDArray[np.uint32]:
        """The ids as an array, without a copy."""
        allowed = self._checked(text, allowed_special, disallowed_special)
        return self.tokenizer.encode_array(_whole(text), allowed_special=allowed)

    def encode_batch(
        self,
        text: Sequence[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: Literal["all"] | Collection[str] = ALL,
    ) -> list[list[int]]:
        """The ids of each text; volt takes as many threads as its tokenizer has."""
        allowed = [self._checked(one, allowed_special, disallowed_special) for one in text]
        names = allowed[0] if allowed else frozenset()
        return self.tokenizer.encode_batch(map(_whole, text), allowed_special=names)

    def encode_ordinary_batch(
        self, text: Sequence[str], *, num_threads: int = 8
    ) -> list[list[int]]:
        """The ids of each text without special tokens."""
        return self.tokenizer.encode_batch(map(_whole, text))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of a token by its text; KeyError if there is none."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        name = data.decode(errors="replace")
        if name in self.tokenizer.special_ids:
            return self.tokenizer.special_ids[name]
        try:
            return self._by_bytes[data]
        except KeyError:
            raise KeyError(data) from None

    # ------------------------------------------------------------------------------------- decode

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids."""
        return self.decode_bytes(tokens).decode(errors=errors)

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids; KeyError for what is not an id."""
        try:
            return self.tokenizer.decode_bytes(tokens)
        except volt.InputError as error:
            raise KeyError(str(error)) from None

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token; KeyError for what is not an id."""
        if not 0 <= token < len(self.tokenizer):
            raise KeyError(token)
        return self.tokenizer._decoder.pieces[token]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of ids, and the character at which each of them begins."""
        pieces = self.decode_tokens_bytes(tokens)
        length = 0
        offsets = []
        for piece in pieces:
            inside = bool(piece) and 0x80 <= piece[0] < 0xC0
            offsets.append(max(0, length - inside))
            length += sum(not 0x80 <= byte < 0xC0 for byte in piece)
        return b"".join(pieces).decode(errors="strict"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """The text of each list of ids."""
        with ThreadPoolExecutor(num_threads) as pool:
            return list(pool.map(partial(self.decode, errors=errors), batch))

    def decode_bytes_batch(
        self, batch: Sequence[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """The bytes of each list of ids."""
        with ThreadPoolExecutor(num_threads) as pool:
            return list(pool.map(self.decode_bytes, batch))

    # --------------------------------------------------------------------------------------- about

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens that are not special, sorted."""
        return sorted(self._by_bytes)

    @property
    def eot_token(self) -> int:
        """The id of the special token that ends a text."""
        name = self.tokenizer.vocabulary.role("eos")
        return self.tokenizer.special_ids[name or "<|endoftext|>"]

    @property
    def special_tokens_set(self) -> set[str]:
        return set(self.tokenizer.special_ids)

    def is_special_token(self, token: int) -> bool:
        """Is it the id of a special token?"""
        return token in self.tokenizer.special_ids.values()

    @property
    def max_token_value(self) -> int:
        return len(self.tokenizer) - 1

    @property
    def n_vocab(self) -> int:
        return len(self.tokenizer)

    @cached_property
    def _by_bytes(self) -> dict[bytes, int]:
        special = set(self.tokenizer.special_ids.values())
        pieces = self.tokenizer._decoder.pieces
        return {piece: i for i, piece in enumerate(pieces) if i not in special}

    def _checked(
        self,
        text: str,
        allowed: Literal["all"] | AbstractSet[str],
        disallowed: Literal["all"] | Collection[str],
    ) -> frozenset[str]:
        """The special tokens that the text may call; ValueError if it calls another."""
        names = frozenset(self.special_tokens_set if allowed == ALL else allowed)
        refused = self.special_tokens_set - names if disallowed == ALL else set(disallowed)
        if name := next((one for one in sorted(refused) if one in text), None):
            raise ValueError(
                f"the text contains the special token {name!r}, which is not allowed: pass it in "
                f"`allowed_special`, or `disallowed_special=()` to encode it as text"
            )
        return names & self.special_tokens_set


def _whole(text: str) -> str:
    """As tiktoken does with lone surrogates: what they make together, or U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
