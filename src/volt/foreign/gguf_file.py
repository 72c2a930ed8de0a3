"""The fields at the start of a GGUF file. Every length is checked against the bytes that are left,
so a small file can't ask for much work."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from volt.base.errors import InputError
from volt.base.gate import open_file, reading

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
"""Types of numbers, as `struct` calls them."""
STRING, ARRAY = 8, 9
MOST_DEPTH = 4
"""Arrays inside arrays."""


def read_fields(path: Path, start: str) -> dict[str, Any]:
    """The fields whose names begin with `start`, without it; only their values are decoded."""
    with open_file(path) as stream, reading(path):
        if stream.seek(0, 2) < 24:
            raise InputError(f"{path}: not a GGUF file: cut short")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _Reader(data).fields(start)
            except (struct.error, ValueError) as error:
                raise InputError(f"{path}: not a GGUF file that can be read: {error}") from None


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at, self.size = data, 4, len(data)
        if data[:4] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        self.order = "<"
        version = self.number("I")
        if version > 0xFFFF:  # written on a machine that stores the highest byte first
            self.order, self.at = ">", 4
            version = self.number("I")
        if version not in VERSIONS:
            raise ValueError(f"version {version}; volt reads {' and '.join(map(str, VERSIONS))}")

    def fields(self, start: str) -> dict[str, Any]:
        self.number("Q")  # tensors, which come after the fields
        found: dict[str, Any] = {}
        for _ in range(self.length(13, self.number("Q"))):
            name = self.string()
            value = self.value(self.number("I"), 0)
            if name.startswith(start):
                found[name.removeprefix(start)] = value
        return found

    def number(self, kind: str) -> Any:
        (found,) = struct.unpack_from(self.order + kind, self.data, self.at)
        self.at += struct.calcsize(self.order + kind)
        return found

    def length(self, item: int, number: int) -> int:
        """A number of items of at least so many bytes, if there is room for them."""
        if number > (self.size - self.at) // item:
            raise ValueError(f"at byte {self.at:,}: {number:,} items, but the file ends before")
        return number

    def string(self) -> str:
        begin = self.at + 8
        end = begin + self.length(1, self.number("Q"))
        if end > self.size:
            raise ValueError(f"at byte {begin:,}: cut short")
        self.at = end
        return self.data[begin:end].decode(errors="replace")

    def value(self, kind: int, depth: int) -> Any:
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == STRING:
            return self.string()
        if kind != ARRAY or depth >= MOST_DEPTH:
            raise ValueError(f"at byte {self.at:,}: a value of unknown type {kind}")
        inner = self.number("I")
        number = self.number("Q")
        if inner in SCALARS:
            form = SCALARS[inner]
            number = self.length(struct.calcsize(form), number)
            found = struct.unpack_from(f"{self.order}{number}{form}", self.data, self.at)
            self.at += number * struct.calcsize(form)
            return list(found)
        return [self.value(inner, depth + 1) for _ in range(self.length(8, number))]
