"""Benchmark of encoding much text once: a file in, the ids of every line out, nothing known before.

    python benchmarks/cold.py --megabytes 1000 --runs 3 -o benchmarks/results/cold.json

The text is made by `generate.py`, so that no part repeats another; `--text FILE` takes real text.
Vocabularies of three kinds (byte-level of 32,000 and of 128,000 tokens, SentencePiece-like of
32,000) are learned from its first 50 MB, outside the clock, and exported for the peers.

1. Every contender encodes the first 20 MB in a process of its own. One whose ids differ from
   volt's, or that can't read the vocabulary, is named and not measured.
2. Each encodes the text with one thread and with two, in turn, `--runs` times. One that took more
   than twice volt's CPU time in step 1 gets the first 50 MB only.

Time is that from before the vocabulary is loaded to the ids in an array. Imports are left out, also
those that wait until something is used: each process encodes one short line before, with a
tokenizer of its own. A rate is the median, with the lowest and highest of several runs.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from generate import SCRIPTS, write_text
from measure import _machine, _save

MEGABYTE = 1_000_000
KINDS = {"byte-level 32K": ("byte-level", 32_000), "byte-level 128K": ("byte-level", 128_000),
         "sentencepiece 32K": ("metaspace", 32_000)}  # fmt: skip
LEARNED, CHECKED, SHORT, FAR = 50, 20, 50, 2.0


def _batches(text: str) -> Iterator[list[str]]:
    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        while batch := [line.removesuffix("\n") for line in islice(stream, 10_000)]:
            yield batch


def volt(models: Path, text: str, threads: int) -> Any:
    import volt

    return volt.load(models / "volt", threads=threads).encode_file(text, unit="line")[0]


def gigatoken(models: Path, text: str, threads: int) -> Any:
    import gigatoken

    tokenizer = gigatoken.Tokenizer(str(models / "hf" / "tokenizer.json"))
    encoded = tokenizer.encode_files(gigatoken.TextFileSource([text], separator=b"\n"))
    return np.asarray(encoded.layout.content.data)


def tokie(models: Path, text: str, threads: int) -> Any:
    import tokie

    tokenizer = tokie.Tokenizer.from_json(str(models / "hf" / "tokenizer.json"))
    return tokenizer.encode_files([text], separator=b"\n")[0]


def fastokens(models: Path, text: str, threads: int) -> Any:
    import fastokens

    tokenizer = fastokens.Tokenizer.from_file(str(models / "hf" / "tokenizer.json"))
    found = [tokenizer.encode_batch_flat(batch)[0] for batch in _batches(text)]
    return np.concatenate([np.frombuffer(ids, np.uint32) for ids in found])


def tokenizers(models: Path, text: str, threads: int) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(models / "hf" / "tokenizer.json"))
    parts = []
    for batch in _batches(text):
        encoded = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        parts += [np.array(one.ids, np.uint32) for one in encoded]
    return np.concatenate(parts)


def sentencepiece(models: Path, text: str, threads: int) -> Any:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(models / "sentencepiece.model"))
    parts = []
    for batch in _batches(text):
        parts += [np.array(i, np.uint32) for i in processor.encode(batch, num_threads=threads)]
    return np.concatenate(parts)


CONTENDERS: dict[str, Callable[[Path, str, int], Any]] = {
    "volt": volt, "gigatoken": gigatoken, "tokie": tokie, "fastokens": fastokens,
    "tokenizers": tokenizers, "sentencepiece": sentencepiece,
}  # fmt: skip


def one_run(name: str, models: Path, text: str, threads: int) -> None:
    """In a process of its own: encode, and print what was measured as JSON."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as short:
        short.write("A line.\n")
        short.flush()
        CONTENDERS[name](models, short.name, threads)
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    ids = CONTENDERS[name](models, text, threads)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    digest = hashlib.sha256(np.ascontiguousarray(ids, np.uint32)).hexdigest()
    print(json.dumps({"seconds": seconds, "cpu": cpu, "ids": len(ids), "digest": digest}))


