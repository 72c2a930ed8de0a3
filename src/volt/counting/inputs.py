"""Where text comes from: files, folders, stdin, data sets, Python iterables.

All of them become a `TextInput`: one document that opens as a stream of bytes (a text file), or
batches of whole documents (`Documents`: records, the items of an iterable).
"""

from __future__ import annotations

import fnmatch
import io
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError, SettingsError, VoltError, VoltWarning
from volt.base.extras import need
from volt.base.manifest import result_files, some_of
from volt.counting.decoding import decompressed


class Documents(NamedTuple):
    """Whole documents, one after the other with nothing between them: document `i` is
    `text[ends[i - 1]:ends[i]]`. About 1 to 16 MB of text is right for one batch."""

    text: Any
    """UTF-8: bytes, or anything else that has the buffer protocol."""
    ends: NDArray[np.uint64]
    first: int = 0
    """The number of the first document in the input, for messages; 0: the next one."""


@dataclass(frozen=True, slots=True)
class TextInput:
    """One input: a name for messages, its weight, and how to open it."""

    name: str
    weight: Fraction
    path: Path | None = None
    text: Iterable[str] | None = None
    normalizer: Callable[[str], str] | None = None
    """Applied to every line before its words are counted."""
    batches: Callable[[], Iterator[Documents]] | None = None
    """Opens an input that consists of many documents; `path` and `text` are not read then."""

    def open(self) -> BinaryIO:
        """The bytes of the text. Compression is recognized by content, never by name."""
        if self.text is not None:
            return io.BufferedReader(_IterableReader(self.text, self.name))
        if self.path is None:
            if sys.stdin is None or sys.stdin.closed:
                raise InputError("stdin is closed: there is nothing to read")
            return decompressed(cast(BinaryIO, sys.stdin.buffer), self.name)
        try:
            file = io.BufferedReader(_SteadyFile(self.path, self.name))
            try:
                return decompressed(file, self.name)
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


Text = str | os.PathLike[str] | Iterable[str] | TextInput
"""A path, an iterable of strings, or an input that was found before. A plain `str` is a path."""
Weight = float | str | Fraction


def find_inputs(
    inputs: Text | Iterable[Text],
    *,
    glob: str = "*",
    weights: Iterable[Weight] | Weight | None = None,
) -> list[TextInput]:
    """List the inputs that are named, in order.

    A `str` or path is a file, a folder (all files below it that match `glob`, sorted by path;
    hidden ones and, with a warning, results of volt are left out), `-` for stdin, or
    `hf:DATASET:CONFIG:SPLIT:FIELD`; `path:2.0` has a weight of 2. A list or tuple contains several
    of these, or iterables of strings. Any other iterable is text itself.
    """
    items: list[Any] = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    found: list[TextInput] = []
    for number, (item, weight) in enumerate(
        zip(items, weight_of_each(weights, len(items)), strict=True), 1
    ):
        if isinstance(item, (str, os.PathLike)):
            found += _find_path(os.fspath(item), glob, weight)
        elif isinstance(item, TextInput):
            found.append(item if weight is None else replace(item, weight=weight))
        elif isinstance(item, Iterable):
            found.append(TextInput(f"text {number}", weight or Fraction(1), text=item))
        else:
            raise InputError(
                f"input {number} is a {type(item).__name__}; "
                "give paths, or iterables of strings such as [sentences]"
            )
    if not found:
        raise InputError("no input: name at least one file, folder, or - for stdin")
    if sum(one.path is None and one.text is None for one in found) > 1:
        raise InputError("stdin (-) is named twice; it can be read only once")
    return found


# ------------------------------------------------------------------------------------------ weights


def weight_of_each(weights: Iterable[Weight] | Weight | None, number: int) -> list[Fraction | None]:
    """A weight per input: one for all, or as many as there are inputs."""
    if weights is None:
        return [None] * number
    if isinstance(weights, (int, float, str, Fraction)):
        weights = [weights]
    found: list[Fraction | None] = [exact_weight(weight) for weight in weights]
    if len(found) == 1:
        found *= number
    if len(found) != number:
        raise SettingsError(
            f"{len(found)} weights for {number} inputs: give one for all, or one per input"
        )
    return found


def weight_in_name(name: str, weight: Fraction | None) -> tuple[str, Fraction]:
    """`corpus.txt:2.0` is `corpus.txt` with a weight of 2."""
    suffix = re.fullmatch(r"(.+):([0-9]+(?:\.[0-9]+)?)", name)
    if suffix is None:
        return name, Fraction(1) if weight is None else weight
    if weight is not None:
        raise SettingsError(
            f"{name} has a weight in its name, and `weights` gives another; use one of them"
        )
    return suffix[1], exact_weight(suffix[2])


