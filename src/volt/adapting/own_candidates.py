"""Candidates from a vocabulary that exists: its own tokens, with frequencies measured on a corpus.

Every word type is encoded with the vocabulary, and tokens are counted; the frequencies in its file
are not used. Tokens that are merged: how often each merge was made follows from the counts. Under
either merge rule a token is always merged from the same two (tokenizing/merge_pairs.py says why):
its own pair under `pairs`, its last pair under `concat`. So, from the last merge to the first, a
token was made as often as it occurs and as often as something was made from it. Tokens that are
looked up: the words are encoded again with every smaller set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import SettingsError
from volt.base.progress import Report
from volt.counting.counts import WordCounts
from volt.counting.marks import UNKNOWN, byte_of
from volt.proposing.base import Entries, Frequencies, Ids, Mask
from volt.proposing.cuts import Cut, Cuts
from volt.proposing.merges import MergeCandidates
from volt.proposing.pieces import PieceCandidates, measure_pieces
from volt.proposing.tokens import SPELLED, Token
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.merge_pairs import last_pairs
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import LookUp, Vocabulary

Order = Literal["rank", "use"]


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnedMerges(MergeCandidates):
    """The tokens of a vocabulary that merges."""

    vocabulary: Vocabulary = field(repr=False)
    ids: Ids = field(repr=False)
    """The id of each candidate in the vocabulary, for hidden tokens its place in the pool; -1 for
    `<unk>`."""
    always: frozenset[int]
    """Ids that stay whatever is chosen."""
    with_parts: frozenset[int] = field(repr=False)
    """These, and all that they are made from. Those of them that are merged are in the alphabet."""

    @cached_property
    def _parents_of(self) -> list[set[int]]:
        """Mostly these are the two that text merges a token from; where not, both pairs stay."""
        parents = [set(token.parents or ()) for token in self.vocabulary.tokens]
        for merge, both in enumerate(zip(self.left, self.right, strict=True), self.alphabet_size):
            parents[self.ids[merge]].update(self.ids[list(both)].tolist())
        return parents

    def kept_ids(self, chosen: Ids) -> set[int]:
        """Old ids of the tokens that stay, with all they are made from."""
        wanted = (i for i in self.ids[chosen].tolist() if i >= 0)
        return _closed(self.with_parts, wanted, self._parents_of)

    def rows(self, kept: Mask) -> int:
        return len(self.kept_ids(np.flatnonzero(kept)))

    def cuts(self, words: WordCounts, threads: int = 1, byte_fallback: bool = False) -> Cuts:
        """As the vocabulary encodes them: its own ranks decide, not the order of the candidates."""
        ids, offsets = Tokenizer(self.vocabulary, threads=threads).encode_words(words)
        tokens = _numbers(self.vocabulary, self)[ids]
        return self.undo_merges(tokens, offsets)


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnedPieces(PieceCandidates):
    """The tokens of a vocabulary that looks tokens up. What always stays is in the alphabet."""

    vocabulary: Vocabulary = field(repr=False)
    ids: Ids = field(repr=False)
    """The id of each candidate in the vocabulary; -1 for `<unk>`."""
    always: frozenset[int]
    words: WordCounts = field(repr=False)
    threads: int

    def kept_ids(self, chosen: Ids) -> set[int]:
        return set(self.always.union(i for i in self.ids[chosen].tolist() if i >= 0))

    def cut(self, inside: Mask) -> Frequencies:
        """The words encoded with a smaller vocabulary. What it can't spell is `<unk>`."""
        smaller, id_map = restrict(self.vocabulary, self.kept_ids(np.flatnonzero(inside)))
        found = token_frequencies(Tokenizer(smaller, threads=self.threads), self.words)
        new_ids = np.where(self.ids < 0, -1, id_map[self.ids])
        frequency = np.where(new_ids < 0, np.uint64(0), found[new_ids])
        if self.unknown is not None:
            spelled = self.lengths.astype(np.uint64) @ frequency
            whole = np.uint64(self.words.characters)
            frequency[self.unknown] = whole - np.minimum(spelled, whole)
        return frequency

    def cut_words(self, inside: Mask, words: WordCounts, threads: int, byte_fallback: bool) -> Cut:
        kept = self.kept_ids(np.flatnonzero(inside))
        smaller, _ = restrict(self.vocabulary, kept)
        ids, offsets = Tokenizer(smaller, threads=threads).encode_words(words)
        return _numbers(self.vocabulary, self)[sorted(kept)][ids], offsets

    def only(self, used: Mask) -> OwnedPieces:
        """Tokens that the text does not use can still be kept."""
        return self

    def plain_texts(self, tokens: Ids) -> list[str]:
        vocabulary = self.vocabulary
        mark = vocabulary.look_up.mark if vocabulary.look_up is not None else ""
        texts = [self.tokens[token] for token in tokens.tolist()]
        return [text.removeprefix(mark) if vocabulary.is_inner(text) else text for text in texts]

    def build(self, chosen: Ids, first_id: int) -> Entries:
        raise SettingsError("the tokens of an existing vocabulary are kept, not built")


