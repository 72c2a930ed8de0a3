"""Write the measured tables into docs/benchmarks.md.

    python benchmarks/page.py benchmarks/results/*.json

Each result replaces what stands between `<!-- stage:NAME -->` and the next `<!-- /stage -->`; a
stage the page does not have yet is added at its end, under a heading. All other prose is kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

END = "<!-- /stage -->"


def section(result: Mapping[str, Any]) -> str:
    """One stage as Markdown: how it was made, the contenders, what was required. A benchmark
    without contenders brings its own."""
    if "section" in result:
        return str(result["section"])
    machine, text = result["machine"], result["text"]
    about = [
        "Made by",
        "",
        f"    {result['command']}",
        "",
        f"on {text['megabytes']:.1f} MB of text (sha256 `{text['sha256']}`), "
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}, {result['threads']} threads. "
        f"Medians of {result['runs']} run(s), the contenders in turn, each in its own process. "
        "Time is that of the whole process, with the fastest and the slowest run; CPU time is that "
        'of all its threads; "after import" is the work alone.',
        *(["", f"Checked before: {'; '.join(result['gates'])}."] if result.get("gates") else []),
    ]
    return "\n".join(
        [
            *about,
            "",
            *_table(
                ["", "version", "time", "CPU time", "after import", "peak memory", "time / volt",
                 "CPU time / volt", "memory / volt", "result"],
                [_contender(row) for row in result["contenders"]],
            ),
            "",
            *[f"- {row['name']}: {row['includes']}." for row in result["contenders"]],
            *_required(result["requirements"]),
        ]
    )  # fmt: skip


def _required(requirements: Sequence[Mapping[str, Any]]) -> list[str]:
    if not requirements:
        return []
    rows = [_requirement(requirement) for requirement in requirements]
    return ["", *_table(["required of volt", "at least", "measured", ""], rows)]


def _contender(row: Mapping[str, Any]) -> list[str]:
    if row["status"] != "measured":
        return [row["name"], row["version"] or "-", row["status"], *["-"] * 7]
    return [
        row["name"],
        row["version"],
        _spread(row["wall_seconds"]),
        _number(row.get("median_cpu_seconds"), 2, " s"),
        _number(row["median_inner_seconds"], 2, " s"),
        _number(row["median_peak_megabytes"], 0, " MB"),
        _number(row["wall_ratio"], 2, "x"),
        _number(row.get("cpu_ratio"), 2, "x"),
        _number(row["memory_ratio"], 2, "x"),
        ", ".join(f"{value:,} {name}" for name, value in row["facts"].items()) or "-",
    ]


def _requirement(requirement: Mapping[str, Any]) -> list[str]:
    peers = " or ".join(requirement["peers"])
    if len(requirement["peers"]) > 1:
        peers = f"the better of {peers}"
    what = {
        "wall_seconds": "faster than",
        "cpu_seconds": "less CPU time than",
        "peak_megabytes": "less memory than",
    }[requirement["measure"]]
    if requirement.get("of", "volt") != "volt":
        what = f"{requirement['of']} {what}"
    if requirement["at_least"] < 1:  # a part of the work, such as counting
        part = {"wall_seconds": "time", "cpu_seconds": "CPU time", "peak_megabytes": "memory"}
        what = (
            f"at most {1 / requirement['at_least']:.3g} times the {part[requirement['measure']]} of"
        )
    verdict = {True: "pass", False: "FAIL", None: f"not judged: {requirement['reason']}"}
    return [
        f"{what} {peers}",
        f"{requirement['at_least']:.3g}x",
        _number(requirement["ratio"], 2, "x"),
        verdict[requirement["passed"]],
    ]


def _spread(values: Sequence[float]) -> str:
    """The median and, of several, the lowest and the highest."""
    middle = _number(statistics.median(values), 2, " s")
    return middle if len(values) == 1 else f"{middle} ({min(values):.2f} to {max(values):.2f})"


def _number(value: float | None, digits: int, unit: str) -> str:
    return "-" if value is None else f"{value:,.{digits}f}{unit}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table with its columns aligned, to be read in a terminal as well."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in [head, *rows]]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def replace_section(page: str, result: Mapping[str, Any]) -> str:
    """The page with the region of this stage replaced, or added at the end."""
    start = f"<!-- stage:{result['stage']} -->"
    region = f"{start}\n{section(result)}\n{END}"
    before, found, rest = page.partition(start)
    if not found:
        return f"{page.rstrip()}\n\n## {result['title']}\n\n{region}\n"
    inside, ended, after = rest.partition(END)
    if not ended or "<!-- stage:" in inside:
        raise ValueError(f"{start} has no {END} after it; add the line and run this again")
    return before + region + after


def main() -> int:
    parser = argparse.ArgumentParser(description="Write measured tables into the page.")
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULT.json")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"))
    arguments = parser.parse_args()
    page: Path = arguments.page
    content = page.read_text(encoding="utf-8") if page.exists() else "# Benchmarks\n"
    try:
        for path in arguments.results:
            content = replace_section(content, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError) as error:
        print(f"{path}: {error!r}", file=sys.stderr)
        return 2
    page.parent.mkdir(parents=True, exist_ok=True)
    temporary = page.with_name(page.name + ".tmp")
    temporary.write_text(content, encoding="utf-8")
    temporary.replace(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
