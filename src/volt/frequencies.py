"""Push-down: how often each token of a smaller set occurs, exactly, without the text.

A candidate that is not in the set is split into the two it was merged from, and hands its count to
them; one walk over the merges, from the last to the first, does it for all. Characters are
conserved: the sum of frequency times length stays what it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from volt import _core
from volt.candidates import UNKNOWN, WORD_FINAL, Candidates
from volt.errors import SettingsError, VoltError

Frequencies = NDArray[np.uint64]

BEYOND_UNICODE = 0x110000


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
    columns = table[:, None] if table.ndim == 1 else table
    before = candidates.lengths.astype(np.uint64) @ columns
    _core.push_down(candidates.left, candidates.right, inside.astype(np.uint8), columns)
    after = candidates.lengths.astype(np.uint64) @ columns
    if not np.array_equal(before, after):
        raise VoltError(
            f"push-down changed the number of characters from {before.tolist()} to "
            f"{after.tolist()}; this is a defect of volt, please report it"
        )
    return columns.reshape(table.shape)


def token_characters(candidates: Candidates) -> tuple[csr_array, list[str]]:
    """How often each character occurs in each token (tokens x characters), and the characters.

    A mark that is no text is left out; `▁` stands for a space and is a character. All characters
    left out of the alphabet count as one, `<unk>`.
    """
    texts = list(candidates.tokens)
    if candidates.rule.pretokenizer == "whitespace":
        texts = [text.removesuffix(WORD_FINAL) for text in texts]
    if candidates.unknown is not None:
        texts[candidates.unknown] = "?"
    letters = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32).copy()
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    if candidates.unknown is not None:
        letters[rows == candidates.unknown] = BEYOND_UNICODE
    code_points, columns = np.unique(letters, return_inverse=True)
    table = csr_array(
        (np.ones(len(letters)), (rows, columns)), shape=(len(texts), len(code_points))
    )
    table.sum_duplicates()
    return table, [chr(c) if c < BEYOND_UNICODE else UNKNOWN for c in code_points.tolist()]
