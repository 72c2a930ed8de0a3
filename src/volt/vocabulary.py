"""Vocabulary: the tokens, how text is encoded with them, and the file `volt.json`.

Tokens are numbered: special tokens, user symbols, the 256 byte tokens (if unknown characters are
spelled in bytes), characters by code point, then merged tokens in the order they merge.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from volt._version import __version__
from volt.candidates import BYTE_LETTERS, UNKNOWN, WORD_FINAL, Candidates
from volt.corpus import Normalization
from volt.counts import Pretokenizer, WordRule, check_choice
from volt.errors import InputError, SettingsError
from volt.files import atomic_write

FORMAT = 1
MOST_TOKENS = 10_000_000
MOST_BYTES = 2_000_000_000
DEFAULT_SPECIAL = ("<pad>", "<s>", "</s>", UNKNOWN)

Kind = Literal["special", "symbol", "byte", "character", "merged"]
Encoding = Literal["merge", "split"]
MergeRule = Literal["pairs", "concat"]
Unknown = Literal["byte", "unk"]

NATIVE_RULE: dict[Pretokenizer, MergeRule] = {
    "whitespace": "pairs",
    "metaspace": "concat",
    "byte-level": "pairs",
}
"""The merge rule of the toolkit that each pre-tokenizer mirrors (METHOD 6)."""


@dataclass(frozen=True)
class Token:
    """One token. A merged token joins two others, `parents`, which come before it; `rank` orders
    the merges. A scaffold was not chosen itself, others are made from it."""

    text: str
    kind: Kind
    parents: tuple[int, int] | None = None
    rank: int = -1
    scaffold: bool = False
    frequency: int = 0


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens by id, and all that is needed to encode and decode with them.

    Under the `split` encoding some merges go through tokens that are not in the vocabulary; these
    are in `hidden`, numbered on from the last id, and never come out of the encoder.
    """

    rule: WordRule
    tokens: list[Token] = field(repr=False)
    hidden: list[Token] = field(default_factory=list, repr=False)
    encoding: Encoding = "merge"
    merge_rule: MergeRule = "concat"
    unknown: Unknown = "byte"
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
    def ids(self) -> dict[str, int]:
        """Token text to id."""
        return {token.text: i for i, token in enumerate(self.tokens)}

    @property
    def texts(self) -> list[str]:
        return [token.text for token in self.tokens]

    @property
    def pool(self) -> list[Token]:
        """Everything that takes part in merging: the tokens, then the hidden ones."""
        return [*self.tokens, *self.hidden]

    def of_kind(self, kind: Kind) -> list[str]:
        return [token.text for token in self.tokens if token.kind == kind]

    @property
    def scaffolds(self) -> int:
        return sum(token.scaffold for token in self.tokens)

    @property
    def unknown_id(self) -> int | None:
        return self.ids.get(UNKNOWN) if self.unknown == "unk" else None

    def plain_text(self, token: Token) -> bytes:
        """The bytes of text that a character or merged token stands for; its mark is none."""
        if self.rule.pretokenizer == "byte-level":
            return token.text.translate(LETTER_BYTES).encode("latin-1")
        text = token.text
        if self.rule.pretokenizer == "metaspace":
            # U+2581 is in no token but as the mark of a space, which is text.
            text = text.replace("▁", " ")
        elif text.endswith(WORD_FINAL):
            text = text[: -len(WORD_FINAL)]
        return text.encode()

    def with_frequencies(self, frequencies: Sequence[int]) -> Vocabulary:
        tokens = [
            replace(token, frequency=int(f))
            for token, f in zip(self.tokens, frequencies, strict=True)
        ]
        return replace(self, tokens=tokens)

    # ------------------------------------------------------------------------------ save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `volt.json`; the same vocabulary gives the same bytes."""
        with atomic_write(path) as stream:
            stream.write(self.to_json().encode())

    def to_json(self) -> str:
        """JSON with a token a line, for people and for diff."""
        head = {
            "format": FORMAT,
            "volt": __version__,
            "signature": self.signature,
            **asdict(self.rule),
            "encoding": self.encoding,
            "merge_rule": self.merge_rule,
            "unknown": self.unknown,
            "unit": self.unit,
            "size": len(self),
            "unreachable": self.unreachable,
        }
        lines = [f"{_dump(name)}: {_dump(value)}" for name, value in head.items()]
        rows = {
            "tokens": [_token_row(i, token) for i, token in enumerate(self.tokens)],
            "hidden": [_token_row(i, token) for i, token in enumerate(self.hidden, len(self))],
            "self_test": [{"text": text, "ids": ids} for text, ids in self.self_test],
        }
        for name, items in rows.items():
            inner = ",\n".join(_dump(item) for item in items)
            lines.append(f"{_dump(name)}: [\n{inner}\n]" if items else f"{_dump(name)}: []")
        return "{\n" + ",\n".join(lines) + "\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _token_row(number: int, token: Token) -> dict[str, Any]:
    row: dict[str, Any] = {"id": number, "text": token.text, "kind": token.kind}
    if token.parents is not None:
        row |= {"parents": list(token.parents), "rank": token.rank}
    if token.scaffold:
        row["scaffold"] = True
    return row | {"frequency": token.frequency}


