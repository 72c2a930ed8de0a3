"""Ids back to text: whole, or as they come."""

from __future__ import annotations

import codecs
import operator
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.arguments import fits, wrong_type
from volt.base.errors import ArgumentTypeError, InputError, SettingsError
from volt.counting.marks import INNER
from volt.proposing.tokens import packed
from volt.tokenizing.encoder import END
from volt.tokenizing.vocabulary import Vocabulary

TokenIds = Sequence[int] | NDArray[Any]
NATIVE = (np.uint16, np.uint32, np.int32, np.int64)
"""Kinds of numbers that are decoded as they are, without a copy."""


class Decoder:
    """Decodes with a vocabulary. It never changes after it was made, so threads may share one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes each token stands for, by id."""
        return self.vocabulary.native.pieces()[: len(self.vocabulary)]

    @cached_property
    def names(self) -> list[bool]:
        """Which tokens are special ones or symbols."""
        found: list[bool] = self.vocabulary.columns.are("special", "symbol").tolist()
        return found

    @cached_property
    def special(self) -> frozenset[int]:
        """Special tokens that stand for no text."""
        unknown = self.vocabulary.unknown_id
        return frozenset(i for i in self.vocabulary.special_ids.values() if i != unknown)

    @cached_property
    def final(self) -> list[bool]:
        """Which tokens end a word, in whitespace text."""
        flags = self.vocabulary.native.flags[: len(self.vocabulary)]
        found: list[bool] = (flags == END).tolist()
        return found

    @cached_property
    def inner(self) -> list[bool]:
        """Which tokens are marked as inside a word (`##`)."""
        texts = self.vocabulary.texts
        return [
            not name and self.vocabulary.is_inner(text)
            for name, text in zip(self.names, texts, strict=True)
        ]

    @cached_property
    def _native(self) -> _core.PieceText:
        return _core.PieceText(*packed(self.pieces))

    @cached_property
    def _special_mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.vocabulary), bool)
        mask[list(self.special)] = True
        return mask

    def checked_id(self, token_id: int) -> int:
        """The id, if it is one of a token."""
        if not fits(token_id, int):
            raise wrong_type("token_id", "a whole number", token_id)
        if not 0 <= token_id < len(self.vocabulary):
            self._refuse(token_id)
        return token_id

    def _refuse(self, wrong: int) -> None:
        last = len(self.vocabulary) - 1
        raise InputError(f"there is no token {wrong}; ids are 0 to {last}")

    def decode_bytes(self, ids: TokenIds, skip_special: bool) -> bytes:
        if self.vocabulary.rule.mode.loses_spaces:
            return b"".join(self.decoded_pieces(ids, skip_special))
        array = as_array(ids)
        if skip_special and len(array):
            array = self.without_special(array)
        found = self.joined(array)
        spaced = self.vocabulary.drops_space and len(array)
        return found.removeprefix(b" ") if spaced and not self.names[int(array[0])] else found

    def joined(self, array: NDArray[Any]) -> bytes:
        """The pieces of the ids, one after the other."""
        joined = self._native.join(array)
        if isinstance(joined, int):
            self._refuse(int(array[joined]))
        found: bytes = joined  # type: ignore[assignment]
        return found

    def checked(self, array: NDArray[Any]) -> NDArray[Any]:
        wrong = np.flatnonzero((array < 0) | (array >= len(self.vocabulary)))
        if len(wrong):
            self._refuse(int(array[wrong[0]]))
        return array

    def without_special(self, array: NDArray[Any]) -> NDArray[Any]:
        kept: NDArray[Any] = array[~self._special_mask[self.checked(array)]]
        return kept

    def decoded_pieces(self, ids: TokenIds, skip_special: bool) -> list[bytes]:
        """For each id, the bytes it adds to the text."""
        array = as_array(ids)
        ids = (self.without_special(array) if skip_special else self.checked(array)).tolist()
        state = WordState(self)
        if self.vocabulary.rule.mode.loses_spaces:
            return [state.piece(i) for i in ids]
        pieces = [self.pieces[i] for i in ids]
        if self.vocabulary.drops_space and ids and not self.names[ids[0]]:
            pieces[0] = pieces[0].removeprefix(b" ")
        return pieces

    def decode_with_losses(self, ids: TokenIds) -> tuple[str, list[tuple[int, int]]]:
        parts: list[str] = []
        losses = []
        waiting: list[bytes] = []
        length = 0
        unknown = self.vocabulary.unknown_id
        array = as_array(ids)
        for token, piece in zip(array.tolist(), self.decoded_pieces(array, False), strict=True):
            waiting.append(piece)
            if token == unknown:
                parts.append(b"".join(waiting).decode(errors="replace"))
                waiting.clear()
                length += len(parts[-1])
                losses.append((length - len(self.vocabulary.texts[token]), length))
        parts.append(b"".join(waiting).decode(errors="replace"))
        return "".join(parts), losses


