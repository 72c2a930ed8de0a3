"""What the readers of several formats share: tokens as they are printed, and numbers."""

from __future__ import annotations

from pathlib import Path

from volt.base.errors import InputError
from volt.base.gate import read_lines
from volt.tokenizing.printing import read_printed


def read_merges(path: Path) -> list[tuple[str, str]]:
    """Pairs of tokens, one per line, after a line that names the version, if there is one."""
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(read_lines(path), 1):
        if number == 1 and line.startswith(("#version", "v3;")):
            continue
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise InputError(f"{path}: line {number}: {line[:60]!r} is not a pair of tokens")
        pairs.append((parts[0], parts[1]))
    return pairs


def read_token(printed: str, path: Path, line: int) -> str:
    """A token as `volt encode` prints it."""
    try:
        return read_printed(printed)
    except (ValueError, OverflowError):
        raise InputError(f"{path}: line {line}: {printed[:60]!r} is not a token") from None


def parsed_count(text: str) -> int | None:
    """A whole number of at most 18 digits, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
