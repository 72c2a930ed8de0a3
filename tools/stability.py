"""How stable the answer is, and BLEU at that size: two tables of docs/method.md.

    VOLT_DATA=... python tools/stability.py

The first: ten more lines, growing text, other seeds. The second: what the size that is chosen on
the texts of the study (docs/study) loses in BLEU.
"""

from __future__ import annotations

import json
import os
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import volt
from volt.choosing.choice import Choice
from volt.counting.inputs import find_inputs

STUDY = Path(__file__).parents[1] / "docs" / "study"
CORPORA = {
    "Tatoeba de": ["tatoeba-de-en/train.de"],
    "Multi30k de+en": ["multi30k/train.de", "multi30k/train.en"],
    "Tatoeba tr+en": ["tatoeba-tr-en/train.tr", "tatoeba-tr-en/train.en"],
    "Tatoeba ja": ["tatoeba-ja-en/train.ja"],
    "Europarl de": ["europarl-de-en/train.de"],
}
CUTS = (1_000, 5_000, 20_000, 60_000, 160_000)
SEEDS = 10
SEEDED = (5_000, 20_000)
"""Other seeds are tried on so many lines."""


@dataclass(frozen=True)
class Corpus:
    """The texts of a corpus; a cut takes as many lines from each."""

    texts: list[list[str]]

    @property
    def lines(self) -> int:
        return sum(map(len, self.texts))

    def choice(self, lines: int, seed: int = 0) -> Choice:
        """What volt chooses on the first lines."""
        each = lines // len(self.texts)
        part = [line for text in self.texts for line in text[:each]]
        return volt.learn([part], seed=seed).choice

    def size(self, lines: int, seed: int = 0) -> int:
        return self.choice(lines, seed).size

    def seeds(self, lines: int) -> list[int]:
        return [self.size(lines, seed) for seed in range(SEEDS)]


def read_lines(file: str, data: Path, most: int | None = None) -> list[str]:
    path = next(path for path in (data / file, data / f"{file}.xz") if path.exists())
    with find_inputs(str(path))[0].open() as stream:
        return stream.read().decode().split("\n")[:most]


def read_corpus(name: str, data: Path) -> Corpus:
    return Corpus([read_lines(file, data, CUTS[-1] + 10) for file in CORPORA[name]])


def stability_rows(data: Path) -> Iterator[list[str]]:
    for name in CORPORA:
        corpus = read_corpus(name, data)
        for lines in CUTS:
            if lines > corpus.lines:
                break
            choice, more = corpus.choice(lines), corpus.size(lines + 10)
            spread = ""
            if lines in SEEDED:
                seeds = corpus.seeds(lines)
                middle = statistics.median(seeds)
                spread = f"{min(seeds) / middle - 1:+.1%} to {max(seeds) / middle - 1:+.1%}"
            low, high = choice.range or (0, 0)
            yield [name, f"{lines:,}", f"{choice.size:,}", choice.reason, f"{low:,} to {high:,}",
                   f"{more / choice.size - 1:+.1%}", spread]  # fmt: skip


@dataclass(frozen=True)
class Bleu:
    """What the size of `auto` loses in one experiment of the study."""

    experiment: str
    text: str
    size: int
    """Rows of the embedding table."""
    bleu: float
    """Of BPE at that size: on a line between the sizes of the study, over the logarithm."""
    best: float
    """The best size of BPE."""
    best_size: int
    muv: float
    """Of what the paper's criterion chooses."""

    @property
    def loss(self) -> float:
        return self.best - self.bleu


def study_losses(data: Path) -> Iterator[Bleu]:
    """The experiments of the study that trained one-layer models."""
    chosen: dict[str, tuple[int, int]] = {}
    for path in sorted(STUDY.glob("one-layer-*.json")):
        found: dict[str, Any] = json.loads(path.read_text())
        experiment = found["experiment"]
        sides, pairs = sorted(experiment["languages"]), found["corpus"]["sentences"]["train"]
        text = f"{experiment['corpus']} {'+'.join(sides)}, {pairs:,} pairs"
        if text not in chosen:
            corpus, most = experiment["corpus"], experiment["lines"]
            lines = [read_lines(f"{corpus}/train.{side}", data, most) for side in sides]
            result = volt.learn(lines)
            chosen[text] = result.choice.size, result.candidates.fixed_rows
        size, fixed = chosen[text]
        by_vocabulary = defaultdict(list)
        for run in found["records"]:
            by_vocabulary[run["vocabulary"]].append(run["bleu"])
        scores = {name: statistics.mean(values) for name, values in by_vocabulary.items()}
        bpe = sorted((int(name[4:]), s) for name, s in scores.items() if name.startswith("bpe:"))
        # The study counts characters and merges, without the rows that every vocabulary has.
        at = np.interp(np.log(size - fixed), np.log([one for one, _ in bpe]), [s for _, s in bpe])
        best = max(bpe, key=lambda one: one[1])
        name = path.stem.removeprefix("one-layer-")
        yield Bleu(
            name, text, size, float(at), best[1], best[0] + fixed, scores["paper"]
        )  # fmt: skip


def main() -> None:
    data = Path(os.environ["VOLT_DATA"])
    print("| text | lines | answer | decided by | range | ten more lines | ten seeds, against their"
          " median |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for row in stability_rows(data):
        print(f"| {' | '.join(row)} |", flush=True)
    print("\n| experiment | text | answer | BLEU there | best BPE size, its BLEU | lost | BLEU of"
          " muv |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for one in study_losses(data):
        print(f"| {one.experiment} | {one.text} | {one.size:,} | {one.bleu:.2f} | "
              f"{one.best_size:,}, {one.best:.2f} | {one.loss:.2f} | {one.muv:.2f} |")  # fmt: skip


if __name__ == "__main__":
    main()
