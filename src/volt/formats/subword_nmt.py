"""subword-nmt: a codes file (`#version: 0.2`), and beside it the vocabulary, `CODES.vocab`.

Whitespace text, rule `pairs`, both encodings. For `split`, give subword-nmt the vocabulary too,
with any threshold that keeps the tokens you want. A token that does not end a word has `@@`
there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from volt.base.gate import read_lines
from volt.counting.marks import END_MARK, JOINER, WORD_END
from volt.formats import reasons
from volt.formats.assembly import Parsed
from volt.formats.base import Format, Written
from volt.formats.files import parsed_count, read_merges
from volt.formats.gpt2 import HEAD, merge_lines
from volt.settings.roles import DEFAULT_SPECIAL
from volt.tokenizing.vocabulary import Vocabulary


def vocabulary_path(codes: Path) -> Path:
    return codes.with_name(codes.name + ".vocab")


def refusals(vocabulary: Vocabulary) -> Iterator[str]:
    yield from reasons.normalization(vocabulary, "subword-nmt")
    yield from reasons.symbols(vocabulary, "subword-nmt")
    counts = Counter(map(WORD_END.joined, vocabulary.of_kind("character", "merged")))
    if twice := next((text for text, count in counts.items() if count > 1), None):
        yield (
            f"subword-nmt writes two tokens as {twice!r}: the text contains the mark {JOINER!r} "
            "itself; replace it there, or leave such words out"
        )


def write(vocabulary: Vocabulary, path: Path) -> Written:
    entries = [
        f"{WORD_END.joined(token.text)} {token.frequency // vocabulary.unit}\n"
        for token in vocabulary.tokens
        if token.kind in ("character", "merged")
    ]
    return {
        path: merge_lines(vocabulary),
        vocabulary_path(path): "".join(entries).encode(),
    }


def read(path: Path, vocabulary: Path | None = None) -> Parsed:
    """A codes file, and its vocabulary, which is named or beside it. What is merged but not in the
    vocabulary is hidden. Without it the alphabet is all that the merges have."""
    parsed = Parsed(str(path), "subword-nmt", "whitespace", [], one_pair_at_a_time=True)
    first = next(iter(read_lines(path)), "")
    if first.startswith("v3;"):
        _check_opennmt(first, parsed)
    elif first != HEAD:
        raise parsed.fail(f"line 1: {first[:40]!r}, not {HEAD!r}; volt reads codes of version 0.2")
    pairs = read_merges(path)
    made = dict.fromkeys(left + right for left, right in pairs)
    beside = vocabulary or vocabulary_path(path)
    if beside.exists():
        listed = _read_vocabulary(beside, parsed)
        parsed.frequencies = listed
    else:
        parts = {part for pair in pairs for part in pair}
        alphabet = {part for part in parts if WORD_END.is_character(part)}
        listed = dict.fromkeys([*sorted(alphabet), *made], 0)
        parsed.messages.append(f"no {beside.name}: the alphabet is what the merges have")
    parsed.texts = [*DEFAULT_SPECIAL, *listed]
    parsed.kinds = dict.fromkeys(DEFAULT_SPECIAL, "special")
    parsed.hidden = [text for text in made if text not in listed]
    parsed.pairs = pairs
    return parsed


def _check_opennmt(head: str, parsed: Parsed) -> None:
    """The first line of OpenNMT's codes says how words are marked: volt reads marks at the end."""
    found = dict(zip(("version", "prefix", "suffix", "case_insensitive", "begin", "end"),
                     head.split(";"), strict=False))  # fmt: skip
    wanted = {"prefix": "false", "suffix": "true", "case_insensitive": "false", "end": END_MARK}
    for key, value in wanted.items():
        if found.get(key) != value:
            raise parsed.fail(
                f"line 1: OpenNMT codes with {key} {found.get(key, 'missing')}; volt reads those "
                f"with {value}"
            )
    parsed.messages.append("OpenNMT codes: words are what is between spaces")


def _read_vocabulary(file: Path, parsed: Parsed) -> dict[str, int]:
    listed: dict[str, int] = {}
    for number, line in enumerate(read_lines(file), 1):
        text, _, frequency = line.rpartition(" ")
        count = parsed_count(frequency)
        if not text or count is None:
            parsed.name = str(file)
            raise parsed.fail(f"line {number}: {line[:60]!r} is not a token with its frequency")
        inner = len(text) > len(JOINER) and text.endswith(JOINER)
        (marked,) = WORD_END.spell(text.removesuffix(JOINER) if inner else text, ends=not inner)
        listed[marked] = count
    return listed


FORMAT = Format(
    name="subword-nmt",
    toolkit="subword-nmt",
    description="Codes for `apply_bpe`, with the vocabulary for its filter.",
    writes="codes in `PATH`, vocabulary in `PATH.vocab`",
    write=write,
    read=read,
    takes=lambda mode: mode.loses_spaces,
    encodings=("merge", "split"),
    merge_rule="pairs",
    one_pair_at_a_time=True,
    refusals=refusals,
    example=("codes", "subword-nmt apply-bpe -c codes < train.de"),
)
