"""Joining vocabularies: one that contains the tokens of all, closed and reachable, with id maps.

How the merges are ordered. Merges of all parts go by their rank, and where ranks are equal by the
order of the parts: what one corpus merged early is merged early in the joint vocabulary too. A text
that several parts have takes the first of its places, with the parents it has there.

That alone may tear tokens apart: `bc + d` does not come together where another part has `cd` of a
lower rank. So all tokens whose own text, as a word, is not encoded as that token are taken out,
with all that is made from them. Then they are put back after all others, short ones first, each
made from the tokens that its text now comes out as. If these are more than two, the first two that
make no token yet are joined to a new one (a scaffold), until they are two. A merge after all
others changes no token that was whole before it, so each stays so.

Tokens that are looked up have no merges. Of `longest` ones each stays whole, among whatever others.
The scores of `unigram` are logarithms of probabilities: the joint model is the mixture of the
parts', in equal shares. Each token's score is then raised to the best cut of its text, as in
`learn`.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from volt.base.arguments import names_arguments
from volt.base.checks import check_choice, thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_folder, write_array
from volt.counting.counts import WordCounts
from volt.counting.marks import BYTE_TOKENS
from volt.counting.words import MergeRule, Unknown
from volt.proposing.pieces import PENALTY, mixed_scores
from volt.proposing.tokens import SPELLED, Kind, Token
from volt.tokenizing.check import find_unreachable, measure, self_test_texts
from volt.tokenizing.merge_pairs import merge_symbols
from volt.tokenizing.signature import sign, words_fields
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import HIGHEST_SCORE, LookUp, Vocabulary

SAME = ("encoding", "merge_rule", "unknown_token", "fuse_unknown")
"""What the parts have to agree on, beside how text becomes words."""
SAME_LOOK_UP = ("mark", "longest_word")
"""And those that look tokens up. Scores are made again, so that any arithmetic adds them without
error."""


@dataclass(frozen=True, eq=False)
class Joined:
    """The joint vocabulary, and what became of the ids of each part.

    >>> import volt
    >>> found = volt.join([tokenizer.vocabulary, tokenizer.vocabulary])
    >>> len(found.vocabulary) == len(tokenizer)
    True
    """

    vocabulary: Vocabulary
    id_maps: list[NDArray[np.int64]] = field(repr=False)
    """For each part: its token `i` is token `id_map[i]` of the joint vocabulary."""
    shared: int
    """Characters and merged tokens that more than one part has."""
    moved: int
    """Tokens that were torn apart, and are now merged after all others."""
    added: int
    """Scaffolds that no part had."""

    def __repr__(self) -> str:
        return f"<Joined: {len(self.vocabulary):,} tokens of {len(self.id_maps)} vocabularies>"

    def summary(self) -> dict[str, Any]:
        vocabulary = self.vocabulary
        return {
            "signature": vocabulary.signature,
            "vocabulary_size": len(vocabulary),
            "parts": [len(one) for one in self.id_maps],
            "shared": self.shared,
            "moved": self.moved,
            "added": self.added,
            "scaffolds": vocabulary.scaffolds,
            "hidden": len(vocabulary.hidden),
            "unreachable": len(vocabulary.unreachable),
        }

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write volt.json, signature.txt and id_map.1.npy, id_map.2.npy, ..."""
        with atomic_folder(folder, force=force) as temporary:
            self.write(temporary)

    def write(self, folder: Path) -> None:
        self.vocabulary.save(folder / "volt.json")
        signature = self.vocabulary.signature + "\n"
        (folder / "signature.txt").write_text(signature, encoding="utf-8")
        for number, id_map in enumerate(self.id_maps, 1):
            with (folder / f"id_map.{number}.npy").open("wb") as stream:
                write_array(stream, id_map)


