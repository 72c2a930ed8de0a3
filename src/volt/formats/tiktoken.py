"""tiktoken: a ranks file, a token in base64 and its rank per line. Byte-level, rule `concat`.

The rank is the token's id in volt. The file has no place for the pattern and the special tokens,
which `tiktoken.Encoding` takes as arguments; they are in `PATH.json`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from pathlib import Path

from volt.counting.marks import byte_letters
from volt.counting.words import PRETOKENIZERS
from volt.formats import reasons
from volt.formats.assembly import Parsed
from volt.formats.base import Files, Format
from volt.formats.files import read_json, read_lines
from volt.formats.patterns import known_to_tiktoken
from volt.tokenizing.pairs import merged_by_rank
from volt.tokenizing.vocabulary import Vocabulary

GUESSES: dict[str, str] = {
    "byte-level": "GPT-2",
    "byte-level:qwen2": "Qwen 2",
    "byte-level:cl100k": "GPT-4",
    "byte-level:o200k": "GPT-4o",
}
"""The strictest first. Tokens don't tell Llama 3's pattern from GPT-4's."""
MOST_LOOKED_AT = 20_000


def settings_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def refusals(vocabulary: Vocabulary) -> Iterator[str]:
    yield from reasons.normalization(vocabulary, "tiktoken")
    yield from reasons.symbols(vocabulary, "tiktoken")
    if [token.text for token in merged_by_rank(vocabulary)] != vocabulary.of_kind("merged"):
        yield "in tiktoken ids are ranks, but here they are not in the order of the merges"


def notes(vocabulary: Vocabulary) -> Iterator[str]:
    if vocabulary.unreachable and not vocabulary.whole_words:
        example = vocabulary.tokens[vocabulary.unreachable[0]].text
        yield (
            f"no merges lead to {len(vocabulary.unreachable):,} tokens, such as {example!r}: "
            "tiktoken uses them for a word that is just that"
        )


def write(vocabulary: Vocabulary, path: Path) -> Files:
    lines = []
    special = {}
    for number, token in enumerate(vocabulary.tokens):
        if token.kind == "special":
            special[token.text] = number
        else:
            code = base64.b64encode(vocabulary.plain_text(token.text)).decode()
            lines.append(f"{code} {number}\n")
    settings = {"pat_str": vocabulary.rule.mode.pattern, "special_tokens": special}
    return {
        path: "".join(lines).encode(),
        settings_path(path): (json.dumps(settings, ensure_ascii=False, indent=1) + "\n").encode(),
    }


def read(path: Path) -> Parsed:
    parsed = Parsed(str(path), "tiktoken", "byte-level", [], unknown="byte", whole_words=True)
    number_of: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        code, _, rank = line.partition(" ")
        try:
            data = base64.b64decode(code, validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if not data or not (rank.isascii() and rank.isdigit() and len(rank) < 10):
            raise parsed.fail(f"line {number}: {line[:60]!r} is not a token in base64 and a rank")
        text = byte_letters(data)
        if text in number_of:
            raise parsed.fail(f"line {number}: the token {text[:60]!r} is there twice")
        number_of[text] = int(rank)
    parsed.ranked = sorted(number_of, key=lambda text: number_of[text])
    settings = settings_path(path)
    if settings.exists():
        data_of = read_json(settings)
        special = data_of.get("special_tokens") if isinstance(data_of, dict) else None
        if not isinstance(special, dict) or not all(type(i) is int for i in special.values()):
            raise parsed.fail(f"{settings.name}: special_tokens: no table of names and ids")
        pattern = data_of.get("pat_str")
        pretokenizer = known_to_tiktoken().get(pattern) if isinstance(pattern, str) else None
        if pretokenizer is None:
            raise parsed.fail(
                f"{settings.name}: pat_str: {str(pattern)[:400]!r} is not a pattern that "
                "volt knows: those of GPT-2, GPT-4 (cl100k), GPT-4o (o200k), Llama 3 and Qwen 2"
            )
        parsed.pretokenizer = pretokenizer
        if special.keys() & number_of.keys():
            raise parsed.fail(f"{settings.name}: special_tokens: one is a token as well")
        number_of |= special
        parsed.kinds = dict.fromkeys(special, "special")
    else:
        parsed.pretokenizer = _guess(list(number_of))
        parsed.messages.append(
            f"no {settings.name}: no special tokens, and {GUESSES[parsed.pretokenizer]}'s pattern, "
            "by the look of the tokens"
        )
    parsed.texts = parsed.by_number(number_of)
    return parsed


def _guess(texts: list[str]) -> str:
    """The pattern that cuts inside the fewest tokens."""
    some = texts[:: 1 + len(texts) // MOST_LOOKED_AT]
    return min(GUESSES, key=lambda one: sum(map(PRETOKENIZERS[one].cuts_inside, some)))


FORMAT = Format(
    name="tiktoken",
    toolkit="tiktoken",
    description="Ranks for `tiktoken.Encoding`, with its other arguments.",
    writes="ranks in `PATH`; pattern and special tokens in `PATH.json`",
    write=write,
    read=read,
    takes=lambda mode: mode.pattern is not None and not mode.custom,
    encodings=("merge",),
    merge_rule="concat",
    refusals=refusals,
    notes=notes,
    names=(".tiktoken",),
    example=("volt.tiktoken", 'tiktoken.load.load_tiktoken_bpe("volt.tiktoken")'),
)
