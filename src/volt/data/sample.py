"""The data set `sample`: text made by a small grammar, for the examples of the documentation.

It needs no network and is the same on every machine. Sentences in English, German and Chinese have
the same meaning; `web.jsonl` and `code.jsonl` contain documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("de", "en", "zh")
PAIRS, VALID, DOCUMENTS = 3000, 300, 500

_WORDS = Path(__file__).with_name("sample.txt").read_text(encoding="utf-8").strip()
NOUNS, ADJECTIVES, VERBS, TIMES = _WORDS.split("\n\n")
"""A row per word: German, English and Chinese."""
FIRST, LAST = "Ka Mi To Re Lu So Na Be Ar El Jo Vi", "ra no li mar ten dis vek sal bor nia"
FIRST_ZH, LAST_ZH = "李王张刘陈杨赵黄周吴徐孙", "明华丽强芳军平云海文"


class Draws:
    """Numbers that look random and are the same everywhere (splitmix64)."""

    def __init__(self, seed: int):
        self.state = seed

    def below(self, limit: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        return (mixed ^ mixed >> 31) * limit >> 64

    def one(self, table: str) -> list[str]:
        """A row of a table. Early rows are more frequent, as early words of a list are in text."""
        rows = table.splitlines()
        return rows[min(self.below(len(rows)), self.below(len(rows)))].split("|")


@dataclass(frozen=True)
class Noun:
    article: str
    de: str
    en: str
    zh: str

    def german(self, adjective: str, case: str) -> str:
        """With its article and an adjective, in the nominative or the accusative."""
        masculine = self.article == "der" and case == "accusative"
        article, ending = ("den", "en") if masculine else (self.article, "e")
        return f"{article} {adjective}{ending} {self.de}"


def _noun(draws: Draws) -> Noun:
    """Every third one is a compound, which German writes as one word: `die Hafenlampe`."""
    german, en, zh = draws.one(NOUNS)
    article, de = german.split()
    if draws.below(3):
        return Noun(article, de, en, zh)
    before = draws.one(NOUNS)
    joined = before[0].split()[1] + de.lower()
    return Noun(article, joined, f"{before[1]} {en}", before[2] + zh)


def _name(draws: Draws) -> tuple[str, str]:
    """For languages with letters, and for Chinese. Names have two to four syllables: most of them
    occur once."""
    first, last = draws.below(12), [draws.below(10) for _ in range(1 + draws.below(3))]
    name = FIRST.split()[first] + "".join(LAST.split()[one] for one in last)
    return name, FIRST_ZH[first] + "".join(LAST_ZH[one] for one in last[:2])


def _sentence(draws: Draws) -> tuple[str, str, str]:
    """One sentence in German, English and Chinese."""
    subject, thing = _noun(draws), _noun(draws)
    old, new, verb, time = (draws.one(one) for one in (ADJECTIVES, ADJECTIVES, VERBS, TIMES))
    name, name_zh = _name(draws)
    seen = thing.german(new[0], "accusative")
    kind = draws.below(4)
    if kind == 0:
        place = subject.german(old[0], "nominative")
        return (f"Wo ist {place}?", f"Where is the {old[1]} {subject.en}?",
                f"{old[2]}的{subject.zh}在哪里？")  # fmt: skip
    if kind == 1:
        price = 2 + draws.below(60) * draws.below(40)
        return (f"{name} {verb[0]} {seen} und zahlt {price} Euro.",
                f"{name} {verb[1]} the {new[1]} {thing.en} and pays {price} euros.",
                f"{name_zh}{verb[2]}{new[2]}的{thing.zh}，付了{price}欧元。")  # fmt: skip
    start = time[0][0].upper() + time[0][1:]
    return (f"{start} {verb[0]} {name} {seen}.",
            f"{name} {verb[1]} the {new[1]} {thing.en} {time[1]}.",
            f"{name_zh}{time[2]}{verb[2]}{new[2]}的{thing.zh}。")  # fmt: skip


def _function(draws: Draws) -> str:
    """A function of Python."""
    noun, other = (draws.one(NOUNS)[1] for _ in range(2))
    verb, quality = draws.one(VERBS)[1].split()[0].removesuffix("s"), draws.one(ADJECTIVES)[1]
    limit = 1 + draws.below(90)
    return (
        f"def {verb}_{noun}({noun}s, limit={limit}):\n"
        f'    """Return every {quality} {noun} of the {other}."""\n'
        f"    found = []\n    for {noun} in {noun}s:\n"
        f"        if {noun}.{other} > limit and not {noun}.{quality}:\n"
        f"            found.append({noun}.{other} * {2 + draws.below(9)})\n    return found\n"
    )


def _document(draws: Draws) -> str:
    return "\n".join(_sentence(draws)[1] for _ in range(2 + draws.below(9)))


def _module(draws: Draws) -> str:
    return "\n\n".join(_function(draws) for _ in range(1 + draws.below(4)))


def sentences(number: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """In German, English and Chinese."""
    draws = Draws(seed)
    return (_sentence(draws) for _ in range(number))


def write_sample(folder: Path, languages: Sequence[str] = LANGUAGES) -> dict[str, int]:
    """Write the files of the data set; the lines of each split."""
    lines = {"train": PAIRS, "valid": VALID}
    for seed, (split, number) in enumerate(lines.items()):
        texts = dict(zip(LANGUAGES, zip(*sentences(number, seed), strict=True), strict=True))
        for language in languages:
            path = folder / f"{split}.{language}"
            path.write_text("".join(f"{text}\n" for text in texts[language]), encoding="utf-8")
    draws = Draws(2)
    for name, documents in (
        ("web", [_document(draws) for _ in range(DOCUMENTS)]),
        ("code", [_module(draws) for _ in range(DOCUMENTS)]),
    ):
        records = (json.dumps({"text": text, "source": name}) + "\n" for text in documents)
        (folder / f"{name}.jsonl").write_text("".join(records), encoding="utf-8")
    return lines
