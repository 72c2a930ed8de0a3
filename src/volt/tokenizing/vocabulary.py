"""Vocabulary: the tokens, and how text is encoded with them. Its file, `volt.json`: volt_json.py.

Tokens are numbered: special tokens, symbols of the user, the 256 byte tokens (if unknown characters
are spelled in bytes), characters by code point, then merged tokens in the order of the merges.

The encodings `merge` and `split` merge characters. `longest` and `unigram` look tokens up in a
word: their longer tokens are pieces, without parents. `longest` takes the longest token again and
again (WordPiece), `unigram` the tokens with the highest sum of scores.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.output import write_file
from volt.counting.marks import INNER, UNKNOWN, Marks, byte_of
from volt.counting.normalizers import Normalizer
from volt.counting.words import MergeRule, Unknown, WordRule
from volt.proposing.base import Encoding
from volt.proposing.tokens import KINDS, Kind, Token, Tokens
from volt.tokenizing.roles import RoleName, Roles, role_name

if TYPE_CHECKING:
    from volt.tokenizing.encoder import NativeColumns

WordEnds = Literal["kinds", "spaces", "runs"]


@dataclass(frozen=True)
class LookUp:
    """How tokens are looked up in words, in the encodings `longest` and `unigram`."""

    mark: Literal["", "##"] = ""
    """`longest`, whitespace mode: what tokens inside a word start with. Without it, tokens have the
    marks that they have in `merge`."""
    longest_word: int = 0
    """`longest`: a word with more characters is unknown. 0: no word is."""
    unknown_score: float = 0.0
    """`unigram`: the score of an unknown character."""
    arithmetic: Literal["float64", "float32"] = "float64"
    """`unigram`: how scores are added, which decides between sums that are nearly equal. For
    multiples of 1/1024, which are added without error, it makes no difference."""
    restart: Literal["space", "text"] = "space"
    """`unigram`: do sums start from zero at every space, or go through the whole text?"""


HIGHEST_SCORE = 1e6
"""Scores are logarithms of probabilities, which are never that far from zero."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens by id, and everything needed to encode and decode with them.

    In the `split` encoding some merges go through tokens that are not in the vocabulary. These are
    in `hidden`, numbered from the last id on, and the encoder never returns them.

    >>> len(tokenizer.vocabulary), tokenizer.vocabulary.role("eos")
    (274, '</s>')
    """

    rule: WordRule
    tokens: Sequence[Token] = field(repr=False)
    hidden: Sequence[Token] = field(default=(), repr=False)
    encoding: Encoding = "merge"
    merge_rule: MergeRule = "concat"
    unknown: Unknown = "byte"
    unknown_token: str = UNKNOWN
    fuse_unknown: bool = False
    """Is a run of unknown characters one unknown token, not one each?"""
    look_up: LookUp | None = None
    """For the encodings `longest` and `unigram`."""
    word_ends: WordEnds = "kinds"
    """Metaspace text: does a word end where letters, numbers and other characters meet (`kinds`),
    only before the next space (`spaces`), or before the next run of spaces, which belongs to the
    word after it (`runs`)? Only imported vocabularies have tokens that need the last two. Tokens
    that are looked up are found between spaces at least."""
    space_first: bool = True
    """Metaspace text: is a space understood before the text? Not in some imported vocabularies."""
    whole_words: bool = False
    """Byte-level text, merges: is a word that is a token encoded as that token, whatever the merges
    make of it? It may be a piece, which they never make. Only imported vocabularies have those."""
    normalizer: Normalizer | None = None
    """What is done to text first in an imported vocabulary, beyond `rule.normalize`."""
    roles: Roles = field(default_factory=Roles)
    """What special tokens are for."""
    unit: int = 1
    """Frequencies are whole numbers of 1/unit."""
    unreachable: list[int] = field(default_factory=list)
    """Tokens whose own text, as a word, is not encoded as that one token."""
    signature: str = ""
    self_test: list[tuple[str, list[int]]] = field(default_factory=list, repr=False)
    """Texts with their ids; `volt.load` checks that they are still encoded like this."""

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self):,} tokens, {self.rule.pretokenizer}, {self.encoding}>"

    def __len__(self) -> int:
        return len(self.tokens)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: the fields, without what was computed from them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def columns(self) -> Tokens:
        """The tokens, one column per field."""
        return Tokens.of(self.tokens)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Token text to id."""
        return {text: i for i, text in enumerate(self.texts)}

    @property
    def texts(self) -> list[str]:
        return self.columns.texts

    @property
    def pool(self) -> list[Token]:
        """Everything that takes part in merging: the tokens, then the hidden ones."""
        return [*self.tokens, *self.hidden]

    @cached_property
    def pool_columns(self) -> Tokens:
        return self.columns + Tokens.of(self.hidden)

    def of_kind(self, *kinds: Kind) -> list[str]:
        return self.columns.texts_at(np.flatnonzero(self.columns.are(*kinds)).tolist())

    @property
    def adds_space(self) -> bool:
        """Does the encoder put a space before every text?"""
        return self.rule.mode.space_before and self.space_first

    @property
    def drops_space(self) -> bool:
        """Does decoding take a space away that was put before the text?"""
        return self.adds_space or (self.normalizer is not None and self.normalizer.adds_space)

    @property
    def scaffolds(self) -> int:
        return int(self.columns.scaffolds.sum())

    @property
    def kind_counts(self) -> dict[str, int]:
        """How many tokens of each kind there are. The characters of a byte-level vocabulary are
        bytes."""
        counted = {kind: len(self.of_kind(kind)) for kind in KINDS}
        single = "byte" if self.rule.mode.byte_level else "character"
        return {
            single if kind == "character" else kind: one for kind, one in counted.items() if one
        }

    @property
    def unknown_id(self) -> int | None:
        return self.special_ids.get(self.unknown_token) if self.unknown == "unk" else None

    @property
    def unknown_starts(self) -> list[int]:
        """The tokens that begin a character without a token of its own: `<unk>`, or all byte tokens
        except those that continue a character."""
        if self.unknown_id is not None:
            return [self.unknown_id]
        spelled = np.flatnonzero(self.columns.are("byte")).tolist()
        return [i for i in spelled if not 0x80 <= byte_of(self.texts[i]) < 0xC0]

    def role(self, role: RoleName) -> str | None:
        """The special token of a role, or None: `role("eos")` is `</s>`."""
        return role_name(role, self.roles, self.unknown_token, self.special_ids)

    def role_id(self, role: RoleName) -> int | None:
        """The id of the special token of a role, or None."""
        return self.special_ids.get(self.role(role) or "")

    @cached_property
    def special_ids(self) -> dict[str, int]:
        """The special tokens and their ids."""
        numbers = np.flatnonzero(self.columns.are("special")).tolist()
        return dict(zip(self.columns.texts_at(numbers), numbers, strict=True))

    @cached_property
    def native(self) -> NativeColumns:
        """What the native encoder needs of the pool."""
        from volt.tokenizing.encoder import native_columns

        return native_columns(self)

    @property
    def around(self) -> tuple[list[int], list[int]]:
        """The ids that go before and after a text whose special tokens are asked for."""
        before = [self.ids[self.role("bos") or ""]] if self.roles.add_bos else []
        after = [self.ids[self.role("eos") or ""]] if self.roles.add_eos else []
        return before, after

    @property
    def marks(self) -> Marks:
        """How its tokens are marked."""
        return INNER if self.look_up is not None and self.look_up.mark else self.rule.mode.marks

    def is_inner(self, text: str) -> bool:
        return self.marks.is_inner(text)

    def plain_text(self, text: str) -> bytes:
        """The bytes of text that a token stands for, if it is not a name or a byte token."""
        return self.marks.text(text)

    def with_frequencies(self, frequencies: Sequence[int] | NDArray[np.integer[Any]]) -> Vocabulary:
        return replace(self, tokens=self.columns.with_frequencies(frequencies))

    @cached_property
    def encoder(self) -> _core.Encoder:
        """The native encoder. It never changes, so all tokenizers of the vocabulary share it."""
        from volt.tokenizing.encoder import native_encoder

        return native_encoder(self)

    def noted(self, **changes: Any) -> Vocabulary:
        """The same tokens, encoded in the same way, with other fields that only say something about
        them. What was computed for the encoder stays."""
        other = replace(self, **changes)
        known = self.__dict__.keys() & {"native", "encoder"}
        other.__dict__.update({name: self.__dict__[name] for name in known})
        return other

    # ------------------------------------------------------------------------------ save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `volt.json`; the same vocabulary gives the same bytes. A large one gets a compiled
        cache beside it, which makes loading quick."""
        from volt.tokenizing.compiled import digest, write_compiled
        from volt.tokenizing.volt_json import vocabulary_parts

        parts = vocabulary_parts(self)
        write_file(path, *parts)
        write_compiled(Path(path), digest(parts), self)

    def to_json(self) -> str:
        return self.to_bytes().decode()

    def to_bytes(self) -> bytes:
        from volt.tokenizing.volt_json import vocabulary_parts

        return b"".join(vocabulary_parts(self))


def is_text(text: str) -> bool:
    """Can it be written? A lone surrogate can't."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
