"""What a size is chosen from: the candidates, and how to propose them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

from volt.base.progress import Progress
from volt.base.workers import meanwhile
from volt.choosing.selection import selectable
from volt.choosing.splits import Split, split
from volt.counting.counts import WordCounts
from volt.proposing.base import Candidates, resolve_unknown
from volt.proposing.pieces import LearnedPieces
from volt.proposing.proposal import Proposal, propose
from volt.settings import ChoiceSettings, LearnSettings

MOST_AHEAD = 3_000_000
"""Word types: two BPE runs at a time take the memory of two."""


@dataclass(frozen=True, eq=False)
class SizeProblem:
    """Candidates, and how to choose among them."""

    candidates: Candidates
    settings: ChoiceSettings
    counts: WordCounts
    """The words that the candidates were proposed from."""
    again: Callable[[WordCounts], Candidates]
    """Proposes candidates from other counts in the same way: those of a split."""
    byte_fallback: bool = False
    """Are unknown characters spelled in byte tokens?"""
    threads: int = 1
    progress: Progress = field(default_factory=Progress)
    merges: Callable[[WordCounts], Candidates] | None = None
    """BPE from other counts, to compare a selected set with."""
    ahead: Future[Candidates] | None = None
    """Those of the first split, where it was begun before."""
    first_split: list[tuple[Split, Candidates]] = field(default_factory=list, repr=False)
    """The first part of the text and its candidates, once quality was measured."""

    def of_split(self, part: Split) -> Candidates:
        """The candidates of a split."""
        if part.number == 0 and self.ahead is not None:
            return self.ahead.result()
        return self.again(part.learn)

    @classmethod
    def of(
        cls,
        candidates: Candidates,
        counts: WordCounts,
        settings: LearnSettings,
        threads: int,
        progress: Progress,
        ahead: Future[Candidates] | None = None,
    ) -> SizeProblem:
        """What a vocabulary with these settings is learned from."""

        def merges(part: WordCounts) -> Candidates:
            plain = replace(settings, select="merges", candidates="bpe", encoding="merge")
            return proposed(part, plain, threads)

        unknown = resolve_unknown(
            counts.rule.mode, settings.unknown, settings.special, settings.unknown_token
        )
        return cls(
            candidates, settings, counts, lambda part: proposed(part, settings, threads),
            unknown == "byte", threads, progress, merges if settings.selects else None, ahead,
        )  # fmt: skip


def proposed(
    counts: WordCounts, settings: LearnSettings, threads: int, progress: Progress | None = None
) -> Candidates:
    """Candidates; those that transport selects from are ranked by it."""
    found = propose(Proposal.of(counts, settings, threads, progress))
    return selectable(cast(LearnedPieces, found), progress) if settings.selects else found


@contextmanager
def first_split_ahead(
    counts: WordCounts, settings: LearnSettings, threads: int
) -> Iterator[Future[Candidates] | None]:
    """Learn the candidates of the first split beside those of the whole text: one BPE run has
    little use for a second thread. None where there is none, or where memory might not do."""
    if threads == 1 or settings.selects or len(counts) > MOST_AHEAD:
        yield None
        return

    def first() -> Candidates:
        return proposed(split(counts, 0, settings.seed).learn, settings, 1)

    with meanwhile(first) as future:
        yield future
