"""Refit without residues: tokens that a text makes, but never shows, are taken out.

Other tokens are made from a residue, so each of these gets another pair: the two tokens that its
own text merges into without the residue. A residue stays if some token has no such pair, or could
no longer be reached, or if two tokens that stood side by side would now be merged otherwise. So
every text, not just the one that was given, is encoded as before if its tokens all stay
(borders.py says why).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from volt.adapting.own_candidates import restrict, token_frequencies
from volt.base.errors import SettingsError
from volt.base.shown import plural
from volt.counting.counts import WordCounts
from volt.proposing.tokens import NO_TOKEN
from volt.tokenizing.borders import Merging, Parents, changed_beside_others
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.merge_pairs import merge_symbols
from volt.tokenizing.residues import find_residues, parents_of
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

MOST_ROUNDS = 50
IT = r"\bit\b"


@dataclass(frozen=True, eq=False)
class WithoutResidues:
    """A vocabulary without most of its residues."""

    vocabulary: Vocabulary
    id_map: NDArray[np.int64]
    rerouted: dict[tuple[str, str], tuple[str, str]]
    """Merges that are replaced, and by what; by themselves, if another part of theirs is replaced.
    Their tokens have no other merges."""
    messages: list[str]


def without_residues(
    old: Vocabulary, counts: WordCounts, pinned: frozenset[int], threads: int,
    idle: Sequence[str] = (),
) -> WithoutResidues:  # fmt: skip
    """Take out the residues that can go; every text whose tokens all stay is encoded as before.
    `idle` are tokens of the file that are never merged, and might be without a residue in them."""
    before = Tokenizer(old, threads=threads)
    shown = token_frequencies(before, counts).astype(np.int64)
    found = find_residues(old, shown)
    if found is None:
        raise SettingsError(f"`residues`: the tokens of a {old.encoding} vocabulary do not merge")
    parents = {i: (a, b) for i, (a, b) in enumerate(parents_of(old).tolist()) if a != NO_TOKEN}
    ids, offsets = before.encode_words(counts)
    unreachable = find_unreachable(before)
    reachable = {*range(len(old))} - {*unreachable}
    lengths = [len(text) for text in old.texts]
    was = Merging(parents, old.columns.ranks.tolist(), lengths)
    removed = {*found} - pinned
    stays = {"it is pinned": len({*found} & pinned)}  # why residues stay, and how many

    def keep(why: str, some: set[int]) -> None:
        nonlocal removed
        stays[why] = stays.get(why, 0) + len(removed & some)
        removed = removed - some

    asleep = [*idle, *(old.texts[i] for i in unreachable if i not in parents)]
    keep("a token that is never merged might be without it", _inside(old, removed, asleep))
    for _ in range(MOST_ROUNDS):
        tried = _without(old, parents, removed)
        if isinstance(tried, set):
            keep("a token made from it has no other pair", tried)
            continue
        vocabulary, id_map, new_parents = tried
        now = Merging(new_parents, was.ranks, lengths)
        risky = _ancestors(parents, changed_beside_others(was, now, reachable - removed))
        if risky & removed:
            keep("another text would be encoded differently", risky)
            continue
        after = Tokenizer(vocabulary, threads=threads)
        again, ends = after.encode_words(counts)
        changed = _ancestors(parents, _changed(ids, offsets, again, ends, id_map)) & removed
        lost = {int(np.flatnonzero(id_map == i)[0]) for i in find_unreachable(after)} & reachable
        hidden = _ancestors(parents, lost) & removed
        if not changed | hidden and np.array_equal(id_map[ids], again.astype(np.int64)):
            messages = [
                f"{plural(len(found), 'residue')}: tokens that the text makes, but never shows; "
                f"{len(removed):,} of them {'was' if len(removed) == 1 else 'were'} taken out",
                *(
                    f"{plural(number, 'residue')} stayed: "
                    f"{why if number == 1 else re.sub(IT, 'each', why)}"
                    for why, number in stays.items()
                    if number
                ),
            ]
            rerouted = _rerouted(old.texts, parents, new_parents)
            return WithoutResidues(vocabulary, id_map, rerouted, messages)
        keep("a word of the text would be encoded differently", changed)
        keep("another token could no longer be reached", hidden if changed | hidden else removed)
    raise SettingsError("`residues`: no set of residues could be taken out")


def _inside(old: Vocabulary, removed: set[int], texts: Sequence[str]) -> set[int]:
    """The tokens that are part of a text."""
    stripped = [old.marks.strip(text) for text in texts]
    return {i for i in removed if any(old.marks.strip(old.texts[i]) in text for text in stripped)}


Pairs = dict[tuple[str, str], tuple[str, str]]
Tried = tuple[Vocabulary, NDArray[np.int64], dict[int, tuple[int, int]]]


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

    def rank(left: int, right: int) -> int | None:
        made = place.get((left, right))
        return None if made is None else tokens[made].rank

    waiting = sorted((i for i in parents if i not in removed and i not in new_parents),
                     key=lambda i: (len(texts[i]), i))  # fmt: skip
    for i in waiting:
        letters = [ids[symbol] for symbol in old.marks.symbols(texts[i]) if symbol in ids]
        left = merge_symbols(letters, rank, lambda a, b: place[a, b], fewest=2)
        lower = [part not in removed and tokens[part].rank < tokens[i].rank for part in left]
        if lower != [True, True]:
            stay |= removed & _ancestors(parents, {i})
            continue
        place[left[0], left[1]] = i
        new_parents[i] = left[0], left[1]
    if stay:
        return stay
    smaller = replace(old, tokens=[
        token._replace(parents=new_parents.get(i)) if i in new_parents or i in removed else token
        for i, token in enumerate(tokens)
    ])  # fmt: skip
    vocabulary, id_map = restrict(smaller, {*range(len(old))} - removed)
    if old.merge_rule == "concat":  # any two tokens that make one
        ids_of = np.append(np.flatnonzero(id_map >= 0), NO_TOKEN)
        now = ids_of[parents_of(vocabulary)].tolist()
        new_parents = {int(ids_of[i]): (a, b) for i, (a, b) in enumerate(now) if a != NO_TOKEN}
    return vocabulary, id_map, new_parents


def _rerouted(texts: Sequence[str], old: Parents, new: Parents) -> Pairs:
    """The old and the new pair of tokens that are merged from others now, or whose parts are."""
    differ: set[int] = set()
    found: Pairs = {}
    for i in sorted(new, key=lambda i: len(texts[i])):
        if i in old and (new[i] != old[i] or not differ.isdisjoint(new[i])):
            differ.add(i)
            (left, right), (other_left, other_right) = old[i], new[i]
            found[texts[left], texts[right]] = texts[other_left], texts[other_right]
    return found


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
