"""How many tokens a text has, and how much of it fits into some number of tokens."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from volt.base.arguments import fits
from volt.base.errors import SettingsError

if TYPE_CHECKING:
    from volt.tokenizing.tokenizer import AllowedSpecial, Tokenizer

_SURE = re.compile(r"[!-~] ")
"""A visible ASCII character and a space: between them a word surely ends, in every kind of text."""
MOST_CHARACTERS = 8
"""Of a token, on average, in the first part of the text that is looked at."""
LOOK_AHEAD = 16
"""Places after the expected one that are tried where no word surely ends."""
LOOK_BACK = 256
"""Characters that are counted again to see how a prefix is encoded by itself."""
SPARE = 64
"""Tokens that are left for the part in which the end is looked for."""


def truncate(
    tokenizer: Tokenizer, text: str, max_tokens: int, allowed_special: AllowedSpecial = ()
) -> str:
    """See `Tokenizer.truncate`."""
    if not fits(max_tokens, int) or max_tokens < 0:
        raise SettingsError(f"`max_tokens` must be a whole number of at least 0, not {max_tokens}")
    allowed = tokenizer.special_names(allowed_special)
    cuts = not allowed and _has_sure_places(tokenizer)
    if cuts:
        known, before = _surely_kept(tokenizer, text, max_tokens)
        start = _after_added_space(tokenizer, known)
        rest = text[start : start + MOST_CHARACTERS**2 * (max_tokens - before + 8)]
        kept = _truncated(tokenizer, rest, max_tokens - before, allowed, cuts)
        found = known == 0 or len(kept) > 1
        if found and (len(kept) < len(rest) or start + len(rest) == len(text)):
            return text[:start] + kept
    return _truncated(tokenizer, text, max_tokens, allowed, cuts)


def _surely_kept(tokenizer: Tokenizer, text: str, most: int) -> tuple[int, int]:
    """Where a word surely ends, with at least SPARE fewer tokens before it than fit, and how many
    these are. What was counted is not counted again, unless it was too much."""
    known = before = 0
    reach = 2 * (most - SPARE)
    while reach > 4 * SPARE:
        place = _SURE.search(text, known + reach, known + reach + LOOK_BACK)
        if place is None:
            reach //= 2
            continue
        stop = place.start() + 1
        part = tokenizer.count(text[_after_added_space(tokenizer, known) : stop])
        if before + part + SPARE > most:
            reach //= 2
            continue
        known, before = stop, before + part
        reach = (most - SPARE - before) * known * 9 // (before * 10 + 1)
    return known, before


def _after_added_space(tokenizer: Tokenizer, known: int) -> int:
    """Where a text that goes on at `known` starts: what is counted gets its space back."""
    return known + (tokenizer.vocabulary.adds_space and known > 0)


def _truncated(
    tokenizer: Tokenizer, text: str, max_tokens: int, allowed: frozenset[str], cuts: bool
) -> str:
    end = MOST_CHARACTERS * (max_tokens + 8)
    while cuts and end < len(text):
        # Only a part of the text, if that surely has more tokens.
        place = _SURE.search(text, end)
        if place is None:
            break
        part = text[: place.start() + 1]
        if tokenizer.count(part) > max_tokens:
            text = part
            break
        end = 2 * len(part)
    if tokenizer.count(text, allowed_special=allowed) <= max_tokens:
        return text
    return _longest(tokenizer, text, max_tokens, allowed, cuts)


def _longest(
    tokenizer: Tokenizer, text: str, most: int, allowed: frozenset[str], cuts: bool
) -> str:
    """The longest prefix that ends where a token ends, and has at most `most` tokens by itself.

    The first tokens of a text are those of its prefix, except in the word that is cut, and in what
    depends on it. So the places tried are those around the end of token `most`, the last first.
    """
    _, spans = tokenizer.encode_with_offsets(text, allowed_special=allowed)
    ends = [0]
    for number, (_, end) in enumerate(spans):
        # Tokens that are parts of one character all have its span: only the last one ends.
        last = number + 1 == len(spans) or spans[number + 1][0] >= end
        if last and end > ends[-1]:
            ends.append(end)
    # The end of the last token that fits, if every token stays as it is.
    at = spans[min(most, len(spans)) - 1][1] if most else 0
    place = _SURE.search(text, max(at - 1, 0)) if cuts else None
    if cuts:
        # A prefix beyond the next word that surely ends has more tokens.
        stop = len(text) if place is None else place.start() + 1
        known = _last_sure(text, at)
    else:
        stop, known = ends[min(bisect_left(ends, at) + LOOK_AHEAD, len(ends) - 1)], 0
    before = tokenizer.count(text[:known])
    for end in reversed(ends[: bisect_right(ends, stop)]):
        if end <= known + 1:
            known = _last_sure(text, end) if cuts else 0
            before = tokenizer.count(text[:known])
        part = text[_after_added_space(tokenizer, known) : end]
        if before + tokenizer.count(part, allowed_special=allowed) <= most:
            return text[:end]
    return ""


def _last_sure(text: str, end: int) -> int:
    """The start of a word before `end` that is surely one, or 0."""
    reach = LOOK_BACK
    while True:
        start = max(end - reach, 0)
        places = [found.start() + 1 for found in _SURE.finditer(text, start, max(end - 1, 0))]
        if places:
            return places[0]
        if start == 0:
            return 0
        reach *= 4


def _has_sure_places(tokenizer: Tokenizer) -> bool:
    """Does a word surely end before a space, and does what comes before not change what comes
    after?"""
    vocabulary = tokenizer.vocabulary
    return (
        vocabulary.normalizer is None
        and vocabulary.rule.normalize == "none"
        and not vocabulary.of_kind("symbol")
        and not vocabulary.fuse_unknown
        and not (vocabulary.look_up is not None and vocabulary.look_up.restart == "text")
    )
