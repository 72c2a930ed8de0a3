"""Benchmark of much text in many scripts: a byte-level vocabulary of 128,000.

    python benchmarks/generate.py --megabytes 2000 -o text.txt
    python benchmarks/large.py --text text.txt --runs 1 -o benchmarks/results/large.json

The text is made, since the corpora at hand are smaller: twelve languages, about 6 million word
types. `volt` reads it as one document, learns the 128,000, measures the quality curve and writes
the report. The peers make a vocabulary of that size and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from measure import Contender, Requirement, Stage, main


def tokens_written(output: Path) -> Mapping[str, int]:
    return {"tokens": json.loads((output / "choices.json").read_text(encoding="utf-8"))["size"]}


def tokenizers_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer

    started = time.perf_counter()
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    alphabet = ByteLevel.alphabet()
    trainer = BpeTrainer(vocab_size=128_000, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train([text], trainer)
    tokenizer.save(output)
    seconds = time.perf_counter() - started
    return seconds, {"tokens": tokenizer.get_vocab_size()}


def gigatoken_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import gigatoken

    started = time.perf_counter()
    source = gigatoken.TextFileSource([text], separator=b"\n")
    vocabulary, _ = gigatoken.train_bpe(source, 128_000, [])
    seconds = time.perf_counter() - started
    return seconds, {"tokens": len(vocabulary)}


LEARN = ("--pretokenizer", "byte-level", "--size", "128000", "--candidates", "bpe:128000")

STAGE = Stage(
    name="large",
    title="Much text, a large vocabulary",
    contenders=(
        Contender(
            name="volt",
            distribution="volt-vocab",
            includes="`volt learn --pretokenizer byte-level --size 128000`: documents, with the "
            "quality curve, transport, all criteria and the report",
            work=("volt", "learn", "{text}", *LEARN, "--threads", "{threads}", "-o", "{output}"),
            read=tokens_written,
        ),
        Contender(
            name="volt-candidates",
            distribution="volt-vocab",
            includes="`volt candidates -n 128000 --pretokenizer byte-level`: the BPE run alone, "
            "with the curve of every size",
            work=(
                "volt",
                *("candidates", "{text}", "--pretokenizer", "byte-level", "-n", "128000"),
                *("--threads", "{threads}", "-o", "{output}"),
            ),
        ),
        Contender(
            name="tokenizers",
            distribution="tokenizers",
            includes="`BpeTrainer` with `ByteLevel`, 128,000 tokens, saved",
            work=tokenizers_bpe,
            once=True,
        ),
        Contender(
            name="gigatoken",
            distribution="gigatoken",
            includes="`train_bpe`, 128,000 tokens, lines as documents; nothing written",
            work=gigatoken_bpe,
            once=True,
        ),
    ),
    requirements=(
        *(Requirement(("tokenizers",), measure, at_least, of=of)
          for of in ("volt", "volt-candidates")
          for measure, at_least in (("wall_seconds", 20), ("cpu_seconds", 20),
                                    ("peak_megabytes", 4))),
    ),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(STAGE))
