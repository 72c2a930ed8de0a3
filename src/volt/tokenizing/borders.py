"""Which texts does it change if some tokens go, and others are merged from another pair?

A row of tokens is what a text is encoded as if and only if no merge goes over a border between two
of them, and whether one does is a matter of the two tokens beside it: what is merged inside a token
does not depend on its neighbours as long as nothing goes over its ends. So texts whose tokens all
stay are encoded as before if every two tokens, side by side before, are side by side now.

What a token shows at its end is a chain: its last letter, what that is merged into, and so on up to
the token itself, each for some time. Time is the highest rank merged so far. A merge over a border
joins two such tokens while both are there. It is new only if one of them was not there at that time
before: with chains and merges as before it would have gone over the border before, too. A new pair
of a token is no exception, since two tokens side by side that make a third are always its last pair
(merge_pairs.py). So only tokens with another chain are looked at, only for the time that
is new, and only beside tokens whose own chain has what is joined then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from volt.tokenizing.merge_pairs import merge_symbols

Parents = Mapping[int, tuple[int, int]]
LEFT, RIGHT = 0, 1
ALWAYS = 1 << 62
"""The end of time: a token is there until the end."""
MOST_NEIGHBOURS = 20_000
"""Neighbours of a token that are tried; with more, the token counts as changed."""


class Merging:
    """The pair that each token is merged from, and when."""

    def __init__(self, parents: Parents, ranks: Sequence[int], lengths: Sequence[int]) -> None:
        self.parents, self.ranks = parents, ranks
        self.by_length = sorted(parents, key=lambda i: lengths[i])
        self.times: dict[int, int] = {}
        for i in self.by_length:
            left, right = parents[i]
            self.times[i] = max(ranks[i], self.times.get(left, -1), self.times.get(right, -1))

    @cached_property
    def made_by(self) -> dict[tuple[int, int], int]:
        return {pair: i for i, pair in self.parents.items()}

    @cached_property
    def made_with(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The tokens made from a token as their left, and as their right part."""
        found: tuple[dict[int, list[int]], dict[int, list[int]]] = {}, {}
        for i, pair in self.parents.items():
            for side in (LEFT, RIGHT):
                found[side].setdefault(pair[side], []).append(i)
        return found

    def time(self, token: int) -> int:
        return self.times.get(token, -1)

    def edge(self, token: int, side: int) -> list[tuple[int, int, int]]:
        """What stands at an end of a token while it is made, from when on, and until when."""
        chain, until = [], ALWAYS
        while True:
            since = self.time(token)
            chain.append((token, since, until))
            if token not in self.parents:
                return chain
            until, token = since, self.parents[token][side]

    def letters(self, token: int) -> list[int]:
        found: list[int] = []
        waiting = [token]
        while waiting:
            one = waiting.pop()
            if one in self.parents:
                waiting += reversed(self.parents[one])
            else:
                found.append(one)
        return found

    def are_neighbours(self, left: int, right: int) -> bool:
        """Does no merge go over the border between two tokens?"""
        ties = False
        for one, since, until in self.edge(left, RIGHT):
            for other, from_then, to_then in self.edge(right, LEFT):
                made = self.made_by.get((one, other))
                if made is None:
                    continue
                time = max(self.ranks[made], since, from_then)
                if time < min(until, to_then):
                    return False
                ties = ties or time <= min(until, to_then)
        return not ties or self._merged(left, right) == [left, right]

    def _merged(self, left: int, right: int) -> list[int]:
        def rank(one: int, other: int) -> int | None:
            made = self.made_by.get((one, other))
            return None if made is None else self.ranks[made]

        letters = [*self.letters(left), *self.letters(right)]
        return merge_symbols(letters, rank, lambda one, other: self.made_by[one, other])

    def with_edge(self, part: int, side: int) -> list[int]:
        """The tokens that show a token at an end while they are made, or are that token."""
        found: list[int] = []
        waiting = [part]
        while waiting and len(found) <= MOST_NEIGHBOURS:
            found.append(waiting.pop())
            waiting += self.made_with[side].get(found[-1], ())
        return found


def changed_beside_others(old: Merging, new: Merging, shown: Collection[int]) -> set[int]:
    """The tokens beside which some other token stood before, and does not now. `shown` are the
    tokens that text is encoded as, before and now."""
    differ: set[int] = set()
    for i in new.by_length:
        pair = new.parents[i]
        if pair != old.parents.get(i) or pair[LEFT] in differ or pair[RIGHT] in differ:
            differ.add(i)
    sides = (LEFT, RIGHT)
    return {i for i in differ.intersection(shown)
            if any(_loses_neighbour(old, new, i, side, shown) for side in sides)}  # fmt: skip


def _loses_neighbour(
    old: Merging, new: Merging, token: int, side: int, shown: Collection[int]
) -> bool:
    others: set[int] = set()
    for part in _joined_newly(old, new, token, side):
        others.update(new.with_edge(part, LEFT if side == RIGHT else RIGHT))
        if len(others) > MOST_NEIGHBOURS:
            return True
    for other in others.intersection(shown):
        pair = (token, other) if side == RIGHT else (other, token)
        if old.are_neighbours(*pair) and not new.are_neighbours(*pair):
            return True
    return False


def _joined_newly(old: Merging, new: Merging, token: int, side: int) -> set[int]:
    """What the end of a token may be joined with now, at times when it was not there before."""
    was = {one: (since, until) for one, since, until in old.edge(token, side)}
    found: set[int] = set()
    for one, since, until in new.edge(token, side):
        begins, ends = was.get(one, (ALWAYS, ALWAYS))
        if begins <= since and until <= ends:
            continue
        for made in new.made_with[LEFT if side == RIGHT else RIGHT].get(one, ()):
            part = new.parents[made][side]
            time = max(new.ranks[made], since, new.time(part))
            if time <= until and not begins <= time < ends:
                found.add(part)
    return found
