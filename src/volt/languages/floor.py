"""The floor of `min_share`: a language with less than its share of the vocabulary gets tokens, and
the others give as many.

What it gets are the candidates that it uses most often, and uses more than others do. What the
others give are the tokens that occur least often, and that no other token is made from. The
vocabulary is encoded with and measured again after each exchange, until all have their share.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError, SettingsError
from volt.base.shown import plural
from volt.counting.counts import WordCounts
from volt.counting.marks import UNKNOWN
from volt.languages.table import ownership, shares_of, spelled, usage
from volt.proposing.base import token_set
from volt.proposing.merges import MergeCandidates
from volt.result import LearnResult
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import measure
from volt.tokenizing.signature import changed
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

ROUNDS = 40
MARGIN = 1.02
"""A language with less than this times its share gives nothing."""


def raise_shares(
    result: LearnResult,
    counts: Mapping[str, WordCounts],
    weights: Mapping[str, Fraction],
    floor: float,
    threads: int,
) -> tuple[LearnResult, list[str]]:
    """The result with a vocabulary of the same size in which each language has the share `floor`;
    and what to tell."""
    if not 0 < floor <= 1 / len(counts):
        raise SettingsError(
            f"`min_share={floor:g}` must be above 0 and, for {len(counts)} languages, at most "
            f"{1 / len(counts):.4g}"
        )
    found, first = result.candidates, result.vocabulary
    if not isinstance(found, MergeCandidates):
        raise SettingsError(
            "`min_share` needs candidates that are merged from others, such as those of bpe"
        )
    number_of = {text: number for number, text in enumerate(found.tokens)}
    merged = [t.text for t in first.tokens if t.kind == "merged" and not t.scaffold]
    kept = token_set(found, [number_of[text] for text in merged])
    size = len(_tokens(found, kept))
    started = kept.copy()
    finest: NDArray[np.int64] | None = None
    vocabulary = first
    raised: dict[str, float] = {}
    for _ in range(ROUNDS):
        used = usage(Tokenizer(vocabulary, threads=threads), counts)
        shares = shares_of(used, spelled(vocabulary))
        lacking = [code for code, share in shares.items() if share < floor]
        raised |= {code: shares[code] for code in lacking if code not in raised}
        if not lacking:
            break
        if finest is None:
            finest = _finest(found, first, counts, threads)
        total = int(spelled(vocabulary).sum())
        wanted = {code: (floor * MARGIN - shares[code]) * total + 1 for code in lacking}
        new = _additions(found, kept, first, finest, list(counts), wanted)
        rich = [i for i, share in enumerate(shares.values()) if share > floor * MARGIN]
        kept = _exchange(found, kept, new, vocabulary, used, rich, size, weights)
        vocabulary = _built_like(first, found, kept)
    else:
        least = min(shares, key=lambda code: shares[code])
        raise InputError(
            f"`min_share={floor:g}` can't be reached: {least} has {shares[least]:.4f}; lower it, "
            "or ask for more candidates"
        )
    if not raised:
        return result, [f"every language has a share of {floor:g} without help"]
    chosen = np.flatnonzero(kept)
    changes = {"size": len(vocabulary), "floor": f"{floor:g}"}
    vocabulary = replace(vocabulary, signature=changed(first.signature, changes))
    listed = ", ".join(f"{code} from {share:.4f}" for code, share in raised.items())
    exchanged = plural((kept & ~started).sum(), "token")
    return replace(
        result,
        tokenizer=measure(vocabulary, result.counts, threads),
        choice=replace(
            result.choice, chosen=chosen[chosen >= found.alphabet_size], size=len(vocabulary)
        ),
    ), [f"raised to a share of {floor:g}: {listed}; {exchanged} exchanged"]


def _built_like(first: Vocabulary, found: MergeCandidates, kept: NDArray[np.bool_]) -> Vocabulary:
    """A vocabulary of the kept candidates that is like the first in everything else."""
    return build_vocabulary(
        found, np.flatnonzero(kept), merge_rule=first.merge_rule, unknown=first.unknown,
        special=first.of_kind("special"), symbols=first.of_kind("symbol"), roles=first.roles,
        unknown_token=first.unknown_token,
    )  # fmt: skip


def _tokens(found: MergeCandidates, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The kept candidates and, with `merge`, everything they are made from."""
    return np.flatnonzero(found.close(kept))


