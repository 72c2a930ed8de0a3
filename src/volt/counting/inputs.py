"""Where text comes from: files, folders, stdin, compressed files, Python iterables.

Whatever it is, it becomes a `Source` that opens as a stream of UTF-8 bytes.
"""

from __future__ import annotations

import bz2
import fnmatch
import functools
import gzip
import io
import lzma
import os
import re
import stat
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import zstandard

from volt import _core
from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.extras import need
from volt.counting.words import Normalization as Normalization

OnInvalid = Literal["error", "replace", "skip-line"]

COUNTS_HEAD = b"# volt counts "
CANDIDATES_HEAD = b"# volt candidates "
BLOCK = 1 << 24
"""How much text is read at a time. Part of the definition of lossy counting (`max_types`)."""

MAX_RATIO = 1000
"""Compressed text may unpack to this many times its size."""
EXPANDED = 1 << 26
"""So many bytes may be unpacked from however little."""
LONGEST_SKIPPED = 1 << 28
"""Bytes of the longest line with `skip-line`, which must see all of a line."""


@dataclass(frozen=True, slots=True)
class Source:
    """One input: a name for messages, how much it weighs, and how to open it."""

    name: str
    weight: Fraction
    path: Path | None = None
    text: Iterable[str] | None = None
    normalizer: Callable[[str], str] | None = None
    """What is done to every line before its words are counted."""

    def open(self) -> BinaryIO:
        """The bytes of the text, decompressed. What it is, is told by content, never by name."""
        if self.text is not None:
            return io.BufferedReader(_IterableReader(self.text, self.name))
        if self.path is None:
            if sys.stdin is None or sys.stdin.closed:
                raise InputError("stdin is closed: there is nothing to read")
            return _decompressed(cast(BinaryIO, sys.stdin.buffer), self.name)
        try:
            file = io.BufferedReader(_SteadyFile(self.path, self.name))
            try:
                return _decompressed(file, self.name)
            except OSError:
                file.close()
                raise
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror}") from error

    def size(self) -> int | None:
        """Bytes to read from disk, if that can be known."""
        try:
            status = self.path.stat() if self.path else None
        except OSError:
            return None
        return status.st_size if status and stat.S_ISREG(status.st_mode) else None


Text = str | os.PathLike[str] | Iterable[str] | Source
"""A path, an iterable of strings, or what was found before. A plain `str` is a path."""


class _SteadyFile(io.FileIO):
    """A file that must be, when it ends, what it was when it was opened: half of a file that
    someone is writing is no corpus. A pipe is read to its end; an endless device is refused."""

    def __init__(self, path: Path, name: str) -> None:
        mode = path.stat().st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not path.samefile(os.devnull)):
            with path.open("rb") as device:
                if not device.isatty():
                    raise InputError(f"{name}: a device, which may never end; name a file")
        super().__init__(path, "rb")
        self._name = name
        self._opened = self._status()

    def _status(self) -> tuple[int, int] | None:
        status = os.fstat(self.fileno())
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def readinto(self, buffer: Any) -> int | None:
        got = super().readinto(buffer)
        if not got and self._status() != self._opened:
            raise InputError(
                f"{self._name}: the file changed while it was read; wait until it is complete"
            )
        return got


def find_sources(
    inputs: Text | Iterable[Text],
    *,
    glob: str = "*",
    weights: Iterable[float | str | Fraction] | float | str | Fraction | None = None,
) -> list[Source]:
    """List the sources that the inputs name, in order.

    A `str` or path is a file, a folder (all files below it that match `glob`, sorted by path,
    hidden ones left out), `-` for stdin or `hf:DATASET:CONFIG:SPLIT:FIELD`; `path:2.0` gives it a
    weight. A list or tuple holds
    several of these, or iterables of strings; any other iterable is text itself.
    """
    if isinstance(inputs, (str, os.PathLike)):
        items: list[Any] = [inputs]
    elif isinstance(inputs, (list, tuple)):
        items = list(inputs)
    else:
        items = [inputs]
    if weights is None or isinstance(weights, (int, float, str, Fraction)):
        item_weights = [None if weights is None else _weight(weights)] * len(items)
    else:
        item_weights = [_weight(weight) for weight in weights]
        if len(item_weights) == 1:
            item_weights *= len(items)
        if len(item_weights) != len(items):
            raise SettingsError(
                f"{len(item_weights)} weights for {len(items)} inputs: one for all, or one each"
            )
    found: list[Source] = []
    for number, (item, weight) in enumerate(zip(items, item_weights, strict=True), 1):
        if isinstance(item, (str, os.PathLike)):
            found += _find_path(os.fspath(item), glob, weight)
        elif isinstance(item, Source):
            found.append(item if weight is None else replace(item, weight=weight))
        elif isinstance(item, Iterable):
            found.append(Source(f"text {number}", weight or Fraction(1), text=item))
        else:
            raise InputError(
                f"input {number} is a {type(item).__name__}; "
                "give paths, or iterables of strings such as [sentences]"
            )
    if not found:
        raise InputError("no input: name at least one file, folder, or - for stdin")
    if sum(source.path is None and source.text is None for source in found) > 1:
        raise InputError("stdin (-) is named twice; it can be read only once")
    return found


