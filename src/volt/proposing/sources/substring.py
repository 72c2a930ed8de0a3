"""Substrings: the parts of words that occur most often, whatever they overlap."""

from __future__ import annotations

import numpy as np

from volt.proposing.base import Candidates
from volt.proposing.proposal import Proposal, Source
from volt.proposing.spelling import Spelling, piece_candidates


def propose(proposal: Proposal) -> Candidates:
    return piece_candidates(proposal, lambda spelled: substrings(spelled, proposal))


def substrings(spelled: Spelling, proposal: Proposal) -> list[str]:
    """The most frequent substrings of words, of two symbols or more, counted at every place; ties:
    the shorter, then the text that comes first.

    Length after length. A substring is never more frequent than its own parts, so only places
    that may still give one of the best are looked at again. This takes as much memory as the words,
    and the result is exact.
    """
    number, max_token_length = proposal.number, proposal.max_token_length
    lengths = np.asarray(np.diff(spelled.offsets), np.int64)
    weights = np.repeat(proposal.counts.counts, lengths)
    word_of = np.repeat(np.arange(len(lengths)), lengths)
    known = spelled.symbols != (len(spelled.alphabet) if spelled.alphabet.unknown is None
                                else spelled.alphabet.unknown)  # fmt: skip
    grams = np.where(known, spelled.symbols.astype(np.int64), -1)
    least = proposal.least
    kept: list[tuple[int, int, str]] = []
    length = 1
    while number and length < (max_token_length or len(grams)) and len(grams) > 1:
        length += 1
        # Two substrings that overlap in all but one symbol make one that is longer by a symbol.
        first, second = grams[:-1], grams[1:]
        places = np.flatnonzero((first >= 0) & (second >= 0) & (word_of[:-1] == word_of[1:]))
        keys = first[places] * (int(grams.max()) + 1) + second[places]
        found, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
        totals = np.zeros(len(found), np.uint64)
        np.add.at(totals, inverse.ravel(), weights[places])
        enough = totals >= least
        if not enough.any():
            break
        kept += [
            (-int(totals[i]), length, _text(spelled, int(places[index[i]]), length))
            for i in np.flatnonzero(enough).tolist()
        ]
        kept = sorted(kept)[:number]
        if len(kept) == number:
            least = max(least, -kept[-1][0])
        numbers = np.where(totals >= least, np.cumsum(totals >= least) - 1, -1)
        grams = np.full(len(grams), -1, np.int64)
        grams[places] = numbers[inverse.ravel()]
    return [text for _, _, text in kept]


def _text(spelled: Spelling, place: int, length: int) -> str:
    symbols = spelled.symbols[place : place + length].tolist()
    return spelled.marks.join([spelled.alphabet.tokens[symbol] for symbol in symbols])


SOURCE = Source(
    "substring",
    "substrings",
    "The substrings of words that occur most often, counted at every place.",
    ("unigram", "longest"),
    propose,
    100_000,
)
