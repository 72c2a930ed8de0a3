"""The file `volt.json`: writing it, and reading it.

It is not trusted: every field is checked, and an error names the field.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._version import __version__
from volt.base.arguments import names_arguments
from volt.base.checks import nearest_path
from volt.base.errors import InputError, SettingsError, UnreadableError
from volt.base.gate import named, parse_json, read_bytes
from volt.base.schema import Wrong, brief, check
from volt.counting.marks import LETTER_BYTES, NEVER_IN_UTF8, SPACE_MARK, UNKNOWN, Marks
from volt.counting.normalizers import Normalizer, read_normalizer
from volt.counting.words import WordRule, read_rule
from volt.proposing.merges import MergeEncoding
from volt.proposing.tokens import (
    KINDS,
    NO_TOKEN,
    SPELLED,
    Kind,
    Token,
    Tokens,
    kind_numbers,
)
from volt.tokenizing.compiled import StoredTokens, read_compiled, renew_compiled
from volt.tokenizing.roles import Roles, check_roles
from volt.tokenizing.schemas import FORMAT, HEAD, MERGED, MOST_TOKENS, SCORED, SIZE, TOKEN
from volt.tokenizing.vocabulary import HIGHEST_SCORE, LookUp, Vocabulary, is_text

LADDER = "ladder.csv"
"""The table of a folder with a vocabulary per size."""
FORMAT_VERSION = 1
LOOK_UP_FORMAT = 2
"""For vocabularies that look tokens up, have another unknown token than `<unk>`, or one for a run
of unknown characters. volt 0.1 could not read these."""
NORMALIZER_FORMAT = 3
"""For vocabularies that have a normalizer, merge up to the next space, or look whole words up
before they merge."""
ROLES_FORMAT = 4
"""For vocabularies whose special tokens were given roles."""
DOCUMENT_FORMAT = 5
"""For vocabularies that read whole documents, for pre-tokenizers that volt 0.1 does not have, and
for metaspace words with runs of spaces, or without a space before the text. Without the field
`reads`, a vocabulary reads lines."""
NEWEST_FORMAT = DOCUMENT_FORMAT
SINCE = {
    "look_up": LOOK_UP_FORMAT, "unknown_token": LOOK_UP_FORMAT, "fuse_unknown": LOOK_UP_FORMAT,
    "word_ends": NORMALIZER_FORMAT, "whole_words": NORMALIZER_FORMAT,
    "normalizer": NORMALIZER_FORMAT, "roles": ROLES_FORMAT, "reads": DOCUMENT_FORMAT,
    "space_first": DOCUMENT_FORMAT,
}  # fmt: skip
"""The format that has a field first. Where such a field would say nothing new, it is left out."""
OLD_PRETOKENIZERS = ("whitespace", "metaspace", "byte-level", "byte-level:cl100k",
                     "byte-level:llama3", "byte-level:qwen2", "byte-level:o200k")  # fmt: skip
"""Those of the formats before."""


# ------------------------------------------------------------------------------------------- write


def head_fields(vocabulary: Vocabulary) -> dict[str, Any]:
    """The fields of `volt.json` before the lists of tokens."""
    named = vocabulary.unknown_token != UNKNOWN or vocabulary.fuse_unknown
    optional = {
        "look_up": vocabulary.look_up and asdict(vocabulary.look_up),
        "unknown_token": vocabulary.unknown_token if named else None,
        "fuse_unknown": vocabulary.fuse_unknown if named else None,
        "word_ends": None if vocabulary.word_ends == "kinds" else vocabulary.word_ends,
        "space_first": None if vocabulary.space_first else False,
        "whole_words": vocabulary.whole_words or None,
        "normalizer": vocabulary.normalizer and vocabulary.normalizer.to_data(),
        "roles": None if vocabulary.roles == Roles() else asdict(vocabulary.roles),
    }
    said = {name: value for name, value in optional.items() if value is not None}
    version = max((SINCE[name] for name in said), default=FORMAT_VERSION)
    rule = vocabulary.rule
    known = rule.pretokenizer in OLD_PRETOKENIZERS and vocabulary.word_ends != "runs"
    if rule.reads == "document" or not known:
        version = DOCUMENT_FORMAT
    return {
        "format": version,
        "volt": __version__,
        "signature": vocabulary.signature,
        **rule.to_data(),
        "encoding": vocabulary.encoding,
        "merge_rule": vocabulary.merge_rule,
        "unknown": vocabulary.unknown,
        **said,
        "unit": vocabulary.unit,
        "size": len(vocabulary),
        "unreachable": vocabulary.unreachable,
    }


def vocabulary_parts(vocabulary: Vocabulary) -> list[bytes]:
    """The content of `volt.json`: JSON with a token per line, for people and for diff. In parts,
    because every copy of the rows takes 8 ms for 128,000 tokens."""
    lists = {
        "tokens": _token_rows(vocabulary.columns, 0, vocabulary.encoding == "unigram"),
        "hidden": _token_rows(Tokens.of(vocabulary.hidden), len(vocabulary), False),
        "self_test": ",\n".join(
            _dump({"text": text, "ids": ids}) for text, ids in vocabulary.self_test
        ).encode(),
    }
    head = ",\n".join(f"{_dump(name)}: {_dump(value)}" for name, value in
                      head_fields(vocabulary).items())  # fmt: skip
    parts = [b"{\n", head.encode()]
    for name, rows in lists.items():
        opening, closing = (b": [\n", b"\n]") if rows else (b": [", b"]")
        parts += [b",\n", _dump(name).encode(), opening, rows, closing]
    return [*parts, b"\n}\n"]


_dump = json.JSONEncoder(ensure_ascii=False).encode


def _token_rows(tokens: Tokens, start: int, scored: bool) -> bytes:
    """One token per line as a JSON object; the first has the id `start`."""
    scores: list[str] = []
    if scored:
        spelled = tokens.are(*SPELLED).tolist()
        scores = [_dump(score) if own else "" for score, own in
                  zip(tokens.scores.tolist(), spelled, strict=True)]  # fmt: skip
    return _core.write_tokens(
        *tokens.packed, tokens.kinds, tokens.parents.ravel(), tokens.ranks,
        tokens.scaffolds.view(np.uint8), tokens.frequencies, scores, KINDS, start,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------- read


def check_single(folder: Path) -> None:
    """Refuse a folder with a vocabulary per side (`separate`) or per size (`ladder`)."""
    if (folder / "volt.json").exists():
        return
    if (folder / LADDER).exists() and (sizes := sorted(folder.glob("*/volt.json"))):
        names = ", ".join(str(one.parent) for one in sizes)
        raise InputError(f"{folder} has a vocabulary per size; name one of {names}")
    if (folder / "source" / "volt.json").exists():
        raise InputError(
            f"{folder} has a vocabulary for each side; name {folder / 'source'} or "
            f"{folder / 'target'}"
        )


OF_OTHERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
"""Files of other toolkits, by names that volt never gives its own."""


def _of_others(file: Path) -> str:
    """What to do with such a file."""
    return (
        f"{file} is a tokenizer of another toolkit: volt import, in Python "
        "volt.import_vocabulary(), makes a vocabulary of it; compare, verify, refit and extend "
        "take it as it is"
    )


@names_arguments
def load_vocabulary(path: str | os.PathLike[str], *, compiled: bool = True) -> Vocabulary:
    """Read a folder's `volt.json`, or the file itself. The file is not trusted. `compiled`: use the
    cache beside it, and write it where it is missing or out of date (compiled.py).

    >>> import tempfile, volt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokenizer.vocabulary.save(f"{folder}/volt.json")
    ...     load_vocabulary(f"{folder}/volt.json").texts == tokenizer.tokens
    True
    """
    file = named(path)
    if file.is_dir():
        check_single(file)
        if not os.path.lexists(file / "volt.json"):
            other = next((name for name in OF_OTHERS if (file / name).exists()), None)
            hint = "" if other is None else f". {_of_others(file / other)}"
            raise UnreadableError(
                f"{file} has no volt.json: name a folder that volt learn wrote{hint}"
            )
        file = file / "volt.json"
    elif not os.path.lexists(file):
        hint = nearest_path(file) or ": name a folder that volt learn wrote"
        raise UnreadableError(f"no such vocabulary: {file}{hint}")
    elif file.name in OF_OTHERS:
        raise InputError(_of_others(file))
    data = read_bytes(file)
    found = read_compiled(file, data) if compiled else None
    if found is not None:
        return found
    with no_garbage():
        found = _Reader(str(file), parse_json(str(file), data)).vocabulary()
    renew_compiled(file, data, found)
    return found


def read_head(name: str, head: Any, tokens: Tokens, hidden: Tokens) -> Vocabulary:
    """A vocabulary of tokens that were checked before, and the other fields of its file."""
    return _Reader(name, head).with_tokens(tokens, hidden)


def check_vocabulary(vocabulary: Vocabulary, name: str) -> None:
    """Check everything that loading checks, for a vocabulary that comes from the file `name`. No
    text of a token is empty, or there twice."""
    head = json.loads(_dump(head_fields(vocabulary) | {"self_test": []}))
    reader = _Reader(name, head)
    reader.with_tokens(vocabulary.columns, Tokens.of(vocabulary.hidden))
    reader.check(vocabulary, texts_differ=True)
    columns = vocabulary.pool_columns
    if columns.frequencies.min(initial=0) < 0 or not (abs(columns.scores) <= HIGHEST_SCORE).all():
        raise InputError(f"{name}: tokens: a frequency or score that is out of range")


@contextmanager
def no_garbage() -> Iterator[None]:
    """While very many objects are made that stay, the garbage collector would look at all of them
    again and again: a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_SAME = (
    "encoding", "merge_rule", "unknown", "unknown_token", "fuse_unknown", "word_ends",
    "space_first", "whole_words", "unit", "unreachable", "signature",
)  # fmt: skip
"""Fields that a vocabulary has as they are in the file."""


