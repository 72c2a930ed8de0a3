"""Hours of work in one process, made short: learn, encode, decode, export, import, over and over.

    python benchmarks/soak.py --minutes 10 -o benchmarks/results/soak.json

Memory must stay flat. The slope of the resident memory over the rounds is fitted to the second half
of them: in the first, caches and arenas fill.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import _machine, _save

TARGETS = ("hf", "sentencepiece", "subword-nmt", "tiktoken")


def resident_bytes() -> int:
    """Memory that the process has now, not at its peak."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def one_round(number: int, folder: Path) -> None:
    """Other text every time, so that nothing can be kept from round to round."""
    import volt

    draw = random.Random(number)
    letters = [chr(draw.randrange(0x61, 0x7B)) for _ in range(12)]
    lexicon = ["".join(draw.choices(letters, k=draw.randint(1, 9))) for _ in range(600)]
    lines = [" ".join(draw.choices(lexicon, k=12)) for _ in range(400)]
    form = TARGETS[number % len(TARGETS)]
    words = "byte-level" if form == "tiktoken" else "whitespace" if form == "subword-nmt" else None
    first = 30 if words == "whitespace" else 290  # special tokens, bytes and characters
    result = volt.learn(
        [lines], sizes=[first + 50, first + 100, first + 150], merges=300,
        pretokenizer=words, merge_rule="concat" if form in ("sentencepiece", "tiktoken") else None,
    )  # fmt: skip
    result.save(folder / "learned")
    tokenizer = volt.load(folder / "learned")
    encoded = [tokenizer.encode(line) for line in lines]
    if [tokenizer.decode(ids) for ids in encoded] != lines:
        raise SystemExit(f"round {number}: the text did not come back")
    exported = volt.export(result.vocabulary, form, folder / "exported")
    volt.import_vocabulary(exported.files[0])
    shutil.rmtree(folder)
    folder.mkdir()


def slope(memory: list[int]) -> float:
    """Bytes a round, by least squares."""
    rounds = len(memory)
    middle, mean = (rounds - 1) / 2, sum(memory) / rounds
    above = sum((at - middle) * (bytes_ - mean) for at, bytes_ in enumerate(memory))
    return above / sum((at - middle) ** 2 for at in range(rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rounds", type=int, help="so many rounds, however long they take")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write JSON there")
    arguments = parser.parse_args()

    memory: list[int] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="volt-soak-") as name:
        while (
            len(memory) < arguments.rounds
            if arguments.rounds
            else time.monotonic() - started < 60 * arguments.minutes
        ):
            one_round(len(memory), Path(name))
            memory.append(resident_bytes())
    later = memory[len(memory) // 2 :]
    seconds = time.monotonic() - started
    result: dict[str, Any] = {
        "stage": "soak",
        "title": "Soak",
        "machine": _machine(),
        "seconds": seconds,
        "rounds": len(memory),
        "first_megabytes": memory[0] / 1e6,
        "middle_megabytes": later[0] / 1e6,
        "last_megabytes": memory[-1] / 1e6,
        "highest_megabytes": max(memory) / 1e6,
        "slope_bytes_a_round": slope(later),
        "slope_megabytes_an_hour": slope(later) * len(memory) / seconds * 3600 / 1e6,
    }
    result["section"] = (
        f"{seconds / 60:.0f} minutes of learning, encoding, decoding, export and import in one "
        f"process (`benchmarks/soak.py`), {len(memory):,} rounds, other text in each: "
        f"{later[0] / 1e6:,.1f} MB resident half-way, {memory[-1] / 1e6:,.1f} MB at the end, "
        f"{max(memory) / 1e6:,.1f} MB at most. The slope over the second half is "
        f"{result['slope_bytes_a_round']:+,.0f} bytes a round."
    )
    for key, value in result.items():
        print(f"{key}: {value}", file=sys.stderr)
    if arguments.output:
        _save(result, arguments.output)
    else:
        print(result["slope_bytes_a_round"])


if __name__ == "__main__":
    main()
