"""WordPiece: merge the pair of neighbours with the highest likelihood ratio, again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from volt import _core
from volt.counting.marks import UNKNOWN
from volt.proposing.base import Candidates
from volt.proposing.merges import MergeCandidates
from volt.proposing.proposal import Proposal, Source
from volt.proposing.spelling import Spelling, piece_candidates, spell


def propose(proposal: Proposal) -> Candidates:
    if proposal.encoding in ("merge", "split"):
        return merge_candidates(proposal)
    return piece_candidates(proposal, lambda spelled: likelihood_merges(spelled, proposal).texts)


@dataclass(frozen=True, eq=False)
class LikelihoodMerges:
    """What the merges made, and how the words end up."""

    texts: list[str]
    lengths: list[int]
    found: _core._LikelihoodMerges


def likelihood_merges(spelled: Spelling, proposal: Proposal) -> LikelihoodMerges:
    """Merge the pair with the highest likelihood ratio, count / (left count * right count); among
    equals the one whose left, then right, token has the lower id."""
    alphabet, merges = spelled.alphabet, proposal.number
    marks = spelled.marks
    plain = [text if text == UNKNOWN else marks.strip(text) for text in alphabet.tokens]
    encoded = [text.encode() for text in plain]
    with proposal.progress.stage("Merging", merges, "merges") as report:
        found = _core.likelihood_merges(
            spelled.symbols, spelled.offsets, proposal.counts.counts,
            np.frombuffer(b"".join(encoded), np.uint8),
            np.cumsum([0, *map(len, encoded)], dtype=np.uint64),
            np.array([a != b for a, b in zip(plain, alphabet.tokens, strict=True)], np.uint8),
            -1 if alphabet.unknown is None else alphabet.unknown, marks.native, merges,
            proposal.max_token_length or 0, proposal.least, report,
        )  # fmt: skip
    texts, lengths = list(alphabet.tokens), [1] * len(alphabet.tokens)
    for left, right in zip(found["left"].tolist(), found["right"].tolist(), strict=True):
        texts.append(marks.join([texts[left], texts[right]]))
        lengths.append(lengths[left] + lengths[right])
    size = len(alphabet.tokens)
    return LikelihoodMerges(texts[size:], lengths[size:], found)


def merge_candidates(proposal: Proposal) -> MergeCandidates:
    """Merges scored by likelihood as candidates with parents, like those of BPE."""
    spelled, counts = spell(proposal), proposal.counts
    made = likelihood_merges(spelled, proposal)
    found, alphabet = made.found, spelled.alphabet
    size = len(alphabet) + len(made.texts)
    whole = np.zeros(size, np.uint64)
    single = np.diff(found["offsets"]) == 1
    np.add.at(whole, found["tokens"][found["offsets"][:-1][single].astype(np.int64)],
              counts.counts[single])  # fmt: skip
    return replace(
        alphabet,
        tokens=[*alphabet.tokens, *made.texts],
        lengths=np.array([*alphabet.lengths.tolist(), *made.lengths], np.uint32),
        left=found["left"],
        right=found["right"],
        pair_counts=found["pair_counts"],
        merge_counts=found["merge_counts"],
        whole_words=whole,
        messages=proposal.told(len(made.texts), "merges"),
    )


SOURCE = Source(
    "wordpiece",
    "WordPiece",
    "The pair whose parts occur together most, relative to how often each occurs, is merged.",
    ("longest", "merge", "split", "unigram"),
    propose,
    30_000,
)
