"""The two large parts of a `tokenizer.json`: the vocabulary and the merges of a BPE model."""

from __future__ import annotations

import json
from typing import Any

Merge = tuple[int, int, int]
"""Left, right and what they make, as places in the vocabulary; -1 if that is not a token."""


def split_tokenizer_json(data: bytes) -> tuple[Any, dict[str, int], list[Merge]] | None:
    """The value without them, the vocabulary, and the merges. None for a file that is not laid out
    as usual.

    >>> file = b'{"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}'
    >>> split_tokenizer_json(file)
    ({'model': {'vocab': {}, 'merges': []}}, {'a': 0, 'b': 1, 'ab': 2}, [(0, 1, 2)])
    """
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_without_repeats)
        json.dumps(value, ensure_ascii=False).encode()  # not with a lone surrogate
    except ValueError:
        return None
    model = value.get("model") if isinstance(value, dict) else None
    if not isinstance(model, dict) or [key for key in model if key in ("vocab", "merges")] != [
        "vocab",
        "merges",
    ]:
        return None
    vocab, merges = model["vocab"], model["merges"]
    if not isinstance(vocab, dict) or not isinstance(merges, list):
        return None
    if any(type(number) is not int or not 0 <= number < 10**9 for number in vocab.values()):
        return None
    place = {token: number for number, token in enumerate(vocab)}
    found = []
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_token(place), pair)):
            return None
        left, right = pair
        found.append((place[left], place[right], place.get(left + right, -1)))
    return value | {"model": model | {"vocab": {}, "merges": []}}, vocab, found


def _is_token(place: dict[str, int]) -> Any:
    return lambda part: isinstance(part, str) and part != "" and part in place


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)
