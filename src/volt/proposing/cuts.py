"""Words cut into tokens at any size: what the held-out quality of a size is measured on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from volt.counting.counts import WordCounts
from volt.counting.marks import SPACE_MARK

Cut = tuple[NDArray[np.uint32], NDArray[np.uint64]]
"""Tokens and offsets: word w is `tokens[offsets[w]:offsets[w + 1]]`."""

Cuts = Callable[[int], Cut]
"""The words of a corpus as tokens, at every row of the candidates' curve.

Tokens are numbered as the candidates are. A character that is not in the alphabet is spelled in
byte tokens, whose numbers start after the last candidate, or it is `<unk>`. If no candidate is
`<unk>`, its number is the first after the candidates.
"""


def text_bytes(words: WordCounts) -> NDArray[np.int64]:
    """The bytes of text that each word stands for. A space counts as one byte, once: it is `▁`, or
    the end of a word where white space is lost, or part of the word itself."""
    text, offsets = words.text, words.offsets.astype(np.int64)
    lengths: NDArray[np.int64] = np.diff(offsets)
    if words.rule.mode.loses_spaces:
        return lengths + 1
    if words.rule.mode.space_before:
        mark = SPACE_MARK.encode()
        starts = np.ones(max(0, len(text) - len(mark) + 1), bool)
        for place, byte in enumerate(mark):
            starts &= text[place : place + len(starts)] == byte
        words_of = np.searchsorted(offsets, np.flatnonzero(starts), "right") - 1
        lengths -= (len(mark) - 1) * np.bincount(words_of, minlength=len(lengths))
    return lengths
