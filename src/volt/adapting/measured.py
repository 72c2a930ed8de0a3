"""Candidates from a vocabulary that exists: its own tokens, with frequencies measured on a corpus.

Every word type is encoded with the vocabulary, and tokens are counted; frequencies in its file are
not looked at. How often each merge was made follows from that. Under either merge rule a token is
always merged from the same two (volt/formats/merges.py says why): its own pair under `pairs`, its
last pair under `concat`. So, from the last merge to the first, a token was made as often as it
occurs and as often as something was made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from volt.base.checks import thread_count
from volt.base.errors import SettingsError
from volt.counting.counts import WordCounts
from volt.counting.marks import UNKNOWN
from volt.formats.merges import last_pairs
from volt.pipeline import find_unreachable
from volt.proposing.merges import Candidates, _resample
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.tokens import Token
from volt.tokenizing.vocabulary import Vocabulary

Order = Literal["rank", "use"]


@dataclass(frozen=True, eq=False)
class Measured:
    """The candidates, and which token of the vocabulary each of them is."""

    candidates: Candidates
    ids: NDArray[np.int64] = field(repr=False)
    """The token's id in the vocabulary, for hidden tokens its place in the pool; -1 for `<unk>`."""


def measure(
    vocabulary: Vocabulary,
    counts: WordCounts,
    *,
    order: Order = "rank",
    bootstrap: int = 0,
    seed: int = 0,
    threads: int | None = None,
) -> Measured:
    """The tokens of a vocabulary that merges, as candidates.

    All its characters are in the alphabet, whether the words have them or not; `<unk>` stands for
    those that it does not know. Tokens that no text is encoded as are left out. Merges come in the
    `order` of their rank, or of their use: what was merged most comes first, of equals the lower
    rank. Parents come before children in both.
    """
    threads = thread_count(threads)
    if vocabulary.look_up is not None:
        raise SettingsError(
            f"the tokens of a {vocabulary.encoding} vocabulary have no parents: they can't be "
            "measured as merges"
        )
    tokenizer = Tokenizer(vocabulary, threads=threads)
    table = token_frequencies(tokenizer, counts, _resample(counts, bootstrap, seed, threads))
    pool = vocabulary.pool
    alphabet = [i for i, token in enumerate(pool) if token.kind == "character"]
    parents = _parents(tokenizer)
    merged = _by_rank(pool, parents)

    # How often each token of the pool was made, in the corpus and in every draw.
    made = np.zeros((len(pool), table.shape[1]), np.uint64)
    made[: len(vocabulary)] = table
    for i in reversed(merged):
        left, right = parents[i]
        made[left] += made[i]
        made[right] += made[i]
    if order == "use":
        merged.sort(key=lambda i: -int(made[i, 0]))  # stable; no child is made more than its parent

    ids = np.array([*alphabet, -1, *merged], np.int64)
    lengths = token_lengths(vocabulary, pool)
    spelled = table[:, 0] @ lengths[: len(vocabulary)].astype(np.uint64)
    unknown = int(word_lengths(counts) @ counts.counts - spelled)
    if unknown == 0:
        ids = ids[ids >= 0]
    start = len(ids) - len(merged)
    place = {i: number for number, i in enumerate(ids.tolist())}
    found = np.where((ids >= 0)[:, None], made[ids], np.uint64(0))
    if unknown:
        found[start - 1, 0] = unknown
        # Of the draws it has the share that unknown tokens have of them.
        found[start - 1, 1:] = _drawn_unknown(vocabulary, table, unknown)
    return Measured(
        Candidates(
            rule=counts.rule,
            tokens=[pool[i].text if i >= 0 else UNKNOWN for i in ids.tolist()],
            lengths=np.where(ids >= 0, lengths[ids], 1).astype(np.uint32),
            alphabet_counts=found[:start, 0].copy(),
            left=np.array([place[parents[i][0]] for i in merged], np.uint32),
            right=np.array([place[parents[i][1]] for i in merged], np.uint32),
            pair_counts=found[start:, 0].copy(),
            merge_counts=found[start:, 0].copy(),
            unknown=start - 1 if unknown else None,
            unit=counts.unit,
            alphabet_draws=found[:start, 1:].copy() if bootstrap else None,
            merge_draws=found[start:, 1:].copy() if bootstrap else None,
        ),
        ids,
    )


