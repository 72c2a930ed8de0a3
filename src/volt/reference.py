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

import functools
import heapq
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from volt import _core
from volt.counting.counts import is_byte_level

if TYPE_CHECKING:
    from volt.tokenizing.tokens import Token
    from volt.tokenizing.vocabulary import LookUp, Vocabulary

OTHER, LETTER, MARK, NUMBER, SPACE = range(5)
CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")

# ------------------------------------------------------------------------------------ text -> words


def words(line: str, pretokenizer: str) -> list[str]:
    """Cut one line, without its line end, into words."""
    rules = {"whitespace": _whitespace, "metaspace": _metaspace, "byte-level": _byte_level}
    return rules[pretokenizer](line) if pretokenizer in rules else _pattern(line, pretokenizer)


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


def _spaced(line: str) -> list[str]:
    """The same, but a word ends before the next space only."""
    return [word.replace(" ", "▁") for word in re.findall(" [^ ]*", " " + line if line else "")]


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


def _pattern(line: str, pretokenizer: str) -> list[str]:
    r"""Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
     ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+

    Qwen 2 has \p{N} for \p{N}{1,3}, GPT-4 (cl100k) \s+$ before \s*[\r\n]+. GPT-4o (o200k) has other
    words of letters, see `_cased_end`, and [\r\n/]* for [\r\n]*.
    """
    cased = pretokenizer.endswith("o200k")
    kinds = [_core.unicode_class(ord(character)) for character in line]
    kinds = [OTHER if kind == MARK else kind for kind in kinds]

    def run_end(start: int, kind: int) -> int:
        return next((i for i in range(start, len(line)) if kinds[i] != kind), len(line))

    def word_end(start: int) -> int:
        """Of the first alternative that there is at this place."""
        body = start + (kinds[start] in (OTHER, SPACE) and line[start] not in "\r\n")
        if cased and (end := _cased_end(line, start, body)) > start:
            return end + _contraction(line, end)
        if not cased and (length := _contraction(line, start)):
            return start + length
        if not cased and (end := run_end(body, LETTER)) > body:
            return end
        if kinds[start] == NUMBER:
            return min(run_end(start, NUMBER), start + (1 if pretokenizer.endswith("qwen2") else 3))
        body = start + (line[start] == " ")
        if (end := run_end(body, OTHER)) > body:
            return len(line) - len(line[end:].lstrip("\r\n/" if cased else "\r\n"))
        end = run_end(start, SPACE)
        if end == len(line) and pretokenizer.endswith("cl100k"):
            return end
        if last := max(line.rfind(c, start, end) + 1 for c in "\r\n"):
            return last
        return end - 1 if start + 1 < end < len(line) else end

    found: list[str] = []
    start = 0
    while start < len(line):
        end = word_end(start)
        found.append(line[start:end])
        start = end
    return found


def _contraction(line: str, start: int) -> int:
    """How long the one that stands here is, in either case; 0 if there is none."""
    lower = line[start : start + 3].lower().replace("ſ", "s")
    return next((len(c) for c in CONTRACTIONS if lower.startswith(c)), 0)


def _cased_end(line: str, start: int, body: int) -> int:
    r"""[^\r\n\p{L}\p{N}]?W*w+|[^\r\n\p{L}\p{N}]?W+w*, where W is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
    and w is [\p{Ll}\p{Lm}\p{Lo}\p{M}]. `body` is behind the one character that may come first.

    A regular expression of Python's own, over letters that stand for the kinds.
    """
    shown = "".join(
        "B" if (kind := _core.unicode_class(ord(character))) == MARK
        else "BUl"[_core.letter_case(ord(character))] if kind == LETTER else "-"
        for character in line[start:]
    )  # fmt: skip
    places = [body - start, 0] if body > start else [0]
    for pattern in ("[UB]*[lB]+", "[UB]+[lB]*"):
        for place in places:
            if found := re.compile(pattern).match(shown, place):
                return start + found.end()
    return start


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