class _Reader:
    """Checks every field of a parsed `volt.json`; an error names the field."""

    def __init__(self, name: str, data: Any) -> None:
        self._name = name
        self._data = data

    def _fail(self, where: str, problem: str) -> InputError:
        return InputError(f"{self._name}: {where}: {problem}")

    def vocabulary(self) -> Vocabulary:
        check(SIZE, self._data, self._name)
        size, rows, hidden = (self._data[key] for key in ("size", "tokens", "hidden"))
        if size != len(rows):
            raise self._fail("size", f"{size}, but there are {len(rows)} tokens")
        if len(rows) + len(hidden) > MOST_TOKENS:
            raise self._fail("tokens", f"more than {MOST_TOKENS:,}")
        scored = self._data.get("encoding") == "unigram"
        vocabulary = self.with_tokens(
            self._tokens("tokens", rows, 0, scored), self._tokens("hidden", hidden, size, False)
        )
        self.check(vocabulary)
        return vocabulary

    def with_tokens(self, tokens: Tokens, hidden: Tokens) -> Vocabulary:
        """The vocabulary of these tokens, and of all other fields."""
        data = self._data
        check(FORMAT, data, self._name)
        version = data["format"]
        if not FORMAT_VERSION <= version <= NEWEST_FORMAT:
            raise self._fail("format", f"{version}; this volt reads up to {NEWEST_FORMAT}")
        for key in data.keys() & SINCE.keys():
            if version < SINCE[key]:
                raise self._fail(key, f"not in format {version}")
        check(HEAD, data, self._name)
        rule = read_rule(self._name, data)
        looked_up = data["encoding"] not in get_args(MergeEncoding)
        if looked_up and "look_up" not in data:
            raise self._fail("look_up", f"missing, for the encoding {data['encoding']}")
        return Vocabulary(
            rule=rule,
            tokens=tokens,
            hidden=hidden,
            look_up=LookUp(**data["look_up"]) if looked_up else None,
            normalizer=self._normalizer(rule, isinstance(tokens, StoredTokens)),
            roles=Roles(**data.get("roles", {})),
            self_test=[(one["text"], one["ids"]) for one in data["self_test"]],
            **{name: data[name] for name in _SAME if name in data},
        )

    def _normalizer(self, rule: WordRule, checked: bool) -> Normalizer | None:
        if "normalizer" not in self._data:
            return None
        try:
            found = read_normalizer(self._data["normalizer"], checked=checked)
        except InputError as error:
            raise InputError(f"{self._name}: {error}") from None
        if rule != replace(rule, pretokenizer=found.pretokenizer, normalize="none"):
            raise self._fail(
                "normalizer", f"is for {found.pretokenizer} text without other normalization"
            )
        return found

    def _tokens(self, name: str, rows: list[Any], start: int, scored: bool) -> Tokens:
        """The tokens of a list, the first with the id `start`."""
        # Loading spends most of its time here. So whole columns are checked at once, and single
        # rows only if something is wrong.
        try:
            return _columns(rows, start, scored)
        except (KeyError, TypeError, ValueError, OverflowError):
            return Tokens.of(
                self._token(f"{name}[{i}]", row, start + i, scored) for i, row in enumerate(rows)
            )

    def _token(self, where: str, row: Any, number: int, scored: bool) -> Token:
        try:
            TOKEN(where, row)
            merged = row["kind"] == "merged"
            if merged:
                MERGED(where, row)
            if has_score := scored and row["kind"] in SPELLED:
                SCORED(where, row)
        except Wrong as error:
            raise self._fail(*error.args) from None
        if row["id"] != number:
            raise self._fail(f"{where}.id", f"{row['id']} where {number} comes next")
        if not merged and ("parents" in row or "rank" in row):
            raise self._fail(where, f"a {row['kind']} token with parents or a rank")
        if "score" in row and not has_score:
            raise self._fail(f"{where}.score", "only tokens of the unigram encoding have one")
        return Token(
            row["text"], row["kind"], (row["parents"][0], row["parents"][1]) if merged else None,
            row["rank"] if merged else -1, row.get("scaffold", False), row["frequency"],
            float(row.get("score", 0.0)),
        )  # fmt: skip

    def _check_ids(self, vocabulary: Vocabulary) -> None:
        tests = {f"self_test[{i}].ids": ids for i, (_, ids) in enumerate(vocabulary.self_test)}
        for where, ids in {"unreachable": vocabulary.unreachable, **tests}.items():
            if max(ids, default=0) >= len(vocabulary):
                raise self._fail(where, "an id that is not a token")

    def check(self, vocabulary: Vocabulary, *, texts_differ: bool = False) -> None:
        """Check how tokens and fields go together. `texts_differ`: their texts were checked."""
        pool = vocabulary.pool_columns
        merged = np.flatnonzero(pool.are("merged"))
        if not texts_differ:
            self._check_texts(pool.texts, len(vocabulary))
        if vocabulary.look_up is None:
            self._check_merges(pool, merged, len(vocabulary))
        elif len(merged):
            where = self._place(int(merged[0]), len(vocabulary))
            raise self._fail(f"{where}.kind", f"no merged tokens in {vocabulary.encoding}")
        marks = vocabulary.marks
        for number in np.flatnonzero(~pool.are("merged")).tolist():
            kind = KINDS[pool.kinds[number]]
            self._check_single(vocabulary, marks, pool.texts[number], kind, number)
        if vocabulary.hidden and vocabulary.encoding != "split":
            raise self._fail("hidden", "only the split encoding has hidden tokens")
        self._check_ids(vocabulary)
        mode = vocabulary.rule.mode
        byte_tokens = vocabulary.of_kind("byte")
        expected = mode.byte_tokens(vocabulary.unknown)
        if byte_tokens != expected:
            raise self._fail("tokens", f"{len(byte_tokens)} byte tokens, {len(expected)} expected")
        name = vocabulary.unknown_token
        if vocabulary.unknown == "unk" and name not in vocabulary.of_kind("special"):
            raise self._fail("unknown", f"unk, but there is no special token {brief(name)}")
        look_up, longest = vocabulary.look_up, vocabulary.roles.max_length
        if longest is not None and longest < 1:
            raise self._fail("roles.max_length", "at least 1")
        if look_up is not None:
            if look_up.mark and not (mode.loses_spaces and vocabulary.encoding == "longest"):
                raise self._fail("look_up.mark", "only in whitespace mode, by the longest token")
            if look_up.longest_word and vocabulary.unknown_id is None:
                raise self._fail("look_up.longest_word", "needs a token for unknown words")
        if vocabulary.fuse_unknown and mode.space_before and SPACE_MARK not in vocabulary.ids:
            raise self._fail("fuse_unknown", f"the space `{SPACE_MARK}` has to be known")
        if vocabulary.whole_words and not (vocabulary.encoding == "merge" and mode.byte_level):
            raise self._fail("whole_words", "only in byte-level text that is merged")
        try:
            check_roles(vocabulary)
        except SettingsError as error:
            raise self._fail("roles", str(error).replace("`", "")) from None
        if mode.byte_level:
            self._check_bytes(vocabulary)

    def _check_bytes(self, vocabulary: Vocabulary) -> None:
        letters = vocabulary.of_kind("character")
        found = {LETTER_BYTES.get(ord(letter)) for letter in letters if len(letter) == 1}
        # Where tokens are merged, bytes that no text has may be missing.
        spare = NEVER_IN_UTF8 if vocabulary.look_up is None else frozenset()
        if len(found) < len(letters) or None in found or not {*range(256)} - spare <= found:
            raise self._fail("tokens", "byte-level needs all 256 byte characters")

    def _check_texts(self, texts: list[str], size: int) -> None:
        if all(texts) and len(set(texts)) == len(texts):
            return
        seen: set[str] = set()
        for number, text in enumerate(texts):
            where = f"{self._place(number, size)}.text"
            if not text:
                raise self._fail(where, "empty")
            if text in seen:
                raise self._fail(where, f"{brief(text)} is there twice")
            seen.add(text)

    def _check_merges(self, pool: Tokens, merged: NDArray[np.int64], size: int) -> None:
        """Every merge has its rank, and joins two tokens, which are shorter then."""
        ranks, parents = pool.ranks[merged], pool.parents[merged]

        def fail(row: int, field: str, problem: str) -> InputError:
            return self._fail(f"{self._place(int(merged[row]), size)}.{field}", problem)

        ordered = np.sort(ranks)
        if (ordered[1:] == ordered[:-1]).any():
            first = np.unique(ranks, return_index=True)[1]
            row = int(np.setdiff1d(np.arange(len(ranks)), first)[0])
            raise fail(row, "rank", f"{ranks[row]} is there twice")
        for row, side in np.argwhere(parents >= len(pool))[:1]:
            raise fail(row, "parents", f"there is no token {parents[row, side]}")
        for row, side in np.argwhere(~pool.are("character", "merged")[parents])[:1]:
            raise fail(row, "parents", f"token {parents[row, side]} does not merge")
        other = _core.find_unjoined(*pool.packed, pool.parents.ravel())
        if other < len(pool):
            row = int(np.searchsorted(merged, other))
            raise fail(row, "text", f"{brief(pool.texts[other])} is not its parents joined")

    @staticmethod
    def _place(number: int, size: int) -> str:
        return f"tokens[{number}]" if number < size else f"hidden[{number - size}]"

    def _check_single(
        self, vocabulary: Vocabulary, marks: Marks, text: str, kind: Kind, number: int
    ) -> None:
        """A token that is not merged from others."""
        if kind not in SPELLED:
            if number >= len(vocabulary):
                raise self._fail(f"{self._place(number, len(vocabulary))}.kind", f"a hidden {kind}")
            return
        where = self._place(number, len(vocabulary))
        if kind == "piece" and vocabulary.look_up is None and not vocabulary.whole_words:
            raise self._fail(f"{where}.kind", f"no pieces in {vocabulary.encoding}")
        if kind == "character" and not marks.is_character(text):
            raise self._fail(f"{where}.text", f"{brief(text)} is not a character")
        if not marks.is_spelled(text):
            raise self._fail(f"{where}.text", f"{brief(text)} is not written in byte letters")


