"""Candidates: the tokens a vocabulary is chosen from, and what every kind of them can do.

There are two kinds. Candidates in merges.py know the two tokens they were merged from, so the
frequencies of a smaller set follow by arithmetic. Candidates in pieces.py do not, so the words are
cut again for every set. The stages after this one see only what is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from volt.base.checks import check_choice
from volt.base.errors import InputError, SettingsError
from volt.counting.counts import WordCounts
from volt.counting.marks import END_MARK, UNKNOWN
from volt.counting.words import PRETOKENIZERS, Pretokenizer, Unknown, WordRule
from volt.proposing.curve import Curve
from volt.proposing.cuts import Cuts
from volt.proposing.tokens import Tokens
from volt.settings import Rank as Rank
from volt.settings.roles import DEFAULT_SPECIAL

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Encoding = Literal["merge", "split", "longest", "unigram"]
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Frequencies = NDArray[np.uint64]

BEYOND_UNICODE = 0x110000


def fixed_rows(
    pretokenizer: str,
    unknown: Unknown | None = None,
    special: Sequence[str] = DEFAULT_SPECIAL,
    symbols: Sequence[str] = (),
    unknown_token: str = UNKNOWN,
) -> int:
    """Rows that every vocabulary has besides candidates: special tokens, symbols, and byte tokens
    if unknown characters are spelled in them."""
    mode = PRETOKENIZERS[pretokenizer]
    spelled = mode.byte_tokens(resolve_unknown(mode, unknown, special, unknown_token))
    return len(special) + len(symbols) + len(spelled)


def resolve_unknown(
    mode: Pretokenizer,
    unknown: Unknown | None,
    special: Sequence[str],
    unknown_token: str = UNKNOWN,
) -> Unknown:
    """What becomes of characters outside the vocabulary, checked against the pre-tokenizer."""
    unknown = unknown or mode.unknown[0]
    check_choice("unknown", unknown, get_args(Unknown))
    if unknown == "byte" and unknown not in mode.unknown:
        raise SettingsError("byte tokens need metaspace or byte-level text; use unknown=unk")
    if unknown == "unk" and unknown not in mode.unknown:
        raise SettingsError("byte-level knows every character; leave unknown out")
    if unknown == "unk" and unknown_token not in special:
        raise SettingsError(f"unknown=unk needs {unknown_token} among the special tokens")
    return unknown


@dataclass(frozen=True, eq=False)
class SetFrequencies:
    """The tokens of a set that are in use, and how often each occurs in the corpus."""

    tokens: Ids
    """Candidates with a frequency above zero, by id."""
    frequency: Frequencies


@dataclass(frozen=True, eq=False)
class Entries:
    """The rows of a vocabulary that chosen candidates become, and how text is cut with them."""

    tokens: Tokens
    hidden: Tokens = field(default_factory=lambda: Tokens.made([], []))
    """Tokens that text only passes through (encoding `split`)."""
    inner_mark: Literal["", "##"] = ""
    """The mark at the start of tokens inside a word."""
    unknown_score: float = 0.0
    """The score of an unknown character (encoding `unigram`)."""


class Candidates(Protocol):
    """Tokens are numbered: the alphabet, then `<unk>` if characters were left out of it, then the
    others. The alphabet is part of every vocabulary.

    >>> import volt
    >>> len(volt.candidates([["low lower lowest flow blow"] * 30], merges=3))
    13
    """

    @property
    def rule(self) -> WordRule: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def lengths(self) -> NDArray[np.uint32]:
        """Characters of text in each token (bytes in byte-level mode)."""

    @property
    def alphabet_size(self) -> int:
        """Symbols before the first merge, `<unk>` included."""

    @property
    def merges(self) -> int:
        """Candidates outside the alphabet: merges, or pieces."""

    @property
    def unknown(self) -> int | None:
        """The id of `<unk>`, which stands for all characters left out, if there are any."""

    @property
    def left_out(self) -> int:
        """How many different characters were left out of the alphabet."""

    @property
    def unit(self) -> int:
        """Counts are whole numbers of 1/unit, as in the word counts."""

    @property
    def encoding(self) -> Encoding: ...
    @property
    def fixed_rows(self) -> int:
        """Rows that every vocabulary has besides candidates: special tokens, symbols, bytes."""

    @property
    def exact(self) -> bool:
        """Is every size on the curve, or only some that were measured?"""

    @property
    def messages(self) -> tuple[str, ...]:
        """What the user should know about how these candidates were made."""

    @property
    def parents(self) -> Ids:
        """The two tokens each token was made from; -1 -1 for those without."""

    @property
    def count_columns(self) -> list[NDArray[np.uint64]]:
        """How often each token was seen as a pair, and how often it was made."""

    @property
    def frequency(self) -> Ids:
        """How often each token occurs in the corpus cut with all candidates."""

    @property
    def in_use(self) -> int:
        """Candidates outside the alphabet that text has when all of them are used."""

    @property
    def curve(self) -> Curve: ...

    def curve_at(self, rows: Ids) -> Curve:
        """The curve at some of its rows only."""

    def zipf_fit(self, rows: Ids) -> NDArray[np.float64]:
        """R^2 of the line of ln frequency on ln rank, at some rows of the curve."""

    def ranking(self, by: Rank | None = None) -> Ids:
        """The candidates outside the alphabet, best first; by default in the order in which plain
        BPE, or the source, would take them."""

    def frequencies_at(self, sets: Iterable[Mask]) -> list[SetFrequencies]:
        """Frequencies when only the tokens of each set may be used. The sets are nested, from the
        smallest to the largest."""

    def one_token_words(self, running_words: int) -> NDArray[np.float64] | None:
        """For every row of the curve, the share of the running words that are one token; None where
        that is not known."""

    def plain_texts(self, tokens: Ids) -> list[str]:
        """The texts of some tokens, without marks that are not text."""

    def rows(self, kept: Mask) -> int:
        """Rows of the vocabulary that these tokens make: fixed rows, characters, the tokens and
        whatever these need."""

    def build(self, chosen: Ids, first_id: int) -> Entries:
        """The rows of a vocabulary of these candidates and the alphabet, from `first_id` on."""

    def cuts(self, words: WordCounts, threads: int = 1, byte_fallback: bool = False) -> Cuts:
        """The words, which may be others than the candidates were made from, as tokens at every row
        of the curve. `byte_fallback`: are there byte tokens for characters outside the alphabet?"""

    def __len__(self) -> int: ...


def marks_word_ends(candidates: Candidates) -> bool:
    """Does the last token of a word tell that the word ends there?"""
    alphabet = candidates.tokens[: candidates.alphabet_size]
    return any(text.endswith(END_MARK) for text in alphabet)


def token_set(candidates: Candidates, chosen: Iterable[int] | Ids) -> Mask:
    """The chosen candidates and the whole alphabet, as a mask."""
    inside = np.zeros(len(candidates), bool)
    inside[: candidates.alphabet_size] = True
    inside[np.asarray(chosen if isinstance(chosen, np.ndarray) else [*chosen], np.int64)] = True
    return inside


def rows_of(candidates: Candidates, chosen: Ids) -> int:
    """Rows of the vocabulary that these candidates and the alphabet make."""
    return candidates.rows(token_set(candidates, chosen))


def fill(candidates: Candidates, ranking: Ids, size: int) -> Ids:
    """The best candidates that make a vocabulary of exactly `size` rows.

    Candidates are taken in order. One that no longer fits, because of the tokens it is made from,
    is skipped, and the next that fits is taken.
    """
    none = ranking[:0]
    least, most = rows_of(candidates, none), rows_of(candidates, ranking)
    if size < least:
        raise SettingsError(
            f"`size` {size:,} has no room for the {least:,} special tokens, bytes and characters "
            "that every vocabulary of this text has: ask for more, or lower `coverage`"
        )
    if size > most:
        # If the text gave fewer than were asked for, asking for more gives none.
        more = "" if candidates.messages else ", or ask for more `candidates`"
        raise InputError(
            f"`size` {size:,} is more than the candidates of this text give: {most:,} rows with "
            f"all of them. Leave out `size`, and volt chooses, or use at most {most:,}{more}"
        )
    # The longest start of the ranking that fits; from there on, one by one.
    low, high = 0, min(len(ranking), size - least)
    while low < high:
        middle = (low + high + 1) // 2
        fits = rows_of(candidates, ranking[:middle]) <= size
        low, high = (middle, high) if fits else (low, middle - 1)
    chosen = dict.fromkeys(ranking[:low].tolist())
    rows = rows_of(candidates, ranking[:low])
    while rows < size:  # some candidate always adds a single row: the first merge not taken yet
        for candidate in ranking[low:].tolist():
            grown = rows_of(candidates, np.array([*chosen, candidate]))
            if grown <= size:
                chosen[candidate], rows = None, grown
            if rows == size:
                break
    return np.array([*chosen], np.int64)


def token_characters(candidates: Candidates, tokens: Ids) -> tuple[csr_array, list[str]]:
    """How often each character occurs in each of the tokens (tokens x characters), and the
    characters.

    A mark that is not text is left out; `▁` stands for a space and is a character. All characters
    left out of the alphabet count as one, `<unk>`.
    """
    from scipy.sparse import csr_array

    texts = candidates.plain_texts(tokens)
    unknown = np.flatnonzero(tokens == (-1 if candidates.unknown is None else candidates.unknown))
    for row in unknown.tolist():
        texts[row] = "?"
    letters = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32).copy()
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    letters[np.isin(rows, unknown)] = BEYOND_UNICODE
    code_points, columns = np.unique(letters, return_inverse=True)
    table = csr_array(
        (np.ones(len(letters)), (rows, columns)), shape=(len(texts), len(code_points))
    )
    table.sum_duplicates()
    return table, [chr(c) if c < BEYOND_UNICODE else UNKNOWN for c in code_points.tolist()]
