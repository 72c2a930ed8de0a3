"""Transport that selects, slowly: the twin of src/core/choosing/selection_*.cpp.

A word is a string of symbols; a set of longer tokens is given as strings too. Every symbol is a
token.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

Edge = tuple[int, int, str]
"""Begin, end and text of a token in a word."""


def edges(word: str, tokens: Collection[str]) -> list[Edge]:
    """The tokens of two symbols or more that a word contains, by begin, then by end."""
    places = [(i, j) for i in range(len(word)) for j in range(i + 2, len(word) + 1)]
    return [(i, j, word[i:j]) for i, j in places if word[i:j] in tokens]


def shortest(word: str, costs: Mapping[Edge, float]) -> float:
    """The cheapest way from the start of a word to its end; a symbol costs 1."""
    best = [0.0] + [float("inf")] * len(word)
    for end in range(1, len(word) + 1):
        into = [best[i] + cost for (i, j, _), cost in costs.items() if j == end]
        best[end] = min([best[end - 1] + 1, *into])
    return best[-1]


def fewest(word: str, tokens: Collection[str]) -> int:
    """The fewest tokens that a word can be cut into."""
    return int(shortest(word, dict.fromkeys(edges(word, tokens), 1.0)))


def total(words: Mapping[str, int], tokens: Collection[str]) -> int:
    """The fewest tokens that all words can be cut into."""
    return sum(count * fewest(word, tokens) for word, count in words.items())


def weighted(
    words: Mapping[str, int], candidates: Collection[str]
) -> list[tuple[str, int, frozenset[str]]]:
    """What a search goes by: words, weights, and the candidates that each may use.

    Of every count, up to 3/4 of an occurrence goes to a second copy of the word, which stands for
    words not seen yet: it may use only candidates that two words or more contain.
    """
    shared = frozenset(one for one in candidates if sum(one in word for word in words) > 1)
    seen = [(word, 4 * count - 3, frozenset(candidates)) for word, count in words.items()]
    return [*seen, *((word, 3, shared) for word in words)]


def value(words: Mapping[str, int], candidates: Collection[str], tokens: Collection[str]) -> int:
    """The sum that a search makes small."""
    return sum(
        weight * fewest(word, allowed & set(tokens))
        for word, weight, allowed in weighted(words, candidates)
    )


def loss(
    words: Mapping[str, int], candidates: Collection[str], tokens: Collection[str], token: str
) -> int:
    """What removing a token adds to the value."""
    less = set(tokens) - {token}
    return value(words, candidates, less) - value(words, candidates, tokens)


def prune(
    words: Mapping[str, int], candidates: Collection[str], tokens: Collection[str], size: int
) -> list[tuple[str, int]]:
    """The tokens that a search removes, and their losses. A loss is computed again when it seems
    to be the smallest; if it has grown, the token waits. Ties: the later candidate."""
    order = {one: number for number, one in enumerate(candidates)}
    kept = {one: loss(words, candidates, tokens, one) for one in tokens}
    removed: list[tuple[str, int]] = []
    while len(kept) > size:
        token = min(kept, key=lambda one: (kept[one], -order[one]))
        now = loss(words, candidates, kept, token)
        if now > kept[token]:
            kept[token] = now
            continue
        del kept[token]
        removed.append((token, now))
    return removed


def best(words: Mapping[str, int], candidates: Collection[str], size: int) -> int:
    """The fewest tokens that any set of this many candidates needs: all sets are tried."""
    size = min(size, len(candidates))
    return min(total(words, chosen) for chosen in combinations(sorted(candidates), size))


def dual(
    words: Mapping[str, int],
    prices: Mapping[tuple[str, Edge], float],
    size: int,
) -> float:
    """D(l): a lower bound of `best`, for any prices of at least 0 on the edges of each word."""
    paths, sums = 0.0, dict[str, float]()
    for word, count in words.items():
        mine = {edge: price for (of, edge), price in prices.items() if of == word}
        paths += count * shortest(word, {edge: 1 + price for edge, price in mine.items()})
        for (_, _, token), price in mine.items():
            sums[token] = sums.get(token, 0.0) + count * price
    return paths - sum(sorted(sums.values(), reverse=True)[:size])
