"""The held-out quality of a vocabulary: an interpolated Kneser-Ney model over the tokens inside
words, fitted to one part of the text and tested on the other."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction

Word = tuple[int, ...]
END = -1
"""The end of a word, predicted like a token."""


class KneserNey:
    """Probabilities are exact fractions.

    >>> model = KneserNey({(1, 2): 3, (1, 3): 1}, rows=10, order=2, ends=True)
    >>> model.probability(2, (1,)), model.probability(3, (1,))
    (Fraction(12567, 22000), Fraction(1567, 22000))
    """

    def __init__(self, train: Mapping[Word, int], rows: int, order: int, ends: bool) -> None:
        self.order, self.ends = order, ends
        self.uniform = Fraction(1, rows + ends)
        # counts[k][context][token], for contexts of k - 1 tokens
        self.counts: list[dict[Word, Counter[int]]] = [{} for _ in range(order + 1)]
        highest: defaultdict[Word, Counter[int]] = defaultdict(Counter)
        for word, count in train.items():
            if count:
                for context, token in self.events(word):
                    highest[context][token] += count
        self.counts[order] = highest
        for k in range(order - 1, 0, -1):
            # Shorter n-grams count how many different tokens stand before them.
            shorter: defaultdict[Word, Counter[int]] = defaultdict(Counter)
            for context, tokens in self.counts[k + 1].items():
                shorter[context[1:]].update(dict.fromkeys(tokens, 1))
            self.counts[k] = shorter
        self.discounts = [Fraction(0), *(_discount(counts) for counts in self.counts[1:])]

    def events(self, word: Word) -> list[tuple[Word, int]]:
        """Every token that is predicted, with its context. Before the word there are start symbols,
        all different."""
        starts = tuple(-2 - place for place in range(self.order - 1))
        padded = (*starts, *word, *([END] if self.ends else []))
        return [
            (padded[place - self.order + 1 : place], padded[place])
            for place in range(self.order - 1, len(padded))
        ]

    def probability(self, token: int, context: Word) -> Fraction:
        """P(token | context), for a context of at most `order - 1` tokens."""
        k = len(context) + 1
        shorter = self.probability(token, context[1:]) if context else self.uniform
        seen = self.counts[k].get(context)
        if not seen:
            return shorter
        discount, total = self.discounts[k], sum(seen.values())
        return max(seen[token] - discount, Fraction(0)) / total + (
            discount * len(seen) / total * shorter
        )

    def loss(self, held: Mapping[Word, int]) -> tuple[float, int]:
        """-ln P of the held-out words in nats, and how many tokens were predicted."""
        terms = [
            -count * math.log(self.probability(token, context))
            for word, count in held.items()
            for context, token in self.events(word)
        ]
        events = sum(count * (len(word) + self.ends) for word, count in held.items())
        return math.fsum(terms), events


def _discount(counts: Mapping[Word, Counter[int]]) -> Fraction:
    """n1 / (n1 + 2 n2), of the n-grams with a count of one and of two; between 0.05 and 0.95."""
    found = Counter(count for tokens in counts.values() for count in tokens.values())
    if not found[1] and not found[2]:
        return Fraction(1, 2)
    share = Fraction(found[1], found[1] + 2 * found[2])
    return min(max(share, Fraction(5, 100)), Fraction(95, 100))
