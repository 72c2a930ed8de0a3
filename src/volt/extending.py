"""Extend: other people's tokenizers, with tokens more for a text.

The text is encoded with the tokenizer, and BPE goes on where it stopped, over the tokens that come
out. New merges come behind all old ones. A merge behind all others is made only where no other is
possible, so text is cut as before, up to the new merges; and the text of a new token, standing
alone, comes out as its two parents, and then as itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from volt.candidates import candidates
from volt.corpus import Text
from volt.counts import WordCounts, WordRule, check_at_least, thread_count
from volt.errors import InputError, SettingsError
from volt.learn import measure as with_measures
from volt.progress import Progress
from volt.refitting import RefitResult, Tokenizers, count_for, fit, open_model, readable, signed
from volt.tokenizer import Tokenizer
from volt.tokens import Token
from volt.vocabulary import Vocabulary

RUN_ON = 2
"""How many times as many merges are made as tokens are added. More (4, 10) chose the same tokens on
Multi30k and Tatoeba."""
FIRST_SYMBOL = 0x10000
LAST_SYMBOL = 0x10FFFF


def extend(
    tokenizer: Tokenizers,
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
    old ones, so that what the old tokens cut stays cut so, up to the new merges. With `model`, a
    new token's rows are the mean of the rows of the old tokens it is made of.
    """
    check_at_least("add", add, 1)
    threads = thread_count(threads)
    progress = progress or Progress()
    original = readable(tokenizer, form)
    old = original.vocabulary
    if old.look_up is not None:
        raise SettingsError(
            f"only tokenizers that merge can be extended: in {old.encoding} a new token would "
            "compete with the old ones, and change how text is cut that has nothing to do with it"
        )
    messages = list(original.messages)
    checkpoint = None if model is None else open_model(model, old, messages)
    counts = count_for(old, on, options, threads, progress)

    # 1. The words in old tokens; what text never gives does not merge.
    symbols = _in_symbols(Tokenizer(old, threads=threads), counts)

    # 2. Go on merging, and choose among what the merges make.
    parts = _new_parts(old, symbols, add, min_frequency, threads, progress)

    # 3. The new tokens behind the old ones.
    tokens = list(old.tokens)
    rank = max((token.rank for token in old.tokens), default=-1)
    ids: dict[tuple[int, ...], int] = {(i,): i for i in range(len(old))}
    for number, (whole, left, right) in enumerate(parts, len(old)):
        pair = ids[left], ids[right]
        ids[whole] = number
        text = tokens[pair[0]].text + tokens[pair[1]].text
        tokens.append(Token(text, "merged", pair, rank + 1 + number - len(old)))
    vocabulary = replace(
        old, tokens=tokens, unit=counts.unit, unreachable=[], self_test=[], signature=""
    )
    vocabulary = with_measures(vocabulary, counts, threads).vocabulary
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
    merges = np.array([t.kind in ("character", "merged") for t in tokenizer.vocabulary.tokens])
    known = merges[ids]
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
            text = "".join(old.tokens[i].text for i in whole)
            # A token that no text is encoded as may have this text: a second one can't be.
            if left in made and right in made and text not in taken:
                usable[whole] = (whole, left, right), float(nats[merge] - nats[merge + 1])
                made.add(whole)
                taken.add(text)
        if len(usable) >= add:
            chosen = _lowering_most(usable, add)
            return [new for whole, (new, _) in usable.items() if whole in chosen]
        if found.merges < asked:
            raise InputError(
                f"--add {add:,}: the text gives {len(usable):,} new tokens that occur "
                f"{min_frequency} times or more; add fewer, or give it more text"
            )
        asked += add


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
