"""Records: JSON Lines, Parquet, CSV, TSV and Arrow files. Which file is one, which field is text.

record_readers.py reads them. All of them become batches of documents, and what is not text in a
record is an error with the file and the record's number, or a counted skip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from volt import _core
from volt.base.checks import did_you_mean
from volt.base.errors import InputError
from volt.base.gate import SETTINGS, read_json
from volt.base.schema import rows, table, text
from volt.counting.documents import Batches, Documents, documents_of
from volt.settings import InputSettings

DEFAULT_FIELDS = ("text", "content", "sentence")
"""The first of these that a file has is read if none is named."""
HEAD = 1 << 16
"""Bytes that are looked at to find out what a file is."""
FORM_OF = {
    "jsonl": "jsonl", "ndjson": "jsonl", "json": "json", "parquet": "parquet", "csv": "csv",
    "tsv": "tsv", "arrow": "arrow", "feather": "arrow",
}  # fmt: skip
"""The form of a file by the end of its name, compressed or not. All else is text."""
COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst|zstd|deflate|snappy|lz4)$", re.IGNORECASE)
"""How the names of compressed files end."""
NOT_ASKED = ""
"""The `on_invalid` of what has no such parameter: as "error", which can't be changed."""
REPLACED = ", replace what is not UTF-8 with `on_invalid='replace'`"
NO_LISTS = "lists are not read: flatten them first, to one text per record"
SURROGATE = re.compile("[\ud800-\udfff]")
TOKENIZERS = (
    (re.compile(rb'\s*\{\s*"version"\s*:\s*"[^"]*"\s*,\s*"truncation"\s*:'), "a tokenizer.json"),
    (re.compile(rb'\s*\{\s*"format"\s*:\s*\d+\s*,\s*"volt"\s*:'), "a file of volt"),
)
"""How tokenizers begin that are JSON, and what they are called."""
PAIR = re.compile(rb"[^\t\n]+\t[0-9]{1,18}\r?")
"""A line of SentencePiece's TSV."""


def form_by_name(name: str) -> str | None:
    """What the end of a name says: a key of the readers, or None for text."""
    return FORM_OF.get(COMPRESSED.sub("", name.lower()).rpartition(".")[2])


