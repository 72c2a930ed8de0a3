"""Benchmark of tokens that are selected: how many tokens held-out text needs, and how many bits.

    python benchmarks/selection.py --data FOLDER -o benchmarks/results/selection.json

FOLDER contains `multi30k/train.en` and its like, packed (`.xz`) or not. Every contender chooses as
many tokens from the same words, cut by `metaspace`; a size is the alphabet and the tokens. Text is
`valid` and `test` of both languages. Contenders run one after the other, each in a process of its
own, with one thread.

The three baselines follow published work and are written for reading, not for speed: their seconds
say what these plain loops cost, not what their authors' programs do.

- PathPiece (Schmidt et al. 2024): the fewest tokens, and top-down pruning of BPE's candidates by
  what each one saves, a share of them at a time.
- GreedTok (Lim et al. 2025): tokens are taken one by one, each time the one that covers the most
  neighbours that are still apart.
- MinGram (2026): BPE as the seed, cuts of the fewest tokens with the most probable of them, counted
  again; one prune to the most used tokens.
"""

from __future__ import annotations

import argparse
import heapq
import json
import lzma
import math
import multiprocessing
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import volt
from volt import _core

CORPORA = {
    "multi30k": ("de", "en"),
    "tatoeba-tr-en": ("tr", "en"),
    "europarl-de-en": ("de", "en"),
}
DEFAULT_CORPORA = ("multi30k", "tatoeba-tr-en")
SIZES = (1000, 4000, 8000)
PRUNED = 0.3
"""Share of the tokens that PathPiece removes at a time."""

FACTS: dict[str, float] = {}
"""What a contender says besides."""

Cut = Callable[[str], list[str]]
Words = dict[str, int]


# -------------------------------------------------------------------------------------- contenders


def merges_of(words: Words) -> tuple[list[str], list[str]]:
    """The alphabet, and BPE's candidates in their order."""
    found = volt.candidates(counts_of(words), threads=1)
    return found.tokens[: found.alphabet_size], found.tokens[found.alphabet_size :]


def bpe(words: Words, size: int) -> Cut:
    alphabet, candidates = merges_of(words)
    kept = candidates[: size - len(alphabet)]
    rank = {text: number for number, text in enumerate(kept)}

    def cut(word: str) -> list[str]:
        parts = list(word)
        while len(parts) > 1:
            ranked = [
                (rank.get(parts[i] + parts[i + 1], math.inf), i) for i in range(len(parts) - 1)
            ]
            best, place = min(ranked)
            if best == math.inf:
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts

    return cut


def transport(words: Words, size: int) -> Cut:
    counts = counts_of(words)
    fixed = 260  # special and byte tokens
    result = volt.learn(counts, select="transport", size=size + fixed, threads=1)
    FACTS["above_bound"] = 1 / (1 - result.summary()["bound"]["gap"]) - 1
    scores = {
        token.text: token.score
        for token in result.vocabulary.tokens
        if token.kind in ("character", "piece")
    }
    return lambda word: best_cut(word, scores, -1e9)


def sentencepiece_unigram(words: Words, size: int) -> Cut:
    import io

    import sentencepiece

    from volt.proposing.sources.unigram import RESERVED

    lines = [f"{word}\t{count}" for word, count in words.items() if not set(word) & set(RESERVED)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        input_format="tsv", model_writer=model, model_type="unigram", vocab_size=size + 1,
        hard_vocab_limit=True, character_coverage=1.0, normalization_rule_name="identity",
        add_dummy_prefix=False, remove_extra_whitespaces=False, split_by_whitespace=False,
        split_by_unicode_script=False, split_by_number=False, allow_whitespace_only_pieces=True,
        bos_id=-1, eos_id=-1, num_threads=1, minloglevel=2,
    )  # fmt: skip
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return lambda word: split_unknown(trained.encode(word, out_type=str), trained, word)


def split_unknown(parts: list[str], trained: Any, word: str) -> list[str]:
    """SentencePiece makes one piece of a run of unknown characters; the others one of each."""
    found: list[str] = []
    for part in parts:
        found += [part] if not trained.is_unknown(trained.piece_to_id(part)) else list(part)
    return found if "".join(found) == word else list(word)


def path_piece(words: Words, size: int) -> Cut:
    alphabet, candidates = merges_of(words)
    kept = set(candidates)
    wanted = size - len(alphabet)
    while len(kept) > wanted:
        losses = dict.fromkeys(kept, 0)
        for word, count in words.items():
            for token, loss in path_losses(word, kept).items():
                losses[token] += count * loss
        number = min(len(kept) - wanted, max(1, int(len(kept) * PRUNED)))
        for token in sorted(kept, key=lambda one: (losses[one], one))[:number]:
            kept.remove(token)
    scores = dict.fromkeys([*alphabet, *kept], -1.0)
    return lambda word: best_cut(word, scores, -1.0)


