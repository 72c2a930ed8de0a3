"""The compiled cache `volt.cache`, beside a large `volt.json`: the same vocabulary, quick to load.

It contains the columns of the tokens and what the native encoder needs of them, and is mapped into
memory. It never decides anything: it is used only if it was made by this version of volt from
exactly the bytes of this `volt.json` and its own checksum is right; the native encoder checks its
columns again, and `volt.load` the sample texts. Otherwise it is ignored and written again, where
that is possible.

The file: `MAGIC`, the SHA-256 of all that follows, the SHA-256 of `volt.json`, the length of the
header (64 bits), the header (JSON: the fields of volt.json without the tokens, and the name, type
and length of every column), then the columns. A column of whole numbers is as narrow as they allow.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt._version import __version__
from volt.base.errors import InputError
from volt.base.manifest import read_manifest
from volt.base.output import record, write_file
from volt.proposing.tokens import KINDS, Tokens, character_offsets
from volt.tokenizing.encoder import NO_PAIRS, NativeColumns
from volt.tokenizing.vocabulary import Vocabulary

NAME = "volt.cache"
MAGIC = b"volt-compiled\0\0\1"
"""The last byte is the version of the format. It changes whenever the meaning of a column does."""
DIGEST = hashlib.sha256().digest_size
START = len(MAGIC) + 2 * DIGEST + 8
"""Where the header begins."""
TYPES = ("|u1", "<u2", "<u4", "<u8", "|b1", "<f8")
"""What a column may consist of."""
SMALLEST = 10_000
"""Tokens. A smaller vocabulary loads in 35 ms without a cache."""


class StoredTokens(Tokens):
    """Tokens whose texts are cut apart when they are first asked for: encoding does not need them.
    That takes 15 ms for 128,000."""

    _joined: str
    _lengths: NDArray[np.unsignedinteger[Any]]

    @staticmethod
    def stored(
        joined: str, lengths: NDArray[np.unsignedinteger[Any]], **columns: Any
    ) -> StoredTokens:
        tokens = object.__new__(StoredTokens)
        tokens.__dict__ |= columns | {"_joined": joined, "_lengths": lengths}
        return tokens

    def __len__(self) -> int:
        return len(self.kinds)

    @cached_property
    def texts(self) -> list[str]:
        joined = self._joined
        return [joined[start:end] for start, end in pairwise(_offsets(self._lengths).tolist())]

    def texts_at(self, numbers: Iterable[int]) -> list[str]:
        if "texts" in self.__dict__:
            return super().texts_at(numbers)
        joined, ends = self._joined, _offsets(self._lengths)
        return [joined[int(ends[number]) : int(ends[number + 1])] for number in numbers]


def _offsets(lengths: NDArray[Any]) -> NDArray[np.uint64]:
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)])


# ------------------------------------------------------------------------------------------- write


def digest(parts: Iterable[bytes | memoryview]) -> bytes:
    """The checksum of a file in parts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.digest()


def write_compiled(file: Path, of_json: bytes, vocabulary: Vocabulary) -> None:
    """Write the cache of the `volt.json` with this checksum, if it is worth it and can be done. It
    becomes one of volt's own files where the folder has a list of them. Other people's files of
    that name stay."""
    place = file.with_name(NAME)
    if file.name != "volt.json" or len(vocabulary) < SMALLEST:
        return
    with suppress(InputError, OSError):
        if place.is_symlink() or (place.exists() and not _is_ours(place)):
            return
        write_file(place, *compiled_parts(of_json, vocabulary))
        record(place.parent, NAME)


def renew_compiled(file: Path, data: bytes, vocabulary: Vocabulary) -> None:
    """Write the cache after loading without one. Only into a folder that volt wrote: nothing
    appears beside a file that was copied to some other place."""
    with suppress(InputError):  # no cache, then
        manifest = read_manifest(file.parent)
        if manifest is not None and manifest.owns(file.name):
            write_compiled(file, digest([data]), vocabulary)


def _is_ours(place: Path) -> bool:
    if not stat.S_ISREG(place.lstat().st_mode):
        return False
    with place.open("rb") as stream:
        return stream.read(len(MAGIC))[:-1] in (MAGIC[:-1], b"")


