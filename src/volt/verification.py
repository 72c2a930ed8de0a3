"""Verify: do two tokenizers, of any toolkit, give the same ids?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from volt.base.errors import UnreadableError, VoltError
from volt.base.gate import open_file
from volt.base.options import accepts
from volt.base.shown import SIGNS, plural
from volt.counting.inputs import Text
from volt.counting.marks import BYTES
from volt.foreign.base import Engine
from volt.foreign.check_lines import built_in, texts_for
from volt.foreign.documents import read_documents
from volt.foreign.engine_choice import open_engine
from volt.foreign.volt_engine import Native
from volt.formats.exchange import check_pattern
from volt.settings import TextSettings
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

MOST_SHOWN = 10
LINE = re.compile(r"[^\n]*\n|[^\n]+")
ID_MAP = "id_map.npy"
"""What `refit` and `extend` write beside a tokenizer whose tokens have new ids."""
AROUND = 3
"""Tokens before and after a difference that are shown."""


@dataclass(frozen=True)
class Difference:
    """A place where two tokenizers part."""

    document: int
    """Its number, from 1 on, among the given documents or among the built-in texts."""
    built_in: bool
    line: int
    """From 1 on: the line of the document that has the first token that differs."""
    text: str
    """The text around it."""
    first: list[str]
    """Tokens of the first tokenizer there, and a few before."""
    second: list[str]
    same: int
    """How many of both lists, at their front, are the same tokens."""


@dataclass(frozen=True)
class Verification:
    """What was compared, and where it differs."""

    documents: int
    equal: int
    tokens: int
    """Of the first tokenizer."""
    given: int
    """How many of the documents are not built in; they come first."""
    equal_given: int
    differences: list[Difference]
    lines: int = 0
    """Of the documents that are not built in."""
    lines_different: int = 0
    """How many of these lines are where tokens differ: of lines that a token joins, all but the
    empty ones."""
    at_names: int = 0
    """How many documents differ only at names of special tokens: the text between them gives the
    same."""
    same_texts: bool = False
    """Are at least the texts of all tokens the same, in order?"""
    messages: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return self.equal == self.documents

    @property
    def only_at_names(self) -> bool:
        """Are all differences at names of special tokens?"""
        return 0 < self.at_names == self.documents - self.equal

    def verdict(self, what: str = "ids") -> str:
        """In a few words, the same wherever two tokenizers are compared."""
        where = ", at names of special tokens only" if self.only_at_names else ""
        return f"{'the same' if self.same else 'different'} {what}{where}"

    def __repr__(self) -> str:
        texts = plural(self.documents, "text")
        return f"<Verification: {self.verdict()}: {self.equal:,} of {texts} are equal>"

    def summary(self) -> dict[str, Any]:
        return {"same": self.same, **asdict(self)}


@accepts(TextSettings)
def verify(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    on: Text | Iterable[Text] | None = None,
    *,
    texts: bool = False,
    pattern: str | None = None,
    **options: Any,
) -> Verification:
    """Encode documents, and the 2,000 built-in texts, with two tokenizers of any toolkit.

    With `texts`, the texts of the tokens are compared and not their ids. Files are encoded whole,
    so that line ends count. A vocabulary of volt beside a file of another toolkit is used as that
    toolkit uses it. `pattern` is for files that do not say how they cut text. Tokens that are added
    around a text are left out; a message says where they differ.

    >>> import tempfile, volt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokenizer.vocabulary.save(f"{folder}/volt.json")
    ...     written = volt.export(tokenizer.vocabulary, "hf", f"{folder}/hf")
    ...     volt.verify(f"{folder}/volt.json", f"{folder}/hf", [["low slow"]]).same
    True
    """
    check_pattern(pattern, (first, second))
    documents = [] if on is None else read_documents(on, TextSettings(**options))
    one, other = (open_engine(path, pattern=pattern, texts=documents) for path in (first, second))
    messages = [f"{side}: {message}" for side, opened in (("A", one), ("B", other))
                for message in opened.messages]  # fmt: skip
    if unlike := _unlike_around(("A", one.engine.around), ("B", other.engine.around)):
        messages.append(f"not compared is what is added around a text: {unlike}")
    engines = _alike(one.engine, other.engine, messages), _alike(other.engine, one.engine, messages)
    every = [*documents, *built_in()]
    found = verify_engines(*engines, every, texts=texts, given=len(documents))
    if not found.same:
        messages += [] if texts else _only_ids(found, first, second)
        messages += _lacking(first, second)
        messages += _one_longer(("A", engines[0]), ("B", engines[1]))
    return replace(found, messages=messages)


def _only_ids(found: Verification, *paths: str | os.PathLike[str]) -> list[str]:
    """Why ids differ, where the tokens may be the same."""
    if found.same_texts:
        return ["the tokens are the same and only their ids differ: compare them with `texts`"]
    if any(moved for moved, _ in map(_changes, _id_maps(paths))):
        return [f"there is an {ID_MAP}: tokens have new ids; compare their texts with `texts`"]
    return []


def _lacking(*paths: str | os.PathLike[str]) -> list[str]:
    """What the smaller one of two does not have any more."""
    gone = max((gone for _, gone in map(_changes, _id_maps(paths))), default=0)
    if not gone:
        return []
    return [
        f"by its {ID_MAP} it lacks {plural(gone, 'token')} of the original, so text that had "
        "them is cut otherwise; volt compare says how much longer it gets"
    ]


def _one_longer(*sides: tuple[str, Engine]) -> list[str]:
    """The tokens of one, and more."""
    (shorter, few), (longer, many) = sorted(sides, key=lambda side: side[1].size)
    more = many.size - few.size
    if not more or list(many.names[: few.size]) != list(few.names):
        return []
    return [
        f"{longer} has the tokens of {shorter}, with the same ids, and {more:,} more: text that "
        "these fit is cut otherwise by them"
    ]


def _id_maps(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    maps = [place for path in paths for place in (Path(path) / ID_MAP, Path(path).parent / ID_MAP)]
    return [id_map for id_map in maps if id_map.exists()]


def _changes(id_map: Path) -> tuple[bool, int]:
    """Did tokens get new ids, and how many are gone? One that can't be read is taken for a map that
    moves some."""
    try:
        with open_file(id_map) as stream:
            new_ids = np.load(stream, allow_pickle=False)
    except (VoltError, OSError, ValueError, EOFError, MemoryError):
        return True, 0
    if new_ids.ndim != 1 or new_ids.dtype.kind != "i":
        return True, 0
    moved = (new_ids >= 0) & (new_ids != np.arange(new_ids.size))
    return bool(moved.any()), int((new_ids < 0).sum())


def _unlike_around(*sides: tuple[str, tuple[list[str], list[str]] | None]) -> str:
    """What two tokenizers add before and after a text; empty if it is the same, or not known."""
    (_, mine), (_, theirs) = sides
    if mine is None or theirs is None or mine == theirs:
        return ""
    return ", ".join(
        f"{name} adds {' '.join([*around[0], '...', *around[1]]) if any(around) else 'nothing'}"
        for name, around in sides if around is not None
    )  # fmt: skip


def _alike(one: Engine, other: Engine, messages: list[str]) -> Engine:
    """A vocabulary of volt reads text as the other tokenizer does. By itself it may read lines, it
    tells `▁` from a space, and names of special tokens are plain text to it."""
    behind = other.behind if isinstance(other, Native) else other
    if behind is None or not isinstance(one, Native) or one.behind is not None:
        return one
    messages.append(
        f"volt's vocabulary is used as {behind.library} does: special names, ▁ and line ends alike"
    )
    return Native(one.tokenizer, other.kind, behind, alone=True)


def verify_engines(
    one: Engine, other: Engine, every: Sequence[str], *, texts: bool = False, given: int = 0
) -> Verification:
    """The same for engines and texts, of which the first ones are `given`."""
    mine, theirs = one.encode_batch(every), other.encode_batch(every)
    equal = equal_given = lines = lines_different = 0
    same_texts = True
    differ: list[str] = []
    differences: list[Difference] = []
    for number, (text, left, right) in enumerate(zip(every, mine, theirs, strict=True)):
        lines += len(LINE.findall(text)) if number < given else 0
        a, b = (token_texts(one, left), token_texts(other, right)) if texts else (left, right)
        if a == b:
            equal += 1
            equal_given += number < given
            continue
        differ.append(text)
        same_texts = same_texts and token_texts(one, left) == token_texts(other, right)
        most = MOST_SHOWN - len(differences)
        if most <= 0 and number >= given:
            continue
        for size, found in _differences(text, one, other, left, right, texts, most):
            lines_different += size if number < given else 0
            if found is not None:
                place = number + 1 if number < given else number + 1 - given
                differences.append(replace(found, document=place, built_in=number >= given))
    return Verification(
        len(every), equal, sum(map(len, mine)), given, equal_given, differences, lines,
        lines_different, _at_names(one, other, differ, texts), same_texts,
    )  # fmt: skip


def _at_names(one: Engine, other: Engine, differ: Sequence[str], texts: bool) -> int:
    """How many of the texts that differ do so only at names of special tokens."""
    names = {*one.named_texts, *other.named_texts} if differ else set()
    if not names:
        return 0
    named = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    found = 0
    for text in differ:
        parts = named.split(text)
        a, b = one.encode_batch(parts), other.encode_batch(parts)
        alike = all((token_texts(one, x) == token_texts(other, y)) if texts else x == y
                    for x, y in zip(a, b, strict=True))  # fmt: skip
        found += len(parts) > 1 and alike
    return found


def token_texts(engine: Engine, ids: Sequence[int]) -> list[bytes]:
    """The texts of tokens: their bytes, or their names."""
    plain, names = engine.plain, engine.names
    return [data if (data := plain[i]) is not None else (names[i] or "").encode() for i in ids]


def _differences(
    text: str, one: Engine, other: Engine, left: list[int], right: list[int],
    texts: bool, most: int,
) -> Iterator[tuple[int, Difference | None]]:  # fmt: skip
    """The places of a document that differ, at most one per line: after it, the comparison goes on
    where both have a token that begins a line. Of each, the number of lines it may be in; the first
    `most` are shown."""
    lines = LINE.findall(text) or [text]
    mine, theirs = _line_starts(one, left, lines), _line_starts(other, right, lines)
    if mine is None or theirs is None:  # then the lines by themselves, if these differ
        cut, other_cut = one.encode_batch(lines), other.encode_batch(lines)
        mine, theirs = [0], [0]
        pairs = zip(cut, other_cut, strict=True)
        if any(
            (token_texts(one, x) != token_texts(other, y)) if texts else x != y for x, y in pairs
        ):
            mine, theirs = _ends(cut), _ends(other_cut)
            left, right = [*chain(*cut)], [*chain(*other_cut)]
    cuts = [(0, 0, 0)]
    cuts += [(i, x, y) for i, (x, y) in enumerate(zip(mine, theirs, strict=True))
             if i and x is not None and y is not None]  # fmt: skip
    cuts.append((len(lines), len(left), len(right)))
    for (line, i, k), (end, next_i, next_k) in pairwise(cuts):
        parts = left[i:next_i], right[k:next_k]
        a, b = (token_texts(one, parts[0]), token_texts(other, parts[1])) if texts else parts
        if a == b:
            continue
        number_of_lines = max(1, sum(map(bool, map(str.strip, lines[line:end]))))
        if most <= 0:
            yield number_of_lines, None
            continue
        most -= 1
        at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
                  min(len(a), len(b)))  # fmt: skip
        first = sum(map(len, lines[:line]))
        place = first + _place("".join(lines[line:end]), token_texts(one, parts[0][:at]))
        yield (
            number_of_lines,
            Difference(
                document=0,
                built_in=False,
                line=text.count("\n", 0, place) + 1,
                text=text[max(0, place - 30) : place + 30],
                first=_named(one, left[i:], at),
                second=_named(other, right[k:], at),
                same=min(AROUND, at),
            ),
        )


def _line_starts(engine: Engine, ids: list[int], lines: list[str]) -> list[int | None] | None:
    """The token that each line begins with, None where a token goes over the line end. None if that
    can't be told: the tokens are not the text, nor those of the lines one by one."""
    pieces, data = token_texts(engine, ids), "".join(lines).encode()
    whole = b"".join(pieces)
    if whole in (data, b" " + data):
        before = len(whole) - len(data)  # some add a space before the text
        token_at = {size: i for i, size in enumerate(accumulate(map(len, pieces)), 1)}
        ends = accumulate((len(line.encode()) for line in lines[:-1]), initial=before)
        return [token_at.get(end) for end in ends]
    alone = engine.encode_batch(lines)
    return _ends(alone) if [*chain(*alone)] == ids else None


