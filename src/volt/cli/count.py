"""volt count: word counts of text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

import volt
from volt.base.errors import SettingsError
from volt.cli import options
from volt.cli.console import print_json, progress_for, refuse_options, say, write_stdout
from volt.counting.spill import DEFAULT_MEMORY, CountedFile, count_to_file


def count(
    files: options.Files,
    output: options.Output = None,
    pretokenizer: options.Pretokenizer = None,
    normalize: options.Normalize = None,
    max_word_length: options.MaxWordLength = None,
    on_invalid: options.OnInvalid = "error",
    min_count: options.MinCount = 1,
    max_types: options.MaxTypes = None,
    memory: options.Memory = None,
    spill: options.Spill = None,
    resume: options.Resume = False,
    weight: options.Weights = None,
    glob: options.Glob = "*",
    input_format: Annotated[
        Literal["auto", "text", "counts", "jsonl", "parquet"],
        typer.Option(
            "--input-format",
            help="Are the inputs text or word<TAB>count? Spark: or JSON Lines, Parquet?",
        ),
    ] = "auto",
    engine: options.Engine = "local",
    master: options.Master = None,
    field: options.Field = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Count the words of text, or add up counts files."""
    if json and output is None:
        raise SettingsError("--json and the counts both want stdout: name a file with -o")
    rule: dict[str, Any] = {
        "pretokenizer": pretokenizer,
        "normalize": normalize,
        "max_word_length": max_word_length,
        "on_invalid": on_invalid,
        "min_count": min_count,
        "weights": weight or None,
        "glob": glob,
    }
    counts: volt.WordCounts | CountedFile
    if engine == "spark":
        from volt.counting import spark

        unfit = {"--max-types": max_types, "--threads": threads, "--memory": memory,
                 "--spill": spill, "--resume": resume}  # fmt: skip
        refuse_options(unfit, "--engine spark")
        if input_format == "counts":
            raise SettingsError("Spark counts text; add up counts files without --engine spark")
        given = {name: value for name, value in rule.items() if value is not None}
        with spark.session(master) as session:
            counts = spark.count(session, files, form=input_format, field=field or "text", **given)
    else:
        refuse_options({"--master": master, "--field": field}, "--engine local")
        if input_format == "jsonl" or input_format == "parquet":
            raise SettingsError(f"--input-format {input_format} needs --engine spark")
        rule |= {
            "max_types": max_types,
            "input_format": input_format,
            "threads": threads,
            "progress": progress_for(quiet),
        }
        if memory or spill or resume:
            if output is None:
                raise SettingsError("--memory, --spill and --resume need a file for the counts: -o")
            counts = count_to_file(
                files, output, memory=memory or DEFAULT_MEMORY, spill=spill, resume=resume, **rule
            )
        else:
            counts = volt.count(files, **rule)
    if isinstance(counts, volt.WordCounts):
        if output is None:
            write_stdout(counts.write)
        else:
            counts.save(output)
    if json:
        print_json({**asdict(counts.rule), "unit": counts.unit, "types": len(counts),
                    **asdict(counts.totals)})  # fmt: skip
    say(quiet, *summary(counts))


def summary(counts: volt.WordCounts | CountedFile) -> list[str]:
    """What was counted and, where anything was, what was lost."""
    totals = counts.totals
    words = totals.words / counts.unit
    lines = [f"{totals.lines:,} lines, {words:,.0f} words, {len(counts):,} types"]
    longest = counts.rule.max_word_length
    if totals.cut_words:
        lines.append(f"{totals.cut_words:,} words longer than {longest} characters were cut")
    if totals.reserved:
        lines.append(f"{totals.reserved / counts.unit:,.0f} '▁' in the text left to byte tokens")
    if totals.replaced:
        lines.append(f"{totals.replaced:,} invalid UTF-8 sequences were replaced")
    if totals.skipped_lines:
        lines.append(f"{totals.skipped_lines:,} lines with invalid UTF-8 were skipped")
    if totals.pruned_words:
        share = totals.pruned_words / (totals.pruned_words + totals.words)
        lines.append(
            f"{totals.pruned_words / counts.unit:,.0f} words ({share:.3%}) of rare types were "
            "left out; no count is too low by more than "
            f"{totals.max_undercount / counts.unit:,.0f}"
        )
    return lines