# -------------------------------------------------------------------------------------------- build


def build_vocabulary(
    candidates: Candidates,
    chosen: Iterable[int],
    *,
    encoding: Encoding = "merge",
    merge_rule: MergeRule | None = None,
    unknown: Unknown | None = None,
    special: Sequence[str] = DEFAULT_SPECIAL,
    symbols: Sequence[str] = (),
) -> Vocabulary:
    """Make a vocabulary of chosen candidates (by their ids) and the whole alphabet.

    `merge` takes in the parents of every token, and theirs, as scaffolds. `split` hides them, and
    with them every merge up to the last that was chosen: a merge takes its parts away from others,
    so without it text would be cut elsewhere than push-down has it (METHOD 6).
    """
    pretokenizer = candidates.rule.pretokenizer
    merge_rule = merge_rule or NATIVE_RULE[pretokenizer]
    unknown = unknown or ("unk" if pretokenizer == "whitespace" else "byte")
    check_choice("encoding", encoding, get_args(Encoding))
    check_choice("merge_rule", merge_rule, get_args(MergeRule))
    check_choice("unknown", unknown, get_args(Unknown))
    if unknown == "byte" and pretokenizer == "whitespace":
        raise SettingsError("byte tokens need metaspace or byte-level text; use --unknown unk")
    if pretokenizer == "byte-level" and unknown == "unk":
        raise SettingsError("byte-level knows every character; leave --unknown out")
    if unknown == "unk" and UNKNOWN not in special:
        raise SettingsError(f"--unknown unk needs {UNKNOWN} among the special tokens")

    kept = np.zeros(len(candidates), bool)
    kept[: candidates.alphabet_size] = True
    kept[np.fromiter(chosen, np.int64)] = True
    if candidates.unknown is not None:
        kept[candidates.unknown] = False
    needed = closure(candidates, kept)
    if encoding == "split":
        last = np.flatnonzero(kept)[-1] if kept.any() else -1
        needed[candidates.alphabet_size : last + 1] = True

    tokens = [Token(text, "special") for text in special]
    tokens += [Token(text, "symbol") for text in symbols]
    if unknown == "byte" and pretokenizer != "byte-level":
        tokens += [Token(f"<0x{byte:02X}>", "byte") for byte in range(256)]
    visible = np.flatnonzero(needed if encoding == "merge" else kept)
    hidden = np.flatnonzero(needed & ~kept) if encoding == "split" else np.array([], np.int64)
    number_of = np.full(len(candidates), -1, np.int64)
    number_of[visible] = len(tokens) + np.arange(len(visible))
    number_of[hidden] = len(tokens) + len(visible) + np.arange(len(hidden))

    parents, rank = candidates.parents, candidates.rank

    def token_of(candidate: int) -> Token:
        if rank[candidate] < 0:
            return Token(candidates.tokens[candidate], "character")
        left, right = number_of[parents[candidate]].tolist()
        return Token(candidates.tokens[candidate], "merged", (left, right), int(rank[candidate]),
                     scaffold=not kept[candidate])  # fmt: skip

    tokens += [token_of(candidate) for candidate in visible.tolist()]
    hidden_tokens = [token_of(candidate) for candidate in hidden.tolist()]
    _check_unique([token.text for token in (*tokens, *hidden_tokens)])
    return Vocabulary(
        rule=candidates.rule,
        tokens=tokens,
        hidden=hidden_tokens,
        encoding=encoding,
        merge_rule=merge_rule,
        unknown=unknown,
        unit=candidates.unit,
    )


