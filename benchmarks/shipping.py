"""Benchmark of the calls that programs make of a tokenizer: counting, truncating, streaming, token
files, and one short string from Python beside tiktoken.

    python benchmarks/shipping.py --text FILE --size 8000

All figures are from one run; compare the columns of a line with each other.
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


def best(call: Callable[[], Any], times: int = 5) -> float:
    """The fastest of some runs, in seconds."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return min(found)


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

    encode = best(lambda: len(tokenizer.encode(text)))
    one_by_one = best(lambda: [len(tokenizer.encode(line)) for line in lines])
    some, many = len(ids) // 100, len(ids) // 10
    other = peer(tokenizer, folder)
    threaded = volt.Tokenizer(learned.vocabulary)
    file = best(lambda: threaded.encode_file(path), 3)
    written = best(lambda: volt.encode_to_files(threaded, path, folder / "ids.bin", force=True), 3)
    return {
        "count, times len(encode), one text": encode / best(lambda: tokenizer.count(text)),
        "count, times len(encode), lines": one_by_one
        / best(lambda: [tokenizer.count(line) for line in lines]),
        "truncate to 10 times the tokens, times as long": best(
            lambda: tokenizer.truncate(text, many), 3
        )
        / best(lambda: tokenizer.truncate(text, some), 3),
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
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, value in measure(asked.text, asked.size, Path(folder)).items():
            print(f"{value:10.2f}  {name}")


if __name__ == "__main__":
    main()
