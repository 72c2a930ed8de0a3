"""The pipeline: text -> word counts -> candidates -> choice -> tokenizer. Only this file knows the
order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import volt.proposing.sources  # noqa: F401, registers the sources
from volt.base.checks import thread_count
from volt.base.errors import SettingsError
from volt.base.options import accepts, options_of
from volt.base.progress import Progress
from volt.base.shown import plural
from volt.base.workers import import_ahead
from volt.choosing.choice import Choice, choose_size
from volt.choosing.size_problem import SizeProblem, first_split_ahead, proposed
from volt.counting.count import counted, some_words
from volt.counting.counts import WordCounts, lost_words
from volt.counting.inputs import Text
from volt.counting.objects import is_word_counts
from volt.counting.translation_pairs import few_pairs
from volt.foreign.source import content_name
from volt.formats.patterns import pattern_notes
from volt.ladder import Ladder, check_ladder, ladder_sizes
from volt.proposing.base import Candidates
from volt.proposing.proposal import Proposal, propose
from volt.result import LearnResult, compared_with_half
from volt.settings import (
    GONE,
    CandidateSettings,
    CountSettings,
    LanguageSettings,
    LearnSettings,
)
from volt.settings.roles import DEFAULT_SPECIAL
from volt.tokenizing.build import TokenizerPlan, build_tokenizer
from volt.tokenizing.chat import chat_notes
from volt.tokenizing.signature import learn_signature
from volt.tokenizing.vocabulary import Vocabulary

OF_THE_COMMAND = {
    **dict.fromkeys(
        ("source", "target", "separate"),
        "is of the command line: pass the files of both sides as one list, or call volt.learn once "
        "for each side",
    ),
    "lang": "is of the command line: pass {'de': 'train.de', 'en': 'train.en'}",
    "output": "is of the command line: result.save(folder) writes the result",
}
"""What to do in Python instead."""
HARDLY_TEXT = 1000
"""Words: a sample with fewer was not meant."""

ENDS = re.compile(r"end.?of.?(text|doc|seq)|eos|^<\|end\|>$", re.IGNORECASE)
"""Usual names of the special token after a document."""


@accepts(CountSettings, LearnSettings, LanguageSettings, gone=GONE | OF_THE_COMMAND)
def learn(
    inputs: WordCounts | Text | Iterable[Text],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LearnResult:
    """Learn a vocabulary, its size included.

    `inputs` are word counts or texts. A mapping of words to whole numbers is word counts; any other
    mapping is texts by language code, which are passed on to `volt.learn_languages`. With `ladder`
    the result is a `volt.Ladder` of results by size. Nothing is printed; with
    `progress=volt.cli.console.Bars()`, after `import volt.cli.console`, a terminal shows bars.

    >>> import volt
    >>> found = volt.learn([["low lower lowest flow blow"] * 30], size=278)
    >>> found.tokenizer.encode("low")
    [272]
    """
    if isinstance(inputs, Mapping) and not is_word_counts(inputs):
        from volt.languages.learning import learn_languages

        return learn_languages(inputs, threads=threads, progress=progress, **options)
    if given := [f"`{name}`" for name in options_of(LanguageSettings) if options.pop(name, None)]:
        raise SettingsError(f"{', '.join(given)}: give texts by language, such as {{'de': ...}}")
    settings = LearnSettings.take(options).completed()
    threads, progress = thread_count(threads), progress or Progress()
    import_ahead("scipy.sparse")
    part_names = _part_names(inputs, options.get("mix"))
    counts = some_words(counted(inputs, options, threads, progress, seed=settings.seed))
    if settings.ladder is not None:
        sizes = ladder_sizes(settings.ladder)
        results = _results(counts, settings, threads, progress, sizes)
        return cast(LearnResult, Ladder(results, sizes))
    (result,) = _results(counts, settings, threads, progress)
    result = replace(result, part_names=part_names)
    if counts.half is None or not (half := counts.half()):
        return result
    return compared_with_half(result, *_results(half, settings, threads, Progress()))


def _results(
    counts: WordCounts,
    settings: LearnSettings,
    threads: int,
    progress: Progress,
    ladder: Collection[int] = (),
) -> list[LearnResult]:
    """Candidates, the choice, and a tokenizer; with a ladder, one for each of its sizes."""
    with first_split_ahead(counts, settings, threads) as ahead:
        found = proposed(counts, settings, threads - (ahead is not None), progress)
        check_ladder(ladder, found)
        choice = choose_size(SizeProblem.of(found, counts, settings, threads, progress, ahead))
    choices = [choice.at_size(size) for size in ladder] or [choice]
    return [_finish(one, counts, settings, threads) for one in choices]


def _finish(
    choice: Choice, counts: WordCounts, settings: LearnSettings, threads: int
) -> LearnResult:
    tokenizer = build_tokenizer(TokenizerPlan(choice, counts, settings, threads))
    signature = learn_signature(
        content_name(settings.source), counts, tokenizer.vocabulary, choice, settings
    )
    return LearnResult(
        tokenizer=tokenizer.with_vocabulary(replace(tokenizer.vocabulary, signature=signature)),
        counts=counts,
        choice=choice,
        source=settings.source.name,
        messages=[
            *counts.told,
            *lost_words(counts.totals, counts.rule, counts.unit),
            # That there are fewer than the default is no news.
            *(choice.candidates.messages if settings.asks_for_candidates else []),
            *choice.messages,
            *pattern_notes(counts.rule.mode),
            *chat_notes(settings.chat),
            *_no_eos(tokenizer.vocabulary),
            *few_pairs(counts, choice.range),
            *_sizes_of_the_paper(settings),
            *_hardly_text(counts),
        ],
    )


def _no_eos(vocabulary: Vocabulary) -> list[str]:
    """A note where a language model's vocabulary has special tokens, and none ends a document."""
    names = list(vocabulary.special_ids)
    if not vocabulary.rule.mode.byte_level or not names or vocabulary.role("eos"):
        return []
    usual = next((name for name in names if ENDS.search(name)), None)
    named = f"`eos={usual!r}`" if usual else "`eos`"
    return [f"no eos: token files have one after each document; name it with {named}"]


