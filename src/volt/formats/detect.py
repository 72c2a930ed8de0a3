"""What a file or folder is, decided by its content. Names only decide which file of a folder
is read.

>>> from volt.formats.detect import FILE_KINDS
>>> FILE_KINDS["tekken"].said
'a tekken.json of Mistral'
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from volt.base.errors import InputError
from volt.base.gate import GZIP, inflated, open_file, read_bytes, reading
from volt.counting.marks import END_MARK
from volt.formats.gpt2 import PAIRS, missing_of_pair
from volt.formats.reasons import INSTEAD
from volt.formats.registry import FORMATS
from volt.tokenizing.volt_json import check_single


@dataclass(frozen=True)
class FileKind:
    """One kind of tokenizer file."""

    said: str
    """What it is, for messages."""
    form: str | None = None
    """The format of `volt.formats.FORMATS` that reads it, if one does."""
    refused: str = ""
    """Why it can't be converted."""
    by_engine: bool = False
    """Is it read for its engine first, and then converted?"""
    needs_pattern: bool = False
    """Are there files of this kind that do not say how they cut text?"""


FILE_KINDS = {
    "volt": FileKind("a vocabulary of volt"),
    "hf": FileKind("a tokenizer.json of Hugging Face", "hf"),
    "sentencepiece": FileKind("a SentencePiece model", "sentencepiece"),
    "tiktoken": FileKind("tiktoken ranks", "tiktoken", needs_pattern=True),
    "tekken": FileKind("a tekken.json of Mistral", by_engine=True),
    "gpt2": FileKind("vocab.json and merges.txt", "gpt2", needs_pattern=True),
    "bert": FileKind("a vocab.txt of BERT", by_engine=True),
    "marian-mt": FileKind(
        "an OPUS-MT folder: source.spm, target.spm and vocab.json",
        refused="two models share its ids; import source.spm or target.spm alone",
    ),
    "clip": FileKind("bpe_simple_vocab of CLIP", by_engine=True, needs_pattern=True),
    "rwkv": FileKind("an RWKV vocabulary", refused="its tokens reach over the words of any text"),
    "gguf": FileKind("a GGUF file", by_engine=True, needs_pattern=True),
    "subword-nmt": FileKind("subword-nmt codes", "subword-nmt"),
    "opennmt": FileKind("OpenNMT codes", "subword-nmt"),
    "fairseq": FileKind("a fairseq dictionary", "fairseq"),
    "marian": FileKind("a Marian vocabulary", "marian"),
    "text": FileKind("a list of tokens", "text"),
}

BERT_NAMES = (b"[UNK]", b"[CLS]", b"[SEP]")
RWKV_LINE = re.compile(rb"\d+ b?(['\"]).*\1 \d+\r?$")
CLIP_LINE = re.compile(rb"\"?bpe_simple_vocab\S*#version:")
OPENNMT_LINE = re.compile(rb"v3;(true|false);(true|false);(true|false);")
PIECE_LINE = re.compile(rb".+\t-?\d[\d.e+-]*\r?$", re.DOTALL)
"""Of the list that SentencePiece writes beside a model."""
HF_START = re.compile(rb'\s*\{\s*"version"\s*:\s*"[^"]*"\s*,\s*"truncation"\s*:')
"""What Hugging Face's library writes first; the file need not be read for it."""
SETTINGS_FILES = (
    "config.json", "tokenizer_config.json", "generation_config.json", "special_tokens_map.json",
    "added_tokens.json",
)  # fmt: skip
"""What people name instead of the tokenizer beside it."""
REFITTED = "refit.json"
"""What refit and extend write into a folder."""
FOLDER_FILES = (
    "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model", "vocab.txt",
    "dict.txt",
)  # fmt: skip
"""The files of a folder that are looked at if it has none of the above."""
FOLDER_ENDINGS = (".tiktoken", ".gguf", ".model", ".spm", ".txt.gz")
"""Of files whose names may be any, one such file is taken, or one list that is known by content."""