def own_merges(
    vocabulary: Vocabulary,
    counts: WordCounts,
    *,
    order: Order = "rank",
    pinned: frozenset[int] = frozenset(),
    threads: int = 1,
) -> OwnedMerges:
    """The tokens of a vocabulary that merges, as candidates.

    What always stays is in the alphabet: pinned tokens, all they are made from, and all characters,
    whether the words have them or not; `<unk>` stands for those that it does not know. Tokens that
    no text is encoded as are left out. Merges come in the `order` of their rank, or of their use:
    what was merged most comes first, of equals the lower rank. Parents come before children in
    both.
    """
    if vocabulary.look_up is not None:
        raise SettingsError(
            f"the tokens of a {vocabulary.encoding} vocabulary have no parents: they can't be "
            "measured as merges"
        )
    tokenizer = Tokenizer(vocabulary, threads=threads)
    frequencies = token_frequencies(tokenizer, counts)
    pool = vocabulary.pool
    parents = _parents(tokenizer)
    always = pinned | {i for i, token in enumerate(vocabulary.tokens) if token.kind != "merged"}
    own = [{*(token.parents or ()), *parents.get(i, ())} for i, token in enumerate(pool)]
    stay = _closed((), always, own)
    alphabet = [i for i, token in enumerate(pool)
                if token.kind == "character" or (i in stay and i in parents)]  # fmt: skip
    merged = _by_rank(pool, parents)
    made = _times_made(frequencies, merged, parents, len(pool))
    counted = made.copy()
    for i in stay & parents.keys():  # in the alphabet, a token takes nothing from its parents
        for parent in parents[i]:
            counted[parent] -= made[i]
    merged = [i for i in merged if i not in stay]
    if order == "use":
        merged.sort(key=lambda i: -int(made[i]))  # stable; no child is made more than its parent

    ids = np.array([*alphabet, -1, *merged], np.int64)
    lengths = pool_lengths(vocabulary, pool)
    spelled = frequencies @ lengths[: len(vocabulary)].astype(np.uint64)
    unknown = counts.characters - int(spelled)
    if unknown == 0:
        ids = ids[ids >= 0]
    start = len(ids) - len(merged)
    place = {i: number for number, i in enumerate(ids.tolist())}
    found = np.where(ids >= 0, counted[ids], np.uint64(unknown))
    return OwnedMerges(
        rule=counts.rule,
        tokens=[pool[i].text if i >= 0 else UNKNOWN for i in ids.tolist()],
        lengths=np.where(ids >= 0, lengths[ids], 1).astype(np.uint32),
        alphabet_counts=found[:start].copy(),
        left=np.array([place[parents[i][0]] for i in merged], np.uint32),
        right=np.array([place[parents[i][1]] for i in merged], np.uint32),
        pair_counts=found[start:].copy(),
        merge_counts=found[start:].copy(),
        unknown=start - 1 if unknown else None,
        unit=counts.unit,
        fixed_rows=len(stay.difference(alphabet)),
        vocabulary=vocabulary,
        ids=ids,
        always=always,
        with_parts=frozenset(stay),
    )


def own_pieces(
    vocabulary: Vocabulary,
    counts: WordCounts,
    *,
    pinned: frozenset[int] = frozenset(),
    threads: int = 1,
    report: Report = lambda done: None,
) -> OwnedPieces:
    """The tokens of a vocabulary that looks tokens up, as candidates."""
    never = set(find_unreachable(Tokenizer(vocabulary, threads=threads))) - pinned
    kinds = [token.kind for token in vocabulary.tokens]
    always = pinned | {i for i, kind in enumerate(kinds) if kind != "piece"}
    alphabet = [i for i in sorted(always) if kinds[i] in SPELLED]
    pieces = [i for i in range(len(vocabulary)) if i not in always and i not in never]
    ids = np.array([*alphabet, -1, *pieces], np.int64)
    lengths = pool_lengths(vocabulary, vocabulary.tokens)
    texts = vocabulary.texts
    found = OwnedPieces(
        rule=counts.rule,
        tokens=[texts[i] if i >= 0 else UNKNOWN for i in ids.tolist()],
        lengths=np.where(ids >= 0, lengths[ids], 1).astype(np.uint32),
        alphabet_size=len(alphabet) + 1,
        encoding="longest" if vocabulary.encoding == "longest" else "unigram",
        unknown=len(alphabet),
        unit=counts.unit,
        fixed_rows=len(always) - len(alphabet),
        vocabulary=vocabulary,
        ids=ids,
        always=frozenset(always),
        words=counts,
        threads=threads,
    )
    return measure_pieces(found, report)


