"""Vocabulary: the tokens, how text is encoded with them, and the file `volt.json`.

Tokens are numbered: special tokens, user symbols, the 256 byte tokens (if unknown characters are
spelled in bytes), characters by code point, then merged tokens in the order they merge.

The encodings `merge` and `split` merge characters. `longest` and `unigram` look tokens up in a
word: their longer tokens are pieces, without parents. `longest` takes the longest token again and
again (WordPiece), `unigram` the tokens with the highest sum of scores.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._version import __version__
from volt.base.output import atomic_write
from volt.counting.marks import END_MARK as WORD_FINAL
from volt.counting.marks import INNER, LETTER_BYTES, UNKNOWN, Marks
from volt.counting.normalizers import Normalizer
from volt.counting.words import MergeRule, Unknown, WordRule
from volt.proposing.base import Encoding
from volt.proposing.tokens import KINDS, SPELLED, Kind, Token, Tokens, packed

FORMAT = 1
LOOK_UP_FORMAT = 2
"""Of vocabularies that volt 0.1 knew nothing of: those that look tokens up, and those with another
unknown token, or one for a run of unknown characters."""
NORMALIZER_FORMAT = 3
"""Of vocabularies with a normaliser, that merge up to the next space, or that look whole words up
before they merge."""

WordEnds = Literal["kinds", "spaces"]


@dataclass(frozen=True)
class LookUp:
    """How tokens are looked up in words: of the encodings `longest` and `unigram`."""

    mark: Literal["", "##"] = ""
    """`longest`, whitespace mode: what a token starts with that is inside a word; `</w>` is no mark
    then. Without it, tokens have the marks that they have in `merge`."""
    longest_word: int = 0
    """`longest`: a word of more characters is unknown. 0: none is."""
    unknown_score: float = 0.0
    """`unigram`: the score of an unknown character."""
    arithmetic: Literal["float64", "float32"] = "float64"
    """`unigram`: how scores are added, which decides where sums are nearly equal. It does not
    matter for scores that are multiples of 1/1024, which are added without error."""
    restart: Literal["space", "text"] = "space"
    """`unigram`: whether sums start from zero at every space, or go through the text."""


HIGHEST_SCORE = 1e6
"""Scores are logarithms; no probability is as small as that."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens by id, and all that is needed to encode and decode with them.

    Under the `split` encoding some merges go through tokens that are not in the vocabulary; these
    are in `hidden`, numbered on from the last id, and never come out of the encoder.
    """

    rule: WordRule
    tokens: Sequence[Token] = field(repr=False)
    hidden: Sequence[Token] = field(default=(), repr=False)
    encoding: Encoding = "merge"
    merge_rule: MergeRule = "concat"
    unknown: Unknown = "byte"
    unknown_token: str = UNKNOWN
    fuse_unknown: bool = False
    """A run of unknown characters is one unknown token, not one each."""
    look_up: LookUp | None = None
    """Of the encodings `longest` and `unigram`."""
    word_ends: WordEnds = "kinds"
    """Metaspace text, merges: a word ends where letters, numbers and all else meet, or only before
    the next space. Only an imported vocabulary has tokens that span two kinds."""
    whole_words: bool = False
    """Byte-level text, merges: a word that is a token is that token, whatever the merges make of
    it, and may be a piece that they never make. Only an imported vocabulary has such tokens."""
    normalizer: Normalizer | None = None
    """What is done to text first, in an imported vocabulary; beyond `rule.normalize`."""
    unit: int = 1
    """Frequencies are whole numbers of 1/unit."""
    unreachable: list[int] = field(default_factory=list)
    """Tokens whose own text, as a word, is not encoded as that one token."""
    signature: str = ""
    self_test: list[tuple[str, list[int]]] = field(default_factory=list, repr=False)
    """Texts with their ids; `volt.load` checks that it encodes them so."""

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def columns(self) -> Tokens:
        """The tokens, a column a field."""
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
        return list(compress(self.texts, self.columns.are(*kinds).tolist()))

    @property
    def scaffolds(self) -> int:
        return int(self.columns.scaffolds.sum())

    @property
    def unknown_id(self) -> int | None:
        return self.ids.get(self.unknown_token) if self.unknown == "unk" else None

    @property
    def unknown_starts(self) -> list[int]:
        """The tokens that begin a character without a token: `<unk>`, or the bytes that do not go
        on with one."""
        if self.unknown_id is not None:
            return [self.unknown_id]
        spelled = np.flatnonzero(self.columns.are("byte")).tolist()
        return [i for i in spelled if not 0x80 <= int(self.texts[i][3:5], 16) < 0xC0]

    @property
    def marks(self) -> Marks:
        """How its tokens are marked."""
        return INNER if self.look_up is not None and self.look_up.mark else self.rule.mode.marks

    def is_inner(self, text: str) -> bool:
        """Does a token's mark say that it is inside a word? `##` alone is the text of a token."""
        mark = self.look_up.mark if self.look_up is not None else ""
        return mark != "" and text.startswith(mark) and text != mark

    def plain_text(self, text: str) -> bytes:
        """The bytes of text that a character or merged token stands for; its mark is none."""
        if self.rule.mode.byte_level:
            return text.translate(LETTER_BYTES).encode("latin-1")
        if self.rule.pretokenizer == "metaspace":
            # U+2581 is in no token but as the mark of a space, which is text.
            text = text.replace("▁", " ")
        elif self.look_up is not None and self.look_up.mark:
            text = text[len(self.look_up.mark) :] if self.is_inner(text) else text
        elif text.endswith(WORD_FINAL):
            text = text[: -len(WORD_FINAL)]
        return text.encode()

    def with_frequencies(self, frequencies: Sequence[int] | NDArray[np.integer[Any]]) -> Vocabulary:
        return replace(self, tokens=self.columns.with_frequencies(frequencies))

    # ------------------------------------------------------------------------------ save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `volt.json`; the same vocabulary gives the same bytes."""
        with atomic_write(path) as stream:
            stream.write(self.to_bytes())

    def to_json(self) -> str:
        return self.to_bytes().decode()

    def to_bytes(self) -> bytes:
        """JSON with a token a line, for people and for diff."""
        look_up: dict[str, Any] = {}
        if self.look_up is not None:
            look_up["look_up"] = asdict(self.look_up)
        if self.unknown_token != UNKNOWN or self.fuse_unknown:
            look_up |= {"unknown_token": self.unknown_token, "fuse_unknown": self.fuse_unknown}
        normalizer: dict[str, Any] = {}
        if self.word_ends != "kinds":
            normalizer["word_ends"] = self.word_ends
        if self.whole_words:
            normalizer["whole_words"] = True
        if self.normalizer is not None:
            normalizer["normalizer"] = self.normalizer.to_data()
        version = LOOK_UP_FORMAT if look_up else FORMAT
        head = {
            "format": NORMALIZER_FORMAT if normalizer else version,
            "volt": __version__,
            "signature": self.signature,
            **asdict(self.rule),
            "encoding": self.encoding,
            "merge_rule": self.merge_rule,
            "unknown": self.unknown,
            **look_up,
            **normalizer,
            "unit": self.unit,
            "size": len(self),
            "unreachable": self.unreachable,
        }
        lists = {
            "tokens": _token_rows(self.columns, 0, self.encoding == "unigram"),
            "hidden": _token_rows(Tokens.of(self.hidden), len(self), False),
            "self_test": ",\n".join(
                _dump({"text": text, "ids": ids}) for text, ids in self.self_test
            ).encode(),
        }
        lines = [f"{_dump(name)}: {_dump(value)}".encode() for name, value in head.items()]
        for name, rows in lists.items():
            lines.append(_dump(name).encode() + (b": [\n%s\n]" % rows if rows else b": []"))
        return b"{\n" + b",\n".join(lines) + b"\n}\n"


_dump = json.JSONEncoder(ensure_ascii=False).encode


def _token_rows(tokens: Tokens, start: int, scored: bool) -> bytes:
    """Each token as a JSON object, a line each; the first has the id `start`."""
    scores: list[str] = []
    if scored:
        spelled = tokens.are(*SPELLED).tolist()
        scores = [_dump(score) if own else "" for score, own in
                  zip(tokens.scores.tolist(), spelled, strict=True)]  # fmt: skip
    return _core.write_tokens(
        *packed([text.encode() for text in tokens.texts]), tokens.kinds, tokens.parents.ravel(),
        tokens.ranks, tokens.scaffolds.view(np.uint8), tokens.frequencies, scores, KINDS, start,
    )  # fmt: skip


def is_text(text: str) -> bool:
    """Whether it can be written: no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
