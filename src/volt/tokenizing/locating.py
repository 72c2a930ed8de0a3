"""Where the tokens of a text are, also through a normalizer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from volt.tokenizing.alignment import original_spans
from volt.tokenizing.encoder import lone_surrogate
from volt.tokenizing.offsets import Span, fused, token_spans

if TYPE_CHECKING:
    from volt.tokenizing.tokenizer import Tokenizer


def located(
    tokenizer: Tokenizer, text: str, allowed: frozenset[str]
) -> tuple[list[int], list[Span], str, list[Span]]:
    """Ids and their spans, then the text after normalization and the spans in that."""
    vocabulary = tokenizer.vocabulary
    if tokenizer._normalizes:
        apply = partial(tokenizer._normalized, allowed=allowed)
        made = apply(text)
        ids, spans, _, _ = located(tokenizer._bare, made, allowed)
        origin = spans if made == text else original_spans(text, made, apply, spans)
        return ids, origin, made, spans
    tokenizer._normalized(text)  # checks it
    if vocabulary.fuse_unknown:
        ids, spans, _, _ = located(tokenizer._apart, text, allowed)
        ids, spans = fused(ids, spans, vocabulary.unknown_id)
        return ids, spans, text, spans
    try:
        ids = (
            tokenizer._encoder.encode(text, tokenizer._allowed(allowed), 0.0, 0)
            if tokenizer._cuts is None
            else tokenizer._encode_custom(text, allowed, 0.0, 0)
        )
    except UnicodeEncodeError as error:
        raise lone_surrogate("the text", error) from None
    between = parts_between(tokenizer, text, allowed)
    spans = token_spans(vocabulary, tokenizer._decoder.pieces, text, ids, allowed, between)
    return ids, spans, text, spans


def parts_between(tokenizer: Tokenizer, text: str, allowed: frozenset[str]) -> list[str]:
    """The parts of a text between names, and the names: every other one."""
    names = tokenizer._name_pattern(allowed)
    return names.split(text) if names else [text]