def run(name: str, models: Path, text: Path, threads: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", name, str(models), str(text), str(threads)]
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        return {"error": max(lines[-8:], key=len)[:160]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def prepare(text: Path, folder: Path) -> None:
    import volt
    from volt.tokenizing.build import build_vocabulary

    for name, (pretokenizer, size) in KINDS.items():
        models = folder / name.replace(" ", "-")
        (models / "volt").mkdir(parents=True)
        found = volt.candidates([str(text)], pretokenizer=pretokenizer, merges=size)
        vocabulary = build_vocabulary(found, range(min(len(found), size)))
        vocabulary.save(models / "volt" / "volt.json")
        volt.export(vocabulary, "hf", models / "hf")
        if pretokenizer == "metaspace":
            volt.export(vocabulary, "sentencepiece", models / "sentencepiece.model")


def first(text: Path, megabytes: float, to: Path) -> Path:
    with text.open("rb") as file:
        to.write_bytes(file.read(int(megabytes * MEGABYTE)) + file.readline())
    return to


def measure(kind: str, models: Path, texts: dict[str, Path], runs: int) -> list[dict[str, Any]]:
    names = [n for n in CONTENDERS if n != "sentencepiece" or kind.startswith(n)]
    checked = {name: run(name, models, texts["checked"], 2) for name in names}
    right = checked["volt"]
    rows = []
    for name, found in checked.items():
        if "error" not in found and found["digest"] != right["digest"]:
            found["error"] = "other ids than volt"
        if "error" in found:
            rows.append({"kind": kind, "name": name, "error": found["error"]})
            print(f"{kind}: {name}: {found['error']}", file=sys.stderr)
    able = [name for name in names if "error" not in checked[name]]
    for threads in (1, 2):
        measured: dict[str, list[dict[str, Any]]] = {name: [] for name in able}
        used = {
            name: texts["short" if checked[name]["cpu"] > FAR * right["cpu"] else "all"]
            for name in able
        }
        for _ in range(runs):
            for name in able:
                measured[name].append(run(name, models, used[name], threads))
                print(f"{kind}, {threads}: {name}: {measured[name][-1]}", file=sys.stderr)
        for name in able:
            rows.append(
                row(measured[name], used[name]) | {"kind": kind, "name": name, "threads": threads}
            )
    return rows


def row(measured: list[dict[str, Any]], text: Path) -> dict[str, Any]:
    megabytes = text.stat().st_size / MEGABYTE
    rates = sorted(megabytes / found["seconds"] for found in measured)
    return {
        "megabytes": round(megabytes), "rate": statistics.median(rates), "rates": rates,
        "cpu_rate": statistics.median(megabytes / found["cpu"] for found in measured),
        "ids": measured[0]["ids"],
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| vocabulary | threads | | version | text | MB/s | MB per CPU second | volt / it |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for one in rows:
        version = importlib.metadata.version("volt-vocab" if one["name"] == "volt" else one["name"])
        head = f"| {one['kind']} | {one.get('threads', '')} | {one['name']} | {version} |"
        if "error" in one:
            lines.append(f"{head} not measured: {one['error'].replace('|', ' ')} | | | |")
            continue
        ours = next(r for r in rows if r["name"] == "volt" and "error" not in r
                    and r["kind"] == one["kind"] and r["threads"] == one["threads"])  # fmt: skip
        spread = f" ({one['rates'][0]:.0f} to {one['rates'][-1]:.0f})" if one["rates"][1:] else ""
        ratio = f"{ours['rate'] / one['rate']:.2f}x, CPU {ours['cpu_rate'] / one['cpu_rate']:.2f}x"
        lines.append(f"{head} {one['megabytes']} MB | {one['rate']:.0f}{spread} | "
                     f"{one['cpu_rate']:.0f} | {ratio} |")  # fmt: skip
    return "\n".join(lines)


def section(result: dict[str, Any]) -> str:
    """The table for docs/benchmarks.md."""
    machine = result["machine"]
    return "\n".join([
        "Made by", "", f"    {result['command']}", "",
        f"on {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}. "
        f"{result['about']} Medians of {result['runs']} run(s) in turn, with the lowest and the "
        "highest; imports and one short line before the clock starts, the load of the vocabulary "
        f"after. A contender that needs more than {FAR:g} times volt's CPU time gets {SHORT} MB. "
        "At least 1.5x the fastest peer is asked.", "",
        table(result["rows"]),
    ])  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        one_run(sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
        return
    parser = argparse.ArgumentParser(description="Encoding much text once.")
    parser.add_argument("--text", type=Path, help="real text; made text if it is not given")
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument(
        "--only", action="append", choices=list(KINDS), help="this vocabulary alone"
    )
    parser.add_argument("-o", "--output", type=Path, help="write JSON there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="volt-bench-") as name:
        folder = Path(name)
        text = folder / "all"
        if asked.text:
            first(asked.text, asked.megabytes, text)
        else:
            write_text(list(SCRIPTS), asked.megabytes, 0, text)
        texts = {"all": text, "short": first(text, SHORT, folder / "short"),
                 "checked": first(text, CHECKED, folder / "checked")}  # fmt: skip
        prepare(first(text, LEARNED, folder / "learned"), folder)
        rows = []
        for kind in asked.only or KINDS:
            rows += measure(kind, folder / kind.replace(" ", "-"), texts, asked.runs)
    made = f"{asked.megabytes:g} MB of made text in twelve languages that does not repeat itself."
    result: dict[str, Any] = {
        "stage": "cold", "title": "Encoding much text once", "machine": _machine(),
        "command": "python benchmarks/cold.py "
        + (f"--text {asked.text.name} " if asked.text else "")
        + f"--megabytes {asked.megabytes:g} --runs {asked.runs} -o benchmarks/results/cold.json",
        "about": f"The first {asked.megabytes:g} MB of {asked.text.name}." if asked.text else made,
        "runs": asked.runs, "rows": rows,
    }  # fmt: skip
    result["section"] = section(result)
    print(result["section"])
    if asked.output:
        _save(result, asked.output)


if __name__ == "__main__":
    main()
