"""Words: the rule by which text is cut into them, and the table of pre-tokenizers.

>>> PRETOKENIZERS["byte-level:llama3"].byte_level
True
>>> WordRule("whitespace").mode.marks is marks.WORD_END
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from volt import _core
from volt.base.registry import Registry
from volt.counting import marks
from volt.counting.marks import Marks
from volt.settings import MOST

Normalization = Literal["none", "nfc", "nfkc"]
MergeRule = Literal["pairs", "concat"]
Unknown = Literal["byte", "unk"]

DEFAULT_MAX_WORD_LENGTH = 64

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
CL100K = LLAMA3.replace(r"|\s*[", r"|\s++$|\s*[")
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        + _CONTRACTION,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        + _CONTRACTION,
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ]
)


@dataclass(frozen=True)
class Pretokenizer:
    """One way to cut lines into words."""

    name: str
    description: str
    """One sentence, for the docs and the help text."""
    native: str
    """The native code that does it (src/core/counting/scan.hpp), by its name there."""
    marks: Marks
    """How its tokens are marked, unless they are looked up by `##`."""
    merge_rule: MergeRule = "pairs"
    """The merge rule of the toolkit that it mirrors (METHOD 7)."""
    unknown: tuple[Unknown, ...] = ("byte",)
    """What may become of characters outside the vocabulary; the default first."""
    pattern: str | None = None
    """The regular expression that does the same in other toolkits."""

    @property
    def byte_level(self) -> bool:
        """Are the characters bytes? Then none is ever unknown."""
        return self.marks is marks.BYTES

    @property
    def space_before(self) -> bool:
        """Is a space understood before the text, and `▁` the mark of a space?"""
        return self.marks is marks.SPACE

    @property
    def loses_spaces(self) -> bool:
        """Is white space between words lost, so that decoding puts one space there?"""
        return self.marks is marks.WORD_END

    def cuts_inside(self, token: str, at_spaces: bool = False) -> bool:
        """Does it cut inside a token, so that text never gives that token? Metaspace text may be
        cut only `at_spaces`."""
        if self.loses_spaces:
            return any(blank in token for blank in " \t\r\n")
        if self.space_before:
            spaced = marks.SPACE_MARK in token[1:]
            plain = token.removeprefix(marks.SPACE_MARK)
            return spaced or (not at_spaces and len(_core.words_of(plain, self.native)) > 1)
        try:
            text = self.marks.text(token).decode()
        except UnicodeDecodeError:
            return False  # a part of a character
        return len(_core.words_of(text, self.native)) > 1

    def byte_tokens(self, unknown: Unknown) -> list[str]:
        """The tokens that unknown characters are spelled in."""
        spelled = unknown == "byte" and not self.byte_level
        return marks.BYTE_TOKENS if spelled else []


def _byte_level(name: str, pattern: str, of: str) -> Pretokenizer:
    return Pretokenizer(
        name, f"Bytes, cut into words by the pattern of {of}.", name, marks.BYTES, pattern=pattern
    )


PRETOKENIZERS = Registry(
    "pretokenizer",
    [
        Pretokenizer(
            "whitespace",
            "Text that is tokenized already: words are what stands between blanks.",
            "whitespace",
            marks.WORD_END,
            unknown=("unk",),
        ),
        Pretokenizer(
            "metaspace",
            "Raw text: a space is written `▁` and starts a word.",
            "metaspace",
            marks.SPACE,
            merge_rule="concat",
            unknown=("byte", "unk"),
        ),
        _byte_level("byte-level", GPT2, "GPT-2"),
        _byte_level("byte-level:cl100k", CL100K, "GPT-4"),
        _byte_level("byte-level:llama3", LLAMA3, "Llama 3"),
        _byte_level("byte-level:qwen2", QWEN2, "Qwen 2"),
        _byte_level("byte-level:o200k", O200K, "GPT-4o"),
    ],
)


@dataclass(frozen=True)
class WordRule:
    """How text becomes words. Every artifact made from the words carries it."""

    pretokenizer: str = "metaspace"
    normalize: Normalization = "none"
    max_word_length: int = DEFAULT_MAX_WORD_LENGTH
    unicode: str = _core.unicode_version

    @property
    def mode(self) -> Pretokenizer:
        """The entry in the table."""
        return PRETOKENIZERS[self.pretokenizer]


def read_rule(data: Mapping[str, Any]) -> WordRule:
    """The rule in the header of a file, which is not trusted: a ValueError or KeyError if it is
    damaged."""
    rule = WordRule(**{one.name: data[one.name] for one in fields(WordRule)})
    if rule.pretokenizer not in PRETOKENIZERS or rule.normalize not in get_args(Normalization):
        raise ValueError("unknown pre-tokenizer or normalization")
    if type(rule.max_word_length) is not int or not 2 <= rule.max_word_length <= MOST:
        raise ValueError("max_word_length out of range")
    if not isinstance(rule.unicode, str):
        raise ValueError("unicode is not a version")
    return rule
