"""What a size is chosen from: the candidates, and how to propose them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from volt.base.progress import Progress
from volt.choosing.selection import selectable
from volt.choosing.splits import Split
from volt.counting.counts import WordCounts
from volt.proposing.base import Candidates, resolve_unknown
from volt.proposing.pieces import LearnedPieces
from volt.proposing.proposal import Proposal, propose
from volt.settings import ChoiceSettings, LearnSettings


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
    first_split: list[tuple[Split, Candidates]] = field(default_factory=list, repr=False)
    """The first part of the text and its candidates, once quality was measured."""

    @classmethod
    def of(
        cls,
        candidates: Candidates,
        counts: WordCounts,
        settings: LearnSettings,
        threads: int,
        progress: Progress,
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
            unknown == "byte", threads, progress, merges if settings.selects else None,
        )  # fmt: skip


def proposed(
    counts: WordCounts, settings: LearnSettings, threads: int, progress: Progress | None = None
) -> Candidates:
    """Candidates; those that transport selects from are ranked by it."""
    found = propose(Proposal.of(counts, settings, threads, progress))
    return selectable(cast(LearnedPieces, found), progress) if settings.selects else found