def compiled_parts(of_json: bytes, vocabulary: Vocabulary) -> list[bytes]:
    """The content of the cache of the `volt.json` with this checksum."""
    from volt.tokenizing.volt_json import head_fields

    pool, native = vocabulary.pool_columns, vocabulary.native
    pairs = NO_PAIRS
    if vocabulary.look_up is None and vocabulary.merge_rule == "concat":
        pairs = vocabulary.encoder.pairs()
    whole: dict[str, NDArray[Any]] = {
        "lengths": np.diff(character_offsets(*pool.packed)),
        "kinds": pool.kinds,
        "parents": pool.parents.ravel() + 1,
        "ranks": pool.ranks + 1,
        "scaffolds": pool.scaffolds,
        "frequencies": pool.frequencies,
        "flags": native.flags,
        "bytes": np.diff(native.offsets),
        "pairs": pairs,
    }
    columns: dict[str, NDArray[Any]] = {
        "texts": pool.packed[0],
        "native": native.text,
        "scores": pool.scores if pool.scores.any() else np.zeros(0),
    }
    columns |= {name: _narrow(column) for name, column in whole.items()}
    header = json.dumps(
        {
            "volt": __version__,
            "head": head_fields(vocabulary)
            | {"self_test": [{"text": t, "ids": ids} for t, ids in vocabulary.self_test]},
            "hidden": len(vocabulary.hidden),
            "columns": [[name, one.dtype.str, len(one)] for name, one in columns.items()],
        },
        ensure_ascii=False,
    ).encode()
    header += b" " * (-(START + len(header)) % 8)
    rest = [of_json, struct.pack("<Q", len(header)), header]
    for column in columns.values():
        rest += [column.tobytes(), b"\0" * (-column.nbytes % 8)]
    return [MAGIC, digest(rest), *rest]


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    highest = int(column.max()) if len(column) else 0
    bits = next(bits for bits in (8, 16, 32, 64) if highest < 1 << bits)
    return column.astype(f"<u{bits // 8}")


# -------------------------------------------------------------------------------------------- read


def read_compiled(file: Path, data: bytes) -> Vocabulary | None:
    """The vocabulary of the `volt.json` with these bytes, from the cache beside it. None if there
    is none, or none that can be used."""
    if file.name != "volt.json":
        return None
    try:
        stored = _mapped(file.with_name(NAME))
        return None if stored is None else _read(str(file), data, stored)
    except (InputError, OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None


def _mapped(place: Path) -> mmap.mmap | None:
    number = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_size < START:
            return None
        return mmap.mmap(number, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(number)


def _read(name: str, data: bytes, stored: mmap.mmap | bytes) -> Vocabulary | None:
    """Raises one of many errors where the cache contradicts itself."""
    from volt.tokenizing.volt_json import read_head

    start = len(MAGIC) + DIGEST
    if stored[: len(MAGIC)] != MAGIC:
        return None
    if stored[start : start + DIGEST] != hashlib.sha256(data).digest():
        return None
    if stored[len(MAGIC) : start] != hashlib.sha256(memoryview(stored)[start:]).digest():
        return None
    (length,) = struct.unpack_from("<Q", stored, START - 8)
    header = json.loads(stored[START : START + length])
    if header["volt"] != __version__:
        return None
    columns: dict[str, NDArray[Any]] = {}
    at = START + length
    for column, kind, size in header["columns"]:
        if kind not in TYPES:  # NumPy would read any text as a type, and some as Python
            raise ValueError("a type that no column has")
        columns[column] = np.frombuffer(stored, np.dtype(kind), size, at)
        at += columns[column].nbytes + -columns[column].nbytes % 8
    pool = _tokens(columns)
    visible = len(pool) - int(header["hidden"])
    tokens, hidden = (pool, Tokens.of(())) if visible == len(pool) else _cut(pool, visible)
    vocabulary = read_head(name, header["head"], tokens, hidden)
    vocabulary.__dict__["native"] = NativeColumns(
        columns["native"],
        _offsets(columns["bytes"]),
        columns["flags"].astype(np.uint8),
        columns["pairs"].astype(np.uint32),
    )
    return vocabulary


def _tokens(columns: dict[str, NDArray[Any]]) -> Tokens:
    size = len(columns["kinds"])
    scores = columns["scores"]
    whole: dict[str, NDArray[Any]] = {
        "kinds": columns["kinds"].astype(np.uint8),
        "parents": columns["parents"].astype(np.int64).reshape(size, 2) - 1,
        "ranks": columns["ranks"].astype(np.int64) - 1,
        "scaffolds": columns["scaffolds"].astype(bool),
        "frequencies": columns["frequencies"].astype(np.int64),
        "scores": scores.astype(np.float64) if len(scores) else np.zeros(size),
    }
    if {len(column) for column in (*whole.values(), columns["lengths"])} != {size}:
        raise ValueError("the columns differ in length")
    if int(whole["kinds"].max(initial=0)) >= len(KINDS):
        raise ValueError("a kind that does not exist")
    if int(whole["parents"].max(initial=0)) >= size:
        raise ValueError("a parent that does not exist")
    joined = columns["texts"].tobytes().decode()
    if int(columns["lengths"].sum(dtype=np.uint64)) != len(joined):
        raise ValueError("the lengths are not those of the texts")
    return StoredTokens.stored(joined, columns["lengths"], **whole)


def _cut(pool: Tokens, visible: int) -> tuple[Tokens, Tokens]:
    """The tokens, and the hidden ones after them."""

    def part(place: slice) -> Tokens:
        return StoredTokens(pool.texts[place], *(column[place] for column in pool.arrays))

    return part(slice(visible)), part(slice(visible, None))
