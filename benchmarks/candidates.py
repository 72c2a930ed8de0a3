"""Benchmark of the second stage: text to BPE candidates and the exact curve of every size.

    python benchmarks/candidates.py --text FILE... -o benchmarks/results/candidates.json

`volt` counts the words, makes 100,000 merges and scores every size; the trainers count and make
a vocabulary of 32,000, a third of the merges and no curve. All start from the same text file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from measure import Contender, Gate, Requirement, Stage, main


def volt_function(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import volt

    started = time.perf_counter()
    counts = volt.count([text], pretokenizer="whitespace", threads=threads)
    result = volt.candidates(counts, merges=100_000, threads=threads)
    _ = result.curve  # part of the work, even if it should be made when asked for
    return time.perf_counter() - started, {}


def tokenizers_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.trainers import BpeTrainer

    started = time.perf_counter()
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.train([text], BpeTrainer(vocab_size=32_000, show_progress=False))
    tokenizer.save(output)
    seconds = time.perf_counter() - started
    return seconds, {"tokens": tokenizer.get_vocab_size()}


def gigatoken_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import gigatoken

    started = time.perf_counter()
    source = gigatoken.TextFileSource([text], separator=b"\n")
    vocabulary, _ = gigatoken.train_bpe(source, 32_000, [])
    seconds = time.perf_counter() - started
    return seconds, {"tokens": len(vocabulary)}


def youtokentome_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import youtokentome

    started = time.perf_counter()
    model = youtokentome.BPE.train(
        data=text, model=output, vocab_size=32_000, coverage=1.0, n_threads=threads
    )
    seconds = time.perf_counter() - started
    return seconds, {"tokens": model.vocab_size()}


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
        normalization_rule_name="identity",
        # Whitespace is the only place where words end.
        split_by_unicode_script=False,
        split_by_number=False,
        # All sentences, however long, in their order. The longest piece stays at 16 characters,
        # the default: 64 took a few per cent longer.
        input_sentence_size=0,
        shuffle_input_sentence=False,
        max_sentence_length=1 << 30,
        num_threads=threads,
        minloglevel=1,
    )
    seconds = time.perf_counter() - started
    processor = sentencepiece.SentencePieceProcessor(model_file=output + ".model")
    return seconds, {"tokens": processor.vocab_size()}


def rustbpe_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    from pathlib import Path

    import rustbpe

    started = time.perf_counter()
    tokenizer = rustbpe.Tokenizer()
    with Path(text).open(encoding="utf-8", newline="\n") as lines:
        tokenizer.train_from_iterator(lines, 32_000)
    seconds = time.perf_counter() - started
    return seconds, {"tokens": tokenizer.vocab_size}


def bpeasy_bpe(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    from pathlib import Path

    import bpeasy

    started = time.perf_counter()
    with Path(text).open(encoding="utf-8", newline="\n") as lines:
        vocabulary = bpeasy.train_bpe(lines, r"\s*\S+", 128, 32_000)
    seconds = time.perf_counter() - started
    return seconds, {"tokens": len(vocabulary)}


def same_merges(sample: Path) -> str:
    """The slow twin makes the same merges, and so do one thread and two."""
    import volt
    from volt.reference.merges import bpe

    counts = volt.count([sample], pretokenizer="whitespace")
    found = [volt.candidates(counts, merges=300, threads=threads) for threads in (1, 2)]
    if found[0].tokens != found[1].tokens:
        return "the number of threads changes the merges"
    words = dict(zip(counts.words, counts.counts.tolist(), strict=True))
    slow = [left + right for left, right in bpe(words, "whitespace", 300).merges]
    fast = found[0].tokens[found[0].alphabet_size :]
    return "" if fast == slow else "the native merges differ from those of the slow twin"


STAGE = Stage(
    name="candidates",
    title="Candidates and the curve of every size",
    contenders=(
        Contender(
            name="volt",
            distribution="volt-vocab",
            includes="the command `volt candidates`: start, imports, counting, 100,000 merges, the "
            "curve of every size, the candidates file written",
            work=(
                "volt",
                *("candidates", "{text}", "--pretokenizer", "whitespace", "-n", "100000"),
                *("--threads", "{threads}", "-o", "{output}"),
            ),
        ),
        Contender(
            name="volt-api",
            distribution="volt-vocab",
            includes="the same from Python: `volt.count`, `volt.candidates`, `.curve`; nothing "
            "written",
            work=volt_function,
        ),
        Contender(
            name="tokenizers",
            distribution="tokenizers",
            includes="`BpeTrainer` with `WhitespaceSplit`, 32,000 tokens, saved",
            work=tokenizers_bpe,
        ),
        Contender(
            name="gigatoken",
            distribution="gigatoken",
            includes="`train_bpe`, 32,000 tokens over bytes, lines as documents; its words are "
            "those of GPT-2, the only ones it has, fewer types than whitespace gives; nothing "
            "written",
            work=gigatoken_bpe,
        ),
        Contender(
            name="youtokentome",
            distribution="youtokentome",
            includes="`BPE.train`, 32,000 tokens, coverage 1, model written and loaded again",
            work=youtokentome_bpe,
        ),
        Contender(
            name="sentencepiece",
            distribution="sentencepiece",
            includes="BPE, 32,000 pieces, all sentences, coverage 1, no normalization, words "
            "split at whitespace only, model written",
            work=sentencepiece_bpe,
        ),
        Contender(
            name="rustbpe",
            distribution="rustbpe",
            includes="`train_from_iterator` over lines, 32,000 tokens, the pattern of GPT-4; "
            "nothing written",
            work=rustbpe_bpe,
        ),
        Contender(
            name="bpeasy",
            distribution="bpeasy",
            includes="`train_bpe` over lines, 32,000 tokens, cut at white space; nothing written",
            work=bpeasy_bpe,
        ),
    ),
    requirements=(
        Requirement(peers=("tokenizers",), measure="wall_seconds", at_least=25),
        Requirement(peers=("tokenizers",), measure="cpu_seconds", at_least=25),
        Requirement(peers=("tokenizers",), measure="peak_megabytes", at_least=2),
        *(Requirement(("gigatoken", "youtokentome", "rustbpe", "bpeasy", "sentencepiece"), one, 3)
          for one in ("wall_seconds", "cpu_seconds")),
    ),
    gates=(Gate("the merges are those of the slow twin, on one thread and on two", same_merges),),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(STAGE))