def _find_path(name: str, glob: str, weight: Fraction | None) -> list[Source]:
    path = Path(name)
    if not name:  # a variable of a shell that is not set; it is no name of the folder one is in
        raise InputError("an input has an empty name; . is the folder you are in")
    if name.startswith("hf:") and not _exists(path):
        return [_hugging_face(name, weight)]
    suffix = re.fullmatch(r"(.+):([0-9]+(?:\.[0-9]+)?)", name)
    if suffix and not _exists(path):
        if weight is not None:
            raise SettingsError(f"{name}: a weight in the name and another by option; give one")
        path, weight = Path(suffix[1]), _weight(suffix[2])
    weight = Fraction(1) if weight is None else weight
    if str(path) == "-":
        return [Source("stdin", weight)]
    if _exists(path) and path.is_dir():
        try:
            names = sorted(filter(_matcher(path, glob), _files_below(path)))
        except (ValueError, NotImplementedError) as error:
            raise SettingsError(f"glob {glob!r}: {error}") from None
        except OSError as error:
            raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
        if not names:
            raise InputError(f"no file below {path} matches {glob!r}")
        return [Source(str(file), weight, path=file) for file in map(path.joinpath, names)]
    if not _exists(path):
        hint = (
            "; a list of strings is one input: count([strings])" if re.search(r"\s", name) else ""
        )
        raise InputError(f"no such file: {name[:200]}{hint}")
    return [Source(str(path), weight, path=path)]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as text that is too long for a name
        return False


def _files_below(folder: Path) -> Iterator[str]:
    """Files by their names below the folder, in any order; not hidden ones. Links to folders are
    not followed. A folder that can't be read is an error: nobody would miss its files."""
    inner = [""]
    while inner:
        below = inner.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    inner.append(f"{below}{entry.name}/")
                elif os.path.isfile(entry) if entry.is_symlink() else entry.is_file():  # noqa: PTH113
                    yield below + entry.name


def _matcher(folder: Path, glob: str) -> Callable[[str], object]:
    """Whether a file below the folder is one of `rglob`. A plain pattern is about its last name."""
    if "/" in glob or not glob:
        return {file.relative_to(folder).as_posix() for file in folder.rglob(glob)}.__contains__
    matches = re.compile(fnmatch.translate(glob)).match
    return lambda name: matches(name.rpartition("/")[2])


def _weight(value: float | str | Fraction) -> Fraction:
    """An exact weight: 0.1 means one tenth, not the nearest binary fraction."""
    try:
        if re.search(r"[eE][+-]?[0-9_]{3}", str(value)):
            raise ValueError("an exponent that takes long to spell out")
        weight = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise SettingsError(f"a weight is a number such as 2 or 0.5, not {value!r}") from None
    if not 0 < weight <= 10**9 or weight.denominator > 10**9:
        raise SettingsError(f"a weight is above 0, with at most nine digits, not {value!r}")
    return weight


# ------------------------------------------------------------------------- Hugging Face data sets


