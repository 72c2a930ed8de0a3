"""Numbers and tokens in few bytes, for the page: variable-length integers in base64."""

from __future__ import annotations

import base64
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from volt.counting.words import PRETOKENIZERS
from volt.tokenizing.vocabulary import Vocabulary


def packed_whole(values: ArrayLike) -> str:
    """Whole numbers from 0 on: seven bits a byte, the low ones first, a high bit where more follow.

    >>> packed_whole([1, 128])
    'AYAB'
    """
    numbers = np.asarray(values, np.uint64)
    groups = np.stack([numbers >> np.uint64(7 * i) for i in range(10)], axis=1)
    used = groups > 0
    used[:, 0] = True
    more = np.zeros_like(used)
    more[:, :-1] = used[:, 1:]
    data = (groups & np.uint64(0x7F)).astype(np.uint8) | (more.astype(np.uint8) << 7)
    return base64.b64encode(data[used].tobytes()).decode()


def packed_signed(values: NDArray[np.int64]) -> str:
    """Zigzag: 0 -1 1 -2 2 become 0 1 2 3 4."""
    return packed_whole(np.where(values < 0, -2 * values - 1, 2 * values))


def packed_reals(values: list[float]) -> str:
    return base64.b64encode(np.array(values, "<f8").tobytes()).decode()


def packed_vocabulary(vocabulary: Vocabulary) -> dict[str, Any]:
    """The vocabulary for the page: runs of kinds, the texts of what is not merged, the parents of
    what is. Texts of merged tokens follow from these."""
    pool = vocabulary.pool
    merged = [token for token in pool if token.kind == "merged"]
    parents = np.array([token.parents for token in merged], np.int64).reshape(-1, 2)
    order = np.argsort(np.array([token.rank for token in merged], np.int64), kind="stable")
    place = np.empty(len(merged), np.int64)
    place[order] = np.arange(len(merged))
    scored = vocabulary.encoding == "unigram"
    scores = [token.score for token in pool if token.kind in ("character", "piece")]
    return {
        "size": len(vocabulary),
        "rule": encoding_rule(vocabulary),
        "selfTest": vocabulary.self_test,
        "unit": vocabulary.unit,
        "kinds": [[kind, len(list(run))] for kind, run in groupby(token.kind for token in pool)],
        "texts": [token.text for token in pool if token.kind not in ("merged", "byte")],
        "left": packed_whole(parents[:, 0]),
        "right": packed_whole(parents[:, 1]),
        "order": packed_signed(np.diff(place, prepend=-1)),
        "scores": packed_reals(scores) if scored else None,
        "frequency": packed_whole([token.frequency for token in vocabulary.tokens]),
        "scaffolds": packed_whole(_gaps([i for i, token in enumerate(pool) if token.scaffold])),
        "unreachable": packed_whole(_gaps(sorted(vocabulary.unreachable))),
    }


def encoding_rule(vocabulary: Vocabulary) -> dict[str, Any]:
    """How text becomes words and words become tokens, with the names of volt.json."""
    plain = (
        "encoding", "merge_rule", "unknown", "unknown_token", "fuse_unknown", "word_ends",
        "space_first", "whole_words",
    )  # fmt: skip
    return {
        **vocabulary.rule.to_data(),
        **{name: getattr(vocabulary, name) for name in plain},
        "look_up": vocabulary.look_up and asdict(vocabulary.look_up),
        "normalizer": vocabulary.normalizer and vocabulary.normalizer.summary,
    }


def pretokenizers() -> dict[str, dict[str, Any]]:
    """The table of pre-tokenizers: their patterns and how their tokens are marked."""
    return {
        name: {"patterns": one.patterns, "marks": one.marks.name}
        for name, one in PRETOKENIZERS.items()
    }


def packed_excerpt(vocabulary: Vocabulary, most: int) -> dict[str, Any]:
    """The same for the most frequent tokens and those they are made from, `most` merged ones or a
    few more; `ids` are their ids, `all` is how many tokens there are. Not enough to encode."""
    pool = vocabulary.pool
    kept = {i for i, token in enumerate(vocabulary.tokens) if token.kind != "merged"}
    room = len(kept) + most
    merged = [i for i, token in enumerate(vocabulary.tokens) if token.kind == "merged"]
    for number in sorted(merged, key=lambda i: (-pool[i].frequency, i)):
        if len(kept) >= room:
            break
        waiting = [number]
        while waiting:
            one = waiting.pop()
            if one not in kept:
                kept.add(one)
                waiting += pool[one].parents or ()
    ids = sorted(kept)
    place = {number: i for i, number in enumerate(ids)}
    tokens = [
        pool[i]._replace(parents=(place[both[0]], place[both[1]])) if (both := pool[i].parents)
        else pool[i]
        for i in ids
    ]  # fmt: skip
    visible = sum(i < len(vocabulary) for i in ids)
    excerpt = replace(
        vocabulary, tokens=tokens[:visible], hidden=tokens[visible:],
        unreachable=[place[i] for i in vocabulary.unreachable if i in place],
    )  # fmt: skip
    return packed_vocabulary(excerpt) | {"ids": packed_whole(_gaps(ids)), "all": len(vocabulary)}


def _gaps(ids: list[int]) -> NDArray[np.int64]:
    """Sorted ids as differences, which are small."""
    numbers = np.array([0, *ids], np.int64)
    return numbers[1:] - numbers[:-1]
