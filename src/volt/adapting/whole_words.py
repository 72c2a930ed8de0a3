"""Models of words and of characters: a word is one token, or unknown.

Nothing is made of parts there. Refit keeps the tokens that the text uses, and extend adds the words
or characters that the tokenizer lacks, the most frequent ones first.
"""

from __future__ import annotations

from collections import Counter

from volt.base.errors import InputError, SettingsError
from volt.foreign.base import Added, Engine

NUL = "\0"
"""The end of a text to SentencePiece, which reads no file with a token that contains it."""


def kept_tokens(
    engine: Engine, used: Counter[str], pinned: frozenset[int], size: int | None
) -> set[int]:
    """The ids that stay: those of the text or, with `size`, its most frequent ones; of equals the
    first. Special tokens and bytes always stay."""
    always = {*engine.named, *engine.byte_ids, *pinned, engine.unknown_id}
    rest = [i for i, name in enumerate(engine.names) if name is not None and i not in always]
    rest.sort(key=lambda i: (-used[engine.names[i] or ""], i))
    least = engine.size - len(rest)
    if size is None:
        size = least + sum(used[engine.names[i] or ""] > 0 for i in rest)
    if not least <= size <= engine.size:
        raise SettingsError(
            f"`size={size}`: {least:,} tokens always stay, and the tokenizer has {engine.size:,}"
        )
    return {*range(engine.size)} - {*rest[size - least :]}


def new_tokens(engine: Engine, used: Counter[str], add: int, min_frequency: int) -> list[Added]:
    """The most frequent words or characters that the tokenizer lacks."""
    known = {*engine.names}
    found = [word for word, number in used.items()
             if number >= min_frequency and word not in known and NUL not in word]  # fmt: skip
    if len(found) < add:
        raise InputError(
            f"the text has only {len(found):,} {kinds_of(engine)} that the tokenizer lacks and "
            f"that occur {min_frequency} times or more: lower `add`, which is {add:,}, or give "
            "more text"
        )
    found.sort(key=lambda word: (-used[word], word))
    return [Added(word, _parts(engine, word)) for word in found[:add]]


def _parts(engine: Engine, word: str) -> tuple[int, ...]:
    """What a new token was before: bytes, or unknown."""
    if engine.byte_ids:
        number_of = {engine.plain[i]: i for i in engine.byte_ids}
        return tuple(number_of[bytes([byte])] for byte in word.encode())
    return () if engine.unknown_id is None else (engine.unknown_id,)


def kinds_of(engine: Engine) -> str:
    return "characters" if all(len(name) == 1 for name in engine.spelled) else "words"


def what_is_lost(engine: Engine) -> str:
    what, now = kinds_of(engine), "spelled in bytes" if engine.byte_ids else "unknown"
    return f"a model of {what}: the {what} that were dropped are {now} from now on"


def what_is_new(engine: Engine) -> str:
    what = kinds_of(engine)
    return f"a model of {what} merges nothing: the new tokens are {what} that it lacked"
