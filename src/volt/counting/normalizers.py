"""What other toolkits do to text before they cut it: the normalizers of imported vocabularies.

>>> Normalizer((Bert(), Cut("bert")))("Café, OK!").split()
['cafe', ',', 'ok', '!']

A normalizer is a list of steps. The last step, `Cut`, puts a space wherever the toolkit ends a
word. So one of volt's own pre-tokenizers cuts the normalized text exactly where the toolkit cuts
the original, and the encoder needs to know nothing about it. This is not lossless: `decode` returns
normalized text.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
import string
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, cast

from volt.base.errors import InputError
from volt.base.registry import Registry
from volt.base.schema import Wrong, instance
from volt.counting.character_map import character_class, character_map, native_map
from volt.counting.marks import SPACE_MARK


class Names(Protocol):
    """Finds special tokens and symbols: these are not normalized."""

    def split(self, text: str) -> list[str]:
        """The text between names, and the names: every second item is one."""


UnicodeForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
CutPlace = Literal[
    "bert", "blanks", "words", "metaspace", "metaspace-first", "blanks-metaspace", "prepend",
    "whole", "whole-first", "spaces", "bytes", "bytes-prefix",
]  # fmt: skip

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""As Unicode defines it. Python's `str.split` also cuts at U+001C to U+001F."""
_SPACES = re.compile(f"[{WHITE_SPACE}]+")


class _Table(dict[int, str]):
    """What each character becomes, computed when it first occurs; for `str.translate`."""

    def __init__(self, become: Callable[[str], str]) -> None:
        self._become = become

    def __missing__(self, code_point: int) -> str:
        return self.setdefault(code_point, self._become(chr(code_point)))


class NormalizerStep:
    """One step of a normalizer. Its fields are stored in volt.json under its name."""

    name: ClassVar[str]
    description: ClassVar[str]
    """What it is called in other toolkits, for the docs."""

    def __call__(self, text: str) -> str:
        raise NotImplementedError


# --------------------------------------------------------------------------------------------- BERT


@dataclass(frozen=True)
class Bert(NormalizerStep):
    """Hugging Face's `BertNormalizer`. Its tables are those of Unicode 8, ours are Python's. They
    differ on newer characters."""

    name = "bert"
    description = "`BertNormalizer`, all options"

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool = True
    lowercase: bool = True

    def __call__(self, text: str) -> str:
        if text.isascii() and text.isprintable():
            return text.lower() if self.lowercase else text
        before, after = _bert_tables(self)
        text = text.translate(before)
        if self.strip_accents and not text.isascii():
            text = unicodedata.normalize("NFD", text)
        return text.translate(after) if self.strip_accents or self.lowercase else text


@functools.cache
def _bert_tables(bert: Bert) -> tuple[_Table, _Table]:
    """Before accents are separated from their letters, and after."""

    def before(character: str) -> str:
        if bert.clean_text and character in _CLEAN_SPACE:
            return " "
        if bert.clean_text and (_is_control(character) or character == "\ufffd"):
            return ""
        if bert.handle_chinese_chars and _is_chinese(ord(character)):
            return f" {character} "
        return character

    def after(character: str) -> str:
        if bert.strip_accents and _is_accent(character):
            return ""
        return character.lower() if bert.lowercase else character

    return _Table(before), _Table(after)


_CLEAN_SPACE = frozenset(WHITE_SPACE) - frozenset("\v\f\x85")  # which are control characters


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Co")


def _is_accent(character: str) -> bool:
    # Two Mongolian letters became marks in Unicode 9; a Hanunoo mark is spacing since Unicode 14.
    found = unicodedata.category(character) == "Mn" or character == "\u1734"
    return found and character not in "\u1885\u1886"


def _is_chinese(code_point: int) -> bool:
    return any(first <= code_point <= last for first, last in _CHINESE)


_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),  # sic; in BERT itself 0x2B820
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


# ------------------------------------------------------------------------------------- small steps


@dataclass(frozen=True)
class Form(NormalizerStep):
    name = "form"
    description = "`NFC`, `NFD`, `NFKC`, `NFKD`"

    form: UnicodeForm

    def __call__(self, text: str) -> str:
        return unicodedata.normalize(self.form, text)


