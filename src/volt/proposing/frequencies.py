"""Push-down: how often each token of a smaller set occurs, exactly, without the text.

A candidate that is not in the set is split into the two it was merged from, and hands its count to
them; one walk over the merges, from the last to the first, does it for all. Characters are
conserved: the sum of frequency times length stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import SettingsError, VoltError
from volt.counting.marks import UNKNOWN
from volt.proposing.merges import WORD_FINAL, Candidates
from volt.proposing.pieces import PieceCandidates

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Frequencies = NDArray[np.uint64]

BEYOND_UNICODE = 0x110000


def rank_candidates(candidates: Candidates, by: str) -> NDArray[np.int64]:
    """The merged candidates (their ids), best first.

    `frequency`: by frequency in the corpus segmented by all candidates; ties: earlier merge first.
    `merge`: in the order they were merged, which is plain BPE.
    """
    merged = np.arange(candidates.alphabet_size, len(candidates))
    if by == "merge" and isinstance(candidates, PieceCandidates):
        raise SettingsError("tokens without parents have no order of merges: --rank frequency")
    if by == "merge":
        return merged
    if by == "frequency":
        return merged[np.argsort(-candidates.frequency[merged], kind="stable")]
    raise SettingsError(f"rank is frequency or merge, not {by!r}")


def token_set(candidates: Candidates, ranking: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """T at a size: the best `size` merged candidates and the whole alphabet, as a mask."""
    inside = np.zeros(len(candidates), bool)
    inside[: candidates.alphabet_size] = True
    inside[ranking[:size]] = True
    return inside


def push_down(candidates: Candidates, inside: NDArray[np.bool_]) -> Frequencies:
    """The frequencies when only the tokens of the mask `inside` may be used."""
    frequency = candidates.frequency.astype(np.uint64)
    _push_down(candidates, inside, frequency, np.zeros((len(frequency), 0), np.uint64))
    return frequency


def _push_down(
    candidates: Candidates, inside: NDArray[np.bool_], frequency: Frequencies, draws: Frequencies
) -> None:
    """In place, from the frequencies under a larger set; `draws` has a column a draw."""
    lengths = candidates.lengths.astype(np.uint64)
    before = lengths @ frequency
    _core.push_down(candidates.left, candidates.right, inside.astype(np.uint8), frequency, draws)
    after = lengths @ frequency
    if before != after or frequency[~inside].any():
        raise VoltError(
            f"push-down changed the number of characters from {before} to {after}; "
            "this is a defect of volt, please report it"
        )


@dataclass(frozen=True, eq=False)
class SizeFrequencies:
    """The tokens in use at one size and how often they occur."""

    size: int
    tokens: NDArray[np.int64]
    """Candidates with a frequency above zero, by id."""
    frequency: Frequencies
    draws: Frequencies
    """The same in every bootstrap draw, a column a draw."""


def frequencies_at(
    candidates: Candidates,
    ranking: NDArray[np.int64],
    sizes: NDArray[np.int64],
    draws: Sequence[Candidates] = (),
) -> list[SizeFrequencies]:
    """Push-down at every size. A smaller set is part of a larger one, so each size goes on from
    the next larger, and the walk only moves what the smaller set lacks. With tokens that have no
    parents the words are cut anew at every size."""
    if isinstance(candidates, PieceCandidates):
        return [_cut_at(candidates, ranking, size) for size in sizes.tolist()]
    frequency = candidates.frequency.astype(np.uint64)
    drawn = np.empty((len(frequency), len(draws)), np.uint64)
    for number, draw in enumerate(draws):
        np.concatenate([draw.alphabet_counts, draw.merge_counts], out=drawn[:, number])
    _core.take_from_parents(candidates.left, candidates.right, drawn)
    found: list[SizeFrequencies] = []
    for size in sorted(sizes.tolist(), reverse=True):
        _push_down(candidates, token_set(candidates, ranking, size), frequency, drawn)
        tokens = np.flatnonzero(frequency)
        found.append(SizeFrequencies(size, tokens, frequency[tokens], drawn[tokens]))
    return found[::-1]


def _cut_at(candidates: PieceCandidates, ranking: NDArray[np.int64], size: int) -> SizeFrequencies:
    table, _ = candidates.cut(token_set(candidates, ranking, size))
    tokens = np.flatnonzero(table[:, 0])
    return SizeFrequencies(size, tokens, table[tokens, 0], table[tokens, 1:])


def token_characters(
    candidates: Candidates, tokens: NDArray[np.int64]
) -> tuple[csr_array, list[str]]:
    """How often each character occurs in each of the tokens (tokens x characters), and the
    characters.

    A mark that is no text is left out; `▁` stands for a space and is a character. All characters
    left out of the alphabet count as one, `<unk>`.
    """
    from scipy.sparse import csr_array

    texts = [candidates.tokens[token] for token in tokens.tolist()]
    if candidates.rule.pretokenizer == "whitespace":
        inner = isinstance(candidates, PieceCandidates) and candidates.mark == "##"
        texts = [
            text.removeprefix("##") if inner else text.removesuffix(WORD_FINAL) for text in texts
        ]
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
