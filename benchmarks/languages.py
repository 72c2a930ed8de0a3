"""Benchmark of many languages: `volt learn --multilingual` beside trainers of one size.

    python benchmarks/languages.py --text libreoffice20/train.* -o benchmarks/results/languages.json

`volt` counts each language, balances them, and makes a vocabulary of 60,000, as the peers do of the
same lines in one file. `volt-chooses` is the paper's setting, the size chosen among S = 40K, 50K,
..., 160K, which no peer does; `volt-candidates` is the BPE run alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from measure import MEGABYTE, Contender, Requirement, Stage, main

LEARN = ("--multilingual", "--temperature", "5")


def languages_written(output: Path) -> Mapping[str, int]:
    chosen = json.loads((output / "choices.json").read_text(encoding="utf-8"))
    return {
        "tokens": chosen["size"],
        "sizes": len(chosen["steps"]),
        "languages": len(chosen["languages"]["rows"]),
    }


def tokenizers_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import Metaspace
    from tokenizers.trainers import BpeTrainer

    started = time.perf_counter()
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.train([text], BpeTrainer(vocab_size=60_000, show_progress=False))
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
    tokenizer.train([text], BpeTrainer(vocab_size=60_000, show_progress=False))
    tokenizer.save(output)
    seconds = time.perf_counter() - started
    return seconds, {"tokens": tokenizer.get_vocab_size()}


def sentencepiece_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import sentencepiece

    started = time.perf_counter()
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=output, model_type="bpe", vocab_size=60_000,
        character_coverage=0.9995, byte_fallback=True, normalization_rule_name="identity",
        input_sentence_size=0, shuffle_input_sentence=False, max_sentence_length=1 << 30,
        num_threads=threads, minloglevel=1,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    processor = sentencepiece.SentencePieceProcessor(model_file=output + ".model")
    return seconds, {"tokens": processor.vocab_size()}


def sentencepiece_unigram(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import sentencepiece

    started = time.perf_counter()
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=output, model_type="unigram", vocab_size=60_000,
        character_coverage=0.9995, byte_fallback=True, normalization_rule_name="identity",
        input_sentence_size=0, shuffle_input_sentence=False, max_sentence_length=1 << 30,
        num_threads=threads, minloglevel=1,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    processor = sentencepiece.SentencePieceProcessor(model_file=output + ".model")
    return seconds, {"tokens": processor.vocab_size()}


def stage(files: list[str]) -> Stage:
    """The peers read all languages from one file; volt is told which file is which language."""
    return Stage(
        name="languages",
        title="Many languages",
        contenders=(
            Contender(
                name="volt",
                distribution="volt-vocab",
                includes="`volt learn --multilingual --temperature 5 --size 60000`: a vocabulary "
                "of the size the peers make, with the quality curve of every language, measured on "
                "each; transport at two small sizes only, no report",
                work=("volt", "learn", *LEARN, *files, "--size", "60000", "--sizes", "5000,6000",
                      "--candidates", "bpe:60000", "--no-report",
                      "--threads", "{threads}", "-o", "{output}"),
                read=languages_written,
            ),
            Contender(
                name="volt-chooses",
                distribution="volt-vocab",
                includes="the whole job: up to 300,000 candidates, transport at S = 40K, 50K, "
                "..., 160K, all criteria, the vocabulary measured on each language; no report",
                work=("volt", "learn", *LEARN, *files, "--no-report", "--threads", "{threads}",
                      "-o", "{output}"),
                read=languages_written,
            ),
            Contender(
                name="volt-candidates",
                distribution="volt-vocab",
                includes="`volt candidates -n 60000` on the one file: what the peers do, that is "
                "one BPE run without a quality curve, and the curve of every size",
                work=("volt", "candidates", "{text}", "-n", "60000", "--threads", "{threads}",
                      "-o", "{output}"),
            ),
            Contender(
                name="tokenizers",
                distribution="tokenizers",
                includes="`BpeTrainer` with `Metaspace`, 60,000 tokens, saved",
                work=tokenizers_bpe,
            ),
            Contender(
                name="tokenizers-words",
                distribution="tokenizers",
                includes="the same with `Metaspace`, `Punctuation` and `Digits`, which cut text "
                "into nearly the words that volt counts",
                work=tokenizers_words,
            ),
            Contender(
                name="sentencepiece",
                distribution="sentencepiece",
                includes="BPE, 60,000 pieces, all sentences, coverage 0.9995, no normalization, "
                "byte fallback, model written",
                work=sentencepiece_bpe,
                once=True,
            ),
            Contender(
                name="sentencepiece-unigram",
                distribution="sentencepiece",
                includes="the same with Unigram, its default",
                work=sentencepiece_unigram,
                once=True,
            ),
        ),
        requirements=(
            *(Requirement(peers, measure, 5, 20 * MEGABYTE, of)
              for peers in (("tokenizers", "tokenizers-words"),
                            ("sentencepiece", "sentencepiece-unigram"))
              for of in ("volt", "volt-candidates")
              for measure in ("wall_seconds", "cpu_seconds")),
        ),
    )  # fmt: skip


if __name__ == "__main__":
    named = sys.argv[sys.argv.index("--text") + 1 :] if "--text" in sys.argv else []
    ends = next((i for i, name in enumerate(named) if name.startswith("-")), len(named))
    sys.exit(main(stage([str(Path(name).resolve()) for name in named[:ends]])))