def _ends(cuts: Sequence[list[int]]) -> list[int | None]:
    return [*accumulate(map(len, cuts[:-1]), initial=0)]


def _place(text: str, pieces: Sequence[bytes]) -> int:
    """Where in a text the tokens before a place end. Spaces and marks may be missing in it, and
    letters may have been made small."""
    before, data = b"".join(pieces), text.encode()
    for spelled in (before, before[1:]):
        if data.startswith(spelled) and (spelled is before or before[:1] == b" "):
            return len(spelled.decode(errors="ignore"))
    small = text.lower() if len(text.lower()) == len(text) else text
    place = 0
    for piece in pieces:
        name = piece.decode(errors="ignore").strip(" \0")
        found = max(text.find(name, place), small.find(name, place))
        if found >= 0:
            place = found + len(name)
    return place


def _named(engine: Engine, ids: list[int], at: int) -> list[str]:
    some = ids[max(0, at - AROUND) : at + AROUND + 1]
    return [f"{i}:{_readable(engine, i)}" for i in some]


def _readable(engine: Engine, number: int) -> str | None:
    """A token as its file spells it; one in byte letters as the text it is, with signs for spaces,
    as on the report page."""
    data = engine.plain[number] if engine.marks is BYTES else None
    if data is None or number in engine.byte_ids:
        return engine.names[number]
    return data.decode(errors="backslashreplace").translate(SIGNS)


def verify_conversion(
    vocabulary: Vocabulary,
    path: str | os.PathLike[str],
    form: str | None = None,
    pattern: str | None = None,
) -> str:
    """How a vocabulary of volt and a file of another toolkit, one converted from the other, encode
    the built-in texts, with the names of its special tokens in some: a sentence that says how many
    are equal, and where they are not."""
    try:
        own = open_engine(path, form=form, pattern=pattern, native=False).engine
    except UnreadableError:
        raise
    except VoltError as error:
        return f"not verified: {error}"
    if own.library == "volt":
        return "not verified: there is no library to compare with"
    tokenizer = Tokenizer(vocabulary)
    found = verify_engines(Native(tokenizer, own.kind, own, alone=True), own, texts_for(own))
    equal = f"{found.equal:,} of {found.documents:,} built-in texts"
    line = f"verified: {equal} have the same ids in {own.library}"
    if not found.same:
        text = found.differences[0].text
        line = (
            f"warning: {found.verdict()}: {equal} are equal in {own.library}, text such as "
            f"{text!r} is not"
        )
    around = Native(tokenizer, "volt").around
    if unlike := _unlike_around((own.library, own.around), ("volt", around)):
        line += f"; warning: what is added around a text differs: {unlike}"
    return line