def _hugging_face(name: str, weight: Fraction | None) -> Source:
    """`hf:DATASET:CONFIG:SPLIT:FIELD`, with a weight behind it or without."""
    parts = name.removeprefix("hf:").rsplit(":", 3)
    suffix = re.fullmatch(r"(hf:.+:.*:.+:.+):([0-9]+(?:\.[0-9]+)?)", name)
    if suffix:
        if weight is not None:
            raise SettingsError(f"{name}: a weight in the name and another by option; give one")
        parts, weight = suffix[1].removeprefix("hf:").rsplit(":", 3), _weight(suffix[2])
    if len(parts) != 4 or not (parts[0] and parts[2] and parts[3]):
        raise InputError(
            f"{name}: a data set is named hf:DATASET:CONFIG:SPLIT:FIELD; CONFIG may be empty, a "
            "FIELD inside another is written translation.de"
        )
    return Source(name, weight or Fraction(1), text=_DatasetField(name, *parts))


@dataclass(frozen=True)
class _DatasetField:
    """The strings of one field of a data set, streamed each time they are asked for."""

    name: str
    dataset: str
    configuration: str
    split: str
    field: str

    def __iter__(self) -> Iterator[str]:
        datasets = need("datasets", "datasets")
        try:
            rows = datasets.load_dataset(
                self.dataset, self.configuration or None, split=self.split, streaming=True
            )
            for number, row in enumerate(rows, 1):
                yield self._text(row, number)
        except VoltError:
            raise
        except Exception as error:  # the library raises what it likes
            raise InputError(f"{self.name}: {error}") from error

    def _text(self, row: Any, number: int) -> str:
        found = row
        for part in self.field.split("."):
            if not isinstance(found, dict) or part not in found:
                listed = ", ".join(map(str, found)) if isinstance(found, dict) else "none"
                raise InputError(
                    f"{self.name}, row {number}: no field {part!r}; there are: {listed}"
                )
            found = found[part]
        if not isinstance(found, str):
            raise InputError(
                f"{self.name}, row {number}: {self.field} is a {type(found).__name__}, not text"
            )
        return found


# ------------------------------------------------------------------------------------ compression


def _decompressed(stream: BinaryIO, name: str) -> BinaryIO:
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


