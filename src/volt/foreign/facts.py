"""What there is to know about somebody's tokenizer without a text."""

from __future__ import annotations

import os
from typing import Any

from volt.base.errors import VoltError
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
from volt.foreign.opening import open_engine
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

MARKS = {SPACE: SPACE_MARK, BYTES: "a letter per byte", INNER: INNER_MARK, WORD_END: END_MARK,
         UNMARKED: "none"}  # fmt: skip
"""How marks are shown to people."""


def tokenizer_facts(path: str | os.PathLike[str], pattern: str | None = None) -> dict[str, Any]:
    """Plain data about a tokenizer of any toolkit."""
    opened = open_engine(path, pattern=pattern)
    engine = opened.engine
    texts = [data for data in engine.plain if data is not None]
    inner = _inner(engine)
    return {
        "kind": engine.kind,
        "size": engine.size,
        "tokens": {
            "named": len(engine.named),
            "byte": len(engine.byte_ids),
            "other": len(engine.spelled),
        },
        "ids_without_token": sum(name is None for name in engine.names),
        "part_of_a_character": len(engine.partial_ids),
        "longest_token": max((len(data.decode(errors="replace")) for data in texts), default=0),
        "marks": MARKS[engine.marks],
        "unknown": None if engine.unknown_id is None else engine.names[engine.unknown_id],
        "unreachable": None if inner is None else len(find_unreachable(Tokenizer(inner))),
        "merges": None if inner is None else inner.look_up is None,
        "encoded_by": engine.library,
        "notes": opened.messages,
    }


def _inner(engine: Engine) -> Vocabulary | None:
    """The model inside; None where volt does not know it."""
    try:
        return engine.inner().vocabulary
    except VoltError:
        return None