@dataclass(frozen=True)
class Lowercase(NormalizerStep):
    name = "lowercase"
    description = "`Lowercase`"

    def __call__(self, text: str) -> str:
        if text.isascii():
            return text.lower()
        return text.translate(_LOWER)  # each character by itself: no final sigma


@dataclass(frozen=True)
class StripAccents(NormalizerStep):
    """Removes all marks, where `Bert` removes those that are not spacing."""

    name = "strip-accents"
    description = "`StripAccents`"

    def __call__(self, text: str) -> str:
        return text if text.isascii() else text.translate(_NO_MARKS)


@dataclass(frozen=True)
class Nmt(NormalizerStep):
    """Drops control characters and makes all kinds of blanks a space."""

    name = "nmt"
    description = "`Nmt`"

    def __call__(self, text: str) -> str:
        return text if text.isascii() and text.isprintable() else text.translate(_NMT)


@dataclass(frozen=True)
class Strip(NormalizerStep):
    name = "strip"
    description = "`Strip`"

    left: bool
    right: bool

    def __call__(self, text: str) -> str:
        text = text.lstrip(WHITE_SPACE) if self.left else text
        return text.rstrip(WHITE_SPACE) if self.right else text


@dataclass(frozen=True)
class Replace(NormalizerStep):
    name = "replace"
    description = "`Replace` of a string"

    text: str
    by: str

    def __call__(self, text: str) -> str:
        return text.replace(self.text, self.by)


@dataclass(frozen=True)
class ReplaceSpaces(NormalizerStep):
    """Replaces runs of two spaces or more."""

    name = "replace-spaces"
    description = "`Replace` of the pattern ` {2,}`"

    by: str

    def __call__(self, text: str) -> str:
        return _MANY_SPACES.sub(lambda _: self.by, text) if "  " in text else text


