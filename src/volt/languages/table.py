"""What a vocabulary is to each language: the table, measured by encoding the text of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError, SettingsError
from volt.choosing.quality import Quality
from volt.counting.counts import WordCounts
from volt.counting.marks import BYTE_TOKENS, SPACE_MARK
from volt.proposing.tokens import SPELLED
from volt.settings import LanguageSettings
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary


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
        return asdict(self)


def language_table(
    tokenizer: Tokenizer,
    counts: Mapping[str, WordCounts],
    weights: Mapping[str, Fraction],
    settings: LanguageSettings,
    quality: Quality | None = None,
) -> tuple[LanguageTable, list[str]]:
    """The table with parity and, where it was measured, quality; and what to tell."""
    rows = language_rows(tokenizer, counts, weights)
    rows, reference, told = _with_parity(rows, tokenizer, settings.reference, settings.parallel)
    if quality is not None:
        rows = [
            replace(
                row,
                best_size=int(quality.sizes[np.nanargmin(quality.languages[row.code])]),
                quality_loss=quality.loss_of(row.code, len(tokenizer)),
            ) if row.code in quality.languages else row
            for row in rows
        ]  # fmt: skip
    temperature = None if settings.temperature is None else str(settings.temperature)
    return LanguageTable(rows, reference, bool(settings.parallel), temperature), told


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
            for byte in SPACE_MARK.encode():
                found[tokenizer.vocabulary.ids[BYTE_TOKENS[byte]]] += reserved
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