def count_words_in_runs(
    lines: Iterable[str],
    pretokenizer: str,
    max_word_length: int = 64,
    *,
    table: int,
    min_count: int = 1,
    max_types: int | None = None,
) -> list[tuple[str, int]]:
    """The words of a counts file, in its order, from a table that is emptied into a sorted run
    when it has `table` types: what native code does when memory is short."""
    runs: list[list[tuple[bytes, int]]] = []
    counts: dict[str, int] = {}
    for line in lines:
        for word, count in count_words([line], pretokenizer, max_word_length).items():
            counts[word] = counts.get(word, 0) + count
        if len(counts) >= table:
            runs.append(sorted((word.encode(), count) for word, count in counts.items()))
            counts = {}
    runs.append(sorted((word.encode(), count) for word, count in counts.items()))
    merged = [
        (word, sum(count for _, count in same))
        for word, same in groupby(heapq.merge(*runs), key=lambda entry: entry[0])
    ]
    kept = sorted(
        ((word, count) for word, count in merged if count >= min_count),
        key=lambda entry: (-entry[1], entry[0]),
    )
    return [(word.decode(), count) for word, count in kept[:max_types]]


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
    if is_byte_level(pretokenizer):
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
    if is_byte_level(pretokenizer):
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
    """Merges by likelihood, counting all anew before every one. `spelled` are the symbols of each
    word, those inside it with `##` if that is the mark.

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
        # The order of merges: highest likelihood; then the lower left id; then the lower right id.
        best = min(often, key=lambda pair: (
            -often[pair] / (float(single[pair[0]]) * float(single[pair[1]])),
            ids[pair[0]], ids[pair[1]],
        ))  # fmt: skip
        for word, tokens in segmentation.items():
            joined: list[str] = []
            for token in tokens:
                # A token that was just made is no part of the pair.
                if joined and (joined[-1], token) == best:
                    joined[-1] = made(*best)
                else:
                    joined.append(token)
            segmentation[word] = joined
        ids.setdefault(made(*best), len(ids))
        found.append(best)
    return found


def substrings(spelled: dict[str, list[str]], counts: dict[str, int]) -> Counter[tuple[str, ...]]:
    """How often each run of two symbols or more occurs, at any place; not through `<unk>`.

    >>> sorted(substrings({"aab": ["a", "a", "b"]}, {"aab": 2}).items())
    [(('a', 'a'), 2), (('a', 'a', 'b'), 2), (('a', 'b'), 2)]
    """
    found: Counter[tuple[str, ...]] = Counter()
    for word, symbols in spelled.items():
        for start in range(len(symbols)):
            for end in range(start + 2, len(symbols) + 1):
                if "<unk>" not in symbols[start:end]:
                    found[tuple(symbols[start:end])] += counts[word]
    return found


def lift_scores(scores: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    """Raise every token's score to the best sum of scores of its parts, so that it is reached: of
    equal sums the single token is taken. Tokens are runs of symbols.

    >>> lift_scores({("a",): -1.0, ("b",): -1.0, ("a", "b"): -5.0})[("a", "b")]
    -2.0
    """
    lifted: dict[tuple[str, ...], float] = {}
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
    scores: dict[tuple[str, ...], float],
    encoding: str,
    unknown_score: float,
) -> Counter[tuple[str, ...] | None]:
    """How often each token occurs in the words that are cut with these; None is an unknown
    character. Tokens are runs of symbols.

    >>> tokens = {("a",): -1.0, ("b",): -1.0, ("a", "a"): -1.5}
    >>> count_pieces({"aab": ["a", "a", "b"]}, {"aab": 2}, tokens, "unigram", -9.0)
    Counter({('a', 'a'): 2, ('b',): 2})
    """
    from volt.tokenizing.vocabulary import LookUp

    found: Counter[tuple[str, ...] | None] = Counter()
    for word, symbols in spelled.items():
        # Symbols are joined by what is in no text, so that the twins of the encoder can be used.
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


# ------------------------------------------------------------------------------ smaller token sets


def push_down(
    frequencies: dict[str, int], parents: dict[str, tuple[str, str]], inside: set[str]
) -> Counter[str]:
    """Split every token outside the set into the two it was merged from, the latest merge first.

    `parents` lists the merged tokens in the order of their merges; all others are characters.

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
    """The tokens with all that they are made from.

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


# ---------------------------------------------------------------------------------------- transport


def token_half_step(
    costs: Sequence[dict[int, float]],
    gamma: float,
    potential: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[list[dict[int, float]], list[float], list[float]]:
    """The plan, s and m of volt.transport for given character potentials; `costs` has a dictionary
    a token, by character. A potential of -inf: a character without mass."""
    plan, log_sums, masses = [], [], []
    for cost, least, most in zip(costs, lower, upper, strict=True):
        exponents = {i: potential[i] - cost[i] / gamma for i in cost if potential[i] > -math.inf}
        largest = max(exponents.values())
        shares = {
            i: math.exp(max(exponent - largest, _core.SMALLEST_EXPONENT))
            for i, exponent in exponents.items()
        }
        total = sum(shares.values())
        log_sums.append(largest + math.log(total))
        limited = min(max(log_sums[-1], math.log(least)), math.log(most))
        masses.append(math.exp(limited))
        plan.append({i: masses[-1] * shares.get(i, 0.0) / total for i in cost})
    return plan, log_sums, masses


def coupling(
    plan: Sequence[dict[int, float]], weight: Sequence[float], scale: Sequence[float]
) -> list[list[float]]:
    """G of volt.transport, whole: scale_i scale_k sum_j weight_j P_ij P_kj."""
    return [
        [
            at * other * sum(w * row.get(i, 0.0) * row.get(k, 0.0)
                             for w, row in zip(weight, plan, strict=True))
            for k, other in enumerate(scale)
        ]
        for i, at in enumerate(scale)
    ]  # fmt: skip


# ------------------------------------------------------------------------------------- the criteria


def muv(sizes: Sequence[int], entropies: Sequence[float]) -> list[float]:
    """M_t of Eq. 1 at every size but the first, which has none before it.

    >>> muv([10, 20, 40], [3.0, 2.0, 1.0])
    [0.1, 0.05]
    """
    return [
        -(after - before) / (size - smaller)
        for (smaller, size), (before, after) in zip(
            pairwise(sizes), pairwise(entropies), strict=True
        )
    ]


def mdl(frequencies: Sequence[int], size: int, model_width: int) -> float:
    """Bits of the corpus under its unigram code, and d/2 log2(n) bits for each of V tokens."""
    tokens = sum(frequencies)
    code = math.fsum(f * math.log2(tokens / f) for f in frequencies if f)
    return code + 0.5 * model_width * math.log2(tokens) * size


def frequency(frequencies: Sequence[int], size: int) -> float:
    """Share of the V types that are seen at least 100 times."""
    return sum(f >= 100 for f in frequencies) / size


def renyi(frequencies: Sequence[int], size: int) -> float:
    """Rényi entropy of order 2.5 over ln V, the entropy of V equally frequent tokens."""
    tokens = sum(frequencies)
    power = math.fsum((f / tokens) ** 2.5 for f in frequencies)
    return math.log(power) / (1 - 2.5) / math.log(size)


def zipf(frequencies: Sequence[int]) -> float:
    """R^2 of the line of ln f on ln rank. NaN for fewer than three types, or if all are equal."""
    used = sorted((f for f in frequencies if f), reverse=True)
    if len(used) < 3 or used[0] == used[-1]:
        return math.nan
    ranks = [math.log(rank) for rank in range(1, len(used) + 1)]
    return statistics.correlation(ranks, [math.log(f) for f in used]) ** 2


def knee(sizes: Sequence[int], entropies: Sequence[float]) -> list[float]:
    """Distance of each point (ln V, H) from the line through the first and the last, both axes
    scaled to 0..1."""

    def scaled(values: Sequence[float]) -> list[float]:
        low, high = min(values), max(values)
        return [(value - low) / (high - low) if high > low else 0.0 for value in values]

    points = list(zip(scaled([math.log(size) for size in sizes]), scaled(entropies), strict=True))
    (x0, y0), (x1, y1) = points[0], points[-1]
    chord = math.hypot(x1 - x0, y1 - y0) or 1.0
    return [abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) / chord for x, y in points]


# ----------------------------------------------------------------------------------- text -> tokens


@dataclass
class Node:
    """A token in a word, and the two it was merged from in this word."""

    text: str
    parts: tuple[Node, Node] | None = None
    merges: bool = True
    """False for what stands for an unknown character."""


def encode(
    text: str,
    vocabulary: Vocabulary,
    *,
    allowed_special: Iterable[str] = (),
    dropout: float = 0.0,
    seed: int = 0,
    line: int = 0,
) -> list[str]:
    """The tokens of a text: names, and between them words, each merged and split by itself."""
    names = {*vocabulary.of_kind("symbol"), *allowed_special}
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in longest_first)
    pieces = re.split(f"({pattern})", text) if names else [text]
    tokens: list[str] = []
    words_before = 0
    spelled = {token.text for token in vocabulary.tokens if token.kind not in ("special", "symbol")}
    if vocabulary.look_up is not None:
        return _look_up_all(pieces, names, vocabulary)
    for i, piece in enumerate(pieces):
        if piece in names:
            tokens.append(piece)
            continue
        for symbols in spelled_words(piece, vocabulary, at_start=i == 0):
            whole = "".join(node.text for node in symbols)
            if vocabulary.whole_words and not dropout and whole in spelled:
                tokens.append(whole)
                continue
            drawn = draws(seed, line, words_before)
            skips = (number < dropout for number in drawn)
            for node in merge_symbols(symbols, vocabulary, skips):
                tokens += split(node, set(vocabulary.texts))
            words_before += 1
    return tokens


def _look_up_all(pieces: list[str], names: set[str], vocabulary: Vocabulary) -> list[str]:
    """Tokens looked up in words, which end at spaces only in metaspace mode."""
    settings = cast("LookUp", vocabulary.look_up)
    unknown = vocabulary.unknown_token if vocabulary.unknown == "unk" else None
    real = np.float32 if settings.arithmetic == "float32" else np.float64
    kinds = ("character", "piece")
    scores = {token.text: token.score for token in vocabulary.tokens if token.kind in kinds}
    tokens: list[str] = []
    may_fuse = False
    total = real(0)
    for i, piece in enumerate(pieces):
        if piece in names:
            tokens.append(piece)
            may_fuse = False
            total += real(len(piece.encode())) * real(max(scores.values())) - real(0.1)
            continue
        for word in whole_words(piece, vocabulary, at_start=i == 0):
            if settings.restart == "space" and (
                word[0].startswith("▁") or vocabulary.rule.pretokenizer != "metaspace"
            ):
                total = real(0)
            if vocabulary.encoding == "longest":
                known = longest(word, scores, settings)
                if unknown is not None and any(token is None for token, _ in known):
                    known = [(None, "")]
            else:
                known, total = unigram(word, scores, real, settings.unknown_score, total)
            if vocabulary.rule.pretokenizer == "whitespace":
                may_fuse = False
            for token, text in known:
                if token is not None:
                    tokens.append(token)
                elif unknown is None:
                    plain = text.replace("▁", " ").replace(LITERAL_MARK, "▁")
                    tokens += [f"<0x{byte:02X}>" for byte in plain.encode()]
                elif not (vocabulary.fuse_unknown and may_fuse):
                    tokens.append(unknown)
                may_fuse = token is None
    return tokens


LITERAL_MARK = "\ud800"
"""Stands for a `▁` of the text, which is in no token, where `▁` is a space."""


def whole_words(piece: str, vocabulary: Vocabulary, at_start: bool) -> list[list[str]]:
    """Words as lists of characters, as they stand in tokens."""
    pretokenizer = vocabulary.rule.pretokenizer
    if is_byte_level(pretokenizer):
        return [[byte_letter(b) for b in word.encode()] for word in words(piece, pretokenizer)]
    if pretokenizer == "whitespace":
        found = [list(word) for word in words(piece, pretokenizer)]
        if not cast("LookUp", vocabulary.look_up).mark:
            return [[*word[:-1], word[-1] + "</w>"] for word in found]
        return found
    spaced = (" " if at_start and piece else "") + piece
    cut = re.findall("▁| [^ ▁]*|[^ ▁]+", spaced)
    return [
        [LITERAL_MARK] if word == "▁" else ["▁" if c == " " else c for c in word] for word in cut
    ]


Found = list[tuple[str | None, str]]
"""Tokens with their text; None for what is unknown."""


def longest(word: list[str], known: Collection[str], settings: LookUp) -> Found:
    """The longest token again and again (WordPiece).

    >>> from volt.tokenizing.vocabulary import LookUp
    >>> longest(list("lower"), {"l", "low", "##er", "##e", "##r"}, LookUp(mark="##"))
    [('low', 'low'), ('##er', 'er')]
    """
    if settings.longest_word and len(word) > settings.longest_word:
        return [(None, "")]
    found: Found = []
    start = 0
    while start < len(word):
        mark = settings.mark if start else ""
        ends = range(len(word), start, -1)
        texts = {end: mark + "".join(word[start:end]) for end in ends}
        end = next((end for end in ends if texts[end] in known), None)
        if end is None:
            end = start + 1
            found.append((None, word[start]))
        else:
            found.append((texts[end], "".join(word[start:end])))
        start = end
    return found


def unigram(
    word: list[str], scores: dict[str, float], real: Any, unknown_score: float, total: Any
) -> tuple[Found, Any]:
    """The tokens with the highest sum of scores; of equal sums the one whose last token starts
    first. A character that is no token may be unknown.

    >>> unigram(list("abc"), {"a": -1, "b": -1, "ab": -3, "bc": -1.5}, float, -20, 0.0)
    ([('a', 'a'), ('bc', 'bc')], -2.5)
    """
    best: list[tuple[Any, int, str | None] | None] = [(total, 0, None)] + [None] * len(word)
    for start in range(len(word)):
        for end in range(start + 1, len(word) + 1):
            token: str | None = "".join(word[start:end])
            if token in scores:
                score = scores[token]
            elif end == start + 1:
                token, score = None, unknown_score
            else:
                continue
            before, so_far = best[start], best[end]
            sum_of_scores = real(score) + cast(Any, before)[0]
            if so_far is None or sum_of_scores > so_far[0]:
                best[end] = (sum_of_scores, start, token)
    found: Found = []
    end = len(word)
    while end > 0:
        _, start, token = cast(tuple[Any, int, str | None], best[end])
        found.append((token, "".join(word[start:end])))
        end = start
    return found[::-1], cast(Any, best[-1])[0]


def spelled_words(piece: str, vocabulary: Vocabulary, at_start: bool) -> list[list[Node]]:
    """The words of a piece of text, in symbols. In metaspace mode a space is understood before the
    start of the text; a `▁` in the text is a word by itself, of one unknown character."""
    pretokenizer = vocabulary.rule.pretokenizer
    if pretokenizer != "metaspace":
        return [spell_known(word, vocabulary) for word in words(piece, pretokenizer)]
    found: list[list[Node]] = []
    for i, part in enumerate(piece.split("▁")):
        if i > 0:
            found.append(spell_unknown("▁", vocabulary))
        cut = _metaspace(part) if vocabulary.word_ends == "kinds" else _spaced(part)
        if part and (i > 0 or not at_start):
            cut[0] = cut[0].removeprefix("▁")  # no space here
        if i == 0 and at_start and not part and piece:
            cut = ["▁"]
        found += [spell_known(word, vocabulary) for word in cut if word]
    return found


def spell_known(word: str, vocabulary: Vocabulary) -> list[Node]:
    known = set(vocabulary.of_kind("character"))
    if is_byte_level(vocabulary.rule.pretokenizer):
        return [Node(byte_letter(byte)) for byte in word.encode()]
    symbols: list[Node] = []
    for i, character in enumerate(word):
        final = vocabulary.rule.pretokenizer == "whitespace" and i == len(word) - 1
        symbol = character + "</w>" if final else character
        if symbol in known:
            symbols.append(Node(symbol))
        else:
            is_space = vocabulary.rule.pretokenizer == "metaspace" and character == "▁"
            symbols += spell_unknown(" " if is_space else character, vocabulary)
    return symbols


def spell_unknown(character: str, vocabulary: Vocabulary) -> list[Node]:
    """Byte tokens, or `<unk>`; they merge with nothing."""
    if vocabulary.unknown == "unk":
        return [Node("<unk>", merges=False)]
    return [Node(f"<0x{byte:02X}>", merges=False) for byte in character.encode()]


def byte_letter(byte: int) -> str:
    """GPT-2's letter of a byte: the printing ones are themselves."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in printing:
        return chr(byte)
    return chr(0x100 + [other for other in range(256) if other not in printing].index(byte))


