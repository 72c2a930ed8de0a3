"""Benchmark of encoding: a text file in, ids out, line by line.

    python benchmarks/encode.py --text FILE... -o benchmarks/results/encode.json

A vocabulary of 32,000 tokens is learned from the text for each pre-tokenizer, outside the clock,
and written as each peer reads it. A peer encodes with the vocabulary of its own kind: `tokenizers`,
`tiktoken`, `gigatoken` and `tokie` that of `volt` (byte-level), `sentencepiece` that of
`volt-metaspace`, `subword-nmt` that of `volt-whitespace`. All start from the file and end with the
ids of every line; the number of ids is in the last column.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from measure import Contender, Gate, Requirement, Stage, main

MODELS = "VOLT_BENCHMARK_MODELS"  # the variable that names the folder of the vocabularies
SIZE = 32_000


def volt_byte_level(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time

    import volt

    started = time.perf_counter()
    tokenizer = volt.load(f"{os.environ['VOLT_BENCHMARK_MODELS']}/byte-level", threads=threads)
    loaded = time.perf_counter()
    ids, offsets = tokenizer.encode_file(text, unit="line")
    ended = time.perf_counter()
    facts = {"ids": len(ids), "lines": len(offsets) - 1}
    return ended - started, facts | {"ms to load": round((loaded - started) * 1000)}


def volt_metaspace(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time

    import volt

    started = time.perf_counter()
    tokenizer = volt.load(f"{os.environ['VOLT_BENCHMARK_MODELS']}/metaspace", threads=threads)
    loaded = time.perf_counter()
    ids, offsets = tokenizer.encode_file(text, unit="line")
    ended = time.perf_counter()
    facts = {"ids": len(ids), "lines": len(offsets) - 1}
    return ended - started, facts | {"ms to load": round((loaded - started) * 1000)}


def volt_whitespace(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time

    import volt

    started = time.perf_counter()
    tokenizer = volt.load(f"{os.environ['VOLT_BENCHMARK_MODELS']}/whitespace", threads=threads)
    loaded = time.perf_counter()
    ids, offsets = tokenizer.encode_file(text, unit="line")
    ended = time.perf_counter()
    facts = {"ids": len(ids), "lines": len(offsets) - 1}
    return ended - started, facts | {"ms to load": round((loaded - started) * 1000)}


def tokenizers_batch(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import numpy
    from tokenizers import Tokenizer

    started = time.perf_counter()
    tokenizer = Tokenizer.from_file(f"{os.environ['VOLT_BENCHMARK_MODELS']}/hf/tokenizer.json")
    parts = []
    lines = 0
    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        while batch := [line.removesuffix("\n") for line in islice(stream, 10_000)]:
            lines += len(batch)
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                parts.append(numpy.array(encoding.ids, numpy.uint32))
    ids = numpy.concatenate(parts)
    return time.perf_counter() - started, {"ids": len(ids), "lines": lines}


def tiktoken_batch(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import json
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import numpy
    import tiktoken
    import tiktoken.load

    started = time.perf_counter()
    path = f"{os.environ['VOLT_BENCHMARK_MODELS']}/tiktoken"
    settings = json.loads(Path(path + ".json").read_text(encoding="utf-8"))
    ranks = tiktoken.load.load_tiktoken_bpe(path)
    encoding = tiktoken.Encoding("volt", mergeable_ranks=ranks, **settings)
    parts = []
    lines = 0
    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        while batch := [line.removesuffix("\n") for line in islice(stream, 10_000)]:
            lines += len(batch)
            for ids in encoding.encode_ordinary_batch(batch, num_threads=threads):
                parts.append(numpy.array(ids, numpy.uint32))
    ids = numpy.concatenate(parts)
    return time.perf_counter() - started, {"ids": len(ids), "lines": lines}


def gigatoken_files(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time

    import gigatoken
    import numpy

    started = time.perf_counter()
    tokenizer = gigatoken.Tokenizer(f"{os.environ['VOLT_BENCHMARK_MODELS']}/hf/tokenizer.json")
    encoded = tokenizer.encode_files(gigatoken.TextFileSource([text], separator=b"\n"))
    lengths = encoded.layout.offsets.data
    ids = numpy.asarray(encoded.layout.content.data)
    return time.perf_counter() - started, {"ids": len(ids), "lines": len(lengths) - 1}


def tokie_files(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time

    import tokie

    started = time.perf_counter()
    tokenizer = tokie.Tokenizer.from_json(
        f"{os.environ['VOLT_BENCHMARK_MODELS']}/hf/tokenizer.json"
    )
    ids, offsets = tokenizer.encode_files([text], separator=b"\n")
    return time.perf_counter() - started, {"ids": len(ids), "lines": len(offsets) - 1}


def sentencepiece_batch(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from itertools import islice
    from pathlib import Path

    import numpy
    import sentencepiece

    started = time.perf_counter()
    processor = sentencepiece.SentencePieceProcessor(
        model_file=f"{os.environ['VOLT_BENCHMARK_MODELS']}/sentencepiece.model"
    )
    parts = []
    lines = 0
    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        while batch := [line.removesuffix("\n") for line in islice(stream, 10_000)]:
            lines += len(batch)
            for ids in processor.encode(batch, num_threads=threads):
                parts.append(numpy.array(ids, numpy.uint32))
    ids = numpy.concatenate(parts)
    return time.perf_counter() - started, {"ids": len(ids), "lines": lines}


def subword_nmt_lines(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import time
    from pathlib import Path

    import numpy
    from subword_nmt.apply_bpe import BPE

    started = time.perf_counter()
    models = Path(os.environ["VOLT_BENCHMARK_MODELS"])
    with (models / "subword-nmt").open(encoding="utf-8") as codes:
        bpe = BPE(codes)
    with (models / "subword-nmt.vocab").open(encoding="utf-8", newline="\n") as listed:
        number = {line.rpartition(" ")[0]: i for i, line in enumerate(listed)}
    parts = []
    lines = 0
    with Path(text).open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            ids = [number.get(token, -1) for token in bpe.process_line(line).split()]
            parts.append(numpy.array(ids, numpy.int32))
            lines += 1
    ids = numpy.concatenate(parts)
    return time.perf_counter() - started, {"ids": len(ids), "lines": lines}


def _prepare_models(texts: list[Path], folder: Path) -> None:
    """Vocabularies of the same text, and each as `volt export` writes it for the peers."""
    import volt
    from volt.tokenizing.build import build_vocabulary

    exports = {
        "byte-level": ("hf", "tiktoken"),
        "metaspace": ("sentencepiece",),
        "whitespace": ("subword-nmt",),
    }
    for pretokenizer, formats in exports.items():
        found = volt.candidates([str(t) for t in texts], pretokenizer=pretokenizer, merges=SIZE)
        vocabulary = build_vocabulary(found, range(min(len(found), SIZE)))
        (folder / pretokenizer).mkdir()
        vocabulary.save(folder / pretokenizer / "volt.json")
        for form in formats:
            volt.export(vocabulary, form, folder / form, check=[str(texts[0])])


def same_ids(sample: Path) -> str:
    """What is wrong: every line of the sample must have the ids that the peers give it. A peer that
    is not installed is not asked."""
    import volt

    models = Path(os.environ[MODELS])
    lines = sample.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    expected: dict[str, tuple[str, list[list[int]]]] = {}
    with suppress(ImportError):
        from tokenizers import Tokenizer

        read = Tokenizer.from_file(str(models / "hf" / "tokenizer.json"))
        found = read.encode_batch_fast(lines, add_special_tokens=False)
        expected["tokenizers"] = ("byte-level", [one.ids for one in found])
    with suppress(ImportError):
        from sentencepiece import SentencePieceProcessor

        processor = SentencePieceProcessor(model_file=str(models / "sentencepiece.model"))
        expected["sentencepiece"] = ("metaspace", processor.encode(lines))
    with suppress(ImportError):
        import gigatoken

        other = gigatoken.Tokenizer(str(models / "hf" / "tokenizer.json"))
        expected["gigatoken"] = ("byte-level", [list(other.encode(line)) for line in lines])
    for peer, (pretokenizer, right) in expected.items():
        ids, offsets = volt.load(models / pretokenizer).encode_file(sample, unit="line")
        ours = [ids[start:end].tolist() for start, end in itertools.pairwise(offsets.tolist())]
        for number, (one, other_ids) in enumerate(zip(ours, right, strict=True), 1):
            if one != other_ids:
                return f"line {number} has other ids with {peer}"
    return ""


STAGE = Stage(
    name="encode",
    title="Encoding",
    contenders=(
        Contender(
            name="volt",
            distribution="volt-vocab",
            includes="`volt.load`, `encode_file`: a byte-level vocabulary, ids and offsets",
            work=volt_byte_level,
        ),
        Contender(
            name="volt-metaspace",
            distribution="volt-vocab",
            includes="the same with a metaspace vocabulary",
            work=volt_metaspace,
        ),
        Contender(
            name="volt-whitespace",
            distribution="volt-vocab",
            includes="the same with a whitespace vocabulary",
            work=volt_whitespace,
        ),
        Contender(
            name="tokenizers",
            distribution="tokenizers",
            includes="`encode_batch_fast` of 10,000 lines at a time, ids to NumPy; run once",
            work=tokenizers_batch,
            once=True,
        ),
        Contender(
            name="tiktoken",
            distribution="tiktoken",
            includes="`encode_ordinary_batch` of 10,000 lines at a time, ids to NumPy; run once",
            work=tiktoken_batch,
            once=True,
        ),
        Contender(
            name="gigatoken",
            distribution="gigatoken",
            includes="`encode_files`, lines as documents",
            work=gigatoken_files,
        ),
        Contender(
            name="tokie",
            distribution="tokie",
            includes="`encode_files`, lines as documents; it leaves empty lines out",
            work=tokie_files,
        ),
        Contender(
            name="sentencepiece",
            distribution="sentencepiece",
            includes="`encode` of 10,000 lines at a time, ids to NumPy; run once",
            work=sentencepiece_batch,
            once=True,
        ),
        Contender(
            name="subword-nmt",
            distribution="subword-nmt",
            includes="`BPE.process_line`, tokens looked up in its vocabulary, ids to NumPy; "
            "it has no threads; run once",
            work=subword_nmt_lines,
            once=True,
        ),
    ),
    requirements=(
        Requirement(peers=("tokenizers",), measure="wall_seconds", at_least=10),
        Requirement(
            peers=("sentencepiece",), measure="wall_seconds", at_least=5, of="volt-metaspace"
        ),
        Requirement(peers=("tiktoken",), measure="wall_seconds", at_least=5),
        Requirement(peers=("gigatoken", "tokie"), measure="wall_seconds", at_least=1.2),
        Requirement(
            peers=("subword-nmt",), measure="wall_seconds", at_least=100, of="volt-whitespace"
        ),
    ),
    gates=(Gate("volt gives every line the ids that its peers give it", same_ids),),
)


def main_with_models(stage: Stage) -> int:
    """`main`, after the vocabularies are learned from the text."""
    named = sys.argv[sys.argv.index("--text") + 1 :] if "--text" in sys.argv else []
    files = [Path(name) for name in itertools.takewhile(lambda name: Path(name).is_file(), named)]
    with tempfile.TemporaryDirectory(prefix="volt-bench-") as models:
        if files:
            # In a process of its own: the memory of this one is a floor for all that it starts.
            process = multiprocessing.get_context("spawn").Process(
                target=_prepare_models, args=(files, Path(models))
            )
            process.start()
            process.join()
            if process.exitcode:
                return process.exitcode
        os.environ[MODELS] = models
        return main(stage)


if __name__ == "__main__":
    sys.exit(main_with_models(STAGE))
