"""The parts of a `tokenizer.json` that volt writes and recognizes."""

from __future__ import annotations

from typing import Any

from volt.counting.marks import SPACE_MARK
from volt.counting.normalizers import CutPlace
from volt.counting.words import GPT2, STARCODER, Pretokenizer

ANY_LENGTH = 1_000_000_000
"""`max_input_chars_per_word` for words of any length."""

SPACE_TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE_MARK}
PREPEND_MARK = {"type": "Prepend", "prepend": SPACE_MARK}
SPLIT_AT_MARK = {
    "type": "Split",
    "pattern": {"String": SPACE_MARK},
    "behavior": "MergedWithNext",
    "invert": False,
}
"""A token has a `▁` at its start only, so this changes nothing but the speed."""
SPLIT_AT_BLANKS = {
    "type": "Split",
    "pattern": {"Regex": r"[ \t\r\n]+"},
    "behavior": "Removed",
    "invert": False,
}
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
DIGITS = {"type": "Digits", "individual_digits": True}
BYTES = BYTE_LEVEL | {"use_regex": False}
"""Writes bytes as letters and no more: after a split by another pattern than GPT-2's."""


def cutting_parts(mode: Pretokenizer) -> list[dict[str, Any]]:
    """The steps of a pre-tokenizer that cuts bytes by patterns."""
    if mode.patterns == (GPT2,):
        return [BYTE_LEVEL]
    if mode.patterns == STARCODER:
        return [DIGITS, BYTE_LEVEL]
    return [*map(split_part, mode.patterns), BYTES]


def split_part(pattern: str) -> dict[str, Any]:
    return {
        "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False,
    }  # fmt: skip


def metaspace_part(scheme: str, split: bool = True) -> dict[str, Any]:
    return {
        "type": "Metaspace", "replacement": SPACE_MARK, "prepend_scheme": scheme, "split": split,
    }  # fmt: skip


SPLIT_AT_NOTHING = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
"""Gemma's: it comes after SPACE_TO_MARK, which leaves no space."""
WHOLE: dict[CutPlace, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "prepend": ([PREPEND_MARK, SPACE_TO_MARK], []),
    "spaces": ([SPACE_TO_MARK], []),
    "whole": ([], [metaspace_part("always", split=False)]),
    "whole-first": ([], [metaspace_part("first", split=False)]),
}
"""The last normalizers, and the pre-tokenizers, that leave runs of spaces whole."""
CUTS: dict[CutPlace, list[dict[str, Any]]] = {
    "bert": [{"type": "BertPreTokenizer"}],
    "blanks": [{"type": "WhitespaceSplit"}],
    "words": [{"type": "Whitespace"}],
    "metaspace": [metaspace_part("always")],
    "metaspace-first": [metaspace_part("first")],
    "blanks-metaspace": [{"type": "WhitespaceSplit"}, metaspace_part("always")],
    "spaces": [metaspace_part("never")],
    "bytes": [BYTE_LEVEL],
    "bytes-prefix": [BYTE_LEVEL | {"add_prefix_space": True}],
}
