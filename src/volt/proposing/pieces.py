"""Candidates without parents: tokens that are looked up in the words, and counted by doing so.

A smaller set of them has no push-down, because it is not known what a token that is left out was
made from. So the words are cut again with every set that is looked at, by the longest token
(`longest`) or by the highest sum of scores (`unigram`), and the frequencies are what is counted
then. As after a push-down, characters are conserved, so the transport problem has a solution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._core import dot, total
from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.progress import Report
from volt.counting.counts import WordCounts
from volt.counting.marks import INNER, INNER_MARK, Marks
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
from volt.proposing.cuts import Cut, Cuts
from volt.proposing.tokens import NO_TOKEN, Token, Tokens, packed

LookUpEncoding = Literal["longest", "unigram"]
ROUNDS = 2
"""How often scores are set to the frequencies that the last scores led to."""
STEPS = 1024
"""Scores are multiples of 1/1024, which every toolkit adds without error."""
UNSEEN = 0.5
"""The frequency that a token without one is given for its score."""
PENALTY = 10.0
"""How far the score of an unknown character is below the lowest score, as in SentencePiece and
Hugging Face."""
CURVE_SIZES = 32
"""The curve is measured at this many sizes, evenly spaced on a logarithmic axis."""


@dataclass(frozen=True, eq=False)
class MeasuredSizes:
    """The curve at the sizes that were measured, and R^2 of Zipf's line there."""

    curve: Curve
    zipf: NDArray[np.float64]


Pieces = TypeVar("Pieces", bound="PieceCandidates")


@dataclass(frozen=True, eq=False)
class PieceCandidates(ABC):
    """What all candidates without parents share: everything but how words are cut."""

    rule: WordRule
    tokens: list[str] = field(repr=False)
    lengths: NDArray[np.uint32] = field(repr=False)
    alphabet_size: int
    encoding: LookUpEncoding
    unknown: int | None = None
    left_out: int = 0
    unit: int = 1
    fixed_rows: int = 0
    messages: tuple[str, ...] = ()
    frequency: Ids = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    sizes: MeasuredSizes | None = field(default=None, repr=False)

    exact = False

    def __len__(self) -> int:
        return len(self.tokens)

    @abstractmethod
    def cut(self, inside: Mask) -> Frequencies:
        """How often each token occurs in the words cut with the tokens of the mask."""

    @abstractmethod
    def cut_words(self, inside: Mask, words: WordCounts, threads: int, byte_fallback: bool) -> Cut:
        """The words cut with the tokens of the mask."""

    @abstractmethod
    def plain_texts(self, tokens: Ids) -> list[str]: ...

    @abstractmethod
    def build(self, chosen: Ids, first_id: int) -> Entries: ...

    def only(self: Pieces, used: Mask) -> Pieces:
        """Without the candidates outside the mask."""
        tokens = [self.tokens[i] for i in np.flatnonzero(used).tolist()]
        return replace(
            self, tokens=tokens, lengths=self.lengths[used], frequency=self.frequency[used]
        )

    @property
    def merges(self) -> int:
        return len(self) - self.alphabet_size

    @property
    def in_use(self) -> int:
        return int(np.count_nonzero(self.frequency[self.alphabet_size :]))

    @property
    def parents(self) -> Ids:
        return np.full((len(self), 2), NO_TOKEN, np.int64)

    @property
    def count_columns(self) -> list[NDArray[np.uint64]]:
        """Nothing was merged: what is counted is the frequency."""
        return [self.frequency.astype(np.uint64)] * 2

    def ranking(self, by: Rank | None = None) -> Ids:
        """By frequency in the corpus cut with all candidates; ties: earlier in the source."""
        if by == "merge":
            raise SettingsError(
                "tokens without parents have no order of merges: use rank=frequency"
            )
        pieces = np.arange(self.alphabet_size, len(self))
        return pieces[np.argsort(-self.frequency[pieces], kind="stable")]

    def frequencies_at(self, sets: Iterable[Mask]) -> list[SetFrequencies]:
        found: list[SetFrequencies] = []
        for inside in sets:
            frequency = self.cut(inside)
            tokens = np.flatnonzero(frequency)
            found.append(SetFrequencies(tokens, frequency[tokens]))
        return found

    def one_token_words(self, running_words: int) -> None:
        """Without merges it is not known from which size on a word is one token."""
        return

    def cuts(self, words: WordCounts, threads: int = 1, byte_fallback: bool = False) -> Cuts:
        ranking, sizes = self.ranking(), self.curve.learned - self.alphabet_size

        def cut(row: int) -> Cut:
            inside = token_set(self, ranking[: sizes[row]])
            return self.cut_words(inside, words, threads, byte_fallback)

        return cut

    def rows(self, kept: Mask) -> int:
        """Nothing else is needed to look tokens up."""
        return self.fixed_rows + int(kept.sum()) - (self.unknown is not None)

    # ---------------------------------------------------------------------------------- the curve

    @property
    def measured_sizes(self) -> int:
        """At how many sizes the curve is measured."""
        return CURVE_SIZES

    @property
    def measured(self) -> MeasuredSizes:
        if self.sizes is None:
            raise VoltError("these candidates were not measured")
        return self.sizes

    @property
    def curve(self) -> Curve:
        """Entropy and sequence length at the sizes that were measured; between these nothing is
        known."""
        return self.measured.curve

    def curve_at(self, rows: Ids) -> Curve:
        return self.curve.at(rows)

    def zipf_fit(self, rows: Ids) -> NDArray[np.float64]:
        return self.measured.zipf[rows]


