"""Feeding: files and documents go to an encoder, block by block."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import SettingsError, VoltWarning
from volt.base.gate import reading
from volt.base.progress import Progress
from volt.counting.decoding import Cleaner, CleanText, invalid_utf8
from volt.counting.documents import Documents, documents_of, one_document, text_only
from volt.counting.inputs import Text, TextInput, find_inputs, total_size
from volt.counting.reading import (
    AfterBlock,
    BlockEnd,
    ReadingProgress,
    clean_documents,
    ends_in_crlf,
    invalid_document,
    read_whole,
)
from volt.counting.records import RecordOptions
from volt.counting.words import Unit
from volt.settings import EncodeSettings

BLOCK = 1 << 22
"""How much of a file is read at a time."""


def find_texts(inputs: Text | Iterable[Text], settings: EncodeSettings) -> list[TextInput]:
    """The inputs to encode."""
    if settings.input_format in ("counts", "pairs"):
        raise SettingsError(f"`input_format={settings.input_format}`: word counts are not text")
    found = find_inputs(inputs, glob=settings.glob, records=RecordOptions.of(settings))
    for one in found:
        if one.weight != 1:
            raise SettingsError(f"{one.name}: a weight is for counting; leave it out")
    return found


@dataclass(frozen=True)
class Feeder:
    """Feeds texts to an encoder of lines or documents."""

    encoder: Any
    """A `_core.LineEncoder`, or a `CustomEncoder`."""
    reads: Unit
    settings: EncodeSettings
    cleaner: Cleaner

    def feed(self, inputs: Text | Iterable[Text], progress: Progress) -> Iterator[None]:
        """Yields after every block, when it is encoded."""
        sources = find_texts(inputs, self.settings)
        with progress.stage(
            "Encoding", total_size(one.expected() for one in sources), "B"
        ) as report:
            told = ReadingProgress(report, self.reads)
            for source in sources:
                size = source.expected()
                with reading(source.name):
                    yield from self._feed_one(source, partial(told.block, size=size))
                told.input(size)

    def _feed_one(self, source: TextInput, after_block: AfterBlock) -> Iterator[None]:
        if (batches := source.documents()) is not None:
            yield from self._feed_documents(source.name, batches, after_block)
            return
        if self.settings.on_invalid == "skip-line":
            raise SettingsError(
                f"{source.name}: every line of text is encoded, `on_invalid='skip-line'` is for "
                "records; use 'replace'"
            )
        with source.open() as stream:
            clean = stream
            if self.cleaner:
                clean = CleanText(stream, source.name, self.cleaner).reader()
            if isinstance(self.encoder, CustomEncoder):
                whole = one_document(read_whole(clean, source.name))
                yield from self._feed_documents(source.name, iter([whole]), after_block)
            else:
                yield from self._feed_blocks(source.name, clean, after_block)

    def _feed_blocks(self, name: str, stream: BinaryIO, after_block: AfterBlock) -> Iterator[None]:
        buffer = bytearray(BLOCK)
        have, offset, lines = 0, 0, 0
        while True:
            got = stream.readinto(memoryview(buffer)[have:])  # type: ignore[attr-defined]
            have += got
            if got and have < len(buffer):
                continue
            if not offset:
                _tell_bom(name, buffer)
            if not offset and self.reads == "line":
                _tell_crlf(name, buffer[:have])
            consumed, ends, invalid = self.encoder.feed(memoryview(buffer)[:have], got == 0)
            if invalid >= 0:
                line = lines + buffer.count(b"\n", 0, invalid) + 1
                raise invalid_utf8(
                    name, line, offset + invalid, buffer[invalid], data=memoryview(buffer)[:have]
                )
            yield
            # Counting line ends again took 2.5% of the time.
            lines += ends if self.reads == "line" else buffer.count(b"\n", 0, consumed)
            offset += consumed
            after_block(BlockEnd(offset, lines, int(got == 0)))
            if not got:
                return
            rest = have - consumed
            if rest == len(buffer):
                buffer.extend(bytes(len(buffer)))  # for a word that fills the buffer
            else:
                buffer[:rest] = buffer[consumed:have]
            have = rest

    def _feed_documents(
        self, name: str, batches: Iterator[Documents], after_block: AfterBlock
    ) -> Iterator[None]:
        number, offset, lines, documents = 1, 0, 0, 0
        for batch in text_only(batches, name):
            number = batch.first or number
            if self.cleaner:
                batch, _ = clean_documents(self.cleaner, name, batch._replace(first=number))
            texts = batch.split()
            if self.reads == "line":  # a document ends like a line
                texts = [one if one.endswith(b"\n") else one + b"\n" for one in texts]
            fed = documents_of(texts)
            if self.reads == "line" and not isinstance(self.encoder, CustomEncoder):
                _, _, invalid = self.encoder.feed(fed.text, True)
            else:
                _, invalid = self.encoder.feed_documents(fed.text, fed.ends)
            if invalid >= 0:
                raise invalid_document(name, number, fed, invalid)
            yield
            number += len(texts)
            documents += len(texts)
            lines += fed.text.count(b"\n")
            offset += len(fed.text)
            position = getattr(batches, "position", None)
            after_block(BlockEnd(offset if position is None else position, lines, documents))


def _tell_crlf(name: str, block: bytearray) -> None:
    """Learning takes the CR of Windows for a space; here it would be a token on every line."""
    if ends_in_crlf(block):
        warnings.warn(
            f"{name}: lines end in CR LF, and the CR is encoded, too; to leave it out, convert the "
            "file (dos2unix)",
            VoltWarning,
            stacklevel=2,
        )


def _tell_bom(name: str, block: bytearray) -> None:
    """Learning drops it at the start of a file; here it would be part of the first word."""
    if block.startswith(codecs.BOM_UTF8):
        warnings.warn(
            f"{name} starts with a BOM, which is encoded, too, though learning drops it; to leave "
            "it out, convert the file (dos2unix)",
            VoltWarning,
            stacklevel=2,
        )


class CustomEncoder:
    """What `_core.LineEncoder` does, for vocabularies with a custom pattern."""

    unfinished = False

    def __init__(self, encode: Callable[[str], list[int]], reads: Unit) -> None:
        self._encode = encode
        self._reads = reads
        self._fed: list[list[int]] = []
        self._kept: list[list[int]] = []
        self._total = 0

    def feed_documents(self, text: bytes, ends: NDArray[np.uint64]) -> tuple[int, int]:
        self._fed = []
        if (invalid := _core.find_invalid_utf8(text)) >= 0:
            return 0, invalid
        for document in Documents(text, ends).split():
            whole = document.decode()
            lines = whole.removesuffix("\n").split("\n") if whole else []
            texts = [whole] if self._reads == "document" else lines
            self._fed += map(self._encode, texts)
        return len(self._fed), -1

    def print(self, names: Sequence[str]) -> bytes:
        rows = (" ".join(names[i] for i in ids) + "\n" for ids in self._fed)
        return "".join(rows).encode()

    def collect(self) -> None:
        self._kept += self._fed

    def take(self) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        ends = np.cumsum([self._total, *map(len, self._kept)]).astype(np.uint64)[1:]
        self._total += sum(map(len, self._kept))
        ids = np.array([i for row in self._kept for i in row], np.uint32)
        self._kept = []
        return ids, ends
