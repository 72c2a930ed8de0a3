"""Which files of a folder are volt's own.

Every folder that volt writes contains a manifest, a hidden file that lists the others. Only files
on that list are ever replaced, deleted, or skipped where a folder is read as text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from volt.base.errors import InputError, UnreadableError
from volt.base.gate import REPORT, read_json
from volt.base.schema import one_of, rows, table, text

MANIFEST = ".volt-files.json"
FORMAT_VERSION = 1
NAMED = 3
"""Files that a message names; the others are counted."""
COUNTED = 1000
"""Files that are counted for a message."""

Holds = Literal["result", "text", "trial"]
"""What a folder contains. One kind never replaces another."""

SCHEMA = table({"holds": one_of(*get_args(Holds)), "files": rows(text())})

TEMPORARY = re.compile(r"(?:.*/)?\.volt-[0-9a-f]+(?:-[0-9]+)?\.(?:tmp|old)(?:/.*)?")
"""What a killed process may leave."""

_LEARNED = r"(?:volt|choices|report)\.json|volt\.cache|curve\.csv|signature\.txt|report\.html"
_TOKENIZER = (
    r"tokenizer(?:_config)?\.json|vocab\.json|merges\.txt|special_tokens_map\.json"
    r"|added_tokens\.json|[^/]+\.(?:model|vocab|tiktoken)"
)
TOKENIZER_FILES = re.compile(
    rf"{_TOKENIZER}|chat_template\.jinja|(?:generation_)?config\.json|.+\.safetensors(?:\.index\.json)?"
)
"""What lies in the folder of a tokenizer, or of a model with one, and is not text."""
EARLY_FILES = re.compile(
    rf"(?:(?:source|target|scripts/[^/]+)/)?(?:{_LEARNED})|id_map(?:\.[0-9]+)?\.npy"
    rf"|(?:refit|parts)\.json|(?:model/)?(?:{_TOKENIZER})"
    r"|model/(?:(?:generation_)?config\.json|[^/]+\.safetensors(?:\.index\.json)?)"
)
"""The files of a result that an early version of volt wrote, without a manifest."""


@dataclass(frozen=True)
class Manifest:
    """What a folder of volt's contains."""

    holds: Holds
    files: frozenset[str]
    """Names below the folder, with `/` between folders; an empty folder ends with one."""

    def owns(self, name: str) -> bool:
        """Is it volt's: a file on the list, or a folder of such files that is now empty?"""
        if name in self.files or name == MANIFEST:
            return True
        return name.endswith("/") and any(file.startswith(name) for file in self.files)

    def to_bytes(self) -> bytes:
        data = {"format": FORMAT_VERSION, "holds": self.holds, "files": sorted(self.files)}
        return json.dumps(data, indent=1).encode() + b"\n"


def read_manifest(folder: Path) -> Manifest | None:
    """None where there is none, or none that makes sense. It is not trusted: it only marks files
    that are found in the folder. One that the system can't read is an error: without it files
    would be taken for somebody else's, or a new list would lack them."""
    try:
        data = read_json(folder / MANIFEST, SCHEMA, REPORT)
    except UnreadableError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            return None
        raise
    except InputError:
        return None
    return Manifest(data["holds"], frozenset(data["files"]))


def result_files(folder: Path) -> set[str]:
    """The files of a folder that volt wrote and that are not text, by their names below it."""
    manifest = read_manifest(folder)
    if manifest is not None:
        return set() if manifest.holds == "text" else {*manifest.files, MANIFEST}
    if _is_early(folder):
        return {name for name in entries_below(folder) if EARLY_FILES.fullmatch(name)}
    return set()


def tokenizer_files(folder: Path) -> set[str]:
    """The files of a folder that are a tokenizer's, by their names."""
    if not (folder / "tokenizer.json").is_file():
        return set()
    return {one.name for one in folder.iterdir() if TOKENIZER_FILES.fullmatch(one.name)}


def foreign_files(folder: Path, holds: Holds) -> list[str]:
    """Files that volt did not write, or wrote for something else; of very many the first."""
    manifest = read_manifest(folder)
    own: Callable[[str], object] = {MANIFEST}.__contains__
    if manifest is not None and manifest.holds == holds:
        own = manifest.owns
    elif manifest is None and holds == "result" and _is_early(folder):
        own = EARLY_FILES.fullmatch
    found = (name for name in entries_below(folder) if not own(name))
    return list(islice((name for name in found if not TEMPORARY.fullmatch(name)), COUNTED + 1))


def _is_early(folder: Path) -> bool:
    return (folder / "volt.json").is_file() or (folder / "source" / "volt.json").is_file()


def entries_below(folder: Path, below: str = "") -> Iterator[str]:
    """Files, links and empty folders (which end with `/`), in the order of their names."""
    with os.scandir(folder / below) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    if below and not entries:
        yield below
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from entries_below(folder, f"{below}{entry.name}/")
        else:
            yield below + entry.name


def some_of(names: Iterable[str]) -> str:
    """A few names for a message, and how many more there are."""
    names = list(names)
    more = len(names) - NAMED
    number = f"more than {COUNTED - NAMED:,}" if len(names) > COUNTED else f"{more:,}"
    return ", ".join(names[:NAMED]) + (f" and {number} more" if more > 0 else "")
