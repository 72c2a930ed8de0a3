"""What a trial found: plain data, a table, a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from volt.base.lines import WIDTH
from volt.base.output import write_file
from volt.base.shown import json_text, plural
from volt.base.table import wrapped

FORMAT_VERSION = 2


@dataclass(frozen=True)
class RunResult:
    """One model: a vocabulary and a seed."""

    vocabulary: str
    seed: int
    size: int
    """Tokens of the vocabulary, special ones included."""
    bits_per_byte: float
    """Of the target of the test text, line ends included."""
    bits_95: float
    """Half the width of its 95% interval over test lines."""
    valid_bits_per_byte: float
    """The same of the validation text, on which the checkpoint was chosen."""
    parameters: int
    source_tokens: float | None
    target_tokens: float
    """Mean tokens of a training sentence."""
    unknown: int
    """Unknown tokens in training, validation and test text."""
    updates: int
    epochs: float
    sentences: int
    """Training lines or pairs seen, in all."""
    averaged: int
    """Checkpoints that the model is the average of; 1: it is the best checkpoint."""
    device: str
    stopped_early: bool
    model_digest: str
    history: list[list[float]] = field(repr=False)
    """Update, epoch, training loss per token, validation bits per byte at each checkpoint."""
    timing: dict[str, float] = field(repr=False)
    """Seconds; the only figures that differ between runs on the same machine."""
    bleu: float | None = None
    bleu_95: float | None = None
    """Half the width of its 95% interval over resampled test sentences."""
    chrf: float | None = None
    chrf_95: float | None = None

    @property
    def sentences_per_second(self) -> float:
        return self.sentences / max(self.timing["train"], 1e-9)

    @property
    def sentences_per_cpu_second(self) -> float:
        return self.sentences / max(self.timing["train_cpu"], 1e-9)

    def told(self) -> str:
        """The result in one line."""
        scores = "" if self.bleu is None else f"BLEU {self.bleu:.2f}, chrF {self.chrf:.2f}, "
        return f"{scores}{self.bits_per_byte:.4f} bits per byte"


@dataclass(frozen=True)
class TrialResults:
    """All runs of a trial and what they were made with."""

    task: str
    settings: dict[str, Any]
    signatures: dict[str, str]
    runs: list[RunResult]
    p_values: dict[str, list[float]]
    """For each vocabulary but the first: p of the difference to the first, by seed. Translation:
    paired bootstrap of BLEU; language models: bits of the same lines."""
    p_values_of_bits: dict[str, list[float]]
    """The same of bits per byte, where the task is about something else."""
    criteria: list[dict[str, Any]]
    """What each criterion chooses on the training text, for the same axis."""
    messages: list[str]

    @property
    def vocabularies(self) -> list[str]:
        return list(dict.fromkeys(run.vocabulary for run in self.runs))

    @property
    def measure(self) -> Measure:
        """What the task is about."""
        return MEASURES[self.task][0]

    def rows(self) -> list[dict[str, Any]]:
        """One per vocabulary: means over the seeds, and their standard deviation. Models that are
        not trained yet, or not equally, have no p."""
        told = not (self.untrained() or self.uneven())
        tested = self.p_values if told else {}
        of_bits = self.p_values_of_bits if told else {}
        found = []
        for name in self.vocabularies:
            runs = [run for run in self.runs if run.vocabulary == name]
            first = runs[0]
            row = {
                "vocabulary": name,
                "size": first.size,
                **_spread("bits_per_byte", [run.bits_per_byte for run in runs]),
                "bits_95": mean(run.bits_95 for run in runs),
            }
            if self.task == "translation":
                for score in ("bleu", "chrf"):
                    row |= _spread(score, [getattr(run, score) for run in runs])
                    row[f"{score}_95"] = mean(getattr(run, f"{score}_95") for run in runs)
                row["translated_per_second"] = mean(
                    run.timing["test_sentences"] / max(run.timing["translate"], 1e-9)
                    for run in runs
                )
            row |= {
                "p": median(tested[name]) if tested.get(name) else None,
                "p_of_bits": median(of_bits[name]) if of_bits.get(name) else None,
                "sentences_per_second": mean(run.sentences_per_second for run in runs),
                "sentences_per_cpu_second": mean(run.sentences_per_cpu_second for run in runs),
                "parameters": first.parameters,
                "source_tokens": first.source_tokens,
                "target_tokens": first.target_tokens,
                "updates": first.updates,
                "seconds": sum(run.timing["total"] for run in runs),
                "seeds": len(runs),
            }
            found.append(row)
        return found

    def plain(self) -> dict[str, Any]:
        return {"format": FORMAT_VERSION, **asdict(self), "vocabularies": self.rows()}

    def save(self, path: Path) -> None:
        write_json(path, self.plain())

    def table(self, winner: str | None = None) -> str:
        """The table as text, for the terminal: in parts if it is too wide. A winner is starred."""
        rows = [HEADS[self.task], *self.cells()]
        if winner is not None:
            rows = [[f"{'*' if row[0] == winner else ' '} {row[0]}", *row[1:]] for row in rows]
        return "\n".join(wrapped(rows, WIDTH))

    def answer(self, measure: Measure | None = None) -> str:
        """Which vocabulary is best, by what the task is about, and how sure that is."""
        measure = measure or self.measure
        if reason := self.no_verdict(measure):
            lowest = min(self.rows(), key=BITS.worst)
            return (
                f"no verdict: {reason}; lowest so far: {lowest['vocabulary']}, {BITS.said(lowest)}"
            )
        best, *others = sorted(self.rows(), key=measure.worst)
        said = f"best: {best['vocabulary']}, {measure.said(best)}"
        if not others:
            return said
        said += f"; next: {others[0]['vocabulary']}, {measure.said(others[0])}"
        first = self.vocabularies[0]
        judged = others[0] if best["vocabulary"] == first else best
        said += self._tested(judged, measure)
        if measure is not BITS:
            names = [judged["vocabulary"], first]
            here = [row for name in names for row in self.rows() if row["vocabulary"] == name]
            figures = ", ".join(f"{row['vocabulary']} {row[BITS.name]:.4f}" for row in here)
            said += f"; {BITS.title}: {figures}{self._tested(judged, BITS, alone=False)}"
        return said + self._weak()

    def _tested(self, row: Mapping[str, Any], measure: Measure, *, alone: bool = True) -> str:
        """How likely its difference to the first vocabulary is by chance."""
        p = row[self.p_name(measure)]
        if p is None:
            return ""
        which = f"; {row['vocabulary']} against {self.vocabularies[0]}: " if alone else ", "
        said = "p < 0.001" if p < 0.0005 else f"p = {p:.3f}"
        return which + said + ("" if p < SURE else ": too close to tell")

    def p_name(self, measure: Measure) -> str:
        """The field of a row with the p of a measure."""
        return "p" if measure is self.measure else "p_of_bits"

    def _weak(self) -> str:
        """Whether BLEU is so low that more training may turn the order."""
        highest = max((run.bleu for run in self.runs if run.bleu is not None), default=WEAK)
        if highest >= WEAK:
            return ""
        return (
            f"; the highest BLEU is {highest:.1f}: models that translate so badly say little of "
            "trained ones"
        )

    def no_verdict(self, measure: Measure) -> str:
        """Why no vocabulary is best by a measure; empty if one is."""
        if reason := self.untrained() or self.uneven():
            return reason
        best, *others = sorted(self.rows(), key=measure.worst)
        if others and measure.worst(best) == measure.worst(others[0]):
            names = f"{best['vocabulary']} and {others[0]['vocabulary']}"
            return f"{names} are equal, {measure.said(best)}"
        return ""

    def untrained(self) -> str:
        """Why the models can't be compared yet; empty if they can."""
        updates, warmup = min(run.updates for run in self.runs), self.settings["training"]["warmup"]
        if updates < warmup:
            fewer = f"{plural(updates, 'update')}, fewer than the {warmup:,} of the warm-up"
            return f"the models are not trained yet ({fewer})"
        highest = max((run.bleu for run in self.runs if run.bleu is not None), default=TRANSLATES)
        if highest < TRANSLATES:
            return f"the models are not trained yet (the highest BLEU is {highest:.2f})"
        return ""

    def uneven(self) -> str:
        """Why a budget in minutes gave the models too different amounts of training to compare;
        empty if it did not. A slower vocabulary, or a machine that was busy, got fewer updates."""
        updates = [run.updates for run in self.runs]
        fewest, most = min(updates), max(updates)
        if self.settings["training"]["minutes"] is None or most <= fewest * EVEN:
            return ""
        return (
            f"the minutes gave the models {fewest:,} to {most:,} updates; compare them after equal "
            f"training, with `updates` {fewest:,}"
        )

    def cells(self) -> list[list[str]]:
        """A row of the table per vocabulary."""
        found = []
        for row in self.rows():
            scores = [*_score(row, "bits_per_byte", "bits_95", 4)]
            tokens = f"{row['target_tokens']:.1f}"
            if self.task == "translation":
                scores += [*_score(row, "bleu", "bleu_95", 2), *_score(row, "chrf", "chrf_95", 2)]
                tokens = f"{row['source_tokens']:.1f}/{tokens}"
            found.append([
                row["vocabulary"], f"{row['size']:,}", *scores,
                "-" if row["p"] is None else f"{row['p']:.3f}", f"{row['updates']:,}",
                f"{row['sentences_per_second']:.0f}", f"{row['parameters']:,}", tokens,
                f"{row['seconds'] / 60:.1f}m",
            ])  # fmt: skip
        return found


