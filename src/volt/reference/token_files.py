"""Token files: ids with an eos after each document."""

from __future__ import annotations

from collections.abc import Sequence


def with_eos(ids: Sequence[int], stops: Sequence[int], eos: int) -> list[int]:
    """The ids with an eos before each of the places.

    >>> with_eos([5, 6, 7], [2, 3], 0)
    [5, 6, 0, 7, 0]
    """
    found: list[int] = []
    before = 0
    for stop in stops:
        found += [*ids[before:stop], eos]
        before = stop
    return found + list(ids[before:])
