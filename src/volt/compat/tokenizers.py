"""A volt tokenizer with the interface of `tokenizers.Tokenizer`.

>>> from volt.compat.tokenizers import Tokenizer
>>> Tokenizer(tokenizer).encode("low slow").tokens
['▁low', '▁', 's', 'low']
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import volt
from volt.formats.huggingface.folder import ANY_INPUT
from volt.tokenizing.calling import Call, Row, lengths_that_fit, room_for
from volt.tokenizing.offsets import Span


@dataclass(frozen=True)
class AddedToken:
    """A special token, as `tokenizers.AddedToken`."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False


@dataclass(frozen=True)
class Encoding:
    """What `encode` returns, as `tokenizers.Encoding`.

    >>> found = Tokenizer(tokenizer).encode("low slow")
    >>> found.tokens, found.offsets
    (['▁low', '▁', 's', 'low'], [(0, 3), (3, 4), (4, 5), (5, 8)])
    """

    ids: list[int]
    type_ids: list[int]
    tokens: list[str]
    offsets: list[Span]
    attention_mask: list[int]
    special_tokens_mask: list[int]
    sequence_ids: list[int | None] = field(default_factory=list)
    word_ids: list[int | None] = field(default_factory=list)
    """The number of the word that each token is in; None for one that was added."""
    n_sequences: int = 1
    overflowing: list[Encoding] = field(default_factory=list)
    """What truncation cut off, in pieces of the same length."""

    def __len__(self) -> int:
        return len(self.ids)

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first token that stands for a character of a text; of any, if there is no such text,
        as in the real library."""
        anywhere = sequence_index >= self.n_sequences
        places = enumerate(zip(self.sequence_ids, self.offsets, strict=True))
        return next(
            (
                number for number, (sequence, (start, end)) in places
                if (anywhere or sequence == sequence_index) and start <= char_pos < end
            ),
            None,
        )  # fmt: skip

    def token_to_chars(self, token_index: int) -> Span | None:
        """The characters that a token stands for; nothing for one that was added."""
        if token_index >= len(self) or self.sequence_ids[token_index] is None:
            return None
        return self.offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """The word that a token is in."""
        return self.word_ids[token_index] if token_index < len(self) else None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word that a character of a text is in."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The first token of a word, and the one after its last. If there is no such text, all
        tokens are searched up to the first of a later word, as in the real library."""
        anywhere = sequence_index >= self.n_sequences
        found = []
        for number, (word, sequence) in enumerate(
            zip(self.word_ids, self.sequence_ids, strict=True)
        ):
            if not anywhere and sequence != sequence_index:
                continue
            if word is not None and word > word_index:
                break
            if word == word_index:
                found.append(number)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The characters of a word."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        return tokens and (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])


