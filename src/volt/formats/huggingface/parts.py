"""The parts of a `tokenizer.json` that volt writes and recognizes."""

from __future__ import annotations

from typing import Any

from volt.counting.marks import INNER_MARK, SPACE_MARK
from volt.counting.normalizers import CutPlace
from volt.counting.words import GPT2, STARCODER, Pretokenizer

ANY_LENGTH = 1_000_000_000
"""`max_input_chars_per_word` for words of any length."""

SPACE_TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE_MARK}
PREPEND_MARK = {"type": "Prepend", "prepend": SPACE_MARK}


def split_part(pattern: str, behavior: str = "Isolated", kind: str = "Regex") -> dict[str, Any]:
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": False}


SPLIT_AT_MARK = split_part(SPACE_MARK, "MergedWithNext", "String")
"""A token has a `▁` at its start only, so this changes nothing but the speed."""
SPLIT_AT_NOTHING = split_part(" ", "MergedWithPrevious", "String")
"""Gemma's: it comes after SPACE_TO_MARK, which leaves no space."""
SPLIT_AT_BLANKS = split_part(r"[ \t\r\n]+", "Removed")
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
DIGITS = {"type": "Digits", "individual_digits": True}
BYTES = BYTE_LEVEL | {"use_regex": False}
"""Writes bytes as letters and no more: after a split by another pattern than GPT-2's."""


def in_sequence(steps: list[dict[str, Any]], key: str = "pretokenizers") -> dict[str, Any] | None:
    """Several steps as one; None for none."""
    return {"type": "Sequence", key: steps} if len(steps) > 1 else steps[0] if steps else None


def whole_file(added: list[dict[str, Any]], **parts: Any) -> dict[str, Any]:
    """A `tokenizer.json` of these parts; without others it cuts nothing and reads byte letters."""
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": BYTE_LEVEL,
        **parts,
    }  # fmt: skip


def bert_parts(vocab: dict[str, int], **normalizer: Any) -> dict[str, Any]:
    """The parts of a BERT tokenizer; `normalizer` has settings that are not the usual ones."""
    usual = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
             "lowercase": True}  # fmt: skip
    return {
        "normalizer": {"type": "BertNormalizer", **usual, **normalizer},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": INNER_MARK, "cleanup": False},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab,
                  "continuing_subword_prefix": INNER_MARK, "max_input_chars_per_word": 100},
    }  # fmt: skip


def cutting_parts(mode: Pretokenizer) -> list[dict[str, Any]]:
    """The steps of a pre-tokenizer that cuts bytes by patterns."""
    if mode.patterns == (GPT2,):
        return [BYTE_LEVEL]
    if mode.patterns == STARCODER:
        return [DIGITS, BYTE_LEVEL]
    return [*map(split_part, mode.patterns), BYTES]


def metaspace_part(scheme: str, split: bool = True) -> dict[str, Any]:
    return {
        "type": "Metaspace", "replacement": SPACE_MARK, "prepend_scheme": scheme, "split": split,
    }  # fmt: skip


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
