"""Reading other people's files, which are not trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from volt.base.errors import InputError
from volt.tokenizing.printing import read_printed
from volt.tokenizing.volt_json import MOST_BYTES


def read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a text file. Only LF ends a line, or CR LF."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte offset {error.start}: invalid UTF-8") from None
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


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


def read_json(path: Path) -> Any:
    def no_constants(name: str) -> Any:
        raise ValueError(f"{name} is not a number")

    try:
        return json.loads(read_bytes(path).decode(), parse_constant=no_constants)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from None


def parsed_count(text: str) -> int | None:
    """A whole number of at most 18 digits, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
