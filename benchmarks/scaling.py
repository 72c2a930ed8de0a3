"""Time and memory as text, merges and word types grow, with fitted exponents.

    python benchmarks/generate.py --megabytes 2000 --files -o made
    python benchmarks/scaling.py --text made/*.txt -o benchmarks/results/scaling.json

One file per language: each is cut to the share, so that parts differ in size only. The one file of
all languages ends with those that take few bytes per word, and its first half is another text.

1. Text: 1/16, 1/8, 1/4, 1/2 and all of it: counted on one thread and on two, and 100,000 merges.
2. Merges: 1,000 to 200,000, from the counts of all of the text.
3. Word types: 10,000 to 10 million, from counts that `generate.py` makes; 100,000 merges.

Every command runs in a process of its own; its time is that of the whole process, its memory
`ru_maxrss`. An exponent is the slope of a line through the logarithms of CPU time, which other work
on the machine moves least. What a terabyte would take on Spark is computed from the last doubling
of the text. With matplotlib installed the figure is drawn into docs/img.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generate import SCRIPTS, write_counts
from measure import MEGABYTE, _machine, _prepare, _save
from page import _table

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
MERGES = (1_000, 3_000, 10_000, 30_000, 100_000, 200_000)
TYPES = (10_000, 100_000, 1_000_000, 10_000_000)
IMAGES = Path(__file__).parents[1] / "docs" / "img"
SPARK_CORES = 256


def measure(command: list[str], runs: int) -> dict[str, float]:
    """Medians of time, CPU time and peak memory of `volt` with these arguments."""
    volt = str(Path(sysconfig.get_path("scripts"), "volt"))
    taken: list[tuple[float, float, float]] = []
    for _ in range(runs):
        started = time.perf_counter()
        process = subprocess.Popen([volt, *command, "-q", "--force"])
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"volt {command[0]}: exit {process.returncode}")
        cpu = usage.ru_utime + usage.ru_stime
        taken.append((seconds, cpu, usage.ru_maxrss * 1024 / MEGABYTE))
    wall, cpu, peak = (statistics.median(values) for values in zip(*taken, strict=True))
    return {"wall_seconds": wall, "cpu_seconds": cpu, "peak_megabytes": peak}


def over_text(paths: list[Path], folder: Path, runs: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    megabytes = sum(path.stat().st_size for path in paths) / MEGABYTE
    for share in SHARES:
        part = folder / "part"
        part.mkdir()
        text = str(_prepare(paths, megabytes * share, part))
        row: dict[str, Any] = {"megabytes": Path(text).stat().st_size / MEGABYTE}
        counts, merged = str(folder / "counts"), str(part / "candidates")
        for threads in ("1", "2"):
            count = ["count", text, "-o", counts, "--threads", threads]
            row[f"count, {threads} thread{'s' * (threads > '1')}"] = measure(count, runs)
        row["candidates"] = measure(["candidates", text, "-o", merged, "--threads", "2"], runs)
        with Path(counts).open("rb") as lines:
            row["types"] = sum(not line.startswith(b"# ") for line in lines)
        rows.append(row)
        print(row, file=sys.stderr)
        subprocess.run(["rm", "-r", str(part)], check=True)
    return rows


def over_merges(folder: Path, runs: int) -> list[dict[str, Any]]:
    """From counts, so that only what depends on the merges is in the time."""
    rows: list[dict[str, Any]] = []
    for merges in MERGES:
        command = ["candidates", str(folder / "counts"), "-n", str(merges), "-o", str(folder / "c")]
        rows.append({"merges": merges, "candidates": measure([*command, "--threads", "2"], runs)})
        print(rows[-1], file=sys.stderr)
    return rows


def over_types(folder: Path, runs: int, most: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for types in TYPES:
        if types > most:
            break
        counts = folder / "counts"
        write_counts(list(SCRIPTS), types, 0, counts)
        command = ["candidates", str(counts), "--input-format", "pairs", "-o", str(folder / "c")]
        rows.append({"types": types, "candidates": measure([*command, "--threads", "2"], runs)})
        print(rows[-1], file=sys.stderr)
    return rows


def exponent(rows: Sequence[Mapping[str, Any]], axis: str, command: str) -> float:
    """Of CPU time over the axis, over the upper half of the rows: the start of the program is most
    of the time at first."""
    upper = rows[len(rows) // 2 - 1 :]
    x = [math.log(row[axis]) for row in upper]
    y = [math.log(row[command]["cpu_seconds"]) for row in upper]
    return statistics.linear_regression(x, y).slope


def spark_hours(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """MB per second and core in the last doubling of the text, and the hours of a terabyte."""
    name = "count, 1 thread"
    last, before = rows[-1], rows[-2]
    seconds = last[name]["cpu_seconds"] - before[name]["cpu_seconds"]
    speed = (last["megabytes"] - before["megabytes"]) / seconds
    return speed, 1e12 / MEGABYTE / speed / SPARK_CORES / 3600


def section(result: Mapping[str, Any]) -> str:
    """The tables and figures, for docs/benchmarks.md."""
    machine = result["machine"]
    counting = ("count, 1 thread", "count, 2 threads", "candidates")
    speed, hours = spark_hours(result["text"])
    powers = {name: exponent(result["text"], "megabytes", name) for name in counting}
    merging = exponent(result["merges"], "merges", "candidates")
    typing = exponent(result["types"], "types", "candidates")
    return "\n".join([
        "Made by", "", f"    {result['command']}", "",
        f"on {machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python "
        f"{machine['python']}; medians of {result['runs']} run(s). Time, CPU time and peak memory "
        "of the whole process. The text is made by `benchmarks/generate.py`: twelve languages, no "
        "part repeats another." + (f" {result['note']}" if result["note"] else ""),
        "", "![CPU time and memory](img/scaling.svg)", "",
        *_table(["text", "types", *counting],
                [[f"{row['megabytes']:,.0f} MB", f"{row['types']:,}", *_cells(row, *counting)]
                 for row in result["text"]]),
        "", "CPU time grows like text^p: "
        + ", ".join(f"{name} p = {power:.2f}" for name, power in powers.items()) + ".", "",
        *_table(["merges", "candidates, from the counts of all of the text"],
                [[f"{row['merges']:,}", *_cells(row, "candidates")] for row in result["merges"]]),
        "", f"CPU time grows like merges^{merging:.2f}: most of it is reading the counts and the "
        "first merges.", "",
        *_table(["word types", "candidates, 100,000 merges, from counts"],
                [[f"{row['types']:,}", *_cells(row, "candidates")] for row in result["types"]]),
        "", f"CPU time grows like types^{typing:.2f}.", "",
        f"**A terabyte, extrapolated.** The last doubling of the text was counted at {speed:.0f} "
        f"MB/s per core. If executors count at that speed, 1 TB takes {SPARK_CORES} cores "
        f"{hours * 3600:.0f} seconds and one core {hours * SPARK_CORES:.1f} hours. This assumes "
        "that executors read as fast as they count, that the text is like this one, and that "
        "adding up the partial counts is a small part: types grow more slowly than text. It was "
        "not measured.",
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
    drawn, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
    axes = (("text", "megabytes", "text, MB"), ("merges", "merges", "merges"),
            ("types", "types", "word types"))  # fmt: skip
    for panel, (rows, axis, label) in zip(panels, axes, strict=True):
        commands = [name for name in result[rows][0] if isinstance(result[rows][0][name], dict)]
        for command in commands:
            values = [row[command]["cpu_seconds"] for row in result[rows]]
            panel.plot([row[axis] for row in result[rows]], values, ".-", label=command)
        panel.set(xscale="log", yscale="log", xlabel=label, ylabel="CPU time, seconds")
        panel.grid(alpha=0.3)
    panels[0].legend()
    drawn.savefig(IMAGES / "scaling.svg", metadata={"Date": None})
    plt.close(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most-types", type=int, default=TYPES[-1], help="stop at so many types")
    parser.add_argument("--note", default="", help="a sentence for the page, such as on other load")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="volt-scaling-") as name:
        folder = Path(name)
        result: dict[str, Any] = {
            "stage": "scaling",
            "title": "Scaling",
            "command": "python benchmarks/scaling.py --text "
            + " ".join(path.name for path in arguments.text)
            + f" --runs {arguments.runs} -o benchmarks/results/scaling.json",
            "machine": _machine(),
            "runs": arguments.runs,
            "note": arguments.note,
            "text": over_text(arguments.text, folder, arguments.runs),
            "merges": over_merges(folder, arguments.runs),
            "types": over_types(folder, arguments.runs, arguments.most_types),
        }
    result["section"] = section(result)
    _save(result, arguments.output)
    draw(result)


if __name__ == "__main__":
    main()
