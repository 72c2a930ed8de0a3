"""Push-down: how often each token of a smaller set occurs, exactly, without the text.

A candidate that is not in the set is split into the two it was merged from, and hands its count to
them; one walk over the merges, from the last to the first, does it for all. Characters are
conserved: the sum of frequency times length stays what it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.candidates import Candidates
from volt.errors import SettingsError, VoltError

Frequencies = NDArray[np.uint64]


def rank_candidates(candidates: Candidates, by: str) -> NDArray[np.int64]:
    """The merged candidates (their ids), best first.

    `frequency`: by frequency in the corpus segmented by all candidates; ties: earlier merge first.
    `merge`: in the order they were merged, which is plain BPE.
    """
    merged = np.arange(candidates.alphabet_size, len(candidates))
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


def push_down(
    candidates: Candidates, inside: NDArray[np.bool_], frequency: Frequencies | None = None
) -> Frequencies:
    """The frequencies when only the tokens of the mask `inside` may be used.

    `frequency` holds those under all candidates, a row a token, with any number of columns (draws);
    by default the candidates' own.
    """
    table = candidates.frequency.astype(np.uint64) if frequency is None else frequency.copy()
    columns = table.reshape(len(candidates), -1)
    before = candidates.lengths.astype(np.uint64) @ columns
    _core.push_down(candidates.left, candidates.right, inside.astype(np.uint8), columns)
    after = candidates.lengths.astype(np.uint64) @ columns
    if not np.array_equal(before, after):
        raise VoltError(
            f"push-down changed the number of characters from {before.tolist()} to "
            f"{after.tolist()}; this is a defect of volt, please report it"
        )
    return columns.reshape(table.shape)
