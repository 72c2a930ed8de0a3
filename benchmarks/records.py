"""Counting records: JSON Lines and Parquet against the same text in plain files.

    python benchmarks/records.py --text FILE... --megabytes 400 -o benchmarks/results/records.json

The files are cut into documents of 5 to 60 lines, drawn with a fixed seed, and written as JSON
Lines (with an id, an address and a nested field besides the text), as Parquet, and as text. `volt
count` counts each in a process of its own, in turn. The counts files must be equal. With
`--gigabytes` the JSON Lines are repeated to that size and counted once more with `--memory 512M`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import _machine, _save

SEED = 1
FASTEST = 150.0
"""Megabytes of text per second that are asked for."""
MOST_MEMORY = 600.0


def documents(paths: list[Path], size: int) -> list[str]:
    draw, found, total = random.Random(SEED), [], 0
    for path in paths:
        with path.open(encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
        at = 0
        while at < len(lines) and total < size:
            number = draw.randint(5, 60)
            found.append("\n".join(lines[at : at + number]).strip("\n") or "-")
            total += len(found[-1].encode())
            at += number
    return found


def write(files: list[Path], size: int, folder: Path) -> None:
    """Make the files. In a process of its own: the peak memory of a process that is started later
    would include that of this one."""
    import orjson
    import pyarrow
    import pyarrow.parquet

    paths, texts = paths_in(folder), documents(files, size)
    with paths["txt"].open("wb") as text, paths["jsonl"].open("wb") as lines:
        for place, one in enumerate(texts):
            text.write(one.encode() + b"\n")
            record = {"id": place, "url": f"https://example.org/{place}", "text": one,
                      "meta": {"lang": "en", "score": 0.5}}  # fmt: skip
            lines.write(orjson.dumps(record) + b"\n")
    table = pyarrow.table({"id": range(len(texts)), "text": texts})
    pyarrow.parquet.write_table(table, paths["parquet"], compression="zstd", row_group_size=20_000)


def paths_in(folder: Path) -> dict[str, Path]:
    return {name: folder / f"a.{name}" for name in ("txt", "jsonl", "parquet")}


def count(path: Path, output: Path, *options: str) -> dict[str, float]:
    command = [str(Path(sysconfig.get_path("scripts"), "volt")), "count", str(path), "--threads",
               "2", "-o", str(output), "--force", "-q", *options]  # fmt: skip
    started = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"volt count: exit {process.returncode}")
    return {
        "wall_seconds": time.perf_counter() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss * 1024 / 1e6,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--gigabytes", type=float, help="JSON Lines counted with --memory 512M")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        result = measure(asked, Path(name))
    print(json.dumps(result, indent=2))
    if asked.output:
        _save(result, asked.output)
    return 0 if all(result["passed"].values()) else 1


def measure(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    work = multiprocessing.get_context("spawn").Process(
        target=write, args=(asked.text, int(asked.megabytes * 1e6), folder)
    )
    work.start()
    work.join()
    paths = paths_in(folder)
    size = paths["txt"].stat().st_size / 1e6
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in paths}
    for _ in range(asked.runs):
        for name, path in paths.items():
            runs[name].append(count(path, folder / f"{name}.tsv"))
    outputs = {(folder / f"{name}.tsv").read_bytes() for name in paths}
    forms = {
        name: {key: statistics.median(one[key] for one in some) for key in some[0]}
        for name, some in runs.items()
    }
    for form in forms.values():
        form["megabytes_per_second"] = size / form["wall_seconds"]
    result: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]), "machine": _machine(), "megabytes": size,
        "forms": forms, "same_bytes": len(outputs) == 1,
    }  # fmt: skip
    passed = {f"{name} {FASTEST:.0f} MB/s": forms[name]["megabytes_per_second"] >= FASTEST
              for name in ("jsonl", "parquet")}  # fmt: skip
    if asked.gigabytes:
        large = folder / "large.jsonl"
        with large.open("wb") as file:
            while file.tell() < asked.gigabytes * 1e9:
                with paths["jsonl"].open("rb") as part:
                    shutil.copyfileobj(part, file, 1 << 20)
        held = count(large, folder / "large.tsv", "--memory", "512M")
        result["within_memory"] = {**held, "gigabytes": large.stat().st_size / 1e9}
        passed[f"at most {MOST_MEMORY:.0f} MB"] = held["peak_megabytes"] <= MOST_MEMORY
    return {**result, "passed": {**passed, "same bytes": result["same_bytes"]}}


if __name__ == "__main__":
    sys.exit(main())
