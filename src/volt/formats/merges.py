"""Where a toolkit merges differently from the vocabulary, and how many words that changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from volt.counting.counts import WordCounts
from volt.counting.words import MergeRule
from volt.proposing.tokens import NO_TOKEN
from volt.tokenizing.merge_pairs import (
    Pair,
    all_pairs,
    concat_rank,
    last_pairs,
    last_parents,
    merge_symbols,
    mergeable,
)
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary


def differing_tokens(vocabulary: Vocabulary) -> list[str]:
    """Tokens that rule `concat` merges from another pair than the one they were learned from."""
    pool = vocabulary.pool_columns
    learned = pool.parents[:, 0] != NO_TOKEN
    other = np.flatnonzero(learned & (last_parents(vocabulary) != pool.parents).any(axis=1))
    return pool.texts_at(other[np.argsort(pool.ranks[other], kind="stable")].tolist())


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
    return tally(counts, differing)


def check_delayed(vocabulary: Vocabulary, counts: WordCounts) -> Check:
    """Encode the words that contain a delayed token as subword-nmt does, which joins one pair in
    all places of the word before it looks for the next."""
    marks = vocabulary.marks
    suspects = [marks.strip(text) for text in delayed_tokens(vocabulary)]
    rank = concat_rank(mergeable(vocabulary))
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
        if tokens != merge_symbols(symbols, rank):
            differing.append(number)
    return tally(counts, differing)


def _join(tokens: list[str], pair: Pair) -> list[str]:
    """Join the pair wherever it occurs, from left to right."""
    out: list[str] = []
    place = 0
    while place < len(tokens):
        found = (tokens[place], *tokens[place + 1 : place + 2]) == pair
        out.append("".join(pair) if found else tokens[place])
        place += 2 if found else 1
    return out


def tally(counts: WordCounts, differing: list[int]) -> Check:
    """Of words that are given by number."""
    numbers = counts.counts // np.uint64(counts.unit)
    return Check(len(differing), len(counts), int(numbers[differing].sum()), int(numbers.sum()))
