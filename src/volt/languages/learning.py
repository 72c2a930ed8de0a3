"""Many languages: count each, balance them, learn from all, and measure what each got.

Balance. A language of n lines is to be met with probability p ~ n^(1/T) (T is the temperature): its
words are counted (N/n)^(1 - 1/T) times, with N the lines of the largest. Such a weight is
irrational: it is rounded to the next 1/1000, by whole numbers alone, and exact from there on.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.options import accepts, options_of
from volt.base.progress import Progress
from volt.counting.combine import Weighted, combine
from volt.counting.count import count
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text, exact_weight, find_inputs
from volt.ladder import Ladder
from volt.pipeline import learn
from volt.proposing.tokens import SPELLED
from volt.result import LearnResult
from volt.settings import GONE, CountSettings, LanguageSettings, LearnSettings
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

UNIT = 1000
"""Weights that follow from a temperature are whole numbers of 1/UNIT."""
HIGHEST_NUMERATOR = 1000
"""Of a temperature written as a fraction: 5, 3.3, 10/7."""
SMALL_FILE = 1 << 26
"""Files of fewer bytes are counted side by side."""

Temperature = float | str | Fraction


@dataclass(frozen=True)
class Language:
    """What a vocabulary is to the text of one language, measured by encoding it."""

    code: str
    lines: int
    words: int
    """As counted, without the weight."""
    characters: int
    weight: str
    """How many times its words were counted, as an exact fraction."""
    sampled: float
    """Its share of all lines, each times its weight: p of the balance."""
    tokens: int
    tokens_per_word: float
    tokens_per_sentence: float
    """A sentence is a line."""
    single_token_words: float
    """Share of the words that are one token."""
    unknown_characters: int
    """Characters that the vocabulary does not have: spelled in bytes, or `<unk>`."""
    used: int
    """Tokens of the vocabulary that occur in its text."""
    share: float
    """Its share of the vocabulary's characters and merged tokens. Each token is divided among the
    languages by how often it occurs in a thousand tokens of each; the shares of all sum to 1, but
    for tokens that occur nowhere."""
    entropy: float
    """Of its tokens, in nats."""
    entropy_per_character: float
    """Nats per character: what the tokens cost by their own frequencies."""
    parity: float | None = None
    """Tokens for each token of the reference language, on parallel text (Petrov et al. 2023)."""
    best_size: int | None = None
    """The size with the best held-out quality for this language alone."""
    quality_loss: float | None = None
    """What the chosen size costs it against that, in held-out bits per byte, relative."""
    cost: float | None = None
    """What `min_share` changed: tokens more (or, below 0, less), relative."""


@dataclass(frozen=True)
class LanguageTable:
    """One row for each language."""

    rows: list[Language]
    reference: str | None = None
    """The language that parity is against."""
    parallel: bool = False
    """Whether parity is on text that was named as parallel, or on the texts themselves, which have
    as many lines as the reference's."""
    temperature: str | None = None
    min_share: float | None = None

    def summary(self) -> dict[str, Any]:
        return {
            "reference": self.reference,
            "parallel": self.parallel,
            "temperature": self.temperature,
            "min_share": self.min_share,
            "rows": [asdict(row) for row in self.rows],
        }


