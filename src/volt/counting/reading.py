"""Reading: the text of an input goes to the counter, block by block or document by document."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO, cast

import numpy as np

from volt import _core
from volt.base.errors import InputError
from volt.base.progress import Report
from volt.counting.counts import CountTotals
from volt.counting.decoding import BLOCK, Cleaner, CleanText, invalid_utf8
from volt.counting.documents import Documents, documents_of, one_document
from volt.counting.excerpts import Excerpt, Excerpting
from volt.counting.words import Pretokenizer, Unit, WordRule

LONGEST_CUSTOM = 1 << 28
"""Bytes of the longest document that a custom pattern can cut."""
WORDS_AT_ONCE = 1 << 17
"""How many words of a custom pattern are counted together."""


@dataclass(frozen=True)
class BlockEnd:
    """How far the reading of a text has come after a block of it."""

    offset: int = 0
    """Bytes counted so far, of the text as the counter sees it."""
    lines: int = 0
    documents: int = 0
    """Whole documents, if these are read."""
    in_line: bool = False
    """Can counting not go on from here in another process? It can between lines, and in a document
    where it may be cut in two."""


START = BlockEnd()
AfterBlock = Callable[[BlockEnd], None]


class ReadingProgress:
    """Tells how far the reading of some inputs is: in bytes, and in documents or lines."""

    def __init__(self, report: Report, reads: Unit, done: int = 0) -> None:
        self._report, self._reads = report, reads
        self._done = done
        self._texts = 0
        self._end = START

    def block(self, end: BlockEnd, size: int | None) -> None:
        """A block of an input of this size is done."""
        self._end = end
        self._tell(end.offset if size is None else min(end.offset, size))

    def input(self, size: int | None, read: CountTotals | None = None) -> None:
        """An input of this size is done. `read`: all of it, if the last block did not say so."""
        if read is not None:
            self._end = BlockEnd(self._end.offset, read.lines, read.documents)
        self._done += self._end.offset if size is None else size
        self._texts += self._texts_here()
        self._end = START
        self._tell(0)

    def _texts_here(self) -> int:
        return self._end.documents if self._reads == "document" else self._end.lines

    def _tell(self, offset: int) -> None:
        note = f"{self._texts + self._texts_here():,} {self._reads}s"
        self._report(self._done + offset, note)


@dataclass(frozen=True)
class Reader:
    """How text is read."""

    name: str
    """Of the input, for messages."""
    rule: WordRule
    cleaner: Cleaner
    weight: int
    buffer: bytearray
    """What is read at a time fits into it."""
    block: int = BLOCK
    begins: bool = True
    """Is it the start of a file, where a byte order mark may be?"""


# ----------------------------------------------------------------------------- one document: a file


def feed_text(
    reader: Reader,
    stream: BinaryIO,
    counter: _core.Counter,
    after_block: AfterBlock,
    start: BlockEnd = START,
) -> tuple[CountTotals, Excerpt]:
    """Feed a text to the counter, block by block. Where blocks end depends on the text alone. An
    excerpt is returned, too."""
    head = cast(io.BufferedReader, stream).peek(3)[:3]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{reader.name}: this is UTF-16; convert it first (iconv -t UTF-8)")
    skip = 3 if reader.begins and head == b"\xef\xbb\xbf" else 0
    stream.read(skip)
    clean = CleanText(stream, reader.name, reader.cleaner, skip) if reader.cleaner else None
    if clean is not None:
        stream = clean.reader(reader.block)
    if reader.rule.mode.custom:
        totals, excerpt = _read_custom(reader, stream, counter)
    else:
        _skip(stream, start.offset, reader.name)
        totals, excerpt = _read_blocks(reader, stream, counter, after_block, start, skip)
    if clean is not None:
        totals = replace(totals, skipped_lines=clean.skipped_lines, replaced=clean.replaced)
    return totals, excerpt


def _read_blocks(
    reader: Reader,
    stream: BinaryIO,
    counter: _core.Counter,
    after_block: AfterBlock,
    start: BlockEnd,
    skip: int,
) -> tuple[CountTotals, Excerpt]:
    buffer = reader.buffer
    documents = reader.rule.reads == "document"
    have, offset, lines = 0, start.offset, start.lines
    open_line = False  # does what was fed so far end in the middle of a line?
    excerpting = Excerpting(lines)
    while True:
        got = stream.readinto(memoryview(buffer)[have:])  # type: ignore[attr-defined]
        have += got
        if got and have < len(buffer):
            continue
        consumed, ends, invalid = counter.feed(memoryview(buffer)[:have], got == 0, reader.weight)
        if invalid >= 0:
            line = lines + buffer.count(b"\n", 0, invalid) + 1
            at = skip + offset + invalid
            head = memoryview(buffer)[:have]
            raise invalid_utf8(reader.name, line, at, buffer[invalid], data=head)
        lines += ends
        excerpting.block(memoryview(buffer)[:consumed])
        if consumed:
            open_line = buffer[consumed - 1] != 0x0A
        if not got:
            break
        offset += consumed
        rest = have - consumed
        if rest == len(buffer):
            buffer = buffer + bytes(len(buffer))  # for a word that fills the block; not kept
        else:
            buffer[:rest] = buffer[consumed:have]
        have = rest
        inside = not counter.between_texts if documents else open_line
        after_block(BlockEnd(offset, lines, in_line=inside))
    return CountTotals(lines=lines + open_line, documents=int(documents)), excerpting.done()


def _skip(stream: BinaryIO, size: int, name: str) -> None:
    """Skip what was counted before."""
    if stream.seekable():
        stream.seek(size, os.SEEK_CUR)
        return
    while size:
        skipped = len(stream.read(min(size, BLOCK)))
        if not skipped:
            raise InputError(f"{name}: the text is shorter than it was")
        size -= skipped


# ------------------------------------------------------------------------ documents: records, items


def feed_documents(
    reader: Reader,
    batches: Iterator[Documents],
    counter: _core.Counter,
    after_block: AfterBlock,
) -> tuple[CountTotals, Excerpt]:
    """Feed batches of whole documents to the counter. If lines are read, a document ends like a
    line, and an empty one is an empty line."""
    totals, excerpting = CountTotals(), Excerpting()
    number, offset = 1, 0
    for batch in batches:
        number = batch.first or number
        fed = batch
        if reader.cleaner:
            fed, lost = clean_documents(reader.cleaner, reader.name, batch._replace(first=number))
            totals += lost
        weight = reader.weight * fed.times
        if reader.rule.mode.custom:
            lines = _feed_custom(reader, fed, counter, weight)
        else:
            lines, invalid = counter.feed_documents(fed.text, fed.ends, weight)
            if invalid >= 0:
                raise invalid_document(reader.name, number, fed, invalid)
        documents = len(fed.ends)
        if reader.rule.reads == "line":
            totals += CountTotals(lines=lines + int((fed.sizes() == 0).sum()))
        else:
            totals += CountTotals(lines=lines, documents=documents)
        excerpting.documents(fed)
        number += documents
        offset += len(memoryview(batch.text).cast("B"))
        position = getattr(batches, "position", None)
        at = offset if position is None else position
        after_block(BlockEnd(at, totals.lines, totals.documents, in_line=True))
    return totals, excerpting.done()


def invalid_document(name: str, first: int, batch: Documents, invalid: int) -> InputError:
    number = first + int(np.searchsorted(batch.ends, invalid, "right"))
    byte = memoryview(batch.text).cast("B")[invalid]
    return InputError(
        f"{name}, record {number:,}: invalid UTF-8 (byte 0x{byte:02X}); fix it, or use "
        "`on_invalid='replace'`"
    )


def clean_documents(cleaner: Cleaner, name: str, batch: Documents) -> tuple[Documents, CountTotals]:
    """The documents of a batch, repaired and normalized each by itself, and what was lost."""
    found: list[bytes] = []
    lost = CountTotals()
    for number, document in enumerate(batch.split(), batch.first):
        stream = cast(BinaryIO, io.BytesIO(document))
        clean = CleanText(stream, f"{name}, record {number:,}", cleaner)
        found.append(b"".join(clean.blocks(len(document) + 1)))
        lost += CountTotals(skipped_lines=clean.skipped_lines, replaced=clean.replaced)
    return documents_of(found, batch.first)._replace(times=batch.times), lost


# ---------------------------------------------------------------------------------- custom patterns


def _read_custom(
    reader: Reader, stream: BinaryIO, counter: _core.Counter
) -> tuple[CountTotals, Excerpt]:
    """A file whose words a pattern of the user finds: all of it is in memory, or one line."""
    data = read_whole(stream, reader.name)
    if (invalid := _core.find_invalid_utf8(data)) >= 0:
        line = data.count(b"\n", 0, invalid) + 1
        raise invalid_utf8(reader.name, line, invalid, data[invalid], data=data)
    documents = one_document(data)
    lines = _feed_custom(reader, documents, counter, reader.weight)
    totals = CountTotals(lines=lines, documents=int(reader.rule.reads == "document"))
    excerpting = Excerpting()
    excerpting.block(data)
    return totals, excerpting.done()


def read_whole(stream: BinaryIO, name: str) -> bytes:
    """A document that a custom pattern will cut."""
    data = stream.read(LONGEST_CUSTOM + 1)
    if len(data) > LONGEST_CUSTOM:
        raise InputError(
            f"{name}: a custom pattern needs whole documents, of at most {LONGEST_CUSTOM >> 20} "
            "MiB; split it, or use another pre-tokenizer"
        )
    return data


def _feed_custom(reader: Reader, batch: Documents, counter: _core.Counter, weight: int) -> int:
    """Feed documents to the counter word by word. Returns how many lines there are."""
    lines = 0
    for number, document in enumerate(batch.split(), batch.first or 1):
        try:
            text = document.decode()
        except UnicodeDecodeError:
            raise invalid_document(
                reader.name, number, one_document(document),
                _core.find_invalid_utf8(document),
            ) from None  # fmt: skip
        lines += text.count("\n") + (text[-1:] not in ("", "\n"))
        texts = [text] if reader.rule.reads == "document" else lines_of(text)
        for words in word_batches(reader.rule.mode, texts):
            counter.feed_documents(words.text, words.ends, weight)
    return lines


def ends_in_crlf(block: bytes | bytearray) -> bool:
    """Do all lines of a text end as Windows writes them?"""
    lines = block.count(b"\n")
    return bool(lines) and block.count(b"\r\n") == lines


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends, LF or CR LF."""
    found = text.split("\n")
    return [line.removesuffix("\r") for line in found[:-1]] + [line for line in found[-1:] if line]


def word_batches(mode: Pretokenizer, texts: list[str]) -> Iterator[Documents]:
    """The words that a custom pattern finds, as documents: to the native code each is one word."""
    some: list[bytes] = []
    for word in chain.from_iterable(map(mode.matches, texts)):
        some.append(word.encode())
        if len(some) == WORDS_AT_ONCE:
            yield documents_of(some)
            some = []
    if some:
        yield documents_of(some)
