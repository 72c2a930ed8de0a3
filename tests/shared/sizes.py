"""Sizes in rows of the embedding table, for tests that think in tokens besides the alphabet."""

from pathlib import Path

import volt
from volt.proposing.base import fixed_rows


def rows_with(
    text: list[str] | Path,
    *others: int,
    pretokenizer: str = "metaspace",
    unknown: str | None = None,
    symbols: tuple[str, ...] = (),
    **options: object,
) -> list[int]:
    """Rows of vocabularies of these lines, or this file, that have so many tokens besides
    characters."""
    found = volt.candidates([text], merges=0, pretokenizer=pretokenizer, **options)
    characters = found.alphabet_size - (found.unknown is not None)
    least = fixed_rows(pretokenizer, unknown, symbols=symbols) + characters
    return [least + number for number in others]
