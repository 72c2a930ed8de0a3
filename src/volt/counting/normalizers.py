"""What other toolkits do to text before they cut it: the normalisers of imported vocabularies.

>>> Normalizer((Bert(), Cut("bert")))("Café, OK!").split()
['cafe', ',', 'ok', '!']

A normaliser is a list of steps. What it returns is cut by one of volt's own rules as the toolkit
cuts the text it was given, so that the encoder knows nothing of it: a step `Cut` puts a
space wherever the toolkit ends a word. Nothing is lossless then: `decode` gives normalised text.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
import string
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args

import numpy as np

from volt.base.errors import InputError

Names = re.Pattern[str]
"""Finds special tokens and symbols, in one group: these are not normalised."""

UnicodeForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
Place = Literal[
    "bert", "blanks", "words", "metaspace", "metaspace-first", "blanks-metaspace", "bytes",
    "bytes-prefix",
]  # fmt: skip

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""To Unicode. Python's `str.split` cuts at four more, U+001C to U+001F."""
_SPACES = re.compile(f"[{WHITE_SPACE}]+")


class _Table(dict[int, str]):
    """What each character becomes, found out when it is met; for `str.translate`."""

    def __init__(self, become: Callable[[str], str]) -> None:
        self._become = become

    def __missing__(self, code_point: int) -> str:
        return self.setdefault(code_point, self._become(chr(code_point)))


# --------------------------------------------------------------------------------------------- BERT


@dataclass(frozen=True)
class Bert:
    """Hugging Face's `BertNormalizer`. Its tables are those of Unicode 8, ours are Python's: they
    differ on characters that are newer."""

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool = True
    lowercase: bool = True

    def __call__(self, text: str) -> str:
        before, after = _bert_tables(self)
        text = text.translate(before)
        if self.strip_accents and not text.isascii():
            text = unicodedata.normalize("NFD", text)
        return text.translate(after) if self.strip_accents or self.lowercase else text


@functools.cache
def _bert_tables(bert: Bert) -> tuple[_Table, _Table]:
    """Before accents come apart from their letters, and after."""

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
    # Two Mongolian letters became marks in Unicode 9, a Hanunoo mark takes room since Unicode 14.
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
class Form:
    form: UnicodeForm

    def __call__(self, text: str) -> str:
        return unicodedata.normalize(self.form, text)


@dataclass(frozen=True)
class Lowercase:
    def __call__(self, text: str) -> str:
        return text.translate(_LOWER)  # each by itself: no final sigma


@dataclass(frozen=True)
class StripAccents:
    """All marks, where `Bert` takes away those that take no room."""

    def __call__(self, text: str) -> str:
        return text.translate(_NO_MARKS)


@dataclass(frozen=True)
class Strip:
    left: bool
    right: bool

    def __call__(self, text: str) -> str:
        text = text.lstrip(WHITE_SPACE) if self.left else text
        return text.rstrip(WHITE_SPACE) if self.right else text


@dataclass(frozen=True)
class Replace:
    text: str
    by: str

    def __call__(self, text: str) -> str:
        return text.replace(self.text, self.by)


@dataclass(frozen=True)
class ReplaceSpaces:
    """Of two spaces or more."""

    by: str

    def __call__(self, text: str) -> str:
        return _MANY_SPACES.sub(lambda _: self.by, text)


_LOWER = _Table(str.lower)
_NO_MARKS = _Table(lambda c: "" if unicodedata.category(c)[0] == "M" else c)
_MANY_SPACES = re.compile(" {2,}")


# -------------------------------------------------------------------------------------------- cuts