def form_by_content(named: str, head: bytes, fields: Sequence[str]) -> str:
    """What a file is whose name says `named`, by its first bytes; `text` and `counts` included."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith(b"# volt "):  # whatever wrote it, a counts file says so itself
        return "text"
    if named == "tsv":
        return "pairs" if _looks_like_pairs(head) else "tsv"
    if named == "json":
        return _form_of_json(head, fields)
    return named


def tokenizer_by_content(head: bytes) -> str:
    """What a JSON file is by its first bytes, if it is a tokenizer and not text; else empty."""
    return next((what for start, what in TOKENIZERS if start.match(head)), "")


def _looks_like_pairs(head: bytes) -> bool:
    """Is every line `word<TAB>count`?"""
    lines = head.split(b"\n")[:1000]
    whole = lines[:-1] if len(head) >= HEAD or not lines[-1] else lines
    return bool(whole) and all(map(PAIR.fullmatch, whole))


def _form_of_json(head: bytes, fields: Sequence[str]) -> str:
    """An array of objects, objects line by line, or a document that just is JSON, like the settings
    of a program. One object alone is a record if it has a field that is asked for."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"[":
        return "json" if start[1:].lstrip()[:1] == b"{" else "text"
    if start[:1] != b"{":
        return "text"
    first, _, rest = start.partition(b"\n")
    if not rest and len(head) >= HEAD:
        return "jsonl"  # one line that does not end in the head
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return "text"
    if rest.lstrip()[:1] == b"{":
        return "jsonl"
    return "jsonl" if any(_has(record, one) for one in fields or DEFAULT_FIELDS) else "text"


SPLITS = table({}, {"splits": rows(text())})
STATE = table({"_data_files": rows(table({"filename": text()}))})
"""What `datasets` writes beside the Arrow files of a data set."""


def saved_data_set(folder: Path) -> list[Path] | None:
    """The Arrow files of a folder that `datasets` saved, in order; None if it is another folder."""
    if (folder / "dataset_dict.json").is_file():
        splits = read_json(folder / "dataset_dict.json", SPLITS, SETTINGS).get("splits", [])
        names = ", ".join(splits)
        raise InputError(
            f"{folder}: a data set with splits {names}; name one: {folder / splits[0]}"
            if splits else f"{folder}: a data set without splits"
        )  # fmt: skip
    if not (folder / "state.json").is_file() or not (folder / "dataset_info.json").is_file():
        return None
    files = read_json(folder / "state.json", STATE, SETTINGS)["_data_files"]
    return [folder / Path(file["filename"]).name for file in files]


# ------------------------------------------------------------------------------------------- fields


def _has(record: Any, name: str) -> bool:
    return name in record or member_of(record, tuple(name.split("."))) is not MISSING


MISSING = object()
"""What `member_of` returns where there is nothing, not even null."""


def member_of(record: Any, path: Sequence[str]) -> Any:
    for part in path:
        if not isinstance(record, Mapping) or part not in record:
            return MISSING
        record = record[part]
    return record


def find_fields(
    asked: Sequence[str],
    has: Callable[[tuple[str, ...]], bool],
    there: Sequence[str],
    where: str,
    is_list: Callable[[tuple[str, ...]], bool] = lambda path: False,
) -> list[tuple[str, ...]]:
    """The paths of the fields to read: of the names asked for, those that are there.

    A name with dots is first taken as it is, then as a path.
    `there`: what to list if no field is found in `where`.
    """

    def find(name: str) -> tuple[str, ...] | None:
        return next((path for path in ((name,), tuple(name.split("."))) if has(path)), None)

    if not asked:
        found = next((path for name in DEFAULT_FIELDS if (path := find(name))), None)
        if found is None:
            raise InputError(
                f"{where}: no field named {', '.join(DEFAULT_FIELDS[:-1])} or "
                f"{DEFAULT_FIELDS[-1]}; there are: {_listed(there)}; `field` names the text"
            )
        return [found]
    paths = [path for name in asked if (path := find(name))]
    if paths:
        return paths
    for path in (tuple(name.split(".")) for name in asked):
        for parts in range(1, len(path)):
            if is_list(path[:parts]):
                inner, outer = ".".join(path), ".".join(path[:parts])
                raise InputError(f"{where}: no field {inner!r}: {outer!r} is a list; {NO_LISTS}")
    likely = [name for name in there if not is_list((name,))]
    named = " and no field ".join(f"{name!r}{did_you_mean(name, likely)}" for name in asked)
    raise InputError(
        f"{where}: no field {named}; there are: {_listed(there)}; if files differ, name the field "
        "of each with `field`"
    )


def fields_of_record(
    asked: Sequence[str], record: Mapping[Any, Any], where: str
) -> list[tuple[str, ...]]:
    """The paths of the fields to read in records like this one."""

    def has(path: tuple[str, ...]) -> bool:
        return member_of(record, path) is not MISSING

    def is_list(path: tuple[str, ...]) -> bool:
        return isinstance(member_of(record, path), list)

    return find_fields(asked, has, list(map(str, record)), where, is_list)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(str(name)[:80] for name in names[:40])
    return (shown or "none") + (f" and {len(names) - 40:,} more" if len(names) > 40 else "")


# ---------------------------------------------------------------------------------------- a reading


@dataclass
class Reading:
    """One reading of a file of records: what is asked of it, and what was left out."""

    name: str
    fields: Sequence[str] = ()
    on_invalid: str = "error"
    skipped: int = 0
    """Records left out because they can't be read as text, with `on_invalid='skip-line'`."""
    nulls: int = 0
    """Fields that are null: not text, and no mistake either."""
    read: int = 0
    """How many records were read, where a library finds out that the file is damaged."""
    done: float = 0.0
    """Share of the records that were read, if the file says how many there are."""
    part: bool = False
    """Is it only a part of a file, which may have no record?"""
    paths: Sequence[tuple[str, ...]] = ()
    """The fields that are read of each record, once they were found."""

    def named(self) -> str:
        return ", ".join(map(".".join, self.paths))

    def error(self, record: int, problem: str, more: str = "") -> InputError:
        """`more`: another way out."""
        skipped = "" if self.on_invalid in (NOT_ASKED, "skip-line") else (
            f"{more}, or leave such records out with `on_invalid='skip-line'`"
        )  # fmt: skip
        return InputError(f"{self.name}, record {record:,}: {problem}; fix the file{skipped}")

    def bad(self, record: int, problem: str, more: str = "") -> None:
        """A record that is not text: an error, or skipped."""
        if self.on_invalid != "skip-line":
            raise self.error(record, problem, more)
        self.skipped += 1

    def invalid(self, record: int, data: bytes, of: str = "record") -> bool:
        """Is it invalid UTF-8? Then it is an error, or skipped."""
        offset = _core.find_invalid_utf8(data)
        if offset >= 0:
            byte = f"byte 0x{data[offset]:02X} at offset {offset} of the {of}"
            self.bad(record, f"invalid UTF-8 ({byte})", REPLACED)
        return offset >= 0

    def nothing(self) -> None:
        """A file without a single record."""
        if self.part:
            return
        if self.on_invalid != "skip-line":
            go_on = "" if self.on_invalid == NOT_ASKED else (
                ", or go on without it by `on_invalid='skip-line'`"
            )  # fmt: skip
            raise InputError(
                f"{self.name}: the file is empty; there are no records. Leave it out{go_on}"
            )
        self.skipped += 1

    def text_of(self, record: Any, paths: Sequence[tuple[str, ...]], number: int) -> list[bytes]:
        """The texts of a record, or none if one of them is not text."""
        if not isinstance(record, Mapping):
            self.bad(number, f"{_kind(record)}, not an object with fields")
            return []
        texts: list[bytes] = []
        for path in paths:
            found = member_of(record, path)
            shown = ".".join(path)
            if found is None:
                self.nulls += 1
            elif found is MISSING:
                problem = f"no field {shown!r}; it has: {_listed(list(record))}"
                if len(self.fields) != 1 and self.paths:
                    problem += f"; the first record decides which are read: {self.named()}"
                self.bad(number, problem)
                return []
            elif not isinstance(found, str):
                hint = f"; {NO_LISTS}" if isinstance(found, list) else ""
                self.bad(number, f"{shown!r} is {_kind(found)}, not text{hint}")
                return []
            else:
                try:
                    texts.append(found.encode())
                except UnicodeEncodeError as error:
                    if self.on_invalid == "replace":
                        texts.append(SURROGATE.sub("\ufffd", found).encode())
                        continue
                    code = ord(error.object[error.start])
                    problem = f"a lone surrogate (U+{code:04X}) in {shown!r} is not text"
                    self.bad(number, problem, REPLACED)
                    return []
        return texts

    def valid(self, found: Documents, numbers: Callable[[int], int]) -> Documents:
        """The documents, all of them valid UTF-8. `numbers` gives a document's record number."""
        text = np.frombuffer(found.text, np.uint8)
        starts = found.ends[:-1]
        firsts = text[starts[starts < len(text)].astype(np.int64)]
        # Two halves of a character at the end of a document and the start of the next are valid
        # together, but not by themselves.
        if _core.find_invalid_utf8(found.text) < 0 and not np.any((firsts & 0xC0) == 0x80):
            return found
        kept: list[bytes] = []
        for place, one in enumerate(found.split()):
            if self.on_invalid == "replace":
                kept.append(one.decode(errors="replace").encode())
            elif not self.invalid(numbers(place), one, "text"):
                kept.append(one)
        return documents_of(kept)


class RecordBatches(Batches):
    """The texts of records, in batches."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.name = reading.name
        self._reading = reading

    def left_out(self) -> tuple[int, int]:
        return self._reading.skipped, self._reading.nulls

    @property
    def fields(self) -> list[str]:
        return list(map(".".join, self._reading.paths))


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text",
             list: "a list", dict: "an object", type(None): "null"}  # fmt: skip
    return names.get(type(value), f"a {type(value).__name__}")


@dataclass(frozen=True)
class RecordOptions:
    """How files may be read as records: the form, the fields, and what to do with bad records."""

    form: str = "auto"
    fields: Sequence[str] = ()
    on_invalid: str = "error"

    @classmethod
    def of(cls, settings: InputSettings) -> RecordOptions:
        """What settings say about it."""
        on_invalid = getattr(settings, "on_invalid", NOT_ASKED)
        return cls(settings.input_format, settings.field, on_invalid)


AS_NAMED = RecordOptions()
"""As the names of files say, with a field of a usual name."""
