"""Words become merges: byte-pair encoding, and WordPiece's variant of it.

Every word starts as a list of its characters. The pair of neighbours that occurs most often is
joined everywhere, which makes one new token; then the next pair, and so on.

>>> found = bpe({"low": 2, "lower": 1}, "whitespace", merges=2)
>>> found.merges
[('l', 'o'), ('lo', 'w</w>')]
>>> found.segmentation
{'low': ['low</w>'], 'lower': ['lo', 'w', 'e', 'r</w>']}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from volt.counting.words import PRETOKENIZERS

Segmentation = dict[str, list[str]]
"""Each word and the tokens it is cut into."""


@dataclass
class Merges:
    alphabet: list[str]
    merges: list[tuple[str, str]]
    pair_counts: list[int]
    """How often the pair occurred when it was chosen."""
    merge_counts: list[int]
    """How often it was joined. In `aaa` the pair `aa` occurs twice and is joined once."""
    segmentation: Segmentation
    unknown: str | None


def spell(word: str, pretokenizer: str, alphabet: set[str] | None = None) -> list[str]:
    """The symbols of a word: its characters, the last one with `</w>` in whitespace mode; or its
    bytes. Characters outside the alphabet become `<unk>`."""
    if PRETOKENIZERS[pretokenizer].byte_level:
        return [chr(byte) for byte in word.encode()]
    symbols = [c if alphabet is None or c in alphabet else "<unk>" for c in word]
    if pretokenizer == "whitespace" and symbols[-1] != "<unk>":
        symbols[-1] += "</w>"
    return symbols


def covered(counts: dict[str, int], coverage: float) -> set[str]:
    """The most frequent characters that make up this share of the text. Of equally frequent ones
    the lower code point comes first."""
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for c in word:
            characters[c] += count
    total = sum(characters.values())
    kept: set[str] = set()
    have = 0
    for c, count in sorted(characters.items(), key=lambda item: (-item[1], item[0])):
        if have >= coverage * total:
            break
        kept.add(c)
        have += count
    return kept


def bpe(
    counts: dict[str, int],
    pretokenizer: str,
    merges: int,
    *,
    min_frequency: int = 2,
    max_token_length: int | None = None,
    coverage: float = 1.0,
) -> Merges:
    """Byte-pair encoding. All pairs are counted again before every merge."""
    kept = covered(counts, coverage) if coverage < 1 else None
    segmentation = {word: spell(word, pretokenizer, kept) for word in counts}
    symbols = {symbol for tokens in segmentation.values() for symbol in tokens}
    if PRETOKENIZERS[pretokenizer].byte_level:
        symbols = {chr(byte) for byte in range(256)}
    unknown = kept is not None and "<unk>" in symbols
    alphabet = sorted(symbols - {"<unk>"}, key=lambda s: (s[0], len(s)))
    alphabet += ["<unk>"] if unknown else []
    ids = {symbol: i for i, symbol in enumerate(alphabet)}
    result = Merges(alphabet, [], [], [], segmentation, "<unk>" if unknown else None)

    def allowed(left: str, right: str) -> bool:
        if unknown and "<unk>" in (left, right):
            return False
        length = len((left + right).removesuffix("</w>" if pretokenizer == "whitespace" else ""))
        return max_token_length is None or length <= max_token_length

    for _ in range(merges):
        # 1. Count the pairs.
        pairs: Counter[tuple[str, str]] = Counter()
        for word, tokens in segmentation.items():
            for left, right in pairwise(tokens):
                if allowed(left, right):
                    pairs[left, right] += counts[word]
        if not pairs:
            break
        # 2. Choose: the highest count; then the lower left id; then the lower right id.
        best = min(pairs, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]))
        if pairs[best] < min_frequency:
            break
        # 3. Join the pair in every word.
        merged = 0
        for word, tokens in segmentation.items():
            joined = join(tokens, best)
            merged += counts[word] * (len(tokens) - len(joined))
            segmentation[word] = joined
        ids.setdefault("".join(best), len(ids))
        result.merges.append(best)
        result.pair_counts.append(pairs[best])
        result.merge_counts.append(merged)
    return result


def join(tokens: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """Join the pair wherever it occurs, from left to right.

    >>> join(["a", "a", "a"], ("a", "a"))
    ['aa', 'a']
    """
    out: list[str] = []
    i = 0
    while i < len(tokens):
        if tuple(tokens[i : i + 2]) == pair:
            out.append(tokens[i] + tokens[i + 1])
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def wordpiece(
    counts: dict[str, int],
    spelled: dict[str, list[str]],
    alphabet: Sequence[str],
    merges: int,
    *,
    mark: str = "",
    min_frequency: int = 2,
    max_token_length: int | None = None,
) -> list[tuple[str, str]]:
    """Merges chosen by likelihood: the count of a pair over the product of its tokens' counts. All
    of them are counted again before every merge. `spelled` has the symbols of each word; with the
    mark `##` those after the first start with it.

    >>> wordpiece({"aab": 2, "ab": 1}, {"aab": ["a", "a", "b"], "ab": ["a", "b"]}, "ab", 2)
    [('a', 'b'), ('a', 'ab')]
    """
    segmentation = dict(spelled)
    ids = {symbol: i for i, symbol in enumerate(alphabet)}
    found: list[tuple[str, str]] = []

    def made(left: str, right: str) -> str:
        return left + (right.removeprefix("##") if mark == "##" else right)

    def allowed(left: str, right: str) -> bool:
        if "<unk>" in (left, right):
            return False
        text = made(left, right)
        plain = text
        # Text that looks like a mark does not become a token: two tokens would be written alike.
        if mark == "##":
            if not left.startswith("##") and text.startswith("##"):
                return False
            plain = text.removeprefix("##")
        elif mark == "</w>":
            if not right.endswith("</w>") and text.endswith("</w>"):
                return False
            plain = text.removesuffix("</w>")
        return text != "<unk>" and (max_token_length is None or len(plain) <= max_token_length)

    for _ in range(merges):
        pairs: Counter[tuple[str, str]] = Counter()
        single = token_frequencies(segmentation, counts)
        for word, tokens in segmentation.items():
            for left, right in pairwise(tokens):
                if allowed(left, right):
                    pairs[left, right] += counts[word]
        often = {pair: count for pair, count in pairs.items() if count >= min_frequency}
        if not often:
            break
        # The highest likelihood; then the lower left id; then the lower right id.
        best = min(often, key=lambda pair: (
            -often[pair] / (float(single[pair[0]]) * float(single[pair[1]])),
            ids[pair[0]], ids[pair[1]],
        ))  # fmt: skip
        for word, tokens in segmentation.items():
            joined: list[str] = []
            for token in tokens:
                # A token that this merge just made is not part of the pair.
                if joined and (joined[-1], token) == best:
                    joined[-1] = made(*best)
                else:
                    joined.append(token)
            segmentation[word] = joined
        ids.setdefault(made(*best), len(ids))
        found.append(best)
    return found


def token_frequencies(segmentation: Segmentation, counts: dict[str, int]) -> Counter[str]:
    """How often each token occurs in the words."""
    frequencies: Counter[str] = Counter()
    for word, tokens in segmentation.items():
        for token in tokens:
            frequencies[token] += counts[word]
    return frequencies


def push_down(
    frequencies: dict[str, int], parents: dict[str, tuple[str, str]], inside: set[str]
) -> Counter[str]:
    """Frequencies when only the tokens `inside` and the characters may be used: every other token
    is split into the two it was merged from, starting with the last merge.

    `parents` lists the merged tokens in the order of their merges. All other tokens are characters.

    >>> push_down({"low": 2, "l": 1}, {"lo": ("l", "o"), "low": ("lo", "w")}, {"lo"})
    Counter({'lo': 2, 'w': 2, 'l': 1})
    """
    left = Counter(frequencies)
    for token in reversed(parents):
        if token not in inside:
            count = left.pop(token, 0)
            for parent in parents[token]:
                left[parent] += count
    return +left


def closure(parents: dict[str, tuple[str, str]], tokens: Iterable[str]) -> set[str]:
    """The tokens with everything they are merged from.

    >>> sorted(closure({"lo": ("l", "o"), "low": ("lo", "w")}, ["low"]))
    ['l', 'lo', 'low', 'o', 'w']
    """
    needed: set[str] = set()
    waiting = list(tokens)
    while waiting:
        token = waiting.pop()
        if token not in needed:
            needed.add(token)
            waiting += parents.get(token, ())
    return needed