@dataclass(frozen=True)
class Cut:
    """Spaces where a pre-tokenizer of Hugging Face cuts. Only a last step.

    `bert`: BertPreTokenizer; `blanks`: WhitespaceSplit; `words`: Whitespace. For metaspace text,
    where a literal `▁` is a space: `metaspace`: Metaspace, which puts no `▁` before another;
    `metaspace-first`: the same, but not after a special token; `blanks-metaspace`: WhitespaceSplit
    and Metaspace. `bytes`: ByteLevel, which volt's `byte-level` mirrors; `bytes-prefix`: the same
    with `add_prefix_space`, which puts a space before text that does not start with one, after a
    special token too.
    """

    at: Place

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
        words = [text] if self.at != "blanks-metaspace" else _SPACES.split(text)
        spaced = " ".join(
            word.replace("▁", " ").removeprefix(" ") if self.at != "metaspace-first" or first
            else word.replace("▁", " ")
            for word in words if word
        )  # fmt: skip
        # The encoder understands a space before the text, but not after a special token.
        before = not first and self.at != "metaspace-first" and any(words)
        return " " + spaced if before else spaced


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
    word = _character_class(
        code_point
        for code_point in range(0x110000)
        if (kind := unicodedata.category(chr(code_point)))[0] in "LM"
        or kind in ("Nd", "Nl", "Pc")
        or code_point in (0x200C, 0x200D)
        or any(first <= code_point <= last for first, last in circled)
    )
    return re.compile(f"[{word}]+|[^{word}{WHITE_SPACE}]+")


def _character_class(code_points: Any) -> str:
    """Sorted code points as the inside of `[...]`."""
    ranges: list[list[int]] = []
    for code_point in code_points:
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    return "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in ranges)


# ------------------------------------------------------------------------- SentencePiece's char map


@dataclass(frozen=True)
class Precompiled:
    """SentencePiece's table as Hugging Face applies it: to clusters of a letter and its marks of
    less than six bytes, else to characters; and of several rules the shortest, which replaces all
    of the cluster."""

    table: bytes

    def __call__(self, text: str) -> str:
        return character_map(self.table).by_cluster(text)


@dataclass(frozen=True)
class SentencePiece:
    """SentencePiece's `normalizer_spec`: the table, by the longest rule; spaces. A literal `▁` is a
    space from then on."""

    table: bytes
    remove_extra_whitespaces: bool

    def __call__(self, text: str, names: Names | None = None) -> str:
        if self.table:
            by_longest = character_map(self.table).by_longest
            parts = [text] if names is None else names.split(text)
            parts[::2] = map(by_longest, parts[::2])
            text = "".join(parts)
        if self.remove_extra_whitespaces:
            text = _MANY_SPACES.sub(" ", text).lstrip(" ")
        text = text.replace("▁", " ")
        return text.rstrip(" ") if self.remove_extra_whitespaces else text


LONGEST_RULE = 256
"""Bytes."""
MOST_WAYS = 1_000_000
"""Through the trie of a table, those that come to the same counted once; SentencePiece's own have
less than a tenth of that."""


@functools.lru_cache(maxsize=4)
def character_map(table: bytes) -> CharacterMap:
    return CharacterMap(table)