def exact_weight(value: Weight) -> Fraction:
    """A weight as it is written: 0.1 is one tenth, not the nearest binary fraction."""
    try:
        if re.search(r"[eE][+-]?[0-9_]{3}", str(value)):
            raise ValueError("an exponent that takes long to spell out")
        weight = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise SettingsError(f"a weight is a number such as 2 or 0.5, not {value!r}") from None
    if not 0 < weight <= 10**9 or weight.denominator > 10**9:
        raise SettingsError(f"a weight must be above 0, with at most nine digits, not {value!r}")
    return weight


# -------------------------------------------------------------------------------- files and folders


def _find_path(name: str, glob: str, weight: Fraction | None) -> list[TextInput]:
    if not name:  # an unset shell variable, which must not mean the current folder
        raise InputError("an input has an empty name; the current folder is .")
    path = Path(name)
    if _exists(path):
        weight = Fraction(1) if weight is None else weight
    elif name.startswith("hf:"):
        return [_data_set(name, weight)]
    else:
        named, weight = weight_in_name(name, weight)
        path = Path(named)
    if str(path) == "-":
        return [TextInput("stdin", weight)]
    if not _exists(path):
        hint = (
            "; a list of strings is one input: count([strings])" if re.search(r"\s", name) else ""
        )
        raise InputError(f"no such file: {name[:200]}{hint}")
    if not path.is_dir():
        return [TextInput(str(path), weight, path=path)]
    results: list[str] = []
    try:
        matches = _matcher(path, glob)
        names = sorted(filter(matches, _files_below(path, results)))
        results = sorted(filter(matches, results))
    except (ValueError, NotImplementedError) as error:
        raise SettingsError(f"`glob` {glob!r}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
    if results:
        number = f"{len(results):,} file" + ("s" if len(results) > 1 else "")
        warnings.warn(
            f"{path}: skipped {number} that volt wrote, not text: {some_of(results)}",
            VoltWarning,
            stacklevel=2,
        )
    if not names:
        other = "other " if results else ""
        raise InputError(f"no {other}file below {path} matches {glob!r}")
    return [TextInput(str(file), weight, path=file) for file in map(path.joinpath, names)]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a text that is too long for a name
        return False


def _files_below(folder: Path, results: list[str]) -> Iterator[str]:
    """Paths of the files in a folder, relative to it, in any order, without hidden ones. What volt
    wrote is not text and goes to `results`. Links to folders are not followed. A folder that can't
    be read is an error, because nobody would notice that its files are missing."""
    inner = [""]
    skipped: set[str] = set()
    while inner:
        below = inner.pop()
        skipped.update(below + name for name in result_files(folder / below))
        with os.scandir(folder / below) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    inner.append(f"{below}{entry.name}/")
                elif below + entry.name in skipped:
                    results.append(below + entry.name)
                elif os.path.isfile(entry) if entry.is_symlink() else entry.is_file():  # noqa: PTH113
                    yield below + entry.name


def _matcher(folder: Path, glob: str) -> Callable[[str], object]:
    """Does `rglob` find a file below the folder? A plain pattern is about the file's own name."""
    if "/" in glob or not glob:
        return {file.relative_to(folder).as_posix() for file in folder.rglob(glob)}.__contains__
    matches = re.compile(fnmatch.translate(glob)).match
    return lambda name: matches(name.rpartition("/")[2])


class _SteadyFile(io.FileIO):
    """A file that must not change while it is read: half of a file that is still being written is
    not a corpus. A pipe is read to its end; an endless device is refused."""

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


# ---------------------------------------------------------------------- data sets of Hugging Face


def _data_set(name: str, weight: Fraction | None) -> TextInput:
    """`hf:DATASET:CONFIG:SPLIT:FIELD`, with or without a weight after it."""
    address = name
    if name.count(":") > 4:
        address, weight = weight_in_name(name, weight)
    parts = address.removeprefix("hf:").rsplit(":", 3)
    if len(parts) != 4 or not (parts[0] and parts[2] and parts[3]):
        raise InputError(
            f"{name}: a data set is named hf:DATASET:CONFIG:SPLIT:FIELD; CONFIG may be empty, and "
            "a FIELD inside another is written translation.de"
        )
    return TextInput(name, weight or Fraction(1), text=_DatasetField(name, *parts))


@dataclass(frozen=True)
class _DatasetField:
    """The strings of one field of a data set, streamed each time it is iterated over."""

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
        except Exception as error:  # the library raises exceptions of many kinds
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


# ---------------------------------------------------------------------------------------- iterables


class _IterableReader(io.RawIOBase):
    """Strings as UTF-8, each followed by a line end."""

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
                f"(U+{ord(error.object[error.start]):04X}) is not text"
            ) from None

    def readinto(self, buffer: Any) -> int:
        if not self._pending:
            self._pending = memoryview(self._next_block())
        size = min(len(buffer), len(self._pending))
        buffer[:size] = self._pending[:size]
        self._pending = self._pending[size:]
        return size
