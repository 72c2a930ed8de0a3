"""Instructions of the hot loops, compared with the recorded figures of the same compiler.

    make instructions
    python benchmarks/instructions.py --record      # after a change that is meant to be

`benchmarks/hot_loops.cpp` counts the words of a generated text, learns 100,000 merges, scores
vocabularies of ten sizes and encodes the text, on one thread, under callgrind. Instructions do not
depend on how busy the machine is, so a loop that takes 3% more of them got slower by a change.
What callgrind can't see are cache misses; `benchmarks/learn.py` measures time.

Figures are kept per compiler and processor type in `benchmarks/instructions.json`. With another
compiler there is nothing to compare with, and the exit code is 2.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from generate import write_text

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "instructions"
FIGURES = ROOT / "benchmarks" / "instructions.json"
LOOPS = ("count", "merge", "quality", "encode")
FLAGS = ("-std=c++20", "-O3", "-DNDEBUG", "-g", "-flto=auto", "-Isrc/core", "-pthread")
"""Those of CMakeLists.txt, with names for callgrind."""
ALLOWED = 0.03
TEXT = (["latin-b", "cyrillic-a", "han"], 6.0, 0)
"""Languages, megabytes, seed."""


def build(compiler: str) -> Path:
    """The loops as a program, made again where a source is newer than it."""
    program = BUILD / "hot_loops"
    headers = [*ROOT.glob("src/core/*/*.hpp"), *ROOT.glob("src/core/*/*.inc")]
    sources = [p for p in sorted(ROOT.glob("src/core/*/*.cpp")) if p.parent.name != "bindings"]
    sources.append(ROOT / "benchmarks" / "hot_loops.cpp")
    newest = max(path.stat().st_mtime for path in [*headers, *sources])
    if program.exists() and program.stat().st_mtime > newest:
        return program
    BUILD.mkdir(parents=True, exist_ok=True)

    def compiled(source: Path) -> str:
        target = str(BUILD / f"{source.parent.name}-{source.stem}.o")
        subprocess.run([compiler, *FLAGS, "-c", source, "-o", target], check=True, cwd=ROOT)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    subprocess.run([compiler, *FLAGS, *objects, "-o", program], check=True, cwd=ROOT)
    return program


def measure(program: Path, text: Path, loop: str) -> int:
    """Instructions inside one loop."""
    out = BUILD / f"callgrind.{loop}"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
               f"--toggle-collect=hot_{loop}", program, text, loop]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"callgrind: exit {done.returncode}: {done.stderr[-500:]}")
    found = re.search(r"^summary: (\d+)", out.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(description="Instructions of the hot loops.")
    parser.add_argument("--record", action="store_true", help="write the figures as the new ones")
    arguments = parser.parse_args()
    compiler = os.environ.get("CXX", "g++")
    for tool in ("valgrind", compiler):
        if shutil.which(tool) is None:
            print(f"{tool} is not installed", file=sys.stderr)
            return 2
    shown = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    key = f"{shown.stdout.splitlines()[0]}, {platform.machine()}"
    program = build(compiler)
    text = BUILD / "text.txt"
    write_text(TEXT[0], TEXT[1], TEXT[2], text)
    digest = hashlib.sha256(text.read_bytes()).hexdigest()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        measured = list(pool.map(lambda loop: measure(program, text, loop), LOOPS))
    now = dict(zip(LOOPS, measured, strict=True))

    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if arguments.record:
        figures[key] = {"text": digest, "instructions": now}
        FIGURES.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")
    before = figures.get(key)
    if before is None or before["text"] != digest:
        why = f"no figures of {key}" if before is None else "the text is not that of the figures"
        print(f"{why}: record them with --record", file=sys.stderr)
        print(json.dumps(now))
        return 2
    slower = []
    for loop, number in now.items():
        change = number / before["instructions"][loop] - 1
        print(f"{loop:8} {number:15,} instructions, {change:+.2%}")
        if change > ALLOWED:
            slower.append(loop)
    if slower:
        print(f"more than {ALLOWED:.0%} above the figures: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