def path_losses(word: str, kept: set[str]) -> dict[str, int]:
    """What the loss of each token on the shortest path would cost: the best path that avoids its
    place."""
    length = len(word)
    edges = [
        (i, j)
        for i in range(length)
        for j in range(i + 1, length + 1)
        if j == i + 1 or word[i:j] in kept
    ]
    start, end = [0] + [length] * length, [length] * length + [0]
    into: list[tuple[int, int]] = [(0, 0)] * (length + 1)
    for i, j in edges:
        if start[i] + 1 < start[j] or (j == i + 1 and start[i] + 1 <= start[j]):
            start[j], into[j] = start[i] + 1, (i, j)
    for i, j in reversed(edges):
        end[i] = min(end[i], end[j] + 1)
    found: dict[str, int] = {}
    at = length
    while at:
        begin, finish = into[at]
        if finish - begin > 1:
            around = min(
                start[i] + 1 + end[j]
                for i, j in edges
                if (i, j) != (begin, finish) and i < finish and j > begin
            )
            found[word[begin:finish]] = around - start[length]
        at = begin
    return found


def min_gram(words: Words, size: int) -> Cut:
    alphabet, candidates = merges_of(words)
    wanted = size - len(alphabet)
    seed = candidates[: 3 * wanted]
    uses: Counter[str] = Counter()
    scores = dict.fromkeys([*alphabet, *seed], -1000.0)
    for _ in range(3):
        uses = used(words, scores)
        scores = likely(scores, uses)
    kept = sorted(seed, key=lambda one: (-uses[one], one))[:wanted]
    scores = dict.fromkeys([*alphabet, *kept], -1000.0)
    for _ in range(2):
        scores = likely(scores, used(words, scores))
    return lambda word: best_cut(word, scores, -1e9)


def used(words: Words, scores: dict[str, float]) -> Counter[str]:
    uses: Counter[str] = Counter()
    for word, count in words.items():
        for token in best_cut(word, scores, -1e9):
            uses[token] += count
    return uses


def likely(scores: dict[str, float], uses: Counter[str]) -> dict[str, float]:
    """A thousand for each token, so that the fewest win, and the logarithm of its probability."""
    total = sum(uses.values())
    return {token: math.log(max(uses[token], 0.5) / total) - 1000 for token in scores}


def greed_tok(words: Words, size: int) -> Cut:
    alphabet, candidates = merges_of(words)
    listed, counts = list(words), list(words.values())
    inside = set(candidates)
    longest = max(map(len, candidates))
    places: dict[str, list[tuple[int, int]]] = {token: [] for token in candidates}
    for number, word in enumerate(listed):
        for i in range(len(word)):
            for j in range(i + 2, min(len(word), i + longest) + 1):
                if word[i:j] in inside:
                    places[word[i:j]].append((number, i))
    joined = [bytearray(max(0, len(word) - 1)) for word in listed]

    def covers(token: str, take: bool) -> int:
        """Neighbours that the token joins where it cuts through no other token."""
        total, length = 0, len(token)
        last, until = -1, 0
        for number, i in places[token]:
            row = joined[number]
            if number == last and i < until:
                continue
            if (i and row[i - 1]) or (i + length - 1 < len(row) and row[i + length - 1]):
                continue
            total += counts[number] * (length - 1 - sum(row[i : i + length - 1]))
            last, until = number, i + length
            if take:
                row[i : i + length - 1] = b"\1" * (length - 1)
        return total

    queue = [(-covers(token, False), number) for number, token in enumerate(candidates)]
    heapq.heapify(queue)
    kept: list[str] = []
    while queue and len(kept) < size - len(alphabet):
        _, number = heapq.heappop(queue)
        now = -covers(candidates[number], False)
        if queue and (now, number) > queue[0]:
            heapq.heappush(queue, (now, number))
            continue
        covers(candidates[number], True)
        kept.append(candidates[number])
    return lambda word: covered_cut(word, kept)


