"""Text becomes tokens.

The text is cut at the names of symbols and special tokens, and between them into words. Each word
is spelled in characters; then neighbours are merged, the merge with the lowest rank first. Merged
tokens that are not in the vocabulary are split again.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from volt.reference import look_up, words

if TYPE_CHECKING:
    from volt.tokenizing.vocabulary import Vocabulary


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
    """The tokens of a text."""
    # 1. Cut at names; the longest name wins.
    names = {*vocabulary.of_kind("symbol"), *allowed_special}
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in longest_first)
    pieces = re.split(f"({pattern})", text) if names else [text]
    if vocabulary.look_up is not None:
        return look_up.encode_pieces(pieces, names, vocabulary)
    tokens: list[str] = []
    words_before = 0
    spelled = {token.text for token in vocabulary.tokens if token.kind not in ("special", "symbol")}
    for i, piece in enumerate(pieces):
        if piece in names:
            tokens.append(piece)
            continue
        # 2. Each word by itself: spell it, merge, split what is not in the vocabulary.
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


# ------------------------------------------------------------------------------- words and symbols


WORD_ENDS = {"kinds": words.metaspace, "spaces": words.spaced, "runs": words.space_runs}


def spelled_words(piece: str, vocabulary: Vocabulary, at_start: bool) -> list[list[Node]]:
    """The words of a piece of text, as symbols. In metaspace mode a space is added before the start
    of the text; a `▁` of the text is a word by itself, of one unknown character."""
    pretokenizer = vocabulary.rule.pretokenizer
    if pretokenizer != "metaspace":
        return [spell_known(word, vocabulary) for word in words.words_of(piece, pretokenizer)]
    at_start = at_start and vocabulary.space_first
    found: list[list[Node]] = []
    for i, part in enumerate(piece.split("▁")):
        if i > 0:
            found.append(spell_unknown("▁", vocabulary))
        cut = WORD_ENDS[vocabulary.word_ends](part)
        if part and (i > 0 or not at_start):
            cut[0] = cut[0].removeprefix("▁")  # no space was added here
        if i == 0 and at_start and not part and piece:
            cut = ["▁"]
        found += [spell_known(word, vocabulary) for word in cut if word]
    return found


def spell_known(word: str, vocabulary: Vocabulary) -> list[Node]:
    """The characters of a word, written as in the tokens."""
    known = set(vocabulary.of_kind("character"))
    if vocabulary.rule.mode.byte_level:
        return [Node(words.byte_letter(byte)) for byte in word.encode()]
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
    """Byte tokens, or `<unk>`. They merge with nothing."""
    if vocabulary.unknown == "unk":
        return [Node("<unk>", merges=False)]
    return [Node(f"<0x{byte:02X}>", merges=False) for byte in character.encode()]


# ---------------------------------------------------------------------------------- merge and split

Ranks = dict[tuple[str, str] | str, int]


@functools.lru_cache(1)
def merge_ranks(vocabulary: Vocabulary) -> Ranks:
    """The rank of a merge, by its two parents (`pairs`) or by the text it makes (`concat`)."""
    pool = vocabulary.pool
    if vocabulary.merge_rule == "concat":
        return {token.text: token.rank for token in pool if token.parents}
    return {
        (pool[token.parents[0]].text, pool[token.parents[1]].text): token.rank
        for token in pool
        if token.parents
    }


def merge_symbols(symbols: list[Node], vocabulary: Vocabulary, skips: Iterator[bool]) -> list[Node]:
    """Merge neighbours while any can merge: the lowest rank first, leftmost on a tie."""
    ranks = merge_ranks(vocabulary)

    def rank_of(left: Node, right: Node) -> int | None:
        if not (left.merges and right.merges):
            return None
        # The keys are either all pairs or all texts.
        return ranks.get((left.text, right.text), ranks.get(left.text + right.text))

    nodes = list(symbols)
    while True:
        possible = sorted(
            (rank, i)
            for i, (left, right) in enumerate(pairwise(nodes))
            if (rank := rank_of(left, right)) is not None
        )
        # Dropout: each possible merge is skipped at random, with new draws at every step.
        chosen = next((i for _, i in possible if not next(skips)), None)
        if chosen is None:
            return nodes
        left, right = nodes[chosen : chosen + 2]
        nodes[chosen : chosen + 2] = [Node(left.text + right.text, (left, right))]


def split(node: Node, visible: set[str]) -> list[str]:
    """Split a token that is not in the vocabulary into those it was merged from."""
    if node.text in visible or node.parts is None:
        return [node.text]
    left, right = node.parts
    return split(left, visible) + split(right, visible)


def draws(seed: int, line: int, word: int) -> Iterator[float]:
    """Random numbers between 0 and 1 (splitmix64) that depend on the seed, the number of the line,
    and the number of the word in the line."""
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
