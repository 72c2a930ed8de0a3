"""Files elsewhere: `s3://`, `hf://`, `https://` and all else that fsspec knows (extra `remote`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from volt.base.errors import InputError, VoltError
from volt.base.extras import need

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://.")


def is_url(name: str) -> bool:
    return URL.match(name) is not None


def open_url(url: str) -> BinaryIO:
    """The file's bytes, as they are stored."""
    with _errors(url):
        system, path = _system(url)
        return cast(BinaryIO, system.open(path, "rb"))


def url_size(url: str) -> int | None:
    """Bytes of the file, if the other side says."""
    with _errors(url):
        system, path = _system(url)
        size = system.info(path).get("size")
        return None if size is None else int(size)


def files_at(url: str) -> tuple[list[str], bool]:
    """The URLs of the file, of all files in the folder, or of all that match `*`; and whether it
    was a folder. Hidden files are left out."""
    with _errors(url):
        system, path = _system(url)
        if any(letter in path for letter in "*[") and not url.startswith("http"):
            return [system.unstrip_protocol(one) for one in sorted(system.glob(path))], False
        if url.startswith("http") or not system.isdir(path):
            if not system.exists(path):
                raise InputError(f"no such file: {url}")
            return [url], False
        below = sorted(system.find(path))
        start = len(path.rstrip("/")) + 1
        shown = [one for one in below if not any(p.startswith(".") for p in one[start:].split("/"))]
        return [system.unstrip_protocol(one) for one in shown], True


def _system(url: str) -> tuple[Any, str]:
    fsspec = need("fsspec", "remote")
    system, path = fsspec.core.url_to_fs(url)
    return system, path


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """A file system raises exceptions of many kinds: the network's, the library's, its own."""
    try:
        yield
    except VoltError:
        raise
    except ImportError as error:  # the file system's own library, such as s3fs
        raise InputError(f"cannot read {url}: {error}") from error
    except Exception as error:
        text = str(error).split("\n")[0] or type(error).__name__
        raise InputError(f"cannot read {url}: {text}") from error
