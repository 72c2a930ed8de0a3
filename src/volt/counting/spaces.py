"""Whether a text has words between spaces. Where it has not, figures per word would say little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNSPACED_BYTES = (
    (0xE0, 0xE0, 0xB8, 0xBF),  # Thai, Lao, Tibetan
    (0xE1, 0xE1, 0x80, 0x82),  # Burmese
    (0xE1, 0xE1, 0x9E, 0x9F),  # Khmer
    (0xE3, 0xE3, 0x81, 0x83),  # Kana
    (0xE3, 0xE3, 0x90, 0xBF),  # Han, here and below
    (0xE4, 0xE9, 0x80, 0xBF),
    (0xF0, 0xF0, 0xA0, 0xB3),
)
"""First and second bytes, from and to, of characters whose script has no spaces between words."""
MOST_UNSPACED = 0.25
"""Of the bytes of a text. With more of them, words between spaces are not counted."""


def unspaced_places(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where UTF-8 has characters of scripts without spaces between words."""
    found = np.zeros(len(text), bool)
    for first, last, low, high in UNSPACED_BYTES:
        leads, after = text[:-1], text[1:]
        found[:-1] |= (first <= leads) & (leads <= last) & (low <= after) & (after <= high)
    return np.flatnonzero(found)


def has_spaces(characters: float, size: float) -> bool:
    """Whether words stand between spaces: so many characters of other scripts, of three bytes each,
    in so many bytes of text."""
    return 3 * characters <= MOST_UNSPACED * size


def spaced(text: bytes) -> bool:
    """The same of a text."""
    return not text or has_spaces(len(unspaced_places(np.frombuffer(text, np.uint8))), len(text))
