"""What a vocabulary is and makes of its text, in a few figures. Terminal, page and notebook show
these, so that they never contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from volt.base.shown import plural
from volt.counting.sampling import in_bytes
from volt.proposing.tokens import SPELLED
from volt.report.answer import percent
from volt.tokenizing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Fact:
    """A figure as it is shown."""

    name: str
    value: str
    note: str = ""

    @property
    def line(self) -> str:
        """For a terminal."""
        said = f"{self.value} ({self.note})" if self.note else self.value
        return f"  {self.name:<19} {said}"


def facts(
    vocabulary: Vocabulary, choices: Mapping[str, Any] | None, report: Mapping[str, Any]
) -> list[Fact]:
    """From volt.json and, where they are there, choices.json and report.json."""
    return [
        *_vocabulary(vocabulary, report),
        *(_text(report["corpus"]) if report.get("corpus") else []),
        *(_sample(choices["sample"]) if choices and choices.get("sample") else []),
        *(_choice(choices) if choices else []),
    ]


def never_used(vocabulary: Vocabulary) -> int | None:
    """Tokens of text that the text does not have; None if nothing was counted."""
    if not vocabulary.columns.frequencies.any():
        return None
    spelled = np.logical_or.reduce([vocabulary.columns.are(kind) for kind in SPELLED])
    return int((spelled & (vocabulary.columns.frequencies == 0)).sum())


def _vocabulary(vocabulary: Vocabulary, report: Mapping[str, Any]) -> list[Fact]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in vocabulary.kind_counts.items())
    found = [Fact("vocabulary", plural(len(vocabulary), "token"), kinds)]
    if vocabulary.scaffolds:
        found.append(Fact("scaffolds", f"{vocabulary.scaffolds:,}", "others are made from them"))
    if vocabulary.hidden:
        hidden = f"{len(vocabulary.hidden):,}"
        found.append(Fact("hidden", hidden, "merged on the way, never put out"))
    if report.get("residues"):
        note = "made on the way to longer tokens, never in the output"
        found.append(Fact("residues", f"{report['residues']:,}", note))
    if vocabulary.unreachable:
        unreachable = f"{len(vocabulary.unreachable):,}"
        found.append(Fact("unreachable", unreachable, "their own text is cut otherwise"))
    return found


def _text(corpus: Mapping[str, Any]) -> list[Fact]:
    found = []
    if corpus["lines"]:
        words = f"{plural(corpus['words'], 'word')} as the pre-tokenizer cuts them"
        found.append(Fact("text", plural(corpus["lines"], "line"), words))
    if corpus["spaced_words"]:  # none in white space, and in scripts without spaces
        per_word = corpus["tokens"] / corpus["spaced_words"]
        words = f"{plural(corpus['spaced_words'], 'word')} between spaces"
        found.append(Fact("tokens per word", f"{per_word:.2f}", words))
    if corpus["tokens"]:
        found.append(Fact("bytes per token", f"{corpus['bytes'] / corpus['tokens']:.2f}"))
    unknown = corpus["unknown_characters"] / max(1, corpus["characters"])
    found.append(Fact("unknown characters", percent(unknown) if unknown else "none"))
    return found


def _sample(sample: Mapping[str, Any]) -> list[Fact]:
    """What was kept, and which mixture came out."""
    kept = f"{sample['kept_documents']:,} of {sample['read_documents']:,} {sample['unit']}s"
    size = f"{in_bytes(sample['kept_bytes'])} of {in_bytes(sample['read_bytes'])}"
    found, mixture = [Fact("sample", kept, size)], sample["mixture"]
    if mixture:
        parts = ", ".join(f"{name} {one['achieved']:.1%}" for name, one in mixture.items())
        asked = ", ".join(f"{one['asked']:.1%}" for one in mixture.values())
        found.append(Fact("mixture", parts, f"asked for {asked}"))
    return found


def _choice(choices: Mapping[str, Any]) -> list[Fact]:
    found = []
    mu, price = choices.get("mu"), choices.get("price")
    if mu is not None and price is not None:
        saved = f"saves {mu:,.4g} token{'s' * (mu != 1)} of text"
        work = f"{price:,.0f}" if price >= 10 else f"{price:.2g}"
        note = f"one more entry costs as much work as {work} tokens"
        found.append(Fact("the last token", saved, note))
    step = next((one for one in choices["steps"] if one["size"] == choices["size"]), None)
    if step and "moved" in step:
        note = f"{step['iterations']} iterations, {step['dropped'] or 'no'} tokens dropped"
        found.append(Fact("transport", f"moved {step['moved']:.3%} of the mass", note))
    overlap = choices.get("overlap_with_bpe")
    if overlap is not None and overlap < 1:
        found.append(Fact("shared with BPE", f"{overlap:.1%}", "of the merged tokens, equal size"))
    return found
