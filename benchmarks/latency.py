"""Benchmark of small calls: how long a tokenizer of 32,000 tokens takes to load, and how long one
short sentence takes from Python.

    python benchmarks/latency.py --text FILE... -o benchmarks/results/latency.json

The vocabularies are those of `encode.py`. After the load 100,000 sentences, lines of the text of 40
to 120 characters, are encoded one call after the other, each into a list of ids; then the same
sentences again, which some tokenizers remember. The last column has the figures of the last run.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from encode import main_with_models
from measure import Contender, Stage


def volt_latency(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import volt

    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice((s.strip() for s in stream if 40 <= len(s) <= 120), 100_000))
    started = time.perf_counter()
    tokenizer = volt.load(f"{os.environ['VOLT_BENCHMARK_MODELS']}/byte-level")
    loaded = time.perf_counter()
    passes = []
    for _ in range(2):
        began = time.perf_counter()
        ids = sum(len(tokenizer.encode(line)) for line in lines)
        passes.append(time.perf_counter() - began)
    facts = {"us to load": round((loaded - started) * 1e6), "ids": ids}
    first, again = (round(seconds / len(lines) * 1e9) for seconds in passes)
    facts |= {"ns a sentence": first, "ns the second time": again}
    return time.perf_counter() - started, facts


def tokenizers_latency(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    from tokenizers import Tokenizer

    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice((s.strip() for s in stream if 40 <= len(s) <= 120), 100_000))
    started = time.perf_counter()
    tokenizer = Tokenizer.from_file(f"{os.environ['VOLT_BENCHMARK_MODELS']}/hf/tokenizer.json")
    loaded = time.perf_counter()
    passes = []
    for _ in range(2):
        began = time.perf_counter()
        ids = sum(len(tokenizer.encode(line, add_special_tokens=False).ids) for line in lines)
        passes.append(time.perf_counter() - began)
    facts = {"us to load": round((loaded - started) * 1e6), "ids": ids}
    first, again = (round(seconds / len(lines) * 1e9) for seconds in passes)
    facts |= {"ns a sentence": first, "ns the second time": again}
    return time.perf_counter() - started, facts


def tiktoken_latency(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import json
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import tiktoken
    import tiktoken.load

    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice((s.strip() for s in stream if 40 <= len(s) <= 120), 100_000))
    started = time.perf_counter()
    path = f"{os.environ['VOLT_BENCHMARK_MODELS']}/tiktoken"
    settings = json.loads(Path(path + ".json").read_text(encoding="utf-8"))
    ranks = tiktoken.load.load_tiktoken_bpe(path)
    encoding = tiktoken.Encoding("volt", mergeable_ranks=ranks, **settings)
    loaded = time.perf_counter()
    passes = []
    for _ in range(2):
        began = time.perf_counter()
        ids = sum(len(encoding.encode_ordinary(line)) for line in lines)
        passes.append(time.perf_counter() - began)
    facts = {"us to load": round((loaded - started) * 1e6), "ids": ids}
    first, again = (round(seconds / len(lines) * 1e9) for seconds in passes)
    facts |= {"ns a sentence": first, "ns the second time": again}
    return time.perf_counter() - started, facts


def gigatoken_latency(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import gigatoken

    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice((s.strip() for s in stream if 40 <= len(s) <= 120), 100_000))
    started = time.perf_counter()
    tokenizer = gigatoken.Tokenizer(f"{os.environ['VOLT_BENCHMARK_MODELS']}/hf/tokenizer.json")
    loaded = time.perf_counter()
    passes = []
    for _ in range(2):
        began = time.perf_counter()
        ids = sum(len(tokenizer.encode(line)) for line in lines)
        passes.append(time.perf_counter() - began)
    facts = {"us to load": round((loaded - started) * 1e6), "ids": ids}
    first, again = (round(seconds / len(lines) * 1e9) for seconds in passes)
    facts |= {"ns a sentence": first, "ns the second time": again}
    return time.perf_counter() - started, facts


def tokie_latency(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import tokie

    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice((s.strip() for s in stream if 40 <= len(s) <= 120), 100_000))
    models = os.environ["VOLT_BENCHMARK_MODELS"]
    started = time.perf_counter()
    tokenizer = tokie.Tokenizer.from_json(f"{models}/hf/tokenizer.json")
    loaded = time.perf_counter()
    passes = []
    for _ in range(2):
        began = time.perf_counter()
        ids = sum(len(list(tokenizer.encode(line).ids)) for line in lines)
        passes.append(time.perf_counter() - began)
    facts = {"us to load": round((loaded - started) * 1e6), "ids": ids}
    first, again = (round(seconds / len(lines) * 1e9) for seconds in passes)
    facts |= {"ns a sentence": first, "ns the second time": again}
    return time.perf_counter() - started, facts


def sentencepiece_latency(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import sentencepiece

    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice((s.strip() for s in stream if 40 <= len(s) <= 120), 100_000))
    started = time.perf_counter()
    processor = sentencepiece.SentencePieceProcessor(
        model_file=f"{os.environ['VOLT_BENCHMARK_MODELS']}/sentencepiece.model"
    )
    loaded = time.perf_counter()
    passes = []
    for _ in range(2):
        began = time.perf_counter()
        ids = sum(len(processor.encode(line)) for line in lines)
        passes.append(time.perf_counter() - began)
    facts = {"us to load": round((loaded - started) * 1e6), "ids": ids}
    first, again = (round(seconds / len(lines) * 1e9) for seconds in passes)
    facts |= {"ns a sentence": first, "ns the second time": again}
    return time.perf_counter() - started, facts


def subword_nmt_latency(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    from subword_nmt.apply_bpe import BPE

    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice((s.strip() for s in stream if 40 <= len(s) <= 120), 100_000))
    started = time.perf_counter()
    with Path(os.environ["VOLT_BENCHMARK_MODELS"], "subword-nmt").open(encoding="utf-8") as codes:
        bpe = BPE(codes)
    loaded = time.perf_counter()
    passes = []
    for _ in range(2):
        began = time.perf_counter()
        ids = sum(len(bpe.process_line(line).split()) for line in lines)
        passes.append(time.perf_counter() - began)
    facts = {"us to load": round((loaded - started) * 1e6), "ids": ids}
    first, again = (round(seconds / len(lines) * 1e9) for seconds in passes)
    facts |= {"ns a sentence": first, "ns the second time": again}
    return time.perf_counter() - started, facts


STAGE = Stage(
    name="latency",
    title="One sentence at a time",
    contenders=(
        Contender("volt", "volt-vocab", "`volt.load`, `tok.encode`", volt_latency),
        Contender("tokenizers", "tokenizers", "`from_file`, `encode(...).ids`", tokenizers_latency),
        Contender("tiktoken", "tiktoken", "`Encoding`, `encode_ordinary`", tiktoken_latency),
        Contender("gigatoken", "gigatoken", "`Tokenizer`, `encode`", gigatoken_latency),
        Contender("tokie", "tokie", "`from_json`, `encode(...).ids`", tokie_latency),
        Contender(
            "sentencepiece",
            "sentencepiece",
            "`SentencePieceProcessor`, `encode`",
            sentencepiece_latency,
        ),
        Contender(
            "subword-nmt",
            "subword-nmt",
            "`BPE`, `process_line`: tokens, not ids",
            subword_nmt_latency,
        ),
    ),
    requirements=(),
)

if __name__ == "__main__":
    sys.exit(main_with_models(STAGE))
