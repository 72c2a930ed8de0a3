"""The sizes that each source of candidates leads to.  python tools/sources.py --data DIR

Learns from every corpus with every source, and prints the table of docs/candidates.md. DIR has
NAME/train.LANG, which may be compressed.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import numpy as np

import volt
from volt.counting.inputs import find_inputs
from volt.proposing.base import token_set
from volt.proposing.pieces import PieceCandidates
from volt.result import LearnResult

CORPORA = {
    "Multi30k de-en": ("multi30k", "de en", None),
    "Tatoeba tr-en": ("tatoeba-tr-en", "tr en", None),
    "Tatoeba ja-en": ("tatoeba-ja-en", "ja en", None),
    "Europarl de-en": ("europarl-de-en", "de en", 10_000),
    "LibreOffice, 20 languages": ("libreoffice20", "", 1_000),
}
"""Folder, languages (none named: all), and how many lines of each."""
SOURCES = [
    ("bpe:100000", "merge"), ("bpe:100000", "unigram"), ("unigram:100000", "unigram"),
    ("wordpiece:30000", "merge"), ("wordpiece:30000", "longest"), ("substring:100000", "unigram"),
    ("substring:100000", "longest"),
]  # fmt: skip
COMPARED = 4000
"""Tokens beside the alphabet at which sources are compared."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", help="part of a corpus' name", default="")
    data = parser.parse_args()
    print(
        "| corpus | source, encoding | candidates | muv | mdl | renyi | knee | nats/char | as BPE |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for corpus, (folder, languages, lines) in CORPORA.items():
        if data.only in corpus:
            tell(corpus, count(data.data / folder, languages.split(), lines))


def count(folder: Path, languages: list[str], lines: int | None) -> volt.WordCounts:
    texts = []
    for file in sorted(folder.glob("train.*")):
        if not languages or file.name.split(".")[1] in languages:
            with find_inputs([str(file)])[0].open() as stream:
                texts.append([line.decode().rstrip("\n") for line in islice(stream, lines)])
    return volt.count(texts)


def tell(corpus: str, counts: volt.WordCounts) -> None:
    """A row for each source."""
    bpe: set[str] = set()
    for source, encoding in SOURCES:
        result = volt.learn(counts, candidates=source, encoding=encoding)
        per_character, texts = at_size(result)
        bpe = bpe or texts
        sizes = {one.criterion: one for one in result.choices}
        figures = [f"{result.candidates.merges:,}"]
        for name in ("muv", "mdl", "renyi", "knee"):
            one = sizes[name]
            shown = "-" if one.size is None else f"{one.size:,}"
            figures.append(shown + "?" * bool(one.doubts))
        figures += [f"{per_character:.4f}", f"{len(texts & bpe) / len(texts):.1%}"]
        print(f"| {corpus} | {source}, {encoding} | {' | '.join(figures)} |", flush=True)


def at_size(result: LearnResult) -> tuple[float, set[str]]:
    """Nats per character with the best COMPARED candidates, and which these are."""
    found = result.candidates
    if isinstance(found, PieceCandidates):
        chosen = found.ranking("frequency")[:COMPARED]
        frequency = found.cut(token_set(found, chosen)).astype(np.float64)
        share = frequency[frequency > 0] / frequency.sum()
        nats = -(share @ np.log(share)) * frequency.sum() / found.curve.characters
    else:
        chosen = found.ranking("merge")[:COMPARED]
        nats = found.curve.entropy_occurrences[len(chosen)]
    return float(nats), {found.tokens[i] for i in chosen.tolist()}


if __name__ == "__main__":
    main()
