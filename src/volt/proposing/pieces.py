"""Candidates without parents: tokens that are looked up in the words, and counted by doing so.

A smaller set of them has no push-down: what a token that is left out was made from, nobody knows.
So the words are cut anew with every set that is looked at, by the longest token (`longest`) or by
the highest sum of scores (`unigram`); frequencies are what is counted then. As after a push-down,
characters are conserved, and with them the transport problem has a solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.checks import check_choice
from volt.base.errors import InputError, VoltError
from volt.base.progress import Report
from volt.counting.counts import WordCounts
from volt.counting.marks import LETTER_BYTES
from volt.counting.words import Unknown, WordRule
from volt.proposing.merges import FREQUENT, WORD_FINAL, Candidates, Curve
from volt.tokenizing.tokens import Token, Tokens, packed
from volt.tokenizing.vocabulary import (
    DEFAULT_SPECIAL,
    Encoding,
    LookUp,
    Vocabulary,
    check_unique,
    fixed_tokens,
    resolve_unknown,
)

LookUpEncoding = Literal["longest", "unigram"]
Mark = Literal["", "##", "</w>"]
ROUNDS = 2
"""How often scores are set to the frequencies that the last scores led to."""
STEPS = 1024
"""Scores are multiples of 1/1024, which every toolkit adds without error."""
UNSEEN = 0.5
"""The frequency that a token without one is given for its score."""
PENALTY = 10.0
"""Of an unknown character, below the lowest score, as in SentencePiece and Hugging Face."""
CURVE_SIZES = 32
"""The curve is measured at this many sizes, evenly spaced on a logarithmic axis."""
START_BYTE, FINAL_BYTE = b"\xfe", b"\xff"
"""For marks, as in src/core/proposing/match.hpp."""

Table = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class SizeSums:
    """What is known of each size on the curve: a row a size, a column for the corpus and for each
    draw."""

    size: NDArray[np.int64]
    """Of one column: characters and the best candidates."""
    tokens: NDArray[np.int64]
    types: NDArray[np.int64]
    type_length: NDArray[np.int64]
    f_ln_f: NDArray[np.float64]
    f_power: NDArray[np.float64]
    frequent: NDArray[np.int64]
    zipf: NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceCandidates(Candidates):
    """Tokens are numbered: the alphabet, then `<unk>` if characters were left out of it, then the
    others, in the order of their source. `merges` is how many these are; there is none."""

    words: WordCounts = field(repr=False)
    columns: Table = field(repr=False)
    """The counts of the words, and those of every bootstrap draw."""
    encoding: LookUpEncoding
    mark: Mark
    threads: int
    every: Table = field(default_factory=lambda: np.zeros((0, 1), np.uint64), repr=False)
    """Frequencies in the words cut with all candidates, a column for each of `columns`."""
    sums: SizeSums | None = field(default=None, repr=False)
    column: int = 0
    """Which of the columns this is about."""

    @property
    def merges(self) -> int:
        return len(self) - self.alphabet_size

    @property
    def frequency(self) -> NDArray[np.int64]:
        return self.every[:, self.column].astype(np.int64)

    @property
    def parents(self) -> NDArray[np.int64]:
        return np.full((len(self), 2), -1, np.int64)

    @property
    def draws(self) -> int:
        return int(self.columns.shape[1]) - 1

    def draw(self, number: int) -> PieceCandidates:
        """The same with the counts of one draw. Neither the candidates nor their scores are drawn
        again."""
        return replace(self, column=number + 1)

    @property
    def measured(self) -> SizeSums:
        if self.sums is None:
            raise VoltError("these candidates were not measured")
        return self.sums

    def curve_at(self, rows: NDArray[np.int64]) -> Curve:
        """The curve at some of the sizes that were measured."""
        sums, column = self.measured, self.column
        return Curve(
            size=sums.size[rows],
            tokens=sums.tokens[rows, column],
            types=sums.types[rows, column],
            type_length=sums.type_length[rows, column],
            characters=int(self.lengths.astype(np.int64) @ self.frequency),
            f_ln_f=sums.f_ln_f[rows, column],
            f_power=sums.f_power[rows, column],
            frequent=sums.frequent[rows, column],
        )

    @cached_property
    def curve(self) -> Curve:
        """Entropy and sequence length at the sizes that were measured; between these none is
        known."""
        return self.curve_at(np.arange(len(self.measured.size)))

    def zipf_fit(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return self.measured.size[rows], self.measured.zipf[rows, self.column]

    @property
    def extra_header(self) -> dict[str, Any]:
        return {"encoding": self.encoding}

    @property
    def count_columns(self) -> list[Table]:
        """Nothing was merged: what is counted is the frequency."""
        return [self.frequency.astype(np.uint64)] * 2

    @cached_property
    def keys(self) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """The tokens as native code looks them up: marks are bytes."""
        return packed([_key(text, self.rule, self.mark) for text in self.tokens])

    def cut(self, inside: NDArray[np.bool_]) -> tuple[Table, NDArray[np.float64]]:
        """The words cut with the tokens of the mask `inside`: how often each occurs, in each
        column, and their scores.

        `unigram` starts from the fewest tokens, and then sets scores to the logarithms of the
        frequencies, ROUNDS times. Those of the corpus decide for the draws, too.
        """
        scores = -np.ones(len(self))
        for _ in range(ROUNDS if self.encoding == "unigram" else 0):
            table = self._count(inside, scores, np.ascontiguousarray(self.columns[:, :1]))
            scores = self._scores(inside, table[:, 0])
        return self._count(inside, scores, self.columns), scores

    def _count(
        self, inside: NDArray[np.bool_], scores: NDArray[np.float64], columns: Table
    ) -> Table:
        mask = self._mask(inside)
        lowest = float(scores[mask > 0].min(initial=0.0))
        matching = _core.Matching(
            self.encoding, self.mark == "##", 0, False, True, lowest - PENALTY, 0.0, False, False
        )
        found = _core.count_pieces(
            *self.keys, mask, scores, self.words.text, self.words.offsets, columns, matching,
            self.mark, self.rule.mode.byte_level, self.threads,
        ).reshape(-1, columns.shape[1])  # fmt: skip
        table = found[:-1].copy()
        if self.unknown is not None:
            table[self.unknown] = found[-1]
        characters = (self.lengths.astype(np.uint64) @ table)[0]
        expected = self.alphabet_counts.sum()
        if characters != expected:
            raise VoltError(
                f"cutting changed the number of characters from {expected} to {characters}; "
                "this is a defect of volt, please report it"
            )
        return table

    def _mask(self, inside: NDArray[np.bool_]) -> NDArray[np.uint8]:
        mask = inside.astype(np.uint8)
        if self.unknown is not None:
            mask[self.unknown] = 0
        return mask

    def _scores(self, inside: NDArray[np.bool_], frequency: Table) -> NDArray[np.float64]:
        """ln of the relative frequency, raised where a token's text has a better cut: of equal sums
        the single token is taken, so that every token is reached."""
        share = np.maximum(frequency, UNSEEN) / max(1, int(frequency.sum()))
        return _lifted(self.keys, self._mask(inside), np.log(share), self.rule)

    def best(self, number: int) -> NDArray[np.bool_]:
        """The alphabet and the `number` most frequent others, as a mask; ties: earlier in the
        source."""
        pieces = np.arange(self.alphabet_size, len(self))
        ranked = pieces[np.argsort(-self.every[pieces, 0].astype(np.int64), kind="stable")]
        inside = np.zeros(len(self), bool)
        inside[: self.alphabet_size] = True
        inside[ranked[:number]] = True
        return inside


def _key(text: str, rule: WordRule, mark: Mark) -> bytes:
    if rule.mode.byte_level:
        return text.translate(LETTER_BYTES).encode("latin-1")
    if mark == "##":
        inner = text.startswith("##")
        return text[2:].encode() if inner else START_BYTE + text.encode()
    if mark and text.endswith(WORD_FINAL):
        return text.removesuffix(WORD_FINAL).encode() + FINAL_BYTE
    return text.encode()


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
    probabilities, where a token that a model lacks has none; raised as in `PieceCandidates`."""
    columns = [[model.get(text, -np.inf) for text in texts] for model in models]
    mean = np.logaddexp.reduce(np.array(columns), axis=0) - np.log(len(models))
    mark: Mark = "</w>" if rule.pretokenizer == "whitespace" else ""
    keys = packed([_key(text, rule, mark) for text in texts])
    return _lifted(keys, np.ones(len(texts), np.uint8), mean, rule)


