"""Refit without residues: tokens that a text makes, but never shows, are taken out.

Other tokens are made from a residue, so each of these gets another pair: the two tokens that its
own text merges into without the residue. A residue stays if some token has no such pair, or could
no longer be reached, or if a word of the text came out differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from volt.adapting.owned import restrict, token_frequencies
from volt.base.errors import SettingsError
from volt.base.shown import plural
from volt.counting.counts import WordCounts
from volt.proposing.tokens import NO_TOKEN
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.pairs import merge_symbols
from volt.tokenizing.residues import find_residues, parents_of
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

MOST_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class WithoutResidues:
    """A vocabulary without most of its residues."""

    vocabulary: Vocabulary
    id_map: NDArray[np.int64]
    rerouted: dict[tuple[str, str], tuple[str, str]]
    """Merges that are replaced, and by what."""
    messages: list[str]


def without_residues(
    old: Vocabulary, counts: WordCounts, pinned: frozenset[int], threads: int
) -> WithoutResidues:
    """Take out the residues that can go; every word of the text is encoded as before."""
    before = Tokenizer(old, threads=threads)
    shown = token_frequencies(before, counts).astype(np.int64)
    found = find_residues(old, shown)
    if found is None:
        raise SettingsError(f"`residues`: the tokens of a {old.encoding} vocabulary do not merge")
    parents = {i: (a, b) for i, (a, b) in enumerate(parents_of(old).tolist()) if a != NO_TOKEN}
    ids, offsets = before.encode_words(counts)
    reachable = {*range(len(old))} - {*find_unreachable(before)}
    removed = {*found} - pinned
    stays = {"it is pinned": len({*found} & pinned)}  # why residues stay, and how many

    def keep(why: str, some: set[int]) -> None:
        nonlocal removed
        stays[why] = stays.get(why, 0) + len(removed & some)
        removed = removed - some

    for _ in range(MOST_ROUNDS):
        tried = _without(old, parents, removed)
        if isinstance(tried, set):
            keep("a token made from it has no other pair", tried)
            continue
        vocabulary, id_map, rerouted = tried
        after = Tokenizer(vocabulary, threads=threads)
        again, ends = after.encode_words(counts)
        changed = _ancestors(parents, _changed(ids, offsets, again, ends, id_map)) & removed
        lost = {int(np.flatnonzero(id_map == i)[0]) for i in find_unreachable(after)} & reachable
        hidden = _ancestors(parents, lost) & removed
        if not changed | hidden and np.array_equal(id_map[ids], again.astype(np.int64)):
            messages = [
                f"{len(found):,} residues: tokens that the text makes, but never shows; "
                f"{len(removed):,} of them were taken out, and the text is encoded as before; "
                "other words may be cut differently",
                *(
                    f"{plural(number, 'residue')} stayed: {why}"
                    for why, number in stays.items()
                    if number
                ),
            ]
            return WithoutResidues(vocabulary, id_map, rerouted, messages)
        keep("a word of the text would be encoded differently", changed)
        keep("another token could no longer be reached", hidden if changed | hidden else removed)
    raise SettingsError("`residues`: no set of residues could be taken out")


Tried = tuple[Vocabulary, NDArray[np.int64], dict[tuple[str, str], tuple[str, str]]]


def _without(
    old: Vocabulary, parents: dict[int, tuple[int, int]], removed: set[int]
) -> Tried | set[int]:
    """The vocabulary without some tokens; or those of them that have to stay."""
    texts, tokens = old.texts, old.tokens
    ids = {texts[i]: i for i in [*parents, *np.flatnonzero(old.columns.are("character")).tolist()]}
    place: dict[tuple[int, int], int] = {
        pair: i for i, pair in parents.items() if i not in removed and not removed & {*pair}
    }
    new_parents = {i: pair for pair, i in place.items()}
    stay: set[int] = set()
    rerouted: dict[tuple[str, str], tuple[str, str]] = {}

    def rank(left: int, right: int) -> int | None:
        made = place.get((left, right))
        return None if made is None else tokens[made].rank

    waiting = sorted((i for i in parents if i not in removed and i not in new_parents),
                     key=lambda i: (len(texts[i]), i))  # fmt: skip
    for i in waiting:
        letters = [ids[symbol] for symbol in old.marks.symbols(texts[i]) if symbol in ids]
        pair = merge_symbols(letters, rank, lambda a, b: place[a, b], fewest=2)
        lower = [part not in removed and tokens[part].rank < tokens[i].rank for part in pair]
        if lower != [True, True]:
            stay |= removed & _ancestors(parents, {i})
            continue
        place[pair[0], pair[1]] = i
        new_parents[i] = pair[0], pair[1]
        left, right = parents[i]
        rerouted[texts[left], texts[right]] = (texts[pair[0]], texts[pair[1]])
    if stay:
        return stay
    smaller = replace(old, tokens=[
        token._replace(parents=new_parents.get(i)) if i in new_parents or i in removed else token
        for i, token in enumerate(tokens)
    ])  # fmt: skip
    vocabulary, id_map = restrict(smaller, {*range(len(old))} - removed)
    return vocabulary, id_map, rerouted


def _ancestors(parents: dict[int, tuple[int, int]], start: set[int]) -> set[int]:
    """Tokens, and all they are made from."""
    found: set[int] = set()
    waiting = [*start]
    while waiting:
        i = waiting.pop()
        if i not in found:
            found.add(i)
            waiting += parents.get(i, ())
    return found


def _changed(
    ids: NDArray[np.uint32], offsets: NDArray[np.uint64], again: NDArray[np.uint32],
    ends: NDArray[np.uint64], id_map: NDArray[np.int64],
) -> set[int]:  # fmt: skip
    """The old tokens of words that come out differently."""
    mapped = id_map[ids]
    found: set[int] = set()
    if np.array_equal(offsets, ends) and np.array_equal(mapped, again.astype(np.int64)):
        return found
    for word, (start, end) in enumerate(pairwise(offsets.astype(np.int64).tolist())):
        new = again[int(ends[word]) : int(ends[word + 1])]
        if not np.array_equal(mapped[start:end], new.astype(np.int64)):
            found.update(ids[start:end].tolist())
    return found
