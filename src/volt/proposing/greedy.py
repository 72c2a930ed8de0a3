"""Merged candidates without scaffolds: the paper's greedy encoding, taken at its word.

"We merge two consecutive tokens into one token if the merged one is in the vocabulary": rule
`concat`, and nothing in the vocabulary but what was chosen. A set chosen by frequency lacks most of
the tokens on the way to its longer ones, so these are never reached. They are left out: a row that
no text uses is not a row of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from volt.proposing.base import Candidates, Entries, Ids, Mask, token_set
from volt.proposing.merges import MergeCandidates
from volt.proposing.tokens import NO_TOKEN, Kind, Tokens


def greedy(candidates: Candidates) -> Candidates:
    """The same candidates, with vocabularies for greedy encoding. They need `merge_rule` concat.
    Candidates without parents are looked up in words in any case, so they stay as they are."""
    if not isinstance(candidates, MergeCandidates):
        return candidates
    values = {one.name: getattr(candidates, one.name) for one in fields(candidates)}
    return GreedyCandidates(**values | {"encoding": "merge"})


@dataclass(frozen=True, eq=False)
class GreedyCandidates(MergeCandidates):
    """BPE's record, of which a vocabulary takes the chosen tokens that merging can reach."""

    def reached(self, kept: Mask) -> dict[int, tuple[int, int]]:
        """The kept tokens outside the alphabet that two others make, both kept and reached and of
        a lower rank, and the first such pair. Under rule `concat` any pair will do."""
        marks = self.rule.mode.marks
        alphabet = np.flatnonzero(kept[: self.alphabet_size]).tolist()
        known = {self.tokens[i]: i for i in alphabet if i != self.unknown}
        pairs: dict[int, tuple[int, int]] = {}
        for number in (np.flatnonzero(kept[self.alphabet_size :]) + self.alphabet_size).tolist():
            text = self.tokens[number]
            for left, right in marks.cuts(text):
                if left in known and right in known:
                    pairs[number] = known[left], known[right]
                    known[text] = number
                    break
        return pairs

    def close(self, kept: Mask) -> Mask:
        closed = kept.copy()
        closed[self.alphabet_size :] = False
        closed[[*self.reached(kept)]] = True
        return closed

    def build(self, chosen: Ids, first_id: int) -> Entries:
        kept = token_set(self, chosen)
        if self.unknown is not None:
            kept[self.unknown] = False
        pairs = self.reached(kept)
        visible = np.flatnonzero(self.close(kept))
        row_of = {number: first_id + row for row, number in enumerate(visible.tolist())}
        parents = np.full((len(visible), 2), NO_TOKEN, np.int64)
        for number, pair in pairs.items():
            parents[row_of[number] - first_id] = [row_of[parent] for parent in pair]
        ranks = np.maximum(self.rank[visible], -1)
        kinds: list[Kind] = ["character" if rank < 0 else "merged" for rank in ranks.tolist()]
        texts = [self.tokens[i] for i in visible.tolist()]
        return Entries(Tokens.made(texts, kinds, parents=parents, ranks=ranks))