def measure_pieces(found: Pieces, report: Report = lambda done: None) -> Pieces:
    """Cut the words with all candidates, then with the best of them at CURVE_SIZES sizes.

    Candidates that no word has when it is cut with all of them are left out: they would be last in
    every ranking.
    """
    every = found.cut(np.ones(len(found), bool)).astype(np.int64)
    used = every > 0
    used[: found.alphabet_size] = True
    found = replace(found, frequency=every).only(used)
    alphabet, ranking = found.alphabet_size, found.ranking()
    spaced = np.geomspace(max(1, alphabet), max(1, len(found)), found.measured_sizes)
    learned = np.unique(np.clip(np.rint(spaced).astype(np.int64), alphabet, len(found)))
    lengths = found.lengths.astype(np.int64)
    rows = []
    for number, size in enumerate(learned.tolist(), 1):
        frequency = found.cut(token_set(found, ranking[: size - alphabet])).astype(np.int64)
        seen = frequency > 0
        real = frequency[seen].astype(np.float64)
        often = frequency[alphabet:] >= FREQUENT * found.unit
        rows.append((
            frequency.sum(), seen.sum(), lengths[seen].sum(), dot(real, np.log(real)),
            total(real**2.5), often.sum(), zipf_fit(frequency),
        ))  # fmt: skip
        report(number)
    tokens, types, type_length, f_ln_f, f_power, frequent, zipf = map(
        np.array, zip(*rows, strict=True)
    )
    curve = Curve(
        size=found.fixed_rows + learned - (found.unknown is not None),
        tokens=tokens, types=types, type_length=type_length,
        characters=int(lengths @ found.frequency), learned=learned,
        f_ln_f=f_ln_f, f_power=f_power, frequent=frequent,
    )  # fmt: skip
    return replace(found, sizes=MeasuredSizes(curve, zipf))


