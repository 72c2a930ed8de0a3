"""Progress of long stages. The library is silent; the command line shows bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[..., None]
"""Called with the amount of work done so far and, where there is more to tell, a note."""


class Progress:
    """A silent one. Subclass and override `stage` to show something."""

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Report]:
        """A stage of `total` units of work (None: unknown); yields the function that reports."""
        yield lambda done, note="": None