class _WholeReader(io.RawIOBase):
    """A pipe gives a few bytes at a time; this fills what it is given, so that `peek` sees a whole
    head. It knows how much it has given."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got = int(self._stream.readinto(buffer))  # type: ignore[attr-defined]
        self.given += got
        return got

    def close(self) -> None:
        self._stream.close()
        super().close()


class _CheckedReader(io.RawIOBase):
    """A decompressor whose failures name the file, and that no bomb comes through."""

    def __init__(self, stream: Any, packed: _WholeReader, name: str) -> None:
        self._stream, self._packed, self._name = stream, packed, name
        self._made = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            made = int(self._stream.readinto(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
            raise InputError(
                f"{self._name}: the compressed data is damaged or cut short ({error})"
            ) from error
        self._made += made
        if self._made > max(EXPANDED, MAX_RATIO * self._packed.given):
            raise InputError(
                f"{self._name}: unpacked it is more than {MAX_RATIO:,} times as large, as no text "
                "is; if it is meant so, unpack it first"
            )
        return made

    def close(self) -> None:
        self._packed.close()
        super().close()


class _ZstandardReader:
    """Zstandard frames, one after the other; an unfinished last frame is an error."""

    def __init__(self, stream: BinaryIO) -> None:
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
                # 4 bytes can stand for 128 KiB, and all that these hold is made at once.
                self._input = self._stream.read(1 << 13)
            if not self._input:
                if self._started:
                    raise EOFError("unfinished frame")
                return False
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._started = True
            self._output = memoryview(self._frame.decompress(self._input))
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
"""What compressed data begins with, and its decompressor."""


class _IterableReader(io.RawIOBase):
    """Strings as UTF-8, each ended by a line end."""

    def __init__(self, strings: Iterable[str], name: str) -> None:
        self._strings = iter(strings)
        self._name = name
        self._number = 0
        self._pending = memoryview(b"")

    def readable(self) -> bool:
        return True

    def _next_block(self) -> bytes:
        parts: list[str] = []
        size = 0
        for string in self._strings:
            self._number += 1
            if not isinstance(string, str):
                raise InputError(
                    f"{self._name}, item {self._number}: a {type(string).__name__}, not a string"
                )
            parts.append(string if string.endswith("\n") else string + "\n")
            size += len(string)
            if size >= 1 << 20:
                break
        try:
            return "".join(parts).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{self._name}, near item {self._number}: a lone surrogate "
                f"(U+{ord(error.object[error.start]):04X}) is no text"
            ) from None

    def readinto(self, buffer: Any) -> int:
        if not self._pending:
            self._pending = memoryview(self._next_block())
        size = min(len(buffer), len(self._pending))
        buffer[:size] = self._pending[:size]
        self._pending = self._pending[size:]
        return size


# --------------------------------------------------------------------- invalid UTF-8, normalisation


def invalid_utf8(name: str, line: int, offset: int, byte: int) -> InputError:
    return InputError(
        f"{name}: line {line}, byte offset {offset}: invalid UTF-8 (0x{byte:02X}); "
        "mend the file, convert it (iconv -t UTF-8) or, where a command has it, use "
        "--on-invalid replace"
    )


@dataclass
class CleanText:
    """Text on its way to the counter when it must be mended or normalised: a stream of blocks that
    end at a line end or, in a line longer than a block, where normalisation may be cut."""

    stream: BinaryIO
    name: str
    on_invalid: OnInvalid
    normalize: Normalization
    normalizer: Callable[[str], str] | None = None
    """Applied line by line; then lines are read whole."""
    offset: int = 0
    """Where in the file the stream stands."""
    skipped_lines: int = 0
    replaced: int = 0

    def blocks(self, block: int = BLOCK) -> Iterator[bytes]:
        data = b""
        line, offset = 1, self.offset
        while True:
            more = self.stream.read(block)
            data += more
            cut = len(data) if not more else data.rfind(b"\n") + 1
            if cut == 0 and data and self.on_invalid != "skip-line" and not self.normalizer:
                # A line that does not end in the block; to skip it all of it must be seen.
                cut = self._cut_in_line(data)
            elif cut == 0 and len(data) > LONGEST_SKIPPED:
                way_out = (
                    "for --on-invalid skip-line; use replace" if self.normalizer is None
                    else "for the tokenizer's normaliser, which sees whole lines; cut it"
                )  # fmt: skip
                raise InputError(
                    f"{self.name}: line {line} is longer than {LONGEST_SKIPPED >> 20} MiB, too "
                    f"long {way_out}"
                )
            if cut:
                yield self._clean(data[:cut], line, offset)
                line += data.count(b"\n", 0, cut)
                offset += cut
                data = data[cut:]
            if not more:
                return

    def _clean(self, data: bytes, line: int, offset: int) -> bytes:
        invalid = _core.find_invalid_utf8(data)
        if invalid >= 0:
            if self.on_invalid == "error":
                line += data.count(b"\n", 0, invalid)
                raise invalid_utf8(self.name, line, offset + invalid, data[invalid])
            if self.on_invalid == "replace":
                text = data.decode(errors="replace")
                self.replaced += text.count("\ufffd") - data.count("\ufffd".encode())
                data = text.encode()
            else:
                found = data.split(b"\n")
                good = [one for one in found if _core.find_invalid_utf8(one) < 0]
                self.skipped_lines += len(found) - len(good)
                data = b"\n".join(good)
        if self.normalizer is not None:
            lines = data.decode().split("\n")
            return "\n".join([self.normalizer(line) for line in lines]).encode()
        if self.normalize == "none":
            return data
        form: Any = self.normalize.upper()
        text = data.decode()
        if unicodedata.is_normalized(form, text):
            return data
        return unicodedata.normalize(form, text).encode()

    def _cut_in_line(self, data: bytes) -> int:
        """The last place in the line before a character that combines with nothing before it."""
        for cut in range(len(data) - 4, 0, -1):
            if data[cut] & 0xC0 == 0x80:
                continue
            character = data[cut : cut + 4].decode(errors="ignore")[:1]
            if character and character not in _combining():
                return cut
        return 0


@functools.cache
def _combining() -> frozenset[str]:
    """The characters that may combine with one before them when text is composed."""
    found = {chr(c) for c in range(0x1161, 0x1200)}  # Hangul vowels and final consonants
    characters = [chr(code_point) for code_point in range(0x30000)]
    for character in characters:
        if unicodedata.combining(character):
            found.add(character)
        found.update(unicodedata.normalize("NFD", character)[1:])
    # What becomes, or starts with, one of these: half-width voice marks, single Hangul letters.
    found.update(c for c in characters if unicodedata.normalize("NFKD", c)[:1] in found)
    return frozenset(found)