Ranks = dict[tuple[str, str] | str, int]


@functools.lru_cache(1)
def merge_ranks(vocabulary: Vocabulary) -> Ranks:
    """The rank of a merge, by its two parents (`pairs`) or by what it makes (`concat`)."""
    pool = vocabulary.pool
    if vocabulary.merge_rule == "concat":
        return {token.text: token.rank for token in pool if token.parents}
    return {
        (pool[token.parents[0]].text, pool[token.parents[1]].text): token.rank
        for token in pool
        if token.parents
    }


def merge_symbols(symbols: list[Node], vocabulary: Vocabulary, skips: Iterator[bool]) -> list[Node]:
    """Merge neighbours while any may merge: the lowest rank first, leftmost on a tie."""
    ranks = merge_ranks(vocabulary)

    def rank_of(left: Node, right: Node) -> int | None:
        if not (left.merges and right.merges):
            return None
        # The table has keys of one kind only.
        return ranks.get((left.text, right.text), ranks.get(left.text + right.text))

    nodes = list(symbols)
    while True:
        possible = sorted(
            (rank, i)
            for i, (left, right) in enumerate(pairwise(nodes))
            if (rank := rank_of(left, right)) is not None
        )
        # Dropout: each is skipped at random, at every step anew.
        chosen = next((i for _, i in possible if not next(skips)), None)
        if chosen is None:
            return nodes
        left, right = nodes[chosen : chosen + 2]
        nodes[chosen : chosen + 2] = [Node(left.text + right.text, (left, right))]