class CharacterMap:
    """A `precompiled_charsmap`: rules, from a few characters to others. How long the trie is (32
    bits), the trie of what is replaced (a double array of Darts, 32 bits a unit), then the
    replacements, each ended by NUL. It is not trusted.

    A unit: bits 0 to 7 and 31 are its label, 8 whether a value is at its offset, from 10 on the
    offset. Who stands at `place` and reads the byte `b` goes to the unit at `place ^ b`, if that is
    its label, and stands at this one's number ^ its offset. Ends are shared: `nmt_nfkc` has 225,275
    rules in some 50,000 units, so nothing here goes through all rules (that took 14 seconds).
    """

    def __init__(self, table: bytes) -> None:
        size = struct.unpack_from("<I", table)[0] if len(table) >= 4 else 0
        if size % 4 or not 4 <= size < len(table) - 4:
            raise _bad_table("it is cut short")
        units = np.frombuffer(table, "<u4", size // 4, 4).astype(np.int64)
        self._texts = table[4 + size :]
        self._check_texts()
        offsets = (units >> 10) << ((units & 0x200) >> 6)
        self._labels: list[int] = (units & 0x800000FF).tolist()
        self._next: list[int] = (np.arange(len(units)) ^ offsets).tolist()
        self._ends: list[bool] = ((units & 0x100) != 0).tolist()
        self._values: list[int] = (units & 0x7FFFFFFF).tolist()
        self._start = int(offsets[0])
        first, later = self._characters()
        found = {c: self._find(c, 0, 1) for c in map(chr, first)}
        self._single = str.maketrans({c: by for c, (end, by) in found.items() if end})
        # Where none of these is, no rule applies. So a rule applies to a stretch of them, and the
        # character before it.
        self._active = {*map(chr, self._single), *map(chr, later)}
        inside = _character_class(sorted(ord(c) for c in self._active if c < "\U00010000"))
        self._stretch = re.compile(f"[\\s\\S]?[{inside}\U00010000-\U0010ffff]+")

    def _check_texts(self) -> None:
        try:
            self._texts.decode()
        except UnicodeDecodeError:
            raise _bad_table("a replacement is no UTF-8") from None
        if not self._texts.endswith(b"\0"):
            raise _bad_table("the last replacement has no end")
        if b"\n" in self._texts or b"  " in self._texts:
            raise _bad_table("a replacement has a line end, or two spaces")

    def _characters(self) -> tuple[list[int], list[int]]:
        """The code points that rules start with; those that come later in one. Checks on the way
        that all values are there."""
        units = np.arange(len(self._labels))
        labels, places = np.array(self._labels), np.array(self._next)
        ends, values = np.array(self._ends), np.array(self._values)
        real = labels < 256
        before = np.where(real, units ^ labels, -1)  # where one stands that comes to this unit
        order = np.argsort(before, kind="stable")
        before = before[order]
        found: tuple[list[int], list[int]] = [], []
        # Where ways stand; the code point so far; its bytes to come; whether it is the first.
        ways = np.array([[self._start, 0, 0, 1]])
        total = 0
        for _ in range(LONGEST_RULE + 1):
            low, high = (np.searchsorted(before, ways[:, 0], side) for side in ("left", "right"))
            parents = np.repeat(np.arange(len(ways)), high - low)
            steps = np.arange(len(parents)) - np.repeat(
                np.cumsum(high - low) - (high - low), high - low
            )
            reached = order[low[parents] + steps]
            label = labels[reached]
            _, code_point, to_come, first = ways[parents].T
            # 0xxxxxxx, 110xxxxx, 1110xxxx, 11110xxx start a character, 10xxxxxx go on with it.
            length = np.searchsorted([0x80, 0xC2, 0xE0, 0xF0, 0xF5], label, "right")
            starts = (to_come == 0) & np.isin(length, (0, 2, 3, 4))
            goes_on = (to_come > 0) & (length == 1)
            kept = starts | goes_on  # others are no UTF-8, and never met
            code_point = np.where(
                starts, label & np.array([0x7F, 0, 0x1F, 0x0F, 0x07, 0])[length],
                code_point << 6 | label & 0x3F,
            )  # fmt: skip
            to_come = np.where(starts, np.maximum(length - 1, 0), to_come - 1)
            done = to_come == 0
            for number in (0, 1):
                found[1 - number].extend(np.unique(code_point[kept & done & (first == number)]))
            at_end = kept & ends[reached]
            self._check_values(places[reached[at_end]], values)
            columns = [places[reached], np.where(done, 0, code_point), to_come, first & ~done]
            ways = np.unique(np.stack(columns, 1)[kept], axis=0)
            total += len(ways)
            if total > MOST_WAYS:
                raise _bad_table(f"its trie has more than {MOST_WAYS:,} ways")
            if not len(ways):
                return (
                    [c for c in found[0] if _is_scalar(c)],
                    [c for c in set(found[1]) if _is_scalar(c)],
                )
        raise _bad_table(f"a rule is longer than {LONGEST_RULE} bytes")

    def _check_values(self, places: Any, values: Any) -> None:
        if (places >= len(values)).any():
            raise _bad_table("its trie points outside")
        for start in np.unique(values[places]).tolist():
            if start >= len(self._texts) or self._texts[start] & 0xC0 == 0x80:
                raise _bad_table("it has no replacement where one should be")

    def _find(self, text: str, start: int, most: int) -> tuple[int, str]:
        """Where the longest rule for the text from `start` on ends, of at most so many characters,
        and its replacement; `start` if there is none."""
        labels = self._labels
        place, end, value = self._start, start, 0
        for number in range(start, min(start + most, len(text))):
            for byte in text[number].encode(errors="surrogatepass"):
                place ^= byte
                if place >= len(labels) or labels[place] != byte:
                    return end, self._replacement(value) if end > start else ""
                unit, place = place, self._next[place]
            if self._ends[unit]:
                end, value = number + 1, self._values[place]
        return end, self._replacement(value) if end > start else ""

    def _replacement(self, value: int) -> str:
        return self._texts[value : self._texts.index(b"\0", value)].decode()

    def by_longest(self, text: str) -> str:
        if self._active.isdisjoint(text):
            return text
        return self._stretch.sub(self._replace_longest, text)

    def _replace_longest(self, stretch: re.Match[str]) -> str:
        text = stretch[0]
        found: list[str] = []
        start = 0
        while start < len(text):
            end, by = self._find(text, start, LONGEST_RULE)
            found.append(by if end > start else text[start])
            start = max(end, start + 1)
        return "".join(found)

    def by_cluster(self, text: str) -> str:
        if self._active.isdisjoint(text):
            return text
        parts = _clusters().split(text)  # every other one is a cluster of several characters
        parts[::2] = [part.translate(self._single) for part in parts[::2]]
        parts[1::2] = map(self._replace_cluster, parts[1::2])
        return "".join(parts)

    def _replace_cluster(self, cluster: str) -> str:
        if len(cluster.encode(errors="surrogatepass")) < 6:
            for most in range(1, len(cluster) + 1):
                end, by = self._find(cluster, 0, most)
                if end:
                    return by
        return cluster.translate(self._single)


def _bad_table(problem: str) -> InputError:
    return InputError(f"the table of characters (precompiled_charsmap): {problem}")


def _is_scalar(code_point: int) -> bool:
    return code_point < 0xD800 or 0xDFFF < code_point < 0x110000


@functools.cache
def _clusters() -> re.Pattern[str]:
    """Clusters of several characters, as far as they have less than six bytes: Hangul, flags and
    joined emoji are longer."""
    joined = {0x200C, 0x200D, 0xE33, 0xEB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400)}
    joined |= set(range(0xE0020, 0xE0080))
    prepended = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    marks, controls = [], []
    for code_point in range(0x110000):
        kind = unicodedata.category(chr(code_point))
        if code_point in joined or kind in ("Mn", "Mc", "Me"):
            marks.append(code_point)
        elif kind in ("Cc", "Cf", "Zl", "Zp") and code_point not in prepended:
            controls.append(code_point)
    return re.compile(f"(\r\n|[^{_character_class(controls)}][{_character_class(marks)}]+)")


