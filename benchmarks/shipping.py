"""Benchmark of the calls that programs make of a tokenizer: counting, truncating, streaming, token
files, and one short string from Python beside tiktoken.

    python benchmarks/shipping.py --text FILE --size 8000

Each figure is the best of some runs, by CPU time; compare the lines of a run with each other. Ids
and counts are compared, with each other and with tiktoken's, before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import volt
from measure import _machine, _save
from page import _table


def best(call: Callable[[], Any], times: int = 5) -> float:
    """The fastest of some runs, in seconds."""
    found = []
    for _ in range(times):
        started = time.process_time()
        call()
        found.append(time.process_time() - started)
    return min(found)


def gate(tokenizer: volt.Tokenizer, other: Any, lines: list[str]) -> None:
    """Nothing is timed unless the answers are the same."""
    for line in [*lines[:2000], "\n".join(lines[:2000])]:
        ids = tokenizer.encode(line)
        if ids != other.encode_ordinary(line) or tokenizer.count(line) != len(ids):
            raise SystemExit(f"other ids or another count: {line[:80]!r}")


def count_ratio(tokenizer: volt.Tokenizer, text: str) -> float:
    """How many times as fast `count` is as `len(encode)`."""
    calls = max(1, 1_000_000 // len(text))
    encode = best(lambda: [len(tokenizer.encode(text)) for _ in range(calls)], 7)
    return encode / best(lambda: [tokenizer.count(text) for _ in range(calls)], 7)


def peer(tokenizer: volt.Tokenizer, folder: Path) -> Any:
    import tiktoken
    import tiktoken.load

    os.environ["TIKTOKEN_CACHE_DIR"] = ""
    volt.export(tokenizer.vocabulary, "tiktoken", folder / "ranks")
    settings = json.loads((folder / "ranks.json").read_text(encoding="utf-8"))
    ranks = tiktoken.load.load_tiktoken_bpe(str(folder / "ranks"))
    return tiktoken.Encoding("peer", mergeable_ranks=ranks, **settings)


def measure(path: Path, size: int, folder: Path) -> dict[str, float]:
    learned = volt.learn(path, pretokenizer="byte-level:cl100k", merge_rule="concat", size=size)
    tokenizer = volt.Tokenizer(learned.vocabulary, threads=1)
    text = path.read_text(encoding="utf-8")[:4_000_000]
    ids = tokenizer.encode(text)
    lines = [line for line in text.split("\n") if len(line) >= 30][:20_000]
    short = [line[:30] for line in lines]

    def stream() -> None:
        push = tokenizer.decode_stream().push
        for i in ids:
            push(i)

    one_by_one = best(lambda: [len(tokenizer.encode(line)) for line in lines])
    some, many = len(ids) // 100, len(ids) // 10
    other = peer(tokenizer, folder)
    gate(tokenizer, other, lines)
    threaded = volt.Tokenizer(learned.vocabulary)
    file = best(lambda: threaded.encode_file(path), 3)
    written = best(lambda: volt.encode_to_files(threaded, path, folder / "ids.bin", force=True), 3)
    counted = {
        f"count, times len(encode), {size:,} characters": count_ratio(tokenizer, text[:size])
        for size in (30, 300, 3_000, 300_000, len(text))
    }
    return counted | {
        "count, times len(encode), lines": one_by_one
        / best(lambda: [tokenizer.count(line) for line in lines]),
        f"truncate to {some:,} tokens, ms": best(lambda: tokenizer.truncate(text, some)) * 1e3,
        f"truncate to {many:,} tokens, ms": best(lambda: tokenizer.truncate(text, many)) * 1e3,
        "decode_stream, M tokens/s": len(ids) / best(stream, 3) / 1e6,
        "encode_to_files bin, times encode_file": file / written,
        "30 characters, ns": best(lambda: [tokenizer.encode(one) for one in short])
        / len(short)
        * 1e9,
        "30 characters, tiktoken encode, ns": best(lambda: [other.encode(one) for one in short])
        / len(short)
        * 1e9,
        "30 characters, tiktoken encode_ordinary, ns": best(
            lambda: [other.encode_ordinary(one) for one in short]
        )
        / len(short)
        * 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--size", type=int, default=8000)
    parser.add_argument("-o", "--output", type=Path, help="write JSON there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(asked.text, asked.size, Path(folder))
    machine = _machine()
    command = f"python benchmarks/shipping.py --text {asked.text.name} --size {asked.size}"
    section = "\n".join([
        "Made by", "", f"    {command}", "",
        f"on the first 4 million characters, {machine['cpu']}, Python {machine['python']}; CPU "
        "time, the best of several runs. Ids and counts were compared with tiktoken's first.", "",
        *_table(["", "figure"], [[name, f"{value:.2f}"] for name, value in found.items()]),
    ])  # fmt: skip
    print(section)
    if asked.output:
        result = {"stage": "shipping", "title": "Calls of programs", "machine": machine}
        _save({**result, "command": command, "figures": found, "section": section}, asked.output)


if __name__ == "__main__":
    main()
