"""Time and memory as the text grows, and as the candidates do.

    python benchmarks/scaling.py --text FILE... -o benchmarks/results/scaling.json

The text is cut to 1/16, 1/8, 1/4, 1/2 and all of it, each file alike. Every command runs in a
process of its own; its time is that of the whole process, its memory `ru_maxrss`. With matplotlib
installed the figures are drawn into docs/img.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from measure import MEGABYTE, _machine, _prepare, _save
from page import _table

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
CANDIDATES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
IMAGES = Path(__file__).parents[1] / "docs" / "img"


def measure(command: list[str], runs: int) -> dict[str, float]:
    """Medians of time, CPU time and peak memory of `volt` with these arguments."""
    volt = str(Path(sysconfig.get_path("scripts"), "volt"))
    taken: list[tuple[float, float, float]] = []
    for _ in range(runs):
        started = time.perf_counter()
        process = subprocess.Popen([volt, *command, "-q"])
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"volt {command[0]}: exit {process.returncode}")
        cpu = usage.ru_utime + usage.ru_stime
        taken.append((seconds, cpu, usage.ru_maxrss * 1024 / MEGABYTE))
    wall, cpu, peak = (statistics.median(values) for values in zip(*taken, strict=True))
    return {"wall_seconds": wall, "cpu_seconds": cpu, "peak_megabytes": peak}


def over_text(paths: list[Path], folder: Path, runs: int, threads: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    megabytes = sum(path.stat().st_size for path in paths) / MEGABYTE
    for share in SHARES:
        part = folder / "part"
        part.mkdir()
        text = str(_prepare(paths, megabytes * share, part))
        more = ["--threads", str(threads)]
        row: dict[str, Any] = {"megabytes": Path(text).stat().st_size / MEGABYTE}
        row["count"] = measure(["count", text, "-o", str(part / "counts"), "--force", *more], runs)
        row["candidates"] = measure(
            ["candidates", text, "-o", str(part / "candidates"), "--force", *more], runs
        )
        row["learn"] = measure(
            ["learn", text, "-o", str(part / "learned"), "--force", "--no-report", *more], runs
        )
        rows.append(row)
        print(row, file=sys.stderr)
        subprocess.run(["rm", "-r", str(part)], check=True)
    return rows


def over_candidates(
    paths: list[Path], folder: Path, runs: int, threads: int
) -> list[dict[str, Any]]:
    """From counts, so that only what depends on the candidates is in the time."""
    rows: list[dict[str, Any]] = []
    counts, more = str(folder / "counts"), ["--threads", str(threads)]
    measure(["count", *map(str, paths), "-o", counts, *more], 1)
    for merges in CANDIDATES:
        row: dict[str, Any] = {"merges": merges}
        row["candidates"] = measure(
            ["candidates", counts, "-n", str(merges), "-o", str(folder / "c"), "--force", *more],
            runs,
        )
        row["learn"] = measure(
            ["learn", counts, "--candidates", f"bpe:{merges}", "--sizes", "500:1000:250",
             "-o", str(folder / "learned"), "--force", "--no-report", *more], runs,
        )  # fmt: skip
        rows.append(row)
        print(row, file=sys.stderr)
    return rows


def section(result: Mapping[str, Any]) -> str:
    """The tables and figures, for docs/benchmarks.md."""
    machine = result["machine"]
    return "\n".join([
        "Made by", "", f"    {result['command']}", "",
        f"on {machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python "
        f"{machine['python']}, {result['threads']} threads; medians of {result['runs']} run(s). "
        "Time and peak memory of the whole process; `learn` without the report."
        + (f" {result['note']}" if result["note"] else ""),
        "", "![time and memory over text](img/scaling-text.svg)", "",
        *_table(["text", "count", "candidates", "learn"],
                [[f"{row['megabytes']:,.0f} MB", *_cells(row, "count", "candidates", "learn")]
                 for row in result["text"]]),
        "", "The candidates, from counts of all of the text; here `learn` solves transport at "
        "three small sizes.",
        "", "![time and memory over candidates](img/scaling-candidates.svg)", "",
        *_table(["candidates asked for", "candidates", "learn"],
                [[f"{row['merges']:,}", *_cells(row, "candidates", "learn")]
                 for row in result["candidates"]]),
    ])  # fmt: skip


def _cells(row: Mapping[str, Any], *commands: str) -> list[str]:
    return [
        f"{row[one]['wall_seconds']:.2f} s ({row[one]['cpu_seconds']:.2f} s CPU), "
        f"{row[one]['peak_megabytes']:,.0f} MB"
        for one in commands
    ]


def draw(result: Mapping[str, Any]) -> None:
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: no figures", file=sys.stderr)
        return
    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    # Text stays text, and equal input gives equal bytes.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "volt", "font.size": 9})

    def figure(
        rows: list[dict[str, Any]], axis: str, label: str, commands: tuple[str, ...], name: str
    ) -> None:
        drawn, panels = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
        measures: list[tuple[str, Callable[[Any], float]]] = [
            ("CPU time, seconds", lambda one: float(one["cpu_seconds"])),
            ("peak memory, MB", lambda one: float(one["peak_megabytes"])),
        ]
        for panel, (title, value) in zip(panels, measures, strict=True):
            for command in commands:
                panel.plot(
                    [row[axis] for row in rows], [value(row[command]) for row in rows], ".-",
                    label=command,
                )  # fmt: skip
            if axis == "merges":
                panel.set_xscale("log")
                panel.set_xticks(CANDIDATES, [f"{merges // 1000}K" for merges in CANDIDATES])
                panel.minorticks_off()
            panel.set(xlabel=label, ylabel=title)
            panel.set_ylim(bottom=0)
            panel.grid(alpha=0.3)
        panels[0].legend()
        drawn.savefig(IMAGES / name, metadata={"Date": None})
        plt.close(drawn)

    figure(result["text"], "megabytes", "text, MB", ("count", "candidates", "learn"),
           "scaling-text.svg")  # fmt: skip
    figure(result["candidates"], "merges", "candidates asked for", ("candidates", "learn"),
           "scaling-candidates.svg")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--note", default="", help="a sentence for the page, such as on other load")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="volt-scaling-") as name:
        settings = Path(name), arguments.runs, arguments.threads
        result: dict[str, Any] = {
            "stage": "scaling",
            "title": "Scaling",
            "command": "python benchmarks/scaling.py --text "
            + " ".join(path.name for path in arguments.text)
            + f" --runs {arguments.runs} -o benchmarks/results/scaling.json",
            "machine": _machine(),
            "runs": arguments.runs,
            "threads": arguments.threads,
            "note": arguments.note,
            "text": over_text(arguments.text, *settings),
            "candidates": over_candidates(arguments.text, *settings),
        }
    result["section"] = section(result)
    _save(result, arguments.output)
    draw(result)


if __name__ == "__main__":
    main()