_NO_RULES = native_map(b"")
_LOWER = _Table(str.lower)
_NO_MARKS = _Table(lambda c: "" if unicodedata.category(c)[0] == "M" else c)
_MANY_SPACES = re.compile(" {2,}")
_NMT = {
    **dict.fromkeys([*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]),
    **dict.fromkeys(
        [0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF,
         0xFFFD], " ",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Precompiled(NormalizerStep):
    """SentencePiece's table as Hugging Face applies it: to clusters of a letter and its marks with
    less than six bytes, otherwise to single characters. Of several rules the shortest applies, and
    it replaces the whole cluster."""

    name = "precompiled"
    description = "`Precompiled`: the table of SentencePiece, as Hugging Face applies it"

    table: bytes

    def __call__(self, text: str) -> str:
        return character_map(self.table).by_cluster(text)


# -------------------------------------------------------------------------------------- last steps


class LastStep(NormalizerStep):
    """A step that ends a normalizer, because it decides where words end."""

    @property
    def pretokenizer(self) -> str:
        """The pre-tokenizer that cuts the normalized text."""
        raise NotImplementedError


@dataclass(frozen=True)
class SentencePiece(LastStep):
    """SentencePiece's `normalizer_spec`: the table, by the longest rule, and spaces. A literal `▁`
    becomes a space. It is the only step of its normalizer."""

    name = "sentencepiece"
    description = "`normalizer_spec` of a SentencePiece model: its table, and its spaces"

    table: bytes
    remove_extra_whitespaces: bool

    def __call__(self, text: str, names: Names | None = None) -> str:
        native = native_map(self.table)
        if names is None:
            return native.clean(text, self.remove_extra_whitespaces)
        parts = names.split(text)
        parts[::2] = map(native.map, parts[::2])
        return _NO_RULES.clean("".join(parts), self.remove_extra_whitespaces)

    @property
    def pretokenizer(self) -> str:
        return "metaspace"


@dataclass(frozen=True)
class Cut(LastStep):
    """Puts spaces where a pre-tokenizer of Hugging Face cuts.

    `bert`: BertPreTokenizer; `blanks`: WhitespaceSplit; `words`: Whitespace.

    For metaspace text, where a literal `▁` is a space: `metaspace`: Metaspace, which puts no `▁`
    before another; `metaspace-first`: the same, but not after a special token; `blanks-metaspace`:
    WhitespaceSplit, then Metaspace; `prepend`: Prepend, which puts one before any text, after a
    special token too. Where the vocabulary has no `space_first`: `whole` and `whole-first`:
    Metaspace that does not split, everywhere or at the start; `spaces`: none is put anywhere.

    `bytes`: ByteLevel, which cuts like volt's `byte-level`; `bytes-prefix`: the same with
    `add_prefix_space`, which puts a space before text that does not start with one, after a special
    token too.
    """

    name = "cut"
    description = (
        "`BertPreTokenizer`, `WhitespaceSplit`, `Whitespace`, `Metaspace`, or `WhitespaceSplit` "
        "and `Metaspace`; `Prepend` and `Replace` of spaces (Llama 2), or `Replace` alone (Gemma); "
        "`ByteLevel`, with and without `add_prefix_space` (RoBERTa, BART)"
    )

    at: CutPlace

    def __call__(self, text: str, first: bool = True) -> str:
        if self.at == "bert":
            return text.translate(_BERT_CUT)
        if self.at == "blanks":
            return _SPACES.sub(" ", text)
        if self.at == "words":
            return " ".join(_word_pattern().findall(text))
        if self.at in ("bytes", "bytes-prefix"):
            prefix = self.at == "bytes-prefix" and text != "" and text[0] != " "
            return " " + text if prefix else text
        if self.at in ("prepend", "spaces"):
            before = self.at == "prepend" and not first and text != ""
            return " " * before + text.replace(SPACE_MARK, " ")
        if self.at in ("whole", "whole-first"):
            text = text.replace(SPACE_MARK, " ")
            before = text != "" and text[0] != " " and (first or self.at == "whole")
            return " " * before + text
        words = [text] if self.at != "blanks-metaspace" else _SPACES.split(text)
        drop_space = first or self.at != "metaspace-first"
        spaced = [word.replace(SPACE_MARK, " ") for word in words if word]
        joined = " ".join(word.removeprefix(" ") if drop_space else word for word in spaced)
        # The encoder adds a space before the text, but not after a special token.
        before = not first and self.at != "metaspace-first" and any(words)
        return " " + joined if before else joined

    @property
    def pretokenizer(self) -> str:
        if "bytes" in self.at:
            return "byte-level"
        return "whitespace" if self.at in ("bert", "blanks", "words") else "metaspace"


def _is_punctuation(character: str) -> bool:
    # U+166D was punctuation until Unicode 12.
    return (
        character in string.punctuation
        or unicodedata.category(character)[0] == "P"
        or character == "\u166d"
    )


_BERT_CUT = _Table(lambda c: " " if c in WHITE_SPACE else f" {c} " if _is_punctuation(c) else c)


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    r"""`\w+|[^\w\s]+` with the `\w` of Unicode: Alphabetic, marks, digits, connectors, joiners."""
    circled = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
    word = character_class(
        code_point
        for code_point in range(0x110000)
        if (kind := unicodedata.category(chr(code_point)))[0] in "LM"
        or kind in ("Nd", "Nl", "Pc")
        or code_point in (0x200C, 0x200D)
        or any(first <= code_point <= last for first, last in circled)
    )
    return re.compile(f"[{word}]+|[^{word}{WHITE_SPACE}]+")


# -------------------------------------------------------------------------------------- normalizer


NORMALIZERS: Registry[type[NormalizerStep]] = Registry(
    "normalizer step",
    [
        Bert, Form, Lowercase, StripAccents, Nmt, Strip, Replace, ReplaceSpaces, Precompiled,
        SentencePiece, Cut,
    ],
)  # fmt: skip


@dataclass(frozen=True)
class Normalizer:
    """Steps, applied one after the other."""

    steps: tuple[NormalizerStep, ...]

    @property
    def last(self) -> LastStep:
        return cast(LastStep, self.steps[-1])

    def __call__(self, text: str, names: Names | None = None) -> str:
        if isinstance(self.last, SentencePiece):
            with suppress(UnicodeEncodeError):  # a lone surrogate, which the encoder refuses
                return self.last(text, names)
            return text
        parts = [text] if names is None else names.split(text)
        parts[::2] = [self._part(part, number == 0) for number, part in enumerate(parts[::2])]
        return "".join(parts)

    def batch(self, texts: list[str], names: Names | None = None) -> list[str]:
        """Several texts, each by itself."""
        if isinstance(self.last, SentencePiece) and names is None:
            with suppress(UnicodeEncodeError, TypeError):  # then each by itself
                trims = self.last.remove_extra_whitespaces
                return native_map(self.last.table).clean_all(texts, trims)
        if names is None and not isinstance(self.last, SentencePiece):
            *steps, cut = self.steps
            for step in steps:
                texts = list(map(step, texts))
            return list(map(cast(Cut, cut), texts))
        return [self(text, names) for text in texts]

    def lines(self, data: bytes, names: Names | None = None) -> bytes:
        """The lines of a text of valid UTF-8, each by itself."""
        if isinstance(self.last, SentencePiece) and names is None:
            trims = self.last.remove_extra_whitespaces
            return native_map(self.last.table).clean_lines(data, trims)
        return "\n".join(self.batch(data.decode().split("\n"), names)).encode()

    def _part(self, text: str, first: bool) -> str:
        *steps, cut = self.steps
        for step in steps:
            text = step(text)
        return cast(Cut, cut)(text, first)

    @property
    def pretokenizer(self) -> str:
        """The pre-tokenizer that cuts the normalized text."""
        return self.last.pretokenizer

    @property
    def adds_space(self) -> bool:
        """Does it put the space before the text itself?"""
        return getattr(self.last, "at", "") in ("whole", "whole-first")

    @property
    def summary(self) -> str:
        """In a few words: `bert + cut (bert)`."""
        return " + ".join(
            f"{step.name} ({step.at})" if isinstance(step, Cut) else step.name
            for step in self.steps
        )

    # ------------------------------------------------------------------------------ save and load

    def to_data(self) -> list[dict[str, Any]]:
        """For JSON. A table is stored as it is, in base64, so that its toolkit gets it back byte by
        byte; as a list it would be hundreds of thousands of rules."""
        return [
            {"step": step.name}
            | {
                field.name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
                for field in fields(cast(Any, step))
                for value in [getattr(step, field.name)]
            }
            for step in self.steps
        ]


@dataclass(frozen=True)
class BoundNormalizer:
    """A normalizer, and the names in text that it leaves alone."""

    normalizer: Normalizer
    names: Names | None

    def __call__(self, text: str) -> str:
        return self.normalizer(text, self.names)

    def lines(self, data: bytes) -> bytes:
        return self.normalizer.lines(data, self.names)


def read_normalizer(data: Any, *, checked: bool = False) -> Normalizer:
    """Read what `to_data` returned. It is not trusted; a problem names the field. `checked`: its
    table was checked before, which takes 30 ms."""
    if not isinstance(data, list) or not data:
        raise InputError("normalizer: not a list of steps")
    steps = tuple(
        _read_step(f"normalizer[{number}]", one, checked) for number, one in enumerate(data)
    )
    *before, last = steps
    if any(isinstance(step, LastStep) for step in before):
        raise InputError("normalizer: a step after one that must be the last")
    if not isinstance(last, LastStep):
        raise InputError("normalizer: the last step must be cut or sentencepiece")
    if isinstance(last, SentencePiece) and before:
        raise InputError("normalizer: sentencepiece must be the only step")
    return Normalizer(steps)


def _read_step(where: str, data: Any, checked: bool) -> NormalizerStep:
    name = data.get("step") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in NORMALIZERS:
        raise InputError(f"{where}.step: not one of {', '.join(NORMALIZERS)}")
    kind: Any = NORMALIZERS[name]
    values = {key: value for key, value in data.items() if key != "step"}
    try:
        instance(kind, complete=True)(where, values)
    except Wrong as error:
        raise InputError(": ".join(error.args)) from None
    if values.get("text") == "":
        raise InputError(f"{where}.text: empty")
    if "table" in values:
        try:
            values["table"] = base64.b64decode(values["table"], validate=True)
        except (binascii.Error, ValueError):
            raise InputError(f"{where}.table: not base64") from None
        if values["table"] and not checked:
            character_map(values["table"])
    for value in values.values():
        if isinstance(value, str) and ("\n" in value or not value.isprintable()):
            raise InputError(f"{where}: a character that is not printable")
    return cast(NormalizerStep, kind(**values))