# -------------------------------------------------------------------------------------- normalizer

Step = (
    Bert | Form | Lowercase | StripAccents | Strip | Replace | ReplaceSpaces | Precompiled
    | SentencePiece | Cut
)  # fmt: skip
STEPS: dict[str, type[Step]] = {
    "bert": Bert,
    "form": Form,
    "lowercase": Lowercase,
    "strip-accents": StripAccents,
    "strip": Strip,
    "replace": Replace,
    "replace-spaces": ReplaceSpaces,
    "precompiled": Precompiled,
    "sentencepiece": SentencePiece,
    "cut": Cut,
}


@dataclass(frozen=True)
class Normalizer:
    """Steps, one after the other; the last is the `Cut`, or all there is is `SentencePiece`."""

    steps: tuple[Step, ...]

    def __call__(self, text: str, names: Names | None = None) -> str:
        last = self.steps[-1]
        if isinstance(last, SentencePiece):
            return last(text, names)
        parts = [text] if names is None else names.split(text)
        parts[::2] = [self._part(part, number == 0) for number, part in enumerate(parts[::2])]
        return "".join(parts)

    @property
    def pretokenizer(self) -> Literal["whitespace", "metaspace", "byte-level"]:
        """By which the normalised text is to be cut."""
        last = self.steps[-1]
        if isinstance(last, SentencePiece) or "metaspace" in cast(Cut, last).at:
            return "metaspace"
        return "byte-level" if "bytes" in cast(Cut, last).at else "whitespace"

    @property
    def summary(self) -> str:
        """In a few words: `bert + cut (bert)`."""
        return " + ".join(
            f"{NAMES[type(step)]} ({step.at})" if isinstance(step, Cut) else NAMES[type(step)]
            for step in self.steps
        )

    def _part(self, text: str, first: bool) -> str:
        *steps, cut = self.steps
        for step in steps:
            text = step(text)
        return cast(Cut, cut)(text, first)

    # ------------------------------------------------------------------------------ save and load

    def to_data(self) -> list[dict[str, Any]]:
        """For JSON. A table is kept as it is, in base64, so that it goes back to its toolkit byte
        by byte; written out it would be hundreds of thousands of rules."""
        return [
            {"step": NAMES[type(step)]}
            | {
                field.name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
                for field in fields(step)
                for value in [getattr(step, field.name)]
            }
            for step in self.steps
        ]