@dataclass(frozen=True)
class Identified:
    """What a path is: its kind, and the file that decided."""

    kind: str
    file: Path

    @property
    def said(self) -> str:
        return FILE_KINDS[self.kind].said


def identify(path: Path) -> Identified:
    """What a file or folder is."""
    if not path.exists():
        raise InputError(f"no such file or folder: {path}{hub_hint(path)}")
    if path.is_dir():
        return _of_folder(path)
    if path.name == "volt.json":
        return Identified("volt", path)
    if path.name == "tokenizer.json":
        return Identified("hf", path)
    if path.name in SETTINGS_FILES:
        raise InputError(
            f"{path}: settings, not a tokenizer: name the folder that they are in, {path.parent}"
        )
    if path.name == "vocab.json" and path.with_name("source.spm").exists():
        return Identified("marian-mt", path)
    return Identified(_of_file(path), path)


def hub_hint(path: Path, loader: str = "AutoTokenizer") -> str:
    """How to get files of what seems to be the name of a model or an encoding."""
    if path.suffix[1:].isalpha() or path.is_absolute() or len(path.parts) > 2:
        return ""
    name = path.as_posix()
    return (
        f"; to get files of a model of that name: {loader}.from_pretrained({name!r})"
        f".save_pretrained({path.name!r}), from transformers"
    )


def detect(path: Path) -> str:
    """The format of `FORMATS` that reads a file or folder, or its kind if only its engine does."""
    known = {kind.form for kind in FILE_KINDS.values()}
    for name, one in FORMATS.items():  # registered by others
        if name not in known and one.names and path.name.endswith(one.names):
            return name
    found = identify(path)
    if found.kind == "volt":
        raise InputError(f"{found.file}: this is a vocabulary of volt: use it as it is")
    if FILE_KINDS[found.kind].by_engine:
        return found.kind
    form = FILE_KINDS[found.kind].form
    if form is None:
        raise InputError(
            f"{path}: {found.said}, which volt can't convert: {FILE_KINDS[found.kind].refused}; "
            f"{INSTEAD}"
        )
    return form


def _of_folder(path: Path) -> Identified:
    own = path / "volt.json"
    if not own.exists():
        return _of_other_folder(path)
    if (path / REFITTED).exists():  # a tokenizer's own file, rewritten, is what is used elsewhere
        with suppress(InputError):
            return _of_other_folder(path)
    return Identified("volt", own)


def _of_other_folder(path: Path) -> Identified:
    for name, kind in (("tokenizer.json", "hf"), ("tekken.json", "tekken")):
        if (path / name).exists():
            return Identified(kind, path / name)
    if (path / "source.spm").exists() and (path / "vocab.json").exists():
        return Identified("marian-mt", path / "vocab.json")
    models = [path / name for name in FOLDER_FILES[:4] if (path / name).exists()]
    for one, other in PAIRS:
        if not models and (path / one).exists() and (path / other).exists():
            return Identified("gpt2", path / one)
    single = [file for ending in FOLDER_ENDINGS for file in sorted(path.glob(f"*{ending}"))]
    single += sorted(path.glob("*.model.v*"))  # Mistral's
    single += [file for file in sorted(path.glob("*.txt")) if _of_file(file) in ("rwkv", "bert")]
    named = [path / name for name in FOLDER_FILES if (path / name).exists()]
    for file in named or (single if len(single) == 1 else []):
        return Identified(_of_file(file), file)
    if single:
        raise InputError(f"{path}: {', '.join(file.name for file in single)}: name one of them")
    check_single(path)
    if any((path / name).exists() for pair in PAIRS for name in pair):
        raise InputError(missing_of_pair(path))
    raise InputError(
        f"{path}: no tokenizer in this folder: no tokenizer.json, tokenizer.model, vocab.json with "
        "merges.txt, tekken.json, vocab.txt, dict.txt or RWKV vocabulary"
    )