def _finest(
    found: MergeCandidates, like: Vocabulary, counts: Mapping[str, WordCounts], threads: int
) -> NDArray[np.int64]:
    """How often each candidate occurs in each language when all of them are used: one row per
    language."""
    special = like.of_kind("special") if like.unknown == "unk" else []
    every = build_vocabulary(
        replace(found, encoding="merge"),
        range(len(found)),
        merge_rule="pairs",
        unknown=like.unknown,
        special=special,
        unknown_token=like.unknown_token,
    )
    used = np.stack(list(usage(Tokenizer(every, threads=threads), counts).values()))
    table = np.zeros((len(counts), len(found)), np.int64)
    ids = every.ids
    of = [ids[text] for text in found.tokens if text != UNKNOWN]
    table[:, [i for i, text in enumerate(found.tokens) if text != UNKNOWN]] = used[:, of]
    return table


def _additions(
    found: MergeCandidates,
    kept: NDArray[np.bool_],
    like: Vocabulary,
    finest: NDArray[np.int64],
    codes: list[str],
    wanted: Mapping[str, float],
) -> list[int]:
    """Candidates that give each lacking language the share it wants, in tokens."""
    owned = ownership(dict(zip(codes, finest, strict=True)))
    inside = np.zeros(len(found), bool)
    inside[_tokens(found, kept)] = True
    new: dict[int, None] = {}
    for code, tokens in wanted.items():
        row = codes.index(code)
        value = np.where(inside, 0, finest[row] * owned[row])
        best = np.argsort(-value, kind="stable")
        best = best[value[best] > 0]
        enough = int(np.searchsorted(np.cumsum(owned[row][best]), tokens)) + 1
        new |= dict.fromkeys(best[:enough].tolist())
    if not new:
        raise InputError(
            f"there are no more candidates for {', '.join(wanted)}: lower `min_share`, or ask for "
            "more candidates"
        )
    return list(new)


def _exchange(
    found: MergeCandidates,
    kept: NDArray[np.bool_],
    new: list[int],
    vocabulary: Vocabulary,
    used: Mapping[str, NDArray[np.int64]],
    rich: list[int],
    size: int,
    weights: Mapping[str, Fraction],
) -> NDArray[np.bool_]:
    """Take in the new candidates, and give up as many tokens of rich languages."""
    kept = kept.copy()
    kept[new] = True
    inside = _tokens(found, kept)
    closed = vocabulary.encoding != "split"
    parents = found.parents
    children = np.zeros(len(found), np.int64)
    if closed:
        made = inside[inside >= found.alphabet_size]
        np.add.at(children, parents[made].ravel(), 1)
    owned = ownership(used)[rich].sum(axis=0)
    often = np.zeros(len(vocabulary))
    for code, row in used.items():
        often += row * float(weights[code])
    ids = vocabulary.ids
    fresh = set(new)

    def offer(candidate: int) -> tuple[float, int] | None:
        number = ids.get(found.tokens[candidate])
        if candidate < found.alphabet_size or candidate in fresh or number is None:
            return None
        if not kept[candidate]:
            return -1.0, -candidate  # a scaffold that nothing stands on any more
        if owned[number] < 0.5 and often[number] > 0:
            return None
        return float(often[number]), -candidate

    heap = [one for c in inside.tolist() if children[c] == 0 and (one := offer(c)) is not None]
    heapq.heapify(heap)
    left = len(inside)
    while heap and left > size:
        candidate = -heapq.heappop(heap)[1]
        kept[candidate] = False
        left -= 1
        for parent in set(parents[candidate].tolist()) if closed else ():
            children[parent] -= parents[candidate].tolist().count(parent)
            if children[parent] == 0 and (one := offer(parent)) is not None:
                heapq.heappush(heap, one)
    if left > size:
        raise InputError("the other languages have no more tokens to give: lower `min_share`")
    # A scaffold that the last token stood on fills the row: it is a token like others now.
    kept[[-candidate for rate, candidate in heap if rate < 0]] = True
    return kept
