"""Where a toolkit merges differently from the vocabulary, and how many words that changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from volt.counting.counts import WordCounts
from volt.counting.words import MergeRule
from volt.tokenizing.pairs import (
    Pair,
    all_pairs,
    last_pair,
    last_pairs,
    merge_symbols,
    mergeable,
    own_pairs,
)
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary


def differing_tokens(vocabulary: Vocabulary) -> list[str]:
    """Tokens that rule `concat` merges from another pair than the one they were learned from.

    To merge every token's text takes long, and is seldom needed. Let T be learned from a and b, and
    let both be merged just as they were learned. While that goes on, a token x ends at the border
    between them and a token y starts there. T differs only if some x + y is a token that is due
    before x and y are merged on. So it is enough to look at the tokens at the border, and to merge
    the text of T only if there is such a token, or if a or b is merged in another way.
    """
    ranks, own = mergeable(vocabulary), {"".join(pair): pair for pair in own_pairs(vocabulary)}
    last_rank: dict[str, int] = {}
    differing: list[str] = []
    otherwise: set[str] = set()  # merged in another way, in the last step or before
    for text in sorted(own, key=len):  # parents are shorter
        pair = own[text]
        last_rank[text] = max(ranks[text], *(last_rank.get(part, -1) for part in pair))
        inside = not otherwise.isdisjoint(pair)
        if inside or _due_at_border(pair, own, ranks, last_rank):
            differs = last_pair(text, ranks, vocabulary.marks) != pair
            differing += [text] * differs
            otherwise |= {text} if differs or inside else set()
    return sorted(differing, key=lambda text: ranks[text])


def _due_at_border(
    pair: Pair, own: dict[str, Pair], ranks: dict[str, int], last_rank: dict[str, int]
) -> bool:
    """May a token be due that crosses the border of the pair, before both parts are complete?"""

    def edge(part: str, side: int) -> Iterator[tuple[str, float]]:
        """The tokens at the border, and the highest rank until each is merged on."""
        yield part, math.inf
        while part in own:
            yield own[part][side], last_rank[part]
            part = own[part][side]

    return any(
        0 <= ranks.get(left + right, -1) <= min(left_until, right_until)
        for left, left_until in edge(pair[0], 1)
        for right, right_until in edge(pair[1], 0)
        if (left, right) != pair
    )


def delayed_tokens(vocabulary: Vocabulary) -> list[str]:
    """Tokens of a `concat` vocabulary that make one of a *lower* rank, which is due as soon as they
    are merged. subword-nmt first merges the pair in all other places."""
    ranks = mergeable(vocabulary)
    return sorted(
        {
            part
            for text, pair in last_pairs(vocabulary).items()
            for part in pair
            if ranks[part] > ranks[text]
        }
    )


@dataclass(frozen=True)
class Check:
    """How many words of a text a toolkit encodes differently from volt."""

    types: int
    types_of: int
    words: int
    words_of: int

    def __str__(self) -> str:
        return (
            f"{self.types:,} of {self.types_of:,} word types "
            f"({self.words:,} of {self.words_of:,} words)"
        )


def check_rule(vocabulary: Vocabulary, counts: WordCounts, rule: MergeRule) -> Check:
    """Encode the words under both rules."""
    other = replace(vocabulary, merge_rule=rule)
    ids, offsets = Tokenizer(vocabulary).encode_words(counts)
    other_ids, other_offsets = Tokenizer(other).encode_words(counts)
    bounds, other_bounds = offsets.tolist(), other_offsets.tolist()
    differing = [
        word
        for word in range(len(counts))
        if not np.array_equal(
            ids[bounds[word] : bounds[word + 1]],
            other_ids[other_bounds[word] : other_bounds[word + 1]],
        )
    ]
    return _tally(counts, differing)


def check_delayed(vocabulary: Vocabulary, counts: WordCounts) -> Check:
    """Encode the words that contain a delayed token as subword-nmt does, which joins one pair in
    all places of the word before it looks for the next."""
    marks = vocabulary.marks
    suspects = [marks.strip(text) for text in delayed_tokens(vocabulary)]
    ranks = mergeable(vocabulary)
    order = {pair: number for number, pair in enumerate(all_pairs(vocabulary))}
    differing = []
    for number, word in enumerate(counts.words if suspects else []):
        if not any(text in word for text in suspects):
            continue
        # A character that is not in the vocabulary is in none of its tokens and joins nothing.
        symbols = marks.symbols(marks.spell(word, ends=True)[0])
        tokens = symbols
        while due := [pair for pair in pairwise(tokens) if pair in order]:
            tokens = _join(tokens, min(due, key=lambda pair: order[pair]))
        if tokens != merge_symbols(symbols, ranks):
            differing.append(number)
    return _tally(counts, differing)


def _join(tokens: list[str], pair: Pair) -> list[str]:
    """Join the pair wherever it occurs, from left to right."""
    out: list[str] = []
    place = 0
    while place < len(tokens):
        found = (tokens[place], *tokens[place + 1 : place + 2]) == pair
        out.append("".join(pair) if found else tokens[place])
        place += 2 if found else 1
    return out


def _tally(counts: WordCounts, differing: list[int]) -> Check:
    numbers = counts.counts // np.uint64(counts.unit)
    return Check(len(differing), len(counts), int(numbers[differing].sum()), int(numbers.sum()))
