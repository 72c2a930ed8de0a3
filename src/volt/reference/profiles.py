"""The profiles `literal` and `released`, one size at a time, from words that reference BPE has cut.
`volt.choosing.profiles.literal` and `volt.choosing.profiles.released` say what they are.

>>> found = bpe({"low": 2, "lower": 1}, "whitespace", merges=2)
>>> token_counts(found, {"low": 2, "lower": 1})
{'low</w>': 2, 'lo': 1, 'w': 1, 'e': 1, 'r</w>': 1}
>>> character_counts({"low": 2, "lower": 1})
{'l': 3, 'o': 3, 'w': 3, 'e': 1, 'r': 1}
>>> containing_counts(["lo", "w</w>"], {"low</w>": 2, "lo": 1})
[3, 2]
"""

from __future__ import annotations

import math
from collections import Counter

from volt.reference.merges import Merges, bpe, token_frequencies
from volt.reference.transport import token_half_step

__all__ = ["bpe", "character_counts", "containing_counts", "literal", "released", "token_counts"]


def token_counts(found: Merges, counts: dict[str, int]) -> dict[str, int]:
    """How often each token occurs in the words cut with all merges."""
    return dict(token_frequencies(found.segmentation, counts))


def character_counts(counts: dict[str, int]) -> dict[str, int]:
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    return dict(characters)


# ------------------------------------------------------------------------------------------ literal


def literal(
    tokens: dict[str, int], characters: dict[str, int], epsilon: float, turns: int
) -> dict[str, float]:
    """The mass of each token after so many turns of Algorithm 1, with gamma 1; `tokens` are those
    of T with their counts, some zero."""
    supply = {c: count / sum(characters.values()) for c, count in characters.items()}
    asked = {token: count / sum(tokens.values()) for token, count in tokens.items()}
    texts = {token: token.removesuffix("</w>") for token in tokens}
    column = {c: i for i, c in enumerate(supply)}
    costs = [{column[c]: math.log(len(text)) for c in text} for text in texts.values()]
    lower = [max(share - epsilon, 1e-130) for share in asked.values()]
    upper = [share + epsilon for share in asked.values()]
    potential = [0.0] * len(supply)
    for _ in range(turns):
        plan, _, _ = token_half_step(costs, 1.0, potential, lower, upper)
        factors = []
        for i, share in enumerate(supply.values()):
            factors.append(share / math.fsum(row.get(i, 0.0) for row in plan))
            potential[i] += math.log(factors[i])
    return {
        token: math.fsum(mass * factors[i] for i, mass in row.items())
        for token, row in zip(tokens, plan, strict=True)
    }


# ----------------------------------------------------------------------------------------- released


def containing_counts(texts: list[str], tokens: dict[str, int]) -> list[int]:
    """For each text, the counts of all tokens that contain it."""
    return [sum(count for token, count in tokens.items() if text in token) for text in texts]


def released(
    merges: list[tuple[str, str]], tokens: dict[str, int], characters: dict[str, int]
) -> tuple[list[list[float]], int]:
    """The plan, characters x merges, and how many iterations made it."""
    lines = [f"{left} {right}" for left, right in merges]
    often = {c: count for c, count in characters.items() if count >= 3}
    contained = containing_counts([left + right for left, right in merges], tokens)
    frequency = [1 + count for count in contained]
    a = [count / sum(often.values()) + 1e-4 for count in often.values()]
    b = [f * len(line) / sum(frequency) + 1e-4
         for f, line in zip(frequency, lines, strict=True)]  # fmt: skip
    kernel = [
        [math.exp(-0.001 * j) if c in line else math.exp(-100) for j, line in enumerate(lines)]
        for c in often
    ]
    u, v, iterations = sinkhorn_knopp(kernel, a, b)
    plan = [
        [scale * entry * other for entry, other in zip(row, v, strict=True)]
        for scale, row in zip(u, kernel, strict=True)
    ]
    return plan, iterations


def sinkhorn_knopp(
    kernel: list[list[float]], a: list[float], b: list[float]
) -> tuple[list[float], list[float], int]:
    """500 iterations from a uniform start, or those before a number overflows."""
    u, v = [1 / len(a)] * len(a), [1 / len(b)] * len(b)
    for iteration in range(500):
        before = u, v
        columns = [sum(row[j] * scale for row, scale in zip(kernel, u, strict=True))
                   for j in range(len(b))]  # fmt: skip
        if 0.0 in columns:
            return *before, iteration
        v = [share / column for share, column in zip(b, columns, strict=True)]
        rows = [sum(entry / share * scale for entry, scale in zip(row, v, strict=True))
                for row, share in zip(kernel, a, strict=True)]  # fmt: skip
        if 0.0 in rows:
            return *before, iteration
        u = [1 / row for row in rows]
        if not all(map(math.isfinite, u + v)):
            return *before, iteration
    return u, v, 500
