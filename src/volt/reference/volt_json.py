"""Tokens as they are written to volt.json."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from volt.proposing.tokens import Token


def token_rows(tokens: Iterable[Token], scored: bool) -> str:
    """The tokens as JSON objects, one per line."""
    rows: list[str] = []
    for number, token in enumerate(tokens):
        row: dict[str, Any] = {"id": number, "text": token.text, "kind": token.kind}
        if token.parents is not None:
            row |= {"parents": list(token.parents), "rank": token.rank}
        if scored and token.kind in ("character", "merged", "piece"):
            row["score"] = token.score
        if token.scaffold:
            row["scaffold"] = True
        rows.append(json.dumps({**row, "frequency": token.frequency}, ensure_ascii=False))
    return ",\n".join(rows)