@dataclass(frozen=True, eq=False, kw_only=True)
class LearnedPieces(PieceCandidates):
    """Pieces that a source named, looked up in the words of the corpus."""

    words: WordCounts = field(repr=False)
    marks: Marks
    threads: int

    @cached_property
    def keys(self) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """The tokens as native code looks them up: marks are bytes."""
        return packed([self.marks.key(text) for text in self.tokens])

    def cut(self, inside: Mask) -> Frequencies:
        return self.cut_scored(inside)[0]

    def cut_scored(self, inside: Mask) -> tuple[Frequencies, NDArray[np.float64]]:
        """Frequencies and scores. `unigram` starts from the fewest tokens, and then sets scores to
        the logarithms of the frequencies, ROUNDS times."""
        scores = -np.ones(len(self))
        for _ in range(ROUNDS if self.encoding == "unigram" else 0):
            scores = self._scores(inside, self._count(inside, scores))
        return self._count(inside, scores), scores

    def _count(self, inside: Mask, scores: NDArray[np.float64]) -> Frequencies:
        mask = self._mask(inside)
        found = _core.count_pieces(
            *self.keys, mask, scores, self.words.text, self.words.offsets, self.words.counts,
            self._matching(mask, scores), self.marks.native, self.rule.mode.byte_level,
            self.threads,
        )  # fmt: skip
        frequency = found[:-1].copy()
        if self.unknown is not None:
            frequency[self.unknown] = found[-1]
        characters = self.lengths.astype(np.uint64) @ frequency
        expected = self.words.characters
        if characters != expected:
            raise VoltError(
                f"cutting changed the number of characters from {expected} to {characters}; "
                "this is a defect of volt, please report it"
            )
        return frequency

    def _matching(self, mask: NDArray[np.uint8], scores: NDArray[np.float64]) -> _core.Matching:
        lowest = float(scores[mask > 0].min(initial=0.0))
        return _core.Matching(
            self.encoding, self.marks is INNER, 0, False, True, lowest - PENALTY, 0.0, "kinds",
            False, True,
        )  # fmt: skip

    def cut_words(self, inside: Mask, words: WordCounts, threads: int, byte_fallback: bool) -> Cut:
        """With the scores that the tokens of the mask have in the words they were measured on."""
        scores = -np.ones(len(self))
        if self.encoding == "unigram":
            scores = self.cut_scored(inside)[1]
        return self._cut_with(inside, scores, words, threads, byte_fallback)

    def _cut_with(
        self,
        inside: Mask,
        scores: NDArray[np.float64],
        words: WordCounts,
        threads: int,
        byte_fallback: bool,
    ) -> Cut:
        mask = self._mask(inside)
        return _core.cut_by_pieces(
            *self.keys, mask, scores, words.text, words.offsets, self._matching(mask, scores),
            self.marks.native, self.rule.mode.native,
            NO_TOKEN if self.unknown is None else self.unknown, byte_fallback, threads,
        )  # fmt: skip

    def _mask(self, inside: Mask) -> NDArray[np.uint8]:
        mask = inside.astype(np.uint8)
        if self.unknown is not None:
            mask[self.unknown] = 0
        return mask

    def _scores(self, inside: Mask, frequency: Frequencies) -> NDArray[np.float64]:
        """ln of the relative frequency, raised where a token's text has a better cut: of equal sums
        the single token is taken, so that every token is reached."""
        share = np.maximum(frequency, UNSEEN) / max(1, int(frequency.sum()))
        return _lifted(self.keys, self._mask(inside), np.log(share), self.rule)

    def final_scores(self, inside: Mask) -> NDArray[np.float64]:
        """The scores of a vocabulary of these tokens."""
        return self.cut_scored(inside)[1]

    def plain_texts(self, tokens: Ids) -> list[str]:
        return [self.marks.strip(self.tokens[token]) for token in tokens.tolist()]

    def build(self, chosen: Ids, first_id: int) -> Entries:
        """With the scores that the chosen tokens have without the others."""
        inside = token_set(self, chosen)
        scores = np.zeros(len(self))
        if self.encoding == "unigram":
            scores = self.final_scores(inside)
        if self.unknown is not None:
            inside[self.unknown] = False
        if not inside.any():
            raise InputError("no character is left in the vocabulary: raise coverage")
        tokens = Tokens.of(
            Token(self.tokens[i], "character" if i < self.alphabet_size else "piece",
                  score=float(scores[i]))
            for i in np.flatnonzero(inside).tolist()
        )  # fmt: skip
        unigram = self.encoding == "unigram"
        return Entries(
            tokens,
            inner_mark=INNER_MARK if self.marks is INNER else "",
            unknown_score=float(scores[inside].min()) - PENALTY if unigram else 0.0,
        )


def _lifted(
    keys: tuple[NDArray[np.uint8], NDArray[np.uint64]],
    mask: NDArray[np.uint8],
    logarithms: NDArray[np.float64],
    rule: WordRule,
) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = np.rint(logarithms * STEPS) / STEPS
    return _core.lift_scores(*keys, mask, scores, rule.mode.byte_level)


def mixed_scores(
    texts: Sequence[str], models: Sequence[dict[str, float]], rule: WordRule
) -> NDArray[np.float64]:
    """The scores of tokens in the mixture of several models: ln of the mean of their
    probabilities, where a token that a model lacks has none; raised as in `LearnedPieces`."""
    columns = [[model.get(text, -np.inf) for text in texts] for model in models]
    mean = np.logaddexp.reduce(np.array(columns), axis=0) - np.log(len(models))
    keys = packed([rule.mode.marks.key(text) for text in texts])
    return _lifted(keys, np.ones(len(texts), np.uint8), mean, rule)


def zipf_fit(frequency: NDArray[np.int64]) -> float:
    """R^2 of the line of ln frequency on ln rank, over the types in use; NaN for fewer than three,
    or if all are equally frequent."""
    used = np.sort(frequency[frequency > 0])[::-1]
    if len(used) < 3 or used[0] == used[-1]:
        return float("nan")
    x, y = np.log(np.arange(1, len(used) + 1)), np.log(used)
    x, y = x - total(x) / len(x), y - total(y) / len(y)
    return dot(x, y) ** 2 / (dot(x, x) * dot(y, y))