@accepts(CountSettings, LearnSettings, LanguageSettings, gone=GONE)
def learn_languages(
    texts: Mapping[str, Text | Iterable[Text]],
    *,
    temperature: Temperature | None = None,
    weights: Mapping[str, float | str | Fraction] | None = None,
    min_share: float | None = None,
    reference: str | None = None,
    parallel: Mapping[str, str | Path] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LearnResult:
    """Learn one vocabulary for many languages; `texts` are by language code.

    They are balanced by `temperature`, or by `weights`, or taken as they are. `min_share` is the
    least share of the vocabulary that each language gets. Parity is against `reference` (`en` if it
    is among them, else the first), on the files of `parallel`, or else on the texts, where they
    have as many lines. All other options are those of `volt.learn`.
    """
    options.setdefault("multilingual", True)
    chosen = {name: value for name, value in options.items() if name in options_of(LearnSettings)}
    settings = LearnSettings.take(options)
    threads = thread_count(threads)
    progress = progress or Progress()
    counts, words, exact = count_languages(
        texts, temperature=temperature, weights=weights, threads=threads, progress=progress,
        **options,
    )  # fmt: skip
    if min_share is not None and settings.looked_up:
        raise SettingsError(
            "min_share exchanges tokens that are merged from others; tokens that are looked up "
            "are not"
        )
    if min_share is not None and settings.ladder is not None:
        raise SettingsError("`ladder` does not go with `min_share`: leave one of the two out")
    result = learn(words, threads=threads, progress=progress, **chosen)
    if isinstance(result, Ladder):
        return cast(LearnResult, result.changed(
            lambda one: _with_table(one, counts, exact, temperature, reference, parallel)
        ))  # fmt: skip
    messages = list(result.messages)
    before: dict[str, int] = {}
    if min_share is not None:
        from volt.languages.floor import raise_shares

        before = {code: int(row.sum()) for code, row in usage(result.tokenizer, counts).items()}
        result, told = raise_shares(result, counts, exact, min_share, threads)
        messages += told
    result = replace(result, messages=messages)
    result = _with_table(result, counts, exact, temperature, reference, parallel)
    if min_share is not None and result.languages is not None:
        rows = [replace(row, cost=row.tokens / max(1, before[row.code]) - 1)
                for row in result.languages.rows]  # fmt: skip
        table = replace(result.languages, rows=rows, min_share=min_share)
        told = [*result.messages, _cost(rows, min_share)]
        result = replace(result, languages=table, messages=told)
    return result


def _with_table(
    result: LearnResult,
    counts: Mapping[str, WordCounts],
    weights: Mapping[str, Fraction],
    temperature: Temperature | None,
    reference: str | None,
    parallel: Mapping[str, str | Path] | None,
) -> LearnResult:
    """The result with the table of its languages."""
    table, told = language_table(
        result.tokenizer, counts, weights, temperature=temperature, reference=reference,
        parallel=parallel,
    )  # fmt: skip
    quality, size = result.choice.quality, result.choice.size
    if quality is not None:
        measured = quality.languages
        rows = [
            replace(
                row,
                best_size=int(quality.sizes[np.nanargmin(measured[row.code])]),
                quality_loss=quality.loss_of(row.code, size),
            ) if row.code in measured else row
            for row in table.rows
        ]  # fmt: skip
        table = replace(table, rows=rows)
    return replace(result, languages=table, messages=[*result.messages, *told])


def language_table(
    tokenizer: Tokenizer,
    counts: Mapping[str, WordCounts],
    weights: Mapping[str, Fraction],
    *,
    temperature: Temperature | None = None,
    reference: str | None = None,
    parallel: Mapping[str, str | Path] | None = None,
) -> tuple[LanguageTable, list[str]]:
    """The table with parity, and what to tell."""
    rows = language_rows(tokenizer, counts, weights)
    rows, reference, told = _with_parity(rows, tokenizer, reference, parallel)
    shown = None if temperature is None else str(temperature)
    return LanguageTable(rows, reference, bool(parallel), shown), told


# ----------------------------------------------------------------------------------- count, balance


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
        raise InputError("no languages: name at least one, such as --lang de=train.de")
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
                raise InputError(f"there is not one word in the text of {code}")
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
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(lambda text: count(text, threads=1, **options), texts)
    finally:
        pool.shutdown(cancel_futures=True)


def _is_small(text: Text | Iterable[Text]) -> bool:
    files = text if isinstance(text, list) else [text]
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


# ----------------------------------------------------------------------------------------- measure


def usage(tokenizer: Tokenizer, counts: Mapping[str, WordCounts]) -> dict[str, NDArray[np.int64]]:
    """How often each token occurs in the text of each language, in the unit of its counts."""
    return {code: _usage(tokenizer, one)[0] for code, one in counts.items()}


def _usage(tokenizer: Tokenizer, one: WordCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The frequency of each token, and the number of tokens of each word."""
    found, pieces = tokenizer.usage(one)
    reserved = one.totals.reserved
    if reserved:  # `▁` in metaspace text is in no word
        found = found.copy()
        if tokenizer.vocabulary.unknown == "byte":
            for byte in "▁".encode():
                found[tokenizer.vocabulary.ids[f"<0x{byte:02X}>"]] += reserved
        elif (unknown := tokenizer.vocabulary.unknown_id) is not None:
            found[unknown] += reserved
    return found, pieces


def spelled(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which tokens stand for text of their own."""
    return vocabulary.columns.are(*SPELLED)


def ownership(used: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float64]:
    """How each token is divided among the languages: a row per language, a column per token.
    Rates decide, so a language does not own a token just because it has more text."""
    rates = np.stack([row / max(1, row.sum()) for row in used.values()])
    sums = rates.sum(axis=0)
    owned = np.zeros_like(rates)
    np.divide(rates, sums, out=owned, where=sums > 0)
    return owned


def shares_of(used: Mapping[str, NDArray[np.int64]], own: NDArray[np.bool_]) -> dict[str, float]:
    """Each language's share of the tokens in the mask."""
    totals = ownership(used)[:, own].sum(axis=1) / max(1, int(own.sum()))
    return dict(zip(used, totals.tolist(), strict=True))


def language_rows(
    tokenizer: Tokenizer,
    counts: Mapping[str, WordCounts],
    weights: Mapping[str, Fraction] | None = None,
) -> list[Language]:
    """The table, without parity: every word type of every language is encoded."""
    vocabulary = tokenizer.vocabulary
    measured = {code: _usage(tokenizer, one) for code, one in counts.items()}
    used = {code: found for code, (found, _) in measured.items()}
    shares = shares_of(used, spelled(vocabulary))
    exact = weights or dict.fromkeys(counts, Fraction(1))
    lines = {code: one.totals.lines * exact[code] for code, one in counts.items()}
    all_lines = sum(lines.values()) or Fraction(1)
    lead = vocabulary.unknown_starts
    rows: list[Language] = []
    for code, one in counts.items():
        found, pieces = measured[code]
        unit = one.unit
        numbers = one.counts.astype(np.int64)
        words, tokens = int(numbers.sum()), int(found.sum())
        characters = int(np.diff(one.character_offsets) @ numbers) + one.totals.reserved
        positive = found[found > 0] / max(1, tokens)
        entropy = max(0.0, float(-(positive * np.log(positive)).sum()))
        rows.append(
            Language(
                code=code,
                lines=one.totals.lines,
                words=words // unit,
                characters=characters // unit,
                weight=str(exact[code]),
                sampled=float(lines[code] / all_lines),
                tokens=tokens // unit,
                tokens_per_word=tokens / words,
                tokens_per_sentence=tokens / unit / max(1, one.totals.lines),
                single_token_words=int(numbers[pieces == 1].sum()) / words,
                unknown_characters=int(found[lead].sum()) // unit,
                used=int((found > 0).sum()),
                share=shares[code],
                entropy=entropy,
                entropy_per_character=entropy * tokens / max(1, characters),
            )
        )
    return rows


# ------------------------------------------------------------------------------------------ parity


def parity(
    tokenizer: Tokenizer, parallel: Mapping[str, str | Path], reference: str
) -> dict[str, float]:
    """Tokens of each language for each token of the reference, on files of parallel text (the
    premium of Petrov et al. 2023): 2 means that what it says takes twice the tokens."""
    totals: dict[str, tuple[int, int]] = {}
    for code, path in parallel.items():
        ids, offsets = tokenizer.encode_file(path)
        totals[code] = len(ids), len(offsets) - 1
    if reference not in totals:
        raise SettingsError(f"the reference {reference!r} is none of {', '.join(sorted(totals))}")
    tokens, lines = totals[reference]
    for code, (_, number) in totals.items():
        if number != lines:
            raise InputError(
                f"{parallel[code]} has {number:,} lines, {parallel[reference]} has {lines:,}: "
                "they are not parallel"
            )
    if not tokens:
        raise InputError(f"{parallel[reference]} has no text: parity needs some")
    return {code: number / tokens for code, (number, _) in totals.items()}


def _with_parity(
    rows: list[Language],
    tokenizer: Tokenizer,
    reference: str | None,
    parallel: Mapping[str, str | Path] | None,
) -> tuple[list[Language], str, list[str]]:
    codes = list(parallel) if parallel else [row.code for row in rows]
    if reference is None:
        reference = "en" if "en" in codes else codes[0]
    if reference not in codes:
        raise SettingsError(f"the reference {reference!r} is none of {', '.join(codes)}")
    if parallel:
        ratios = parity(tokenizer, parallel, reference)
        return [replace(row, parity=ratios.get(row.code)) for row in rows], reference, []
    against = next(row for row in rows if row.code == reference)
    other = [row.code for row in rows if row.lines != against.lines or not row.lines]
    rows = [
        row if row.code in other else replace(row, parity=row.tokens / max(1, against.tokens))
        for row in rows
    ]
    messages: list[str] = []
    if other:
        listed = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")
        messages.append(
            f"no parity of {listed} with {reference}: not as many lines, so the texts are not "
            "parallel; give parallel text"
        )
    return rows, reference, messages


def _cost(rows: Sequence[Language], floor: float) -> str:
    changes = [(row.cost or 0.0, row.code) for row in rows]
    better = [code for cost, code in changes if cost < 0]
    worse = [cost for cost, _ in changes if cost > 0]
    if not worse:
        return f"a share of {floor:g} for each language cost the others nothing"
    worst, code = max(changes)
    return (
        f"a share of {floor:g} for each language: {len(worse)} languages need more tokens, "
        f"{sum(worse) / len(worse):.2%} in the mean, {worst:.2%} at most ({code}); "
        f"{len(better)} need fewer"
    )


# --------------------------------------------------------------------------------- names of files

_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst)$")
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
                _, dot, code = getattr(source.text, "field", "").rpartition(".")
                if not dot:
                    raise SettingsError(
                        f"{source.name} has no language: name it with --lang CODE={name}"
                    )
                found.setdefault(code, []).append(name)
                continue
            below = source.path.relative_to(name).parts if Path(name).is_dir() else ()
            plain = _TEXT.sub("", _COMPRESSED.sub("", source.path.name))
            code = below[0] if len(below) > 1 else plain.rpartition(".")[2]
            weighted = "" if source.weight == 1 else f":{name.rpartition(':')[2]}"
            found.setdefault(code, []).append(f"{source.path}{weighted}")
    return dict(sorted(found.items()))
