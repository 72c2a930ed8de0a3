"""Texts as a model gets them: with special tokens around them, cut, padded and side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from volt.base.checks import check_choice
from volt.base.errors import InputError, SettingsError
from volt.tokenizing.offsets import Span

if TYPE_CHECKING:
    from volt.tokenizing.tokenizer import Tokenizer

Padding = bool | Literal["longest", "max_length"]


@dataclass(frozen=True)
class Call:
    """How a tokenizer is called: the parameters of `Tokenizer.__call__`."""

    special: bool = True
    allowed: frozenset[str] = frozenset()
    padding: Padding = False
    truncation: bool = False
    max_length: int | None = None
    offsets: bool = False
    tensors: Literal["np"] | None = None


@dataclass
class Row:
    """What a model gets of one text, or of a pair."""

    ids: list[int] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    special: list[int] = field(default_factory=list)
    """1 for a token that was added."""
    spans: list[Span] = field(default_factory=list)

    def add(self, ids: list[int], kind: int, spans: list[Span] | None = None) -> None:
        self.ids += ids
        self.types += [kind] * len(ids)
        self.special += [int(spans is None)] * len(ids)
        self.spans += spans if spans is not None else [(0, 0)] * len(ids)


def called(
    tokenizer: Tokenizer,
    text: str | Sequence[str],
    pair: str | Sequence[str] | None,
    how: Call,
) -> dict[str, Any]:
    """See `Tokenizer.__call__`."""
    check_choice("return_tensors", how.tensors, ("np",))
    if not isinstance(how.padding, bool):
        check_choice("padding", how.padding, ("longest", "max_length"))
    single = isinstance(text, str)
    texts = [text] if isinstance(text, str) else list(text)
    if pair is not None and single != isinstance(pair, str):
        raise InputError("a text goes with a text, and a list of texts with a list")
    pairs = None if pair is None else [pair] if isinstance(pair, str) else list(pair)
    if pairs is not None and len(pairs) != len(texts):
        raise InputError(f"{len(texts):,} texts, but {len(pairs):,} to go with them")
    rows = encoded_rows(tokenizer, texts, pairs, how)
    found: dict[str, Any] = {"input_ids": [row.ids for row in rows]}
    if pairs is not None:
        found["token_type_ids"] = [row.types for row in rows]
    found["attention_mask"] = [[1] * len(row.ids) for row in rows]
    if how.offsets:
        found["offset_mapping"] = [row.spans for row in rows]
    if how.padding:
        _pad(tokenizer, found, how)
    if how.tensors == "np":
        lengths = {len(ids) for ids in found["input_ids"]}
        if len(lengths) > 1:
            raise InputError("the texts differ in length: an array of them needs `padding`")
        return {name: np.array(rows, np.int64) for name, rows in found.items()}
    return {name: rows[0] for name, rows in found.items()} if single else found


def encoded_rows(
    tokenizer: Tokenizer, texts: Sequence[str], pairs: Sequence[str] | None, how: Call
) -> list[Row]:
    """The rows of texts, cut but not padded."""
    before, after = tokenizer.vocabulary.around if how.special else ([], [])
    around = (len(before) + len(after)) * (1 if pairs is None else 2)
    room = room_for(tokenizer, how, around)
    first = _encoded(tokenizer, texts, how)
    second = None if pairs is None else _encoded(tokenizer, pairs, how)
    rows = []
    for number, (ids, spans) in enumerate(first):
        row = Row()
        parts = [(ids, spans)] if second is None else [(ids, spans), second[number]]
        keep = lengths_that_fit([len(part[0]) for part in parts], room)
        for kind, ((some, places), length) in enumerate(zip(parts, keep, strict=True)):
            row.add(before, kind)
            row.add(some[:length], kind, places[:length])
            row.add(after, kind)
        rows.append(row)
    return rows


def room_for(tokenizer: Tokenizer, how: Call, around: int) -> int | None:
    """How many tokens of text fit."""
    if not how.truncation:
        return None
    longest = _longest(tokenizer, how, "truncation")
    if longest < around:
        raise SettingsError(f"`max_length` {longest} has no room for {around} special tokens")
    return longest - around


def _longest(tokenizer: Tokenizer, how: Call, needed_for: str) -> int:
    own = tokenizer.vocabulary.roles.max_length
    longest = own if how.max_length is None else how.max_length
    if longest is None:
        raise SettingsError(f"`{needed_for}` needs `max_length`")
    return longest


def _encoded(
    tokenizer: Tokenizer, texts: Sequence[str], how: Call
) -> list[tuple[list[int], list[Span]]]:
    if how.offsets:
        return [tokenizer.encode_with_offsets(text, allowed_special=how.allowed) for text in texts]
    batch = tokenizer.encode_batch(texts, allowed_special=how.allowed)
    return [(ids, [(0, 0)] * len(ids)) for ids in batch]


def lengths_that_fit(lengths: list[int], room: int | None) -> list[int]:
    """How much of each of one or two texts is kept; of two the longer one is cut first."""
    if room is None or sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    short, long = sorted(lengths)
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return [short, long] if lengths[0] <= lengths[1] else [long, short]


def _pad(tokenizer: Tokenizer, found: dict[str, Any], how: Call) -> None:
    name = tokenizer.vocabulary.role("pad")
    if name is None:
        raise SettingsError("`padding` needs a special token with the role `pad`")
    rows = found["input_ids"]
    length = max(map(len, rows), default=0)
    if how.padding == "max_length":
        length = _longest(tokenizer, how, "padding='max_length'")
    left = tokenizer.vocabulary.roles.padding_side == "left"
    filler = {"input_ids": tokenizer.vocabulary.ids[name], "offset_mapping": (0, 0)}
    for key, some in found.items():
        for number, row in enumerate(some):
            more = [filler.get(key, 0)] * (length - len(row))
            some[number] = more + row if left else row + more