def restrict(
    old: Vocabulary, kept: Set[int], wanted: Set[int] | None = None
) -> tuple[Vocabulary, Ids]:
    """The vocabulary with the kept tokens only, in the order they had, and the map of its ids;
    those that are not wanted themselves are scaffolds."""
    id_map = np.full(len(old), -1, np.int64)
    order = sorted(kept)
    id_map[order] = np.arange(len(order))

    def token(i: int) -> Token:
        one = old.tokens[i]
        if one.parents is None:
            return one
        left, right = id_map[list(one.parents)].tolist()
        return one._replace(parents=(left, right), scaffold=wanted is not None and i not in wanted)

    tokens = [token(i) for i in order]
    return replace(
        old, tokens=tokens, look_up=look_up_for(tokens, old), unreachable=[], self_test=[],
        signature="",
    ), id_map  # fmt: skip


def look_up_for(tokens: Sequence[Token], old: Vocabulary) -> LookUp | None:
    """How other tokens are looked up. An unknown character costs more than any token: in
    SentencePiece and Hugging Face by a fixed amount below the lowest score of all."""
    look_up = old.look_up
    if look_up is None or old.encoding != "unigram":
        return look_up
    drop = look_up.unknown_score - _lowest_score(old.tokens)
    return replace(look_up, unknown_score=_lowest_score(tokens) + drop)


def _lowest_score(tokens: Sequence[Token]) -> float:
    return min((token.score for token in tokens if token.kind in SPELLED), default=0.0)


def _numbers(vocabulary: Vocabulary, candidates: OwnedMerges | OwnedPieces) -> NDArray[np.uint32]:
    """The number of each token in `Cuts`, by its id."""
    after = len(candidates)
    numbers = np.full(len(vocabulary), after, np.uint32)
    if candidates.unknown is not None:
        numbers[:] = candidates.unknown
    for i, token in enumerate(vocabulary.tokens):
        if token.kind == "byte":
            numbers[i] = after + byte_of(token.text)
    own = (candidates.ids >= 0) & (candidates.ids < len(vocabulary))
    numbers[candidates.ids[own]] = np.flatnonzero(own)
    return numbers


def token_frequencies(tokenizer: Tokenizer, counts: WordCounts) -> Frequencies:
    """How often each token occurs when all words are encoded."""
    mine, theirs = tokenizer.vocabulary.rule.normalize, counts.rule.normalize
    if mine != theirs:
        raise SettingsError(
            f"the words are normalized by {theirs}, the vocabulary by {mine}: count them alike"
        )
    return tokenizer.usage(counts)[0].astype(np.uint64)


def pool_lengths(vocabulary: Vocabulary, tokens: Sequence[Token]) -> NDArray[np.int64]:
    """Characters of text in each token (bytes in byte-level mode); 0 for those that spell none."""
    code = "latin-1" if vocabulary.rule.mode.byte_level else "utf-8"
    texts = [
        vocabulary.plain_text(token.text) if token.kind in SPELLED else b"" for token in tokens
    ]
    return np.array([len(text.decode(code)) for text in texts], np.int64)


def _closed(start: Iterable[int], more: Iterable[int], parts: list[set[int]]) -> set[int]:
    """The ids with all that `more` are made from; `start` is closed already."""
    closed, waiting = set(start), list(more)
    while waiting:
        i = waiting.pop()
        if i not in closed:
            closed.add(i)
            waiting += parts[i]
    return closed


def _parents(tokenizer: Tokenizer) -> dict[int, tuple[int, int]]:
    """The two tokens of the pool that each merged token comes from, if it ever comes."""
    vocabulary = tokenizer.vocabulary
    pool = vocabulary.pool
    if vocabulary.merge_rule == "concat":
        number_of = {token.text: i for i, token in enumerate(pool) if token.kind in SPELLED}
        pairs = {
            number_of[text]: (number_of[left], number_of[right])
            for text, (left, right) in last_pairs(vocabulary).items()
        }
    else:
        pairs = {i: token.parents for i, token in enumerate(pool) if token.parents is not None}
    never = set(find_unreachable(tokenizer))
    return {i: pair for i, pair in pairs.items() if i not in never}


def _times_made(
    frequencies: Frequencies, merged: list[int], parents: dict[int, tuple[int, int]], size: int
) -> Frequencies:
    """How often each of the `size` tokens of the pool was made, on the way to others too."""
    made = np.zeros(size, np.uint64)
    made[: len(frequencies)] = frequencies
    for i in reversed(merged):
        left, right = parents[i]
        made[left] += made[i]
        made[right] += made[i]
    return made


def _by_rank(pool: list[Token], parents: dict[int, tuple[int, int]]) -> list[int]:
    """Merged tokens by rank; a token whose parents have a higher rank (there are such under rule
    `concat`) comes after them."""
    ready: dict[int, int] = {}
    for i in sorted(parents, key=lambda i: len(pool[i].text)):  # parents are shorter
        ready[i] = max(pool[i].rank, *(ready.get(part, -1) for part in parents[i]))
    return sorted(parents, key=lambda i: (ready[i], len(pool[i].text), pool[i].rank))
