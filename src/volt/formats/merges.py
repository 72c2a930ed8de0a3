"""What other toolkits merge, and where that differs from what volt merges (METHOD 6).

Toolkits of rule `pairs` read a list of pairs, the first in the list first. Toolkits of rule
`concat` rank the tokens, and join any two neighbours that make one.

**A token is only ever merged from one pair.** Take two neighbours that make a token. No merge so
far crossed the ends of this stretch of text, and every merge inside it was the first due of all
places, so the first due inside. Hence they are the merges of the same text standing alone, whose
last two tokens are always the same: its *last pair*. So:

- under rule `concat` no pair but the last pair of its token is ever merged. A list that has it, at
  the rank of the token, is exact; whatever other pairs it has;
- a vocabulary of rule `pairs` is encoded alike under `concat` if each token's own pair, that it was
  learned from, is its last pair. This can be seen from the vocabulary, without any text.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from volt.counting.counts import WordCounts
from volt.counting.marks import END_MARK as WORD_FINAL
from volt.counting.words import MergeRule
from volt.proposing.tokens import Token
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

Pair = tuple[str, str]


def mergeable(vocabulary: Vocabulary) -> dict[str, int]:
    """The rank of every token that takes part in merging, hidden ones too; a character's is -1."""
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


def last_pairs(vocabulary: Vocabulary) -> dict[str, Pair]:
    """The pair that each token is merged from under rule `concat`; none if it never is."""
    ranks = mergeable(vocabulary)
    found = {}
    for token in merged_by_rank(vocabulary):
        symbols = merge(spell(token.text, vocabulary.rule.pretokenizer), ranks, fewest=2)
        if len(symbols) == 2:
            found[token.text] = (symbols[0], symbols[1])
    return found


def merge(symbols: list[str], ranks: dict[str, int], fewest: int = 1) -> list[str]:
    """Join neighbours under rule `concat`, the lowest rank first, leftmost on a tie, until `fewest`
    symbols are left or none can be joined. Characters, of rank -1, are not made by joining."""
    symbols = list(symbols)
    while len(symbols) > fewest:
        due = [
            (rank, place)
            for place, (left, right) in enumerate(pairwise(symbols))
            if (rank := ranks.get(left + right, -1)) >= 0
        ]
        if not due:
            break
        _, place = min(due)
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]
    return symbols


def spell(text: str, pretokenizer: str) -> list[str]:
    """The characters of a token; in whitespace mode the mark belongs to the last."""
    if pretokenizer == "whitespace" and text.endswith(WORD_FINAL):
        body = text.removesuffix(WORD_FINAL)
        return [*body[:-1], body[-1:] + WORD_FINAL]
    return list(text)


def all_pairs(vocabulary: Vocabulary) -> list[Pair]:
    """All pairs of tokens that make a token, ordered by the rank of what they make; of these the
    last pair of the token first, since subword-nmt splits a token into the first that is listed."""
    known = mergeable(vocabulary)
    last = last_pairs(vocabulary)
    final = WORD_FINAL if vocabulary.rule.pretokenizer == "whitespace" else None
    pairs: list[Pair] = []
    for token in merged_by_rank(vocabulary):
        found = pairs_for(token.text, known, final)
        pairs += sorted(found, key=lambda pair: pair != last.get(pair[0] + pair[1]))
    return pairs


def pairs_for(text: str, known: Container[str], final: str | None) -> list[Pair]:
    """The pairs of known tokens that make this text."""
    length = len(text) - len(final) if final and text.endswith(final) else len(text)
    cuts = [(text[:cut], text[cut:]) for cut in range(1, length)]
    return [(left, right) for left, right in cuts if left in known and right in known]


def merge_list(vocabulary: Vocabulary) -> list[Pair]:
    """The list for a toolkit of rule `pairs`."""
    return own_pairs(vocabulary) if vocabulary.merge_rule == "pairs" else all_pairs(vocabulary)


# ------------------------------------------------------------------------ differences between rules


def overlapping_tokens(vocabulary: Vocabulary) -> list[str]:
    """Tokens that two overlapping pairs make, as `ab a` and `a ba` in `ab a ba`. By the above, a
    list of all pairs never meets both."""
    pairs = all_pairs(vocabulary)
    left_of: dict[str, set[str]] = {}
    for left, right in pairs:
        left_of.setdefault(left + right, set()).add(left)
    found = (left + right for left, right in pairs if right in left_of[left + right])
    return list(dict.fromkeys(text for text in found if len(left_of[text]) > 1))


def differing_tokens(vocabulary: Vocabulary) -> list[str]:
    """Tokens that rule `concat` merges from another pair than the one they were learned from."""
    last = last_pairs(vocabulary)
    own = own_pairs(vocabulary)
    return [left + right for left, right in own if last.get(left + right) != (left, right)]


def delayed_tokens(vocabulary: Vocabulary) -> list[str]:
    """Tokens of a `concat` vocabulary that make one of a *lower* rank, which is due as soon as one
    of them is merged. subword-nmt first merges the pair in all other places."""
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
    suspects = [text.removesuffix(WORD_FINAL) for text in delayed_tokens(vocabulary)]
    ranks = mergeable(vocabulary)
    order = {pair: number for number, pair in enumerate(all_pairs(vocabulary))}
    differing = []
    for number, word in enumerate(counts.words if suspects else []):
        if not any(text in word for text in suspects):
            continue
        # A character that is not in the vocabulary is in none of its tokens and joins nothing.
        symbols = spell(word + WORD_FINAL, "whitespace")
        tokens = symbols
        while due := [pair for pair in pairwise(tokens) if pair in order]:
            tokens = _join(tokens, min(due, key=lambda pair: order[pair]))
        if tokens != merge(symbols, ranks):
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