# ------------------------------------------------------------------------------------------ measure


def measure_pieces(
    alphabet: Candidates,
    texts: Sequence[str],
    lengths: Sequence[int],
    words: WordCounts,
    columns: Table,
    *,
    encoding: LookUpEncoding,
    mark: Mark,
    threads: int,
    report: Report = lambda done: None,
) -> PieceCandidates:
    """Candidates of these texts, behind the alphabet. Those that no word has when it is cut with
    all of them are left out: they would be the last of every ranking."""
    shared = {one.name: getattr(alphabet, one.name) for one in fields(Candidates)}
    found = PieceCandidates(
        **shared
        | {
            "tokens": [*alphabet.tokens, *texts],
            "lengths": np.concatenate([alphabet.lengths, np.array(lengths, np.uint32)]),
        },
        words=words, columns=columns, encoding=encoding, mark=mark, threads=threads,
    )  # fmt: skip
    every, _ = found.cut(np.ones(len(found), bool))
    used = every[:, 0] > 0
    used[: found.alphabet_size] = True
    tokens = [found.tokens[i] for i in np.flatnonzero(used).tolist()]
    found = replace(found, tokens=tokens, lengths=found.lengths[used], every=every[used])
    return replace(found, sums=_sums(found, report))


def _sums(found: PieceCandidates, report: Report) -> SizeSums:
    """Cut the words with the best candidates, so many at a time."""
    alphabet = found.alphabet_size
    spaced = np.geomspace(max(1, alphabet), max(1, len(found)), CURVE_SIZES)
    sizes = np.unique(np.clip(np.rint(spaced).astype(np.int64), alphabet, len(found)))
    lengths = found.lengths.astype(np.int64)
    often = FREQUENT * found.unit
    rows = []
    for number, size in enumerate(sizes.tolist(), 1):
        frequency = found.cut(found.best(size - alphabet))[0].astype(np.int64)
        seen = frequency > 0
        real = np.where(seen, frequency, 1).astype(np.float64)
        rows.append((
            frequency.sum(axis=0), seen.sum(axis=0), lengths @ seen,
            (real * np.log(real)).sum(axis=0), np.where(seen, real**2.5, 0).sum(axis=0),
            (frequency >= often).sum(axis=0), np.array([zipf_fit(one) for one in frequency.T]),
        ))  # fmt: skip
        report(number)
    return SizeSums(sizes, *(np.stack(column) for column in zip(*rows, strict=True)))


