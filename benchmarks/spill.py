"""Counting text whose word types outgrow the memory: `volt count --memory`, held by the kernel.

    python benchmarks/spill.py --text FILE... --gigabytes 5 -o benchmarks/results/spill.json

The text is made from real files: 24 words in a row, drawn at random with a fixed seed, then one
made of the head of a word and the tail of another, so that new types never cease. The process that
counts may have no more than `--memory` of data (`ulimit -d`: all memory that it writes to, in RAM
or not). The same text is then counted in memory without a limit, and the two files must be equal.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import operator
import os
import random
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measure import _machine, _save
from page import _table

SEED = 1
WORDS = 200_000
"""So many words of each file are drawn from."""
DRAWN = 1 << 15
"""Lines that are made at a time."""


def make_text(paths: list[Path], size: int, target: Path) -> None:
    """Lines of 24 words and a new one. The same files give the same bytes."""
    words: list[str] = []
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            split = itertools.chain.from_iterable(map(str.split, lines))
            words += itertools.islice(split, WORDS)
    phrases = [" ".join(words[at : at + 24]) for at in range(0, len(words), 24)]
    types = sorted(set(words))
    heads = [word[: len(word) // 2 + 1] for word in types]
    tails = [word[len(word) // 2 :] + "\n" for word in types]
    draw = random.Random(SEED)
    with target.open("wb") as stream:
        while stream.tell() < size:
            known = draw.choices(phrases, k=DRAWN)
            new = map(operator.add, draw.choices(heads, k=DRAWN), draw.choices(tails, k=DRAWN))
            stream.write("".join(map(" ".join, zip(known, new, strict=True))).encode())


def count(
    text: Path, output: Path, threads: int, *options: str, limit: int | None
) -> dict[str, Any]:
    """Run `volt count`; what it took."""

    def hold() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    command = [str(Path(sysconfig.get_path("scripts"), "volt")), "count", str(text), *options,
               "--pretokenizer", "whitespace", "--threads", str(threads),
               "-o", str(output), "--force", "--json"]  # fmt: skip
    started = time.perf_counter()
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, preexec_fn=hold, stdout=printed)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"volt count: exit {process.returncode}")
        printed.seek(0)
        facts = json.load(printed)
    digest = hashlib.sha256()
    with output.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return {
        "options": list(options), "data_limit_bytes": limit, "threads": threads,
        "wall_seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss * 1024 / 1e6,
        "types": facts["types"], "words": facts["words"],
        "output_megabytes": output.stat().st_size / 1e6, "sha256": digest.hexdigest(),
    }  # fmt: skip


def section(result: Mapping[str, Any]) -> str:
    """For docs/benchmarks.md."""
    held, free, machine = result["within_memory"], result["in_memory"], result["machine"]
    return "\n".join([
        "Made by", "", f"    {result['command']}", "",
        f"on {machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python "
        f"{machine['python']}. {result['text']['bytes'] / 1e9:.1f} GB of text, {held['words']:,} "
        f"words, {held['types']:,} types; a counts file of {held['output_megabytes']:,.0f} MB. The "
        f"kernel held the first to {held['data_limit_bytes'] / 2**20:,.0f} MiB of data "
        "(`ulimit -d`). The files are "
        + ("the same byte for byte." if result["same_bytes"] else "**different**."), "",
        *_table(["", "time", "CPU time", "peak memory"],
                [[f"`{' '.join(['volt count', *one['options']])}`", f"{one['wall_seconds']:,.0f} s",
                  f"{one['cpu_seconds']:,.0f} s", f"{one['peak_megabytes']:,.0f} MB"]
                 for one in (held, free)]),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--gigabytes", type=float, default=5)
    parser.add_argument("--memory", default="1G")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the text and the runs go")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write JSON there")
    arguments = parser.parse_args()
    size = int(arguments.gigabytes * 1e9)
    if arguments.make:
        make_text(arguments.text, size, arguments.make)
        return

    with tempfile.TemporaryDirectory(prefix="volt-spill-", dir=arguments.folder) as name:
        folder = Path(name)
        text = folder / "text"
        # In a process of its own: a large parent would count as the peak of its children.
        subprocess.run([sys.executable, __file__, "--text", *map(str, arguments.text),
                        "--gigabytes", str(arguments.gigabytes), "--make", str(text)],
                       check=True)  # fmt: skip
        made = text.stat().st_size
        from volt.counting.spill import memory_bytes

        limit = memory_bytes(arguments.memory)
        held = count(text, folder / "held", arguments.threads, "--memory", arguments.memory,
                     "--spill", str(folder / "runs"), limit=limit)  # fmt: skip
        (folder / "held").unlink()
        held["options"] = ["--memory", arguments.memory]
        print(json.dumps(held, indent=2))
        free = count(text, folder / "free", arguments.threads, limit=None)
        print(json.dumps(free, indent=2))
    result: dict[str, Any] = {
        "stage": "spill",
        "title": "Types that outgrow the memory",
        "command": "python benchmarks/spill.py --text "
        + " ".join(path.name for path in arguments.text)
        + f" --gigabytes {arguments.gigabytes:g} --memory {arguments.memory}"
        " -o benchmarks/results/spill.json",
        "machine": _machine(),
        "text": {"made_from": [path.name for path in arguments.text], "seed": SEED, "bytes": made},
        "within_memory": held,
        "in_memory": free,
        "same_bytes": held["sha256"] == free["sha256"],
    }
    result["section"] = section(result)
    if arguments.output:
        _save(result, arguments.output)
    print("same bytes" if result["same_bytes"] else "DIFFERENT bytes")
    sys.exit(not result["same_bytes"])


if __name__ == "__main__":
    main()
