"""Inner: the model inside a tokenizer, which turns words into ids.

Whatever a tokenizer does to a text first, its model sees words: normalized, cut, with marks. The
model alone is a `Vocabulary` of volt with the ids of the tokenizer, so that refit and extend
measure and choose with native code, also where volt can't do what comes before the model.

A merged token is always made from the same two (tokenizing/merge_pairs.py says why), whether pairs
are ranked or tokens. So one pair per token is the whole of any list of merges, and other pairs in
the list are never used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from volt.counting.counts import CountTotals, WordCounts
from volt.counting.marks import END_MARK, INNER_MARK, WORD_END, letter_bytes
from volt.counting.words import Unknown, WordRule
from volt.proposing.tokens import Kind, Token, packed
from volt.tokenizing.merge_pairs import Pair, last_two
from volt.tokenizing.vocabulary import LookUp, Vocabulary

ROUNDING = {"float64": 2.0**-20, "float32": 2.0**-10}
"""Where sums of scores are rounded, a new token gets this much more for each part but one. It is
more than the rounding error of a word of 10,000 characters, or, in 32 bits, of a line of some 300
tokens."""


@dataclass(frozen=True, eq=False)
class Inner:
    """A model over words."""

    vocabulary: Vocabulary
    suffix: str = ""
    """What the last letter of a word has, in the tokens."""

    def counts(self, words: Counter[str], lines: int) -> WordCounts:
        """Words as volt counts them."""
        rule = self.vocabulary.rule
        write = letter_bytes if rule.mode.byte_level else str.encode
        spelled = {write(word): number for word, number in words.items() if word}
        ordered = sorted(spelled, key=lambda word: (-spelled[word], word))
        text, offsets = packed(ordered)
        numbers = np.array([spelled[word] for word in ordered], np.uint64)
        total = CountTotals(lines=lines, words=int(numbers.sum()))
        return WordCounts(rule, text, offsets, numbers, total, weighted_lines=Fraction(lines))


def merging(
    names: Sequence[str | None],
    named: frozenset[int],
    *,
    pairs: Sequence[Pair] | None = None,
    ranks: Sequence[tuple[str, float]] | None = None,
    byte_level: bool = False,
    suffix: str = "",
    unknown_id: int | None = None,
    byte_ids: frozenset[int] = frozenset(),
    fuse_unknown: bool = False,
    whole_words: bool = False,
) -> Inner:
    """A model that merges: by ranked `pairs`, or by the `ranks` of tokens, of which lower ones come
    first and equal ones are made from the left. Of `named`, those are never merged that are
    not letters and that no pair makes: the others may come out of words, too."""
    listed = {left + right for left, right in pairs or []}
    spoken = {i for i in named if (name := names[i]) is not None and pairs is not None
              and i != unknown_id and (len(name) == 1 or name in listed)}  # fmt: skip
    named = named - spoken
    ids = {name: i for i, name in enumerate(names) if name is not None and i not in named}
    symbols = WORD_END.symbols if suffix == END_MARK else list
    base = {name for name in ids if len(symbols(name)) == 1 and ids[name] not in byte_ids}
    if pairs is not None:
        made, rank_of = _from_pairs(pairs, ids, symbols)
    else:
        rank = _numbered(ranks or [])
        made = {text: pair for text in rank if text in ids and text not in base
                and (pair := last_two(symbols(text), lambda a, b: rank.get(a + b)))}  # fmt: skip
        rank_of = rank
    made = _closed(made, base)
    order = _by_rank(made, rank_of)
    tokens = []
    for i, name in enumerate(names):
        kind: Kind = "special"
        text = name if name is not None else f"<|unused-{i}|>"
        if i in byte_ids:
            kind = "byte"
        elif i not in named and name in base:
            kind = "character"
        elif i not in named and name in made and i != unknown_id:
            left, right = made[text]
            tokens.append(Token(text, "merged", (ids[left], ids[right]), order[text]))
            continue
        elif i not in named and whole_words and byte_level and i != unknown_id:
            kind = "piece"
        tokens.append(Token(text, kind))
    unknown: Unknown = "byte" if byte_level or byte_ids else "unk"
    if unknown_id is None and unknown == "unk":
        # Unknown characters vanish, so they are not in the words, and any name will do.
        unknown_id = next((i for i, token in enumerate(tokens) if token.kind == "special"), None)
    mode = "byte-level" if byte_level else "whitespace" if suffix else "metaspace"
    vocabulary = Vocabulary(
        rule=WordRule(mode),
        tokens=_distinct(tokens),
        merge_rule="pairs",
        unknown=unknown,
        unknown_token=_name(names, unknown_id),
        fuse_unknown=fuse_unknown and unknown == "unk",
        word_ends="runs" if mode == "metaspace" else "kinds",
        whole_words=whole_words and byte_level,
    )
    return Inner(vocabulary, suffix)


def looking_up(
    names: Sequence[str | None],
    named: frozenset[int],
    *,
    encoding: Literal["longest", "unigram"],
    scores: Sequence[float] | None = None,
    mark: str = "",
    longest_word: int = 0,
    unknown_id: int | None = None,
    byte_ids: frozenset[int] = frozenset(),
    unknown_score: float = 0.0,
    arithmetic: Literal["float64", "float32"] = "float64",
    byte_level: bool = False,
) -> Inner:
    """A model that looks tokens up: WordPiece, RWKV's longest match, or Unigram."""
    tokens = []
    for i, name in enumerate(names):
        kind: Kind = "piece"
        if name is None or i in named or i == unknown_id:
            kind = "special"
        elif i in byte_ids:
            kind = "byte"
        elif len(name.removeprefix(mark) if mark else name) == 1:
            kind = "character"
        text = name if name is not None else f"<|unused-{i}|>"
        score = scores[i] if scores is not None and kind in ("piece", "character") else 0.0
        tokens.append(Token(text, kind, score=score))
    vocabulary = Vocabulary(
        rule=WordRule("byte-level" if byte_level else "whitespace" if mark else "metaspace"),
        tokens=_distinct(tokens),
        encoding=encoding,
        unknown="byte" if byte_ids or byte_level else "unk",
        unknown_token=_name(names, unknown_id),
        fuse_unknown=encoding == "unigram" and not byte_ids,
        word_ends="kinds" if mark or byte_level else "runs",
        look_up=LookUp(
            mark=INNER_MARK if mark else "", longest_word=longest_word, unknown_score=unknown_score,
            arithmetic=arithmetic, restart="text",
        ),
    )  # fmt: skip
    return Inner(vocabulary)


