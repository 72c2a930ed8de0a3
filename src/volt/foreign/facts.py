"""What there is to know about somebody's tokenizer without a text."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from volt.base.errors import VoltError
from volt.base.gate import named
from volt.counting.marks import (
    BYTES,
    END_MARK,
    INNER,
    INNER_MARK,
    SPACE,
    SPACE_MARK,
    UNMARKED,
    WORD_END,
)
from volt.foreign.base import Engine
from volt.foreign.engine_choice import open_engine
from volt.foreign.volt_engine import Native
from volt.formats.detect import identify, not_read
from volt.formats.exchange import import_vocabulary
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.residues import certain_residues
from volt.tokenizing.roles import NAMED
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

MARKS = {
    SPACE: f"{SPACE_MARK} for a space", BYTES: "a letter per byte, Ġ for a space",
    INNER: f"{INNER_MARK} inside a word", WORD_END: f"{END_MARK} at the end of a word",
    UNMARKED: "none",
}  # fmt: skip
"""How marks are shown to people."""


def tokenizer_facts(path: str | os.PathLike[str], pattern: str | None = None) -> dict[str, Any]:
    """Plain data about a tokenizer of any toolkit."""
    opened = open_engine(path, pattern=pattern)
    engine = opened.engine
    texts = [data for data in engine.plain if data is not None]
    single = 0  # a byte-level tokenizer has bytes among its tokens of text
    if engine.marks is BYTES:
        single = sum(data is not None and len(data) == 1 for data in engine.plain)
        single -= len(engine.byte_ids)
    inner = _inner(engine)
    how: dict[str, Any] = {
        "encoding": None if inner is None else inner.encoding,
        "unknown": None if engine.unknown_id is None else engine.names[engine.unknown_id],
        "special_tokens": engine.named_texts,
    }
    if (place := named(path)).is_dir() and (beside := not_read(identify(place))):
        opened.engine.messages.append(f"also here, not read: {', '.join(beside)}")
    signature = None
    if isinstance(engine, Native):
        with suppress(VoltError):  # it can be encoded with, and not be converted
            vocabulary, _ = import_vocabulary(path, pattern=pattern)
            how, signature = vocabulary_facts(vocabulary), vocabulary.signature
            del how["reads"]  # what is imported may read lines, the file itself does not say
    return {
        "kind": engine.kind,
        "size": engine.size,
        "tokens": {
            "special_or_added": len(engine.named),
            "byte": len(engine.byte_ids) + single,
            "other": len(engine.spelled) - single,
        },
        "ids_without_token": sum(name is None for name in engine.names),
        "part_of_a_character": len(engine.partial_ids),
        "longest_token": max((len(data.decode(errors="replace")) for data in texts), default=0),
        "marks": MARKS[engine.marks],
        "unreachable": None if inner is None else len(find_unreachable(Tokenizer(inner))),
        "certain_residues": None
        if inner is None or inner.look_up
        else len(certain_residues(inner)),
        "merges": None if inner is None else inner.look_up is None,
        "encoded_by": engine.library,
        **how,
        "notes": opened.messages,
        "signature": signature or None,
    }


def vocabulary_facts(vocabulary: Vocabulary) -> dict[str, Any]:
    """How a vocabulary cuts text, and what its special tokens are for."""
    rule, roles, texts = vocabulary.rule, vocabulary.roles, vocabulary.texts
    before, after = ([texts[i] for i in some] for some in vocabulary.around)
    return {
        "pretokenizer": rule.pretokenizer,
        "reads": f"{rule.reads}s",
        "normalize": rule.normalize,
        "normalizer": vocabulary.normalizer and vocabulary.normalizer.summary,
        "unicode": rule.unicode,
        "encoding": vocabulary.encoding,
        "merge_rule": vocabulary.merge_rule,
        "unknown": vocabulary.unknown,
        "special_tokens": vocabulary.of_kind("special"),
        **{role: vocabulary.role(role) for role in NAMED},
        "around_a_text": " ".join([*before, "TEXT", *after]) if before or after else None,
        "chat_template": None if roles.chat is None else True,
        "max_length": roles.max_length,
    }


def _inner(engine: Engine) -> Vocabulary | None:
    """The model inside; None where volt does not know it."""
    try:
        return engine.inner().vocabulary
    except VoltError:
        return None
