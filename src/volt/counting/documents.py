"""Documents in batches: what records, iterables and samples are read as."""

from __future__ import annotations

import queue
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError, SettingsError, VoltWarning
from volt.base.shown import plural
from volt.base.workers import start

BATCH = 1 << 22
"""Bytes of text in a batch, about."""
LONGEST_RECORD = 1 << 28
"""Bytes of the longest record or document that is read whole."""


class Documents(NamedTuple):
    """Whole documents, one after the other with nothing between them: document `i` is
    `text[ends[i - 1]:ends[i]]`. About 1 to 16 MB of text is right for one batch."""

    text: Any
    """UTF-8: bytes, or anything else that has the buffer protocol."""
    ends: NDArray[np.uint64]
    first: int = 0
    """The number of the first document in the input, for messages; 0: the next one."""
    times: int = 1
    """How often each document is counted: for words that come with their counts."""

    def sizes(self) -> NDArray[np.int64]:
        """Bytes of each document."""
        ends: NDArray[np.int64] = self.ends.astype(np.int64)
        ends[1:] -= ends[:-1].copy()
        return ends

    def split(self) -> list[bytes]:
        """Each document by itself."""
        view, ends = memoryview(self.text).cast("B"), self.ends.tolist()
        return [bytes(view[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


class Batches:
    """An iterator over batches of documents that knows how far it is, and what it left out."""

    name = ""
    """For messages."""
    expected: int | None = None
    """Bytes of the source, or about as many, if that can be known without reading it."""
    position: int | None = None
    """Bytes of the source read so far, if that can be known."""

    def __init__(self) -> None:
        self._batches: Iterator[Documents] | None = None

    def read(self) -> Iterator[Documents]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Documents]:
        return self

    def __next__(self) -> Documents:
        if self._batches is None:
            self._batches = in_background(self.read)
        try:
            return next(self._batches)
        except StopIteration:
            tell_left_out(self.name, *self.left_out())
            raise

    def left_out(self) -> tuple[int, int]:
        """How many records can't be read as text, and how many fields are null."""
        return 0, 0

    @property
    def fields(self) -> list[str]:
        """The fields that are read of each record, if these are records and were read."""
        return []


def tell_left_out(name: str, skipped: int, nulls: int) -> None:
    """A warning about records that are not text."""
    if message := left_out_words(name, skipped, nulls):
        warnings.warn(message, VoltWarning, stacklevel=3)


def left_out_words(name: str, skipped: int, nulls: int) -> str:
    """What was left out of some records; empty if nothing was."""
    left_out = []
    if skipped:
        left_out.append(f"{plural(skipped, 'record')} that can't be read")
    if nulls:
        left_out.append(plural(nulls, "null"))
    return f"{name}: left out {' and '.join(left_out)}" if left_out else ""


def documents_of(texts: Sequence[bytes | memoryview], first: int = 0) -> Documents:
    return Documents(b"".join(texts), np.cumsum([0, *map(len, texts)]).astype(np.uint64)[1:], first)


def bytes_of_some(strings: Any) -> int | None:
    """About how many bytes the strings of a list have, by a look at a hundred of them."""
    if not isinstance(strings, (list, tuple)) or not strings:
        return None
    some = [str(one) for one in strings[:: max(len(strings) // 100, 1)]]
    return sum(len(one.encode(errors="replace")) for one in some) * len(strings) // len(some)


def one_document(text: bytes) -> Documents:
    return Documents(text, np.array([len(text)], np.uint64))


def batches_of_strings(strings: Iterable[Any], name: str) -> Iterator[Documents]:
    """The strings of an iterable, each a document."""
    texts: list[bytes] = []
    first, number, size = 1, 0, 0
    for number, string in enumerate(strings, 1):
        if not isinstance(string, str):
            raise InputError(f"{name}, item {number:,}: a {type(string).__name__}, not a string")
        try:
            texts.append(string.encode())
        except UnicodeEncodeError as error:
            raise InputError(
                f"{name}, item {number:,}: a lone surrogate "
                f"(U+{ord(error.object[error.start]):04X}) is not text"
            ) from None
        size += len(texts[-1])
        if size >= BATCH:
            yield documents_of(texts, first)
            texts, first, size = [], number + 1, 0
    if texts:
        yield documents_of(texts, first)


def blocks_of_lines(stream: BinaryIO, name: str) -> Iterator[Documents]:
    """The lines of a text, some megabytes at a time; each block of them is one document."""
    rest = b""
    while more := stream.read(BATCH):
        block = rest + more
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if len(rest) > LONGEST_RECORD:
            raise InputError(f"{name}: a line of more than {LONGEST_RECORD >> 20} MiB")
        if end:
            yield one_document(block[:end])
    if rest:
        yield one_document(rest)


def text_only(batches: Iterable[Documents], name: str) -> Iterator[Documents]:
    """The batches, if they are text. Words that come with their counts are not."""
    for batch in batches:
        if batch.times != 1:
            raise SettingsError(f"{name}: word counts, not text; name the text itself")
        yield batch


def as_lines(batches: Iterable[Documents]) -> Iterator[bytes]:
    """The documents one after the other, each followed by a line end unless it has one."""
    for batch in batches:
        yield b"".join(
            [one if one.endswith(b"\n") else one + b"\n" for one in batch.split()] * batch.times
        )


def small_batches(found: Documents) -> Iterator[Documents]:
    """Parts of a batch that may be too large to be counted at once. Nothing is copied."""
    start, begin = 0, 0
    view, ends = memoryview(found.text).cast("B"), found.ends
    while begin < len(ends):
        stop = int(np.searchsorted(ends, start + 4 * BATCH, "right"))
        stop = max(stop, begin + 1)
        end = int(ends[stop - 1])
        yield Documents(view[start:end], ends[begin:stop] - np.uint64(start))
        start, begin = end, stop


def in_background(
    batches: Callable[[], Iterator[Documents]], ahead: int = 3
) -> Iterator[Documents]:
    """The batches, read by a thread of their own while the last ones are counted."""
    found: queue.Queue[Any] = queue.Queue(ahead)
    stopped = threading.Event()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                found.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def read() -> None:
        try:
            for batch in batches():
                if not put(batch):
                    return
            put(None)
        except BaseException as error:  # raised where the batches are used
            put(error)

    wait = start(read)
    if wait is None:
        yield from batches()
        return
    try:
        while (item := found.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        wait()
