"""Offsets: which characters of a text each token stands for."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from volt.counting.marks import SPACE_MARK
from volt.tokenizing.vocabulary import Vocabulary

Span = tuple[int, int]
NAMES = ("special", "symbol")
"""The kinds of token whose text is a name."""
_BLANK = re.compile(r"[ \t\r\n]")
_SPACE_OR_MARK = re.compile(f"[ {SPACE_MARK}]")


def token_spans(
    vocabulary: Vocabulary,
    pieces: Sequence[bytes],
    text: str,
    ids: list[int],
    allowed: Collection[str],
) -> list[Span]:
    """The span `(start, end)` of each token in the text it was encoded from. `pieces` are the bytes
    of the tokens, `allowed` are the names of special tokens that the text may call."""
    if vocabulary.rule.mode.byte_level:
        return _byte_spans(pieces, text, ids)
    tokens = vocabulary.tokens
    space_before = vocabulary.rule.mode.space_before
    # The space that is added before the text is at -1.
    position = -1 if vocabulary.adds_space and ids and tokens[ids[0]].kind not in NAMES else 0
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
                length = _word_length(vocabulary, text, position)
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