class Tokenizer:
    """`tokenizers.Tokenizer`, made of a volt tokenizer or its folder. As there, the names of
    special tokens in a text are these tokens, unless `encode_special_tokens` is set.

    >>> Tokenizer(tokenizer).encode("low").ids
    [272]
    """

    def __init__(self, tokenizer: volt.Tokenizer | str | os.PathLike[str]) -> None:
        self.tokenizer = (
            tokenizer if isinstance(tokenizer, volt.Tokenizer) else volt.load(tokenizer)
        )
        self.encode_special_tokens = False
        self.padding: dict[str, Any] | None = None
        self.truncation: dict[str, Any] | None = None

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Tokenizer:
        """A `volt.json`, its folder, or a `tokenizer.json` that volt can read."""
        if Path(path).name == "tokenizer.json":
            return Tokenizer(volt.Tokenizer(volt.import_vocabulary(path)[0]))
        return Tokenizer(volt.load(path))

    # ------------------------------------------------------------------------------------- encode

    def encode(
        self,
        sequence: str,
        pair: str | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Ids, tokens and offsets of a text, or of a pair."""
        given = [(sequence, pair)] if pair is not None else [sequence]
        return self.encode_batch(given, is_pretokenized, add_special_tokens)[0]

    def encode_batch(
        self,
        input: Sequence[str | tuple[str, str]],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """The same for a list of texts and pairs."""
        if is_pretokenized:
            raise ValueError("volt encodes text: words that were cut before are not supported")
        how = Call(
            add_special_tokens,
            frozenset() if self.encode_special_tokens else frozenset(self.tokenizer.special_ids),
            False,
            self.truncation is not None,
            self.truncation["max_length"] if self.truncation else None,
            True,
        )
        return self._padded([self._encoded((x,) if isinstance(x, str) else x, how) for x in input])

    encode_batch_fast = encode_batch

    def _encoded(self, texts: Sequence[str], how: Call) -> Encoding:
        """A text or a pair, cut, with what was cut off."""
        before, after = self.tokenizer.vocabulary.around if how.special else ([], [])
        room = room_for(self.tokenizer, how, (len(before) + len(after)) * len(texts))
        parts = [
            self.tokenizer.encode_with_words(text, allowed_special=how.allowed) for text in texts
        ]
        keep = lengths_that_fit([len(ids) for ids, _, _ in parts], room)
        found: list[Encoding] = []
        for kind, ((ids, spans, words), length) in enumerate(zip(parts, keep, strict=True)):
            pieces = []
            for start, end in _pieces(len(ids), length):
                row = Row()
                row.add(before, kind)
                row.add(ids[start:end], kind, spans[start:end])
                row.add(after, kind)
                inside: list[int | None] = [None] * len(row.ids)
                inside[len(before) : len(row.ids) - len(after)] = words[start:end]
                pieces.append(self._encoding(row, inside))
            found.append(replace(pieces[0], overflowing=pieces[1:]))
        return found[0] if len(found) == 1 else _joined(*found)

    def _encoding(self, row: Row, words: list[int | None]) -> Encoding:
        tokens = self.tokenizer.tokens
        kinds = zip(row.special, row.types, strict=True)
        return Encoding(
            row.ids, row.types, [tokens[i] for i in row.ids], row.spans, [1] * len(row.ids),
            row.special, [None if special else kind for special, kind in kinds], words,
        )  # fmt: skip

    def _padded(self, batch: list[Encoding]) -> list[Encoding]:
        if self.padding is None:
            return batch
        about = self.padding
        length = about["length"] or max(map(len, batch), default=0)
        multiple = about["pad_to_multiple_of"] or 1
        length = -(-length // multiple) * multiple
        return [_pad(one, length, about) for one in batch]

    # ------------------------------------------------------------------------------------- decode

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids. `<unk>` is a special token here too."""
        if skip_special_tokens:
            special = set(self.tokenizer.special_ids.values())
            ids = [i for i in ids if i not in special]
        return self.tokenizer.decode(ids)

    def decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """The text of each list of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # --------------------------------------------------------------------------------- vocabulary

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """The tokens and their ids."""
        return dict(self.tokenizer.vocabulary.ids)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return len(self.tokenizer)

    def token_to_id(self, token: str) -> int | None:
        return self.tokenizer.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        return self.tokenizer.tokens[id] if 0 <= id < len(self.tokenizer) else None

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The special tokens by their ids."""
        from volt.formats.huggingface import tokenizer_data

        listed = tokenizer_data(self.tokenizer.vocabulary)["added_tokens"]
        return {
            one["id"]: AddedToken(**{name: one[name] for name in one if name != "id"})
            for one in listed
        }

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        before, after = self.tokenizer.vocabulary.around
        return (len(before) + len(after)) * (2 if is_pair else 1)

    # ---------------------------------------------------------------------- padding and truncation

    def enable_padding(
        self,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Fill every batch up to its longest text, or to `length`."""
        self.padding = {
            "direction": direction, "pad_id": pad_id, "pad_type_id": pad_type_id,
            "pad_token": pad_token, "length": length, "pad_to_multiple_of": pad_to_multiple_of,
        }  # fmt: skip

    def no_padding(self) -> None:
        self.padding = None

    def enable_truncation(
        self,
        max_length: int,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
    ) -> None:
        """Cut texts to `max_length` tokens."""
        if (stride, strategy, direction) != (0, "longest_first", "right"):
            raise ValueError("volt cuts the longer text first, at its right end, without a stride")
        self.truncation = {
            "max_length": min(max_length, ANY_INPUT), "stride": stride, "strategy": strategy,
            "direction": direction,
        }  # fmt: skip

    def no_truncation(self) -> None:
        self.truncation = None

    # ----------------------------------------------------------------------------------------- save

    def to_str(self, pretty: bool = False) -> str:
        """A `tokenizer.json` for the real library."""
        import json

        from volt.formats.huggingface import tokenizer_data

        data = tokenizer_data(self.tokenizer.vocabulary)
        return json.dumps(data, ensure_ascii=False, indent=2 if pretty else None)

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        from volt.base.output import write_file

        write_file(path, self.to_str(pretty).encode())


def _pieces(length: int, most: int) -> list[Span]:
    """What is kept of a text, and what is cut off: all of it, if nothing is kept."""
    step = most or max(length, 1)
    starts = range(most, length, step)
    return [(0, most), *((start, min(start + step, length)) for start in starts)]


def _joined(one: Encoding, other: Encoding) -> Encoding:
    """A pair. As in the real library, every piece of a text goes with every piece of the other."""
    over = []
    for piece in one.overflowing:
        over += [_joined(piece, some) for some in (other, *other.overflowing)]
    over += [_joined(one, some) for some in other.overflowing]
    return Encoding(
        one.ids + other.ids, one.type_ids + other.type_ids, one.tokens + other.tokens,
        one.offsets + other.offsets, one.attention_mask + other.attention_mask,
        one.special_tokens_mask + other.special_tokens_mask,
        one.sequence_ids + other.sequence_ids, one.word_ids + other.word_ids,
        one.n_sequences + other.n_sequences, over,
    )  # fmt: skip


def _pad(one: Encoding, length: int, about: dict[str, Any]) -> Encoding:
    missing = max(length - len(one), 0)

    def filled(values: list[Any], filler: Any) -> list[Any]:
        more = [filler] * missing
        return values + more if about["direction"] == "right" else more + values

    return Encoding(
        filled(one.ids, about["pad_id"]), filled(one.type_ids, about["pad_type_id"]),
        filled(one.tokens, about["pad_token"]), filled(one.offsets, (0, 0)),
        filled(one.attention_mask, 0), filled(one.special_tokens_mask, 1),
        filled(one.sequence_ids, None), filled(one.word_ids, None), one.n_sequences,
        [_pad(piece, length, about) for piece in one.overflowing],
    )  # fmt: skip