def zipf_fit(frequency: NDArray[np.int64]) -> float:
    """R^2 of the line of ln frequency on ln rank, over the types in use; NaN for fewer than two, or
    if all are equally frequent."""
    used = np.sort(frequency[frequency > 0])[::-1]
    if len(used) < 2 or used[0] == used[-1]:
        return float("nan")
    x, y = np.log(np.arange(1, len(used) + 1)), np.log(used)
    x, y = x - x.mean(), y - y.mean()
    return float((x @ y) ** 2 / ((x @ x) * (y @ y)))


# -------------------------------------------------------------------------------------------- build


def build_piece_vocabulary(
    found: PieceCandidates,
    chosen: Iterable[int],
    *,
    unknown: Unknown | None = None,
    special: Sequence[str] = DEFAULT_SPECIAL,
    symbols: Sequence[str] = (),
) -> Vocabulary:
    """A vocabulary of chosen candidates (by their ids) and the whole alphabet, with the scores that
    they have without the others."""
    encoding: Encoding = found.encoding
    check_choice("encoding", encoding, get_args(LookUpEncoding))
    unknown = resolve_unknown(found.rule.pretokenizer, unknown, special)
    inside = found.best(0)
    inside[np.fromiter(chosen, np.int64)] = True
    scores = np.zeros(len(found))
    if encoding == "unigram":
        scores = found.cut(inside)[1]
    if found.unknown is not None:
        inside[found.unknown] = False
    if not inside.any():
        raise InputError("not one character is in the vocabulary: raise --coverage")
    fixed = fixed_tokens(found.rule.pretokenizer, unknown, special, symbols)
    tokens = fixed + Tokens.of(
        Token(found.tokens[i], "character" if i < found.alphabet_size else "piece",
              score=float(scores[i]))
        for i in np.flatnonzero(inside).tolist()
    )  # fmt: skip
    check_unique(tokens.texts)
    lowest = float(scores[inside].min()) if encoding == "unigram" else 0.0
    return Vocabulary(
        rule=found.rule,
        tokens=tokens,
        encoding=encoding,
        unknown=unknown,
        fuse_unknown=encoding == "unigram" and unknown == "unk" and _has_space(found),
        look_up=LookUp(
            mark="##" if found.mark == "##" else "",
            unknown_score=lowest - PENALTY if encoding == "unigram" else 0.0,
        ),
        unit=found.unit,
    )


def _has_space(found: PieceCandidates) -> bool:
    """HF and SentencePiece make one unknown token of a run, which needs a known space."""
    return found.rule.pretokenizer == "metaspace" and "▁" in found.tokens
