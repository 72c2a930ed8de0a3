"""Marks: how tokens show where words begin and end, and how they write bytes.

This is the only module that knows how marks are spelled, stripped, measured and converted.

>>> WORD_END.symbols("low</w>"), WORD_END.text("low</w>")
(['l', 'o', 'w</w>'], b'low')
>>> INNER.symbols("##low"), INNER.join(["l", "##o", "##w"])
(['##l', '##o', '##w'], 'low')
>>> SPACE.text("▁low"), BYTES.text("Ġlow")
(b' low', b' low')
>>> BYTES.spell("low", starts=None), SPACE.spell("low", starts=True)
(['Ġlow', 'low'], ['▁low'])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

SPACE_MARK: Final = "▁"
"""U+2581, for a space."""
END_MARK: Final = "</w>"
JOINER: Final = "@@"
"""After a token that does not end a word, in the notation of subword-nmt."""
"""At the end of the last token of a word."""
INNER_MARK: Final = "##"
"""At the start of every token of a word but the first."""
UNKNOWN = "<unk>"
"""The default name of the token for characters that have none."""

START_BYTE, FINAL_BYTE = b"\xfe", b"\xff"
"""Marks as bytes that no UTF-8 contains, as in src/core/proposing/match.hpp."""


class Position(NamedTuple):
    """Where in a word a token belongs; None where its marks do not tell."""

    starts: bool | None = None
    ends: bool | None = None


class Marks:
    """One way to mark tokens. This one marks nothing."""

    name = "UNMARKED"
    native: Literal["", "##", "</w>"] = ""
    """What the native code calls it. It only has to know marks that the words lack."""
    longest_character = 1
    """Of a token that is a single character: its length, marks included, at most."""

    def __reduce__(self) -> str:
        return self.name  # a copy is the same object, here and in another process

    def __repr__(self) -> str:
        return self.name

    def strip(self, token: str) -> str:
        """The letters of a token, without marks that stand for no text. A `▁` stays: it stands for
        a space. A byte letter stays as it is."""
        return token

    def length(self, token: str) -> int:
        """The number of characters of text that a token stands for (bytes in byte-level text)."""
        return len(self.strip(token))

    def word(self, token: str) -> bytes:
        """The bytes of a token in a word of `WordCounts`, where a space is `▁`."""
        return self.strip(token).encode()

    def text(self, token: str) -> bytes:
        """The bytes of text that a token stands for."""
        return self.word(token)

    def key(self, token: str) -> bytes:
        """What the native code looks up: the bytes in a word, and its mark as a byte."""
        return self.word(token)

    def symbols(self, token: str) -> list[str]:
        """The characters of a token, with the marks that they have in a word."""
        return list(token)

    def join(self, parts: Sequence[str]) -> str:
        """The token that neighbouring tokens make."""
        return "".join(parts)

    def cuts(self, token: str) -> list[tuple[str, str]]:
        """All ways to cut a token in two. A mark is not cut."""
        return [(token[:cut], token[cut:]) for cut in range(1, self.length(token))]

    def is_character(self, token: str) -> bool:
        """Is it a single character, marked or not?"""
        return len(token) == 1

    def is_spelled(self, token: str) -> bool:
        """Can text have this token?"""
        return True

    def is_inner(self, token: str) -> bool:
        """Does a mark that is not text say that the token is inside a word?"""
        return False

    def position(self, token: str) -> Position:
        """What the marks say about the token's place in a word."""
        return Position()

    def spell(self, text: str, starts: bool | None = None, ends: bool | None = None) -> list[str]:
        """The tokens for a text at a place in a word; both ways if the marks have to tell and the
        place is not known."""
        return [text]


class _Space(Marks):
    """`▁low`: a space is text, and belongs to the token that it starts."""

    name = "SPACE"

    def text(self, token: str) -> bytes:
        return token.replace(SPACE_MARK, " ").encode()

    def position(self, token: str) -> Position:
        return Position(starts=token.startswith(SPACE_MARK))

    def spell(self, text: str, starts: bool | None = None, ends: bool | None = None) -> list[str]:
        return [SPACE_MARK + text] * (starts is not False) + [text] * (starts is not True)


class _WordEnd(Marks):
    """`low</w>`: the last token of a word is marked."""

    name = "WORD_END"
    native = "</w>"
    longest_character = 1 + len(END_MARK)

    def strip(self, token: str) -> str:
        return token.removesuffix(END_MARK)

    def key(self, token: str) -> bytes:
        return self.word(token) + FINAL_BYTE * token.endswith(END_MARK)

    def symbols(self, token: str) -> list[str]:
        if not token.endswith(END_MARK):
            return list(token)
        letters = token.removesuffix(END_MARK)
        return [*letters[:-1], letters[-1:] + END_MARK]

    def is_character(self, token: str) -> bool:
        return len(token) == 1 or (token.endswith(END_MARK) and self.length(token) == 1)

    def position(self, token: str) -> Position:
        return Position(ends=token.endswith(END_MARK))

    def spell(self, text: str, starts: bool | None = None, ends: bool | None = None) -> list[str]:
        return [text + END_MARK] * (ends is not False) + [text] * (ends is not True)

    def joined(self, token: str) -> str:
        """As subword-nmt writes it: `lo@@ w`, what does not end a word is marked.

        >>> WORD_END.joined("lo"), WORD_END.joined("w</w>")
        ('lo@@', 'w')
        """
        return token.removesuffix(END_MARK) if token.endswith(END_MARK) else token + JOINER