def token_frequencies(
    tokenizer: Tokenizer, counts: WordCounts, draws: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """How often each token occurs when all words are encoded: a row a token, a column for the
    corpus, then one for every draw of its words."""
    mine, theirs = tokenizer.vocabulary.rule.normalize, counts.rule.normalize
    if mine != theirs:
        raise SettingsError(
            f"the words are normalised by {theirs}, the vocabulary by {mine}: count them alike"
        )
    ids, offsets = tokenizer.encode_words(counts)
    repeats = np.diff(offsets).astype(np.int64)
    table = np.zeros((len(tokenizer), 1 + draws.shape[1]), np.uint64)
    for column, numbers in enumerate([counts.counts, *draws.T]):
        np.add.at(table[:, column], ids, np.repeat(numbers, repeats))
    return table


def word_lengths(counts: WordCounts) -> NDArray[np.uint64]:
    """Characters of each word (bytes in byte-level mode)."""
    if counts.rule.mode.byte_level:
        return np.diff(counts.offsets)
    starts = np.concatenate([[0], np.cumsum((counts.text & 0xC0) != 0x80)])
    return np.diff(starts[counts.offsets.astype(np.int64)]).astype(np.uint64)


def token_lengths(vocabulary: Vocabulary, tokens: Sequence[Token]) -> NDArray[np.int64]:
    """Characters of text in each token (bytes in byte-level mode); 0 for those that spell none."""
    code = "latin-1" if vocabulary.rule.mode.byte_level else "utf-8"
    texts = [vocabulary.plain_text(token.text) if _spells(token) else b"" for token in tokens]
    return np.array([len(text.decode(code)) for text in texts], np.int64)


def _spells(token: Token) -> bool:
    return token.kind in ("character", "merged", "piece")


def _parents(tokenizer: Tokenizer) -> dict[int, tuple[int, int]]:
    """The two tokens of the pool that each merged token comes from, if it ever comes."""
    vocabulary = tokenizer.vocabulary
    pool = vocabulary.pool
    if vocabulary.merge_rule == "concat":
        number_of = {token.text: i for i, token in enumerate(pool) if _spells(token)}
        pairs = {
            number_of[text]: (number_of[left], number_of[right])
            for text, (left, right) in last_pairs(vocabulary).items()
        }
    else:
        pairs = {i: token.parents for i, token in enumerate(pool) if token.parents is not None}
    never = set(find_unreachable(tokenizer))
    return {i: pair for i, pair in pairs.items() if i not in never}


def _by_rank(pool: list[Token], parents: dict[int, tuple[int, int]]) -> list[int]:
    """Merged tokens by rank; a token whose parents have a higher rank (there are such under rule
    `concat`) comes behind them."""
    ready: dict[int, int] = {}
    for i in sorted(parents, key=lambda i: len(pool[i].text)):  # parents are shorter
        ready[i] = max(pool[i].rank, *(ready.get(part, -1) for part in parents[i]))
    return sorted(parents, key=lambda i: (ready[i], len(pool[i].text), pool[i].rank))


def _drawn_unknown(
    vocabulary: Vocabulary, table: NDArray[np.uint64], unknown: int
) -> NDArray[np.uint64]:
    kinds = np.array([token.kind == "byte" for token in vocabulary.tokens])
    if vocabulary.unknown_id is not None:
        kinds[vocabulary.unknown_id] = True
    tokens = table[kinds].sum(axis=0).astype(np.float64)
    drawn: NDArray[np.float64] = np.rint(tokens[1:] * (unknown / max(1.0, tokens[0])))
    return drawn.astype(np.uint64)
