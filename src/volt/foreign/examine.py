"""What is looked at before a library gets a file: sizes, references, and how far it expands a text.

Libraries trust their files. A normalizer of thirty steps that each write a letter twice makes a
gigabyte of one letter; an id of four billion makes a table of that size.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from volt.base.errors import InputError
from volt.counting.character_map import character_map
from volt.formats.huggingface.file import TokenizerJson
from volt.tokenizing.schemas import MOST_TOKENS

MOST_EXPANSION = 1000
"""Bytes that the steps of a normalizer, or of a decoder, may make of one byte, at most."""
LONGEST_PATTERN = 20_000
"""Characters of a regular expression."""
MOST_STEPS = 100
MOST_DEPTH = 8
UNICODE_EXPANSION = {"NFC": 3.0, "NFD": 3.0, "NFKC": 11.0, "NFKD": 11.0, "Lowercase": 1.5,
                     "ByteLevel": 2.0, "BertNormalizer": 4.0}  # fmt: skip
"""The most that one byte becomes, by the tables of Unicode: the three bytes of U+FDFA are 33 in
NFKC. Steps that are not here write no more than they read, or, like Metaspace, only once more."""

Data = dict[str, Any]


def examine_tokenizer_json(file: TokenizerJson) -> None:
    """Refuse a `tokenizer.json` that its library must not get."""
    name, data = file.name, file.head
    if file.columns is None:
        _references(name, data["model"])
    reading = [*_steps(name, data.get("normalizer")), *_steps(name, data.get("pre_tokenizer"))]
    for part, steps in {
        "normalizer": reading,
        "decoder": _steps(name, data.get("decoder")),
    }.items():
        grows = expansion(name, steps)
        if grows > MOST_EXPANSION:
            raise InputError(
                f"{name}: {part}: its steps can make {grows:,.0f} bytes of one (more than "
                f"{MOST_EXPANSION:,}): not given to a library"
            )
    for step in _steps(name, data.get("post_processor")):
        for template in (step.get("single"), step.get("pair")):
            if isinstance(template, list) and len(template) > MOST_STEPS:
                raise InputError(f"{name}: post_processor: more than {MOST_STEPS} parts")


def _references(name: str, model: Data) -> None:
    """What names tokens names some that are there."""
    vocab, unknown = model["vocab"], model.get("unk_id")
    if isinstance(vocab, list):
        if unknown is not None and (type(unknown) is not int or not 0 <= unknown < len(vocab)):
            raise InputError(f"{name}: model.unk_id: {str(unknown)[:40]!r} is not a token")
        return
    for number, merge in enumerate(model.get("merges") or []):
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if pair[0] not in vocab or pair[1] not in vocab:
            raise InputError(
                f"{name}: model.merges[{number}]: {str(merge)[:60]!r} is not a pair of tokens"
            )


def expansion(name: str, steps: list[Data]) -> float:
    """The most bytes that the steps, one after the other, can make of a text of one byte. Of longer
    texts they make less per byte."""
    factor, once = 1.0, 0.0  # n bytes become at most factor * n + once
    for step in steps:
        times, more = _growth(name, step)
        factor, once = factor * times, once * times + more
    return factor + once


def _growth(name: str, step: Data) -> tuple[float, int]:
    """What a step makes of each byte, and the bytes that it adds to a text once."""
    kind = step.get("type")
    if kind == "Prepend":
        before = step.get("prepend")
        return 1.0, _size(before) if isinstance(before, str) else 0
    if kind == "Replace":
        pattern, by = step.get("pattern"), step.get("content")
        if not isinstance(pattern, dict) or not isinstance(by, str):
            raise InputError(f"{name}: normalizer: a Replace without a pattern and content")
        if isinstance(text := pattern.get("String"), str) and text:
            return max(1.0, _size(by) / _size(text)), 0
        return 1.0 + _size(by), _size(by)  # a match may be empty, also at the end
    if kind in ("BPEDecoder", "CTC"):
        mark = step.get("suffix" if kind == "BPEDecoder" else "word_delimiter_token")
        return (1.0, 0) if mark else (2.0, 1)  # else a space goes everywhere
    if kind == "Precompiled":
        try:
            table = base64.b64decode(str(step.get("precompiled_charsmap") or ""), validate=True)
        except (binascii.Error, ValueError):
            raise InputError(f"{name}: normalizer: precompiled_charsmap: not base64") from None
        return character_map(table).expansion if table else 1.0, 0
    return UNICODE_EXPANSION.get(str(kind), 1.0), 0


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _steps(name: str, part: Any, depth: int = 0) -> list[Data]:
    """The steps of a part, nested ones too."""
    if part is None:
        return []
    if not isinstance(part, dict):
        raise InputError(f"{name}: {str(part)[:40]!r} is not a step")
    if depth > MOST_DEPTH:
        raise InputError(f"{name}: sequences inside sequences, more than {MOST_DEPTH} deep")
    pattern = part.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    if isinstance(regex, str) and len(regex) > LONGEST_PATTERN:
        raise InputError(f"{name}: a pattern of more than {LONGEST_PATTERN:,} characters")
    if part.get("type") != "Sequence":
        return [part]
    keys = ("normalizers", "pretokenizers", "processors", "decoders")
    inner: list[Any] = next((part[key] for key in keys if isinstance(part.get(key), list)), [])
    steps = [step for one in inner for step in _steps(name, one, depth + 1)]
    if len(steps) > MOST_STEPS:
        raise InputError(f"{name}: more than {MOST_STEPS} steps")
    return steps


def examine_sentencepiece(name: str, model: Any) -> None:
    """Refuse a parsed ModelProto that SentencePiece must not get."""
    if not model.pieces:
        raise InputError(f"{name}: not a SentencePiece model: it has no pieces")
    if len(model.pieces) > MOST_TOKENS:
        raise InputError(f"{name}: more than {MOST_TOKENS:,} pieces")
    unknown = sum(piece.type == 2 for piece in model.pieces)
    if unknown != 1:
        raise InputError(f"{name}: {unknown} unknown pieces; SentencePiece needs one")
    for number, piece in enumerate(model.pieces):
        if not piece.piece:
            raise InputError(f"{name}: pieces[{number}] is empty")
    for spec in (model.normalizer_spec, model.denormalizer_spec):
        table = bytes(spec.precompiled_charsmap)
        if table and character_map(table).expansion > MOST_EXPANSION:
            raise InputError(f"{name}: a rule of precompiled_charsmap makes more than "
                             f"{MOST_EXPANSION:,} bytes of one")  # fmt: skip
