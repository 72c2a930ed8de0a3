"""A plain list: a token a line, the line number is the id. For people, and for what reads lists.

It has no merges: reading one back gives rule `concat`, with the order of the list for ranks. Tokens
are written as `volt encode` prints them: white space in a token is `\\u{...}`.
"""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

from volt.counting.marks import END_MARK as WORD_FINAL
from volt.counting.marks import UNKNOWN
from volt.formats.assembly import (
    BYTE_NAMES,
    LONGEST_TOKEN,
    Pieces,
    guess_pretokenizer,
    is_character,
    read_lines,
    read_token,
)
from volt.formats.merges import pairs_for, spell
from volt.proposing.base import DEFAULT_SPECIAL
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

NAME = re.compile(r"<.+>|\[.+\]")
LONGEST = 64
"""Characters of a token that gets hidden ones: they are as long together as this squared."""


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    return {path: "".join(f"{text}\n" for text in Tokenizer(vocabulary).printed).encode()}


def read(path: Path) -> Pieces:
    texts = [read_token(line, path, number) for number, line in enumerate(read_lines(path), 1)]
    return from_list(str(path), "text", texts)


def from_list(name: str, form: str, texts: list[str]) -> Pieces:
    """Pieces of tokens in order, with nothing else known."""
    known = set(texts)
    pieces = Pieces(name, form, guess_pretokenizer(name, texts), texts)
    spelled = pieces.mode.byte_level or known.issuperset(BYTE_NAMES)
    pieces.unknown = "byte" if spelled else "unk"
    if pieces.unknown == "unk" and UNKNOWN not in known:
        raise pieces.fail(f"there is neither {UNKNOWN} nor are there all 256 byte tokens")
    pieces.kinds = dict.fromkeys((text for text in DEFAULT_SPECIAL if text in known), "special")
    pieces.ranked = []
    _rank(pieces)
    return pieces


def _rank(pieces: Pieces) -> None:
    """In the order of the list. A token that no two others make gets hidden ones to be made from,
    its beginnings; but a name such as `<mask>` is taken for a special token."""
    ranked = pieces.ranked = []
    final = WORD_FINAL if pieces.pretokenizer == "whitespace" else None
    listed = set(pieces.texts)
    known = {text for text in pieces.texts if is_character(text, pieces.pretokenizer)}
    for text in pieces.texts:
        if len(text) > LONGEST_TOKEN or text in known or text in pieces.kinds or text in BYTE_NAMES:
            continue
        if not pairs_for(text, known, final):
            symbols = spell(text, pieces.pretokenizer)
            if NAME.fullmatch(text) or len(text) > LONGEST or not known.issuperset(symbols):
                continue
            for beginning in list(accumulate(symbols))[1:-1]:
                if beginning not in known:
                    ranked.append(beginning)
                    known.add(beginning)
                    if beginning not in listed:
                        pieces.hidden.append(beginning)
        ranked.append(text)
        known.add(text)
