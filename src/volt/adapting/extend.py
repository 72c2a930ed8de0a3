"""Extend: other people's tokenizers, with tokens more for a text.

The text is encoded with the tokenizer, and BPE goes on where it stopped, over the tokens that come
out. New merges come behind all old ones. A merge behind all others is made only where no other is
possible, so text is cut as before, up to the new merges; and the text of a new token, standing
alone, comes out as its two parents, and then as itself.

Tokens that are looked up are found in the same way, and have no parents. In `unigram` a new token
has the sum of the scores of the old tokens it is made of. These are the best cut of its text, as
every part of a best cut is one, so no text has a higher sum than before: new tokens taken apart
into their parts are a best cut of the old ones. Of equal sums the one is taken whose last token
starts first: where the old cut had the parts side by side, that is the new token, or a longer one.
In `longest`, a new token is taken wherever it fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from volt.adapting.owned import look_up_for
from volt.adapting.refit import (
    RefitResult,
    count_for,
    fit,
    open_model,
    readable,
    signed,
)
from volt.base.checks import check_at_least, thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.options import accepts
from volt.base.progress import Progress
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.words import WordRule
from volt.foreign.original import AnyTokenizer
from volt.pipeline import candidates
from volt.proposing.pieces import STEPS
from volt.proposing.tokens import SPELLED, Token
from volt.settings import GONE, CountSettings
from volt.tokenizing.check import measure
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import HIGHEST_SCORE, LookUp, Vocabulary

RUN_ON = 2
"""How many times as many merges are made as tokens are added. More (4, 10) chose the same tokens on
Multi30k and Tatoeba."""
ROUNDING = {"float64": 2.0**-20, "float32": 2.0**-10}
"""Where sums of scores are rounded, a new token has this much more for each part but one. It is
more than the rounding of a word of 10,000 characters, or, in 32 bits, of a line of some 300
tokens."""
LONGEST_MESSAGE = (
    "longest match takes a new token wherever it fits: text may be cut otherwise than by joining "
    "old tokens"
)
FIRST_SYMBOL = 0x10000
LAST_SYMBOL = 0x10FFFF


@accepts(CountSettings, gone=GONE)
def extend(
    tokenizer: AnyTokenizer,
    on: WordCounts | Text | Iterable[Text],
    add: int,
    *,
    model: str | os.PathLike[str] | None = None,
    form: str | None = None,
    min_frequency: int = 2,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RefitResult:
    """A tokenizer with `add` tokens more, learned from a text; all old ids stay.

    The words are encoded with the tokenizer, and BPE goes on from there: the tokens they come out
    as are its alphabet. Of its merges those are taken that lower entropy most. They come behind all
    old ones, so that what the old tokens cut stays cut so, up to the new merges. Tokens that are
    looked up get scores that do the same; only the longest match may cut otherwise. With `model`,
    a new token's rows are the mean of the rows of the old tokens it is made of.
    """
    check_at_least("add", add, 1)
    threads = thread_count(threads)
    progress = progress or Progress()
    original = readable(tokenizer, form)
    old = original.vocabulary
    messages = list(original.messages)
    if old.encoding == "longest":
        messages.append(LONGEST_MESSAGE)
    checkpoint = None if model is None else open_model(model, old, messages)
    counts = count_for(old, on, options, threads, progress)

    # 1. The words in old tokens; what text never gives does not merge.
    symbols = _in_symbols(Tokenizer(old, threads=threads), counts)

    # 2. Go on merging, and choose among what the merges make.
    parts = _new_parts(old, symbols, add, min_frequency, threads, progress)

    # 3. The new tokens behind the old ones.
    new = _merged(old, parts) if old.look_up is None else _pieces(old, old.look_up, parts)
    tokens = [*old.tokens, *new]
    vocabulary = replace(
        old, tokens=tokens, look_up=look_up_for(tokens, old), unit=counts.unit, unreachable=[],
        self_test=[], signature="",
    )  # fmt: skip
    vocabulary = measure(vocabulary, counts, threads).vocabulary
    details = {"add": add, "min": min_frequency}
    vocabulary = signed(vocabulary, "extend", old, counts, details)
    return RefitResult(
        original=original,
        vocabulary=vocabulary,
        id_map=np.arange(len(old), dtype=np.int64),
        before=fit(old, counts, threads),
        after=fit(vocabulary, counts, threads),
        messages=messages,
        parts=[list(whole) for whole, _, _ in parts],
        checkpoint=checkpoint,
    )


def _in_symbols(tokenizer: Tokenizer, counts: WordCounts) -> WordCounts:
    """Words whose characters are old tokens: token `i` is the character FIRST_SYMBOL + `i`. A word
    ends before and after a token that does not merge."""
    if len(tokenizer) > LAST_SYMBOL - FIRST_SYMBOL:
        raise SettingsError(f"extend takes up to {LAST_SYMBOL - FIRST_SYMBOL:,} tokens")
    ids, offsets = tokenizer.encode_words(counts)
    known = tokenizer.vocabulary.columns.are(*SPELLED)[ids]
    starts = np.zeros(len(ids) + 1, bool)
    starts[offsets.astype(np.int64)] = True
    starts[:-1] |= ~known
    starts[1:] |= ~known
    begins = np.flatnonzero(starts[:-1] & np.append(known, False)[:-1])
    word_of = np.repeat(np.arange(len(counts)), np.diff(offsets).astype(np.int64))
    before = np.concatenate([[0], np.cumsum(known)])
    text = (ids[known].astype(np.uint32) + FIRST_SYMBOL).astype("<u4").tobytes().decode("utf-32-le")
    bounds = np.append(before[begins], int(known.sum())).astype(np.uint64) * 4  # bytes of UTF-8
    return WordCounts(
        WordRule("metaspace"),
        np.frombuffer(text.encode(), np.uint8),
        bounds,
        counts.counts[word_of[begins]],
        unit=counts.unit,
    )


NewToken = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The old tokens that it is made of, those of its left and of its right parent."""


