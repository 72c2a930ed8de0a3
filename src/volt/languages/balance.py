"""Counting many languages, and balancing them.

A language of n lines is to be met with probability p ~ n^(1/T) (T is the temperature): its
words are counted (N/n)^(1 - 1/T) times, with N the lines of the largest. Such a weight is
irrational: it is rounded to the next 1/1000, by whole numbers alone, and exact from there on.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.progress import Progress
from volt.base.workers import side_by_side
from volt.counting.combine import Weighted, combine
from volt.counting.count import count
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text, exact_weight, find_inputs
from volt.counting.records import COMPRESSED

UNIT = 1000
"""Weights that follow from a temperature are whole numbers of 1/UNIT."""
HIGHEST_NUMERATOR = 1000
"""Of a temperature written as a fraction: 5, 3.3, 10/7."""
SMALL_FILE = 1 << 26
"""Files of fewer bytes are counted side by side."""

Temperature = float | str | Fraction


def count_languages(
    texts: Mapping[str, Text | Iterable[Text]],
    *,
    temperature: Temperature | None = None,
    weights: Mapping[str, float | str | Fraction] | None = None,
    min_count: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[dict[str, WordCounts], WordCounts, dict[str, Fraction]]:
    """The words of each language, the balanced words of all, and the weights.

    `options` are those of `volt.count`; `min_count` is for the words of all together.
    """
    if not texts:
        raise InputError("no languages: name at least one, with its text")
    if temperature is not None and weights:
        raise SettingsError("languages are balanced by temperature or by weights, not by both")
    for code in (weights or {}).keys() - texts.keys():
        raise SettingsError(f"a weight for {code!r}, which is none of {', '.join(sorted(texts))}")
    threads = thread_count(threads)
    counts: dict[str, WordCounts] = {}
    with (
        (progress or Progress()).stage("Counting words", len(texts), "languages") as report,
        closing(_count_each(list(texts.values()), threads, options)) as counted,
    ):
        for code, one in zip(texts, counted, strict=True):
            counts[code] = one
            if len(one) == 0:
                raise InputError(f"there are no words in the text of {code}")
            report(len(counts))
    exact = {code: exact_weight((weights or {}).get(code, 1)) for code in texts}
    if temperature is not None:
        exact = balance({code: one.totals.lines for code, one in counts.items()}, temperature)
    return counts, balanced(counts, exact, min_count, threads), exact


def balanced(
    counts: Mapping[str, WordCounts],
    weights: Mapping[str, Fraction],
    min_count: int = 1,
    threads: int = 1,
) -> WordCounts:
    """The words of all languages, each language's as often as it weighs; exact."""
    met = sampling(counts, weights)
    parts = [Weighted(one, weights[code], code, met[code]) for code, one in counts.items()]
    return combine(parts, min_count=min_count, threads=threads)


def sampling(counts: Mapping[str, WordCounts], weights: Mapping[str, Fraction]) -> dict[str, float]:
    """How often each language is met: its share of all lines, each times its weight. Counts files
    may not tell of lines; then its share of the words."""
    lines = {code: one.totals.lines for code, one in counts.items()}
    if not all(lines.values()):
        lines = {code: one.totals.words for code, one in counts.items()}
    total = sum(weights[code] * number for code, number in lines.items())
    return {code: float(weights[code] * number / total) for code, number in lines.items()}


def _count_each(
    texts: list[Text | Iterable[Text]], threads: int, options: dict[str, Any]
) -> Generator[WordCounts, None, None]:
    """The words of each text. Small files are counted side by side: threads that share one cost
    more than they gain."""
    if not all(map(_is_small, texts)):
        yield from (count(text, threads=threads, **options) for text in texts)
        return
    yield from side_by_side(lambda text: count(text, threads=1, **options), texts, threads)


def _is_small(text: Text | Iterable[Text]) -> bool:
    files = text if isinstance(text, (list, tuple)) else [text]
    return all(
        isinstance(file, (str, Path)) and Path(file).is_file()
        and Path(file).stat().st_size < SMALL_FILE for file in files
    )  # fmt: skip


def balance(lines: Mapping[str, int], temperature: Temperature) -> dict[str, Fraction]:
    """The weight of each language: (N/n)^(1 - 1/T), rounded to the next 1/1000.

    With T = a/b that is the a-th root of (N/n)^(a - b): a root of whole numbers, the same on every
    machine.

    >>> {code: str(w) for code, w in balance({"en": 1600, "is": 100}, 2).items()}
    {'en': '1', 'is': '4'}
    """
    for code, number in lines.items():
        if number < 1:
            raise InputError(f"{code}: how many lines it has is not known; give weights instead")
    most = max(lines.values())
    try:
        infinite = str(temperature) in ("inf", "infinity")
        ratio = Fraction(1) if infinite else Fraction(str(temperature))
        if ratio < 1 or ratio.numerator > HIGHEST_NUMERATOR:
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise SettingsError(
            f"a temperature is 1 or more, with at most three digits, or inf, not {temperature!r}"
        ) from None
    a, power = (1, 1) if infinite else (ratio.numerator, ratio.numerator - ratio.denominator)
    found: dict[str, Fraction] = {}
    for code, number in lines.items():
        # Twice the root, rounded down, plus one, halved: the root, rounded.
        doubled = _root((2 * UNIT) ** a * most**power // number**power, a)
        found[code] = Fraction((doubled + 1) // 2, UNIT)
    return found


def _root(number: int, degree: int) -> int:
    """The largest whole number whose power is at most `number`."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
    return low


# --------------------------------------------------------------------------------- names of files

_TEXT = re.compile(r"\.(txt|tsv|text|counts)$")


def find_languages(inputs: Sequence[str], *, glob: str = "*") -> dict[str, list[str]]:
    """The files that the inputs name, by language.

    The language is the folder's name for a file in a folder below a named one, else what
    follows the last dot (`train.de`), else the name (`de.txt`), without endings such as .gz and
    .txt. In a data set it is what follows the last dot of the field (`translation.de`).
    """
    found: dict[str, list[str]] = {}
    for name in inputs:
        for source in find_inputs(name, glob=glob):
            if source.path is None:
                _, dot, code = "".join(source.records.fields[:1]).rpartition(".")
                if not dot:
                    raise SettingsError(
                        f"{source.name} has no language: name it with `lang=CODE={name}`"
                    )
                found.setdefault(code, []).append(name)
                continue
            below = source.path.relative_to(name).parts if Path(name).is_dir() else ()
            plain = _TEXT.sub("", COMPRESSED.sub("", source.path.name))
            code = below[0] if len(below) > 1 else plain.rpartition(".")[2]
            weighted = "" if source.weight == 1 else f":{name.rpartition(':')[2]}"
            found.setdefault(code, []).append(f"{source.path}{weighted}")
    return dict(sorted(found.items()))
