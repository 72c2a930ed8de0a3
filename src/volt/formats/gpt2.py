"""GPT-2: `vocab.json` and `merges.txt`, byte-level text, rule `pairs`."""

from __future__ import annotations

import json
from pathlib import Path

from volt.formats.assembly import Pieces, read_json, read_lines
from volt.formats.huggingface import by_number
from volt.formats.merges import Pair, merge_list
from volt.formats.refusals import (
    need_merges,
    need_no_hidden,
    need_no_normalization,
    need_no_symbols,
    need_no_whole_words,
    need_pretokenizer,
)
from volt.tokenizing.vocabulary import Vocabulary

HEAD = "#version: 0.2"


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    """A folder with the two files. Special tokens have their ids in `vocab.json`."""
    need_pretokenizer(vocabulary, "GPT-2", "byte-level")
    need_no_normalization(vocabulary, "GPT-2")
    need_merges(vocabulary, "GPT-2")
    need_no_whole_words(vocabulary, "GPT-2")
    need_no_hidden(vocabulary, "GPT-2")
    need_no_symbols(vocabulary, "GPT-2")
    numbers = {token.text: number for number, token in enumerate(vocabulary.tokens)}
    lines = [HEAD, *(f"{left} {right}" for left, right in merge_list(vocabulary))]
    return {
        path / "vocab.json": (json.dumps(numbers, ensure_ascii=False) + "\n").encode(),
        path / "merges.txt": "".join(f"{line}\n" for line in lines).encode(),
    }


def read(path: Path) -> Pieces:
    """The folder, or either file with the other one beside it."""
    folder = path if path.is_dir() else path.parent
    file = folder / "vocab.json"
    pieces = Pieces(str(file), "gpt2", "byte-level", [], unknown="byte")
    numbers = read_json(file)
    if not isinstance(numbers, dict) or not all(type(i) is int for i in numbers.values()):
        raise pieces.fail("no table of tokens and ids")
    pieces.texts = by_number(pieces, numbers)
    pieces.pairs = read_pairs(folder / "merges.txt", pieces)
    return pieces


def read_pairs(file: Path, pieces: Pieces) -> list[Pair]:
    pairs: list[Pair] = []
    for number, line in enumerate(read_lines(file)):
        if number == 0 and line.startswith("#version"):
            continue
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            pieces.name = str(file)
            raise pieces.fail(f"line {number + 1}: {line[:60]!r} is no pair of tokens")
        pairs.append((parts[0], parts[1]))
    return pairs
