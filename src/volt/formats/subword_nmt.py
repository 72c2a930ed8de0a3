"""subword-nmt: a codes file (`#version: 0.2`) and the vocabulary for `--vocabulary`.

Whitespace text, rule `pairs`, both encodings: for `split`, use the vocabulary (`apply_bpe -c CODES
--vocabulary CODES.vocab`, with any threshold that keeps the tokens you want). A token that does not
end a word is written with `@@` there.
"""

from __future__ import annotations

from pathlib import Path

from volt.base.errors import SettingsError
from volt.counting.marks import END_MARK as WORD_FINAL
from volt.formats.assembly import Pieces, is_character, read_lines
from volt.formats.gpt2 import HEAD, read_pairs
from volt.formats.merges import merge_list
from volt.formats.refusals import (
    need_merges,
    need_no_normalization,
    need_no_symbols,
    need_pretokenizer,
)
from volt.proposing.base import DEFAULT_SPECIAL
from volt.tokenizing.vocabulary import Vocabulary

JOINER = "@@"


def vocabulary_path(codes: Path) -> Path:
    return codes.with_name(codes.name + ".vocab")


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    need_pretokenizer(vocabulary, "subword-nmt", "whitespace")
    need_no_normalization(vocabulary, "subword-nmt")
    need_merges(vocabulary, "subword-nmt")
    need_no_symbols(vocabulary, "subword-nmt")
    lines = [HEAD, *(f"{left} {right}" for left, right in merge_list(vocabulary))]
    entries: dict[str, int] = {}
    for token in vocabulary.tokens:
        if token.kind in ("character", "merged"):
            written = _written(token.text)
            if written in entries:
                raise SettingsError(
                    f"subword-nmt writes two tokens as {written!r}: the text has the mark "
                    f"{JOINER!r} itself; replace it there, or leave such words out"
                )
            entries[written] = token.frequency // vocabulary.unit
    return {
        path: "".join(f"{line}\n" for line in lines).encode(),
        vocabulary_path(path): "".join(f"{text} {n}\n" for text, n in entries.items()).encode(),
    }


def _written(text: str) -> str:
    return text.removesuffix(WORD_FINAL) if text.endswith(WORD_FINAL) else text + JOINER


def read(path: Path) -> Pieces:
    """A codes file, and its vocabulary if that is beside it. What is merged but not in the
    vocabulary is hidden. Without it the alphabet is all that the merges have."""
    pieces = Pieces(str(path), "subword-nmt", "whitespace", [])
    first = next(iter(read_lines(path)), "")
    if first != HEAD:
        raise pieces.fail(f"line 1: {first[:40]!r}, not {HEAD!r}; volt reads codes of version 0.2")
    pairs = read_pairs(path, pieces)
    made = dict.fromkeys(left + right for left, right in pairs)
    beside = vocabulary_path(path)
    if beside.exists():
        listed = _read_vocabulary(beside, pieces)
        pieces.frequencies = listed
    else:
        parts = {part for pair in pairs for part in pair}
        alphabet = {part for part in parts if is_character(part, "whitespace")}
        listed = dict.fromkeys([*sorted(alphabet), *made], 0)
        pieces.messages.append(f"no {beside.name}: the alphabet is what the merges have")
    pieces.texts = [*DEFAULT_SPECIAL, *listed]
    pieces.kinds = dict.fromkeys(DEFAULT_SPECIAL, "special")
    pieces.hidden = [text for text in made if text not in listed]
    pieces.pairs = pairs
    return pieces


def _read_vocabulary(file: Path, pieces: Pieces) -> dict[str, int]:
    listed: dict[str, int] = {}
    for number, line in enumerate(read_lines(file), 1):
        text, _, frequency = line.rpartition(" ")
        if not text or not (frequency.isascii() and frequency.isdigit() and len(frequency) < 19):
            pieces.name = str(file)
            raise pieces.fail(f"line {number}: {line[:60]!r} is no token with its frequency")
        inner = len(text) > len(JOINER) and text.endswith(JOINER)
        listed[text.removesuffix(JOINER) if inner else text + WORD_FINAL] = int(frequency)
    return listed
