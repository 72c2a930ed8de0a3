"""Candidates that are not merged from others.

Any substring of a word may be a candidate. Words are cut with the candidates by looking tokens up
(`look_up`), not by merging. Tokens are tuples of symbols here.
"""

from __future__ import annotations

from collections import Counter

from volt.reference.look_up import longest, unigram
from volt.tokenizing.vocabulary import LookUp

Piece = tuple[str, ...]


def substrings(spelled: dict[str, list[str]], counts: dict[str, int]) -> Counter[Piece]:
    """How often each run of two symbols or more occurs, at any place. No run contains `<unk>`.

    >>> sorted(substrings({"aab": ["a", "a", "b"]}, {"aab": 2}).items())
    [(('a', 'a'), 2), (('a', 'a', 'b'), 2), (('a', 'b'), 2)]
    """
    found: Counter[Piece] = Counter()
    for word, symbols in spelled.items():
        for start in range(len(symbols)):
            for end in range(start + 2, len(symbols) + 1):
                if "<unk>" not in symbols[start:end]:
                    found[tuple(symbols[start:end])] += counts[word]
    return found


def lift_scores(scores: dict[Piece, float]) -> dict[Piece, float]:
    """Raise every token's score to the best sum of scores that its text can be cut into. Then the
    encoder uses every token: of equal sums it takes the single token.

    >>> lift_scores({("a",): -1.0, ("b",): -1.0, ("a", "b"): -5.0})[("a", "b")]
    -2.0
    """
    lifted: dict[Piece, float] = {}
    for token in sorted(scores, key=len):
        best: list[float | None] = [0.0] + [None] * len(token)
        for end in range(1, len(token) + 1):
            sums = [
                before + lifted[token[start:end]]
                for start in range(end)
                if (before := best[start]) is not None and token[start:end] in lifted
            ]
            best[end] = max(sums, default=None)
        cut = best[-1]
        lifted[token] = scores[token] if cut is None else max(scores[token], cut)
    return lifted


def count_pieces(
    spelled: dict[str, list[str]],
    counts: dict[str, int],
    scores: dict[Piece, float],
    encoding: str,
    unknown_score: float,
) -> Counter[Piece | None]:
    """How often each token occurs when the words are cut with these tokens. None counts the unknown
    characters.

    >>> tokens = {("a",): -1.0, ("b",): -1.0, ("a", "a"): -1.5}
    >>> count_pieces({"aab": ["a", "a", "b"]}, {"aab": 2}, tokens, "unigram", -9.0)
    Counter({('a', 'a'): 2, ('b',): 2})
    """
    found: Counter[Piece | None] = Counter()
    for word, symbols in spelled.items():
        # A zero byte, which no text contains, separates the symbols in the tokens' text.
        keyed = ["\0" + symbol for symbol in symbols]
        known = {"".join("\0" + symbol for symbol in token): token for token in scores}
        if encoding == "longest":
            cut = longest(keyed, known, LookUp())
        else:
            by_text = {text: scores[token] for text, token in known.items()}
            cut = unigram(keyed, by_text, float, unknown_score, 0.0)[0]
        for text, _ in cut:
            found[None if text is None else known[text]] += counts[word]
    return found