def split(node: Node, visible: set[str]) -> list[str]:
    """Break a token that is not in the vocabulary into those it was merged from."""
    if node.text in visible or node.parts is None:
        return [node.text]
    left, right = node.parts
    return split(left, visible) + split(right, visible)


def draws(seed: int, line: int, word: int) -> Iterator[float]:
    """Numbers between 0 and 1 (splitmix64) for the word of this number in this line."""
    golden, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1

    def step(x: int) -> int:
        x = (x + golden) & mask
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
        return x ^ x >> 31

    state = step(step(step(seed) ^ line) ^ word)
    while True:
        yield (step(state) >> 11) * 2.0**-53
        state = (state + golden) & mask


# ------------------------------------------------------------------------------ tokens -> volt.json


def token_rows(tokens: Iterable[Token], scored: bool) -> str:
    """The tokens as JSON objects, a line each."""
    rows: list[str] = []
    for number, token in enumerate(tokens):
        row: dict[str, Any] = {"id": number, "text": token.text, "kind": token.kind}
        if token.parents is not None:
            row |= {"parents": list(token.parents), "rank": token.rank}
        if scored and token.kind in ("character", "merged", "piece"):
            row["score"] = token.score
        if token.scaffold:
            row["scaffold"] = True
        rows.append(json.dumps({**row, "frequency": token.frequency}, ensure_ascii=False))
    return ",\n".join(rows)
