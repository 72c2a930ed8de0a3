"""Extend: other people's tokenizers, with tokens more for a text.

The text is encoded with the tokenizer, and BPE goes on where it stopped, over the tokens that come
out. New merges come after all old ones. A merge after all others is made only where no other is
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
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from volt.adapting.conversation import what_stays
from volt.adapting.matching import matched_rows
from volt.adapting.own_candidates import look_up_for, own_merges, restrict, token_frequencies
from volt.adapting.subject import Changed, RefitResult, Subject
from volt.adapting.whole_words import NUL, kept_tokens, new_tokens, what_is_new
from volt.adapting.words import FittingText
from volt.base.checks import check_at_least
from volt.base.errors import InputError, SettingsError
from volt.base.options import accepts, parse_size
from volt.base.progress import Progress
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.marks import BYTE_TOKENS, INNER, SPACE_MARK, WORD_END
from volt.counting.words import WordRule
from volt.foreign.base import Added
from volt.foreign.inner import ROUNDING
from volt.foreign.original import AnyTokenizer
from volt.pipeline import candidates
from volt.proposing.pieces import STEPS
from volt.proposing.tokens import SPELLED, Token
from volt.settings import GONE, CountSettings
from volt.tokenizing.merge_pairs import pairs_for
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import HIGHEST_SCORE, LookUp, Vocabulary

RUN_ON = 2
"""How many times as many merges are made as tokens are added. More (4, 10) chose the same tokens on
Multi30k and Tatoeba."""
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
    add: int | str,
    *,
    model: str | os.PathLike[str] | None = None,
    form: str | None = None,
    pattern: str | None = None,
    min_frequency: int = 2,
    swap: bool = False,
    init: Literal["mean", "omp"] = "mean",
    donor: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RefitResult:
    """A tokenizer with `add` tokens more, learned from a text; all old ids stay, unless `swap`
    takes out as many: those that the text uses least.

    The words are encoded with the tokenizer, and BPE goes on from there: the tokens they come out
    as are its alphabet. Of its merges those are taken that lower entropy most. They come after all
    old ones, so that what the old tokens cut stays cut so, up to the new merges. Tokens that are
    looked up get scores that do the same; only the longest match may cut otherwise. Characters that
    the tokenizer lacks are added first, unless its tokens are bytes.

    With `model`, a new token's rows are the mean of the rows of the old tokens it is made of; with
    `init="omp"`, they are matched to the model in the folder `donor`. `pattern` is how the
    tokenizer cuts text, if its files do not say it.

    >>> import volt
    >>> found = volt.extend(tokenizer.vocabulary, [["new news newer"] * 9], 2)
    >>> len(found.vocabulary) - len(tokenizer), [one.text for one in found.added]
    (2, ['ew', 'er'])
    """
    if init == "omp":
        given = {"model": model, "donor": donor}
        if missing := [f"`{name}`" for name, value in given.items() if value is None]:
            raise SettingsError(f"`init=omp` needs {' and '.join(missing)}")
    elif donor is not None:
        raise SettingsError("`donor` needs `init=omp`")
    add = _number(add)
    check_at_least("add", add, 1)
    subject = Subject.opened(
        tokenizer, FittingText(on, options), form, pattern, model, threads, progress
    )
    number = add if swap else 0
    if swap:
        subject.messages.extend(what_stays(subject.original, subject.spoken))
    if subject.whole:
        engine, documents, used = subject.used_words()
        subject.messages.append(what_is_new(engine))
        new_words = new_tokens(engine, used, add, min_frequency)
        kept = kept_tokens(engine, used, subject.pinned, engine.size - number)
        done = subject.of_whole(documents, kept, new_words)
    else:
        details = {"add": add, "min": min_frequency, **({"swap": "yes"} if swap else {})}
        done = _extended(subject, add, min_frequency, number, details)
    before, after = done.before, done.after
    if after.tokens > before.tokens and before.unknown > after.unknown:
        done.messages.append(
            f"before, {before.unknown:.1%} of the tokens were unknown, and one may be a whole run "
            "of characters: tokens per line and nats per character do not compare with those after"
        )
    if done.checkpoint is not None and done.parts:
        done.messages.append(
            f"the model was not trained on text cut this way, and its {len(done.parts):,} new rows "
            "are only a start: train it on before you use it"
        )
    return done if init == "mean" else with_rows(done, Path(str(donor)), subject.progress)


def _number(add: int | str) -> int:
    """How many tokens, also as people write it: 2k."""
    if not isinstance(add, str):
        return add
    try:
        return parse_size(add)
    except ValueError:
        raise SettingsError(
            f"`add` must be a whole number such as 2000 or 2k, not {add[:40]!r}"
        ) from None


def _extended(
    subject: Subject, add: int, min_frequency: int, dropped: int, details: dict[str, Any]
) -> RefitResult:
    """With new tokens, and without as many as make room."""
    whole, messages = subject.original.vocabulary, subject.messages
    if whole.encoding == "longest":
        messages.append(LONGEST_MESSAGE)
    counts = subject.counts()
    # 1. Room for the new tokens.
    old, id_map = _with_room(whole, counts, dropped, subject.pinned, subject.threads)
    # 2. The characters that are new, and tokens made of these and the old ones.
    characters, parts = _new(old, counts, add, min_frequency, subject.threads, subject.progress)
    if characters:
        messages.append(
            f"characters that the tokenizer lacked, such as {characters[0]!r}, are among the new "
            f"tokens: {len(characters):,}"
        )
    # 3. The new tokens after the old ones.
    grown = _with_characters(old, characters)
    new = _merged(grown, parts) if old.look_up is None else _pieces(grown, old.look_up, parts)
    tokens = [*grown.tokens, *new]
    vocabulary = replace(
        old, tokens=tokens, look_up=look_up_for(tokens, old), unit=counts.unit, unreachable=[],
        self_test=[], signature="",
    )  # fmt: skip
    # 4. The old tokens, by their old ids, that each is made of.
    old_ids = np.flatnonzero(id_map >= 0)
    made_of = [_spelling(old, one) for one in characters]
    made_of += [
        [i for number in whole_parts
         for i in ([number] if number < len(old) else made_of[number - len(old)])]
        for whole_parts, _, _ in parts
    ]  # fmt: skip
    rows = [[int(old_ids[i]) for i in one] for one in made_of]
    changed = Changed("extend", vocabulary, id_map, details)
    added = _added(vocabulary, len(old), rows)
    return subject.result(whole, changed, counts, parts=rows, added=added)


def with_rows(result: RefitResult, donor: Path, progress: Progress) -> RefitResult:
    """With rows for the new tokens that are matched to a donor."""
    messages = list(result.messages)
    init = matched_rows(result.original, donor, result.added, result.parts, messages, progress)
    return replace(result, init=init, messages=messages)


def _with_room(
    old: Vocabulary, counts: WordCounts, number: int, pinned: frozenset[int], threads: int
) -> tuple[Vocabulary, NDArray[np.int64]]:
    """The vocabulary without the tokens that the text uses least, closed."""
    if not number:
        return old, np.arange(len(old), dtype=np.int64)
    if old.look_up is None:
        found = own_merges(old, counts, order="use", pinned=pinned, threads=threads)
        every = np.arange(found.alphabet_size, len(found))
        idle = len(old) - len(found.kept_ids(every))  # no text is encoded as these: they go first
        keep = len(every) - max(0, number - idle)
        kept = found.kept_ids(every[: max(0, keep)])
    else:
        shown = token_frequencies(Tokenizer(old, threads=threads), counts)
        droppable = [i for i, token in enumerate(old.tokens)
                     if token.kind == "piece" and i not in pinned]  # fmt: skip
        droppable.sort(key=lambda i: (int(shown[i]), -i))
        keep = len(droppable) - number
        kept = {*range(len(old))} - {*droppable[:number]}
    if keep < 0:
        raise SettingsError(f"`swap`: the tokenizer has fewer than {number:,} tokens that can go")
    # If more of these have gone than have to, they come back, the first ones first.
    while missing := len(old) - number - len(kept):
        back = [i for i in range(len(old)) if i not in kept and _alone(old, i, kept)]
        kept |= {*back[:missing]}
    return restrict(old, kept)


def _alone(old: Vocabulary, number: int, kept: set[int]) -> bool:
    parents = old.tokens[number].parents
    return parents is None or {*parents} <= kept


def _new(
    old: Vocabulary, counts: WordCounts, add: int, min_frequency: int, threads: int,
    progress: Progress,
) -> tuple[list[str], list[NewToken]]:  # fmt: skip
    """The new tokens: characters, at most half of them unless there are too few others, and what
    the merges make of the words in old tokens and these. What text never gives does not merge."""
    every = new_characters(old, counts, min_frequency)
    number = (add + 1) // 2
    while True:
        characters = every[:number]
        left = add - len(characters)
        parts: list[NewToken] = []
        if left:
            grown = _with_characters(old, characters)
            symbols = _in_symbols(Tokenizer(grown, threads=threads), counts)
            parts = _new_parts(grown, symbols, left, min_frequency, threads, progress)
        missing = left - len(parts)
        if not missing:
            return characters, parts
        if number >= len(every):
            raise InputError(
                f"the text has only {add - missing:,} new tokens that occur {min_frequency} times "
                f"or more: lower `add`, which is {add:,}, or give more text"
            )
        number += missing


def new_characters(old: Vocabulary, counts: WordCounts, min_frequency: int) -> list[str]:
    """Tokens for the characters of the text that the tokenizer lacks, the most frequent first. None
    where the tokens are bytes. A character that one byte token spells, a line end for example, is
    one token already: it gets no other, so that text of other scripts keeps its ids."""
    if old.rule.mode.byte_level:
        return []
    known = {old.marks.strip(token.text) for token in old.tokens if token.kind == "character"}
    if old.marks is INNER:  # longest match: a character inside a token is not new
        known = {c for token in old.tokens if token.kind in SPELLED for c in token.text}
    if old.unknown == "byte":
        known |= {chr(byte) for byte in range(0x80) if BYTE_TOKENS[byte] in old.ids}
    found: Counter[str] = Counter()
    for word, number in counts.items():
        for character in word:
            if character not in known:
                found[character] += number
    usual = sorted((c for c, n in found.items() if n >= min_frequency * counts.unit),
                   key=lambda c: (-found[c], c))  # fmt: skip
    marked = old.marks in (WORD_END, INNER)
    tokens = [form for c in usual if c not in (SPACE_MARK, NUL)
              for form in (old.marks.spell(c) if marked else [c])]  # fmt: skip
    return [token for token in tokens if token not in old.ids]


def _with_characters(old: Vocabulary, tokens: list[str]) -> Vocabulary:
    """The vocabulary with more characters."""
    score = min((token.score for token in old.tokens if token.kind in SPELLED), default=0.0)
    new = [Token(text, "character", score=score if old.encoding == "unigram" else 0.0)
           for text in tokens]  # fmt: skip
    return replace(old, tokens=[*old.tokens, *new], unreachable=[], self_test=[]) if new else old


def _spelling(old: Vocabulary, token: str) -> list[int]:
    """What a new character was before: its bytes, or unknown."""
    if old.unknown == "byte":
        found = [old.ids.get(BYTE_TOKENS[byte]) for byte in old.marks.strip(token).encode()]
        if all(i is not None for i in found):
            return [i for i in found if i is not None]
    return [] if old.unknown_id is None else [old.unknown_id]


def _added(vocabulary: Vocabulary, first: int, rows: list[list[int]]) -> list[Added]:
    """The new tokens for the tokenizer's own file."""
    texts = vocabulary.texts
    known = {token.text for token in vocabulary.tokens if token.kind in ("character", "merged")}
    added = []
    for token, parts in zip(vocabulary.tokens[first:], rows, strict=True):
        pairs: list[tuple[str, str]] = []
        if token.parents is not None:
            own = (texts[token.parents[0]], texts[token.parents[1]])
            every = pairs_for(token.text, known, vocabulary.marks)
            others = every if vocabulary.merge_rule == "concat" else []
            pairs = [own, *(pair for pair in others if pair != own)]
        added.append(Added(token.text, tuple(parts), tuple(pairs), token.score))
    return added


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
    lowered the curve most, with what they are made from. In the order of the merges; fewer if the
    text has no more."""
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
        if len(usable) >= add or found.merges < asked:
            chosen = _lowering_most(usable, add)
            return [new for whole, (new, _) in usable.items() if whole in chosen]
        asked += add


def _text(old: Vocabulary, whole: tuple[int, ...]) -> str:
    """Tokens inside a word have their mark at the front only."""
    first, *others = (old.texts[i] for i in whole)
    mark = old.look_up.mark if old.look_up is not None else ""
    return first + "".join(text.removeprefix(mark) for text in others)


def _merged(old: Vocabulary, parts: list[NewToken]) -> list[Token]:
    """With ranks after all others."""
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
                f"which {look_up.arithmetic} can't represent well enough: the tokenizer's scores "
                "are not logarithms of probabilities, and it can't be extended"
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