@names_arguments
def join(
    parts: Sequence[Vocabulary],
    *,
    counts: WordCounts | None = None,
    merge_rule: MergeRule | None = None,
    threads: int | None = None,
) -> Joined:
    """Join vocabularies into one, by their merge rule or by another.

    Frequencies are measured on `counts`. Without them they are the sums of the parts', which says
    how often tokens occurred before they were joined.

    >>> import volt
    >>> other = volt.learn([["new news newer"] * 30], size=270).vocabulary
    >>> found = volt.join([tokenizer.vocabulary, other]).vocabulary
    >>> volt.Tokenizer(found).count("low news") <= tokenizer.count("low news")
    True
    """
    if len(parts) < 2:
        raise SettingsError("join at least two vocabularies")
    check_choice("merge_rule", merge_rule, get_args(MergeRule))
    if counts is not None and len(counts) == 0:
        raise InputError("the text has no words: nothing to measure frequencies on")
    threads = thread_count(threads)
    if merge_rule is not None:
        parts = [replace(part, merge_rule=merge_rule) for part in parts]
    unknown: Unknown = "byte" if any(part.unknown == "byte" for part in parts) else "unk"
    if unknown == "byte":  # then there is no unknown token, to fuse or not
        parts = [replace(part, fuse_unknown=False) for part in parts]
    _check_alike(parts)
    singles = _singles(parts, unknown == "byte")
    start = replace(
        parts[0], tokens=singles, hidden=[], unknown=unknown, unit=1, unreachable=[], signature="",
        self_test=[],
    )  # fmt: skip
    if start.encoding == "unigram":
        start = _mixture(start, parts)
    visible = {token.text for part in parts for token in part.tokens}
    kept = {token.text for part in parts for token in part.tokens if not token.scaffold}
    order = _Order(start, visible, kept)
    for _, _, text, left, right in sorted(
        (token.rank, number, token.text, pool[token.parents[0]].text, pool[token.parents[1]].text)
        for number, pool in enumerate(part.pool for part in parts)
        for token in pool
        if token.parents is not None
    ):
        order.merges.setdefault(text, (left, right))
    taken = order.take_out_torn()
    added = order.put_back(taken)
    vocabulary = order.vocabulary()
    tokenizer = Tokenizer(vocabulary, threads=threads)
    vocabulary = replace(
        vocabulary,
        unreachable=find_unreachable(tokenizer),
        self_test=[(text, tokenizer.encode(text)) for text in self_test_texts(vocabulary)],
    )
    if counts is not None:
        vocabulary = measure(replace(vocabulary, unit=counts.unit), counts, threads).vocabulary
    else:
        vocabulary = _summed(vocabulary, parts)
    ids = vocabulary.ids
    pieces = [{t.text for t in part.tokens if t.kind in ("character", "merged", "piece")}
              for part in parts]  # fmt: skip
    return Joined(
        vocabulary=replace(vocabulary, signature=_signature(vocabulary, parts, counts)),
        id_maps=[np.array([ids[t.text] for t in part.tokens], np.int64) for part in parts],
        shared=sum(map(len, pieces)) - len(set().union(*pieces)),
        moved=len(taken),
        added=added,
    )


def _check_alike(parts: Sequence[Vocabulary]) -> None:
    first = parts[0]
    if any(part.normalizer or part.word_ends != "kinds" or part.whole_words for part in parts):
        raise SettingsError(
            "a vocabulary that was imported with its toolkit's normalizer, or with tokens that "
            "span what volt cuts into two words, or that no merges lead to, can't be joined; "
            "learn one on the text"
        )
    for number, part in enumerate(parts[1:], 2):
        names = [one.name for one in fields(first.rule)]
        here = [(name, getattr(first.rule, name), getattr(part.rule, name)) for name in names]
        here += [(name, getattr(first, name), getattr(part, name)) for name in SAME]
        here += [
            (name, getattr(first.look_up, name, None), getattr(part.look_up, name, None))
            for name in SAME_LOOK_UP
        ]
        for name, mine, theirs in here:
            if mine != theirs:
                raise SettingsError(
                    f"vocabularies 1 and {number} can't be joined: {name} is {mine} in one and "
                    f"{theirs} in the other; learn them alike"
                )
    kinds: dict[str, str] = {}
    for token in (token for part in parts for token in part.pool):
        kind = token.kind if token.kind in ("special", "symbol", "byte") else "text"
        if kinds.setdefault(token.text, kind) != kind:
            raise SettingsError(
                f"{token.text!r} is a {kinds[token.text]} token in one vocabulary and {kind} in "
                "another: choose another name for the special token or symbol"
            )


def _singles(parts: Sequence[Vocabulary], spelled: bool) -> list[Token]:
    """Special tokens and symbols in the order they come, bytes, then characters (and pieces) by
    code points."""
    found: list[Token] = []
    named: tuple[Kind, ...] = ("special", "symbol")
    written: tuple[Kind, ...] = ("character", "piece")
    for kind in named:
        texts = dict.fromkeys(text for part in parts for text in part.of_kind(kind))
        found += [Token(text, kind) for text in texts]
    if spelled and not parts[0].rule.mode.byte_level:
        found += [Token(text, "byte") for text in BYTE_TOKENS]
    for kind in written:
        texts = dict.fromkeys(text for part in parts for text in part.of_kind(kind))
        found += [Token(text, kind) for text in sorted(texts)]
    return found


