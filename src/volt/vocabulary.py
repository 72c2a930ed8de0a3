"""Vocabulary: the tokens, how text is encoded with them, and the file `volt.json`.

Tokens are numbered: special tokens, user symbols, the 256 byte tokens (if unknown characters are
spelled in bytes), characters by code point, then merged tokens in the order they merge.

The encodings `merge` and `split` merge characters. `longest` and `unigram` look tokens up in a
word: their longer tokens are pieces, without parents. `longest` takes the longest token again and
again (WordPiece), `unigram` the tokens with the highest sum of scores.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._version import __version__
from volt.candidates import BYTE_LETTERS, UNKNOWN, WORD_FINAL, Candidates
from volt.corpus import Normalization
from volt.counts import Pretokenizer, WordRule, check_choice
from volt.errors import InputError, SettingsError
from volt.files import atomic_write
from volt.normalizers import Normalizer, read_normalizer

FORMAT = 1
LOOK_UP_FORMAT = 2
"""Of vocabularies that volt 0.1 knew nothing of: those that look tokens up, and those with another
unknown token, or one for a run of unknown characters."""
NORMALIZER_FORMAT = 3
"""Of vocabularies with a normaliser, or that merge up to the next space."""
MOST_TOKENS = 10_000_000
MOST_BYTES = 2_000_000_000
DEFAULT_SPECIAL = ("<pad>", "<s>", "</s>", UNKNOWN)

Kind = Literal["special", "symbol", "byte", "character", "merged", "piece"]
SPELLED: tuple[Kind, ...] = ("character", "merged", "piece")
"""The kinds of token that stand for text of their own."""
Encoding = Literal["merge", "split", "longest", "unigram"]
MergeEncoding = Literal["merge", "split"]
MergeRule = Literal["pairs", "concat"]
Unknown = Literal["byte", "unk"]
WordEnds = Literal["kinds", "spaces"]

NATIVE_RULE: dict[Pretokenizer, MergeRule] = {
    "whitespace": "pairs",
    "metaspace": "concat",
    "byte-level": "pairs",
}
"""The merge rule of the toolkit that each pre-tokenizer mirrors (METHOD 6)."""


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


class Token(NamedTuple):
    """One token. A merged token joins two others, `parents`, which come before it; `rank` orders
    the merges. A scaffold was not chosen itself, others are made from it. Only the `unigram`
    encoding has scores.

    A tuple: there are very many, and a frozen dataclass takes five times as long to make."""

    text: str
    kind: Kind
    parents: tuple[int, int] | None = None
    rank: int = -1
    scaffold: bool = False
    frequency: int = 0
    score: float = 0.0


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
    unknown_token: str = UNKNOWN
    fuse_unknown: bool = False
    """A run of unknown characters is one unknown token, not one each."""
    look_up: LookUp | None = None
    """Of the encodings `longest` and `unigram`."""
    word_ends: WordEnds = "kinds"
    """Metaspace text, merges: a word ends where letters, numbers and all else meet, or only before
    the next space. Only an imported vocabulary has tokens that span two kinds."""
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
        return self.ids.get(self.unknown_token) if self.unknown == "unk" else None

    def plain_text(self, token: Token) -> bytes:
        """The bytes of text that a character or merged token stands for; its mark is none."""
        if self.rule.pretokenizer == "byte-level":
            return token.text.translate(LETTER_BYTES).encode("latin-1")
        text = token.text
        if self.rule.pretokenizer == "metaspace":
            # U+2581 is in no token but as the mark of a space, which is text.
            text = text.replace("▁", " ")
        elif self.look_up is not None and self.look_up.mark:
            text = text.removeprefix(self.look_up.mark)
        elif text.endswith(WORD_FINAL):
            text = text[: -len(WORD_FINAL)]
        return text.encode()

    def with_frequencies(self, frequencies: Sequence[int]) -> Vocabulary:
        tokens = [
            Token(text, kind, parents, rank, scaffold, int(f), score)
            for (text, kind, parents, rank, scaffold, _, score), f in zip(
                self.tokens, frequencies, strict=True
            )
        ]
        return replace(self, tokens=tokens)

    # ------------------------------------------------------------------------------ save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `volt.json`; the same vocabulary gives the same bytes."""
        with atomic_write(path) as stream:
            stream.write(self.to_json().encode())

    def to_json(self) -> str:
        """JSON with a token a line, for people and for diff."""
        look_up: dict[str, Any] = {}
        if self.look_up is not None:
            look_up["look_up"] = asdict(self.look_up)
        if self.unknown_token != UNKNOWN or self.fuse_unknown:
            look_up |= {"unknown_token": self.unknown_token, "fuse_unknown": self.fuse_unknown}
        normalizer: dict[str, Any] = {}
        if self.word_ends != "kinds":
            normalizer["word_ends"] = self.word_ends
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
        lines = [f"{_dump(name)}: {_dump(value)}" for name, value in head.items()]
        scored = self.encoding == "unigram"
        rows = {
            "tokens": [_token_row(i, token, scored) for i, token in enumerate(self.tokens)],
            "hidden": [_token_row(i, token) for i, token in enumerate(self.hidden, len(self))],
            "self_test": [_dump({"text": text, "ids": ids}) for text, ids in self.self_test],
        }
        for name, items in rows.items():
            inner = ",\n".join(items)
            lines.append(f"{_dump(name)}: [\n{inner}\n]" if items else f"{_dump(name)}: []")
        return "{\n" + ",\n".join(lines) + "\n}\n"