def _new_parts(
    old: Vocabulary,
    symbols: WordCounts,
    add: int,
    min_frequency: int,
    threads: int,
    progress: Progress,
) -> list[NewToken]:
    """The tokens that lower entropy most: of twice as many merges as asked for, those whose merge
    lowered the curve most, with what they are made from. In the order of the merges."""
    asked = RUN_ON * add
    while True:
        found = candidates(
            symbols, merges=asked, coverage=1.0, min_frequency=min_frequency, threads=threads,
            progress=progress,
        )  # fmt: skip
        nats = found.curve.tokens * found.curve.entropy
        spelled = [tuple(ord(c) - FIRST_SYMBOL for c in text) for text in found.tokens]
        usable: dict[tuple[int, ...], tuple[NewToken, float]] = {}
        made = set(spelled[: found.alphabet_size])
        taken = set(old.texts)
        for merge, token in enumerate(range(found.alphabet_size, len(found))):
            whole = spelled[token]
            left, right = (spelled[part] for part in found.parents[token].tolist())
            text = _text(old, whole)
            # A token that no text is encoded as may have this text: a second one can't be. Nor can
            # one at the start of a word have a text that says that it is inside.
            marked = old.is_inner(text) == old.is_inner(old.texts[whole[0]])
            if left in made and right in made and text not in taken and marked:
                usable[whole] = (whole, left, right), float(nats[merge] - nats[merge + 1])
                made.add(whole)
                taken.add(text)
        if len(usable) >= add:
            chosen = _lowering_most(usable, add)
            return [new for whole, (new, _) in usable.items() if whole in chosen]
        if found.merges < asked:
            raise InputError(
                f"the text has only {len(usable):,} new tokens that occur {min_frequency} times or "
                f"more: lower `add`, which is {add:,}, or give more text"
            )
        asked += add


def _text(old: Vocabulary, whole: tuple[int, ...]) -> str:
    """Tokens inside a word have their mark at the front only."""
    first, *others = (old.texts[i] for i in whole)
    mark = old.look_up.mark if old.look_up is not None else ""
    return first + "".join(text.removeprefix(mark) for text in others)


def _merged(old: Vocabulary, parts: list[NewToken]) -> list[Token]:
    """With ranks behind all others."""
    rank = max((token.rank for token in old.tokens), default=-1)
    ids: dict[tuple[int, ...], int] = {(i,): i for i in range(len(old))}
    ids |= {whole: number for number, (whole, _, _) in enumerate(parts, len(old))}
    return [
        Token(_text(old, whole), "merged", (ids[left], ids[right]), number)
        for number, (whole, left, right) in enumerate(parts, rank + 1)
    ]


def _pieces(old: Vocabulary, look_up: LookUp, parts: list[NewToken]) -> list[Token]:
    """With the scores of their parts. Sums of multiples of 1/1024 are exact; for others, rounding
    must not hide a new token behind its parts, nor a longer one behind shorter ones."""
    if old.encoding == "longest":
        return [Token(_text(old, whole), "piece") for whole, _, _ in parts]
    scores = old.columns.scores
    exact = bool((scores * STEPS % 1 == 0).all())
    more = 0.0 if exact else ROUNDING[look_up.arithmetic]
    real = np.float32 if look_up.arithmetic == "float32" else np.float64
    new: list[Token] = []
    for whole, _, _ in parts:
        score = float(scores[list(whole)].sum()) + more * (len(whole) - 1)
        stored = float(real(score))
        if abs(stored) > HIGHEST_SCORE or abs(stored - score) > more / 4:
            raise InputError(
                f"{_text(old, whole)!r} would have the score {score!r}, the sum of its parts', "
                f"which {look_up.arithmetic} can't hold well enough: the tokenizer's scores are "
                "no logarithms of probabilities, and it can't be extended"
            )
        new.append(Token(_text(old, whole), "piece", score=stored))
    return new


def _lowering_most(
    usable: dict[tuple[int, ...], tuple[NewToken, float]], number: int
) -> set[tuple[int, ...]]:
    """So many tokens, closed. Ties: the earlier merge. What is left at the end, too little for a
    token and its parts, goes to the first merges that were left out."""
    chosen: set[tuple[int, ...]] = set()
    by_gain = sorted(usable, key=lambda whole: -usable[whole][1])  # stable
    for whole in [*by_gain, *usable]:
        needed: set[tuple[int, ...]] = set()
        waiting = [whole]
        while waiting:
            one = waiting.pop()
            if one in usable and one not in chosen and one not in needed:
                needed.add(one)
                waiting += usable[one][0][1:]
        if len(chosen) + len(needed) <= number:
            chosen |= needed
    return chosen
