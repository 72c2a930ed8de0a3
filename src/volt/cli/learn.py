"""volt learn: the whole job, from text to a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import volt
from volt.base.errors import SettingsError
from volt.base.lines import WARNING
from volt.base.options import argument, file_list, many, option, path
from volt.base.shown import plural
from volt.cli.arguments import INPUTS, Folder, Run
from volt.cli.command import Given, command
from volt.cli.console import can_draw, print_json, progress_for, say, say_lines
from volt.cli.count import count_notes, count_summary
from volt.cli.languages import language_texts, parallel_of, table_lines, tell_scripts, weights_of
from volt.settings import CountSettings, LanguageSettings, LearnSettings

if TYPE_CHECKING:
    from volt.result import LearnResult

Lines = list[tuple[str, int]]
"""Names of files, and how many lines each has."""
ARTIFACTS = (
    "volt.json", "volt.cache", "curve.csv", "choices.json", "signature.txt", "report.json",
    "report.html",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LearnCommand(Folder, group="Input"):
    """What only the command line has."""

    files: Sequence[str] = argument((), INPUTS, file_list(), metavar="[FILE...]")
    source: Sequence[str] = option(
        (), "Text of the source side; may be given several times.", file_list()
    )
    target: Sequence[str] = option(
        (), "Text of the target side; may be given several times.", file_list()
    )
    separate: bool = option(False, "One vocabulary per side, in DIR/source and DIR/target.")
    lang: Sequence[str] = option(
        (), "Text of a language; may be given several times.", many(path("CODE=FILE"))
    )
    separate_scripts: bool = option(False, "One vocabulary per script, joined.")
    report: bool = option(True, "Write report.json and report.html too.", group="Output")

    @property
    def inputs(self) -> volt.Files:
        return volt.Files([*self.files, *self.source, *self.target])

    def _check(self) -> None:
        if not self.inputs and not self.lang:
            raise SettingsError("no input: name at least one file, folder, or - for stdin")
        if bool(self.source) != bool(self.target) and not self.separate:
            given, lacks = ("--source", "--target") if self.source else ("--target", "--source")
            raise SettingsError(
                f"{given} without {lacks}: give both, or name the file without {given}"
            )
        if self.separate and not (self.source and self.target):
            raise SettingsError("--separate needs --source and --target")
        if self.separate and self.files:
            raise SettingsError("--separate: every file belongs to --source or to --target")
        if self.separate and self.separate_scripts:
            raise SettingsError("--separate-scripts does not go with --separate: leave it out")


@command(
    "volt learn train.de train.en -o out\n"
    "volt learn corpus/ --size 32k --pretokenizer byte-level -o out"
)
def learn(
    asked: LearnCommand,
    counting: CountSettings,
    settings: LearnSettings,
    languages: LanguageSettings,
    run: Run,
    given: Given,
) -> None:
    """Learn a vocabulary, its size included, and write it to a folder."""
    coded = [*asked.lang, *(languages.parallel or ())]
    by_code = [text.partition("=")[2] or text for text in coded]
    asked.claim(asked.inputs, by_code, settings.source.path)
    options = {
        **vars(counting), **vars(settings), "threads": run.threads,
        "progress": progress_for(run.quiet),
    }  # fmt: skip
    by_language = asked.lang or (settings.multilingual and not (asked.source or asked.target))
    texts: Any = asked.inputs
    if by_language:
        from volt.languages.learning import are_many

        texts = _texts(asked, counting, settings)
        options |= {
            **vars(languages), "weights": weights_of(counting.weights),
            "parallel": parallel_of(languages.parallel or ()),
            "multilingual": settings.multilingual or are_many(texts),
        }  # fmt: skip
    elif given & vars(languages).keys():
        unused = ", ".join(f"`{name}`" for name in vars(languages) if name in given)
        raise SettingsError(f"{unused}: name languages with --lang CODE=FILE")
    if settings.ladder is not None and (asked.separate or asked.separate_scripts):
        raise SettingsError("`ladder` is for one vocabulary: leave --separate out")
    if asked.separate_scripts:
        _by_script(texts, options, asked, run)
    elif asked.separate:
        _both_sides(options, asked, run)
    else:
        _jointly(texts, options, asked, run)


def _texts(
    asked: LearnCommand, counting: CountSettings, settings: LearnSettings
) -> dict[str, volt.Files]:
    """The files of each language."""
    if asked.source or asked.target or (asked.files and not settings.multilingual):
        raise SettingsError("every file belongs to a language: --lang CODE=FILE")
    return language_texts(asked.lang, list(asked.files), counting.glob)


def _jointly(texts: Any, options: dict[str, Any], asked: LearnCommand, run: Run) -> None:
    """One vocabulary for everything."""
    result = volt.learn(texts, **options)
    _prepare(asked.report, run.quiet)
    folder = Path(asked.output)
    if isinstance(result, volt.Ladder):
        result.save(folder, force=asked.force, report=asked.report)
        _tell_ladder(result, folder, run)
        return
    result = _with_notes(
        result, [*_pair_notes(result, asked, options), *_cut_notes(asked, options)]
    )
    result.save(folder, force=asked.force, report=asked.report)
    if run.json:
        print_json(_data(result, folder))
    say(run.quiet, *count_summary(result.counts, learned=True))
    _tell(result, folder, run.quiet)
    say(run.quiet, *table_lines(result.languages))
    _next(result, folder, run.quiet)


def _tell_ladder(ladder: volt.Ladder, folder: Path, run: Run) -> None:
    if run.json:
        print_json({"rows": ladder.rows()})
    else:
        print("\n".join(ladder.table()), flush=True)
    names = ", ".join(ladder.names.values())
    counts = next(iter(ladder.values())).counts
    say(run.quiet, *count_summary(counts), *count_notes(counts))
    say(run.quiet, f"{folder}: a vocabulary per size ({names}), each contained in the next")
    rows = ladder.rows()
    if any(row["in_range"] for row in rows):
        say(run.quiet, "*: no measurable loss of quality")
    scored = [row for row in rows if row["heldout"] is not None]
    if not scored:
        say(run.quiet, "note: bits/byte is -: quality was not measured")
    elif len(scored) < len(rows):
        say(run.quiet, "note: bits/byte is - where parts of the text do not reach the size")
    if ladder.alone is not None:
        say(run.quiet, f"alone, volt would choose about {ladder.alone:,}, by one part of the text")
    one = ladder.cheapest
    _next(ladder[one], folder / ladder.names[one], run.quiet)


def _both_sides(options: dict[str, Any], asked: LearnCommand, run: Run) -> None:
    """One vocabulary per side."""
    from volt.base.output import atomic_folder

    weights = list(options["weights"] or ())
    first, second = weights, weights
    if len(weights) > 1:
        first, second = weights[: len(asked.source)], weights[len(asked.source) :]
    sides = {
        "source": volt.learn(asked.source, **options | {"weights": first or None}),
        "target": volt.learn(asked.target, **options | {"weights": second or None}),
    }
    _prepare(asked.report, run.quiet)
    source, target = (result.counts.lines_of for result in sides.values())
    notes = _side_notes(sides["source"].counts, source, target)
    told = sides  # what concerns both sides is said once
    sides = {side: _with_notes(result, notes) for side, result in sides.items()}
    with atomic_folder(asked.output, force=asked.force) as temporary:
        for side, result in sides.items():
            result.save(temporary / side, report=asked.report)
    folder = Path(asked.output)
    if run.json:
        print_json({side: _data(result, folder / side) for side, result in sides.items()})
    say(run.quiet, *(one if one.startswith(WARNING) else f"note: {one}" for one in notes))
    for side, result in told.items():
        say(run.quiet, f"{side}:", *count_summary(result.counts, learned=True))
        _tell(result, folder / side, run.quiet)
        _next(result, folder / side, run.quiet)
        say(run.quiet, "")


def _by_script(texts: Any, options: dict[str, Any], asked: LearnCommand, run: Run) -> None:
    """One vocabulary per script, joined."""
    from volt.languages.scripts import learn_languages_by_script, learn_scripts

    by_script = learn_languages_by_script if isinstance(texts, dict) else learn_scripts
    joint = by_script(texts, **options)
    joint.save(asked.output, force=asked.force)
    tell_scripts(joint, Path(asked.output), run.quiet, run.json)


def _with_notes(result: LearnResult, notes: Sequence[str]) -> LearnResult:
    """With what only the command line knows, each once."""
    return replace(result, messages=list(dict.fromkeys([*result.messages, *notes])))


def _cut_notes(asked: LearnCommand, options: Mapping[str, Any]) -> list[str]:
    """Where documents of several lines are cut at their line ends, and nobody asked for that."""
    from volt.counting.inputs import find_inputs
    from volt.counting.records import RecordOptions
    from volt.counting.sampling import split_lines

    if options["pretokenizer"] or options["unit"] or asked.source or asked.lang:
        return []
    records = RecordOptions(options["input_format"], tuple(options["field"]), options["on_invalid"])
    groups = options["mix"] or ()
    for one in find_inputs(asked.inputs, glob=options["glob"], records=records, groups=groups):
        again = one.form and one.path is not None and one.path.is_file()  # not a pipe
        first = next(one.documents() or iter(()), None) if again else None
        if first is not None and len(split_lines(first).ends) > len(first.ends):
            return [
                "documents are cut at line ends; for a language model: "
                "`pretokenizer=byte-level:llama3`"
            ]
    return []


def _pair_notes(result: LearnResult, asked: LearnCommand, options: Mapping[str, Any]) -> list[str]:
    """What there is to know about the two sides of a translation, if the text has sides."""
    from volt.counting.inputs import find_inputs
    from volt.counting.translation_pairs import is_pair

    lines = result.counts.lines_of
    if asked.source and asked.target:
        # A folder is several files.
        ends = len(lines) - len(find_inputs(asked.target, glob=options["glob"]))
        begins = ends - len(find_inputs(asked.source, glob=options["glob"]))
        sides = lines[begins:ends], lines[ends:]
    elif is_pair(asked.inputs):
        sides = lines[:1], lines[1:]
    else:
        return []
    return _side_notes(result.counts, *sides, result.choice.range)


def _side_notes(
    counts: volt.WordCounts, source: Lines, target: Lines, ends: tuple[int, int] | None = None
) -> list[str]:
    """A warning for every pair of files whose lines cannot belong together; without one, whether
    there are few pairs."""
    from volt.counting.translation_pairs import few_pairs

    if len(source) != len(target):
        return [
            f"warning: {len(source)} files on the source side, {len(target)} on the target side"
        ]
    apart = [
        f"warning: {a} has {plural(n, 'line')}, {b} has {m:,}: they are not parallel"
        for (a, n), (b, m) in zip(source, target, strict=True)
        if n != m
    ]
    pairs = sum(n for _, n in source)
    sides = [("pairs.source", pairs), ("pairs.target", pairs)]
    return apart or few_pairs(replace(counts, lines_of=sides), ends)


def _prepare(report: bool, quiet: bool) -> None:
    from volt.report.bundle import is_cached, is_installed

    if report and is_installed() and not is_cached():
        say(quiet, "putting the charting library together, once ...")


def _tell(result: LearnResult, folder: Path, quiet: bool) -> None:
    """The summary; without the page's library, how to get the page."""
    from volt.report.bundle import INSTALL
    from volt.report.terminal import summary

    files = _files(folder)
    say_lines(quiet, summary(result, folder, files, unicode=can_draw()))
    if "report.json" in files and "report.html" not in files:
        get = f"{INSTALL} && volt report {quote(str(folder))}"
        say(quiet, "the page needs a charting library; to get both:", f"  {get}")


def _next(result: LearnResult, folder: Path, quiet: bool) -> None:
    from volt.report.terminal import next_lines

    say_lines(quiet, next_lines(result.vocabulary, folder, _files(folder)))


def _data(result: LearnResult, folder: Path) -> dict[str, Any]:
    from volt.report.terminal import summary_data

    return summary_data(result, folder, _files(folder))


def _files(folder: Path) -> list[str]:
    return [name for name in ARTIFACTS if (folder / name).exists()]