_dump = json.JSONEncoder(ensure_ascii=False).encode
_quote = json.encoder.encode_basestring


def _token_row(number: int, token: Token, scored: bool = False) -> str:
    """The token as a JSON object."""
    text, kind, parents, rank, scaffold, frequency, score = token
    row = f'{{"id": {number}, "text": {_quote(text)}, "kind": "{kind}"'
    if parents is not None:
        row += f', "parents": [{parents[0]}, {parents[1]}], "rank": {rank}'
    if scored and kind in SPELLED:
        row += f', "score": {_dump(score)}'
    if scaffold:
        row += ', "scaffold": true'
    return f'{row}, "frequency": {frequency}}}'


# -------------------------------------------------------------------------------------------- build


def build_vocabulary(
    candidates: Candidates,
    chosen: Iterable[int],
    *,
    encoding: MergeEncoding = "merge",
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
    check_choice("encoding", encoding, get_args(MergeEncoding))
    check_choice("merge_rule", merge_rule, get_args(MergeRule))
    unknown = resolve_unknown(pretokenizer, unknown, special)

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
    tokens += spelled_bytes(pretokenizer, unknown)
    visible = np.flatnonzero(needed if encoding == "merge" else kept)
    hidden = np.flatnonzero(needed & ~kept) if encoding == "split" else np.array([], np.int64)
    number_of = np.full(len(candidates), -1, np.int64)
    number_of[visible] = len(tokens) + np.arange(len(visible))
    number_of[hidden] = len(tokens) + len(visible) + np.arange(len(hidden))

    def tokens_of(chosen: NDArray[np.int64]) -> list[Token]:
        texts = [candidates.tokens[candidate] for candidate in chosen.tolist()]
        parents = number_of[candidates.parents[chosen]].tolist()
        ranks = candidates.rank[chosen].tolist()
        return [
            Token(text, "character") if rank < 0
            else Token(text, "merged", (left, right), rank, not is_kept)
            for text, (left, right), rank, is_kept in zip(
                texts, parents, ranks, kept[chosen].tolist(), strict=True
            )
        ]  # fmt: skip

    tokens += tokens_of(visible)
    hidden_tokens = tokens_of(hidden)
    check_unique([token.text for token in (*tokens, *hidden_tokens)])
    return Vocabulary(
        rule=candidates.rule,
        tokens=tokens,
        hidden=hidden_tokens,
        encoding=encoding,
        merge_rule=merge_rule,
        unknown=unknown,
        unit=candidates.unit,
    )


def resolve_unknown(
    pretokenizer: Pretokenizer, unknown: Unknown | None, special: Sequence[str]
) -> Unknown:
    """What becomes of characters outside the vocabulary, if that can be."""
    unknown = unknown or ("unk" if pretokenizer == "whitespace" else "byte")
    check_choice("unknown", unknown, get_args(Unknown))
    if unknown == "byte" and pretokenizer == "whitespace":
        raise SettingsError("byte tokens need metaspace or byte-level text; use --unknown unk")
    if pretokenizer == "byte-level" and unknown == "unk":
        raise SettingsError("byte-level knows every character; leave --unknown out")
    if unknown == "unk" and UNKNOWN not in special:
        raise SettingsError(f"--unknown unk needs {UNKNOWN} among the special tokens")
    return unknown


def spelled_bytes(pretokenizer: Pretokenizer, unknown: Unknown) -> list[Token]:
    """The byte tokens, if unknown characters are spelled in bytes."""
    needed = unknown == "byte" and pretokenizer != "byte-level"
    return [Token(f"<0x{byte:02X}>", "byte") for byte in range(256)] if needed else []


def closure(candidates: Candidates, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The kept tokens with all they are made from. One pass: parents come before children."""
    needed = kept.astype(np.uint8)
    _core.closure(candidates.left, candidates.right, needed)
    return needed.astype(bool)


def check_unique(texts: list[str]) -> None:
    if len(set(texts)) == len(texts) and "" not in texts and _is_text("".join(texts)):
        return
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
        with _no_garbage():
            data = json.loads(file.read_bytes().decode())
            return _Reader(str(file), data).vocabulary()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not a vocabulary: {error}") from None


@contextmanager
def _no_garbage() -> Iterator[None]:
    """While very many objects are made that stay, the collector would look at all of them again and
    again: a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
        if not FORMAT <= version <= NORMALIZER_FORMAT:
            raise self._fail("format", f"{version}; this volt reads up to {NORMALIZER_FORMAT}")
        for key in ("word_ends", "normalizer"):
            if key in self._data and version < NORMALIZER_FORMAT:
                raise self._fail(key, f"not in format {version}")
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
        encoding = self._choice(
            "encoding", get_args(Encoding if version > FORMAT else MergeEncoding)
        )
        scored = encoding == "unigram"
        pool = [
            *(self._token("tokens", i, row, i, scored) for i, row in enumerate(rows)),
            *(self._token("hidden", i, row, size + i) for i, row in enumerate(hidden_rows)),
        ]
        vocabulary = Vocabulary(
            rule=rule,
            tokens=pool[:size],
            hidden=pool[size:],
            encoding=encoding,
            merge_rule=self._choice("merge_rule", get_args(MergeRule)),
            unknown=self._choice("unknown", get_args(Unknown)),
            unknown_token=self._get("", self._data, "unknown_token", str, UNKNOWN),
            fuse_unknown=self._flag("fuse_unknown"),
            look_up=None if encoding in get_args(MergeEncoding) else self._look_up(),
            word_ends=self._word_ends(),
            normalizer=self._normalizer(rule),
            unit=self._get("", self._data, "unit", int),
            unreachable=self._ids(
                "unreachable", self._get("", self._data, "unreachable", list), size
            ),
            signature=self._get("", self._data, "signature", str),
            self_test=self._self_test(size),
        )
        self._check(vocabulary, pool)
        return vocabulary

    def _flag(self, key: str) -> bool:
        return key in self._data and bool(self._get("", self._data, key, bool))

    def _word_ends(self) -> WordEnds:
        if "word_ends" not in self._data:
            return "kinds"
        return cast(WordEnds, self._choice("word_ends", get_args(WordEnds)))

    def _normalizer(self, rule: WordRule) -> Normalizer | None:
        if "normalizer" not in self._data:
            return None
        try:
            found = read_normalizer(self._data["normalizer"])
        except InputError as error:
            raise InputError(f"{self._name}: {error}") from None
        if rule != replace(rule, pretokenizer=found.pretokenizer, normalize="none"):
            raise self._fail("normalizer", f"is for {found.pretokenizer} text, not normalised else")
        return found

    def _look_up(self) -> LookUp:
        data = self._get("", self._data, "look_up", dict)
        choices = {"mark": ("", "##"), "arithmetic": ("float64", "float32"),
                   "restart": ("space", "text")}  # fmt: skip
        chosen: dict[str, Any] = {}
        for key, allowed in choices.items():
            chosen[key] = self._get("look_up", data, key, str)
            if chosen[key] not in allowed:
                raise self._fail(f"look_up.{key}", f"{_brief(chosen[key])} is none of {allowed}")
        return LookUp(
            **chosen,
            longest_word=self._get("look_up", data, "longest_word", int),
            unknown_score=self._score("look_up", data, "unknown_score"),
        )

    def _score(self, where: str, data: dict[str, Any], key: str) -> float:
        value = self._get(where, data, key, float)
        if not -HIGHEST_SCORE <= value <= HIGHEST_SCORE:  # nor is NaN
            raise self._fail(f"{where}.{key}", f"{_brief(value)} is no score")
        return float(value)

    def _token(self, name: str, index: int, row: Any, number: int, scored: bool = False) -> Token:
        # Most of the time of a load goes by here: look at what is right first, and only then for
        # what is wrong.
        if (
            type(row) is dict
            and len(row) == 6
            and row.get("kind") == "merged"
            and type(text := row.get("text")) is str
            and (text.isascii() or _is_text(text))
            and type(row.get("id")) is int
            and row["id"] == number
            and type(parents := row.get("parents")) is list
            and len(parents) == 2
            and type(parents[0]) is int
            and type(parents[1]) is int
            and parents[0] >= 0
            and parents[1] >= 0
            and type(rank := row.get("rank")) is int
            and type(frequency := row.get("frequency")) is int
            and 0 <= rank < 1 << 63
            and 0 <= frequency < 1 << 63
        ):
            return Token(text, "merged", (parents[0], parents[1]), rank, False, frequency)
        return self._any_token(f"{name}[{index}]", row, number, scored)

    def _any_token(self, where: str, row: Any, number: int, scored: bool) -> Token:
        if self._get(where, row, "id", int) != number:
            raise self._fail(f"{where}.id", f"{row['id']} where {number} comes next")
        text = self._get(where, row, "text", str)
        kind = self._get(where, row, "kind", str)
        if kind not in KINDS:
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
        score = 0.0
        if scored and kind in SPELLED:
            score = self._score(where, row, "score")
        elif "score" in row:
            raise self._fail(f"{where}.score", "only tokens of the unigram encoding have one")
        scaffold = "scaffold" in row and self._get(where, row, "scaffold", bool)
        frequency = self._get(where, row, "frequency", int)
        return Token(text, cast(Kind, kind), parents, rank, scaffold, frequency, score)

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
        merges = vocabulary.look_up is None
        for i, token in enumerate(pool):
            if not token.text:
                raise self._fail(f"{self._place(i, size)}.text", "empty")
            if token.text in texts:
                where = self._place(i, size)
                raise self._fail(f"{where}.text", f"{_brief(token.text)} is there twice")
            texts.add(token.text)
            if token.parents is None:
                self._check_single(vocabulary, token, i)
                continue
            if not merges:
                where = self._place(i, size)
                raise self._fail(f"{where}.kind", f"no merged tokens in {vocabulary.encoding}")
            if token.rank in ranks:
                where = self._place(i, size)
                raise self._fail(f"{where}.rank", f"{token.rank} is there twice")
            ranks.add(token.rank)
            for parent in token.parents:
                if parent >= len(pool):
                    where = self._place(i, size)
                    raise self._fail(f"{where}.parents", f"there is no token {parent}")
                above = pool[parent]
                if above.kind not in ("character", "merged") or above.rank >= token.rank:
                    where = self._place(i, size)
                    raise self._fail(f"{where}.parents", f"token {parent} does not come before it")
            left, right = token.parents
            if pool[left].text + pool[right].text != token.text:
                where = self._place(i, size)
                raise self._fail(f"{where}.text", f"{_brief(token.text)} is not its parents joined")
        if vocabulary.hidden and vocabulary.encoding != "split":
            raise self._fail("hidden", "only the split encoding has hidden tokens")
        if vocabulary.unit < 1:
            raise self._fail("unit", "at least 1")
        byte_tokens = vocabulary.of_kind("byte")
        spelled = vocabulary.unknown == "byte" and vocabulary.rule.pretokenizer != "byte-level"
        expected = [f"<0x{byte:02X}>" for byte in range(256)] if spelled else []
        if byte_tokens != expected:
            raise self._fail("tokens", f"{len(byte_tokens)} byte tokens, {len(expected)} expected")
        name = vocabulary.unknown_token
        if vocabulary.unknown == "unk" and name not in vocabulary.of_kind("special"):
            raise self._fail("unknown", f"unk, but there is no special token {_brief(name)}")
        look_up = vocabulary.look_up
        if look_up is not None:
            words = vocabulary.rule.pretokenizer
            if look_up.mark and (words, vocabulary.encoding) != ("whitespace", "longest"):
                raise self._fail("look_up.mark", "only in whitespace mode, by the longest token")
            if look_up.longest_word and vocabulary.unknown_id is None:
                raise self._fail("look_up.longest_word", "needs a token for unknown words")
        spaced = vocabulary.rule.pretokenizer == "metaspace"
        if vocabulary.fuse_unknown and spaced and "▁" not in vocabulary.ids:
            raise self._fail("fuse_unknown", "the space `▁` has to be known")
        if vocabulary.rule.pretokenizer == "byte-level":
            letters = set(vocabulary.of_kind("character"))
            if len(letters) != 256:
                raise self._fail("tokens", "byte-level needs all 256 byte characters")

    @staticmethod
    def _place(number: int, size: int) -> str:
        return f"tokens[{number}]" if number < size else f"hidden[{number - size}]"

    def _check_single(self, vocabulary: Vocabulary, token: Token, number: int) -> None:
        """A token that is not merged from others."""
        where = self._place(number, len(vocabulary))
        if token.kind in ("special", "symbol", "byte"):
            if number >= len(vocabulary):
                raise self._fail(f"{where}.kind", f"a hidden {token.kind} token")
            return
        mark = ""
        if vocabulary.look_up is not None:
            mark = vocabulary.look_up.mark
            if mark and token.text == mark:
                raise self._fail(f"{where}.text", f"{mark} without text")
        elif token.kind == "piece":
            raise self._fail(f"{where}.kind", f"no pieces in {vocabulary.encoding}")
        if token.kind == "character":
            # `##` is the mark of inner tokens, unless it is all there is.
            if not _is_character(vocabulary.rule, token.text.removeprefix(mark)):
                raise self._fail(f"{where}.text", f"{_brief(token.text)} is no character")
        elif vocabulary.rule.pretokenizer == "byte-level" and any(
            ord(letter) not in LETTER_BYTES for letter in token.text
        ):
            raise self._fail(f"{where}.text", f"{_brief(token.text)} has no byte letter")


KINDS = get_args(Kind)


def _is_character(rule: WordRule, text: str) -> bool:
    if rule.pretokenizer == "byte-level":
        return len(text) == 1 and ord(text) in LETTER_BYTES
    if rule.pretokenizer == "whitespace" and len(text) > 1:
        return len(text) == 1 + len(WORD_FINAL) and text.endswith(WORD_FINAL)
    return len(text) == 1


def _is_text(text: str) -> bool:
    """Whether it can be written: no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
