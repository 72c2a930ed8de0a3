"""Proposal -> Candidates: the second arrow, and what a source of candidates is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from volt.base.checks import check_choice
from volt.base.errors import SettingsError
from volt.base.options import parse_size
from volt.base.progress import Progress
from volt.base.registry import Registry
from volt.counting.counts import WordCounts
from volt.proposing.base import Candidates, Encoding, fixed_rows
from volt.settings import LearnSettings

DEFAULT_MERGES = 100_000
MOST = 10**9


@dataclass(frozen=True)
class SourceChoice:
    """A source by name and what it is asked for: `bpe:100000`, `file:PATH`."""

    name: str
    number: int | None = None
    """How many candidates to make; None where a path says what they are."""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.path or self.number}"


@dataclass(frozen=True)
class Proposal:
    """What to propose candidates from, and within which limits."""

    counts: WordCounts
    source: SourceChoice = SourceChoice("bpe", DEFAULT_MERGES)
    encoding: Encoding | None = None
    """How text will be cut with the vocabulary; None: as the source's own toolkit does."""
    coverage: float | None = None
    """Share of the text's characters that the alphabet must contain; None: 1, or 0.9995 from 5,000
    different characters on."""
    max_token_length: int | None = None
    min_frequency: int = 2
    """Pairs rarer than this are not merged."""
    fixed_rows: int | None = None
    """Rows that every vocabulary has besides candidates; None: those of the defaults."""
    threads: int = 1
    progress: Progress = field(default_factory=Progress)
    measured: bool = True
    """Is the curve of pieces measured at once? Whoever ranks them otherwise measures it later."""

    @classmethod
    def of(
        cls,
        counts: WordCounts,
        settings: LearnSettings,
        threads: int,
        progress: Progress | None = None,
    ) -> Proposal:
        """What a vocabulary with these settings is learned from."""
        rows = fixed_rows(
            counts.rule.pretokenizer, settings.unknown, settings.special, settings.symbols,
            settings.unknown_token,
        )  # fmt: skip
        return cls(
            counts, settings.source, settings.encoded_by, settings.coverage,
            settings.max_token_length, settings.min_frequency, rows, threads,
            progress or Progress(), not settings.selects,
        )  # fmt: skip

    @property
    def number(self) -> int:
        return self.source.number or 0

    @property
    def encoded_by(self) -> Encoding:
        return self.encoding or SOURCES[self.source.name].encodings[0]

    @property
    def rows(self) -> int:
        if self.fixed_rows is not None:
            return self.fixed_rows
        return fixed_rows(self.counts.rule.pretokenizer)

    @property
    def least(self) -> int:
        """`min_frequency` in the unit of the counts."""
        return self.min_frequency * self.counts.unit

    def told(self, made: int, what: str) -> tuple[str, ...]:
        """A message where the text gives fewer candidates than were asked for."""
        if made >= self.number:
            return ()
        return (f"the text gives {made:,} {what}, not {self.number:,}",)


@dataclass(frozen=True)
class Source:
    """Where candidates come from."""

    name: str
    title: str
    """What a curve of its candidates is called."""
    meaning: str
    """One sentence for the docs."""
    encodings: tuple[Encoding, ...]
    """The ways text can be cut with its tokens; the first is the default."""
    propose: Callable[[Proposal], Candidates]
    default_number: int | None = None
    """How many candidates to make unless told; None: the source is named with a path."""


SOURCES: Registry[Source] = Registry("candidates")


def parse_source(text: str) -> SourceChoice:
    """`bpe:100000`, `unigram:30k`, `file:PATH`. A number alone is for BPE, a name alone takes the
    default number of its source.

    >>> str(parse_source("bpe:32k"))
    'bpe:32000'
    """
    name, _, rest = text.partition(":")
    if name[:1].isdecimal() and not rest:
        name, rest = "bpe", name
    source = SOURCES.get(name)
    if source is not None and source.default_number is None and rest:
        return SourceChoice(name, path=rest)
    if source is not None and source.default_number is not None:
        with suppress(ValueError):
            number = parse_size(rest) if rest else source.default_number
            if number <= MOST:
                return SourceChoice(name, number)
    forms = source_forms()
    raise SettingsError(
        f"`candidates` is {', '.join(forms[:-1])} or {forms[-1]}, such as unigram:30000, "
        f"not {text!r}"
    )


def source_forms() -> list[str]:
    """What names a source: `bpe:N`, `file:PATH`."""
    return [f"{one.name}:{'PATH' if one.default_number is None else 'N'}"
            for one in SOURCES.values()]  # fmt: skip


def propose(proposal: Proposal) -> Candidates:
    """Make the candidates. Their frequencies are always measured on the corpus."""
    source = SOURCES[proposal.source.name]
    if proposal.encoding is not None and proposal.encoding not in source.encodings:
        check_choice("encoding", proposal.encoding, ("merge", "split", "longest", "unigram"))
        others = " or ".join(f"`encoding='{one}'`" for one in source.encodings)
        raise SettingsError(
            f"the tokens of {source.name} have no parents to be merged from: use {others}"
        )
    return source.propose(replace(proposal, encoding=proposal.encoded_by))
