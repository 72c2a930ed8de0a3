"""Fetch a file: resume an earlier download, compare the checksum, then put it in place."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

from volt.base.errors import InputError
from volt.base.progress import Progress

TRIES = 5
TIMEOUT = 30.0
PAUSE = 0.5
"""Seconds before the next try; twice as many after each that brings nothing."""
BLOCK = 1 << 18
_PAGE = (b"<!doctype html", b"<html", b"<?xml")


def download(
    address: str, path: Path, checksum: str | None = None, *, progress: Progress | None = None
) -> str:
    """Fetch `address` to `path` and return its checksum; a file that is there is only checked.

    A checksum is `ALGORITHM:DIGEST`, such as `sha256:03457b...`; without one, the SHA-256 is
    returned. What has come so far is in `path` with `.part` at its end, and stays there when the
    connection is cut or the program killed: the next try asks for the rest.
    """
    algorithm = checksum.partition(":")[0] if checksum else "sha256"
    part = path.with_name(path.name + ".part")
    if path.exists():
        _forget(part)  # the run that put it there may have been stopped before it could
        found = file_checksum(path, algorithm)
        if checksum not in (None, found):
            raise InputError(
                f"{path} has the checksum {found}, not {checksum}: remove it and try again"
            )
        return found
    _fetch(address, part, progress or Progress())
    found = file_checksum(part, algorithm)
    if checksum not in (None, found):
        part.unlink()
        _forget(part)
        raise InputError(
            f"{address} has the checksum {found}, not {checksum}: it was changed, or damaged "
            "on the way; nothing was kept"
        )
    with _writing(path):
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        part.replace(path)
    _forget(part)
    return found


def _fetch(address: str, part: Path, progress: Progress) -> None:
    """All of the file into `part`, with a few tries. A try that brings something does not count."""
    failures = 0
    most = part.stat().st_size if part.exists() else 0
    while True:
        try:
            if _go_on(address, part, progress):
                return
            problem = "the connection was cut"
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise InputError(
                    f"cannot fetch {address}: HTTP {error.code} {error.reason}"
                ) from None
            problem = f"HTTP {error.code} {error.reason}"
        except (OSError, http.client.HTTPException) as error:
            problem = str(getattr(error, "reason", error)) or type(error).__name__
        except ValueError as error:
            raise InputError(f"cannot fetch {address}: {error}") from None
        after = part.stat().st_size if part.exists() else 0
        # Compare with the most so far: if each try starts from zero, it may be cut again and again.
        failures = 0 if after > most else failures + 1
        most = max(most, after)
        if failures >= TRIES:
            hint = f"{after:,} bytes are kept, the next try asks for the rest"
            if not after:
                hint = "is there a network? `volt data get sample` needs none"
            raise InputError(f"cannot fetch {address}: {problem}; {hint}")
        sleep(PAUSE * 2**failures)


def _go_on(address: str, part: Path, progress: Progress) -> bool:
    """Ask for what is missing; is it all there now?"""
    have = part.stat().st_size if part.exists() else 0
    tag = _tag(part)
    known = tag.read_text(encoding="utf-8") if have and tag.exists() else ""
    if not known:
        have = 0  # it may be the start of another file
    request = urllib.request.Request(address, headers={"User-Agent": "volt"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", known)
    try:
        answer: Any = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # Nothing beyond what is there, or another file by now.
            size = error.headers.get("Content-Range", "").rpartition("/")[2]
            if size == str(have):
                return True
            part.unlink()
            return False
        raise
    with answer:
        begins = str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-")
        if answer.status != 206 or not begins:
            have = 0
        total = _length(answer, have)
        block = _read(answer)
        if have == 0:
            if block.lstrip(b"\xef\xbb\xbf \t\r\n")[:14].lower().startswith(_PAGE):
                raise InputError(
                    f"{address} gives a web page, not the file: it has moved, or the network wants "
                    f"a login; get it with a browser and put it at {part.with_suffix('')}"
                )
            _forget(part)
        with (
            _writing(part),
            part.open("ab" if have else "wb") as stream,
            progress.stage(part.name.removesuffix(".part"), total, "B") as report,
        ):
            mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
            if have == 0 and mark and not mark.startswith("W/"):
                # Not before the old part is gone: the mark would not be its own.
                tag.write_text(mark, encoding="utf-8")
            while block:
                stream.write(block)
                have += len(block)
                report(have)
                block = _read(answer)
    return total is None or have >= total


def _read(answer: Any) -> bytes:
    """The next block. A cut connection gets an error of its own: a full disk is an OSError too."""
    try:
        return bytes(answer.read(BLOCK))
    except OSError as error:
        raise http.client.HTTPException(str(error) or type(error).__name__) from error


def _length(answer: Any, have: int) -> int | None:
    length = answer.headers.get("Content-Length")
    return None if length is None else have + int(length)


def _tag(part: Path) -> Path:
    """A file next to the part: the server's mark, which changes with the file."""
    return part.with_name(part.name + ".tag")


def _forget(part: Path) -> None:
    tag = _tag(part)
    if tag.exists():  # on a disk that is read-only, one that is not there can't be deleted either
        tag.unlink()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """A full disk is not the network's fault: nothing is tried again."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def file_checksum(path: Path, algorithm: str) -> str:
    whole = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            whole.update(block)
    return f"{algorithm}:{whole.hexdigest()}"
