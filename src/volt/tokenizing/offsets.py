"""Offsets: which characters of a text each token stands for, and which of its words it is in."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

import numpy as np

from volt.counting.marks import SPACE_MARK
from volt.tokenizing.vocabulary import Vocabulary

Span = tuple[int, int]
NAMES = ("special", "symbol")
"""The kinds of token whose text is a name."""
_BLANK = re.compile(r"[ \t\r\n]")
_SPACE_OR_MARK = re.compile(f"[ {SPACE_MARK}]")
_NOT_BLANK = re.compile(r"[^ \t\r\n]+")


def token_spans(
    vocabulary: Vocabulary,
    pieces: Sequence[bytes],
    text: str,
    ids: list[int],
    allowed: Collection[str],
    parts: Sequence[str],
) -> list[Span]:
    """The span `(start, end)` of each token in the text it was encoded from. `pieces` are the bytes
    of the tokens, `allowed` are the names of special tokens that the text may call. `parts` are the
    parts of the text: text and names in turn."""
    if vocabulary.rule.mode.byte_level:
        return _byte_spans(pieces, text, ids)
    tokens = vocabulary.tokens
    space_before = vocabulary.rule.mode.space_before
    # The space that is added before the text is at -1.
    position = -1 if vocabulary.adds_space and ids and tokens[ids[0]].kind not in NAMES else 0
    ends = list(accumulate(map(len, parts)))
    bytes_left = 0  # of a character that is spelled in byte tokens
    spans = []
    for token_id in ids:
        token = tokens[token_id]
        if not space_before:
            while text[position] in " \t\r\n":
                position += 1
        length = 1
        if token.kind in NAMES:
            # The unknown token stands for one character, unless it was called by its name.
            if token.kind == "symbol" or (
                token.text in allowed and text.startswith(token.text, position)
            ):
                length = len(token.text)
            elif vocabulary.encoding == "longest":
                end = ends[bisect_right(ends, max(position, 0))]  # a name ends a word, too
                length = min(_word_length(vocabulary, text, position), end - position)
        elif token.kind == "byte":
            if bytes_left == 0:
                bytes_left = len(text[position].encode()) if position >= 0 else 1
            bytes_left -= 1
            length = int(bytes_left == 0)
        else:
            length = len(pieces[token_id].decode())
        end = position + length
        spans.append((max(position, 0), max(end, 0) + int(length == 0)))
        position = end
    return spans


def _byte_spans(pieces: Sequence[bytes], text: str, ids: list[int]) -> list[Span]:
    data = np.frombuffer(text.encode(), np.uint8)
    character_of = (np.cumsum((data & 0xC0) != 0x80) - 1).tolist()
    spans = []
    end = 0
    for token in ids:
        start, end = end, end + len(pieces[token])
        spans.append((character_of[start], character_of[end - 1] + 1))
    return spans


def _word_length(vocabulary: Vocabulary, text: str, position: int) -> int:
    """The length of the word that starts here: `longest` takes all of it for unknown."""
    if vocabulary.rule.mode.loses_spaces:
        found = _BLANK.search(text, position)
        return (found.start() if found else len(text)) - position
    start = max(position, 0)
    if text.startswith(SPACE_MARK, start):
        return 1
    found = _SPACE_OR_MARK.search(text, start + (position == start))
    return (found.start() if found else len(text)) - position


def fused(ids: list[int], spans: list[Span], unknown: int | None) -> tuple[list[int], list[Span]]:
    """Join unknown tokens that touch into one."""
    fused_ids: list[int] = []
    fused_spans: list[Span] = []
    for token, (start, end) in zip(ids, spans, strict=True):
        if fused_ids and token == fused_ids[-1] == unknown and fused_spans[-1][1] == start:
            fused_spans[-1] = (fused_spans[-1][0], end)
        else:
            fused_ids.append(token)
            fused_spans.append((start, end))
    return fused_ids, fused_spans


def word_numbers(vocabulary: Vocabulary, parts: Sequence[str], spans: list[Span]) -> list[int]:
    """The number of the word that each token is in, as Hugging Face counts words. Every other one
    of `parts` is a name, which is a word of its own."""
    starts: list[int] = []
    position = 0
    for i, part in enumerate(parts):
        found = [0] if i % 2 else _word_starts(vocabulary, part)
        starts += [position + start for start in found]
        position += len(part)
    doubled = vocabulary.adds_space and parts[0].startswith((" ", SPACE_MARK))
    if doubled and vocabulary.word_ends != "runs":
        # A space that is added before a space is a word by itself, and the first token.
        return [0, *(bisect_right(starts, start) for start, _ in spans[1:])]
    return [bisect_right(starts, start) - 1 for start, _ in spans]


def _word_starts(vocabulary: Vocabulary, text: str) -> Iterator[int]:
    """Where the words of a text without names start."""
    mode = vocabulary.rule.mode
    if mode.loses_spaces:
        yield from (match.start() for match in _NOT_BLANK.finditer(text))
    elif mode.space_before:
        if text:
            yield 0
        if vocabulary.word_ends != "runs":
            yield from (match.start() for match in _SPACE_OR_MARK.finditer(text, 1))
    else:
        position = 0
        for word in mode.words(text):
            yield position
            position += len(word)
