"""Words are cut by looking tokens up in them, instead of merging characters.

`longest` takes the longest token that fits, again and again, as WordPiece does. `unigram` takes the
tokens with the highest sum of scores, as SentencePiece does.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from volt.counting.words import PRETOKENIZERS
from volt.reference.words import byte_letter, words_of

if TYPE_CHECKING:
    from volt.tokenizing.vocabulary import LookUp, Vocabulary

LITERAL_MARK = "\ud800"
"""Stands for a `▁` of the text where `▁` means a space. No token contains it."""

Found = list[tuple[str | None, str]]
"""Tokens with the text they stand for. None is an unknown character."""


def encode_pieces(pieces: list[str], names: set[str], vocabulary: Vocabulary) -> list[str]:
    """The tokens of a text that was cut at the names of symbols and special tokens."""
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
        for word in spelled_words(piece, vocabulary, at_start=i == 0):
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


def spelled_words(piece: str, vocabulary: Vocabulary, at_start: bool) -> list[list[str]]:
    """Words as lists of characters, written as in the tokens. In metaspace mode they end at spaces
    only."""
    pretokenizer = vocabulary.rule.pretokenizer
    if PRETOKENIZERS[pretokenizer].byte_level:
        return [[byte_letter(b) for b in word.encode()] for word in words_of(piece, pretokenizer)]
    if pretokenizer == "whitespace":
        found = [list(word) for word in words_of(piece, pretokenizer)]
        if not cast("LookUp", vocabulary.look_up).mark:
            return [[*word[:-1], word[-1] + "</w>"] for word in found]
        return found
    spaced = (" " if at_start and piece and vocabulary.space_first else "") + piece
    runs = vocabulary.word_ends == "runs"
    cut = re.findall("▁| *[^ ▁]+| +" if runs else "▁| [^ ▁]*|[^ ▁]+", spaced)
    return [
        [LITERAL_MARK] if word == "▁" else ["▁" if c == " " else c for c in word] for word in cut
    ]


def longest(word: list[str], known: Collection[str], settings: LookUp) -> Found:
    """The longest token, again and again.

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
    """The tokens with the highest sum of scores, starting from `total`. Of equal sums the one whose
    last token starts first wins. A character that is not a token by itself may be unknown.

    >>> unigram(list("abc"), {"a": -1, "b": -1, "ab": -3, "bc": -1.5}, float, -20, 0.0)
    ([('a', 'a'), ('bc', 'bc')], -2.5)
    """
    # best[end]: the best sum up to this place, where its last token starts, and that token.
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