def covered_cut(word: str, kept: Sequence[str]) -> list[str]:
    """Tokens are placed in the order in which they were taken."""
    order = covered_cut.__dict__.setdefault(id(kept), {token: n for n, token in enumerate(kept)})
    row = bytearray(max(0, len(word) - 1))
    found = [
        (order[word[i:j]], i, j)
        for i in range(len(word))
        for j in range(i + 2, len(word) + 1)
        if word[i:j] in order
    ]
    for _, i, j in sorted(found):
        if (i and row[i - 1]) or (j - 1 < len(row) and row[j - 1]):
            continue
        row[i : j - 1] = b"\1" * (j - 1 - i)
    parts = [word[:1]]
    for place, together in enumerate(row):
        if together:
            parts[-1] += word[place + 1]
        else:
            parts.append(word[place + 1])
    return parts


def best_cut(word: str, scores: dict[str, float], unknown: float) -> list[str]:
    """The tokens with the highest sum of scores; an unknown character is a token."""
    best = [0.0] + [-math.inf] * len(word)
    begin = [0] * (len(word) + 1)
    for i in range(len(word)):
        for j in range(i + 1, len(word) + 1):
            score = scores.get(word[i:j], unknown if j == i + 1 else None)
            if score is not None and best[i] + score > best[j]:
                best[j], begin[j] = best[i] + score, i
    found: list[str] = []
    at = len(word)
    while at:
        found.append(word[begin[at] : at])
        at = begin[at]
    return found[::-1]


CONTENDERS = {
    "volt --select transport": transport,
    "BPE": bpe,
    "SentencePiece Unigram": sentencepiece_unigram,
    "PathPiece-style": path_piece,
    "GreedTok-style": greed_tok,
    "MinGram-style": min_gram,
}


# ----------------------------------------------------------------------------------------- measure


def counts_of(words: Words) -> volt.WordCounts:
    """Words that were counted, as volt's counts: the marks stay."""
    return KEPT[id(words)]


KEPT: dict[int, volt.WordCounts] = {}


def counted(folder: Path, corpus: str, splits: Iterable[str]) -> Words:
    lines = [
        line
        for split in splits
        for language in CORPORA[corpus]
        for line in read(folder / corpus / f"{split}.{language}")
    ]
    counts = volt.count([lines])
    words = counts.to_dict()
    KEPT[id(words)] = counts
    return words


def read(path: Path) -> list[str]:
    packed = path.with_name(path.name + ".xz")
    data = lzma.decompress(packed.read_bytes()) if packed.is_file() else path.read_bytes()
    return data.decode().splitlines()


def measure(name: str, train: Words, held: Words, size: int) -> dict[str, float]:
    """In a process of its own: seconds of training, its memory, tokens and bits."""
    receive, send = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(
        target=work, args=(send, name, train, held, size)
    )
    process.start()
    send.close()
    found: dict[str, float] = receive.recv()
    process.join()
    return found


def work(send: Any, name: str, train: Words, held: Words, size: int) -> None:
    before = time.process_time()
    cut = CONTENDERS[name](train, size)
    seconds = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    words = [*train, *(word for word in held if word not in train)]
    numbers: dict[str, int] = {}
    cuts = [[numbers.setdefault(token, len(numbers)) for token in cut(word)] for word in words]
    offsets = np.cumsum([0, *map(len, cuts)], dtype=np.uint64)
    tokens = np.array([one for row in cuts for one in row], np.uint32)
    seen = np.array([train.get(word, 0) for word in words], np.uint64)
    tested = np.array([held.get(word, 0) for word in words], np.uint64)
    nats, _ = _core.kneser_ney(tokens, offsets, seen, tested, size, 3, True)
    text = sum(len(word.replace("▁", " ").encode()) * count for word, count in held.items())
    lengths = np.diff(offsets)
    send.send({
        "tokens": int((lengths * tested).sum()),
        "training_tokens": int((lengths * seen).sum()),
        "bits_per_byte": nats / math.log(2) / text,
        "seconds": seconds,
        "memory_mb": memory,
        **FACTS,
    })  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=DEFAULT_CORPORA)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=[*CONTENDERS])
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    rows = []
    volt.learn([["warm up"] * 9], select="transport", size=270)  # imports are not measured
    for corpus in asked.corpora:
        train = counted(asked.data, corpus, ["train"])
        held = counted(asked.data, corpus, ["valid", "test"])
        for size in asked.sizes:
            for name in asked.contenders:
                found = measure(name, train, held, size)
                rows.append({"corpus": corpus, "size": size, "contender": name, **found})
                print(
                    f"| {corpus} | {size:,} | {name} | {found['tokens']:,} | "
                    f"{found['bits_per_byte']:.4f} | {found['seconds']:.1f} | "
                    f"{found['memory_mb']:,.0f} |",
                    file=sys.stderr, flush=True,
                )  # fmt: skip
                asked.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
