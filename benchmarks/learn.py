"""Benchmark of the whole job: `volt learn`, from text to a vocabulary with its size chosen.

    python benchmarks/learn.py --text FILE... -o benchmarks/results/learn.json

`volt`, with its defaults, counts, makes 100,000 candidates, measures held-out quality over sizes,
solves transport at the sizes of S, computes every criterion and writes the result. The trainers
make one BPE vocabulary of 32,000, whose size nobody chose. All start from the same text file.

Two more contenders are volt itself: `volt-stages` says where its time goes, `volt-scaling` how it
grows with the text, and what that makes for 4.5M pairs (9M lines), the paper's corpus.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from measure import Contender, Gate, Requirement, Stage, main


def tokens_written(output: Path) -> Mapping[str, int]:
    chosen = json.loads((output / "choices.json").read_text(encoding="utf-8"))
    return {"tokens": chosen["size"], "steps": len(chosen["steps"])}


def tokenizers_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import Metaspace
    from tokenizers.trainers import BpeTrainer

    started = time.perf_counter()
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.train([text], BpeTrainer(vocab_size=32_000, show_progress=False))
    tokenizer.save(output)
    seconds = time.perf_counter() - started
    return seconds, {"tokens": tokenizer.get_vocab_size()}


def tokenizers_words(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import Digits, Metaspace, Punctuation, Sequence
    from tokenizers.trainers import BpeTrainer

    started = time.perf_counter()
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = Sequence([Metaspace(), Punctuation("contiguous"), Digits()])
    tokenizer.train([text], BpeTrainer(vocab_size=32_000, show_progress=False))
    tokenizer.save(output)
    seconds = time.perf_counter() - started
    return seconds, {"tokens": tokenizer.get_vocab_size()}


def sentencepiece_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import sentencepiece

    started = time.perf_counter()
    sentencepiece.SentencePieceTrainer.train(
        input=text,
        model_prefix=output,
        model_type="bpe",
        vocab_size=32_000,
        character_coverage=1.0,
        byte_fallback=True,
        normalization_rule_name="identity",
        # All sentences, however long, in their order.
        input_sentence_size=0,
        shuffle_input_sentence=False,
        max_sentence_length=1 << 30,
        num_threads=threads,
        minloglevel=1,
    )
    seconds = time.perf_counter() - started
    processor = sentencepiece.SentencePieceProcessor(model_file=output + ".model")
    return seconds, {"tokens": processor.vocab_size()}


def volt_stages(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    from collections.abc import Iterator
    from contextlib import contextmanager

    import volt
    from volt.base.progress import Progress, Report

    begin: dict[str, float] = {}
    end: dict[str, float] = {}

    class Clock(Progress):
        @contextmanager
        def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Report]:
            begin[name] = time.perf_counter()
            yield lambda done, note="": None
            end[name] = time.perf_counter()

    from volt import pipeline

    build = pipeline.build_tokenizer

    def timed_build(*arguments, **options):
        begin["Vocabulary"] = time.perf_counter()
        return build(*arguments, **options)

    pipeline.build_tokenizer = timed_build
    started = time.perf_counter()
    result = volt.learn([text], threads=threads, progress=Clock())
    result.save(output)
    finished = time.perf_counter()

    total = finished - started
    counting = end["Counting words"] - started
    merging = end["Merging"] - end["Counting words"]
    quality = end["Quality"] - begin["Quality"]
    criteria = begin["Vocabulary"] - end["Merging"] - quality
    vocabulary = finished - begin["Vocabulary"]
    parts = {
        "counting": counting,
        "merging": merging,
        "quality, with transport beside it": quality,
        "curve and criteria": criteria,
        "vocabulary, measured and written": vocabulary,
    }
    facts = {f"ms {name}": round(1000 * seconds) for name, seconds in parts.items()}
    facts["% in quality (at most 50 required)"] = round(100 * quality / total)
    return total, facts


def volt_scaling(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import os
    import shutil
    import statistics
    import subprocess
    import sys
    import sysconfig
    import time
    from pathlib import Path

    started = time.perf_counter()
    path = Path(text)
    parts: list[tuple[int, Path]] = []
    lines = 0
    with path.open("rb") as source:
        for eighths in (1, 2, 4, 8):
            # Each part goes on where the one before ended, so lines are counted once.
            part = path if eighths == 8 else Path(f"{output}.{eighths}")
            if eighths < 8 and parts:
                shutil.copyfile(parts[-1][1], part)
            with Path(os.devnull if eighths == 8 else part).open("ab") as target:
                limit = path.stat().st_size * eighths // 8
                while source.tell() < limit and (line := source.readline()):
                    target.write(line)
                    lines += 1
            parts.append((lines, part))

    volt = str(Path(sysconfig.get_path("scripts")) / "volt")
    taken: dict[int, list[float]] = {number: [] for number, _ in parts}
    for _ in range(3):
        for number, part in parts:
            folder = f"{output}.out"
            begin = time.perf_counter()
            subprocess.run(
                [
                    sys.executable,
                    volt,
                    "learn",
                    part,
                    "-o",
                    folder,
                    "-q",
                    "--threads",
                    str(threads),
                ],
                check=True,
            )
            taken[number].append(time.perf_counter() - begin)
            shutil.rmtree(folder)
    medians = {number: statistics.median(seconds) for number, seconds in taken.items()}

    # t = a + b n, by least squares. Counting grows with the text, merging only with its word types,
    # more slowly: a straight line is above what longer texts would take.
    line = statistics.linear_regression(list(medians), list(medians.values()))
    facts = {f"ms for {number:,} lines": round(1000 * t) for number, t in medians.items()}
    paper = line.intercept + line.slope * 9_000_000
    facts["s for 4.5M pairs (9M lines) by t = a + b n, extrapolated"] = round(paper)
    return time.perf_counter() - started, facts


def same_result(sample: Path) -> str:
    """One thread and two write the same bytes."""
    import volt

    folders = [sample.with_name(f"threads-{threads}") for threads in (1, 2)]
    for threads, folder in enumerate(folders, 1):
        volt.learn([sample], threads=threads, splits=1).save(folder)
    for path in sorted(folders[0].iterdir()):
        if path.read_bytes() != (folders[1] / path.name).read_bytes():
            return f"{path.name} depends on the number of threads"
    return ""


STAGE = Stage(
    name="learn",
    title="From text to a vocabulary with its size chosen",
    contenders=(
        Contender(
            name="volt",
            distribution="volt-vocab",
            includes="the command `volt learn`: start, imports, counting, 100,000 candidates, "
            "the quality curve, transport at the sizes of S, all criteria, the vocabulary measured "
            "by encoding, the report",
            work=("volt", "learn", "{text}", "--threads", "{threads}", "-o", "{output}"),
            read=tokens_written,
        ),
        Contender(
            name="volt-count",
            distribution="volt-vocab",
            includes="the command `volt count`: counting alone, with the counts file written",
            work=("volt", "count", "{text}", "--threads", "{threads}", "-o", "{output}"),
        ),
        Contender(
            name="tokenizers",
            distribution="tokenizers",
            includes="`BpeTrainer` with `Metaspace`, 32,000 tokens, saved",
            work=tokenizers_bpe,
        ),
        Contender(
            name="tokenizers-words",
            distribution="tokenizers",
            includes="the same with `Metaspace`, `Punctuation` and `Digits`, which cut text into "
            "nearly the words that volt counts",
            work=tokenizers_words,
        ),
        Contender(
            name="sentencepiece",
            distribution="sentencepiece",
            includes="BPE, 32,000 pieces, all sentences, coverage 1, no normalization, byte "
            "fallback, model written",
            work=sentencepiece_bpe,
        ),
        Contender(
            name="volt-stages",
            distribution="volt-vocab",
            includes="the same work as `volt` from Python: where the time goes (after import)",
            work=volt_stages,
        ),
        Contender(
            name="volt-scaling",
            distribution="volt-vocab",
            includes="`volt learn` on 1/8, 1/4, 1/2 and all of the text, three times in turn, "
            "medians; and what the fit makes for 4.5M pairs",
            work=volt_scaling,
            once=True,
        ),
    ),
    requirements=(
        Requirement(peers=("tokenizers", "tokenizers-words"), measure="wall_seconds", at_least=15),
        Requirement(peers=("tokenizers", "tokenizers-words"), measure="cpu_seconds", at_least=15),
        Requirement(peers=("volt-count",), measure="wall_seconds", at_least=1 / 3),
        Requirement(peers=("volt-count",), measure="cpu_seconds", at_least=1 / 3),
        Requirement(peers=("sentencepiece",), measure="wall_seconds", at_least=6),
    ),
    gates=(Gate("one thread and two write the same bytes", same_result),),
)

if __name__ == "__main__":
    sys.exit(main(STAGE))
