"""Benchmark of small work: short strings from Python, hostile text, and starting.

    python benchmarks/small.py --text FILE -o benchmarks/results/small.json

A byte-level vocabulary (pattern of GPT-4, 32,000 tokens) is learned from the first 50 MB of the
text and exported for tiktoken and tokenizers. Nothing is timed unless their ids are the same.

1. Strings of 30 and of 300 characters, one per call and 1,000 per call. Every string is encoded
   once before the clock starts, as in a program that goes on for a while.
2. Hostile text of 250 KB to 4 MB: time per byte beside prose, and how time grows with the text.
3. Start: `volt --help`, `import volt` after Python's own start, the first encode after a load.

Times are CPU times, the best of several runs; a growth is the exponent of time over size.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import volt
from measure import MEGABYTE, _machine, _save
from page import _table
from shipping import best, peer

LEARNED, SIZE = 50, 32_000
LENGTHS, BATCH, STRINGS = (30, 300), 1000, 20_000
SIZES = (250_000, 1_000_000, 4_000_000)
HOSTILE = {
    "one letter": "a", "`ab`": "ab", "spaces": " ", "line ends": "\n", "digits": "7",
    "emoji joiners": "\U0001f468\u200d", "combining marks": "e\u0301", "Han": "\u4e2d",
    "punctuation": "!?",
}  # fmt: skip
GOALS = {"volt --help": 0.1, "import volt": 0.15, "first encode after a load": 0.005}


def strings_of(text: str, length: int) -> list[str]:
    step = max(length, len(text) // STRINGS)
    cuts = (text[start : start + length] for start in range(0, len(text) - length, step))
    return list(cuts)[:STRINGS]


def short_strings(own: volt.Tokenizer, others: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """Microseconds per string."""
    rust, fast = others["tokenizers"], others["tiktoken"]
    one_by_one: dict[str, Callable[[str], Any]] = {
        "volt": own.encode,
        "tiktoken": fast.encode_ordinary,
        "tokenizers": lambda one: rust.encode(one, add_special_tokens=False).ids,
    }
    together: dict[str, Callable[[list[str]], Any]] = {
        "volt": own.encode_batch,
        "tiktoken": lambda many: fast.encode_ordinary_batch(many, num_threads=1),
        "tokenizers": lambda many: [
            one.ids for one in rust.encode_batch_fast(many, add_special_tokens=False)
        ],
    }
    rows = []
    for length in LENGTHS:
        strings = strings_of(text, length)
        expected = [own.encode(one) for one in strings]
        for name in one_by_one:
            found = [list(one_by_one[name](one)) for one in strings]
            if found != expected or [list(one) for one in together[name](strings)] != expected:
                raise SystemExit(f"{name} gives other ids, so nothing was measured")
        parts = [strings[at : at + BATCH] for at in range(0, len(strings), BATCH)]
        for name in one_by_one:
            for batch, given in ((1, strings), (BATCH, parts)):
                call: Callable[..., Any] = (one_by_one if batch == 1 else together)[name]
                micro = best(partial(each, call, given)) / len(strings) * 1e6
                rows.append({"characters": length, "batch": batch, "name": name, "us": micro})
                print(rows[-1], file=sys.stderr)
    return rows


def each(call: Callable[[Any], Any], given: Sequence[Any]) -> None:
    for one in given:
        call(one)


def hostile(own: volt.Tokenizer, text: str) -> list[dict[str, Any]]:
    """Nanoseconds per byte, beside prose of the same size, and the exponent of growth."""
    rows = []
    for name, piece in {"prose": "", **HOSTILE}.items():
        taken = []
        for size in SIZES:
            made = text[:size] if not piece else piece * (size // len(piece.encode()))
            calls = SIZES[-1] // size
            seconds = best(partial(each, own.encode, [made] * calls))
            taken.append(seconds / calls / len(made.encode()) * 1e9)
        growth = 1 + math.log(taken[-1] / taken[0]) / math.log(SIZES[-1] / SIZES[0])
        rows.append({"text": name, "ns": taken, "growth": growth})
        print(rows[-1], file=sys.stderr)
    return rows


def _cpu_of(command: Sequence[str], runs: int = 7) -> float:
    found = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(found)


def start(models: Path) -> dict[str, float]:
    """Seconds."""
    script = str(Path(sysconfig.get_path("scripts"), "volt"))
    first = []
    for _ in range(5):
        tokenizer = volt.load(models)
        began = time.perf_counter()
        tokenizer.encode("A first line.")
        first.append(time.perf_counter() - began)
    empty = _cpu_of([sys.executable, "-c", ""])
    return {
        "volt --help": _cpu_of([script, "--help"]),
        "import volt": _cpu_of([sys.executable, "-c", "import volt"]) - empty,
        "first encode after a load": statistics.median(first),
    }


def section(result: dict[str, Any]) -> str:
    """The tables for docs/benchmarks.md."""
    machine, versions = result["machine"], result["versions"]
    taken = {(r["characters"], r["batch"], r["name"]): r["us"] for r in result["short"]}
    names = ("volt", "tiktoken", "tokenizers")
    short = [
        [f"{length}", f"{batch:,}", *(f"{taken[length, batch, name]:.2f} µs" for name in names),
         ", ".join(f"{taken[length, batch, one] / taken[length, batch, 'volt']:.1f}x"
                   for one in names[1:])]
        for length in LENGTHS for batch in (1, BATCH)
    ]  # fmt: skip
    prose = next(r["ns"] for r in result["hostile"] if r["text"] == "prose")
    bad = [
        [r["text"],
         *(f"{ns:.2f} ns, {ns / base:.1f}x" for ns, base in zip(r["ns"], prose, strict=True)),
         f"{r['growth']:.2f}"]
        for r in result["hostile"]
    ]  # fmt: skip
    return "\n".join([
        "Made by", "", f"    {result['command']}", "",
        f"on {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}; one thread, "
        f"CPU time, the best of five runs. tiktoken {versions['tiktoken']}, tokenizers "
        f"{versions['tokenizers']}: their ids were the same for every string. Time per string, "
        "strings seen before:", "",
        *_table(["characters", "per call", *names, "tiktoken, tokenizers / volt"], short), "",
        "Hostile text: time per byte, beside prose of the same size. Time grows like size^p; "
        "at most 5x is asked, and p near 1:", "",
        *_table(["one text of", *(f"{size / MEGABYTE:g} MB" for size in SIZES), "p"], bad), "",
        "Start, CPU time:", "",
        *_table(["", "seconds", "at most", ""],
                [[name, f"{value:.4f}", f"{GOALS[name]:g}",
                  "pass" if value <= GOALS[name] else "FAIL"]
                 for name, value in result["start"].items()]),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Short strings, hostile text, start.")
    parser.add_argument("--text", type=Path, required=True, nargs="+", metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, required=True, help="write JSON there")
    asked = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    with tempfile.TemporaryDirectory(prefix="volt-bench-") as name:
        folder = Path(name)
        sample = folder / "text"
        with asked.text[0].open("rb") as file:
            sample.write_bytes(file.read(LEARNED * MEGABYTE) + file.readline())
        learned = volt.learn(
            sample, pretokenizer="byte-level:cl100k", merge_rule="concat", size=SIZE, splits=1
        )
        learned.save(folder / "volt")
        own = volt.Tokenizer(learned.vocabulary, threads=1)
        volt.export(learned.vocabulary, "hf", folder / "hf")
        others = {
            "tiktoken": peer(own, folder),
            "tokenizers": Tokenizer.from_file(str(folder / "hf" / "tokenizer.json")),
        }
        text = sample.read_text(encoding="utf-8")[: SIZES[-1]]
        result: dict[str, Any] = {
            "stage": "small", "title": "Small work: short strings, hostile text, start",
            "command": f"python benchmarks/small.py --text {asked.text[0].name} "
            "-o benchmarks/results/small.json",
            "machine": _machine(),
            "versions": {one: importlib.metadata.version(one) for one in others},
            "short": short_strings(own, others, text),
            "hostile": hostile(own, text),
            "start": start(folder / "volt"),
        }  # fmt: skip
    result["section"] = section(result)
    print(result["section"])
    _save(result, asked.output)


if __name__ == "__main__":
    main()