def closure(candidates: Candidates, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The kept tokens with all they are made from. One pass: parents come before children."""
    needed = kept.tolist()
    start = candidates.alphabet_size
    merges = list(zip(candidates.left.tolist(), candidates.right.tolist(), strict=True))
    for token in range(len(candidates) - 1, start - 1, -1):
        if needed[token]:
            left, right = merges[token - start]
            needed[left] = needed[right] = True
    return np.array(needed, bool)


def _check_unique(texts: list[str]) -> None:
    seen: set[str] = set()
    for text in texts:
        if not text:
            raise SettingsError("a special token or symbol is empty")
        if not _is_text(text):
            raise SettingsError(f"the special token or symbol {text!r} has a lone surrogate")
        if text in seen:
            raise SettingsError(
                f"two tokens are both {text!r}: choose another name for the special token or symbol"
            )
        seen.add(text)


LETTER_BYTES = {letter: byte for byte, letter in BYTE_LETTERS.items()}


# --------------------------------------------------------------------------------------------- load


def load_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a folder's `volt.json`, or the file itself. The file is not trusted."""
    file = Path(path)
    if file.is_dir():
        file = file / "volt.json"
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError(f"{file}: larger than {MOST_BYTES:,} bytes")
        data = json.loads(file.read_bytes().decode())
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not a vocabulary: {error}") from None
    return _Reader(str(file), data).vocabulary()


class _Reader:
    """Checks every field of a parsed `volt.json`; a problem names the field."""

    def __init__(self, name: str, data: Any) -> None:
        self._name = name
        self._data = data

    def _fail(self, where: str, problem: str) -> InputError:
        return InputError(f"{self._name}: {where}: {problem}")

    def _get(self, where: str, data: Any, key: str, kind: type, default: Any = None) -> Any:
        if not isinstance(data, dict):
            raise self._fail(where or "the file", "not an object")
        place = f"{where}.{key}" if where else key
        if key not in data:
            if default is not None:
                return default
            raise self._fail(place, "missing")
        value = data[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self._fail(place, f"{_brief(value)} is no {kind.__name__}")
        if kind is int and not 0 <= cast(int, value) < 1 << 63:
            raise self._fail(place, f"{_brief(value)} is out of range")
        if kind is str and not _is_text(cast(str, value)):
            raise self._fail(place, "a lone surrogate is no text")
        return value

    def _choice(self, key: str, choices: tuple[str, ...]) -> Any:
        value = self._get("", self._data, key, str)
        if value not in choices:
            raise self._fail(key, f"{_brief(value)} is none of {', '.join(choices)}")
        return value

    def vocabulary(self) -> Vocabulary:
        version = self._get("", self._data, "format", int)
        if version != FORMAT:
            raise self._fail("format", f"{version}; this volt reads {FORMAT}")
        rule = WordRule(
            pretokenizer=self._choice("pretokenizer", get_args(Pretokenizer)),
            normalize=self._choice("normalize", get_args(Normalization)),
            max_word_length=self._get("", self._data, "max_word_length", int),
            unicode=self._get("", self._data, "unicode", str),
        )
        size = self._get("", self._data, "size", int)
        rows = self._get("", self._data, "tokens", list)
        hidden_rows = self._get("", self._data, "hidden", list)
        if size != len(rows):
            raise self._fail("size", f"{size}, but there are {len(rows)} tokens")
        if len(rows) + len(hidden_rows) > MOST_TOKENS:
            raise self._fail("tokens", f"more than {MOST_TOKENS:,}")
        pool = [
            self._token(f"tokens[{i}]", row, i) for i, row in enumerate(rows)
        ] + [
            self._token(f"hidden[{i}]", row, size + i) for i, row in enumerate(hidden_rows)
        ]  # fmt: skip
        vocabulary = Vocabulary(
            rule=rule,
            tokens=pool[:size],
            hidden=pool[size:],
            encoding=self._choice("encoding", get_args(Encoding)),
            merge_rule=self._choice("merge_rule", get_args(MergeRule)),
            unknown=self._choice("unknown", get_args(Unknown)),
            unit=self._get("", self._data, "unit", int),
            unreachable=self._ids(
                "unreachable", self._get("", self._data, "unreachable", list), size
            ),
            signature=self._get("", self._data, "signature", str),
            self_test=self._self_test(size),
        )
        self._check(vocabulary, pool)
        return vocabulary

    def _token(self, where: str, row: Any, number: int) -> Token:
        if self._get(where, row, "id", int) != number:
            raise self._fail(f"{where}.id", f"{row['id']} where {number} comes next")
        text = self._get(where, row, "text", str)
        kind = self._get(where, row, "kind", str)
        if kind not in get_args(Kind):
            raise self._fail(f"{where}.kind", f"{_brief(kind)} is no kind of token")
        parents: tuple[int, int] | None = None
        rank = -1
        if kind == "merged":
            both = self._get(where, row, "parents", list)
            if len(both) != 2 or not all(type(p) is int and p >= 0 for p in both):
                raise self._fail(f"{where}.parents", f"{_brief(both)} are no two tokens")
            parents = (both[0], both[1])
            rank = self._get(where, row, "rank", int)
        elif "parents" in row or "rank" in row:
            raise self._fail(where, f"a {kind} token with parents or a rank")
        scaffold = "scaffold" in row and self._get(where, row, "scaffold", bool)
        frequency = self._get(where, row, "frequency", int)
        return Token(text, cast(Kind, kind), parents, rank, scaffold, frequency)

    def _ids(self, where: str, ids: list[Any], size: int) -> list[int]:
        if not all(type(i) is int and 0 <= i < size for i in ids):
            raise self._fail(where, "an id that is no token")
        return cast(list[int], ids)

    def _self_test(self, size: int) -> list[tuple[str, list[int]]]:
        samples = self._get("", self._data, "self_test", list)
        found: list[tuple[str, list[int]]] = []
        for i, sample in enumerate(samples):
            where = f"self_test[{i}]"
            text = self._get(where, sample, "text", str)
            ids = self._ids(f"{where}.ids", self._get(where, sample, "ids", list), size)
            found.append((text, ids))
        return found

    def _check(self, vocabulary: Vocabulary, pool: list[Token]) -> None:
        """What must hold between the tokens."""
        size = len(vocabulary)
        texts: set[str] = set()
        ranks: set[int] = set()
        for i, token in enumerate(pool):
            where = f"tokens[{i}]" if i < size else f"hidden[{i - size}]"
            if not token.text:
                raise self._fail(f"{where}.text", "empty")
            if token.text in texts:
                raise self._fail(f"{where}.text", f"{_brief(token.text)} is there twice")
            texts.add(token.text)
            if token.kind in ("special", "symbol", "byte"):
                if i >= size:
                    raise self._fail(f"{where}.kind", f"a hidden {token.kind} token")
                continue
            if token.parents is None:
                if not _is_character(vocabulary.rule, token.text):
                    raise self._fail(f"{where}.text", f"{_brief(token.text)} is no character")
                continue
            if token.rank in ranks:
                raise self._fail(f"{where}.rank", f"{token.rank} is there twice")
            ranks.add(token.rank)
            for parent in token.parents:
                if parent >= len(pool):
                    raise self._fail(f"{where}.parents", f"there is no token {parent}")
                above = pool[parent]
                if above.kind not in ("character", "merged") or above.rank >= token.rank:
                    raise self._fail(f"{where}.parents", f"token {parent} does not come before it")
            left, right = (pool[parent].text for parent in token.parents)
            if left + right != token.text:
                raise self._fail(f"{where}.text", f"{_brief(token.text)} is not its parents joined")
        if vocabulary.hidden and vocabulary.encoding == "merge":
            raise self._fail("hidden", "only the split encoding has hidden tokens")
        if vocabulary.unit < 1:
            raise self._fail("unit", "at least 1")
        byte_tokens = vocabulary.of_kind("byte")
        spelled = vocabulary.unknown == "byte" and vocabulary.rule.pretokenizer != "byte-level"
        expected = [f"<0x{byte:02X}>" for byte in range(256)] if spelled else []
        if byte_tokens != expected:
            raise self._fail("tokens", f"{len(byte_tokens)} byte tokens, {len(expected)} expected")
        if vocabulary.unknown == "unk" and UNKNOWN not in vocabulary.of_kind("special"):
            raise self._fail("unknown", f"unk, but there is no special token {UNKNOWN}")
        if vocabulary.rule.pretokenizer == "byte-level":
            letters = set(vocabulary.of_kind("character"))
            if len(letters) != 256:
                raise self._fail("tokens", "byte-level needs all 256 byte characters")


def _is_character(rule: WordRule, text: str) -> bool:
    if rule.pretokenizer == "byte-level":
        return len(text) == 1 and ord(text) in LETTER_BYTES
    if rule.pretokenizer == "whitespace" and len(text) > 1:
        return len(text) == 1 + len(WORD_FINAL) and text.endswith(WORD_FINAL)
    return len(text) == 1


def _is_text(text: str) -> bool:
    """Whether it can be written: no lone surrogates."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
