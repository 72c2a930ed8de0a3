"""Slow, plain twins of the native code, written to be read first. Tests hold the two equal.

>>> words("Hello, world", "metaspace")
['▁Hello', ',', '▁world']
>>> counts = count_words(["low low lower"], "whitespace")
>>> counts
{'low': 2, 'lower': 1}
>>> bpe(counts, "whitespace", merges=2).merges
[('l', 'o'), ('lo', 'w</w>')]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from volt import _core

OTHER, LETTER, MARK, NUMBER, SPACE = range(5)
CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")

# ------------------------------------------------------------------------------------ text -> words


def words(line: str, pretokenizer: str) -> list[str]:
    """Cut one line, without its line end, into words."""
    return {"whitespace": _whitespace, "metaspace": _metaspace, "byte-level": _byte_level}[
        pretokenizer
    ](line)


def _whitespace(line: str) -> list[str]:
    """Runs of anything but space, tab, CR, LF."""
    for blank in "\t\r\n":
        line = line.replace(blank, " ")
    return [word for word in line.split(" ") if word]


def _metaspace(line: str) -> list[str]:
    """A space, the one understood before the line included, is `▁` at the start of the next word;
    a word ends where letters with marks, numbers and all else meet. A `▁` in the text is no word.
    """
    found: list[str] = []
    kind_before = None
    for character in " " + line if line else "":
        kind = {LETTER: "letter", MARK: "letter", NUMBER: "number"}.get(
            _core.unicode_class(ord(character)), "other"
        )
        if character == " ":
            found.append("▁")
            kind_before = "space"
        elif character == "▁":
            kind_before = None
        elif kind_before in (kind, "space"):
            found[-1] += character
            kind_before = kind
        else:
            found.append(character)
            kind_before = kind
    return found


def _byte_level(line: str) -> list[str]:
    r"""GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

    def kind(position: int) -> int:
        found = _core.unicode_class(ord(line[position]))
        return OTHER if found == MARK else found

    def run_end(position: int) -> int:
        end = position
        while end < len(line) and kind(end) == kind(position):
            end += 1
        return end

    found: list[str] = []
    start = 0
    while start < len(line):
        contraction = next((c for c in CONTRACTIONS if line.startswith(c, start)), None)
        body = start + 1 if line[start] == " " else start
        if contraction:
            end = start + len(contraction)
        elif body < len(line) and kind(body) != SPACE:
            end = run_end(body)
        else:
            end = run_end(start)
            if end < len(line) and end - start > 1:
                end -= 1  # white space leaves its last character to the next word
        found.append(line[start:end])
        start = end
    return found


def cut(word: str, max_word_length: int) -> list[str]:
    """A word longer than the maximum becomes several."""
    return [word[i : i + max_word_length] for i in range(0, len(word), max_word_length)]


def lines_of(text: str) -> list[str]:
    """Lines end at LF; a CR before it belongs to the line end. Nothing else ends a line."""
    lines = text.split("\n")
    ended, last = lines[:-1], lines[-1:]
    return [line.removesuffix("\r") for line in ended] + [line for line in last if line]


def count_words(
    lines: Iterable[str], pretokenizer: str, max_word_length: int = 64
) -> dict[str, int]:
    """Word types and counts, most frequent first, equal counts by bytes."""
    counts: Counter[str] = Counter()
    for line in lines:
        for word in words(line, pretokenizer):
            counts.update(cut(word, max_word_length))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].encode())))


# --------------------------------------------------------------------------------- words -> merges

Segmentation = dict[str, list[str]]
"""A word and the tokens it is cut into."""


@dataclass
class Merges:
    alphabet: list[str]
    merges: list[tuple[str, str]]
    pair_counts: list[int]
    merge_counts: list[int]
    segmentation: Segmentation
    unknown: str | None


def spell(word: str, pretokenizer: str, alphabet: set[str] | None = None) -> list[str]:
    """The symbols of a word: characters, the last with `</w>` in whitespace mode; or bytes."""
    if pretokenizer == "byte-level":
        return [chr(byte) for byte in word.encode()]
    symbols = [c if alphabet is None or c in alphabet else "<unk>" for c in word]
    if pretokenizer == "whitespace" and symbols[-1] != "<unk>":
        symbols[-1] += "</w>"
    return symbols


def covered(counts: dict[str, int], coverage: float) -> set[str]:
    """The most frequent characters that make up this share of all; ties: lower code point first."""
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
    """Byte-pair encoding, counting all pairs anew before every merge."""
    kept = covered(counts, coverage) if coverage < 1 else None
    segmentation = {word: spell(word, pretokenizer, kept) for word in counts}
    symbols = {symbol for tokens in segmentation.values() for symbol in tokens}
    if pretokenizer == "byte-level":
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
        pairs: Counter[tuple[str, str]] = Counter()
        for word, tokens in segmentation.items():
            for left, right in pairwise(tokens):
                if allowed(left, right):
                    pairs[left, right] += counts[word]
        if not pairs:
            break
        # The order of merges: highest count; then the lower left id; then the lower right id.
        best = min(pairs, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]))
        if pairs[best] < min_frequency:
            break
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
    """Join the pair wherever it stands, from left to right."""
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


# --------------------------------------------------------------------------------------- the curve


def token_frequencies(segmentation: Segmentation, counts: dict[str, int]) -> Counter[str]:
    frequencies: Counter[str] = Counter()
    for word, tokens in segmentation.items():
        for token in tokens:
            frequencies[token] += counts[word]
    return frequencies


def entropy(frequencies: Iterable[int]) -> float:
    """-sum P ln P over the relative frequencies."""
    used = [f for f in frequencies if f > 0]
    total = sum(used)
    return math.fsum(-f / total * math.log(f / total) for f in used)


def entropy_per_length(frequencies: dict[str, int], length_of: dict[str, int], by: str) -> float:
    """H of Eq. 2, with the mean length over types or over occurrences."""
    used = {token: f for token, f in frequencies.items() if f > 0}
    if not used:
        return 0.0
    if by == "types":
        mean = sum(length_of[token] for token in used) / len(used)
    else:
        mean = sum(f * length_of[token] for token, f in used.items()) / sum(used.values())
    return entropy(used.values()) / mean
