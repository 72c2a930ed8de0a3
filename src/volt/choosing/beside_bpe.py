"""A selected set beside BPE of the same size, on held-out words: tokens, and bits per byte."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from volt.base.errors import VoltError
from volt.choosing.quality import held_out_bits
from volt.choosing.selection import Selectable
from volt.choosing.splits import Split
from volt.proposing.base import Candidates, marks_word_ends, rows_of, token_set
from volt.proposing.cuts import text_bytes


@dataclass(frozen=True)
class BesideBpe:
    """Both were learned from nine tenths of the counts, and measured on the other tenth."""

    size: int
    """Rows of both."""
    tokens: int
    bpe_tokens: int
    bits: float
    """Per byte."""
    bpe_bits: float

    @property
    def fewer_tokens(self) -> float:
        return 1 - self.tokens / self.bpe_tokens

    @property
    def fewer_bits(self) -> float:
        return 1 - self.bits / self.bpe_bits

    def summary(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "fewer_tokens": self.fewer_tokens,
            "fewer_bits": self.fewer_bits,
        }


def beside_bpe(
    part: Split,
    selected: Selectable,
    merges: Candidates,
    size: int,
    *,
    order: int,
    byte_fallback: bool,
    threads: int,
) -> BesideBpe | None:
    """None where the part of the text is too small for the size, or nothing of it is held out."""
    row = size - int(merges.curve.size[0])
    try:
        chosen = selected.select(size, certify=False).chosen
    except VoltError:
        return None
    if not 0 <= row < len(merges.curve) or rows_of(selected, chosen) != size:
        return None
    inside, ends = token_set(selected, chosen), not marks_word_ends(merges)
    tokens, bits, held_bytes = np.zeros(2, np.int64), np.zeros(2), 0
    for held in part.parts:
        cuts = (
            selected.cut_words(inside, held.words, threads, byte_fallback),
            merges.cuts(held.words, threads, byte_fallback)(row),
        )
        lengths = [np.diff(cut[1].astype(np.int64)) for cut in cuts]
        tokens += [int((one * held.held.astype(np.int64)).sum()) for one in lengths]
        bits += [held_out_bits(held, cut, size, order, ends) for cut in cuts]
        held_bytes += int((text_bytes(held.words).astype(np.uint64) * held.held).sum())
    if not held_bytes or not tokens.all():
        return None
    mine, theirs = (bits / held_bytes).tolist()
    return BesideBpe(size, int(tokens[0]), int(tokens[1]), mine, theirs)
