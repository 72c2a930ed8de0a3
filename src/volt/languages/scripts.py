"""One vocabulary for each script, joined: words of one script do not compete with those of another.

A word is of the script of its first letter. Han, Kana and Bopomofo are one, as words mix them. What
has no letter (numbers, punctuation, emoji) goes with the script that has the most words, and so
does a script that has too few for a vocabulary of its own.
"""

from __future__ import annotations

import functools
import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from volt.adapting.join import Joined, join
from volt.base.checks import thread_count
from volt.base.errors import SettingsError
from volt.base.options import accepts
from volt.base.output import atomic_folder
from volt.base.progress import Progress
from volt.base.shown import json_text
from volt.choosing.sizes import parse_sizes
from volt.counting.combine import only_words
from volt.counting.count import counted
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.languages.balance import count_languages
from volt.languages.learning import are_many
from volt.languages.table import LanguageTable, language_table
from volt.pipeline import learn
from volt.proposing.proposal import Proposal
from volt.result import LearnResult
from volt.settings import GONE, CountSettings, LanguageSettings, LearnSettings
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

FEWEST_TYPES = 100
"""A script with fewer word types has no vocabulary of its own."""
ONE_SCRIPT = {
    "CJK": "Han", "HIRAGANA": "Han", "KATAKANA": "Han", "KATAKANA-HIRAGANA": "Han",
    "BOPOMOFO": "Han", "IDEOGRAPHIC": "Han",
}  # fmt: skip
NO_SCRIPT = {"MODIFIER", "MATHEMATICAL", "DOUBLE-STRUCK", "SUPERSCRIPT", "SUBSCRIPT", "SCRIPT",
             "BLACK-LETTER", "FEMININE", "MASCULINE", "MICRO"}  # fmt: skip
"""First words of the Unicode names of letters that belong to no script, or to any."""


@functools.cache
def script_of(character: str) -> str:
    """The script of a letter, by its Unicode name; empty for all else.

    >>> [script_of(c) for c in "aж漢のकا1,"]
    ['Latin', 'Cyrillic', 'Han', 'Han', 'Devanagari', 'Arabic', '', '']
    """
    if not unicodedata.category(character).startswith("L"):
        return ""
    words = unicodedata.name(character, "").split()
    if words[:1] in (["FULLWIDTH"], ["HALFWIDTH"]):
        words = words[1:]
    if not words or words[0] in NO_SCRIPT:
        return ""
    return ONE_SCRIPT.get(words[0], words[0].capitalize())


def word_scripts(counts: WordCounts) -> list[str]:
    """The script of each word type; empty for words without a letter."""
    letters = np.frombuffer(
        counts.text.tobytes().decode(errors="replace").encode("utf-32-le"), np.uint32
    )
    code_points, places = np.unique(letters, return_inverse=True)
    names = [script_of(chr(code_point)) for code_point in code_points.tolist()]
    scripts = sorted({"", *names})  # the empty one is the first
    number_of = {name: number for number, name in enumerate(scripts)}
    numbers = np.array([number_of[name] for name in names], np.int64)[places]
    bounds = counts.character_offsets
    lettered = np.append(np.flatnonzero(numbers), len(numbers))
    first = lettered[np.searchsorted(lettered, bounds[:-1])]
    found = np.where(first < bounds[1:], np.append(numbers, 0)[first], 0)
    return [scripts[number] for number in found.tolist()]


def split_scripts(counts: WordCounts) -> dict[str, WordCounts]:
    """The words of each script, the script with the most words first."""
    scripts = np.array(word_scripts(counts))
    words = {name: int(counts.counts[scripts == name].sum()) for name in set(scripts.tolist())}
    names = sorted(words, key=lambda name: (-words[name], name))
    main = next((name for name in names if name), "")
    for name in names:
        mask = scripts == name
        if name != main and (not name or int(mask.sum()) < FEWEST_TYPES):
            scripts[mask] = main
    return {
        name or "Common": only_words(counts, np.where(scripts == name, counts.counts, np.uint64(0)))
        for name in names
        if (scripts == name).any()
    }


