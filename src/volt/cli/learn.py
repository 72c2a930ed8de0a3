"""volt learn: the whole job, from text to a vocabulary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import volt
from volt.base.errors import SettingsError
from volt.base.output import atomic_folder, check_folder
from volt.cli import options
from volt.cli.console import can_draw, print_json, progress_for, refuse_options, say, say_lines
from volt.cli.count import summary as count_summary
from volt.cli.languages import parallel_of, table_lines, tell_scripts, texts_of, weights_of
from volt.counting.inputs import find_sources
from volt.pipeline import LearnResult
from volt.proposing.sources import parse_source
from volt.report.bundle import HINT, is_cached, is_installed
from volt.report.terminal import summary, summary_data
from volt.settings import LearnSettings

DEFAULT = LearnSettings()


def learn(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Text or counts files, folders, or - for stdin; gz, bz2, xz, zst as they are. "
            "FILE:2.0 gives a file a weight.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder to write.", show_default=False),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Text of the source side.", show_default=False)
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="Text of the target side.", show_default=False)
    ] = None,
    separate: Annotated[
        bool, typer.Option("--separate", help="One vocabulary for each side.")
    ] = False,
    profile: Annotated[
        Literal["paper"], typer.Option(help="A set of defaults: those of the paper.")
    ] = "paper",
    criterion: Annotated[
        Literal["muv", "mdl", "frequency", "renyi", "zipf", "knee"],
        typer.Option(help="What decides the size."),
    ] = "muv",
    size: Annotated[
        int | None,
        typer.Option(min=1, help="Fix the size of the whole vocabulary.", show_default=False),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="S, the sizes to try: START:STOP:STEP or a list.  [default: 1000:10000:1000]",
            show_default=False,
        ),
    ] = None,
    multilingual: Annotated[
        bool,
        typer.Option(
            "--multilingual",
            help="Files are languages by name; 300,000 candidates, sizes 40000:160000:10000.",
        ),
    ] = False,
    lang: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE=FILE", help="Text of a language.", show_default=False),
    ] = None,
    temperature: Annotated[
        str | None,
        typer.Option(help="Balance languages, p ~ n^(1/T), such as 5 or inf.", show_default=False),
    ] = None,
    min_share: Annotated[
        float | None,
        typer.Option(help="Least share of the vocabulary for a language.", show_default=False),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Language that parity is against.  [default: en]", show_default=False),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(help="Parallel text: CODE=FILE, or a folder.", show_default=False),
    ] = None,
    separate_scripts: Annotated[
        bool, typer.Option("--separate-scripts", help="A vocabulary for each script, joined.")
    ] = False,
    candidates: options.Source = None,
    rank: Annotated[
        Literal["frequency", "merge"] | None,
        typer.Option(
            help="Which candidates come first.  [default: frequency for muv, else merge]",
            show_default=False,
        ),
    ] = None,
    length: options.Length = DEFAULT.length,
    gamma: options.Gamma = DEFAULT.gamma,
    epsilon: options.Epsilon = DEFAULT.epsilon,
    threshold: options.Threshold = DEFAULT.threshold,
    model_width: options.ModelWidth = DEFAULT.model_width,
    bootstrap: options.Bootstrap = DEFAULT.bootstrap,
    seed: options.Seed = DEFAULT.seed,
    encoding: options.Encoding = None,
    merge_rule: Annotated[
        Literal["pairs", "concat"] | None,
        typer.Option(help="What may merge.  [default: by pre-tokenizer]", show_default=False),
    ] = None,
    unknown: Annotated[
        Literal["byte", "unk"] | None,
        typer.Option(
            help="Characters outside the vocabulary.  [default: byte; whitespace: unk]",
            show_default=False,
        ),
    ] = None,
    special: Annotated[
        str, typer.Option(help="Special tokens, with ids from 0 on, separated by commas.")
    ] = ",".join(DEFAULT.special),
    symbol: Annotated[
        list[str] | None, typer.Option(help="A symbol that is never split.", show_default=False)
    ] = None,
    coverage: options.Coverage = None,
    max_token_length: options.MaxTokenLength = None,
    min_frequency: options.MinFrequency = 2,
    pretokenizer: options.Pretokenizer = None,
    normalize: options.Normalize = None,
    max_word_length: options.MaxWordLength = None,
    on_invalid: options.OnInvalid = "error",
    min_count: options.MinCount = 1,
    max_types: options.MaxTypes = None,
    weight: options.Weights = None,
    glob: options.Glob = "*",
    input_format: options.InputFormat = "auto",
    threads: options.Threads = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder.")] = False,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.json and report.html too.")
    ] = True,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn a vocabulary, its size included, and write it to a folder."""
    if output is None:
        raise SettingsError("name the folder to write with -o")
    inputs = [*(files or []), *(source or []), *(target or [])]
    if not inputs and not lang:
        raise SettingsError("no input: name at least one file, folder, or - for stdin")
    if separate and not (source and target):
        raise SettingsError("--separate needs --source and --target")
    if separate and files:
        raise SettingsError("--separate: every file belongs to --source or to --target")
    if separate:
        refuse_options({"--separate-scripts": separate_scripts}, "--separate")
    if candidates is not None:
        parse_source(candidates)
    check_folder(output, force=force)
    common: dict[str, Any] = {
        "pretokenizer": pretokenizer,
        "normalize": normalize,
        "max_word_length": max_word_length,
        "on_invalid": on_invalid,
        "min_count": min_count,
        "max_types": max_types,
        "weights": weight or None,
        "glob": glob,
        "input_format": input_format,
        "threads": threads,
        "progress": progress_for(quiet),
        "criterion": criterion,
        "size": size,
        "sizes": sizes,
        "multilingual": multilingual,
        "candidates": candidates,
        "rank": rank,
        "length": length,
        "gamma": gamma,
        "epsilon": epsilon,
        "threshold": threshold,
        "model_width": model_width,
        "bootstrap": bootstrap,
        "seed": seed,
        "coverage": coverage,
        "max_token_length": max_token_length,
        "min_frequency": min_frequency,
        "encoding": encoding,
        "merge_rule": merge_rule,
        "unknown": unknown,
        "special": [name for name in special.split(",") if name],
        "symbols": symbol or [],
    }
    texts: Any = inputs
    if lang or (multilingual and not (source or target)):
        if source or target or (files and not multilingual):
            raise SettingsError("every file belongs to a language: --lang CODE=FILE")
        texts = texts_of(lang or [], files or [], glob)
        common |= {"weights": weights_of(weight or []), "multilingual": True,
                   "temperature": temperature, "min_share": min_share, "reference": reference,
                   "parallel": parallel_of(parallel or [])}  # fmt: skip
    elif temperature or min_share is not None or reference or parallel:
        raise SettingsError(
            "--temperature, --min-share, --reference, --parallel: name languages, --lang CODE=FILE"
        )
    if separate_scripts:
        from volt.languages.scripts import learn_languages_by_script, learn_scripts

        by_script = learn_languages_by_script if texts is not inputs else learn_scripts
        joint = by_script(texts, **common)
        joint.save(output, force=force)
        tell_scripts(joint, output, quiet, json)
        return
    source, target, weight = source or [], target or [], weight or []
    warnings: list[str] = []
    if separate:
        first, second = (weight, weight) if len(weight) < 2 else (
            weight[: len(source)], weight[len(source) :]
        )  # fmt: skip
        sides = {"source": volt.learn(source, **common | {"weights": first or None}),
                 "target": volt.learn(target, **common | {"weights": second or None})}  # fmt: skip
        warnings = _mismatch(sides["source"].counts.lines_of, sides["target"].counts.lines_of)
        _prepare(report, quiet)
        with atomic_folder(output, force=force) as folder:
            for side, result in sides.items():
                result.save(folder / side, report=report)
        if json:
            print_json({side: _data(result, output / side) for side, result in sides.items()})
        for side, result in sides.items():
            say(quiet, f"{side}:")
            _tell(result, output / side, quiet)
            say(quiet, "")
        say(quiet, *warnings)
        return
    result = volt.learn(texts, **common)
    lines = result.counts.lines_of
    if source and target:
        # A folder is several files.
        ends = len(lines) - len(find_sources(target, glob=glob))
        begins = ends - len(find_sources(source, glob=glob))
        warnings = _mismatch(lines[begins:ends], lines[ends:])
    elif _is_pair(inputs):
        warnings = _mismatch(lines[:1], lines[1:])
    _prepare(report, quiet)
    result.save(output, force=force, report=report)
    if json:
        print_json(_data(result, output))
    say(quiet, *count_summary(result.counts))
    _tell(result, output, quiet)
    say(quiet, *warnings, *table_lines(result.languages))


