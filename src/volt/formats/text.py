"""A plain list: a token per line, the line number is the id. For people, and for what reads lists.

It has no merges: reading one back gives rule `concat`, with the order of the list for ranks. Tokens
are written as `volt encode` prints them: white space in a token is `\\u{...}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from volt.base.gate import read_lines
from volt.counting.marks import BYTE_TOKENS, UNKNOWN
from volt.formats.assembly import LONGEST_TOKEN, Parsed, guess_pretokenizer
from volt.formats.base import Format, Written
from volt.formats.files import read_token
from volt.settings.roles import DEFAULT_SPECIAL
from volt.tokenizing.merge_pairs import pairs_for
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

NAME = re.compile(r"<.+>|\[.+\]")
LONGEST = 64
"""Characters of a token that gets hidden ones: together they are as long as this squared."""


def write(vocabulary: Vocabulary, path: Path) -> Written:
    return {path: "".join(f"{text}\n" for text in Tokenizer(vocabulary).printed).encode()}


def tokens_only(vocabulary: Vocabulary) -> Iterator[str]:
    """What a list of tokens does not say."""
    if vocabulary.look_up is not None:
        yield f"tokens only: the file does not say how they are found ({vocabulary.encoding})"
    elif vocabulary.hidden:
        yield "tokens only: tokens that are merged on the way (split encoding) are not in the file"


def read(path: Path) -> Parsed:
    texts = [read_token(line, path, number) for number, line in enumerate(read_lines(path), 1)]
    return from_list(str(path), "text", texts)


def from_list(name: str, form: str, texts: list[str]) -> Parsed:
    """Parsed of tokens in order, with nothing else known."""
    known = set(texts)
    parsed = Parsed(name, form, guess_pretokenizer(name, texts), texts)
    spelled = parsed.mode.byte_level or known.issuperset(BYTE_TOKENS)
    parsed.unknown = "byte" if spelled else "unk"
    if parsed.unknown == "unk" and UNKNOWN not in known:
        raise parsed.fail(f"there is neither {UNKNOWN} nor are there all 256 byte tokens")
    parsed.kinds = dict.fromkeys((text for text in DEFAULT_SPECIAL if text in known), "special")
    _rank(parsed)
    return parsed


def _rank(parsed: Parsed) -> None:
    """In the order of the list. A token that no two others make gets hidden ones to be made from,
    its beginnings; but a name such as `<mask>` is taken for a special token."""
    ranked = parsed.ranked = []
    marks, listed = parsed.marks, set(parsed.texts)
    known = {text for text in parsed.texts if marks.is_character(text)}
    names = {*parsed.kinds, *BYTE_TOKENS}
    for text in parsed.texts:
        if len(text) > LONGEST_TOKEN or text in known or text in names:
            continue
        if not pairs_for(text, known, marks):
            symbols = marks.symbols(text)
            if NAME.fullmatch(text) or len(text) > LONGEST or not known.issuperset(symbols):
                continue
            for beginning in list(accumulate(symbols))[1:-1]:
                if beginning not in known:
                    ranked.append(beginning)
                    known.add(beginning)
                    if beginning not in listed:
                        parsed.hidden.append(beginning)
        ranked.append(text)
        known.add(text)


FORMAT = Format(
    name="text",
    toolkit="a word list",
    description="A list of tokens, for people.",
    writes="a token per line",
    write=write,
    read=read,
    notes=tokens_only,
    example=("tokens.txt", "head tokens.txt"),
)
