"""LearnResult: what `learn` found, and the folder it is saved as."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from volt.base.output import atomic_folder
from volt.base.shown import json_text
from volt.choosing.choice import Choice, Verdict
from volt.choosing.paper_sizes import Step
from volt.choosing.quality import Quality
from volt.choosing.transport_problem import TransportSolution
from volt.counting.counts import WordCounts
from volt.proposing.base import Candidates
from volt.proposing.curve import CURVE_ROWS, Curve
from volt.proposing.proposal import SOURCES
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

if TYPE_CHECKING:
    from volt.languages.table import LanguageTable
    from volt.report.plot import Shows


@dataclass(frozen=True)
class Half:
    """What half of a sample gave."""

    size: int
    apart: float | None
    """How far the size of the whole sample is from it, relative; None where it was given."""
    tokens_differ: float
    """The share of the vocabulary's tokens that half of the sample does not give."""

    def said(self, size: int) -> str:
        changed = f"{self.tokens_differ:.1%} of the tokens differ"
        if self.apart is None:
            return f"half of the sample gives another vocabulary: {changed}"
        moved = f"{self.apart:.1%} apart"
        return f"half of the sample chose {self.size:,}, all of it {size:,} ({moved}); {changed}"


@dataclass(frozen=True, eq=False, repr=False)
class LearnResult:
    """Everything `learn` found.

    >>> import volt
    >>> found = volt.learn([["low lower lowest flow blow"] * 30], size=278)
    >>> len(found.vocabulary), found.tokenizer.decode(found.tokenizer.encode("slow"))
    (278, 'slow')
    """

    tokenizer: Tokenizer
    """With the vocabulary, ready to encode."""
    counts: WordCounts
    choice: Choice
    """The size, what decided it, and what every criterion says."""
    source: str = "bpe"
    """Where the candidates come from."""
    messages: list[str] = field(default_factory=list)
    """What the user should know: sizes left out, files that do not match, doubts."""
    languages: LanguageTable | None = None
    """What the vocabulary is to each language, if they were named."""
    part_names: Mapping[str, str] = field(default_factory=dict)
    """What the inputs of a mixture are called, by file."""
    half: Half | None = None
    """What half of the text gave, if a sample was learned from."""

    @property
    def enough(self) -> str:
        """Whether more text would change the answer, if a sample was learned from."""
        return "" if self.half is None else self.half.said(self.choice.size)

    @property
    def vocabulary(self) -> Vocabulary:
        return self.tokenizer.vocabulary

    @property
    def candidates(self) -> Candidates:
        return self.choice.candidates

    @property
    def choices(self) -> list[Verdict]:
        """What each criterion says."""
        return self.choice.verdicts

    @property
    def quality(self) -> Quality | None:
        """Held-out bits per byte over sizes; None where nothing could be held out."""
        return self.choice.quality

    @property
    def steps(self) -> list[Step]:
        """The paper's transport at each size of S; empty with the profiles that solve another."""
        return [step for step in self.choice.steps if isinstance(step, Step)]

    @property
    def solutions(self) -> list[TransportSolution]:
        return [step.solution for step in self.steps]

    @property
    def curve(self) -> Curve:
        """BPE at every size, other candidates at those that were measured; `curve.to_frame()` with
        pandas."""
        return self.candidates.curve

    @property
    def curve_name(self) -> str:
        """What the curve is of."""
        return SOURCES[self.source].title

    @property
    def exact(self) -> bool:
        """Is every size on the curve, or only some that were measured?"""
        return self.candidates.exact

    @property
    def overlap(self) -> float | None:
        """Share of the chosen merged tokens that BPE with as many merges has too; None where the
        candidates are not those of BPE, in the order of its merges."""
        found, chosen = self.candidates, self.choice.chosen
        merged = chosen[chosen >= found.alphabet_size]
        if self.source != "bpe" or not found.exact or not len(merged):
            return None
        return float((merged < found.alphabet_size + len(merged)).mean())

    @property
    def signature(self) -> str:
        return self.vocabulary.signature

    def summary(self) -> dict[str, Any]:
        """What choices.json contains: plain data, the same for the same text."""
        return {
            "signature": self.signature,
            "source": self.source,
            "scaffolds": self.vocabulary.scaffolds,
            "hidden": len(self.vocabulary.hidden),
            "unreachable": len(self.vocabulary.unreachable),
            "overlap_with_bpe": self.overlap,
            **self.choice.summary(),
            "types": len(self.counts),
            "characters": self.counts.characters // self.counts.unit,
            "messages": self.messages,
            **(
                {}
                if self.counts.sample is None
                else {
                    "sample": self.counts.sample.summary(),
                    "enough_text": self.enough,
                    "half": None if self.half is None else asdict(self.half),
                }
            ),
            **({} if self.languages is None else {"languages": self.languages.summary()}),
        }

    def __repr__(self) -> str:
        from volt.report.answer import answer

        return f"<LearnResult: {answer(self.summary()).headline}>"

    def _repr_html_(self) -> str:
        """In a notebook: the choice, the criteria, the curve."""
        from volt.report.notebook import result_html

        return result_html(self)

    def plot(self, shows: Shows = "answer") -> Any:
        """A matplotlib figure, which a notebook shows: quality and cost over size with the choice
        (`answer`), or entropy and MUV (`paper`)."""
        from volt.report.plot import result_figure

        return result_figure(self, shows)

    def save(
        self, folder: str | os.PathLike[str], *, force: bool = False, report: bool = True
    ) -> None:
        """Write the result's folder, complete or not at all; an existing one only with `force`.

        `report` adds report.json and, if the extra `report` is installed, report.html.
        """
        with atomic_folder(folder, force=force) as temporary:
            self.vocabulary.save(temporary / "volt.json")
            rows = curve_rows(self.curve, self.choices, self.steps)
            self.curve.save(temporary / "curve.csv", rows)
            text = json_text(self.summary(), indent=2)
            (temporary / "choices.json").write_text(text + "\n", encoding="utf-8")
            (temporary / "signature.txt").write_text(self.signature + "\n", encoding="utf-8")
            if report:
                from volt.report import write_report

                write_report(self, temporary)


def curve_rows(curve: Curve, choices: Sequence[Verdict], steps: Sequence[Step]) -> list[int]:
    """Rows of the curve for the file: about a thousand, evenly spaced on a logarithmic axis, and
    every size that was tried or chosen. `volt curve -o` writes all of them."""
    sizes = [choice.size for choice in choices if choice.size]
    sizes += [step.size for step in steps]
    return sorted({*curve.spread(CURVE_ROWS).tolist(), *map(curve.at_size, sizes)})


def compared_with_half(result: LearnResult, half: LearnResult) -> LearnResult:
    """The result of a sample with what its second half did; `half` is the result of the first."""
    whole, part = ({*one.vocabulary.texts} for one in (result, half))
    size, before = len(whole), len(part)
    given = result.choice.criterion == "size"
    apart = None if given else abs(size - before) / max(before, 1)
    return replace(result, half=Half(before, apart, 1 - len(whole & part) / max(size, 1)))
