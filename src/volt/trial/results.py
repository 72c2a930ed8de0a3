"""What a trial found: plain data, a table, a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from volt.base.output import atomic_write

FORMAT_VERSION = 1


@dataclass(frozen=True)
class RunResult:
    """One model: a vocabulary and a seed."""

    vocabulary: str
    seed: int
    size: int
    """Tokens of the vocabulary, special ones included."""
    bleu: float
    bleu_95: float
    """Half the width of its 95% interval over resampled test sentences."""
    chrf: float
    loss_per_character: float
    parameters: int
    source_tokens: float
    target_tokens: float
    """Mean tokens of a training sentence."""
    unknown: int
    """Unknown tokens in training, validation and test text."""
    updates: int
    epochs: float
    pairs: int
    device: str
    stopped_early: bool
    model_digest: str
    history: list[list[float]] = field(repr=False)
    """Update, epoch, training loss a token, validation loss a character at each checkpoint."""
    timing: dict[str, float] = field(repr=False)
    """Seconds; all that differs from one run to the next on the same machine."""

    @property
    def pairs_per_second(self) -> float:
        return self.pairs / max(self.timing["train"], 1e-9)

    @property
    def pairs_per_cpu_second(self) -> float:
        return self.pairs / max(self.timing["train_cpu"], 1e-9)


@dataclass(frozen=True)
class TrialResults:
    """All runs of a trial and what they were made with."""

    settings: dict[str, Any]
    signatures: dict[str, str]
    runs: list[RunResult]
    p_values: dict[str, list[float]]
    """For each vocabulary but the first: paired bootstrap p against the first, by seed."""
    criteria: list[dict[str, Any]]
    """What each criterion chooses on the training text, for the same axis."""
    messages: list[str]

    @property
    def vocabularies(self) -> list[str]:
        return list(dict.fromkeys(run.vocabulary for run in self.runs))

    def rows(self) -> list[dict[str, Any]]:
        """One a vocabulary: means over the seeds, and their standard deviation."""
        found = []
        for name in self.vocabularies:
            runs = [run for run in self.runs if run.vocabulary == name]
            first = runs[0]
            found.append(
                {
                    "vocabulary": name,
                    "size": first.size,
                    **_spread("bleu", [run.bleu for run in runs]),
                    "bleu_95": mean(run.bleu_95 for run in runs),
                    **_spread("chrf", [run.chrf for run in runs]),
                    **_spread("loss_per_character", [run.loss_per_character for run in runs]),
                    "p": median(self.p_values[name]) if self.p_values.get(name) else None,
                    "pairs_per_second": mean(run.pairs_per_second for run in runs),
                    "pairs_per_cpu_second": mean(run.pairs_per_cpu_second for run in runs),
                    "translated_per_second": mean(
                        run.timing["test_sentences"] / max(run.timing["translate"], 1e-9)
                        for run in runs
                    ),
                    "parameters": first.parameters,
                    "source_tokens": first.source_tokens,
                    "target_tokens": first.target_tokens,
                    "updates": first.updates,
                    "seconds": sum(run.timing["total"] for run in runs),
                    "seeds": len(runs),
                }
            )
        return found

    def plain(self) -> dict[str, Any]:
        return {
            "format": FORMAT_VERSION,
            "settings": self.settings,
            "signatures": self.signatures,
            "vocabularies": self.rows(),
            "p_values": self.p_values,
            "criteria": self.criteria,
            "messages": self.messages,
            "runs": [asdict(run) for run in self.runs],
        }

    def save(self, path: Path) -> None:
        write_json(path, self.plain())

    def table(self) -> str:
        """For the terminal."""
        rows = self.rows()
        wide = max(10, *(len(row["vocabulary"]) for row in rows))
        lines = [
            f"{'vocabulary':{wide}} {'size':>7} {'BLEU':>12} {'±95%':>5} {'chrF':>12} "
            f"{'loss/char':>9} {'p':>6} {'pairs/s':>8} {'parameters':>11} {'tokens':>11} "
            f"{'time':>8}"
        ]
        for row in rows:
            p = "-" if row["p"] is None else f"{row['p']:.3f}"
            tokens = f"{row['source_tokens']:.1f}/{row['target_tokens']:.1f}"
            lines.append(
                f"{row['vocabulary']:{wide}} {row['size']:>7,} {_pm(row, 'bleu'):>12} "
                f"{row['bleu_95']:>5.2f} {_pm(row, 'chrf'):>12} "
                f"{row['loss_per_character']:>9.4f} {p:>6} {row['pairs_per_second']:>8.0f} "
                f"{row['parameters']:>11,} {tokens:>11} {row['seconds'] / 60:>6.1f}m "
            )
        return "\n".join(line.rstrip() for line in lines)


def _spread(name: str, values: list[float]) -> dict[str, Any]:
    return {name: mean(values), f"{name}_spread": stdev(values) if len(values) > 1 else None}


def _pm(row: dict[str, Any], name: str) -> str:
    spread = row[f"{name}_spread"]
    return f"{row[name]:.2f}" + ("" if spread is None else f" ±{spread:.2f}")


def write_json(path: Path, data: Any) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
    with atomic_write(path) as stream:
        stream.write(text.encode() + b"\n")
