"""volt candidates: one BPE run over text or counts."""

from __future__ import annotations

from dataclasses import asdict

import volt
from volt.base.errors import SettingsError
from volt.cli import options
from volt.cli.console import print_json, progress_for, say, write_stdout
from volt.cli.count import summary as count_summary
from volt.proposing.merges import DEFAULT_MERGES
from volt.proposing.pieces import PieceCandidates
from volt.proposing.sources import Source, candidates_from, parse_source


def candidates(
    files: options.Files,
    merges: options.Merges = DEFAULT_MERGES,
    source: options.Source = None,
    encoding: options.Encoding = None,
    output: options.Output = None,
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
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn candidates: by BPE, with the exact curve of every vocabulary size, or others."""
    asked = Source("bpe", merges) if source is None else parse_source(source)
    if source is not None and merges != DEFAULT_MERGES:
        raise SettingsError("-n is of BPE; with --candidates the number goes behind the colon")
    if json and output is None:
        raise SettingsError("--json and the candidates both want stdout: name a file with -o")
    progress = progress_for(quiet)
    counts = volt.count(
        files,
        pretokenizer=pretokenizer,
        normalize=normalize,
        max_word_length=max_word_length,
        on_invalid=on_invalid,
        min_count=min_count,
        max_types=max_types,
        weights=weight or None,
        glob=glob,
        input_format=input_format,
        threads=threads,
        progress=progress,
    )
    found, messages = candidates_from(
        counts,
        asked,
        encoding=encoding,
        coverage=coverage,
        max_token_length=max_token_length,
        min_frequency=min_frequency,
        threads=threads,
        progress=progress,
    )
    if output is None:
        write_stdout(found.write)
    else:
        found.save(output)
    curve = found.curve
    last = curve.rows([len(curve) - 1])[0]
    if json:
        print_json({**asdict(found.rule), "alphabet": found.alphabet_size,
                    "left_out": found.left_out, "source": str(asked),
                    "asked": asked.number, **last,
                    "muv_types": _or_none(last["muv_types"]),
                    "muv_occurrences": _or_none(last["muv_occurrences"])})  # fmt: skip
    say(quiet, *count_summary(counts), *summary(found, asked), *messages)


def _or_none(value: float) -> float | None:
    return value if value == value else None


def summary(found: volt.Candidates, asked: Source) -> list[str]:
    what = "candidates" if isinstance(found, PieceCandidates) else "merges"
    lines = [f"{found.alphabet_size:,} symbols, {found.merges:,} {what}, {len(found):,} tokens"]
    if found.left_out:
        lines.append(f"{found.left_out:,} rare characters left out of the alphabet (--coverage)")
    return lines
