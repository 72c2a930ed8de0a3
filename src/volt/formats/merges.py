"""What other toolkits merge, and where that differs from what volt merges (METHOD 6).

Toolkits of rule `pairs` read a list of pairs, the first in the list first. Toolkits of rule
`concat` rank the tokens, and join any two neighbours that make one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from volt import reference
from volt.candidates import WORD_FINAL
from volt.counts import WordCounts
from volt.tokenizer import Tokenizer
from volt.vocabulary import MergeRule, Token, Vocabulary

Pair = tuple[str, str]


def mergeable(vocabulary: Vocabulary) -> dict[str, int]:
    """The rank of every token that takes part in merging, hidden ones too; a character's is -1."""
    return {
        token.text: token.rank
        for token in vocabulary.pool
        if token.kind in ("character", "merged")
    }  # fmt: skip


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


def all_pairs(vocabulary: Vocabulary) -> list[Pair]:
    """All pairs of tokens that make a token, ordered by the rank of what they make.

    Where two pairs for one token can overlap, `ab a` and `a ba` in `ab a ba`, the one that stands
    on the left comes first, as under rule `concat`.
    """
    known = mergeable(vocabulary)
    final = WORD_FINAL if vocabulary.rule.pretokenizer == "whitespace" else None
    pairs: list[Pair] = []
    for token in merged_by_rank(vocabulary):
        pairs += pairs_for(token.text, known, final)
    return pairs


def pairs_for(text: str, known: Iterable[str], final: str | None) -> list[Pair]:
    """The pairs of known tokens that make this text."""
    length = len(text) - len(final) if final and text.endswith(final) else len(text)

    def pair_at(cut: int) -> list[Pair]:
        pair = (text[:cut], text[cut:])
        return [pair] if pair[0] in known and pair[1] in known else []

    found: list[Pair] = []
    for cut in range(1, length // 2 + 1):
        one = pair_at(cut)
        # The only pair that can overlap with one: that cut at the same distance from the end.
        other = pair_at(length - cut) if 2 * cut < length else []
        other_first = one and other and other[0][1] == one[0][0] and one[0][1] != other[0][0]
        found += other + one if other_first else one + other
    return found


def merge_list(vocabulary: Vocabulary) -> list[Pair]:
    """The list for a toolkit of rule `pairs`."""
    return own_pairs(vocabulary) if vocabulary.merge_rule == "pairs" else all_pairs(vocabulary)


def ambiguous_tokens(vocabulary: Vocabulary, *, one_pair_at_a_time: bool) -> list[str]:
    """Tokens of a `concat` vocabulary whose merges a list of pairs may do in another order.

    1. Two pairs, each of which can overlap with the other on its left (`aa a` and `a aa`).
    2. Tokens that a *lower* rank is made from in another way than it was learned: this lower rank
       is due as soon as one place is merged, before the other places. A list does the places of
       its first pair first; with `one_pair_at_a_time` (subword-nmt) it does all places of a pair.
    """
    known = mergeable(vocabulary)
    pairs_of: dict[str, list[Pair]] = {}
    makes_lower: set[str] = set()
    for left, right in all_pairs(vocabulary):
        rank = known[left + right]
        pairs_of.setdefault(left + right, []).append((left, right))
        makes_lower |= {part for part in (left, right) if known[part] > rank}
    found = []
    for text, pairs in pairs_of.items():
        overlapping = any(a != b and (b, a) in pairs for a, b in pairs)
        if overlapping or (text in makes_lower and (one_pair_at_a_time or len(pairs) > 1)):
            found.append(text)
    return found


def ambiguous_splits(vocabulary: Vocabulary) -> list[str]:
    """Hidden tokens that can be merged from more than one pair.

    volt splits one into the pair it was merged from in this word. SentencePiece takes the last pair
    it saw in the sentence, subword-nmt the one listed last.
    """
    known = mergeable(vocabulary)
    final = WORD_FINAL if vocabulary.rule.pretokenizer == "whitespace" else None
    hidden = [token.text for token in vocabulary.hidden if token.kind == "merged"]
    return [text for text in hidden if len(pairs_for(text, known, final)) > 1]


# -------------------------------------------------------------------------------- a check over text


@dataclass(frozen=True)
class Check:
    """How many words of a text a toolkit encodes otherwise than volt."""

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
    other = replace(vocabulary, merge_rule=rule, self_test=[])
    ids, offsets = Tokenizer(vocabulary).encode_words(counts)
    other_ids, other_offsets = Tokenizer(other).encode_words(counts)
    lengths, other_lengths = np.diff(offsets), np.diff(other_offsets)
    differs = lengths != other_lengths
    words = np.flatnonzero(~differs)
    for word in words.tolist():
        a, b, n = int(offsets[word]), int(other_offsets[word]), int(lengths[word])
        differs[word] = not np.array_equal(ids[a : a + n], other_ids[b : b + n])
    return _tally(counts, np.flatnonzero(differs).tolist())


def check_list(vocabulary: Vocabulary, counts: WordCounts, *, one_pair_at_a_time: bool) -> Check:
    """Encode the words that have an ambiguous token as a list of pairs does."""
    suspects = ambiguous_tokens(vocabulary, one_pair_at_a_time=one_pair_at_a_time)
    order = {pair: number for number, pair in enumerate(all_pairs(vocabulary))}
    differing = []
    for number, word in enumerate(counts.words):
        symbols = reference.spell(word, vocabulary.rule.pretokenizer)
        if vocabulary.rule.pretokenizer == "byte-level":
            symbols = [reference.byte_letter(byte) for byte in word.encode()]
        whole = "".join(symbols)
        if not any(text in whole for text in suspects):
            continue
        nodes = reference.spell_known(word, vocabulary)
        expected = reference.merge_symbols(nodes, vocabulary, iter(lambda: False, None))
        known = [node.text if node.merges else "" for node in nodes]
        found = merge_by_list(known, order, one_pair_at_a_time)
        if found != [node.text if node.merges else "" for node in expected]:
            differing.append(number)
    return _tally(counts, differing)


def merge_by_list(
    symbols: list[str], order: dict[Pair, int], one_pair_at_a_time: bool
) -> list[str]:
    """Merge as toolkits of rule `pairs` do: the pair listed first, leftmost; or all its places."""
    while True:
        due = [pair for pair in pairwise(symbols) if pair in order]
        if not due:
            return symbols
        best = min(due, key=lambda pair: order[pair])
        if one_pair_at_a_time:
            symbols = reference.join(symbols, best)
        else:
            place = list(pairwise(symbols)).index(best)
            symbols = [*symbols[:place], best[0] + best[1], *symbols[place + 2 :]]


def _tally(counts: WordCounts, differing: list[int]) -> Check:
    numbers = counts.counts // np.uint64(counts.unit)
    return Check(
        len(differing), len(counts), int(numbers[differing].sum()), int(numbers.sum())
    )  # fmt: skip
