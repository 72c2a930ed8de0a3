"""From bytes on disk to clean UTF-8: decompression, invalid bytes, normalization."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, cast

from volt import _core
from volt.base.errors import InputError
from volt.counting.normalizers import BoundNormalizer
from volt.counting.words import Normalization

OnInvalid = Literal["error", "replace", "skip-line"]

BLOCK = 1 << 24
"""How much text is read at a time. Part of the definition of lossy counting (`max_types`)."""
MAX_RATIO = 1000
"""Compressed text may unpack to this many times its size."""
EXPANDED = 1 << 26
"""This many bytes may be unpacked whatever the compressed size."""
LOOKED_AT = 1 << 12
"""Bytes in which a NUL says that a file is not text."""
LONGEST_SKIPPED = 1 << 28
"""Bytes of the longest line that is read whole, for `skip-line` or a normalizer."""


# ------------------------------------------------------------------------------------ decompression


def decompressed(stream: BinaryIO, name: str) -> BinaryIO:
    """The stream, decompressed if its first bytes say that it is compressed."""
    if not stream.seekable():
        stream = cast(BinaryIO, io.BufferedReader(_WholeReader(stream)))
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    head = buffered.peek(10)[:10]
    for magic, reader in PACKED.items():
        if re.match(magic, head):
            packed = _WholeReader(cast(BinaryIO, buffered))
            unpacked = reader(io.BufferedReader(packed))
            return cast(BinaryIO, io.BufferedReader(_CheckedReader(unpacked, packed, name)))
    return cast(BinaryIO, buffered)


def is_packed(head: bytes) -> bool:
    """Do these first bytes of a file say that it is compressed?"""
    return any(re.match(magic, head) for magic in PACKED)


def position_of(stream: BinaryIO) -> int | None:
    """Bytes of the file that were read for what `decompressed` returned, if that can be known."""
    raw = getattr(stream, "raw", stream)
    if isinstance(raw, _CheckedReader):
        return raw.position
    try:
        return int(raw.tell())
    except (OSError, ValueError):
        return None


class _Reader(io.RawIOBase):
    """Something to read from, which closes what it reads itself."""

    def __init__(self, stream: Any = None) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        super().close()


class _WholeReader(_Reader):
    """Fills the buffer it is given, where a pipe returns a few bytes at a time, so that `peek` sees
    a whole head. Counts the bytes that it has read."""

    given = 0

    def readinto(self, buffer: Any) -> int:
        got = int(self._stream.readinto(buffer))
        self.given += got
        return got


class _CheckedReader(_Reader):
    """A decompressor that names the file when it fails, and that stops a decompression bomb."""

    def __init__(self, unpacked: Any, packed: _WholeReader, name: str) -> None:
        super().__init__(packed)
        self._unpacked, self._name = unpacked, name
        self._made = 0

    @property
    def position(self) -> int:
        return int(self._stream.given)

    def readinto(self, buffer: Any) -> int:
        try:
            made = int(self._unpacked.readinto(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise InputError(
                f"{self._name}: the compressed data is damaged or cut short ({error})"
            ) from error
        self._made += made
        if self._made > max(EXPANDED, MAX_RATIO * self.position):
            raise InputError(
                f"{self._name}: unpacks to more than {MAX_RATIO:,} times its size, which no text "
                "does; if that is right, unpack it first"
            )
        return made


class _ZstandardReader:
    """One or more Zstandard frames; an unfinished last frame is an error."""

    def __init__(self, stream: BinaryIO) -> None:
        import zstandard  # only here: it turns the lock of a free-threaded interpreter on

        self._library = zstandard
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._started = False
        self._input = b""
        self._output = memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        filled = 0
        while filled < len(buffer) and self._decompress():
            part = self._output[: len(buffer) - filled]
            buffer[filled : filled + len(part)] = part
            self._output = self._output[len(part) :]
            filled += len(part)
        return filled

    def _decompress(self) -> bool:
        """Is there output? If none is left, make some."""
        while not self._output:
            if not self._input:
                # 4 bytes can stand for 128 KiB, and all of a block's output is made at once.
                self._input = self._stream.read(1 << 13)
            if not self._input:
                if self._started:
                    raise EOFError("unfinished frame")
                return False
            if self._frame.eof:
                self._frame = self._library.ZstdDecompressor().decompressobj()
            self._started = True
            try:
                self._output = memoryview(self._frame.decompress(self._input))
            except self._library.ZstdError as error:
                raise OSError(str(error)) from error
            self._input = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._started = False
        return True


PACKED: dict[bytes, Callable[[Any], Any]] = {
    rb"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    rb"BZh[1-9](1AY&SY|\x17rE8P\x90)": bz2.BZ2File,
    rb"\xfd7zXZ\x00": lzma.LZMAFile,
    rb"\x28\xb5\x2f\xfd": _ZstandardReader,
}
"""The first bytes of compressed data, and its decompressor."""


# -------------------------------------------------------------------- invalid UTF-8, normalization


def invalid_utf8(
    name: str,
    line: int,
    offset: int,
    byte: int,
    way_out: str = ", or use `on_invalid='replace'`",
    data: bytes | bytearray | memoryview = b"",
) -> InputError:
    """`data`: the text that the byte was found in, of which the start tells whether it is one."""
    way = f"fix the file or convert it (iconv -t UTF-8){way_out}"
    if 0 in bytes(data[:LOOKED_AT]):
        way = (
            "the file has NUL bytes and does not look like text: leave it out (`glob='*.txt'` "
            "reads only some files of a folder) or, if it is UTF-16, convert it "
            "(iconv -f UTF-16 -t UTF-8)"
        )
    return InputError(
        f"{name}, line {line}: invalid UTF-8 (byte 0x{byte:02X} at offset {offset}); {way}"
    )


@dataclass(frozen=True)
class Cleaner:
    """How text is repaired and normalized before it is counted or encoded."""

    on_invalid: OnInvalid = "error"
    normalize: Normalization = "none"
    normalizer: Callable[[str], str] | None = None
    """Applied line by line; lines are then read whole."""
    whole: bool = False
    """Is it applied to the text as a whole instead?"""

    def __bool__(self) -> bool:
        """Is there anything to do?"""
        return (self.on_invalid, self.normalize, self.normalizer) != ("error", "none", None)


@dataclass
class CleanText:
    """Text that is repaired and normalized: a stream of blocks.

    A block ends at a line end or, in a line longer than a block, where normalization can be cut.
    """

    stream: BinaryIO
    name: str
    how: Cleaner
    offset: int = 0
    """The stream's position in the file."""
    skipped_lines: int = 0
    replaced: int = 0

    def reader(self, block: int = BLOCK) -> BinaryIO:
        """The blocks as a stream."""
        return cast(BinaryIO, io.BufferedReader(BlockReader(self.blocks(block))))

    def blocks(self, block: int = BLOCK) -> Iterator[bytes]:
        data = b""
        line, offset = 1, self.offset
        while True:
            more = self.stream.read(block)
            data += more
            cut = len(data) if not more else 0
            if more and not (self.how.whole and self.how.normalizer):
                cut = data.rfind(b"\n") + 1
            if cut == 0 and data and self.how.on_invalid != "skip-line" and not self.how.normalizer:
                # A line that does not end in this block. To skip it, all of it would be needed.
                cut = self._cut_in_line(data)
            elif cut == 0 and len(data) > LONGEST_SKIPPED:
                raise self._too_long(line)
            if cut:
                yield self._clean(data[:cut], line, offset)
                line += data.count(b"\n", 0, cut)
                offset += cut
                data = data[cut:]
            if not more:
                return

    def _too_long(self, line: int) -> InputError:
        reason = (
            "too long for `on_invalid='skip-line'`; use `on_invalid='replace'`"
            if self.how.normalizer is None
            else "too long for the tokenizer's normalizer, which needs whole "
            f"{'documents' if self.how.whole else 'lines'}; split it"
        )
        return InputError(
            f"{self.name}, line {line}: longer than {LONGEST_SKIPPED >> 20} MiB, {reason}"
        )

    def _clean(self, data: bytes, line: int, offset: int) -> bytes:
        invalid = _core.find_invalid_utf8(data)
        if invalid >= 0:
            if self.how.on_invalid == "error":
                line += data.count(b"\n", 0, invalid)
                raise invalid_utf8(self.name, line, offset + invalid, data[invalid], data=data)
            if self.how.on_invalid == "replace":
                text = data.decode(errors="replace")
                self.replaced += text.count("\ufffd") - data.count("\ufffd".encode())
                data = text.encode()
            else:
                found = data.split(b"\n")
                good = [one for one in found if _core.find_invalid_utf8(one) < 0]
                self.skipped_lines += len(found) - len(good)
                data = b"\n".join(good)
        if self.how.normalizer is not None and self.how.whole:
            return self.how.normalizer(data.decode()).encode()
        if isinstance(self.how.normalizer, BoundNormalizer):
            return self.how.normalizer.lines(data)
        if self.how.normalizer is not None:
            lines = data.decode().split("\n")
            return "\n".join([self.how.normalizer(line) for line in lines]).encode()
        if self.how.normalize == "none":
            return data
        form: Any = self.how.normalize.upper()
        text = data.decode()
        if unicodedata.is_normalized(form, text):
            return data
        return unicodedata.normalize(form, text).encode()

    def _cut_in_line(self, data: bytes) -> int:
        """The last place in the line before a character that does not combine with the one before
        it."""
        for cut in range(len(data) - 4, 0, -1):
            if data[cut] & 0xC0 == 0x80:
                continue
            character = data[cut : cut + 4].decode(errors="ignore")[:1]
            if character and character not in _combining():
                return cut
        return 0


class BlockReader(_Reader):
    """Blocks of bytes as a stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        super().__init__()
        self._blocks = blocks
        self._block = memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        while not self._block:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._block = memoryview(block)
        size = min(len(buffer), len(self._block))
        buffer[:size] = self._block[:size]
        self._block = self._block[size:]
        return size


class NextBytes(_Reader):
    """The next bytes of a stream, so many of them."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        super().__init__(stream)
        self._left = size

    def readinto(self, buffer: Any) -> int:
        got = int(self._stream.readinto(memoryview(buffer)[: self._left]))
        self._left -= got
        return got


@functools.cache
def _combining() -> frozenset[str]:
    """The characters that may combine with one before them when text is composed."""
    found = {chr(c) for c in range(0x1161, 0x1200)}  # Hangul vowels and final consonants
    characters = [chr(code_point) for code_point in range(0x30000)]
    for character in characters:
        if unicodedata.combining(character):
            found.add(character)
        found.update(unicodedata.normalize("NFD", character)[1:])
    # What becomes or starts with one of these: half-width voice marks, single Hangul letters.
    found.update(c for c in characters if unicodedata.normalize("NFKD", c)[:1] in found)
    return frozenset(found)
