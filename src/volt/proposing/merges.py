"""Candidates with parents: the record of a run of merges.

Push-down gives the frequencies of a smaller set exactly, without the text. A candidate that is not
in the set is split into the two it was merged from and hands its count to them; one walk over the
merges, from the last to the first, does it for all. Characters are conserved: the sum of frequency
times length stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import SettingsError, VoltError
from volt.counting.counts import WordCounts
from volt.counting.words import WordRule
from volt.proposing.base import (
    Entries,
    Frequencies,
    Ids,
    Mask,
    Rank,
    SetFrequencies,
    token_set,
)
from volt.proposing.curve import FREQUENT, Curve
from volt.proposing.cuts import Cuts
from volt.proposing.tokens import NO_TOKEN, Tokens

MergeEncoding = Literal["merge", "split"]
OTHER = np.uint32(0xFFFFFFFF)
"""What native code calls a symbol that is not a character."""


@dataclass(frozen=True, eq=False)
class MergeCandidates:
    """The result of one BPE run, or of another source whose tokens are merged from two others.

    Merge m joins `left[m]` and `right[m]` into token `alphabet_size + m`. No two merges make the
    same text (src/core/proposing/merge.cpp says why), so a token has one pair of parents.
    """

    rule: WordRule
    tokens: list[str] = field(repr=False)
    """With marks: `▁` for a space, `</w>` at the end of a word, GPT-2's letters for bytes."""
    lengths: NDArray[np.uint32] = field(repr=False)
    """Characters of text in each token (bytes in byte-level mode); a mark that is not text is 0."""
    alphabet_counts: NDArray[np.uint64] = field(repr=False)
    left: NDArray[np.uint32] = field(repr=False)
    right: NDArray[np.uint32] = field(repr=False)
    pair_counts: NDArray[np.uint64] = field(repr=False)
    """How often the pair stood side by side when it was chosen: what BPE ranks by."""
    merge_counts: NDArray[np.uint64] = field(repr=False)
    """How often it was merged: less than `pair_counts` only where pairs overlap, as in `aaa`."""
    unknown: int | None = None
    left_out: int = 0
    """How many different characters were left out of the alphabet."""
    unit: int = 1
    encoding: MergeEncoding = "merge"
    fixed_rows: int = 0
    messages: tuple[str, ...] = ()
    whole_words: NDArray[np.uint64] | None = field(default=None, repr=False)
    """How many of the running words are this token and nothing else; not saved."""

    exact = True

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        made = f"{self.merges:,} merges, {self.alphabet_size:,} characters"
        return f"<{type(self).__name__}: {made}, {self.rule.pretokenizer}>"

    @property
    def merges(self) -> int:
        return len(self.left)

    @property
    def alphabet_size(self) -> int:
        return len(self.alphabet_counts)

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        frequency = np.concatenate([self.alphabet_counts, self.merge_counts]).astype(np.int64)
        for parents in (self.left, self.right):
            np.subtract.at(frequency, parents, self.merge_counts.astype(np.int64))
        return frequency

    @property
    def in_use(self) -> int:
        return int(np.count_nonzero(self.merge_counts))

    @property
    def rank(self) -> Ids:
        """The merge that made each token; negative for the alphabet."""
        return np.arange(len(self)) - self.alphabet_size

    @cached_property
    def parents(self) -> Ids:
        """The two tokens each token was made from; -1 -1 for the alphabet."""
        parents = np.full((len(self), 2), NO_TOKEN, np.int64)
        parents[self.alphabet_size :, 0] = self.left
        parents[self.alphabet_size :, 1] = self.right
        return parents

    @property
    def count_columns(self) -> list[NDArray[np.uint64]]:
        return [np.concatenate([self.alphabet_counts, column])
                for column in (self.pair_counts, self.merge_counts)]  # fmt: skip

    # ---------------------------------------------------------------------------------- the curve

    @cached_property
    def curve(self) -> Curve:
        """Entropy, sequence length and MUV at every size."""
        return self.curve_at(np.arange(self.merges + 1))

    def curve_at(self, rows: Ids) -> Curve:
        """The curve after some numbers of merges, in rising order."""
        sums = _core.curve_sums(
            self.alphabet_counts, self.lengths, self.left, self.right, self.merge_counts,
            rows.astype(np.uint64), FREQUENT * self.unit,
        )  # fmt: skip
        lengths = self.lengths[: self.alphabet_size].astype(np.uint64)
        characters = self.alphabet_size - (self.unknown is not None)
        return Curve(
            size=self.fixed_rows + characters + rows,
            tokens=sums["tokens"].astype(np.int64),
            types=sums["types"].astype(np.int64),
            type_length=sums["type_length"].astype(np.int64),
            characters=int((self.alphabet_counts * lengths).sum()),
            learned=self.alphabet_size + rows,
            f_ln_f=sums["f_ln_f"],
            f_power=sums["f_power"],
            frequent=sums["frequent"].astype(np.int64),
        )

    def zipf_fit(self, rows: Ids) -> NDArray[np.float64]:
        return _core.zipf_fit(
            self.alphabet_counts, self.left, self.right, self.merge_counts, rows.astype(np.uint64)
        )

    # ------------------------------------------------------------------------------- smaller sets

    def ranking(self, by: Rank | None = None) -> Ids:
        """`merge` (the default): in the order of merging, which is plain BPE. `frequency`: by
        frequency in the corpus cut with all candidates; ties: the earlier merge first."""
        merged = np.arange(self.alphabet_size, len(self))
        if by == "frequency":
            return merged[np.argsort(-self.frequency[merged], kind="stable")]
        if by not in (None, "merge"):
            raise SettingsError(f"rank is frequency or merge, not {by!r}")
        return merged

    def push_down(self, inside: Mask, frequency: Frequencies | None = None) -> Frequencies:
        """The frequencies when only the tokens of the mask may be used, from those of all tokens or
        of a larger set, which are changed in place."""
        if frequency is None:
            frequency = self.frequency.astype(np.uint64)
        lengths = self.lengths.astype(np.uint64)
        before = lengths @ frequency
        _core.push_down(self.left, self.right, inside.astype(np.uint8), frequency)
        after = lengths @ frequency
        if before != after or frequency[~inside].any():
            raise VoltError(
                f"push-down changed the number of characters from {before} to {after}; "
                "this is a defect of volt, please report it"
            )
        return frequency

    def frequencies_at(self, sets: Iterable[Mask]) -> list[SetFrequencies]:
        """Each set starts from the next larger one, so the walk moves only what it lacks."""
        frequency = self.frequency.astype(np.uint64)
        found: list[SetFrequencies] = []
        for inside in reversed([*sets]):
            self.push_down(inside, frequency)
            tokens = np.flatnonzero(frequency)
            found.append(SetFrequencies(tokens, frequency[tokens]))
        return found[::-1]

    def one_token_words(self, running_words: int) -> NDArray[np.float64] | None:
        """For every row of the curve, the share of the running words that are one token.

        A word is one token from the merge on that makes its text: inside a token all merges are
        those of its text standing alone (docs/formats.md), and as a word it stands alone.
        """
        if self.whole_words is None:  # these candidates were loaded from a file
            return None
        words = self.whole_words.astype(np.float64)
        if self.unknown is not None:
            words[self.unknown] = 0
        alphabet = self.alphabet_size
        made = np.concatenate([[words[:alphabet].sum()], words[alphabet:]])
        share: NDArray[np.float64] = np.cumsum(made) / running_words
        return share

    @cached_property
    def symbols(self) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """The character of each symbol of the alphabet, and whether it ends a word. Found once: the
        words of every language are cut with them."""
        mode = self.rule.mode
        characters = np.full(self.alphabet_size, OTHER, np.uint32)
        ends = np.zeros(self.alphabet_size, np.uint8)
        for symbol, text in enumerate(self.tokens[: self.alphabet_size]):
            if symbol == self.unknown:
                continue
            word = mode.marks.word(text)
            characters[symbol] = word[0] if mode.byte_level else ord(word.decode())
            ends[symbol] = mode.marks.position(text).ends is True
        return characters, ends

    def cuts(self, words: WordCounts, threads: int = 1, byte_fallback: bool = False) -> Cuts:
        """By merging the pair of the lowest rank, leftmost on a tie, as the run did it."""
        tokens, offsets = _core.cut_by_merges(
            words.text, words.offsets, *self.symbols, self.left, self.right,
            self.rule.mode.native, NO_TOKEN if self.unknown is None else self.unknown,
            byte_fallback, threads,
        )  # fmt: skip
        return self.undo_merges(tokens, offsets)

    def undo_merges(self, tokens: NDArray[np.uint32], offsets: NDArray[np.uint64]) -> Cuts:
        """The words cut by all merges. Tokens of later merges are split for smaller sizes."""
        return partial(
            _core.undo_merges, tokens, offsets, self.left, self.right, self.alphabet_size
        )

    def plain_texts(self, tokens: Ids) -> list[str]:
        marks = self.rule.mode.marks
        return [marks.strip(self.tokens[token]) for token in tokens.tolist()]

    def with_parents(self, kept: Mask) -> Mask:
        """The kept tokens with all they are made from. One pass: parents come before children."""
        needed = kept.astype(np.uint8)
        _core.closure(self.left, self.right, needed)
        return needed.astype(bool)

    def close(self, kept: Mask) -> Mask:
        """`merge` needs the parents of every token, and theirs, as scaffolds; `split` does not."""
        return self.with_parents(kept) if self.encoding == "merge" else kept

    def rows(self, kept: Mask) -> int:
        return self.fixed_rows + int(self.close(kept).sum()) - (self.unknown is not None)

    def build(self, chosen: Ids, first_id: int) -> Entries:
        """`merge` takes in the parents of every token, and theirs, as scaffolds. `split` hides
        them, and with them every merge up to the last that was chosen: a merge takes its parts
        away from others, so without it text would be cut elsewhere than push-down has it."""
        kept = token_set(self, chosen)
        if self.unknown is not None:
            kept[self.unknown] = False
        needed = self.with_parents(kept)
        if self.encoding == "split":
            last = np.flatnonzero(kept)[-1] if kept.any() else -1
            needed[self.alphabet_size : last + 1] = True
        visible = np.flatnonzero(needed if self.encoding == "merge" else kept)
        hidden = np.flatnonzero(needed & ~kept) if self.encoding == "split" else visible[:0]
        number_of = np.full(len(self), NO_TOKEN, np.int64)
        number_of[visible] = first_id + np.arange(len(visible))
        number_of[hidden] = first_id + len(visible) + np.arange(len(hidden))

        def tokens_of(ids: Ids) -> Tokens:
            ranks = np.maximum(self.rank[ids], -1)
            return Tokens.made(
                [self.tokens[i] for i in ids.tolist()],
                ["character" if rank < 0 else "merged" for rank in ranks.tolist()],
                parents=np.where(ranks[:, None] < 0, NO_TOKEN, number_of[self.parents[ids]]),
                ranks=ranks,
                scaffolds=~kept[ids] & (ranks >= 0),
            )

        return Entries(tokens_of(visible), tokens_of(hidden))