def not_read(found: Identified) -> list[str]:
    """The tokenizer files of a folder beside the one that was decided for."""
    pairs = {name for pair in PAIRS for name in pair}
    names = {"tokenizer.json", "tekken.json", *pairs, *FOLDER_FILES}
    read = {found.file.name} | (pairs if found.kind in ("gpt2", "marian-mt") else set())
    return sorted(file.name for file in found.file.parent.iterdir() if file.name not in read
                  and (file.name in names or file.name.endswith(FOLDER_ENDINGS))
                  and not (found.kind == "marian-mt" and file.suffix == ".spm"))  # fmt: skip


def _of_file(path: Path) -> str:
    with open_file(path) as stream, reading(path):  # both have all of a model in them
        start = stream.read(10)
        if start.startswith(b"GGUF"):
            return "gguf"
        if start.startswith(GZIP):
            if CLIP_LINE.match(inflated(path, 256)):
                return "clip"
            raise InputError(f"{path}: compressed, and not bpe_simple_vocab of CLIP: unpack it")
        if start[6:] == b'\0\0{"':
            raise InputError(f"{path}: the weights of a model (safetensors), not a tokenizer")
    data = read_bytes(path)
    head = data[:4096]
    first = head.partition(b"\n")[0].rstrip(b"\r")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return _of_json(data)
    if OPENNMT_LINE.match(first):
        return "opennmt"
    if CLIP_LINE.match(first):
        return "clip"
    if path.name.endswith(".model") and not _base64_lines(data):
        return "sentencepiece"
    if first.startswith(b"#version:") or path.name in ("merges.txt", "vocab.bpe"):
        # GPT-2 wrote its merges in the format of subword-nmt, with letters for bytes and no </w>.
        numbered = any(path.with_name(pair[0]).exists() for pair in PAIRS)
        return "gpt2" if numbered and END_MARK.encode() not in data else "subword-nmt"
    if b"\0" in head or _is_no_text(head):
        return "sentencepiece"
    lines = data.split(b"\n")
    if RWKV_LINE.match(first) and all(map(RWKV_LINE.match, filter(None, lines[:100]))):
        return "rwkv"
    if first and all(map(PIECE_LINE.match, filter(None, lines[:100]))):
        model = path.with_suffix(".model")
        beside = f"{model.name}, which is beside it" if model.exists() else "the .model"
        raise InputError(
            f"{path}: the pieces of a SentencePiece model and their scores, for people to read; "
            f"how text is cut into them is in the model: name {beside}"
        )
    token, _, rank = first.rpartition(b" ")
    if rank.isdigit() and token:
        if token.endswith(b":"):
            return "marian"
        ranks = len(token) % 4 == 0 and (path.name.endswith(".tiktoken") or _base64_lines(data))
        return "tiktoken" if ranks else "fairseq"
    if path.name.endswith(".tiktoken"):
        return "tiktoken"
    if path.name == "dict.txt":
        return "fairseq"
    if path.name.endswith((".yml", ".yaml")):
        return "marian"
    if {*BERT_NAMES} <= {line.rstrip(b"\r") for line in lines}:
        return "bert"
    return "text"


def _of_json(data: bytes) -> str:
    if HF_START.match(data):
        return "hf"
    try:
        found: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return "hf"  # whose reader says what is wrong
    if isinstance(found, dict) and isinstance(found.get("vocab"), list) and "config" in found:
        return "tekken"
    numbers = found.values() if isinstance(found, dict) and "model" not in found else ()
    return "gpt2" if numbers and all(type(number) is int for number in numbers) else "hf"


def _is_no_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.end < len(head)
    return False


def _base64_lines(data: bytes) -> bool:
    """Are there lines for all 256 bytes? A dictionary of words has none for most."""
    if b"AA== " not in data:
        return False
    codes = {line.partition(b" ")[0] for line in data.split(b"\n")}
    return all(code in codes for code in (b"AA==", b"/w==", b"gA=="))