def _is_pair(inputs: list[str]) -> bool:
    """Two files whose names differ in the language suffix only, such as train.de and train.en."""
    paths = [Path(re.sub(r"\.(gz|bz2|xz|zst)$", "", name)) for name in inputs]
    return (
        len(paths) == 2
        and paths[0].with_suffix("") == paths[1].with_suffix("")
        and paths[0].suffix != paths[1].suffix
    )


def _mismatch(source: list[tuple[str, int]], target: list[tuple[str, int]]) -> list[str]:
    """A warning for every pair of files whose lines cannot belong together."""
    if len(source) != len(target):
        return [
            f"warning: {len(source)} files on the source side, {len(target)} on the target side"
        ]
    return [
        f"warning: {a} has {n:,} lines, {b} has {m:,}: they are not parallel"
        for (a, n), (b, m) in zip(source, target, strict=True)
        if n != m
    ]


ARTIFACTS = (
    "volt.json", "curve.csv", "choices.json", "signature.txt", "report.json", "report.html",
)  # fmt: skip


def _prepare(report: bool, quiet: bool) -> None:
    if report and is_installed() and not is_cached():
        say(quiet, "putting the charting library together, once ...")


def _tell(result: LearnResult, folder: Path, quiet: bool) -> None:
    """The summary; without the page's library, how to get the page."""
    files = [name for name in ARTIFACTS if (folder / name).exists()]
    say_lines(quiet, summary(result, folder, files, unicode=can_draw()))
    if "report.json" in files and "report.html" not in files:
        say(quiet, f"{HINT}, then: volt report {folder}")


def _data(result: LearnResult, folder: Path) -> dict[str, Any]:
    return summary_data(result, folder, [n for n in ARTIFACTS if (folder / n).exists()])
