"""GPT-2: `vocab.json` and `merges.txt`, byte-level text, rule `pairs`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from volt.formats import reasons
from volt.formats.assembly import Parsed
from volt.formats.base import Files, Format
from volt.formats.files import read_json, read_lines
from volt.tokenizing.pairs import Pair, merge_list
from volt.tokenizing.vocabulary import Vocabulary

HEAD = "#version: 0.2"
SAME_PATTERN = ("GPT2Tokenizer", "WhisperTokenizer", "CodeGenTokenizer", "GPTNeoXTokenizer")
"""Classes of transformers that cut text as GPT-2 does."""


def refusals(vocabulary: Vocabulary) -> Iterator[str]:
    yield from reasons.normalization(vocabulary, "GPT-2")
    yield from reasons.whole_words(vocabulary, "GPT-2")
    yield from reasons.symbols(vocabulary, "GPT-2")


def write(vocabulary: Vocabulary, path: Path) -> Files:
    """A folder with the two files. Special tokens have their ids in `vocab.json`."""
    lines = [HEAD, *(f"{left} {right}" for left, right in merge_list(vocabulary))]
    return {
        path / "vocab.json": (json.dumps(vocabulary.ids, ensure_ascii=False) + "\n").encode(),
        path / "merges.txt": "".join(f"{line}\n" for line in lines).encode(),
    }


def read(path: Path) -> Parsed:
    """The folder, or either file with the other one beside it."""
    folder = path if path.is_dir() else path.parent
    file = folder / "vocab.json"
    parsed = Parsed(str(file), "gpt2", "byte-level", [], unknown="byte")
    settings = folder / "tokenizer_config.json"
    if settings.exists():
        named = read_json(settings)
        name = named.get("tokenizer_class") if isinstance(named, dict) else None
        if name is not None and str(name).removesuffix("Fast") not in SAME_PATTERN:
            raise parsed.fail(
                f"{settings.name} names {str(name)[:60]}: it cuts text otherwise than GPT-2; "
                "compare, verify, refit and extend take it"
            )
    numbers = read_json(file)
    if not isinstance(numbers, dict) or not all(type(i) is int for i in numbers.values()):
        raise parsed.fail("no table of tokens and ids")
    parsed.texts = parsed.by_number(numbers)
    parsed.pairs = read_pairs(folder / "merges.txt", parsed)
    return parsed


def read_pairs(file: Path, parsed: Parsed) -> list[Pair]:
    pairs: list[Pair] = []
    for number, line in enumerate(read_lines(file)):
        if number == 0 and line.startswith(("#version", "v3;")):
            continue
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            parsed.name = str(file)
            raise parsed.fail(f"line {number + 1}: {line[:60]!r} is not a pair of tokens")
        pairs.append((parts[0], parts[1]))
    return pairs


FORMAT = Format(
    name="gpt2",
    toolkit="GPT-2",
    description="The files of GPT-2, for `GPT2Tokenizer` and others that read them.",
    writes="folder with `vocab.json`, `merges.txt`",
    write=write,
    read=read,
    takes=lambda mode: mode.native == "byte-level",
    encodings=("merge",),
    merge_rule="pairs",
    refusals=refusals,
    names=("vocab.json", "merges.txt"),
    example=("gpt2", 'GPT2TokenizerFast.from_pretrained("gpt2")'),
)
