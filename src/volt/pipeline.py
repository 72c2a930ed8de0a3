"""The pipeline: text -> word counts -> candidates -> choice -> tokenizer. Only this file knows the
order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from threading import Thread
from typing import Any, cast

import volt.proposing.sources  # noqa: F401, registers the sources
from volt.base.checks import thread_count
from volt.base.errors import SettingsError
from volt.base.options import accepts, options_of
from volt.base.progress import Progress
from volt.choosing.choice import Choice, SizeProblem, choose_size
from volt.choosing.selection import selectable
from volt.counting.count import counted, some_words
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.objects import is_word_counts
from volt.counting.sampling import compared_with_half
from volt.foreign.source import content_name
from volt.formats.patterns import pattern_notes
from volt.ladder import Ladder, check_ladder, ladder_sizes
from volt.proposing.base import Candidates, fixed_rows, has_byte_tokens
from volt.proposing.pieces import LearnedPieces
from volt.proposing.proposal import Proposal, propose
from volt.result import LearnResult
from volt.settings import (
    GONE,
    CandidateSettings,
    CountSettings,
    LanguageSettings,
    LearnSettings,
)
from volt.settings.roles import DEFAULT_SPECIAL
from volt.tokenizing.build import TokenizerPlan, build_tokenizer
from volt.tokenizing.roles import learned_roles
from volt.tokenizing.signature import learn_signature


@accepts(CountSettings, LearnSettings, LanguageSettings, gone=GONE)
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
    the result is a `volt.Ladder` of results by size.
    """
    if isinstance(inputs, Mapping) and not is_word_counts(inputs):
        from volt.languages.learning import learn_languages

        return learn_languages(inputs, threads=threads, progress=progress, **options)
    if given := [f"`{name}`" for name in options_of(LanguageSettings) if options.pop(name, None)]:
        raise SettingsError(f"{', '.join(given)}: give texts by language, such as {{'de': ...}}")
    settings = LearnSettings.take(options).with_profile()
    threads, progress = thread_count(threads), progress or Progress()
    # SciPy takes as long to import as transport to solve: begin while the words are counted.
    with suppress(RuntimeError):  # no thread can be started: then later
        Thread(target=import_module, args=("scipy.sparse",), daemon=True).start()

    if not isinstance(inputs, WordCounts):
        options["seed"] = settings.seed  # of the sample, too
    counts = some_words(counted(inputs, options, threads, progress))
    found = proposed(counts, settings, threads, progress)
    sizes = {} if settings.ladder is None else ladder_sizes(settings.ladder)
    if sizes:
        check_ladder(sizes, found)
        settings = replace(settings, splits=settings.splits or 1)
    choice = choose_size(size_problem(found, counts, settings, threads, progress))
    if not sizes:
        result = finish(choice, counts, settings, threads)
        return replace(result, enough=enough_text(result, settings, threads))
    results = [finish(choice.at_size(size), counts, settings, threads) for size in sizes]
    return cast(LearnResult, Ladder(results, sizes))


def enough_text(result: LearnResult, settings: LearnSettings, threads: int) -> str:
    """Would more text change the answer? By what the sample says that half of it does not."""
    if result.counts.half is None:
        return ""
    half = result.counts.half()
    if not len(half):
        return ""
    found = proposed(half, settings, threads)
    other = choose_size(size_problem(found, half, settings, threads, Progress()))
    before = finish(other, half, settings, threads)
    fixed = settings.size is not None
    whole, part = ([t.text for t in one.vocabulary.tokens] for one in (result, before))
    return compared_with_half(whole, part, fixed)


def finish(
    choice: Choice, counts: WordCounts, settings: LearnSettings, threads: int
) -> LearnResult:
    """The last arrow, and what was found."""
    tokenizer = build_tokenizer(
        TokenizerPlan(
            choice, counts, settings.merge_rule, settings.unknown, settings.special,
            settings.symbols, learned_roles(settings), settings.unknown_token, threads,
        )
    )  # fmt: skip
    source = settings.source
    name = content_name(source) if source.path else f"{source.name}-{source.number}"
    signature = learn_signature(name, counts, tokenizer.vocabulary, choice, settings)
    return LearnResult(
        tokenizer=tokenizer.with_vocabulary(replace(tokenizer.vocabulary, signature=signature)),
        counts=counts,
        choice=choice,
        source=source.name,
        messages=[*choice.candidates.messages, *choice.messages, *pattern_notes(counts.rule.mode)],
    )


def proposal(
    counts: WordCounts, settings: LearnSettings, threads: int, progress: Progress | None = None
) -> Proposal:
    rows = fixed_rows(
        counts.rule.pretokenizer, settings.unknown, settings.special, settings.symbols,
        settings.unknown_token,
    )  # fmt: skip
    return Proposal(
        counts, settings.source, settings.encoded_by, settings.coverage, settings.max_token_length,
        settings.min_frequency, rows, threads, progress or Progress(), not settings.selects,
    )  # fmt: skip


def proposed(
    counts: WordCounts, settings: LearnSettings, threads: int, progress: Progress | None = None
) -> Candidates:
    """The second arrow; candidates that transport selects from are ranked by it."""
    found = propose(proposal(counts, settings, threads, progress))
    return selectable(cast(LearnedPieces, found), progress) if settings.selects else found


def size_problem(
    found: Candidates,
    counts: WordCounts,
    settings: LearnSettings,
    threads: int,
    progress: Progress,
) -> SizeProblem:
    def again(part: WordCounts) -> Candidates:
        return proposed(part, settings, threads)

    def merges(part: WordCounts) -> Candidates:
        plain = replace(settings, select="merges", candidates="bpe", encoding="merge")
        return propose(proposal(part, plain, threads))

    byte_tokens = has_byte_tokens(
        counts.rule.pretokenizer, settings.unknown, settings.special, settings.unknown_token
    )
    return SizeProblem(
        found, settings, counts, again, byte_tokens, threads, progress,
        merges if settings.selects else None,
    )  # fmt: skip


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
    """
    settings = CandidateSettings.take(options)
    special = DEFAULT_SPECIAL if special is None else special
    threads, progress = thread_count(threads), progress or Progress()
    counts = counted(inputs, options, threads, progress)
    return propose(
        Proposal(
            counts, settings.source, settings.encoding, settings.coverage,
            settings.max_token_length, settings.min_frequency,
            fixed_rows(counts.rule.pretokenizer, None, special), threads,
            progress,
        )
    )  # fmt: skip