def _mixture(start: Vocabulary, parts: Sequence[Vocabulary]) -> Vocabulary:
    """The tokens with the scores they have in the mixture of the parts' models."""
    models = [{t.text: t.score for t in part.tokens if t.kind in SPELLED} for part in parts]
    texts = start.of_kind(*SPELLED)
    scores = mixed_scores(texts, models, start.rule)
    lowest, highest = float(scores.min(initial=0.0)), float(scores.max(initial=0.0))
    if max(highest, PENALTY - lowest) > HIGHEST_SCORE:
        raise InputError(
            f"the scores of the joint vocabulary go from {lowest:g} to {highest:g}: those of the "
            f"parts are not logarithms of probabilities; the most is {HIGHEST_SCORE:g}"
        )
    mixed = dict(zip(texts, scores.tolist(), strict=True))
    tokens = [token._replace(score=mixed.get(token.text, 0.0)) for token in start.tokens]
    return replace(start, tokens=tokens, look_up=LookUp(unknown_score=lowest - PENALTY))


class _Order:
    """The merges of the joint vocabulary so far, by rank: the text made, and its two parts."""

    def __init__(self, start: Vocabulary, visible: set[str], kept: set[str]) -> None:
        self.start = start
        self.merges: dict[str, tuple[str, str]] = {}
        self._visible = visible
        self._kept = kept

    def vocabulary(self) -> Vocabulary:
        tokens = list(self.start.tokens)
        hidden: list[Token] = []
        size = len(tokens) + sum(text in self._visible for text in self.merges)
        ids = {token.text: number for number, token in enumerate(tokens)}
        for rank, (text, (left, right)) in enumerate(self.merges.items()):
            seen = text in self._visible
            ids[text] = len(tokens) if seen else size + len(hidden)
            token = Token(
                text, "merged", (ids[left], ids[right]), rank, seen and text not in self._kept
            )
            (tokens if seen else hidden).append(token)
        return replace(self.start, tokens=tokens, hidden=hidden)

    def take_out_torn(self) -> list[str]:
        """Take out what is torn apart, and what is made from it, until the rest is whole."""
        taken: dict[str, tuple[str, str]] = {}
        while self.merges:
            # Hidden tokens, too, have to come together before they can be split.
            now = self.vocabulary()
            tokenizer = Tokenizer(replace(now, tokens=now.pool, hidden=[], encoding="merge"))
            torn = {tokenizer.tokens[number] for number in find_unreachable(tokenizer)}
            for text, parents in self.merges.items():
                if text in torn or not torn.isdisjoint(parents):
                    torn.add(text)
            out = torn & self.merges.keys()
            if not out:
                break
            taken |= {text: self.merges.pop(text) for text in list(self.merges) if text in out}
        return sorted(taken, key=lambda text: (len(text), text))

    def put_back(self, texts: Iterable[str]) -> int:
        """Merge them after all others; how many scaffolds that takes."""
        if self.start.look_up is not None:
            return 0
        concat = self.start.merge_rule == "concat"
        made: Iterable[Any] = self.merges if concat else self.merges.values()
        ranks = {one: rank for rank, one in enumerate(made)}
        texts = list(texts)
        known = self._visible.union(texts)
        added = 0

        def rank(left: str, right: str) -> int | None:
            return ranks.get(left + right if concat else (left, right))

        def merge(left: str, right: str) -> None:
            ranks[left + right if concat else (left, right)] = len(self.merges)
            self.merges[left + right] = left, right

        for text in texts:
            while True:
                pieces = merge_symbols(self.start.marks.symbols(text), rank)
                if len(pieces) <= 2:
                    break
                new = [pair for pair in pairwise(pieces) if "".join(pair) not in self.merges]
                if not new:
                    raise InputError(
                        f"{text!r} can't be made from the other vocabulary's tokens: all pairs of "
                        f"{' '.join(pieces)} are tokens with other parents; use "
                        "`merge_rule='concat'`"
                    )
                merge(*new[0])
                added += "".join(new[0]) not in known
                if self.start.encoding == "merge":
                    self._visible.add("".join(new[0]))
            if len(pieces) == 2:
                merge(*pieces)
        return added


def _summed(vocabulary: Vocabulary, parts: Sequence[Vocabulary]) -> Vocabulary:
    unit = math.lcm(*(part.unit for part in parts))
    sums = dict.fromkeys(vocabulary.texts, 0)
    for part in parts:
        for token in part.tokens:
            sums[token.text] += token.frequency * (unit // part.unit)
    if max(sums.values(), default=0) >= 1 << 63:
        raise InputError("the frequencies do not fit 63 bits: measure them on text")
    return replace(vocabulary.with_frequencies(list(sums.values())), unit=unit)


def _signature(
    vocabulary: Vocabulary, parts: Sequence[Vocabulary], counts: WordCounts | None
) -> str:
    """One line that tells what was joined; equal lines, equal vocabularies."""
    made = [part.signature or hashlib.sha256(part.to_bytes()).hexdigest() for part in parts]
    joined = hashlib.sha256("\n".join(made).encode()).hexdigest()
    return sign({
        "joined": len(parts),
        "parts": joined,
        **words_fields(vocabulary),
        "size": len(vocabulary),
        "corpus": counts.digest() if counts is not None else "none",
    })  # fmt: skip
