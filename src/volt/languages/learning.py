"""Many languages: count each, balance them, learn from all, and measure what each got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from volt.base.checks import thread_count
from volt.base.errors import SettingsError
from volt.base.options import accepts
from volt.base.progress import Progress
from volt.counting.inputs import Text
from volt.ladder import Ladder
from volt.languages.balance import count_languages
from volt.languages.table import Language, language_table, usage
from volt.pipeline import learn
from volt.result import LearnResult
from volt.settings import GONE, CountSettings, LanguageSettings, LearnSettings


@accepts(CountSettings, LearnSettings, LanguageSettings, gone=GONE)
def learn_languages(
    texts: Mapping[str, Text | Iterable[Text]],
    *,
    weights: Mapping[str, float | str | Fraction] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LearnResult:
    """Learn one vocabulary for many languages; `texts` are by language code.

    They are balanced by `temperature`, or by `weights`, or taken as they are. `min_share` is the
    least share of the vocabulary that each language gets. Parity is against `reference` (`en` if it
    is among them, else the first), on the files of `parallel`, or else on the texts, where they
    have as many lines. All other options are those of `volt.learn`.

    >>> import volt
    >>> texts = {"en": [["low lower"] * 30], "de": [["tief tiefer am tiefsten"] * 30]}
    >>> len(volt.learn_languages(texts, size=280).vocabulary)
    280
    """
    options.setdefault("multilingual", are_many(texts))
    chosen = LearnSettings.given_in(options)
    settings, about = LearnSettings.take(options), LanguageSettings.take(options)
    floor = about.min_share
    if floor is not None and settings.looked_up:
        raise SettingsError(
            "`min_share` exchanges tokens that are merged from others; tokens that are looked up "
            "are not"
        )
    if floor is not None and settings.ladder is not None:
        raise SettingsError("`ladder` does not go with `min_share`: leave one of the two out")
    threads, progress = thread_count(threads), progress or Progress()
    counts, words, exact = count_languages(
        texts, temperature=about.temperature, weights=weights, threads=threads, progress=progress,
        **options,
    )  # fmt: skip
    result = learn(words, threads=threads, progress=progress, **chosen)

    def with_table(one: LearnResult) -> LearnResult:
        table, told = language_table(one.tokenizer, counts, exact, about, one.choice.quality)
        return replace(one, languages=table, messages=[*one.messages, *told])

    if isinstance(result, Ladder):
        return cast(LearnResult, result.changed(with_table))
    if floor is None:
        return with_table(result)
    from volt.languages.floor import raise_shares

    before = {code: int(row.sum()) for code, row in usage(result.tokenizer, counts).items()}
    raised, told = raise_shares(result, counts, exact, floor, threads)
    raised = with_table(replace(raised, messages=[*result.messages, *told]))
    assert raised.languages is not None
    rows = [replace(row, cost=row.tokens / max(1, before[row.code]) - 1)
            for row in raised.languages.rows]  # fmt: skip
    table = replace(raised.languages, rows=rows, min_share=floor)
    return replace(raised, languages=table, messages=[*raised.messages, _cost(rows, floor)])


def are_many(texts: Sized) -> bool:
    """Does the paper's setting for many languages fit? Two are a pair, as in most of its runs."""
    return len(texts) > 2


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