class _Inner(Marks):
    """`##ow`: every token of a word but the first is marked (WordPiece). `##` alone is text."""

    name = "INNER"
    native = "##"
    longest_character = len(INNER_MARK) + 1 + len(END_MARK)

    def strip(self, token: str) -> str:
        return token[len(INNER_MARK) :] if self.is_inner(token) else token

    def key(self, token: str) -> bytes:
        return self.word(token) if self.is_inner(token) else START_BYTE + self.word(token)

    def symbols(self, token: str) -> list[str]:
        letters = [INNER_MARK + letter for letter in token.removeprefix(INNER_MARK)]
        if letters and not token.startswith(INNER_MARK):
            letters[0] = letters[0].removeprefix(INNER_MARK)
        return letters

    def join(self, parts: Sequence[str]) -> str:
        return parts[0] + "".join(part.removeprefix(INNER_MARK) for part in parts[1:])

    def is_character(self, token: str) -> bool:
        # `a</w>` was taken for a character by earlier versions, and may be one in a volt.json.
        return WORD_END.is_character(token.removeprefix(INNER_MARK))

    def is_inner(self, token: str) -> bool:
        return token.startswith(INNER_MARK) and token != INNER_MARK

    def position(self, token: str) -> Position:
        return Position(starts=not self.is_inner(token))

    def spell(self, text: str, starts: bool | None = None, ends: bool | None = None) -> list[str]:
        return [text] * (starts is not False) + [INNER_MARK + text] * (starts is not True)


class _Bytes(Marks):
    """`Ġlow`: bytes are written as letters, the space among them."""

    name = "BYTES"

    def word(self, token: str) -> bytes:
        return letter_bytes(token)

    def is_character(self, token: str) -> bool:
        return len(token) == 1 and self.is_spelled(token)

    def is_spelled(self, token: str) -> bool:
        return all(ord(letter) in LETTER_BYTES for letter in token)

    def position(self, token: str) -> Position:
        return Position(starts=token.startswith(_SPACE_LETTER))

    def spell(self, text: str, starts: bool | None = None, ends: bool | None = None) -> list[str]:
        letters = byte_letters(text.encode())
        return [_SPACE_LETTER + letters] * (starts is not False) + [letters] * (starts is not True)


UNMARKED, SPACE, WORD_END, INNER, BYTES = Marks(), _Space(), _WordEnd(), _Inner(), _Bytes()


def marks_used(tokens: Iterable[str]) -> dict[Marks, int]:
    """How many of the tokens show each kind of mark. For files that do not say which they use."""
    found: dict[Marks, int] = dict.fromkeys((SPACE, BYTES, INNER, WORD_END), 0)
    for token in tokens:
        found[SPACE] += token.startswith(SPACE_MARK)
        found[BYTES] += token.startswith(_SPACE_LETTER)
        found[INNER] += token.startswith(INNER_MARK)
        found[WORD_END] += token.endswith(END_MARK)
    return found


def converted(token: str, old: Marks, new: Marks) -> list[str]:
    """A token in other marks; both ways where its own do not tell. A space at its start becomes a
    mark. None if it is only a part of a character."""
    try:
        text = old.text(token).decode()
    except UnicodeDecodeError:
        return [token] if old is new else []
    if old in (SPACE, BYTES):
        text = text.removeprefix(" ")
    return new.spell(text, *old.position(token)) if text else []


# -------------------------------------------------------------------------------------------- bytes


def _byte_letters() -> dict[int, int]:
    """GPT-2's letter for every byte: itself if it is printable, else the next from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: byte for byte in printable} | {
        byte: 0x100 + index for index, byte in enumerate(others)
    }


BYTE_LETTERS = _byte_letters()
LETTER_BYTES = {letter: byte for byte, letter in BYTE_LETTERS.items()}


_SPACE_LETTER = chr(BYTE_LETTERS[ord(" ")])


def byte_letters(data: bytes) -> str:
    """Bytes, each as a letter.

    >>> byte_letters(" é".encode())
    'ĠÃ©'
    """
    return data.decode("latin-1").translate(BYTE_LETTERS)


def letter_bytes(letters: str) -> bytes:
    return letters.translate(LETTER_BYTES).encode("latin-1")


NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
"""The tokens that spell unknown characters in bytes."""


def byte_of(token: str) -> int:
    """The byte that a byte token stands for.

    >>> byte_of("<0x41>")
    65
    """
    return int(token[3:5], 16)
