"""Make text for benchmarks that need more of it than the corpora at hand contain.

    python benchmarks/generate.py --megabytes 2000 -o text.txt
    python benchmarks/generate.py --megabytes 2000 --files -o folder
    python benchmarks/generate.py --types 10000000 -o counts.tsv

No sentence is taken from anywhere, and no part of the text repeats another, so that more text does
not only warm caches. A language is a rank distribution and a rule that spells every rank:

- Ranks follow two power laws, as large corpora do: 1/r up to rank 8,000, then r^-1.7. There is no
  last rank. New words therefore keep coming, as in Heaps' law: the number of types grows like
  n^0.59, and 30 million words of a language have about 500,000 types.
- A word is made of syllables and an ending. Both are drawn by a hash of the rank, some far more
  often than others, so that words share parts as those of real languages do. Rarer
  words are longer.
- Lines are sentences of about 20 words with commas, full stops, capital letters and numbers; a
  document is 10 to 50 lines of one language.

The twelve languages differ in script, letters and ranks. Han is written without spaces. The same
seed and size give the same bytes. 100 MB take about 3 seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MEGABYTE = 1_000_000
BLOCK = 400_000  # words per block: what is made in one go
KNEE, SLOPE = 8_000, 1.7  # where the second power law begins, and its exponent
TABLE = 1 << 17  # ranks whose spellings are kept; the others are spelled when they occur
SYLLABLES, ENDINGS = 3_000, 60


@dataclass(frozen=True)
class Script:
    """`onsets`, `vowels` and `codas` are joined to syllables; a coda may be missing. A script of
    syllables or ideographs has `characters` instead."""

    onsets: str = ""
    vowels: str = ""
    codas: str = ""
    characters: tuple[int, int] = (0, 0)
    spaced: bool = True
    comma: str = ","
    stop: str = "."


LATIN = "bcdfghjklmnprstvwz"
CYRILLIC = "бвгджзклмнпрстфхцчш"
SCRIPTS: dict[str, Script] = {
    "latin-a": Script(LATIN + "y", "aeiou", "nstrlmd"),
    "latin-b": Script(LATIN, "aeiouäöü", "nrstlch"),
    "latin-c": Script("bcdfgjlmnpqrstvx", "aeiouéèêà", "nrstl"),
    "latin-d": Script("bcčdďfghjklmnpřrsštvzž", "aeiouyáíéý", "nlkmt"),
    "latin-e": Script("bcçdfgğhjklmnprsştvyz", "aeıioöuü", "nrlkzmş"),
    "cyrillic-a": Script(CYRILLIC, "аеиоуыяюё", "нтлсрмй"),
    "cyrillic-b": Script(CYRILLIC + "ґ", "аеиоуіїяює", "нтлсрв"),
    "greek": Script("βγδζθκλμνξπρστφχψ", "αεηιουωάίό", "ςν"),
    "arabic": Script("بتثجحخدذرزسشصضطعغفقكلمنهي", "اوي", "نمتر", comma="،"),
    "devanagari": Script("कखगघचछजटडतथदधनपफबभमयरलवसह", "ािीुूेैोौ", "ंनरत", stop="।"),
    "hangul": Script(characters=(0xAC00, 0xD7A4)),
    "han": Script(characters=(0x4E00, 0x9000), spaced=False, comma="，", stop="。"),
}


class Language:
    def __init__(self, name: str, seed: int) -> None:
        self.name, self.script = name, SCRIPTS[name]
        self.key = np.uint64(list(SCRIPTS).index(name) * 1_000_003 + seed * 7_919 + 1)
        rng = np.random.default_rng([seed, int(self.key)])
        self.syllables = _syllables(self.script, SYLLABLES, rng)
        self.endings = _syllables(self.script, ENDINGS, rng)
        self.space = " " if self.script.spaced else ""
        self.words = self.spell(np.arange(TABLE))
        self.capitals = np.array([word.title() for word in self.words], dtype=object)

    def spell(self, ranks: np.ndarray) -> np.ndarray:
        """The words at these ranks. One syllable for the first few, then one more for every
        factor of about 20."""
        state = _mix(ranks.astype(np.uint64) + (self.key << np.uint64(40)))
        lengths = 1 + (np.log(ranks + 2.0) / 3.0 + _unit(state) * 0.9).astype(int)
        if self.script.characters != (0, 0):  # such characters are syllables; words are short
            lengths = 1 + lengths // 2
        words = np.full(len(ranks), "", dtype=object)
        for place in range(int(lengths.max(initial=0))):
            state = _mix(state)
            skewed = (_unit(state) ** 2.5 * SYLLABLES).astype(int)
            part = self.syllables[skewed]
            part[lengths <= place] = ""
            words = words + part
        state = _mix(state)
        ending = self.endings[(_unit(state) ** 2.0 * ENDINGS).astype(int)]
        ending[(ranks < 200) | (_unit(_mix(state)) < 0.3)] = ""
        return words + ending

    def text(self, words: int, rng: np.random.Generator) -> str:
        """Lines of this language: words, and after each of them what separates it from the next."""
        ranks = draw_ranks(rng.random(words))
        known = ranks < TABLE
        spelled = np.empty(words, dtype=object)
        spelled[known] = self.words[ranks[known]]
        spelled[~known] = self.spell(ranks[~known])
        numbers = np.flatnonzero(rng.random(words) < 0.01)
        spelled[numbers] = [str(int(10 ** (u * 4.5))) for u in rng.random(len(numbers))]
        chance = rng.random(words)
        ends, commas = chance < 0.05, (chance >= 0.05) & (chance < 0.11)
        ends[-1] = True
        first = np.flatnonzero(ends[:-1]) + 1
        first = first[known[first] & ~np.isin(first, numbers)]
        spelled[first] = self.capitals[ranks[first]]
        pieces = np.full(2 * words, self.space, dtype=object)
        pieces[0::2] = spelled
        pieces[1::2][commas] = self.script.comma + self.space
        pieces[1::2][ends] = self.script.stop + "\n"
        return "".join(pieces.tolist())


def draw_ranks(uniform: np.ndarray) -> np.ndarray:
    """Ranks, from 0, with the distribution described above: the inverse of its integral."""
    head = np.log(KNEE + 1.0)  # the integral of 1/(r + 1) to the knee
    tail = 1.0 / (SLOPE - 1.0)  # that of the rest, which begins where the first ends
    mass = uniform * (head + tail)
    low = np.expm1(np.minimum(mass, head))
    left = np.maximum(1.0 - (mass - head) / tail, 1e-12)
    high = (KNEE + 1.0) * left ** (-tail) - 1.0
    return np.where(mass < head, low, np.minimum(high, 2.0**52)).astype(np.int64)


def expected_counts(types: int) -> np.ndarray:
    """The count of each of so many ranks in a text in which the last of them occurs once."""
    ranks = np.arange(types) + 1.0
    weight = np.where(ranks <= KNEE, 1.0 / ranks, (ranks / KNEE) ** -SLOPE / KNEE)
    return np.maximum(1, np.rint(weight / weight[-1])).astype(np.int64)


def documents(names: Sequence[str], megabytes: float, seed: int) -> Iterator[tuple[str, str]]:
    """(language, document) until every language has its share of the bytes, block by block in
    turn."""
    languages = [Language(name, seed) for name in names]
    left = {name: int(megabytes * MEGABYTE / len(names)) for name in names}
    block = 0
    while any(rest > 0 for rest in left.values()):
        for language in languages:
            if left[language.name] <= 0:
                continue
            rng = np.random.default_rng([seed, block, int(language.key)])
            words = min(BLOCK, left[language.name] // 3 + 100)
            lines = language.text(words, rng).splitlines(keepends=True)
            at = 0
            for size in rng.integers(10, 51, len(lines) // 10 + 1).tolist():
                if at >= len(lines) or left[language.name] <= 0:
                    break
                document = "".join(lines[at : at + size])
                at += size
                left[language.name] -= len(document.encode())
                yield language.name, document
        block += 1


def write_text(names: Sequence[str], megabytes: float, seed: int, output: Path) -> None:
    """One file: lines, or a record per document if its name ends in .jsonl."""
    records = output.suffix == ".jsonl"
    with output.open("w", encoding="utf-8", newline="\n") as file:
        for name, document in documents(names, megabytes, seed):
            if records:
                record = {"text": document, "language": name}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            else:
                file.write(document)


def write_files(names: Sequence[str], megabytes: float, seed: int, folder: Path) -> None:
    """One file per language, as `volt learn --multilingual` takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {n: (folder / f"{n}.txt").open("w", encoding="utf-8", newline="\n") for n in names}
    for name, document in documents(names, megabytes, seed):
        files[name].write(document)
    for file in files.values():
        file.close()


