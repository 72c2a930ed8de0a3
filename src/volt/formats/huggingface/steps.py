"""The steps of normalizers as `tokenizer.json` spells them, both ways."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from volt.base.errors import InputError
from volt.counting.character_map import character_map
from volt.counting.normalizers import (
    Bert,
    Form,
    Lowercase,
    Nmt,
    NormalizerStep,
    Precompiled,
    Replace,
    ReplaceSpaces,
    Strip,
    StripAccents,
)

Data = dict[str, Any]

MANY_SPACES = " {2,}"

PLAIN: dict[Any, type[NormalizerStep]] = {
    "Lowercase": Lowercase, "StripAccents": StripAccents, "Nmt": Nmt,
}  # fmt: skip
"""The steps without settings."""
WRITTEN: dict[type[NormalizerStep], Callable[[Any], Data]] = {
    Bert: lambda step: {"type": "BertNormalizer", **asdict(step)},
    Form: lambda step: {"type": step.form},
    **{step: lambda step: {"type": type(step).__name__} for step in PLAIN.values()},
    Strip: lambda step: {"type": "Strip", "strip_left": step.left, "strip_right": step.right},
    Replace: lambda step: _replace("String", step.text, step.by),
    ReplaceSpaces: lambda step: _replace("Regex", MANY_SPACES, step.by),
    Precompiled: lambda step: {
        "type": "Precompiled",
        "precompiled_charsmap": base64.b64encode(step.table).decode(),
    },
}
"""The steps that Hugging Face has too."""


def _replace(kind: str, pattern: str, by: str) -> Data:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": by}


def read_step(data: Data) -> NormalizerStep:
    """A step of the file; what volt can't do is an InputError."""
    kind = data.get("type")
    if kind == "BertNormalizer":
        lowercase = _flag(data, "lowercase")
        accents = lowercase if data.get("strip_accents") is None else _flag(data, "strip_accents")
        clean, chinese = _flag(data, "clean_text"), _flag(data, "handle_chinese_chars")
        return Bert(clean, chinese, accents, lowercase)
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        return Form(kind)
    if kind in PLAIN:
        return PLAIN[kind]()
    if kind == "Strip":
        return Strip(_flag(data, "strip_left"), _flag(data, "strip_right"))
    if kind == "Precompiled":
        return _precompiled(data)
    pattern, by = data.get("pattern"), data.get("content")
    if kind == "Replace" and isinstance(pattern, dict) and isinstance(by, str):
        if pattern == {"Regex": MANY_SPACES}:
            return ReplaceSpaces(by)
        if isinstance(pattern.get("String"), str) and pattern["String"]:
            return Replace(pattern["String"], by)
    raise InputError(f"volt has no step {json.dumps(data, ensure_ascii=False)[:80]}")


def _flag(data: Data, key: str) -> bool:
    found = data.get(key, True)
    if not isinstance(found, bool):
        raise InputError(f"{key}: neither true nor false")
    return found


def _precompiled(data: Data) -> Precompiled:
    try:
        table = base64.b64decode(str(data.get("precompiled_charsmap")), validate=True)
    except (binascii.Error, ValueError):
        raise InputError("precompiled_charsmap: not base64") from None
    character_map(table)
    return Precompiled(table)
