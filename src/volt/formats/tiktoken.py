"""tiktoken: a ranks file, a token in base64 and its rank on every line. Byte-level, rule `concat`.

The rank is the token's id in volt. The file has no place for the pattern and the special tokens,
which `tiktoken.Encoding` takes as arguments; they are in `PATH.json`.
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path

from volt.candidates import BYTE_LETTERS
from volt.errors import SettingsError
from volt.formats.assembly import Pieces, read_json, read_lines
from volt.formats.huggingface import by_number
from volt.formats.refusals import (
    need_merges,
    need_no_hidden,
    need_no_normalization,
    need_no_symbols,
    need_pretokenizer,
)
from volt.vocabulary import Vocabulary

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def settings_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    need_pretokenizer(vocabulary, "tiktoken", "byte-level")
    need_no_normalization(vocabulary, "tiktoken")
    need_merges(vocabulary, "tiktoken")
    need_no_hidden(vocabulary, "tiktoken")
    need_no_symbols(vocabulary, "tiktoken")
    lines = []
    special = {}
    last = -1
    for number, token in enumerate(vocabulary.tokens):
        if token.kind == "special":
            special[token.text] = number
            continue
        if token.kind == "merged":
            if token.rank < last:
                raise SettingsError(
                    "in tiktoken ids are ranks, but here they are not in the order of the merges"
                )
            last = token.rank
        code = base64.b64encode(vocabulary.plain_text(token.text)).decode()
        lines.append(f"{code} {number}\n")
    settings = {"pat_str": PATTERN, "special_tokens": special}
    return {
        path: "".join(lines).encode(),
        settings_path(path): (json.dumps(settings, ensure_ascii=False, indent=1) + "\n").encode(),
    }


def read(path: Path) -> Pieces:
    pieces = Pieces(str(path), "tiktoken", "byte-level", [], unknown="byte")
    number_of: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        code, _, rank = line.partition(" ")
        try:
            data = base64.b64decode(code, validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if not data or not (rank.isascii() and rank.isdigit() and len(rank) < 10):
            raise pieces.fail(f"line {number}: {line[:60]!r} is no token in base64 with its rank")
        text = data.decode("latin-1").translate(BYTE_LETTERS)
        if text in number_of:
            raise pieces.fail(f"line {number}: the token {text[:60]!r} is there twice")
        number_of[text] = int(rank)
    pieces.ranked = sorted(number_of, key=lambda text: number_of[text])
    settings = settings_path(path)
    if settings.exists():
        data_of = read_json(settings)
        special = data_of.get("special_tokens") if isinstance(data_of, dict) else None
        if not isinstance(special, dict) or not all(type(i) is int for i in special.values()):
            raise pieces.fail(f"{settings.name}: special_tokens: no table of names and ids")
        if data_of.get("pat_str") != PATTERN:
            raise pieces.fail(f"{settings.name}: pat_str: volt knows GPT-2's pattern only")
        if special.keys() & number_of.keys():
            raise pieces.fail(f"{settings.name}: special_tokens: one is a token as well")
        number_of |= special
        pieces.kinds = dict.fromkeys(special, "special")
    else:
        pieces.messages.append(
            f"no {settings.name}: GPT-2's pattern is taken for granted, and no special tokens"
        )
    pieces.texts = by_number(pieces, number_of)
    return pieces
