"""stdout and stderr, prepared once when the program starts.

A stream may be closed, full, or unable to show a character. What is printed on stderr is for
people, so that it is dropped where it can't be written. What is printed on stdout is the result, so
that this is an error.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import Any, BinaryIO, TextIO, cast

from volt.base.errors import InputError
from volt.base.shown import shown

CLOSED = "it is closed"


class StdoutError(InputError):
    """What is printed can't be written."""

    def __init__(self, error: Exception | str) -> None:
        super().__init__(f"cannot write stdout: {getattr(error, 'strerror', None) or error}")


def prepare() -> None:
    """Make the three streams safe to use, whatever the caller did with them."""
    # A file that is opened later must not get the number of a stream that is closed.
    for number in range(3):
        with suppress(OSError):
            if _is_free(number):
                os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = cast(TextIO, _ClosedStdout())
    elif type(sys.stdout) is io.TextIOWrapper:
        sys.stdout = _Stdout.of(sys.stdout)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    elif type(sys.stderr) is io.TextIOWrapper:
        sys.stderr = _Stderr.of(sys.stderr)


def _is_free(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


class _Shown(io.TextIOWrapper):
    """Text with what would control a terminal escaped, and what the encoding lacks, too."""

    @classmethod
    def of(cls, stream: io.TextIOWrapper) -> TextIO:
        encoding, lines = stream.encoding, stream.line_buffering
        try:
            made = cls(stream.buffer, encoding, "backslashreplace", line_buffering=lines)
        except OSError:  # it can't tell where it is
            return stream
        stream.detach()
        return made

    def write(self, text: str) -> int:
        super().write(shown(text))
        return len(text)


class _Stdout(_Shown):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise StdoutError(error) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise StdoutError(error) from error


class _Stderr(_Shown):
    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
            super().flush()
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


SHOWN: set[str] = set()
"""Notes that were printed as soon as they were known, and are not printed again in a summary."""


class Drawing:
    """Whether the last line of the terminal is a bar now."""

    now = False


class Styled:
    """stderr for a library that writes styles, which are sequences that control the terminal. The
    text itself has to be escaped before."""

    def __init__(self) -> None:
        self._stream = sys.stderr

    def write(self, text: str) -> int:
        if not isinstance(self._stream, _Stderr):
            return self._stream.write(text)
        with suppress(OSError):
            io.TextIOWrapper.write(self._stream, text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _ClosedStdout(io.TextIOBase):
    """Whoever prints is told."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "strict"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise StdoutError(CLOSED)


class DataOut:
    """stdout for data in bytes. On a terminal, what would control it is escaped."""

    def __init__(self) -> None:
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is None:
            raise StdoutError(CLOSED)
        self._buffer: BinaryIO = buffer
        self._decoder = None
        if sys.stdout.isatty():
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes) -> int:
        try:
            if self._decoder is not None:
                sys.stdout.write(self._decoder.decode(bytes(data)))
            else:
                self._buffer.write(data)
        except OSError as error:
            raise StdoutError(error) from error
        return len(data)

    def flush(self) -> None:
        sys.stdout.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._buffer, name)


def silence() -> None:
    """After an error of stdout: keep the interpreter from trying, and failing, again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