NAMES = {kind: name for name, kind in STEPS.items()}
_CHOICES = {"form": get_args(UnicodeForm), "at": get_args(Place)}


def read_normalizer(data: Any) -> Normalizer:
    """What `to_data` gave. It is not trusted; a problem names the field."""
    if not isinstance(data, list) or not data:
        raise InputError("normalizer: no list of steps")
    steps = tuple(_read_step(f"normalizer[{number}]", one) for number, one in enumerate(data))
    *before, last = steps
    if any(isinstance(step, (Cut, SentencePiece)) for step in before):
        raise InputError("normalizer: after a step that has to be the last")
    if not isinstance(last, Cut) and not (isinstance(last, SentencePiece) and not before):
        raise InputError("normalizer: the last step is no cut, nor is it all SentencePiece's")
    return Normalizer(steps)


def _read_step(where: str, data: Any) -> Step:
    name = data.get("step") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in STEPS:
        raise InputError(f"{where}.step: none of {', '.join(STEPS)}")
    kind = STEPS[name]
    if data.keys() != {"step", *(field.name for field in fields(kind))}:
        raise InputError(f"{where}: not the fields of the step {name}")
    values: dict[str, Any] = {}
    for field in fields(kind):
        value = data[field.name]
        if field.type == "bool":
            fine = isinstance(value, bool)
        else:
            fine = isinstance(value, str) and value in _CHOICES.get(field.name, (value,))
        if not fine or (field.name == "text" and not value):
            raise InputError(f"{where}.{field.name}: {str(value)[:40]!r} is not allowed here")
        values[field.name] = value
    if "table" in values:
        try:
            values["table"] = base64.b64decode(values["table"], validate=True)
        except (binascii.Error, ValueError):
            raise InputError(f"{where}.table: no base64") from None
        if values["table"]:
            character_map(values["table"])
    for value in values.values():
        if isinstance(value, str) and ("\n" in value or not value.isprintable()):
            raise InputError(f"{where}: a character that is not to be printed")
    return kind(**values)
