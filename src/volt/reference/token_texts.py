"""The texts of all tokens: what the native code finds out about every one at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volt.counting.marks import letter_bytes as bytes_of_letters


def cut_inside(tokens: Sequence[bytes], words: Callable[[str], list[str]]) -> list[bool]:
    """Which tokens are whole characters, and more than one word.

    >>> cut_inside([b"low", b"low er", b"\\xff a"], str.split)
    [False, True, False]
    """
    return [_is_text(token) and len(words(token.decode())) > 1 for token in tokens]


def show_text(tokens: Sequence[bytes]) -> list[bool]:
    """Which tokens have a character that is not blank.

    >>> show_text([b" \\n", b" a", b"\\xc3", "é".encode()])
    [False, True, False, True]
    """
    return [bool(token.decode(errors="ignore").strip(" \t\r\n")) for token in tokens]


def find_unjoined(tokens: Sequence[str], parents: Sequence[tuple[int, int]]) -> int:
    """The first token that is not its two parents joined, or the number of tokens.

    >>> find_unjoined(["a", "b", "ab", "abb"], [(-1, -1), (-1, -1), (0, 1), (2, 0)])
    3
    """
    return next(
        (
            number
            for number, (left, right) in enumerate(parents)
            if left >= 0 and tokens[left] + tokens[right] != tokens[number]
        ),
        len(tokens),
    )


def letter_bytes(tokens: Sequence[str], spelled: Sequence[bool]) -> list[bytes]:
    """Tokens in byte letters as bytes; those that are not spelled stay.

    >>> letter_bytes(["Ġa", "<s>"], [True, False])
    [b' a', b'<s>']
    """
    return [
        bytes_of_letters(token) if own else token.encode()
        for token, own in zip(tokens, spelled, strict=True)
    ]


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True
