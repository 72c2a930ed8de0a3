"""Words as symbols of an alphabet with marks, and the pieces that a source names over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from volt.counting.marks import INNER, UNKNOWN, WORD_END, Marks
from volt.proposing.merges import MergeCandidates
from volt.proposing.pieces import CURVE_SIZES, LearnedPieces, LookUpEncoding, measure_pieces
from volt.proposing.proposal import Proposal, SourceChoice


@dataclass(frozen=True, eq=False)
class Spelling:
    """The words as symbols of the alphabet: word w is `symbols[offsets[w]:offsets[w + 1]]`."""

    alphabet: MergeCandidates
    """Without any merge."""
    symbols: NDArray[np.uint32]
    offsets: NDArray[np.uint64]
    marks: Marks


def spell(proposal: Proposal) -> Spelling:
    """The words in the alphabet that `coverage` asks for. With `</w>` the last character of a word
    is another symbol, with `##` all but the first are."""
    from volt.proposing.sources.bpe import learn_merges

    counts = proposal.counts
    marks = counts.rule.mode.marks
    if marks is WORD_END and proposal.encoding == "longest":
        marks = INNER
    plain = learn_merges(replace(proposal, source=SourceChoice("bpe", 0)))
    if counts.rule.mode.byte_level:
        return Spelling(plain, counts.text.astype(np.uint32), counts.offsets, marks)
    text = counts.text.tobytes().decode()
    letters = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
    offsets = counts.character_offsets
    flags = np.zeros(len(letters), np.int64)
    if marks is WORD_END:
        flags[offsets[1:] - 1] = 1
    elif marks is INNER:
        flags[:] = 1
        flags[offsets[:-1]] = 0
    keys = 2 * letters + flags
    covered = {ord(text[0]) for text in plain.tokens if text != UNKNOWN}
    found, symbols = np.unique(keys, return_inverse=True)
    inside = np.isin(found >> 1, np.array(sorted(covered), np.int64))
    number_of = np.where(inside, np.cumsum(inside) - 1, int(inside.sum()))
    symbols = number_of[symbols.ravel()].astype(np.uint32)
    texts = [_symbol(key, marks) for key in found[inside].tolist()]
    unknown = None
    if not inside.all():
        unknown = len(texts)
        texts.append(UNKNOWN)
    totals = np.zeros(len(texts), np.uint64)
    np.add.at(totals, symbols, np.repeat(counts.counts, np.diff(offsets)))
    alphabet = replace(
        plain, tokens=texts, lengths=np.ones(len(texts), np.uint32), alphabet_counts=totals,
        unknown=unknown, whole_words=None,
    )  # fmt: skip
    return Spelling(alphabet, symbols, offsets.astype(np.uint64), marks)


def _symbol(key: int, marks: Marks) -> str:
    """A character, and whether it is the last (`</w>`) or not the first (`##`) of a word."""
    marked = bool(key & 1)
    return (
        marks.spell(chr(key >> 1), starts=not marked, ends=marked)[0] if marked else chr(key >> 1)
    )


def marked_again(texts: Sequence[str], marks: Marks) -> list[str]:
    """Tokens of a BPE run in the marks of the pieces; both ways where a piece must say whether it
    starts a word."""
    if marks is not INNER:
        return list(texts)
    return [marked for text in texts for marked in marks.spell(WORD_END.strip(text))]


def piece_candidates(
    proposal: Proposal,
    name_tokens: Callable[[Spelling], Iterable[str]],
    messages: Sequence[str] | None = None,
) -> LearnedPieces:
    """The tokens that a source names for these words, as candidates that are looked up.

    `messages` says what there is to know about them; by default whether there are fewer than asked.
    """
    spelled = spell(proposal)
    texts, lengths = usable(name_tokens(spelled), spelled, proposal.max_token_length)
    alphabet = spelled.alphabet
    found = LearnedPieces(
        rule=alphabet.rule,
        tokens=[*alphabet.tokens, *texts],
        lengths=np.array([*alphabet.lengths.tolist(), *lengths], np.uint32),
        alphabet_size=len(alphabet),
        encoding=cast(LookUpEncoding, proposal.encoding),
        unknown=alphabet.unknown,
        left_out=alphabet.left_out,
        unit=alphabet.unit,
        fixed_rows=alphabet.fixed_rows,
        words=proposal.counts,
        marks=spelled.marks,
        threads=proposal.threads,
    )
    told = proposal.told(len(texts), "candidates") if messages is None else tuple(messages)
    if not proposal.measured:
        return replace(found, messages=told)
    with proposal.progress.stage("Cutting words", CURVE_SIZES, "sizes") as report:
        found = measure_pieces(found, report)
    unused = len(alphabet) + len(texts) - len(found)
    if unused:
        told = (*told, f"{unused:,} of {len(texts):,} candidates occur in no word that is cut with "
                "all of them: left out")  # fmt: skip
    return replace(found, messages=told)


def usable(
    texts: Iterable[str], spelled: Spelling, max_token_length: int | None
) -> tuple[list[str], list[int]]:
    """Each text once, with its length, that has more than one character, all of the alphabet, and
    that does not read like a mark."""
    known = set(spelled.alphabet.tokens) - {UNKNOWN}
    found: dict[str, int] = {}
    for text in texts:
        symbols = spelled.marks.symbols(text)
        length = len(symbols)
        if (
            1 < length <= (max_token_length or length)
            and text != UNKNOWN
            and known.issuperset(symbols)
        ):
            found[text] = length
    return list(found), list(found.values())