def _sizes_of_the_paper(settings: LearnSettings) -> list[str]:
    """A note where sizes are given and something else decides."""
    if settings.sizes is None or (settings.size is None and settings.decided_by == "muv"):
        return []
    return [
        "`sizes` are those at which the paper's method is tried, they do not limit the answer; "
        "`ladder` makes a vocabulary of each size"
    ]


def _part_names(inputs: object, mix: object) -> dict[str, str]:
    """The names of a mixture's parts by file, of inputs such as `web=crawl.jsonl`."""
    if not mix or not isinstance(inputs, list | tuple):
        return {}
    named = [one.partition("=") for one in inputs if isinstance(one, str)]
    return {path: name for name, _, path in named}


def _hardly_text(counts: WordCounts) -> list[str]:
    """A warning where a sample was meant to be larger."""
    words = counts.totals.words / counts.unit
    if counts.sample is None or counts.sample.size is None or words >= HARDLY_TEXT:
        return []
    kept = f"`sample={counts.sample.size}` keeps {plural(words, 'word')}"
    return [f"warning: {kept}, which is hardly text: it is a number of bytes, such as 2G"]


@accepts(CountSettings, CandidateSettings, gone=GONE)
def candidates(
    inputs: WordCounts | Text | Iterable[Text],
    *,
    special: Sequence[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Candidates:
    """Only the first two arrows: candidates from word counts, or from text, which is counted first.

    Sizes on their curve are those of a vocabulary with these special tokens.

    >>> import volt
    >>> found = volt.candidates([["low lower lowest flow blow"] * 30], merges=3)
    >>> found.alphabet_size, len(found)
    (10, 13)
    """
    special = DEFAULT_SPECIAL if special is None else special
    settings = LearnSettings(**vars(CandidateSettings.take(options)), special=special)
    threads, progress = thread_count(threads), progress or Progress()
    counts = counted(inputs, options, threads, progress)
    return propose(Proposal.of(counts, settings, threads, progress))