@dataclass(frozen=True, eq=False)
class ScriptsResult:
    """The joint vocabulary, and the result of each script."""

    joined: Joined
    scripts: dict[str, LearnResult] = field(repr=False)
    counts: WordCounts = field(repr=False)
    messages: list[str]
    languages: LanguageTable | None = None

    def __repr__(self) -> str:
        scripts = ", ".join(self.scripts)
        return f"<ScriptsResult: {len(self.vocabulary):,} tokens, scripts: {scripts}>"

    @property
    def vocabulary(self) -> Vocabulary:
        return self.joined.vocabulary

    @property
    def signature(self) -> str:
        return self.vocabulary.signature

    def summary(self) -> dict[str, Any]:
        """What choices.json contains."""
        found = self.joined.summary() | {
            "scripts": {name: result.summary() for name, result in self.scripts.items()},
            "messages": self.messages,
        }
        return found if self.languages is None else found | {"languages": self.languages.summary()}

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """The joint vocabulary with its id maps, and the vocabulary of each script below
        `scripts/`, in the order of the maps."""
        with atomic_folder(folder, force=force) as temporary:
            self.joined.write(temporary)
            text = json_text(self.summary(), indent=2)
            (temporary / "choices.json").write_text(text + "\n", encoding="utf-8")
            for name, result in self.scripts.items():
                target = temporary / "scripts" / name
                target.mkdir(parents=True)
                result.vocabulary.save(target / "volt.json")
                (target / "signature.txt").write_text(result.signature + "\n", encoding="utf-8")


@accepts(CountSettings, LearnSettings, gone=GONE)
def learn_scripts(
    inputs: WordCounts | Text | Iterable[Text],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ScriptsResult:
    """Learn a vocabulary for each script, and join them. The options are those of `volt.learn`.

    S and the number of candidates are those of all scripts together: each has the part of them
    that it has of the word types.

    >>> import volt
    >>> latin = " ".join(a + b + c for a in "bdfgklmn" for b in "aeiou" for c in "nrst")
    >>> cyrillic = " ".join(a + b + c for a in "бдфгклмн" for b in "аеиоу" for c in "нрст")
    >>> sorted(volt.learn_scripts([[latin, cyrillic] * 30]).scripts)
    ['Cyrillic', 'Latin']
    """
    chosen = LearnSettings.given_in(options)
    settings = LearnSettings.take(options)
    threads = thread_count(threads)
    progress = progress or Progress()
    counts = counted(inputs, options, threads, progress)
    if settings.size is not None:
        raise SettingsError(
            "with `separate_scripts` each script chooses its size: leave `size` out"
        )
    parts = split_scripts(counts)
    if len(parts) < 2:
        raise SettingsError(
            "`separate_scripts`: only one script has enough words of its own "
            f"({next(iter(parts), 'none')}); leave it out"
        )
    results: dict[str, LearnResult] = {}
    messages: list[str] = []
    for name, part in parts.items():
        share = Fraction(len(part), len(counts))
        own: dict[str, Any] = {"merges": max(2, int((settings.source.number or 0) * share))}
        if settings.sizes is not None:
            own["sizes"] = _scaled(parse_sizes(settings.sizes), settings, part, share)
        results[name] = learn(part, threads=threads, progress=progress, **chosen | own)
        messages += [f"{name}: {message}" for message in results[name].messages]
    vocabularies = [result.vocabulary for result in results.values()]
    joined = join(vocabularies, counts=counts, threads=threads)
    return ScriptsResult(joined, results, counts, messages)


def _scaled(
    sizes: list[int], settings: LearnSettings, counts: WordCounts, share: Fraction
) -> list[int]:
    """The part of each size that a script gets; the fixed rows are needed by all."""
    fixed = Proposal.of(counts, settings, 1).rows
    scaled = sorted({fixed + max(1, int((size - fixed) * share)) for size in sizes})
    return scaled if len(scaled) > 1 else [fixed + 1, fixed + 2]


def learn_languages_by_script(
    texts: Mapping[str, Text | Iterable[Text]], **options: Any
) -> ScriptsResult:
    """`learn_languages` with a vocabulary for each script."""
    about = LanguageSettings.take(options)
    if about.min_share is not None:
        raise SettingsError("`min_share` needs one vocabulary: leave out `separate_scripts`")
    options.setdefault("multilingual", are_many(texts))
    threads, progress = thread_count(options.pop("threads", None)), options.pop("progress", None)
    learned = LearnSettings.given_in(options)
    LearnSettings.take(options)
    counts, balanced, exact = count_languages(
        texts, temperature=about.temperature, threads=threads, progress=progress, **options
    )
    result = learn_scripts(balanced, threads=threads, progress=progress, **learned)
    table, told = language_table(
        Tokenizer(result.vocabulary, threads=threads), counts, exact, about
    )
    return replace(result, languages=table, messages=[*result.messages, *told])
