"""What SentencePiece does to text first: rules that replace characters, and spaces."""

from __future__ import annotations

import re
from collections.abc import Mapping


def map_longest(text: str, rules: Mapping[str, str]) -> str:
    """Of all rules that apply at a place, the longest does; then the text goes on after it."""
    found, start = "", 0
    while start < len(text):
        keys = [key for key in rules if text.startswith(key, start)]
        key = max(keys, key=len, default="")
        found += rules[key] if key else text[start]
        start += len(key) or 1
    return found


def clean(text: str, rules: Mapping[str, str], trims: bool) -> str:
    """The rules; if `trims`, runs of spaces as one and none at the ends; `▁` as a space."""
    text = map_longest(text, rules)
    if trims:
        text = re.sub(" {2,}", " ", text).lstrip(" ")
    text = text.replace("▁", " ")
    return text.rstrip(" ") if trims else text
