"""Which pairs of tokens merge, and in which order, under the two merge rules (METHOD 7).

Toolkits of rule `pairs` read a list of pairs, the first in the list first. Toolkits of rule
`concat` rank the tokens, and join any two neighbours that make one.

**A token is only ever merged from one pair.** Take two neighbours that make a token. No merge so
far crossed the ends of this stretch of text, and every merge inside it was the first due of all
places, so the first due inside. Hence they are the merges of the same text standing alone, whose
last two tokens are always the same: its *last pair*. So:

- under rule `concat`, only the last pair of a token is ever merged. A list that contains it, at the
  rank of the token, is exact, whatever other pairs it contains;
- a vocabulary of rule `pairs` is encoded the same under `concat` if the pair that each token was
  learned from is its last pair. This can be seen from the vocabulary, without any text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import add
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from volt.counting.marks import Marks
from volt.proposing.tokens import NO_TOKEN, Token, packed
from volt.tokenizing.vocabulary import Vocabulary

Pair = tuple[str, str]
S = TypeVar("S", str, int)
PairRank = Callable[[S, S], "int | None"]
"""The rank of two neighbours; None if they do not merge."""


def mergeable(vocabulary: Vocabulary) -> dict[str, int]:
    """The rank of every token that takes part in merging, hidden ones too; -1 for a character."""
    kinds = ("character", "merged")
    return {token.text: token.rank for token in vocabulary.pool if token.kind in kinds}


def merged_by_rank(vocabulary: Vocabulary) -> list[Token]:
    merged = [token for token in vocabulary.pool if token.kind == "merged"]
    return sorted(merged, key=lambda token: token.rank)


def own_pairs(vocabulary: Vocabulary) -> list[Pair]:
    """The pair that each token was learned from, in the order of the merges."""
    pool = vocabulary.pool
    return [
        (pool[token.parents[0]].text, pool[token.parents[1]].text)
        for token in merged_by_rank(vocabulary)
        if token.parents
    ]


def last_parents(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """The two tokens of the pool that each token is merged from under rule `concat`; NO_TOKEN twice
    where it never is. `last_pair` is the slow twin. `volt learn` asks twice, so this is native: 8
    ms for 15,000 tokens, not 120 ms."""
    pool = vocabulary.pool_columns
    merged = np.flatnonzero(pool.are("merged"))
    pieces, flags = vocabulary.native.pieces(), vocabulary.native.flags
    concat = vocabulary
    if vocabulary.merge_rule != "concat":
        concat = replace(vocabulary, merge_rule="concat")
    found = concat.encoder.last_pairs(*packed([pieces[i] for i in merged.tolist()]), flags[merged])
    parents = np.full((len(pool), 2), NO_TOKEN, np.int64)
    parents[merged] = np.stack(found, axis=1).astype(np.int32)  # the native NO_TOKEN becomes -1
    return parents


def last_pairs(vocabulary: Vocabulary) -> dict[str, Pair]:
    """The pair that each token is merged from under rule `concat`, if it ever is."""
    texts = vocabulary.pool_columns.texts
    parents = last_parents(vocabulary)
    made = np.flatnonzero(parents[:, 0] != NO_TOKEN)
    ranks = vocabulary.pool_columns.ranks[made]
    return {
        texts[i]: (texts[parents[i, 0]], texts[parents[i, 1]])
        for i in made[np.argsort(ranks, kind="stable")].tolist()
    }


def last_pair(token: str, ranks: dict[str, int], marks: Marks) -> Pair | None:
    return last_two(marks.symbols(token), concat_rank(ranks))


def last_two(symbols: Sequence[str], rank: PairRank[str]) -> Pair | None:
    """The last pair that is merged when a token's own symbols are; None if they do not end as one
    token."""
    left = merge_symbols(symbols, rank, fewest=2)
    return (left[0], left[1]) if len(left) == 2 and rank(*left) is not None else None


def concat_rank(ranks: Mapping[str, int]) -> PairRank[str]:
    """Of a pair under rule `concat`: that of what it makes. Characters, of rank -1, are not made by
    joining."""
    return lambda left, right: rank if (rank := ranks.get(left + right, -1)) >= 0 else None


def merge_symbols(
    symbols: Sequence[S], rank: PairRank[S], join: Callable[[S, S], S] = add, *, fewest: int = 1
) -> list[S]:
    """Join neighbours, the pair of the lowest rank first, leftmost on a tie, until `fewest` symbols
    are left or no pair has a rank."""
    merged = list(symbols)
    while len(merged) > fewest:
        due = [(found, place) for place, pair in enumerate(pairwise(merged))
               if (found := rank(*pair)) is not None]  # fmt: skip
        if not due:
            break
        _, place = min(due)
        merged[place : place + 2] = [join(*merged[place : place + 2])]
    return merged


def all_pairs(vocabulary: Vocabulary) -> list[Pair]:
    """All pairs of tokens that make a token, ordered by the rank of what they make. A token's last
    pair comes first: subword-nmt splits a token into the first pair in its list."""
    known = mergeable(vocabulary)
    last = last_pairs(vocabulary)
    pairs: list[Pair] = []
    for token in merged_by_rank(vocabulary):
        found = pairs_for(token.text, known, vocabulary.marks)
        pairs += sorted(found, key=lambda pair: pair != last.get(pair[0] + pair[1]))
    return pairs


def pairs_for(token: str, known: Container[str], marks: Marks) -> list[Pair]:
    """The pairs of known tokens that make a token."""
    return [pair for pair in marks.cuts(token) if pair[0] in known and pair[1] in known]


def merge_list(vocabulary: Vocabulary) -> list[Pair]:
    """The list for a toolkit of rule `pairs`."""
    return own_pairs(vocabulary) if vocabulary.merge_rule == "pairs" else all_pairs(vocabulary)
