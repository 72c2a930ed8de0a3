"""The part of a text on which volt's encoder is compared with a library: a million characters,
spread over its documents, of the rest the surroundings of every character that is not among them,
and every character between letters, digits and spaces. What a character is to a library, a letter
or a mark, upper case or not, is in tables that differ from library to library; how characters are
merged is seen in far less text.

>>> from volt.foreign.checked_text import CheckedText
>>> text = CheckedText()
>>> text.take("low lower")
>>> text.glance("low lower " * 99 + "slow")
>>> text.texts[0], text.texts[1][-10:]
('low lower', 'lower slow')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

MOST_CHECKED = 1_000_000
"""Characters that are compared in any case."""
AROUND = 40
"""Characters before and after one that was not among these."""
LEAST = 10_000
"""Characters of a document, where there are very many."""
BLOCK = 1 << 20


class CheckedText:
    """What is compared so far."""

    def __init__(self) -> None:
        self.left = MOST_CHECKED
        """Characters that may still be taken."""
        self.texts: list[str] = []
        self._seen = np.zeros(0x110000, bool)

    def take(self, text: str) -> None:
        """Compare on a text."""
        self.texts.append(text)
        self.left -= len(text)
        self._seen[_codes(text)] = True

    def glance(self, text: str) -> None:
        """Compare on the characters of a text that are new, with what stands around them."""
        for start in range(0, len(text), BLOCK):
            codes = _codes(text[start : start + BLOCK])
            new = np.flatnonzero(~self._seen[codes])
            _, first = np.unique(codes[new], return_index=True)
            for at in sorted(new[first].tolist()):
                if not self._seen[codes[at]]:  # by an earlier one of these
                    place = start + at
                    self.take(text[max(0, place - AROUND) : place + AROUND])

    @property
    def probes(self) -> list[str]:
        """Every character beside others."""
        found = (chr(code) for code in np.flatnonzero(self._seen).tolist()
                 if code >= 0x80 and not 0xD800 <= code < 0xE000)  # fmt: skip
        return [f"a{c}b {c} {c}1{c}{c}.{c}" for c in found]

    def share(self, among: int) -> int:
        """The characters that the next of so many documents may have."""
        left = max(0, self.left)
        return max(left // max(1, among), min(left, LEAST))


def checked_texts(texts: Sequence[str]) -> list[str]:
    """The parts of documents that are compared. Of very many documents some are taken."""
    total = sum(map(len, texts))
    step = max(1, min(-(-total // MOST_CHECKED), len(texts) * LEAST // MOST_CHECKED))
    chosen = sorted(texts[::step], key=len)
    found, rest = CheckedText(), []
    for number, text in enumerate(chosen):
        cut = found.share(len(chosen) - number)
        found.take(text[:cut])
        rest += [text[cut:]] if len(text) > cut else []
    rest += [text for number, text in enumerate(texts) if number % step]
    for lot in _lots(rest):
        found.glance(lot)
    return [*found.texts, *found.probes]


def _lots(texts: Iterable[str]) -> Iterator[str]:
    """The texts joined, some at a time: a look at each takes longer than at all of them."""
    lot: list[str] = []
    size = 0
    for text in texts:
        lot.append(text)
        size += len(text)
        if size >= BLOCK:
            yield "\n".join(lot)
            lot, size = [], 0
    if lot:
        yield "\n".join(lot)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
