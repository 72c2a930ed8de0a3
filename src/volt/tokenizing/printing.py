"""Tokens as words of a line: how they are printed, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from volt import _core
from volt.proposing.tokens import packed

_UNPRINTABLE = re.compile(r"[\s\x1c-\x1f\x85\u180e]|\\(?=u\{)")
_PRINTED = re.compile(r"\\u\{([0-9A-F]{1,6})\}")


def printed_token(token: str) -> str:
    r"""A token with white space and line ends as `\u{...}`."""
    return _UNPRINTABLE.sub(_print_character, token)


def _print_character(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):X}}}"


def read_printed(printed: str) -> str:
    """The token that `Tokenizer.printed` prints like this."""
    return _PRINTED.sub(lambda found: chr(int(found[1], 16)), printed)


def print_table(texts: Iterable[str]) -> _core.PrintTable:
    return _core.PrintTable(*packed([text.encode() for text in texts]))
