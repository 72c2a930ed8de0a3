"""What the fields of `volt.json` must look like, one by one. How they go together is checked where
they are read."""

from __future__ import annotations

from typing import Any, get_args

from volt.base.schema import Wrong, brief, fixed, flag, instance, one_of, rows, table, text, whole
from volt.counting.words import READS, RULE, MergeRule, Unknown
from volt.proposing.base import Encoding
from volt.proposing.tokens import KINDS
from volt.tokenizing.roles import Roles
from volt.tokenizing.vocabulary import HIGHEST_SCORE, LookUp, WordEnds

MOST_TOKENS = 10_000_000
TOKEN_IDS = table({}, others=whole(0, MOST_TOKENS - 1))
"""Tokens and their ids, as files of other toolkits list them."""


def is_score(where: str, value: Any) -> None:
    if type(value) is not float or not abs(value) <= HIGHEST_SCORE:
        raise Wrong(where, f"{brief(value)} is not a score")


def some(where: str, value: Any) -> None:
    """A list whose entries are checked elsewhere."""
    if not isinstance(value, list):
        raise Wrong(where, f"{brief(value)} is not a list")


def look_up(where: str, value: Any) -> None:
    instance(LookUp, complete=True)(where, value)
    is_score(f"{where}.unknown_score", value["unknown_score"])


FORMAT = table({"format": whole()})
SIZE = table({"size": whole(), "tokens": some, "hidden": some})
HEAD = table(
    {
        **RULE, "encoding": one_of(*get_args(Encoding)),
        "merge_rule": one_of(*get_args(MergeRule)), "unknown": one_of(*get_args(Unknown)),
        "unit": whole(1), "unreachable": rows(whole()), "signature": text(),
        "self_test": rows(table({"text": text(), "ids": rows(whole())})),
    },
    {
        **READS, "unknown_token": text(), "fuse_unknown": flag(),
        "look_up": look_up, "word_ends": one_of(*get_args(WordEnds)), "space_first": flag(),
        "whole_words": flag(), "roles": instance(Roles, complete=True),
    },
)  # fmt: skip
TOKEN = table(
    {"id": whole(), "text": text(), "kind": one_of(*KINDS), "frequency": whole()},
    {"scaffold": flag()},
)
_PARENT = whole(0, MOST_TOKENS)
MERGED = table({"parents": fixed(_PARENT, _PARENT), "rank": whole()})
SCORED = table({"score": is_score})
