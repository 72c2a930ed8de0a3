"""Reasons to refuse a vocabulary, and notes about one, that several formats share.

Each function yields a reason, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from volt.counting.marks import SPACE_MARK
from volt.tokenizing.vocabulary import LookUp, Vocabulary

UNKNOWN_PENALTY = 10.0
"""How far the score of an unknown character is below the lowest score, in SentencePiece and in
Hugging Face."""

INSTEAD = "compare, verify, refit and extend take it as it is"
"""What works where a file can't be converted."""


def normalization(vocabulary: Vocabulary, toolkit: str) -> Iterator[str]:
    if vocabulary.normalizer is not None:
        yield (
            f"a {toolkit} file can't say how text is normalized first "
            f"({vocabulary.normalizer.summary})"
        )
    form = vocabulary.rule.normalize
    if form != "none":
        yield (
            f"a {toolkit} file can't say that text is normalized first ({form}); "
            "learn with `normalize='none'`"
        )


def whole_words(vocabulary: Vocabulary, toolkit: str) -> Iterator[str]:
    if vocabulary.whole_words:
        yield (
            f"{toolkit} only merges, and this vocabulary has tokens for whole words that no merges "
            "lead to"
        )


def unknown_score(vocabulary: Vocabulary, toolkit: str, lowest: float) -> Iterator[str]:
    found = vocabulary.look_up.unknown_score if vocabulary.look_up is not None else 0.0
    if abs(found - (lowest - UNKNOWN_PENALTY)) > 1e-5:  # in 32 bits it is rounded
        yield (
            f"in {toolkit} the score of an unknown character is {UNKNOWN_PENALTY:g} below the "
            f"lowest ({lowest:g}), here it is {found:g}"
        )


def symbols(vocabulary: Vocabulary, toolkit: str) -> Iterator[str]:
    found = vocabulary.of_kind("symbol")
    if found:
        yield (
            f"a {toolkit} file has no place for symbols that are never split ({found[0]!r}); "
            "learn without `symbols`"
        )


def space_mark(vocabulary: Vocabulary, toolkit: str) -> Iterator[str]:
    if not vocabulary.rule.mode.space_before:
        return
    if SPACE_MARK not in vocabulary.ids:
        yield (
            f"the vocabulary has no `▁`, which {toolkit} writes for a space; learn from more text, "
            "or with a higher `coverage`"
        )
    for name in [*vocabulary.of_kind("special"), *vocabulary.of_kind("symbol")]:
        if SPACE_MARK in name or name.startswith(" "):
            yield (
                f"{toolkit} would take the space in {name!r} for the one before a word; "
                "choose another name"
            )


def one_unknown(vocabulary: Vocabulary, toolkit: str) -> Iterator[str]:
    if vocabulary.unknown == "unk" and not vocabulary.fuse_unknown:
        yield (
            f"{toolkit} makes one unknown token of a run of unknown characters, volt one of each; "
            "learn with `unknown='byte'`"
        )
    if vocabulary.unknown_token not in vocabulary.of_kind("special"):
        yield f"{toolkit} needs the special token {vocabulary.unknown_token}"


def rounding(vocabulary: Vocabulary, toolkit: str, adds: LookUp) -> Iterator[str]:
    """A note: sums of scores are rounded in another way."""
    look_up = vocabulary.look_up
    if look_up is None or vocabulary.encoding != "unigram":
        return
    mine, theirs = (look_up.arithmetic, look_up.restart), (adds.arithmetic, adds.restart)
    exact = all((token.score * 1024).is_integer() for token in vocabulary.tokens)
    if mine != theirs and not exact:
        yield (
            f"{toolkit} adds scores with other rounding errors: if two ways to cut a word are "
            "nearly equal, it may take the other one (not if scores are multiples of 1/1024)"
        )


def added(vocabulary: Vocabulary, toolkit: str, how: str) -> Iterator[str]:
    """A file that can't say that `bos` and `eos` go around a text."""
    if vocabulary.roles.add_bos or vocabulary.roles.add_eos:
        yield f"{toolkit} adds bos and eos where it is asked for them: {how}"