def word_model(names: Sequence[str | None], named: frozenset[int], unknown_id: int | None) -> Inner:
    """A model of words or characters. It is WordPiece without tokens that go on inside a word."""
    return looking_up(names, named, encoding="longest", mark=INNER_MARK, unknown_id=unknown_id)


def _name(names: Sequence[str | None], number: int | None) -> str:
    name = None if number is None else names[number]
    return "<|no-unknown|>" if name is None else name


def _distinct(tokens: list[Token]) -> list[Token]:
    """Names of ids without text must not be those of other tokens."""
    seen: set[str] = set()
    distinct = []
    for i, token in enumerate(tokens):
        if token.text in seen:
            token = Token(f"<|again-{i}|>", "special")
        seen.add(token.text)
        distinct.append(token)
    return distinct


def _numbered(ranks: Sequence[tuple[str, float]]) -> dict[str, int]:
    """Whole numbers in the order of the ranks; equal ranks stay equal."""
    order = {value: place for place, value in enumerate(sorted({value for _, value in ranks}))}
    found: dict[str, int] = {}
    for text, value in ranks:
        found.setdefault(text, order[value])
    return found


def _closed(made: dict[str, Pair], base: set[str]) -> dict[str, Pair]:
    """The tokens whose parts are letters or made themselves. Others are never merged."""
    closed: dict[str, Pair] = {}
    for text in sorted(made, key=len):
        if all(part in base or part in closed for part in made[text]):
            closed[text] = made[text]
    return closed


def _by_rank(made: dict[str, Pair], rank_of: dict[str, int]) -> dict[str, int]:
    """The tokens numbered by rank. Of equal ranks the leftmost place is merged first, and what is
    made there goes on: so longer tokens come first."""
    ordered = sorted(made, key=lambda text: (rank_of[text], -len(text), text))
    return {text: number for number, text in enumerate(ordered)}


def _from_pairs(
    pairs: Sequence[Pair], ids: dict[str, int], symbols: Callable[[str], list[str]]
) -> tuple[dict[str, Pair], dict[str, int]]:
    """The pair that makes each token, and its place in the list."""
    place: dict[Pair, int] = {}
    ways: dict[str, list[Pair]] = {}
    for number, (left, right) in enumerate(pairs):
        text = left + right
        if text in ids and (left, right) not in place:
            place[left, right] = number
            ways.setdefault(text, []).append((left, right))
    made: dict[str, Pair] = {}
    for text, found in ways.items():
        pair: Pair | None = found[0]
        if len(found) > 1:
            pair = last_two(symbols(text), lambda left, right: place.get((left, right)))
        if pair is not None and len(symbols(text)) > 1:
            made[text] = pair
    return made, {text: place[pair] for text, pair in made.items()}
