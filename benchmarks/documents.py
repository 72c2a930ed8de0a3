"""Whole documents: held-out tokens of volt's vocabularies against those of Hugging Face's trainer.

    python benchmarks/documents.py --text python=DIR go=DIR prose=FILE -o results/documents.json

A kind of text is `NAME=PATH:GLOB`: every file below PATH that matches (the glob may be left out) is
a document. A file alone is cut into documents of 40 lines. One document in ten, by a hash of its
content, is held out. Both learn from the same documents with the same pattern, to the same number
of rows, and encode the held-out ones; both encodings must decode to the text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import volt
from measure import _machine, _save
from page import _table
from volt.counting.words import PRETOKENIZERS

MOST_TOKENS = 1.01
"""Held-out tokens against those of the peer that are allowed."""
LINES = 40


def documents(path: Path, glob: str, size: int) -> list[str]:
    """Different documents, in an order that does not depend on their names."""
    found = {hashlib.sha256(text.encode()).digest(): text for text in _texts(path, glob)}
    kept, total = [], 0
    for key in sorted(found):
        total += len(found[key].encode())
        if total > size:
            break
        kept.append(found[key])
    return kept


def _texts(path: Path, glob: str) -> Iterator[str]:
    if path.is_file():
        lines = path.read_bytes().decode().splitlines(keepends=True)
        yield from ("".join(lines[at : at + LINES]) for at in range(0, len(lines), LINES))
        return
    for file in path.rglob(glob):
        try:
            text = file.read_bytes().decode() if file.is_file() else ""
        except UnicodeDecodeError:
            continue
        if text:
            yield text


def split(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Documents to learn from, and those held out."""
    held = [hashlib.md5(text.encode()).digest()[0] % 10 == 0 for text in texts]
    return (
        [text for text, out in zip(texts, held, strict=True) if not out],
        [text for text, out in zip(texts, held, strict=True) if out],
    )


def learn_volt(texts: list[str], held: list[str], size: int, pattern: str) -> dict[str, Any]:
    result = volt.learn(volt.Texts(texts), pretokenizer=pattern, size=size, min_frequency=1)
    ids = result.tokenizer.encode_batch(held)
    back = [result.tokenizer.decode(one) for one in ids]
    return _facts(len(result.tokenizer), result.tokenizer.tokens, ids, back, held)


def learn_peer(texts: list[str], held: list[str], size: int, pattern: str) -> dict[str, Any]:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    cuts = [pre_tokenizers.Split(Regex(one), "isolated") for one in PRETOKENIZERS[pattern].patterns]
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*cuts, letters])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    ids = [one.ids for one in tokenizer.encode_batch(held)]
    names = list(tokenizer.get_vocab())
    return _facts(len(names), names, ids, [tokenizer.decode(one) for one in ids], held)


def _facts(
    rows: int, names: Sequence[str], ids: list[list[int]], back: list[str], held: list[str]
) -> dict[str, Any]:
    if back != held:
        raise SystemExit("a document does not come back as it was")
    with_line_end = sum("\u010a" in name for name in names)  # how GPT-2 writes the byte of LF
    return {"rows": rows, "tokens": sum(map(len, ids)), "with_line_end": with_line_end}


def measure(kind: str, texts: list[str], asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    training, held = split(texts)
    held_bytes = sum(len(text.encode()) for text in held)
    for pattern, size in product(asked.pattern, asked.sizes):
        row: dict[str, Any] = {
            "kind": kind, "pattern": pattern, "size": size, "documents": len(training),
            "held_out": len(held),
            "megabytes": sum(len(text.encode()) for text in training) / 1e6,
        }  # fmt: skip
        for name, learn in (("volt", learn_volt), ("tokenizers", learn_peer)):
            started = time.process_time()
            row[name] = learn(training, held, size, pattern)
            row[name]["cpu_seconds"] = time.process_time() - started
            row[name]["tokens_per_byte"] = row[name]["tokens"] / held_bytes
        row["ratio"] = row["volt"]["tokens"] / row["tokenizers"]["tokens"]
        print(f"{kind}, {pattern}, {size:,}: {row['ratio']:.4f}", file=sys.stderr)
        yield row


def section(result: dict[str, Any]) -> str:
    rows = [
        [row["kind"], row["pattern"], f"{row['size']:,}", f"{row['documents']:,}",
         f"{row['megabytes']:.1f} MB",
         f"{row['volt']['tokens_per_byte']:.4f}", f"{row['tokenizers']['tokens_per_byte']:.4f}",
         f"{row['ratio']:.4f}", f"{row['volt']['with_line_end']:,}",
         f"{row['tokenizers']['with_line_end']:,}"]
        for row in result["rows"]
    ]  # fmt: skip
    head = ["text", "pattern", "rows", "documents", "learned from", "tokens per byte",
            "Hugging Face's", "ratio", "tokens with LF", "Hugging Face's"]  # fmt: skip
    return "\n".join([
        f"Tokens of held-out documents. At most {MOST_TOKENS:g} times as many as with Hugging "
        "Face's `BpeTrainer` are allowed. Made by", "",
        f"    {result['command']}", "", *_table(head, rows),
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", nargs="+", required=True, metavar="NAME=PATH[:GLOB]")
    parser.add_argument("--pattern", nargs="+", default=["byte-level", "byte-level:llama3"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[32_000, 64_000])
    parser.add_argument("--megabytes", type=float, default=30, help="of each kind of text")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    shown = []
    for one in asked.text:
        kind, _, place = one.partition("=")
        path, _, glob = place.partition(":")
        shown.append(f"{kind}={Path(path).name}" + (f":{glob}" if glob else ""))
        found = documents(Path(path), glob or "*", int(asked.megabytes * 1e6))
        rows += measure(kind, found, asked)
    command = [
        "python benchmarks/documents.py --text", *shown, "--pattern", *asked.pattern, "--sizes",
        *map(str, asked.sizes), "--megabytes", f"{asked.megabytes:g}",
    ]  # fmt: skip
    result: dict[str, Any] = {
        "stage": "documents", "title": "Whole documents", "command": " ".join(command),
        "machine": _machine(), "rows": rows,
        "passed": {f"{row['kind']} {row['pattern']} {row['size']}": row["ratio"] <= MOST_TOKENS
                   for row in rows},
    }  # fmt: skip
    result["section"] = section(result)
    print(json.dumps(result, indent=2))
    if asked.output:
        _save(result, asked.output)
    return 0 if all(result["passed"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
