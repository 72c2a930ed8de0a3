"""Files that are either whole or not there: write under a temporary name, flush, rename."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from volt.base.errors import InputError, SettingsError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for writing; it appears, complete, only if the block ends without an error.

    A link is followed. What is no file (a device, a pipe) is written to, not replaced.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".volt-{secrets.token_hex(8)}.tmp")
        try:
            with temporary.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def atomic_folder(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """A new folder to write into; it takes its place, complete, if the block ends without an error.

    An existing folder is replaced only with `force`, and only if it is empty or one of ours (it has
    a volt.json), so that a slip of the hand deletes nobody's files. A link is followed.
    """
    check_folder(path, force=force)
    target = Path(os.path.realpath(path))
    suffix = secrets.token_hex(4)
    temporary = target.with_name(f".volt-{suffix}.tmp")
    old = target.with_name(f".volt-{suffix}.old")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        yield temporary
        for file in filter(Path.is_file, temporary.rglob("*")):
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())
        check_folder(path, force=force)
        if target.exists():
            target.rename(old)
        try:
            temporary.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def make_folder(path: str | os.PathLike[str]) -> Path:
    """A folder that is there afterwards, whatever was in it before."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return Path(path)


def check_folder(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Refuse a folder that must not be written."""
    # What is looked at is what would be replaced: `there/missing/..` is `there`, and it exists.
    target = Path(os.path.realpath(path))
    try:
        here = Path.cwd()
        if target in (here, *here.parents):
            raise SettingsError(f"{path} is the folder you are in, or around it; name a new one")
        if not target.exists():
            return
        if not target.is_dir():
            raise SettingsError(f"{path} is a file; name a folder")
        if not any(target.iterdir()):
            return
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    if not force:
        raise SettingsError(f"{path} exists; use --force to replace it, or name another folder")
    if not ((target / "volt.json").exists() or (target / "source" / "volt.json").exists()):
        raise SettingsError(f"{path} is not a folder that volt made; it is not replaced")