def _columns(rows: list[dict[str, Any]], start: int, scored: bool) -> Tokens:
    """The columns of rows as volt writes them; any others are an error."""
    if not rows:
        return Tokens.of(())
    texts = _column(rows, "text", str)
    if not is_text("".join(texts)):
        raise ValueError
    kinds = kind_numbers(_column(rows, "kind", str))
    numbers = np.array(_column(rows, "id", int), np.int64)
    frequencies = np.array(_column(rows, "frequency", int), np.int64)
    merged = np.flatnonzero(kinds == KINDS.index("merged"))
    joins = [rows[i] for i in merged.tolist()]
    both = _column(joins, "parents", list)
    pairs = np.array(_all_of(list(chain.from_iterable(both)), int), np.int64)
    ranks = np.full(len(rows), -1, np.int64)
    parents = np.full((len(rows), 2), NO_TOKEN, np.int64)
    ranks[merged] = _column(joins, "rank", int)
    parents[merged] = pairs.reshape(len(both), 2)
    scaffolds = np.array(_all_of([row.get("scaffold", False) for row in rows], bool))
    scores = np.zeros(len(rows))
    spelled = np.flatnonzero(np.isin(kinds, kind_numbers(SPELLED))) if scored else np.array([], int)
    scores[spelled] = _column([rows[i] for i in spelled.tolist()], "score", float)
    # A row with other fields must not go unnoticed.
    named = sum("scaffold" in row for row in rows)
    fields = 4 * len(rows) + 2 * len(merged) + len(spelled) + named
    least = min(frequencies.min(), ranks[merged].min(initial=0), pairs.min(initial=0))
    if (
        sum(map(len, rows)) != fields
        or least < 0
        or set(map(len, both)) - {2}
        or not np.array_equal(numbers, np.arange(start, start + len(rows)))
        or not (np.abs(scores) <= HIGHEST_SCORE).all()
    ):
        raise ValueError
    return Tokens(texts, kinds, parents, ranks, scaffolds, frequencies, scores)


def _column(rows: list[dict[str, Any]], key: str, kind: type) -> list[Any]:
    return _all_of([row[key] for row in rows], kind)


def _all_of(values: list[Any], kind: type) -> list[Any]:
    if set(map(type, values)) - {kind}:
        raise TypeError
    return values
