"""Words: the rule by which text is cut into them, and the table of pre-tokenizers.

>>> PRETOKENIZERS["byte-level:llama3"].byte_level
True
>>> WordRule("whitespace").mode.marks is marks.WORD_END
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any, Literal, get_args

from volt import _core
from volt.base import schema
from volt.base.errors import InputError, SettingsError
from volt.base.extras import need
from volt.base.registry import Registry
from volt.counting import marks
from volt.counting.marks import Marks
from volt.settings import MOST

Normalization = Literal["none", "nfc", "nfkc"]
MergeRule = Literal["pairs", "concat"]
Unknown = Literal["byte", "unk"]
Unit = Literal["line", "document"]
"""What a text is: a line, or a whole document such as a file."""

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
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
"""Patterns that cut one after the other, each what the one before has left."""
STARCODER = (r"\p{N}", GPT2)
CUSTOM = "custom:"


@dataclass(frozen=True)
class Pretokenizer:
    """One way to cut text into words."""

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
    patterns: tuple[str, ...] = ()
    """The regular expressions that do the same in other toolkits. Each cuts what is left by the one
    before: what it matches is a word, and so is what is between two matches."""

    @property
    def pattern(self) -> str | None:
        """The regular expression, if there is exactly one."""
        return self.patterns[0] if len(self.patterns) == 1 else None

    @property
    def custom(self) -> bool:
        """Is text cut by a regular expression of the user, in Python?"""
        return self.name.startswith(CUSTOM)

    @property
    def reads(self) -> Unit:
        """What a text is, unless the user says otherwise."""
        return "document" if self.byte_level else "line"

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

    def cuts_inside(self, token: str, ends: Literal["kinds", "spaces", "runs"] = "kinds") -> bool:
        """Does it cut inside a token, so that text never gives that token? `ends` is where words of
        metaspace text end."""
        if self.loses_spaces:
            return any(blank in token for blank in " \t\r\n")
        if self.space_before:
            spaced = marks.SPACE_MARK in token[1:]
            if ends == "runs":
                return spaced and marks.SPACE_MARK in token.lstrip(marks.SPACE_MARK)
            plain = token.removeprefix(marks.SPACE_MARK)
            return spaced or (ends == "kinds" and len(_core.words_of(plain, self.native)) > 1)
        try:
            text = self.marks.text(token).decode()
        except UnicodeDecodeError:
            return False  # a part of a character
        return len(self.words(text)) > 1

    def words(self, text: str) -> list[str]:
        """The words of one text, in which a line end is text like any other."""
        return list(self.matches(text)) if self.custom else _core.words_of(text, self.native)

    def matches(self, text: str) -> Iterator[str]:
        """What the custom pattern matches, and what is between two matches."""
        end = 0
        for match in _compiled(self.patterns[0]).finditer(text):
            if match.start() > end:
                yield text[end : match.start()]
            if match.group():
                yield match.group()
            end = match.end()
        if end < len(text):
            yield text[end:]

    def byte_tokens(self, unknown: Unknown) -> list[str]:
        """The tokens that unknown characters are spelled in."""
        spelled = unknown == "byte" and not self.byte_level
        return marks.BYTE_TOKENS if spelled else []


@lru_cache
def _compiled(pattern: str) -> Any:
    regex = need("regex", "regex")
    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise SettingsError(
            f"`pretokenizer` {CUSTOM}{pattern}: not a pattern of the package regex: {error}"
        ) from None


def _byte_level(name: str, of: str, *patterns: str) -> Pretokenizer:
    described = f"Bytes, cut into words by the pattern of {of}."
    return Pretokenizer(name, described, name, marks.BYTES, patterns=patterns)


class _Pretokenizers(Registry[Pretokenizer]):
    """Those that have a name, and `custom:REGEX`."""

    def __missing__(self, name: str) -> Pretokenizer:
        if not name.startswith(CUSTOM):
            return super().__missing__(name)
        pattern = name.removeprefix(CUSTOM)
        _compiled(pattern)
        about = "Bytes, cut into words by a regular expression; slower."
        return Pretokenizer(name, about, "custom", marks.BYTES, patterns=(pattern,))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (
            isinstance(name, str) and len(name) > len(CUSTOM) and name.startswith(CUSTOM)
        )


PRETOKENIZERS = _Pretokenizers(
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
        _byte_level("byte-level", "GPT-2", GPT2),
        _byte_level("byte-level:cl100k", "GPT-4", CL100K),
        _byte_level("byte-level:llama3", "Llama 3", LLAMA3),
        _byte_level("byte-level:qwen2", "Qwen 2", QWEN2),
        _byte_level("byte-level:o200k", "GPT-4o", O200K),
        _byte_level("byte-level:deepseek", "DeepSeek V3", *DEEPSEEK),
        _byte_level("byte-level:starcoder", "StarCoder, which cuts digits apart", *STARCODER),
    ],
)


def pretokenizer_forms() -> tuple[str, ...]:
    """What `pretokenizer` may say."""
    return *PRETOKENIZERS, f"{CUSTOM}REGEX"


def read_pretokenizer(name: str) -> str:
    """The name itself, or a ValueError if there is no such pre-tokenizer."""
    if name not in PRETOKENIZERS:
        raise ValueError(name)
    return PRETOKENIZERS[name].name


@dataclass(frozen=True)
class WordRule:
    """How text becomes words. Every artifact made from the words carries it.

    >>> WordRule("byte-level").reads
    'document'
    """

    pretokenizer: str = "metaspace"
    normalize: Normalization = "none"
    max_word_length: int = DEFAULT_MAX_WORD_LENGTH
    unicode: str = _core.unicode_version
    reads: Unit = ""  # type: ignore[assignment]
    """What a text is. By default what the pre-tokenizer reads."""

    def __post_init__(self) -> None:
        if not self.reads:
            object.__setattr__(self, "reads", self.mode.reads)
        if self.reads == "document" != self.mode.reads:
            raise SettingsError(
                f"{self.pretokenizer} reads lines; `unit='document'` is for byte-level text"
            )

    @property
    def mode(self) -> Pretokenizer:
        """The entry in the table."""
        return PRETOKENIZERS[self.pretokenizer]

    def to_data(self) -> dict[str, Any]:
        """For the header of a file. Files of older versions read lines and do not say so."""
        data = asdict(self)
        if self.reads == "line":
            del data["reads"]
        return data

    def counter(self, threads: int = 1, max_types: int = 0) -> _core.Counter:
        """Counts words by this rule."""
        return _core.Counter(self.mode.native, self.max_word_length, threads, max_types, self.reads)


def _known(where: str, value: Any) -> None:
    if not isinstance(value, str) or value not in PRETOKENIZERS:
        raise schema.Wrong(where, f"{schema.brief(value)} is not one of {', '.join(PRETOKENIZERS)}")


RULE: dict[str, schema.Schema] = {
    "pretokenizer": _known, "normalize": schema.one_of(*get_args(Normalization)),
    "max_word_length": schema.whole(2, MOST), "unicode": schema.text(),
}  # fmt: skip
"""The fields of a file that say the rule, beside `reads`, which files of older versions lack."""
READS = {"reads": schema.one_of(*get_args(Unit))}


def read_rule(name: str, data: Mapping[str, Any]) -> WordRule:
    """The rule in the file `name`, whose fields were checked by RULE and READS."""
    given = {one.name: data[one.name] for one in fields(WordRule) if one.name in data}
    try:
        return WordRule(**{"reads": "line", **given})
    except SettingsError as error:
        raise InputError(f"{name}: {error}") from None
