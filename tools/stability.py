"""How still the answer holds: ten more lines, growing text, other seeds. Prints the table of
docs/method.md.

    VOLT_DATA=... python tools/stability.py
"""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path

import volt
from volt.counting.inputs import find_inputs

CORPORA = {
    "Tatoeba de": ["tatoeba-de-en/train.de"],
    "Multi30k de+en": ["multi30k/train.de", "multi30k/train.en"],
    "Tatoeba tr+en": ["tatoeba-tr-en/train.tr", "tatoeba-tr-en/train.en"],
    "Tatoeba ja": ["tatoeba-ja-en/train.ja"],
}
CUTS = (1_000, 5_000, 20_000, 60_000, 160_000)
SEEDS = 10
SEEDED = 5_000
"""Other seeds are tried on this many lines."""


@dataclass(frozen=True)
class Corpus:
    """The texts of a corpus; a cut takes as many lines from each."""

    texts: list[list[str]]

    @property
    def lines(self) -> int:
        return sum(map(len, self.texts))

    def size(self, lines: int, seed: int = 0) -> int:
        """What volt chooses on the first lines."""
        each = lines // len(self.texts)
        part = [line for text in self.texts for line in text[:each]]
        return volt.learn([part], seed=seed).choice.size

    def seeds(self, lines: int) -> list[int]:
        return [self.size(lines, seed) for seed in range(SEEDS)]


def read_corpus(name: str, data: Path) -> Corpus:
    texts = []
    for file in CORPORA[name]:
        path = next(path for path in (data / file, data / f"{file}.xz") if path.exists())
        with find_inputs(str(path))[0].open() as stream:
            texts.append(stream.read().decode().split("\n"))
    return Corpus(texts)


def main() -> None:
    data = Path(os.environ["VOLT_DATA"])
    print("| text | lines | size | ten more lines | ten seeds, against their median |")
    print("|---|---|---|---|---|")
    for name in CORPORA:
        corpus = read_corpus(name, data)
        for lines in CUTS:
            if lines > corpus.lines:
                break
            size, more = corpus.size(lines), corpus.size(lines + 10)
            spread = ""
            if lines == SEEDED:
                seeds = corpus.seeds(lines)
                middle = statistics.median(seeds)
                spread = f"{min(seeds) / middle - 1:+.1%} to {max(seeds) / middle - 1:+.1%}"
            print(f"| {name} | {lines:,} | {size:,} | {more / size - 1:+.1%} | {spread} |")


if __name__ == "__main__":
    main()
