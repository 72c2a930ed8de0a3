"""Counting words on this machine: text and counts files to WordCounts.

Counts that do not fit into memory: spill.py. On a cluster: spark.py.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any, BinaryIO, cast

import numpy as np

from volt import _core
from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.gate import reading
from volt.base.lines import WARNING
from volt.base.manifest import some_of
from volt.base.options import accepts
from volt.base.progress import Progress, Report
from volt.counting.combine import SHOWN_INPUTS, Weighted, combine
from volt.counting.counts import (
    COUNTS_HEAD,
    LARGEST,
    CountsHeader,
    CountTotals,
    WordCounts,
    common_unit,
)
from volt.counting.decoding import BLOCK, Cleaner, OnInvalid
from volt.counting.documents import Documents, left_out_words
from volt.counting.excerpts import Excerpt
from volt.counting.inputs import Text, TextInput, find_inputs, total_size
from volt.counting.reading import (
    START,
    AfterBlock,
    BlockEnd,
    Reader,
    ReadingProgress,
    ends_in_crlf,
    feed_documents,
    feed_text,
)
from volt.counting.records import RecordOptions
from volt.counting.sampling import Sample, Sampling, take_sample
from volt.counting.shards import shard_of
from volt.counting.words import WordRule
from volt.settings import CountSettings, WordSettings

CANDIDATES_HEAD = b"# volt candidates "
LONGEST_HEADER = 1 << 16
SMALL_BLOCK = 1 << 21
"""How much is read at a time from smaller files. Compressed ones contain more than their size."""


@accepts(CountSettings)
def count(
    inputs: Text | Iterable[Text],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> WordCounts:
    """Count the words of text, or add up counts files (or both).

    If the inputs contain counts files, these say how text is cut into words.

    >>> import volt
    >>> volt.count([["low slow low"]]).to_dict()
    {'▁low': 2, '▁slow': 1}
    """
    return count_words(inputs, CountSettings(**options), threads, progress)


def counted(
    inputs: WordCounts | Text | Iterable[Text],
    options: dict[str, Any],
    threads: int,
    progress: Progress,
    **more: Any,
) -> WordCounts:
    """The words of the inputs. `more` are options that also concern other stages."""
    if isinstance(inputs, WordCounts):
        if options:
            raise SettingsError(f"the words are counted already: {', '.join(options)}")
        return inputs
    return count(inputs, threads=threads, progress=progress, **more | options)


def some_words(counts: WordCounts) -> WordCounts:
    """An error if there is nothing to learn from."""
    if len(counts) == 0 and counts.totals.pruned_words:
        raise InputError("`min_count` leaves out every word of the input: lower it")
    if len(counts) == 0:
        empty = counts.told[0].removeprefix(WARNING) if counts.told else "the input has no words"
        raise InputError(f"{empty}: there is nothing to learn from")
    return counts


def count_words(
    inputs: Text | Iterable[Text],
    settings: CountSettings,
    threads: int | None = None,
    progress: Progress | None = None,
) -> WordCounts:
    """`count` with its options as settings."""
    threads = thread_count(threads)
    progress = progress or Progress()

    # Which inputs are there, and by which rule are their words cut?
    plan = plan_count(inputs, settings, progress)
    with progress.stage("Counting words", plan.size(), "B") as report:
        if settings.max_types is not None or all(one.input.weight == 1 for one in plan.inputs):
            counts = _count_planned(plan, settings, threads, report)
        else:
            counts = _count_weighted(plan, settings, threads, report)
    if plan.sample is None:
        return counts
    half, everything = plan.sample.half, settings.of_everything()
    return replace(
        counts,
        sample=plan.sample.report,
        half=lambda: count_words(half, everything, threads, progress),
    )


def _count_weighted(
    plan: CountPlan, settings: CountSettings, threads: int, report: Report
) -> WordCounts:
    """Inputs of different weight are counted apart: splits are drawn before weights are applied."""
    places: dict[Fraction, list[int]] = {}
    for place, one in enumerate(plan.inputs):
        places.setdefault(one.input.weight, []).append(place)
    groups: list[Weighted] = []
    done = 0
    for weight, of_weight in places.items():
        group = replace(plan, inputs=[plan.inputs[place] for place in of_weight])
        counts = _count_planned(group, replace(settings, min_count=1), threads, report, done)
        groups.append(Weighted(_unweighted(counts, group, weight), weight))
        done += group.size() or 0
    counts = combine(groups, min_count=settings.min_count, threads=threads)
    order = np.argsort(np.concatenate(list(places.values()))).tolist()
    return replace(
        counts,
        lines_of=[counts.lines_of[place] for place in order],
        excerpts=[counts.excerpts[place] for place in order],
    )


def _unweighted(counts: WordCounts, group: CountPlan, weight: Fraction) -> WordCounts:
    """The counts of inputs that have all this weight, as they are without it. They were counted
    with it, so that a count that becomes too large is met where it is read."""
    unit = math.lcm(*(one.file_unit for one in group.inputs))
    times = int(weight * counts.unit / unit)
    lines = counts.weighted_lines
    return replace(
        counts,
        counts=counts.counts // np.uint64(times),
        unit=unit,
        totals=counts.totals.times(Fraction(1, times)),
        weighted_lines=None if lines is None else lines / weight,
    )


def _count_planned(
    plan: CountPlan, settings: CountSettings, threads: int, report: Report, done: int = 0
) -> WordCounts:
    """`done`: bytes that were read before."""
    # 1. Count.
    rule = plan.rule
    counter = rule.counter(threads, min(settings.max_types or 0, LARGEST))
    totals = CountTotals()
    lines_of: list[tuple[str, int]] = []
    excerpts: list[Excerpt] = []
    weighted_lines = Fraction(0)
    shown = ReadingProgress(report, rule.reads, done)
    without_words: list[str] = []
    with_cr: list[str] = []
    words = 0
    for one in plan.inputs:
        read, excerpt = plan.read(one, counter, partial(shown.block, size=one.size))
        totals += read
        before, words = words, counter.totals["words"]
        # A counts file may be that of an empty shard, and what a sample leaves is chance.
        if one.input.path is not None and not one.is_counts and plan.sample is None:
            if words == before:
                without_words.append(one.name)
            elif rule.reads == "line" and ends_in_crlf(excerpt.text):
                with_cr.append(one.name)
        lines_of.append((one.name, read.lines))
        weighted_lines += one.input.weight * read.lines
        excerpts.append(excerpt if len(excerpts) < SHOWN_INPUTS else Excerpt())
        shown.input(one.size, read)

    # 2. Sort, and leave out rare words.
    text, offsets, counts = counter.finish(plan.least(settings.min_count))
    counted, words = CountTotals.of(counter), int(counts.sum())
    totals += replace(
        counted,
        words=words,
        pruned_words=counted.words - words,
        max_undercount=counter.totals["max_undercount"],
    )
    totals.check()
    return WordCounts(
        rule, text, offsets, counts, totals, plan.unit, lines_of, excerpts,
        None if any(one.is_counts for one in plan.inputs) else weighted_lines,
        told=_told(without_words, with_cr, plan.fields) + plan.left_out,
    )  # fmt: skip


def _told(
    without_words: Sequence[str], with_cr: Sequence[str], fields: Mapping[str, Sequence[str]]
) -> list[str]:
    """What to know about some files."""
    told = []
    if without_words:
        have = "has" if len(without_words) == 1 else "have"
        told.append(f"{WARNING}{some_of(without_words)} {have} no words")
    if with_cr:
        told.append(
            f"{some_of(with_cr)}: lines end in CR LF; the CR is not learned, but encoding writes "
            "it as a token of every line: convert such files before (dos2unix)"
        )
    for listed in dict.fromkeys(map(tuple, fields.values())):
        files = [name for name, found in fields.items() if tuple(found) == listed]
        told.append(f"{some_of(files)}: {len(listed)} fields per record: {', '.join(listed)}")
    return told


# --------------------------------------------------------------------------------------- the plan


@dataclass(frozen=True)
class CountPlan:
    """What is to be counted, and by which rule."""

    inputs: list[OpenedInput]
    rule: WordRule
    unit: int
    on_invalid: OnInvalid
    block: int = BLOCK
    """How much text is read at a time."""
    sample: Sample | None = None
    """What was chosen of the text, if not all of it is counted."""
    fields: dict[str, list[str]] = field(default_factory=dict)
    """Of each input of records of which several fields are read: which. Known once it was read."""
    left_out: list[str] = field(default_factory=list)
    """What to know about records that were left out."""

    @cached_property
    def buffer(self) -> bytearray:
        """Shared by all inputs: allocating one takes longer than reading a small file."""
        sizes = [one.size for one in self.inputs]
        largest = max((self.block if size is None else size for size in sizes), default=0)
        return bytearray(min(self.block, max(largest + 1, SMALL_BLOCK)))

    def size(self) -> int | None:
        """Bytes to read from disk, if that can be known."""
        return total_size(one.size for one in self.inputs)

    def least(self, min_count: int) -> int:
        """The least count that is listed. A minimum of 1 leaves out nothing, not even a word that
        weighs less than 1: its other occurrences may be in another shard."""
        return min(min_count * self.unit, LARGEST) if min_count > 1 else 1

    def read(
        self,
        one: OpenedInput,
        counter: _core.Counter,
        after_block: AfterBlock,
        *,
        start: BlockEnd = START,
    ) -> tuple[CountTotals, Excerpt]:
        """Count one input (a text from `start` on): its totals, and an excerpt of a text."""
        weight = int(one.input.weight * self.unit / one.file_unit)
        cleaner = Cleaner(
            self.on_invalid, self.rule.normalize, one.input.normalizer,
            self.rule.reads == "document",
        )  # fmt: skip
        begins = not (one.input.stretch and one.input.stretch[0])
        reader = Reader(one.name, self.rule, cleaner, weight, self.buffer, self.block, begins)
        try:
            with reading(one.name):
                if (documents := one.documents()) is not None:
                    found = feed_documents(reader, documents, counter, after_block)
                    names = getattr(documents, "fields", [])
                    if len(names) > 1:
                        self.fields[one.name] = names
                    if (left := getattr(documents, "left_out", None)) and any(left()):
                        self.left_out.append(left_out_words(one.name, *left()))
                    return found
                with one.stream() as stream:
                    if one.is_counts:
                        totals = _read_counts(one, stream, counter, weight, self, after_block)
                        return totals, Excerpt()
                    return feed_text(reader, stream, counter, after_block, start)
        except OverflowError:
            raise InputError(f"{one.name}: the counts do not fit into 63 bits") from None


def plan_count(
    inputs: Text | Iterable[Text], settings: CountSettings, progress: Progress | None = None
) -> CountPlan:
    """Look at the inputs: what happens before anything is counted."""
    found = find_inputs(
        inputs, glob=settings.glob, weights=settings.weights, records=RecordOptions.of(settings),
        groups=cast(Any, settings.mix) or (),
    )  # fmt: skip
    opened = [OpenedInput(one) for one in found]
    for one in opened:
        one.look(settings.input_format)
    rule = _common_rule(opened, settings)
    if rule.unicode != _core.unicode_version and not all(one.is_counts for one in opened):
        raise SettingsError(
            f"the counts were made with Unicode {rule.unicode}, text would be counted with "
            f"{_core.unicode_version}; count all of it with one version of volt"
        )
    unit = common_unit(one.input.weight / one.file_unit for one in opened)
    opened, sample = choose_inputs(opened, rule, settings, progress or Progress())
    return CountPlan(opened, rule, unit, settings.on_invalid, BLOCK, sample)


def choose_inputs(
    opened: list[OpenedInput], rule: WordRule, settings: CountSettings, progress: Progress
) -> tuple[list[OpenedInput], Sample | None]:
    """What of the inputs is counted: a sample of their documents, or one shard of all."""
    sampling = Sampling.of(settings, rule.reads)
    if settings.shard is None and sampling is None:
        return opened, None
    for one in opened:
        if one.is_counts:
            raise SettingsError(
                f"{one.name}: a counts file has no documents to choose from; leave `sample`, "
                "`mix`, `document_cap` and `shard` out"
            )
    found, sample = [one.reopened() for one in opened], None
    if sampling is not None:
        with progress.stage(
            "Choosing documents", total_size(one.size for one in opened), "B"
        ) as report:
            sample = take_sample(found, sampling, report)
        found = sample.inputs
    if settings.shard is not None:
        if settings.min_count > 1 or settings.max_types is not None:
            raise SettingsError(
                "`shard` needs all words of its part: give `min_count` and `max_types` when the "
                "shards are merged"
            )
        found = shard_of(found, settings.shard, rule.reads == "line")
    chosen = [OpenedInput(one) for one in found]
    for one in chosen:
        one.look("text")
    return chosen, sample


class OpenedInput:
    """An input after a look at its first bytes: is it text or counts, and by which rule?"""

    # There may be a million of them.
    __slots__ = ("_kept", "file_unit", "header", "input", "is_counts", "name", "size")

    def __init__(self, input: TextInput) -> None:
        self.input = input
        self.name = input.name
        self.is_counts = False
        self.header: CountsHeader | None = None
        self.file_unit = 1
        self.size: int | None = None
        self._kept: BinaryIO | None = None

    def look(self, input_format: str) -> None:
        self.size = self.input.expected()
        if self.input.batches is not None:
            return
        if self.input.text is not None:
            texts = iter(self.input.text)
            first = list(islice(texts, 1))
            if texts is self.input.text:  # it can be read only once
                self.input = replace(self.input, text=chain(first, texts))
            starts = str(first[0] if first else "").startswith(COUNTS_HEAD.decode())
            if input_format != "counts" and not (starts and input_format == "auto"):
                return
        stream = self.input.open()
        if self.input.text is not None or self.size is None:
            self._kept = stream  # a pipe or an iterable can be opened only once
        try:
            with reading(self.name):
                self._look_at_head(stream, input_format)
        finally:
            if self._kept is None:
                stream.close()

    def _look_at_head(self, stream: BinaryIO, input_format: str) -> None:
        head = cast(io.BufferedReader, stream).peek(len(CANDIDATES_HEAD))
        has_header = head.startswith(COUNTS_HEAD)
        if input_format == "auto" and head.startswith(CANDIDATES_HEAD):
            raise InputError(f"{self.name}: a candidates file, neither text nor counts")
        self.is_counts = input_format == "counts" or (input_format == "auto" and has_header)
        if self.is_counts and self.input.normalizer is not None:
            raise SettingsError(
                f"{self.name}: a counts file, but the tokenizer has a normalizer, which needs "
                "the text; name the text itself"
            )
        if self.is_counts and has_header:
            self.header = CountsHeader.parse(stream.readline(LONGEST_HEADER), self.name)
            self.file_unit = self.header.unit

    def reopened(self) -> TextInput:
        """The input, which is read again from its start."""
        if self._kept is None or self.input.batches is not None:
            return self.input
        return replace(self.input, stream=self._kept, text=None)

    def documents(self) -> Iterator[Documents] | None:
        """Batches of its documents; None if it is one document, or a counts file."""
        return None if self.is_counts else self.input.documents()

    def stream(self) -> BinaryIO:
        if self._kept is not None:
            return self._kept
        stream = self.input.open()
        if self.header:
            stream.readline(LONGEST_HEADER)
        return stream


def _common_rule(opened: list[OpenedInput], settings: WordSettings) -> WordRule:
    """The one rule that the settings and all counts files agree on."""
    parameters = {"pretokenizer": "pretokenizer", "normalize": "normalize",
                  "max_word_length": "max_word_length", "reads": "unit"}  # fmt: skip
    given = {
        name: value
        for name, parameter in parameters.items()
        if (value := getattr(settings, parameter)) is not None
    }
    files = [(one.name, one.header.rule) for one in opened if one.header]
    if not files:
        return WordRule(**given)
    first_name, first = files[0]
    for name, value in given.items():
        if value != getattr(first, name):
            raise SettingsError(
                f"{first_name} was counted with {parameters[name]}={getattr(first, name)}, not "
                f"{value}; leave `{parameters[name]}` out, or count the text again"
            )
    for file, rule in files[1:]:
        for one in fields(WordRule):
            mine, theirs = getattr(first, one.name), getattr(rule, one.name)
            if mine != theirs:
                raise SettingsError(
                    f"{first_name} and {file} were counted by different rules "
                    f"({one.name}: {mine} and {theirs}); they can't be added up"
                )
    return first


def _read_counts(
    one: OpenedInput,
    stream: BinaryIO,
    counter: _core.Counter,
    weight: int,
    plan: CountPlan,
    after_block: AfterBlock,
) -> CountTotals:
    first = line = 2 if one.header else 1
    words_before = counter.totals["words"]
    data, offset = b"", 0
    while True:
        more = stream.read(plan.block)
        data += more
        consumed, lines, problem = counter.read_words(data, not more, weight)
        line += lines
        if problem:
            raise InputError(f"{one.name}, line {line}: {problem}; a line is word<TAB>count")
        data = data[consumed:]
        if not more:
            break
        # Counting can't go on inside a counts file: all of it is read again, like a line.
        offset += consumed
        after_block(BlockEnd(offset, in_line=True))
    if one.header is None:
        return CountTotals()
    header, types = one.header, line - first
    words = (counter.totals["words"] - words_before) // weight
    if (types, words) != (header.types, header.totals.words):
        raise InputError(
            f"{one.name}, line {line}: the file ends after {types:,} types and {words:,} words, "
            f"but its header says {header.types:,} and {header.totals.words:,}; "
            "it is cut short or was edited"
        )
    return replace(header.totals.times(weight), words=0)  # the counter has them
