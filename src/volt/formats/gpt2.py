"""GPT-2: `vocab.json` and `merges.txt`, byte-level text, rule `pairs`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from volt.base.errors import InputError, SettingsError
from volt.base.gate import read_json
from volt.counting.marks import END_MARK
from volt.counting.words import PRETOKENIZERS
from volt.formats import reasons
from volt.formats.assembly import Parsed
from volt.formats.base import Format, Written
from volt.formats.files import read_merges
from volt.formats.huggingface.classes import (
    CLASS_NAMES,
    CONFIG,
    GPT2_CLASSES,
    NFC_CLASSES,
    class_of,
)
from volt.formats.huggingface.folder import (
    MAP,
    PLAIN_NAME,
    config,
    named_beside,
    read_roles,
    settings_of,
    with_beside,
)
from volt.formats.huggingface.parts import (
    BYTE_LEVEL,
    BYTES,
    cutting_parts,
    in_sequence,
    split_part,
    whole_file,
)
from volt.formats.huggingface.read import parse
from volt.formats.huggingface.write import as_json
from volt.formats.patterns import full_name
from volt.tokenizing.merge_pairs import merge_list
from volt.tokenizing.schemas import TOKEN_IDS
from volt.tokenizing.vocabulary import Vocabulary

HEAD = "#version: 0.2"
PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
"""The two names of the two files."""
CLIP_PATTERN = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)
FIRST_ADDED = ("<|endoftext|>", "<|startoftext|>")

Data = dict[str, Any]


def refusals(vocabulary: Vocabulary) -> Iterator[str]:
    yield from reasons.normalization(vocabulary, "GPT-2")
    yield from reasons.whole_words(vocabulary, "GPT-2")
    yield from reasons.symbols(vocabulary, "GPT-2")


def write(vocabulary: Vocabulary, path: Path) -> Written:
    """A folder with the two files, and settings that name the class that reads them. Special tokens
    have their ids in `vocab.json`."""
    return {
        path / "vocab.json": (json.dumps(vocabulary.ids, ensure_ascii=False) + "\n").encode(),
        path / "merges.txt": merge_lines(vocabulary),
        path / CONFIG: as_json(config(vocabulary) | {"tokenizer_class": "GPT2Tokenizer"}),
    }


def merge_lines(vocabulary: Vocabulary) -> bytes:
    """The merges as subword-nmt and GPT-2 write them."""
    lines = [HEAD, *(f"{left} {right}" for left, right in merge_list(vocabulary))]
    return "".join(f"{line}\n" for line in lines).encode()


def read(path: Path, pattern: str | None = None) -> Parsed:
    """The folder, or either file with the other one beside it."""
    folder = path if path.is_dir() else path.parent
    found = pair_data(folder, pattern)
    parsed = parse(str(folder / found.names[0]), with_beside(found.data, folder)[0])
    parsed.form = "gpt2"
    parsed.messages.append(found.said)
    read_roles(parsed, found.data, folder)
    return parsed


# ------------------------------------------------------------- as the classes of transformers do it


@dataclass(frozen=True)
class PairData:
    """The two files as a tokenizer.json."""

    data: Data
    names: tuple[str, str]
    said: str
    """Who says how text is cut."""


def missing_of_pair(folder: Path) -> str:
    """Which file of the two is missing."""
    for pair in PAIRS:
        there = [name for name in pair if (folder / name).exists()]
        if len(there) == 1:
            missing = next(name for name in pair if name not in there)
            return f"{folder}: {missing} is missing, which belongs to {there[0]}"
    return f"{folder}: {' and '.join(PAIRS[0])} are missing"


def pair_data(folder: Path, pattern: str | None) -> PairData:
    """vocab.json and merges.txt, or encoder.json and vocab.bpe. They do not say how text is cut:
    tokenizer_config.json names the class that does it, or `pattern` tells."""
    names = next((pair for pair in PAIRS if all((folder / one).exists() for one in pair)), None)
    if names is None:
        raise InputError(missing_of_pair(folder))
    vocab = read_json(folder / names[0], TOKEN_IDS)
    merges = [" ".join(pair) for pair in read_merges(folder / names[1])]
    settings = settings_of(folder, CONFIG)
    parts, said = _parts(folder, names, settings, pattern)
    model = {"type": "BPE", "vocab": vocab, "merges": merges, **parts.pop("model", {})}
    unknown = model.get("unk_token")
    if unknown is not None and unknown not in vocab:
        model["unk_token"] = None
    data = whole_file(_added(vocab, folder, settings), **parts, model=model)
    return PairData(data, names, said)


def _parts(
    folder: Path, names: tuple[str, str], settings: Data, pattern: str | None
) -> tuple[Data, str]:
    """Normalizer, pre-tokenizer and model settings, and who says so."""
    if pattern is not None:
        pattern = full_name(pattern)
        known = next((mode for mode in PRETOKENIZERS.values() if mode.byte_level
                      and pattern in (mode.name, mode.pattern)), None)  # fmt: skip
        steps = [split_part(pattern), BYTES] if known is None else cutting_parts(known)
        return {"pre_tokenizer": in_sequence(steps)}, "the pattern is the one given"
    if names[0] == "encoder.json":
        return {"pre_tokenizer": BYTE_LEVEL}, "encoder.json and vocab.bpe: GPT-2's pattern"
    kind, named = class_of(settings), str(settings.get("tokenizer_class", ""))
    said = f"{CONFIG} names {named}"
    prefix = bool(settings.get("add_prefix_space", False))
    parts: Data = {"normalizer": {"type": "NFC"}} if kind in NFC_CLASSES else {}
    if kind in GPT2_CLASSES:
        return {**parts, "pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": prefix}}, said
    if kind in ("Qwen2", "Qwen3"):
        cuts = in_sequence(cutting_parts(PRETOKENIZERS["byte-level:qwen2"]))
        return {**parts, "pre_tokenizer": cuts}, said
    if kind == "CLIP":
        return clip_parts(), said
    raise SettingsError(
        f"{folder}: vocab.json and merges.txt do not say how text is cut, and "
        + (f"{CONFIG} names {named!r}, which volt does not know" if named
           else f"there is no {CONFIG} that names the tokenizer's class")
        + "; name it with `pattern`: one of "
        + ", ".join(name for name, mode in PRETOKENIZERS.items() if mode.byte_level)
        + ", or a regular expression"
    )  # fmt: skip


def clip_parts() -> Data:
    """What transformers' CLIPTokenizer does: OpenAI's code with ftfy and html.unescape left out."""
    steps: list[Data] = [
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ]
    cuts: list[Data] = [
        split_part(CLIP_PATTERN, "Removed") | {"invert": True},
        {**BYTE_LEVEL, "add_prefix_space": False, "use_regex": True},
    ]
    return {
        "normalizer": in_sequence(steps, "normalizers"),
        "pre_tokenizer": in_sequence(cuts),
        "model": {"unk_token": "<|endoftext|>", "continuing_subword_prefix": "",
                  "end_of_word_suffix": END_MARK, "fuse_unk": False},
    }  # fmt: skip


def _added(vocab: Data, folder: Path, settings: Data) -> list[Data]:
    """The tokens that tokenizer_config.json and special_tokens_map.json name, or else the class, if
    they are tokens. Those of added_tokens_decoder have their flags there, and are added by
    `with_beside`."""
    names = CLASS_NAMES.get(class_of(settings), {})
    given: Data = {**names, **settings_of(folder, MAP), **settings}
    found: dict[str, Data] = {}
    for key, value in given.items():
        one = {**PLAIN_NAME, "lstrip": key == "mask_token" and bool(names)}
        if isinstance(value, dict):
            one |= {flag: bool(value.get(flag, False)) for flag in PLAIN_NAME}
            value = value.get("content")
        if key.endswith("_token") and isinstance(value, str):
            found.setdefault(value, one)
    for name in () if names else FIRST_ADDED:
        found.setdefault(name, PLAIN_NAME)
    listed = {one["content"] for one in named_beside(folder).values()}
    return [{"id": vocab[name], "content": name, **flags, "special": True}
            for name, flags in found.items() if name in vocab.keys() - listed]  # fmt: skip


FORMAT = Format(
    name="gpt2",
    toolkit="GPT-2",
    description="The files of GPT-2, for `GPT2Tokenizer` and others that read them.",
    writes="folder with `vocab.json`, `merges.txt`, `tokenizer_config.json`",
    write=write,
    read=read,
    needs_pattern=True,
    takes=lambda mode: mode.native == "byte-level",
    encodings=("merge",),
    merge_rule="pairs",
    refusals=refusals,
    names=("vocab.json", "merges.txt"),
    example=(
        "gpt2",
        'from transformers import GPT2TokenizerFast; GPT2TokenizerFast.from_pretrained("gpt2")',
    ),
)