def write_counts(names: Sequence[str], types: int, seed: int, output: Path) -> None:
    """Lines word<TAB>count (`--input-format pairs`), an equal part of the types per language. A
    word that two ranks spell alike is written once, so there are slightly fewer."""
    with output.open("w", encoding="utf-8", newline="\n") as file:
        for name in names:
            language, part = Language(name, seed), types // len(names)
            counts, seen = expected_counts(part), set[str]()
            for start in range(0, part, BLOCK):
                ranks = np.arange(start, min(start + BLOCK, part))
                words = language.spell(ranks).tolist()
                for word, count in zip(words, counts[ranks].tolist(), strict=True):
                    if word not in seen:
                        seen.add(word)
                        file.write(f"{word}\t{count}\n")


def _syllables(script: Script, number: int, rng: np.random.Generator) -> np.ndarray:
    if script.characters != (0, 0):
        first, last = script.characters
        made = [chr(code) for code in rng.integers(first, last, number)]
    else:
        onsets, vowels, codas = list(script.onsets), list(script.vowels), list(script.codas)
        made = [
            str(rng.choice(onsets)) + str(rng.choice(vowels))
            + (str(rng.choice(codas)) if rng.random() < 0.4 else "")
            for _ in range(number)
        ]  # fmt: skip
    return np.array(made, dtype=object)


def _mix(state: np.ndarray) -> np.ndarray:
    """The next state of SplitMix64, finished."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


def _unit(state: np.ndarray) -> np.ndarray:
    return (state >> np.uint64(11)).astype(float) * 2.0**-53


def main() -> int:
    parser = argparse.ArgumentParser(description="Make text for benchmarks.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--megabytes", type=float, help="how much text")
    what.add_argument("--types", type=int, help="a counts file of so many words, not text")
    parser.add_argument("--languages", default=",".join(SCRIPTS), metavar="NAME,...")
    parser.add_argument("--files", action="store_true", help="a folder, one file per language")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PATH")
    arguments = parser.parse_args()
    names = arguments.languages.split(",")
    if unknown := [name for name in names if name not in SCRIPTS]:
        parser.error(f"no such language: {unknown[0]}; there are {', '.join(SCRIPTS)}")
    if arguments.types is not None:
        write_counts(names, arguments.types, arguments.seed, arguments.output)
    elif arguments.files:
        write_files(names, arguments.megabytes, arguments.seed, arguments.output)
    else:
        write_text(names, arguments.megabytes, arguments.seed, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
