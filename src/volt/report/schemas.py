"""What choices.json and report.json must look like. They are read back for pages, plots and `info`,
and they are not trusted."""

from __future__ import annotations

from typing import Any

from volt.base.schema import (
    Schema,
    Wrong,
    anything,
    fixed,
    flag,
    instance,
    number,
    one_of,
    optional,
    rows,
    table,
    text,
    whole,
)
from volt.choosing.cost import Model

SHOWN = 100_000
"""Entries of a list that a page shows."""
SIZE = whole(1, 1 << 32)
SIZES = rows(SIZE, SHOWN, least=1)
COUNT = number(0, 1e18)
"""Tokens and words; with weights they are not whole."""


def columns(needed: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """A table of lists that are equally long."""
    shape = table(needed, optional)

    def look(where: str, value: Any) -> None:
        shape(where, value)
        first = next(iter(needed))
        for name in (*needed, *(optional or {})):
            if name in value and len(value[name]) != len(value[first]):
                raise Wrong(f"{where}.{name}", f"not as many entries as {first}")

    return look


def _quality(where: str, value: Any) -> None:
    columns({"sizes": SIZES, "scores": rows(optional(number()), SHOWN)})(where, value)
    if all(one is None for one in value["scores"]):
        raise Wrong(f"{where}.scores", "no size has a score")
    table(
        {
            "best": SIZE, "range": fixed(SIZE, SIZE), "open_upward": flag(),
            "tolerance": number(0, 1e9), "splits": rows(rows(optional(number()), SHOWN), SHOWN),
        },
        {"languages": table({})},
    )(where, value)  # fmt: skip


_SPLITS = optional(rows(optional(SIZE), SHOWN))
_VERDICT = table(
    {"criterion": text(), "size": optional(SIZE), "meaning": text(), "doubts": rows(text())},
    {"value": optional(number()), "splits": _SPLITS, "measures": text()},
)
_PLAIN_STEP = table({"size": SIZE, "entropy": number(), "muv": optional(number())})
_MOVED = table({"moved": number(), "iterations": whole(), "dropped": whole()})


def _step(where: str, value: Any) -> None:
    """What transport did is there where it was solved."""
    _PLAIN_STEP(where, value)
    if "moved" in value:
        _MOVED(where, value)


_BOUND = table({
    "tokens": COUNT, "least": optional(whole()), "gap": optional(number()), "tight": flag(),
})  # fmt: skip
_SELECTION = table(
    {"one_less": number(), "one_more": number()},
    {"heldout": optional(table({"fewer_tokens": number(), "fewer_bits": number()}))},
)
_HALF = table({"size": SIZE, "apart": optional(number()), "tokens_differ": number(0, 1)})
_SAMPLE = table({
    "unit": text(), "size": optional(COUNT), "read_bytes": COUNT, "read_documents": COUNT,
    "kept_bytes": COUNT, "kept_documents": COUNT,
    "mixture": table({}, others=table({"asked": number(0, 1), "achieved": number(0, 1)})),
})  # fmt: skip
_CHOICES = table(
    {
        "size": SIZE,
        "criterion": text(),
        "choices": rows(_VERDICT, SHOWN),
        "steps": rows(_step, SHOWN),
    },
    {
        "reason": optional(text()),
        "range": optional(fixed(SIZE, SIZE)),
        "splits": _SPLITS,
        "mu": optional(number()),
        "price": optional(number()),
        "quality": optional(_quality),
        "cost": optional(table({"model": instance(Model), "lowest": SIZE}, {"last": SIZE})),
        "bound": optional(_BOUND),
        "selection": optional(_SELECTION),
        "messages": rows(text()),
        "paper_notes": rows(text()),
        "paper_sizes": text(),
        "overlap_with_bpe": optional(number(0, 1)),
        "types": whole(),
        "characters": whole(),
        "half": optional(_HALF),
        "sample": optional(_SAMPLE),
        "signature": text(),
    },
)


def choices_schema(where: str, value: Any) -> None:
    """What decided is shown with what it was decided by."""
    _CHOICES(where, value)
    if value.get("reason") in ("quality", "merges", "cost") and not value.get("cost"):
        raise Wrong("cost", f"missing, though {value['reason']} decided")


JOINED_CHOICES = table({"scripts": table({})})
"""Of vocabularies that were joined."""

_CORPUS = table(dict.fromkeys(
    ("lines", "words", "spaced_words", "types", "characters", "bytes", "tokens",
     "unknown_characters", "alphabet", "merges"), COUNT,
))  # fmt: skip
_BPE = table({
    "same": whole(), "sizes": rows(whole(), SHOWN), "alphabet": rows(text()),
    "unknown": optional(whole()), "left": rows(whole(0, 1 << 32)), "right": rows(whole(0, 1 << 32)),
    "shared": whole(),
})  # fmt: skip
_TRANSPORT = table({
    "characters": rows(table({"text": text(), "mass": number()}), SHOWN),
    "tokens": rows(table({"text": text(), "asked": number(), "got": number()}), SHOWN),
    "plan": rows(fixed(whole(), whole(), number())),
})  # fmt: skip
_FILE = table({"name": text(), "lines": COUNT, "tokens": COUNT, "parity": optional(number())})
CURVE = columns(
    {"size": SIZES, "tokens": rows(COUNT), "types": rows(COUNT), "entropy": rows(number())},
    {"frequent": rows(COUNT), "one_token_words": rows(number())},
)


def report_schema(formats: tuple[int, ...]) -> Schema:
    return table(
        {"format": one_of(*formats)},
        {
            "length": text(),
            "source": table({"name": text(), "exact": flag()}),
            "corpus": optional(_CORPUS),
            "curve": optional(CURVE),
            "tokens": optional(table({}, others=anything())),
            "transport": optional(_TRANSPORT),
            "bpe": optional(_BPE),
            "files": optional(rows(_FILE, SHOWN)),
            "residues": optional(whole()),
        },
    )
