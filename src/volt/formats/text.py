"""A plain list: a token a line, the line number is the id. For people, and for what reads lists.

It has no merges: reading one back gives rule `concat`, with the order of the list for ranks. Tokens
are written as `volt encode` prints them: white space in a token is `\\u{...}`.
"""

from __future__ import annotations

from pathlib import Path

from volt.candidates import UNKNOWN
from volt.formats.assembly import (
    BYTE_NAMES,
    Pieces,
    guess_pretokenizer,
    read_lines,
    read_token,
)
from volt.tokenizer import Tokenizer
from volt.vocabulary import DEFAULT_SPECIAL, Vocabulary


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    return {path: "".join(f"{text}\n" for text in Tokenizer(vocabulary).printed).encode()}


def read(path: Path) -> Pieces:
    texts = [read_token(line, path, number) for number, line in enumerate(read_lines(path), 1)]
    return from_list(str(path), "text", texts)


def from_list(name: str, form: str, texts: list[str]) -> Pieces:
    """Pieces of tokens in order, with nothing else known."""
    known = set(texts)
    pieces = Pieces(name, form, guess_pretokenizer(name, texts), texts)
    spelled = pieces.pretokenizer == "byte-level" or known.issuperset(BYTE_NAMES)
    pieces.unknown = "byte" if spelled else "unk"
    if pieces.unknown == "unk" and UNKNOWN not in known:
        raise pieces.fail(f"there is neither {UNKNOWN} nor are there all 256 byte tokens")
    pieces.kinds = dict.fromkeys((text for text in DEFAULT_SPECIAL if text in known), "special")
    pieces.ranked = list(texts)
    return pieces
