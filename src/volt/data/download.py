"""Fetch a file: go on where an earlier try stopped, compare the checksum, then put it in place."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from volt.errors import InputError
from volt.progress import Progress

TRIES = 5
TIMEOUT = 30.0
BLOCK = 1 << 18


def download(
    address: str, path: Path, sha256: str | None = None, *, progress: Progress | None = None
) -> str:
    """Fetch `address` to `path` and return its SHA-256; a file that is there is only checked.

    What has come so far is in `path` with `.part` at its end, and stays there when the connection
    is cut or the program killed: the next try asks for the rest.
    """
    if not path.exists():
        part = path.with_name(path.name + ".part")
        _fetch(address, part, progress or Progress())
        found = file_digest(part)
        if sha256 is not None and found != sha256:
            part.unlink()
            _forget(part)
            raise InputError(
                f"{address} has the SHA-256 {found}, not {sha256}: it was changed, or spoilt on "
                "the way; nothing was kept"
            )
        part.replace(path)
        _forget(part)
        return found
    found = file_digest(path)
    if sha256 is not None and found != sha256:
        raise InputError(f"{path} has the SHA-256 {found}, not {sha256}: remove it and try again")
    return found


def _fetch(address: str, part: Path, progress: Progress) -> None:
    """All of the file into `part`, with a few tries. A try that brings something does not count."""
    failures = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
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
        failures = 0 if after > before else failures + 1
        if failures >= TRIES:
            raise InputError(
                f"cannot fetch {address}: {problem}; {after:,} bytes are kept, the next try asks "
                "for the rest"
            )


def _go_on(address: str, part: Path, progress: Progress) -> bool:
    """Ask for what is missing; is it all there now?"""
    have = part.stat().st_size if part.exists() else 0
    tag = _tag(part)
    known = tag.read_text(encoding="utf-8") if have and tag.exists() else ""
    if not known:
        have = 0  # Not to be told from the start of another file.
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
        if answer.status != 206 or not _starts_at(answer, have):
            have = 0
        total = _length(answer, have)
        if have == 0:
            _forget(part)
            mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
            if mark and not mark.startswith("W/"):
                tag.write_text(mark, encoding="utf-8")
        with (
            part.open("ab" if have else "wb") as stream,
            progress.stage(part.name.removesuffix(".part"), total, "B") as report,
        ):
            while block := answer.read(BLOCK):
                stream.write(block)
                have += len(block)
                report(have)
    return total is None or have >= total


def _starts_at(answer: Any, have: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-")


def _length(answer: Any, have: int) -> int | None:
    length = answer.headers.get("Content-Length")
    return None if length is None else have + int(length)


def _tag(part: Path) -> Path:
    """Beside the part: what tells whether the file on the server is still the same."""
    return part.with_name(part.name + ".tag")


def _forget(part: Path) -> None:
    _tag(part).unlink(missing_ok=True)


def file_digest(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()
