"""From the tokens of another toolkit's file to a Vocabulary. Nothing in such a file is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from volt import _core
from volt._version import __version__
from volt.base.errors import InputError
from volt.counting.marks import END_MARK as WORD_FINAL
from volt.counting.marks import LETTER_BYTES, UNKNOWN
from volt.counting.normalizers import Normalizer
from volt.counting.words import (
    PRETOKENIZERS,
    MergeRule,
    Normalization,
    Pretokenizer,
    Unknown,
    WordRule,
)
from volt.formats.merges import Pair, last_pairs, pairs_for
from volt.proposing.base import Encoding
from volt.proposing.tokens import Kind, Token
from volt.tokenizing.tokenizer import Tokenizer, read_printed
from volt.tokenizing.vocabulary import LookUp, Vocabulary, WordEnds
from volt.tokenizing.volt_json import MOST_BYTES, MOST_TOKENS, check_vocabulary

LONGEST_TOKEN = 1024
"""Characters. A token is cut at every place to see what it is made from."""
BYTE_NAMES = [f"<0x{byte:02X}>" for byte in range(256)]


def read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a text file. Only LF ends a line, and a CR before it."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte offset {error.start}: invalid UTF-8") from None
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def read_token(printed: str, path: Path, line: int) -> str:
    """A token as `volt encode` prints it."""
    try:
        return read_printed(printed)
    except (ValueError, OverflowError):
        raise InputError(f"{path}: line {line}: {printed[:60]!r} is no token") from None


def read_json(path: Path) -> Any:
    def no_constants(name: str) -> Any:
        raise ValueError(f"{name} is no number")

    try:
        return json.loads(read_bytes(path).decode(), parse_constant=no_constants)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}") from None


@dataclass
class Pieces:
    """What a file says. Tokens are texts; `pairs` are the merges in order, or, where the file has
    none, `ranked` are the merged tokens in order."""

    name: str
    """The file, for messages."""
    form: str
    pretokenizer: str
    texts: list[str]
    """By id."""
    kinds: dict[str, Kind] = field(default_factory=dict)
    """Of special tokens and symbols; the others can be told."""
    pairs: list[Pair] | None = None
    ranked: list[str] | None = None
    hidden: list[str] = field(default_factory=list)
    unknown: Unknown = "unk"
    unknown_token: str = UNKNOWN
    fuse_unknown: bool = False
    whole_words: bool = False
    """A word that is a token is not merged."""
    encoding: Literal["longest", "unigram"] | None = None
    """None: tokens are merged."""
    look_up: LookUp = field(default_factory=LookUp)
    scores: dict[str, float] = field(default_factory=dict)
    normalize: Normalization = "none"
    normalizer: Normalizer | None = None
    frequencies: dict[str, int] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    @property
    def mode(self) -> Pretokenizer:
        return PRETOKENIZERS[self.pretokenizer]

    def fail(self, problem: str) -> InputError:
        return InputError(f"{self.name}: {problem}")


def assemble(pieces: Pieces) -> Vocabulary:
    """Find the kind, the rank and the parents of every token."""
    if pieces.encoding is not None:
        return _assemble_look_up(pieces)
    listed = [*pieces.texts, *pieces.hidden]
    _check_texts(pieces, listed)
    number_of = {text: number for number, text in enumerate(listed)}
    kinds = _kinds(pieces, listed)
    characters = {text for text in listed if kinds.get(text) == "character"}
    unnamed = [text for text in listed if text not in kinds]
    if pieces.pairs is not None and pieces.whole_words:
        pieces.pairs = _with_parts(pieces.pairs, characters)
    if pieces.pairs is not None:
        rule, ranks, parents = _from_pairs(pieces, characters, set(unnamed))
    else:
        rule, ranks, parents = _from_ranked(pieces, characters, set(unnamed))

    lost = [text for text in unnamed if text not in ranks]
    if pieces.whole_words:
        whole = list(filter(_is_bytes, lost))
        kinds |= dict.fromkeys(whole, "piece")
        lost = [text for text in lost if text not in kinds]
        known = {*characters, *unnamed} if pieces.pairs is None else set()
        if late := [text for text in whole if pairs_for(text, known, None)]:
            pieces.messages.append(
                f"{len(late):,} tokens, such as {_brief(late[0])}, are made from tokens of a later "
                "rank only: volt uses them for a word that is just that, but does not merge them"
            )
    if lost:
        hidden = set(pieces.hidden)
        if any(text in hidden for text in lost):
            raise pieces.fail(f"no two tokens make {_brief(lost[0])}")
        kinds |= dict.fromkeys(lost, "special")
        shown = ", ".join(map(_brief, lost[:5])) + (", ..." if len(lost) > 5 else "")
        pieces.messages.append(
            f"no two tokens make {shown} ({len(lost):,}): taken for special tokens, "
            "which text never gives"
        )

    def token(text: str) -> Token:
        frequency = pieces.frequencies.get(text, 0)
        if text not in ranks:
            return Token(text, kinds[text], frequency=frequency)
        left, right = parents[text]
        both = (number_of[left], number_of[right])
        return Token(text, "merged", both, ranks[text], frequency=frequency)

    encoding: Encoding = "split" if pieces.hidden else "merge"
    vocabulary = Vocabulary(
        rule=WordRule(pieces.pretokenizer, pieces.normalize),
        tokens=[token(text) for text in pieces.texts],
        hidden=[token(text) for text in pieces.hidden],
        encoding=encoding,
        merge_rule=rule,
        unknown=pieces.unknown,
        unknown_token=pieces.unknown_token,
        fuse_unknown=pieces.fuse_unknown and pieces.unknown == "unk",
        word_ends=_word_ends(pieces, ranks),
        whole_words=pieces.whole_words,
        normalizer=pieces.normalizer,
    )
    check_vocabulary(vocabulary, pieces.name)
    if pieces.pairs is not None and rule == "concat":
        _check_concat(vocabulary, pieces, pieces.pairs)
    return _measured(vocabulary, pieces)


def _assemble_look_up(pieces: Pieces) -> Vocabulary:
    """Tokens that are looked up: nothing has to be found out but their kind."""
    _check_texts(pieces, pieces.texts)
    kinds = _kinds(pieces, pieces.texts)
    mark = pieces.look_up.mark
    for text in pieces.texts:
        if mark and text.startswith(mark) and len(text) == len(mark) + 1:
            kinds.setdefault(text, "character")
    vocabulary = Vocabulary(
        rule=WordRule(pieces.pretokenizer, pieces.normalize),
        tokens=[
            Token(text, kinds.get(text, "piece"), score=pieces.scores.get(text, 0.0))
            for text in pieces.texts
        ],
        encoding=cast(Encoding, pieces.encoding),
        unknown=pieces.unknown,
        unknown_token=pieces.unknown_token,
        fuse_unknown=pieces.fuse_unknown and pieces.unknown == "unk",
        look_up=pieces.look_up,
        normalizer=pieces.normalizer,
    )
    check_vocabulary(vocabulary, pieces.name)
    return _measured(vocabulary, pieces)


def _word_ends(pieces: Pieces, merged: Iterable[str]) -> WordEnds:
    """SentencePiece and Hugging Face merge up to the next `▁`. Where no token spans what volt cuts
    into two words that comes to the same."""
    if pieces.pretokenizer != "metaspace":
        return "kinds"
    crossing = any(crosses_words(text, "metaspace") for text in merged if "▁" not in text[1:])
    return "spaces" if crossing else "kinds"


def has_exact_scores(vocabulary: Vocabulary) -> bool:
    """Are all sums of scores exact, in 32 bits too, for any line that is not very long?"""
    return all((token.score * 1024).is_integer() for token in vocabulary.tokens)


def _check_concat(vocabulary: Vocabulary, pieces: Pieces, pairs: list[Pair]) -> None:
    """A list with several pairs for a token is like rule `concat` if it has the one that matters
    of every token, in the same order."""
    place_of = {pair: place for place, pair in enumerate(pairs)}
    before = -1
    for text, pair in last_pairs(vocabulary).items():
        place = place_of.get(pair, -1)
        if place < before:
            raise pieces.fail(
                f"{_brief(text)} is merged in more than one way, but not in all, or they stand "
                "apart; volt knows one way (rule pairs) or all ways (rule concat)"
            )
        before = place


def _check_texts(pieces: Pieces, listed: list[str]) -> None:
    if len(listed) > MOST_TOKENS:
        raise pieces.fail(f"more than {MOST_TOKENS:,} tokens")
    seen: set[str] = set()
    for number, text in enumerate(listed):
        if not text:
            raise pieces.fail(f"token {number} is empty")
        if text in seen:
            raise pieces.fail(f"token {number}, {_brief(text)}, is there twice")
        seen.add(text)
        if len(text) > LONGEST_TOKEN:
            raise pieces.fail(f"token {number} has more than {LONGEST_TOKEN:,} characters")
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise pieces.fail(f"token {number}: a lone surrogate is no text")


def _kinds(pieces: Pieces, listed: list[str]) -> dict[str, Kind]:
    """Of all tokens but those that must be merged."""
    kinds = dict(pieces.kinds)
    if pieces.unknown == "byte" and not pieces.mode.byte_level:
        kinds |= dict.fromkeys(BYTE_NAMES, "byte")
    if pieces.unknown == "unk":
        kinds.setdefault(pieces.unknown_token, "special")
    for text in listed:
        if text not in kinds and is_character(text, pieces.pretokenizer):
            kinds[text] = "character"
    if pieces.encoding is None and not any(kinds.get(text) == "character" for text in listed):
        raise pieces.fail("not one token is a character")
    return kinds


def is_character(text: str, pretokenizer: str) -> bool:
    if PRETOKENIZERS[pretokenizer].byte_level:
        return len(text) == 1 and ord(text) in LETTER_BYTES
    if pretokenizer == "whitespace" and text.endswith(WORD_FINAL):
        return len(text) == 1 + len(WORD_FINAL)
    return len(text) == 1


def _is_bytes(text: str) -> bool:
    return all(ord(letter) in LETTER_BYTES for letter in text)


def _with_parts(pairs: list[Pair], characters: set[str]) -> list[Pair]:
    """The merges whose two parts are merged themselves. Where words are looked up before, a file
    may have tokens that are not, and all pairs they are in."""
    made = set(characters)
    for left, right in sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1])):
        if left in made and right in made:
            made.add(left + right)
    return [(left, right) for left, right in pairs if left in made and right in made]


Made = tuple[MergeRule, dict[str, int], dict[str, Pair]]
"""The rule; the rank of every merged token; its parents."""


def _from_pairs(pieces: Pieces, characters: set[str], unnamed: set[str]) -> Made:
    ranks: dict[str, int] = {}
    parents: dict[str, Pair] = {}
    rule: MergeRule = "pairs"
    waiting: list[str] = []  # whose first pair has a part of a later rank
    for number, (left, right) in enumerate(pieces.pairs or []):
        text = left + right
        for part in (left, right):
            if part not in characters and part not in unnamed:
                raise pieces.fail(f"merge {number}: {_brief(part)} is no token of the vocabulary")
        if text not in unnamed:
            raise pieces.fail(f"merge {number}: {_brief(text)} is no token of the vocabulary")
        if text in ranks:
            rule = "concat"
        else:
            ranks[text] = len(ranks)
        if text not in parents and all(
            part in characters or ranks.get(part, ranks[text]) < ranks[text]
            for part in (left, right)
        ):
            parents[text] = (left, right)
        elif text not in parents:
            waiting.append(text)
    for text in waiting:
        if text not in parents:
            raise pieces.fail(f"{_brief(text)} is merged before what it is made from")
    return rule, ranks, parents


def _from_ranked(pieces: Pieces, characters: set[str], unnamed: set[str]) -> Made:
    """Parents that come first in the order; which, is all the same to rule `concat`."""
    ranks: dict[str, int] = {}
    parents: dict[str, Pair] = {}
    final = WORD_FINAL if pieces.pretokenizer == "whitespace" else None
    known = set(characters)
    for text in pieces.ranked or []:
        if text not in unnamed:
            continue
        pair = next(iter(pairs_for(text, known, final)), None)
        if pair is not None:
            ranks[text] = len(ranks)
            parents[text] = pair
            known.add(text)
    return "concat", ranks, parents


def _measured(vocabulary: Vocabulary, pieces: Pieces) -> Vocabulary:
    from volt.tokenizing.check import find_unreachable, self_test_texts

    if vocabulary.whole_words and not vocabulary.of_kind("piece"):
        merging = replace(vocabulary, whole_words=False)
        if not find_unreachable(Tokenizer(merging)):
            vocabulary = merging  # it comes to the same
    tokenizer = Tokenizer(vocabulary)
    unreachable = set(find_unreachable(tokenizer))
    at_spaces = vocabulary.look_up is not None or vocabulary.word_ends == "spaces"
    crossing = [
        number
        for number, token in enumerate(vocabulary.tokens)
        if token.kind in ("merged", "piece")
        and crosses_words(token.text, pieces.pretokenizer, at_spaces)
    ]
    if crossing:
        example = vocabulary.tokens[crossing[0]].text
        pieces.messages.append(
            f"{len(crossing):,} tokens, such as {_brief(example)}, span what volt cuts into two "
            "words: it never uses them, and text with them comes out differently"
        )
    signature: dict[str, Any] = {
        "from": pieces.form,
        "pre": vocabulary.rule.pretokenizer,
        "norm": (
            vocabulary.normalizer.summary if vocabulary.normalizer else vocabulary.rule.normalize
        ),
        "enc": vocabulary.encoding,
        "rule": vocabulary.merge_rule,
        "unk": vocabulary.unknown,
        "size": len(vocabulary),
        "v": __version__,
    }
    return replace(
        vocabulary,
        unreachable=sorted(unreachable | set(crossing)),
        self_test=[(text, tokenizer.encode(text)) for text in self_test_texts(vocabulary)],
        signature="volt|" + "|".join(f"{name}:{value}" for name, value in signature.items()),
    )


def crosses_words(text: str, pretokenizer: str, at_spaces: bool = False) -> bool:
    """Does the pre-tokenizer cut inside this token? Where tokens are looked up, it does so only
    `at_spaces`."""
    native = PRETOKENIZERS[pretokenizer].native
    if pretokenizer == "whitespace":
        return any(blank in text for blank in " \t\r\n")
    if pretokenizer == "metaspace":
        if "▁" in text[1:] or at_spaces:
            return "▁" in text[1:]
        return len(_core.words_of(text.removeprefix("▁"), native)) > 1
    try:
        plain = text.translate(LETTER_BYTES).encode("latin-1").decode()
    except UnicodeDecodeError:
        return False  # a part of a character
    return len(_core.words_of(plain, native)) > 1


def guess_pretokenizer(name: str, texts: Sequence[str]) -> str:
    """For files that do not say: by the marks on the tokens."""
    known = set(texts)
    if all(chr(letter) in known for letter in LETTER_BYTES):
        return "byte-level"
    spaced = sum(text.startswith("▁") for text in texts)
    final = sum(text.endswith(WORD_FINAL) for text in texts)
    if spaced or final:
        return "metaspace" if spaced > final else "whitespace"
    raise InputError(
        f"{name}: no token has a mark (`▁`, `</w>`), and not all 256 byte letters are there: "
        "these are no tokens of metaspace, whitespace or byte-level text"
    )


def _brief(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."
