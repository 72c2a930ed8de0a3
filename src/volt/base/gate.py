"""The gate: how files that are not trusted are read.

Vocabularies, tokenizers of other toolkits, checkpoints, report data and settings beside them come
from other people. Each is read here: regular files only, up to a number of bytes, JSON against a
schema (`base/schema.py`). A file may be a link only if it leads to a file inside its folder, or
inside the cache of Hugging Face's library that the folder belongs to; where the user named the link
itself, `named` comes first. Whatever is wrong is an `InputError` that names the file.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from volt.base.errors import InputError, UnreadableError
from volt.base.schema import Schema, check

Place = str | os.PathLike[str]

VOCABULARY = 2_000_000_000
"""Bytes of a vocabulary or tokenizer."""
REPORT = 1 << 28
"""Bytes of report.json or choices.json: tens of megabytes for the largest vocabularies."""
GZIP = b"\x1f\x8b"
"""What a file compressed by gzip starts with."""
SETTINGS = 1 << 26
"""Bytes of a JSON file with settings, such as config.json."""

_SPECIAL = {
    stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder",
}  # fmt: skip
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def reading(path: Place) -> Iterator[None]:
    """Turn an error of the system into one that names the file."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise UnreadableError(f"cannot read {os.fspath(path)}: {why}") from error


def open_file(path: Place, most: int | None = None) -> BinaryIO:
    """Open a regular file of at most so many bytes. A pipe is not waited for."""
    with reading(path):
        _check_regular(path, os.stat(path))  # noqa: PTH116
        if target := _leads_out(Path(path)):
            raise InputError(
                f"{os.fspath(path)} is a link to {target}, which is not in its folder: it is not "
                "followed; put the file itself there"
            )
        # The name may stand for something else by now, so what was opened is looked at again.
        stream = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
    try:
        found = os.fstat(stream.fileno())
        _check_regular(path, found)
        if most is not None and found.st_size > most:
            raise _too_large(path, most)
    except BaseException:
        stream.close()
        raise
    return stream


def read_bytes(path: Place, most: int = VOCABULARY) -> bytes:
    """All bytes of a regular file."""
    with open_file(path, most) as stream, reading(path):
        # Python sets aside as much memory as is asked for, so ask for what is there.
        size = os.fstat(stream.fileno()).st_size
        data = stream.read(size)
        while len(data) <= most and (more := stream.read(1 << 16)):  # it has grown, or is in /proc
            data += more
    if len(data) > most:
        raise _too_large(path, most)
    return data


def inflated(path: Place, most: int | None = None) -> bytes:
    """What a file contains, or the first bytes of it; unpacked if it is compressed by gzip."""
    with open_file(path, VOCABULARY) as stream, reading(path):
        packed = stream.read(len(GZIP)) == GZIP
        stream.seek(0)
        source: BinaryIO = gzip.GzipFile(fileobj=stream) if packed else stream  # type: ignore[assignment]
        try:
            data = source.read(VOCABULARY + 1 if most is None else most)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{os.fspath(path)}: damaged or cut short: {error}") from None
    if len(data) > VOCABULARY:
        raise _too_large(path, VOCABULARY)
    return data


def read_text(path: Place, most: int = VOCABULARY) -> str:
    return decoded(path, read_bytes(path, most))


def decoded(path: Place, data: bytes) -> str:
    """The text of a file with these bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(path)}: byte offset {error.start}: invalid UTF-8") from None


def read_lines(path: Place, most: int = VOCABULARY) -> list[str]:
    """The lines of a text file. Only LF ends a line, or CR LF."""
    lines = read_text(path, most).split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def read_json(path: Place, schema: Schema | None = None, most: int = VOCABULARY) -> Any:
    """The value of a JSON file, checked against the schema if there is one."""
    return parse_json(os.fspath(path), read_text(path, most), schema)


def parse_json(name: str, text: str | bytes, schema: Schema | None = None) -> Any:
    """The value of a JSON text that is in the file `name`. NaN, infinite numbers and lone
    surrogates are not JSON here: nothing could be written back from them."""
    try:
        text = text if isinstance(text, str) else text.decode()
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        end = text.rstrip()[-1:]
        cut = "" if end in ("}", "]", b"}", b"]", "", b"") else "; it seems to be cut short"
        raise InputError(f"{name} is not JSON: {error}{cut}") from None
    if _SURROGATE.search(text):
        _refuse_surrogates(name, value)
    if schema is not None:
        check(schema, value, name)
    return value


def named(path: Place) -> Path:
    """A path that the user named, who is trusted: if it is a link that leads out of its folder,
    what it leads to takes its place, and files beside that one are read with it."""
    place = Path(path)
    try:
        return place if _leads_out(place) is None else place.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # whoever opens it says what is wrong
        return place


def copy_file(path: Path, target: Path) -> None:
    """Copy a file of a folder that is not trusted. Who could not read it before can't read the
    copy."""
    with open_file(path) as source, target.open("xb") as out:
        keep_mode(source, out)
        shutil.copyfileobj(source, out, 1 << 20)


def keep_mode(source: BinaryIO, copy: BinaryIO) -> None:
    """Take from a copy, which is being written, the permissions that its source does not give."""
    if hasattr(os, "fchmod"):
        given, mode = os.fstat(source.fileno()).st_mode, os.fstat(copy.fileno()).st_mode
        os.fchmod(copy.fileno(), stat.S_IMODE(mode) & (given | stat.S_IWUSR))


def _leads_out(path: Path) -> Path | None:
    """What a link leads to, if that is neither in its folder nor in its library's cache."""
    if not path.is_symlink():
        return None
    target, home = path.resolve(strict=True), path.parent.resolve()
    inside = any(target.is_relative_to(root) for root in (home, *_cache_of(home)))
    return None if inside else target


def _cache_of(folder: Path) -> list[Path]:
    """Hugging Face's library keeps `models--NAME/snapshots/REVISION`, whose files are links into
    `models--NAME/blobs`."""
    repository = folder.parent.parent
    kinds = ("models--", "datasets--", "spaces--")
    if folder.parent.name == "snapshots" and repository.name.startswith(kinds):
        return [repository / "blobs"]
    return []


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(path: Place, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _SPECIAL.get(stat.S_IFMT(found.st_mode), "not a file")
        raise InputError(f"{os.fspath(path)} is {kind}; name a regular file")


def _too_large(path: Place, most: int) -> InputError:
    return InputError(f"{os.fspath(path)}: larger than {most:,} bytes")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text[:40]} is too large a number")
    return value


def _refuse_surrogates(name: str, value: Any) -> None:
    """Half of a surrogate pair is not a character: it can't be written as UTF-8."""
    todo = [("", value)]
    while todo:
        where, one = todo.pop()
        if isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError:
                raise InputError(f"{name}: {where[1:]}: a lone surrogate is not text") from None
        elif isinstance(one, dict):
            todo += [(f"{where}.{key[:40]!a}", key) for key in one]
            todo += [(f"{where}.{key[:40]}", inner) for key, inner in one.items()]
        elif isinstance(one, list):
            todo += [(f"{where}[{i}]", inner) for i, inner in enumerate(one)]
