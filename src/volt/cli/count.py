"""volt count: word counts of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import volt
from volt.base.errors import InputError, SettingsError
from volt.base.lines import WARNING
from volt.base.manifest import some_of
from volt.base.options import option
from volt.base.shown import plural
from volt.cli.arguments import File, Inputs, Run, Spark
from volt.cli.command import Given, command
from volt.cli.console import print_json, progress_for, refuse, say
from volt.counting.counts import lost_words
from volt.counting.inputs import find_inputs
from volt.settings import CountSettings, SpillSettings

if TYPE_CHECKING:
    from volt.counting.spill import CountedFile

FEW_FILES = 3
NOT_WITH_SPARK = ("max_types", "threads", "memory", "spill", "resume", "merge", "shard")
NOT_WITH_MERGE = ("shard", "sample", "mix", "document_cap", "input_format", "field", "engine")


@dataclass(frozen=True, kw_only=True)
class CountOptions(CountSettings, group="Input"):
    merge: bool = option(
        False, "Add up counts files, such as those of shards; anything else is refused."
    )


@command("volt count train.txt -o counts.tsv")
def count(
    inputs: Inputs,
    settings: CountOptions,
    spilling: SpillSettings,
    spark: Spark,
    target: File,
    run: Run,
    given: Given,
) -> None:
    """Count the words of text, or add up counts files."""
    if run.json and target.output is None:
        raise SettingsError("--json and the counts both go to stdout: name a file with -o")
    target.claim(inputs.files, glob=settings.glob)
    if settings.merge:
        refuse(given, NOT_WITH_MERGE, "--merge")
        _check_counts(inputs.files)
    if spark.engine == "spark":
        refuse(given, NOT_WITH_SPARK, "--engine spark")
        counts: Any = _with_spark(inputs, settings, spark)
    else:
        refuse(given, ("master",), "--engine local")
        counts = _here(inputs, settings, spilling, target, run, given)
    if isinstance(counts, volt.WordCounts):
        target.write(counts.write)
    if run.json:
        sample = getattr(counts, "sample", None)
        print_json({**asdict(counts.rule), "unit": counts.unit, "types": len(counts),
                    **asdict(counts.totals),
                    **({"sample": sample.summary()} if sample else {})})  # fmt: skip
    say(run.quiet, *count_summary(counts), *count_notes(counts))


def _with_spark(inputs: Inputs, settings: CountSettings, spark: Spark) -> volt.WordCounts:
    from volt.counting import spark as engine

    if settings.input_format == "counts":
        raise SettingsError("Spark counts text; add up counts files without --engine spark")
    options = CountSettings.values_in(settings)
    form = options.pop("input_format")
    with engine.session(spark.master) as session:
        return engine.count_on_spark(session, inputs.files, form=form, **options)


def _here(
    inputs: Inputs,
    settings: CountSettings,
    spilling: SpillSettings,
    target: File,
    run: Run,
    given: Given,
) -> volt.WordCounts | CountedFile:
    options = CountSettings.values_in(settings)
    options |= {"threads": run.threads, "progress": progress_for(run.quiet)}
    if not given & vars(spilling).keys():
        return volt.count(inputs.files, **options)
    if target.output is None:
        raise SettingsError("--memory, --spill and --resume need a file for the counts: -o")
    spill = {name: value for name, value in vars(spilling).items() if value is not None}
    return volt.count_to_file(inputs.files, target.output, force=target.force, **spill, **options)


def _check_counts(files: Sequence[str]) -> None:
    """Refuse what is not a counts file with a header."""
    from volt.counting.counts import COUNTS_HEAD

    for one in find_inputs(volt.Files(files)):
        with one.open_file() as stream:
            if stream.read(len(COUNTS_HEAD)) != COUNTS_HEAD:
                raise InputError(f"{one.name}: not a counts file; volt count writes them")


def count_notes(counts: volt.WordCounts | CountedFile) -> list[str]:
    """What to know about some inputs; in the result of learning these are among its messages."""
    told = counts.told if isinstance(counts, volt.WordCounts) else []
    return [one if one.startswith(WARNING) else f"note: {one}" for one in told]


def count_summary(counts: volt.WordCounts | CountedFile, *, learned: bool = False) -> list[str]:
    """What was counted and, where anything was, what was lost, unless that is among the messages of
    learning."""
    totals = counts.totals
    words = totals.words / counts.unit
    read = plural(totals.lines, "line")
    if totals.documents:
        read = f"{plural(totals.documents, 'document')}, {read}"
    lines = [f"{read}, {plural(words, 'word')}, {plural(len(counts), 'type')}"]
    lines += [] if learned else lost_words(totals, counts.rule, counts.unit)
    if isinstance(counts, volt.WordCounts):
        # A file given twice by accident makes the text look larger than it is.
        files = Counter(name for name, _ in counts.lines_of)
        lines += [
            f"warning: {name} is given {times} times, and its text counts as often"
            for name, times in files.items()
            if times > 1
        ]
        if len(files) > FEW_FILES:  # of a folder, which may have others than people think
            lines.append(f"{len(files):,} files: {some_of(sorted(files))}")
        lines += counts.sample.lines() if counts.sample is not None else []
    if totals.pruned_words:
        share = totals.pruned_words / (totals.pruned_words + totals.words)
        least = totals.max_undercount / counts.unit
        lines.append(
            f"{totals.pruned_words / counts.unit:,.0f} words ({share:.3%}) of rare types were "
            "left out" + (f"; no count is too low by more than {least:,.0f}" if least else "")
        )
    return lines