@dataclass(frozen=True)
class Measure:
    """What vocabularies are compared by: a field of a row, and half of its 95% interval."""

    name: str
    interval: str
    title: str
    form: str
    """The figure in words."""
    sign: int
    """1 if the lowest is best, -1 if the highest is."""

    def worst(self, row: Mapping[str, Any]) -> float:
        """The lower, the better."""
        return self.sign * float(row[self.name])

    def said(self, row: Mapping[str, Any]) -> str:
        return self.form.format(row[self.name])


BITS = Measure("bits_per_byte", "bits_95", "bits per byte", "{:.4f} bits per byte", 1)
BLEU = Measure("bleu", "bleu_95", "BLEU", "BLEU {:.2f}", -1)
MEASURES = {"lm": [BITS], "translation": [BLEU, BITS]}
"""The first is what the task is about."""
SURE = 0.05
"""A difference with a smaller p is called one."""
EVEN = 1.1
"""Updates of models that are compared differ by this factor at most."""
WEAK = 10.0
"""With a lower BLEU, a translation is of little use, and more training may turn the order."""
TRANSLATES = 1.0
"""A model with a lower BLEU does not translate yet."""

_FIRST, _LAST = (
    ["vocabulary", "size", "bits/byte", "±95%"],
    ["p", "updates", "sent/s", "parameters", "tokens", "time"],
)
HEADS = {
    "lm": [*_FIRST, *_LAST],
    "translation": [*_FIRST, "BLEU", "±95%", "chrF", "±95%", *_LAST],
}
"""What stands above the columns of the table."""


def _spread(name: str, values: list[float]) -> dict[str, Any]:
    return {name: mean(values), f"{name}_spread": stdev(values) if len(values) > 1 else None}


def _score(row: dict[str, Any], name: str, interval: str, digits: int) -> tuple[str, str]:
    """A figure with its standard deviation over seeds, and half of its interval."""
    spread = row[f"{name}_spread"]
    over_seeds = "" if spread is None else f" ±{spread:.{digits}f}"
    return f"{row[name]:.{digits}f}{over_seeds}", f"{row[interval]:.{digits}f}"


def write_json(path: Path, data: Any) -> None:
    text = json_text(data, indent=1)
    write_file(path, text.encode() + b"\n")