class WordState:
    """Where a text of words stands: one space between words, special tokens and symbols."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._by_start = decoder.vocabulary.marks is INNER
        self._unknown = decoder.vocabulary.unknown_id
        self._first = True
        self._inside = self._ended = False  # in a word; at the end of one

    def piece(self, token: int) -> bytes:
        """The bytes that the next token adds."""
        decoder = self._decoder
        piece = decoder.pieces[token]
        if self._by_start:  # a space before every token that is not marked as inside a word
            space = not (decoder.inner[token] or self._first)
            self._first = False
            return b" " + piece if space else piece
        is_name = decoder.names[token] and token != self._unknown
        space = self._ended or (is_name and self._inside)
        self._ended = is_name or decoder.final[token]
        self._inside = not self._ended
        return b" " + piece if space else piece


class DecodeStream:
    """Text of ids as they come, one by one. What `push` and `finish` return, joined, is what
    `decode` makes of all the ids. A character whose bytes are not all there yet is kept back.

    >>> import volt
    >>> tokenizer = volt.learn([["low lower"] * 3], size=270).tokenizer
    >>> stream = tokenizer.decode_stream()
    >>> [stream.push(i) for i in tokenizer.encode("low é")], stream.finish()
    (['low', ' ', '', 'é'], '')
    """

    __slots__ = ("_bytes", "_decoder", "_first", "_kept", "_skipped", "_texts", "_words")

    def __init__(
        self, decoder: Decoder, texts: list[str | None], *, skip_special: bool = False
    ) -> None:
        self._decoder = decoder
        self._texts = texts
        """The text of tokens that are whole characters."""
        self._bytes = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._kept = False
        """Are there bytes of a character that is not complete?"""
        self._first = decoder.vocabulary.drops_space
        self._words = WordState(decoder) if decoder.vocabulary.rule.mode.loses_spaces else None
        self._skipped = decoder.special if skip_special else frozenset()

    def push(self, token_id: int) -> str:
        """The text that the next id completes; it may be empty."""
        try:
            if not (self._kept or self._first or self._skipped or self._words) and token_id >= 0:
                text = self._texts[token_id]
                if text is not None:
                    return text
        except (IndexError, TypeError):
            pass  # not an id, which is said below
        return self._slowly(token_id)

    def _slowly(self, token_id: int) -> str:
        token_id = self._decoder.checked_id(token_id)
        if token_id in self._skipped:
            return ""
        if self._words is not None:
            piece = self._words.piece(token_id)
        else:
            piece = self._decoder.pieces[token_id]
            if self._first:
                self._first = False
                if not self._decoder.names[token_id]:
                    piece = piece.removeprefix(b" ")
        text = self._bytes.decode(piece)
        self._kept = bool(self._bytes.getstate()[0])
        return text

    def push_many(self, ids: TokenIds) -> str:
        """The text that some more ids complete: what `push` returns for each of them, joined."""
        array = as_array(ids)
        if self._skipped and len(array):
            array = self._decoder.without_special(array)
        if not len(array):
            return ""
        if self._words is not None:
            found = b"".join(map(self._words.piece, self._decoder.checked(array).tolist()))
        else:
            found = self._decoder.joined(array)
            if self._first and not self._decoder.names[int(array[0])]:
                found = found.removeprefix(b" ")
            self._first = False
        text = self._bytes.decode(found)
        self._kept = bool(self._bytes.getstate()[0])
        return text

    def finish(self) -> str:
        """The rest: U+FFFD if the last character was never completed. Then the stream is as new."""
        text = self._bytes.decode(b"", final=True)
        self._bytes.reset()
        self._kept = False
        self._first = self._decoder.vocabulary.drops_space
        if self._words is not None:
            self._words = WordState(self._decoder)
        return text


class Decodes:
    """What a tokenizer does with ids."""

    vocabulary: Vocabulary

    def decode(self, ids: TokenIds, *, skip_special: bool = False, errors: str = "replace") -> str:
        """The text of ids. What `encode` returned becomes the text again, except for unknown
        characters (`<unk>`) and, in whitespace mode, the white space between words: one space.

        `skip_special` leaves out special tokens other than `<unk>`. Ids may spell bytes that are
        not UTF-8: `errors` is that of `bytes.decode`. An array of 16, 32 or 64 bits is read as it
        is, without a copy.

        >>> tokenizer.decode(tokenizer.encode("low  slow"))
        'low  slow'
        """
        found = self._decoder.decode_bytes(ids, skip_special)
        try:
            return found.decode(errors=errors)
        except (TypeError, LookupError, UnicodeEncodeError):
            raise SettingsError(
                f"`errors` must name an error handler, such as 'replace', not {errors!r}"
            ) from None

    def decode_bytes(self, ids: TokenIds, *, skip_special: bool = False) -> bytes:
        r"""The text of ids as bytes, which may not be UTF-8 if the ids do not come from `encode`.

        >>> tokenizer.decode_bytes(tokenizer.encode("é")[1:])
        b'\xc3\xa9'
        """
        return self._decoder.decode_bytes(ids, skip_special)

    def decode_batch(
        self, batch: Iterable[TokenIds], *, skip_special: bool = False, errors: str = "replace"
    ) -> list[str]:
        """The text of each list of ids.

        >>> tokenizer.decode_batch(tokenizer.encode_batch(["low", "slow"]))
        ['low', 'slow']
        """
        if not isinstance(batch, Iterable):
            raise wrong_type("batch", "a list of lists of ids", batch)
        return [self.decode(ids, skip_special=skip_special, errors=errors) for ids in batch]

    def decode_stream(self, *, skip_special: bool = False) -> DecodeStream:
        """Decode ids as they come: `push(id)` returns the text that the id completes, `finish()`
        the rest. Never half a character.

        >>> stream = tokenizer.decode_stream()
        >>> [stream.push(i) for i in tokenizer.encode("low é")], stream.finish()
        (['low', ' ', '', 'é'], '')
        """
        return DecodeStream(self._decoder, self._whole_texts, skip_special=skip_special)

    def decode_with_losses(self, ids: TokenIds) -> tuple[str, list[tuple[int, int]]]:
        """The text of ids, and where in it `(start, end)` an unknown character was lost.

        >>> tokenizer.decode_with_losses(tokenizer.encode("low"))
        ('low', [])
        """
        return self._decoder.decode_with_losses(ids)

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self.vocabulary)

    @cached_property
    def _whole_texts(self) -> list[str | None]:
        return whole_texts(self._decoder)


def whole_texts(decoder: Decoder) -> list[str | None]:
    """The text of every token that is whole characters, None for the others."""
    found: list[str | None] = []
    for piece in decoder.pieces:
        try:
            found.append(piece.decode())
        except UnicodeDecodeError:
            found.append(None)
    return found


def as_array(ids: TokenIds) -> NDArray[Any]:
    """The ids as an array. One of a common kind is taken as it is."""
    if isinstance(ids, np.ndarray):
        if ids.dtype.type in NATIVE and ids.ndim == 1 and ids.flags.c_contiguous:
            return ids
        if ids.dtype.kind not in "iu" and ids.size:
            raise ArgumentTypeError(f"`ids` must be whole numbers, not {ids.dtype}")
        if ids.ndim != 1:
            raise ArgumentTypeError(f"`ids` must be one list, not {ids.ndim} dimensions")
        return np.ascontiguousarray(ids, np.int64)
    if not isinstance(ids, Iterable):
        raise wrong_type("ids", "a list or an array of whole numbers", ids)
    some = ids if isinstance(ids, list) else list(ids)
    try:
        found = np.array(some)
    except ValueError:  # lists of several lengths
        found = np.array([None])
    if found.ndim == 1 and (found.dtype.kind == "i" or not found.size):
        return found.astype(np.int64, copy=False)
    for one in some:
        if not fits(one, int):
            raise ArgumentTypeError(f"`ids` must be whole numbers: {one!r} is not an id")
        if not -(2**63) <= operator.index(one) < 2**63:
            raise InputError(f"{one!r} is not an id")
    return np.array(some, np.int64)
