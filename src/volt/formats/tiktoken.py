"""tiktoken: a ranks file, a token in base64 and its rank per line. Byte-level, rule `concat`.

The rank is the token's id in volt. The file has no place for the pattern and the special tokens,
which `tiktoken.Encoding` takes as arguments; they are in `PATH.json`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from volt.base.errors import InputError, SettingsError
from volt.base.gate import read_bytes, read_json, read_lines
from volt.base.schema import table, text
from volt.base.shown import plural
from volt.counting.marks import byte_letters
from volt.counting.words import CUSTOM, PRETOKENIZERS
from volt.formats import reasons
from volt.formats.assembly import MOST_UNUSED, Parsed
from volt.formats.base import Format, Written
from volt.formats.huggingface.classes import CONFIG
from volt.formats.huggingface.folder import ADDED, named_beside
from volt.formats.patterns import known_to_tiktoken, regular_expression
from volt.tokenizing.merge_pairs import merged_by_rank
from volt.tokenizing.schemas import TOKEN_IDS
from volt.tokenizing.vocabulary import Vocabulary

BY_RANKS = {
    50_256: "byte-level", 50_280: "byte-level", 100_256: "byte-level:cl100k",
    199_998: "byte-level:o200k", 128_000: "byte-level:llama3", 151_643: "byte-level:qwen2",
    50_257: "byte-level", 200_000: "byte-level:o200k",
}  # fmt: skip
"""The pattern that goes with the published files, by their number of ranks."""

EMPTY = "="
"""How the file of Whisper writes a token without text, which no text gives."""


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
            f"no merges lead to {plural(len(vocabulary.unreachable), 'token')}, such as "
            f"{example!r}: tiktoken uses such a token for a word that is just that"
        )


def write(vocabulary: Vocabulary, path: Path) -> Written:
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


@dataclass(frozen=True)
class RanksFile:
    """A ranks file, and what `tiktoken.Encoding` takes besides."""

    ranks: dict[bytes, int]
    pattern: str
    special: dict[str, int]
    messages: list[str]


def read_ranks(path: Path, pattern: str | None = None) -> RanksFile:
    """A file with a token in base64 and its rank per line. Pattern and special tokens are beside
    it, as volt writes them; or the pattern is given, or known by the number of ranks, and special
    tokens are the added ones of a model's folder."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line:
            continue
        code, _, rank = line.partition(" ")
        try:
            data = base64.b64decode(code, validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if not (data or code == EMPTY) or not (
            rank.isascii() and rank.isdigit() and len(rank) < 10
        ):
            raise InputError(
                f"{path}: line {number}: {line[:60]!r} is not a token in base64 and a rank"
            )
        if data in ranks:
            raise InputError(f"{path}: line {number}: the token {code[:60]!r} is there twice")
        ranks[data] = int(rank)
    cut = "" if read_bytes(path).endswith(b"\n") else "; it seems to be cut short"
    if cut and len(set(ranks.values())) < len(ranks):
        raise InputError(f"{path}: two tokens have the same rank{cut}")
    settings = settings_path(path)
    added = special_beside(path.parent, ranks)
    if settings.exists():
        cuts, special = _read_settings(settings)
        more = {name: i for name, i in added.items() if i not in special.values()}
        return RanksFile(ranks, cuts, {**more, **special}, [])
    messages = [f"no {settings.name}: no special tokens"]
    if added:
        some = f"{plural(len(added), 'special token')}, such as {next(iter(added))!r}"
        messages = [f"{some}, from {CONFIG} or {ADDED}"]
    found = regular_expression(pattern)
    if found is None:
        known = BY_RANKS.get(len(ranks))
        if known is None:
            raise SettingsError(
                f"{path}: {len(ranks):,} ranks, which is not a published vocabulary, and no "
                f"{settings.name} beside it: how it cuts text is not known; name it with "
                f"`pattern`{cut}"
            )
        found = PRETOKENIZERS[known].pattern or ""
        messages.append(f"{len(ranks):,} ranks: the pattern {known}")
    return RanksFile(ranks, found, added, messages)


def special_beside(folder: Path, ranks: Mapping[bytes, int]) -> dict[str, int]:
    """The added tokens of the files in a folder, unless they belong to another tokenizer: then some
    of their ids are ranks."""
    found = {one["content"]: i for i, one in sorted(named_beside(folder).items())}
    return {} if {*found.values()} & {*ranks.values()} else found


def _read_settings(file: Path) -> tuple[str, dict[str, int]]:
    data = read_json(file, table({"pat_str": text(), "special_tokens": TOKEN_IDS}))
    return data["pat_str"], data["special_tokens"]


def read(path: Path, pattern: str | None = None) -> Parsed:
    found = read_ranks(path, pattern)
    parsed = parse(str(path), found.ranks, found.pattern, found.special)
    parsed.messages += found.messages
    return parsed


def parse(
    name: str, ranks: Mapping[bytes, int], pattern: str, special: Mapping[str, int],
    offset: int = 0,
) -> Parsed:  # fmt: skip
    """What `tiktoken.Encoding` takes. The id of a token is its rank, counted from `offset` on."""
    parsed = Parsed(name, "tiktoken", "byte-level", [], unknown="byte", whole_words=True)
    parsed.pretokenizer = known_to_tiktoken().get(pattern) or f"{CUSTOM}{pattern}"
    number_of = {byte_letters(data): rank + offset for data, rank in ranks.items()}
    parsed.ranked = sorted(number_of, key=lambda text: number_of[text])
    if twice := special.keys() & number_of.keys():
        raise parsed.fail(f"special_tokens: {min(twice)[:40]!r} is an ordinary token as well")
    numbers = {*number_of.values()}
    gaps = {*range(max(numbers, default=0))} - numbers if 0 in numbers and not special else set()
    if 0 < len(gaps) <= MOST_UNUSED:  # such as the one of GPT-2's end of text among later tokens
        special = {f"<|unused-{i}|>": i for i in sorted(gaps)}
        parsed.messages.append(
            f"{plural(len(gaps), 'rank')}, such as {min(gaps)}, {'is' if len(gaps) == 1 else 'are'}"
            " missing: special tokens here, which text never gives"
        )
    parsed.kinds = dict.fromkeys(special, "special")
    parsed.texts = parsed.by_number(number_of | dict(special))
    return parsed


FORMAT = Format(
    name="tiktoken",
    toolkit="tiktoken",
    description="Ranks for `tiktoken.Encoding`, with its other arguments.",
    writes="ranks in `PATH`; pattern and special tokens in `PATH.json`",
    write=write,
    read=read,
    needs_pattern=True,
    takes=lambda mode: mode.pattern is not None and not mode.custom,
    encodings=("merge",),
    merge_rule="concat",
    refusals=refusals,
    notes=notes,
    names=(".tiktoken",),
    example=(
        "volt.tiktoken",
        "import json, tiktoken; from tiktoken.load import load_tiktoken_bpe; "
        'tiktoken.Encoding("volt", mergeable_ranks=load_tiktoken_bpe("volt.tiktoken"), '
        '**json.load(open("volt.tiktoken.json")))',
    ),
)
