"""How volt writes: whole or not at all, never over its inputs, never over other people's files.

A command claims its outputs before any work (`claim`). A file is written under a temporary name,
flushed and renamed (`atomic_write`, `write_file`); files that belong together appear together or
not at all (`atomic_files`). A folder is filled under a temporary name and takes the place of the
one it replaces, which is deleted after that (`atomic_folder`). Its manifest lists volt's own files:
only those are ever replaced. A trial's folder grows over several runs instead (`grow_folder`).
"""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from volt.base.drafts import new_draft, place_files, recover, status, swap
from volt.base.errors import InputError, SettingsError
from volt.base.gate import Place
from volt.base.manifest import (
    MANIFEST,
    Holds,
    Manifest,
    entries_below,
    foreign_files,
    read_manifest,
    some_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+.")
"""A URL; a `Path` has one slash of it."""

# -------------------------------------------------------------------------------- before any work


def claim(
    *paths: Place | None,
    inputs: Any = (),
    force: bool = False,
    folder: bool = False,
    parents: bool = False,
    glob: str = "*",
) -> None:
    """Refuse outputs that must not be written, before any work is done.

    An output is refused if it is an input, contains an input, or is a file in a folder that is read
    (`glob` says which of its files are). Names may be links. A file that exists needs `force`. A
    folder that is not empty needs it too, and must contain nothing but files that volt wrote. With
    `parents`, missing folders around a file will be made. Lists among the inputs are looked into;
    what is not a path is ignored, and so is an output that is None (stdout).
    """
    named: set[Path] = set()
    for path in paths:
        if path is None:
            continue
        target = _target(path)
        if target in named:
            raise SettingsError(f"{path} is named for two outputs; name two files")
        named.add(target)
        with _in_words(path):
            _refuse_inputs(path, target, _named(inputs), folder, glob)
            if folder:
                check_folder(path, force=force)
            elif not _is_stream(path):
                _check_file(path, target, force)
                _check_writable(target.parent, parents)


def check_folder(path: Place, *, force: bool = False, holds: Holds = "result") -> None:
    """Refuse a folder that must not be written."""
    target = _target(path)
    with _in_words(path):
        recover(target)
        here = Path.cwd()
        if target in (here, *here.parents):
            raise SettingsError(f"{path} is the folder you are in, or around it; name a new one")
        if status(target) is None:
            _check_writable(target.parent, parents=True)
            return
        if not target.is_dir():
            raise SettingsError(f"{path} is a file; name a folder")
        if not any(target.iterdir()):
            return
        if foreign := foreign_files(target, holds):
            raise SettingsError(
                f"{path} contains files that volt did not write there ({some_of(foreign)}), so it "
                "is not replaced; name another folder"
            )
    if not force:
        raise SettingsError(
            f"{path} exists; use `force=True` to replace it, or name another folder"
        )


def _check_file(path: Place, target: Path, force: bool) -> None:
    recover(target)
    if target.is_dir():
        raise SettingsError(f"{path} is a folder; name a file")
    if status(target) is not None and not force:
        raise SettingsError(f"{path} exists; use `force=True` to replace it, or name another file")


def _check_writable(folder: Path, parents: bool) -> None:
    """Raise what writing into the folder would raise. With `parents` it need not be there yet."""
    while parents and status(folder) is None and folder != folder.parent:
        folder = folder.parent
    # Permissions do not tell of /proc, or what root may do. The file has no name: nothing is left.
    with tempfile.TemporaryFile(dir=folder):
        pass


def _named(inputs: Any) -> Iterator[Place]:
    """The inputs that are paths."""
    if isinstance(inputs, (str, os.PathLike)):
        yield inputs
    elif isinstance(inputs, (list, tuple)):
        for one in inputs:
            yield from _named(one)


def _refuse_inputs(
    path: Place, target: Path, inputs: Iterable[Place], folder: bool, glob: str
) -> None:
    mine = status(target)
    for name in inputs:
        there, found = _input(name)
        if found is None or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            continue
        if mine is not None and os.path.samestat(mine, found):
            raise SettingsError(f"{path} is an input; name another place for the output")
        if there is None:
            continue
        if folder and mine is not None and _below(_target(there), mine):
            raise SettingsError(
                f"{path} contains the input {name}; name another place for the output"
            )
        if not folder and stat.S_ISDIR(found.st_mode) and (below := _below(target, found)):
            hidden = any(part.startswith(".") for part in below.parts)
            is_read = below.match(glob) if "/" in glob else fnmatch.fnmatch(below.name, glob)
            if is_read and not hidden:
                raise SettingsError(
                    f"{path} is in the input {name} and would be read as text the next time; "
                    "name a place outside of it"
                )


def _input(name: Place) -> tuple[Path | None, os.stat_result | None]:
    """Where an input lies, and what is there. It may be stdin, or have a weight after a colon."""
    text = os.fspath(name)
    if not text:
        return None, None
    if text == "-":
        with suppress(OSError, AttributeError, ValueError):
            return None, os.fstat(sys.stdin.fileno())
        return None, None
    weighted = re.fullmatch(r"(.+):[0-9]+(?:\.[0-9]+)?", text)
    for one in (text, *([weighted[1]] if weighted else [])):
        with suppress(OSError, ValueError):
            return Path(one), Path(one).stat()
    return None, None


def _below(path: Path, folder: os.stat_result) -> PurePath | None:
    """The path relative to the folder; None if it is elsewhere."""
    for parent in path.parents:
        found = status(parent)
        if found is not None and os.path.samestat(found, folder):
            return path.relative_to(parent)
    return None


# ---------------------------------------------------------------------------------------- writing


@contextmanager
def atomic_write(path: Place) -> Iterator[BinaryIO]:
    """Open `path` for writing; it appears, complete, only if the block ends without an error.

    A link is followed. What is not a file (a device, a pipe) is written to, not replaced.
    """
    with atomic_files(path) as streams:
        yield streams[0]


def write_file(path: Place, *data: bytes | memoryview) -> None:
    """Write a whole file, or nothing."""
    with atomic_write(path) as stream:
        for part in data:
            stream.write(part)


@contextmanager
def atomic_files(*paths: Place, parents: bool = False) -> Iterator[list[BinaryIO]]:
    """Open files that belong together for writing. They appear, complete, only if the block ends
    without an error: all of them or none. With `parents`, missing folders are made."""
    with _in_words(" and ".join(str(Path(path)) for path in paths)), ExitStack() as opened:
        streams: list[BinaryIO] = []
        drafts: dict[Path, Path] = {}
        for path in paths:
            place = Path(path)
            if not _is_stream(path):
                target = _target(path)
                if target.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                if parents:
                    opened.enter_context(_parents(target))
                make = lambda one: one.touch(exist_ok=False)  # noqa: E731
                place = opened.enter_context(new_draft(target, make))
                drafts[place] = target
            streams.append(opened.enter_context(place.open("wb")))
        yield streams
        for stream in streams:
            stream.flush()
            if Path(stream.name) in drafts:
                os.fsync(stream.fileno())
            stream.close()
        place_files(list(drafts.items()))


@contextmanager
def atomic_folder(path: Place, *, force: bool = False, holds: Holds = "result") -> Iterator[Path]:
    """A new folder to write into; it takes its place, complete, if the block ends without an error.

    A folder that exists is replaced only with `force`, and only if all its files are volt's own by
    its manifest. It is deleted after the new one took its place. A link is followed.
    """
    check_folder(path, force=force, holds=holds)
    target = _target(path)
    with _in_words(path), _parents(target), new_draft(target, Path.mkdir) as draft:
        yield draft
        files = frozenset(entries_below(draft))
        (draft / MANIFEST).write_bytes(Manifest(holds, files).to_bytes())
        for name in (*files, MANIFEST):
            if (draft / name).is_file():
                with (draft / name).open("rb+") as stream:
                    os.fsync(stream.fileno())
        check_folder(path, force=force, holds=holds)
        swap(draft, target)


@contextmanager
def _parents(target: Path) -> Iterator[None]:
    """The folders around a target: made if they are missing, and deleted if the block fails."""
    missing = [folder for folder in target.parents if status(folder) is None]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing * 2:  # an error may stop the first
            with suppress(OSError):
                folder.rmdir()
        raise


def write_array(stream: BinaryIO, array: NDArray[Any]) -> None:
    """As `numpy.save`, which does not notice when a full disk keeps the last bytes from a file: it
    writes through a stream of C's, and what closing that one says is lost."""
    import numpy as np

    data = io.BytesIO()
    np.save(data, array, allow_pickle=False)
    stream.write(data.getbuffer())


def make_folder(path: Place) -> Path:
    """A folder that is there afterwards, whatever was in it before."""
    with _in_words(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


# ------------------------------------------------------------------------------ folders that grow


def check_growing(path: Place, *names: str, inputs: Any = ()) -> None:
    """Refuse a folder that `grow_folder` would not take."""
    target = _target(path)
    with _in_words(path):
        _refuse_inputs(path, target, _named(inputs), True, "*")
        if status(target) is None:
            _check_writable(target.parent, parents=True)
            return
        if not target.is_dir():
            raise SettingsError(f"{path} is a file; name a folder")
        manifest = read_manifest(target)
        foreign = foreign_files(target, "trial")
        if manifest is not None and manifest.holds == "trial":
            foreign = [name for name in foreign if name in names]
        early = (target / "runs").is_dir() and (target / "reference.txt").is_file()
        if foreign and not (manifest is None and early):
            raise SettingsError(
                f"{path} contains files that volt did not write there ({some_of(foreign)}); name "
                "another folder"
            )


def grow_folder(path: Place, *names: str) -> Path:
    """A folder that is written file by file, over several runs of a command: what is in it stays.

    It may be new, empty, or written in this way before. Other people's files in it are left alone;
    one with a name in `names`, which are files that will be written, is an error.
    """
    check_growing(path, *names)
    folder = make_folder(path)
    if read_manifest(folder) is None:
        write_file(folder / MANIFEST, Manifest("trial", frozenset()).to_bytes())
    record(folder, *names)
    return folder


def record(folder: Place, *names: str) -> None:
    """List files as volt's own in the manifest of the folder, if it has one, and in those of the
    folders around it that list others of its files."""
    place = _target(folder)
    for home in (place, *place.parents):
        manifest = read_manifest(home)
        below = "" if home == place else f"{place.relative_to(home).as_posix()}/"
        if manifest is None or not any(name.startswith(below) for name in ("", *manifest.files)):
            continue
        files = manifest.files.union(below + name for name in names)
        if files != manifest.files:
            write_file(home / MANIFEST, Manifest(manifest.holds, files).to_bytes())


# --------------------------------------------------------------------------------------- helpers


def _target(path: Place) -> Path:
    """What would be replaced: `there/missing/..` is `there`."""
    if ELSEWHERE.match(str(path)) and not Path(path).parent.exists():
        raise SettingsError(
            f"{path}: outputs are files of this machine; copy them there afterwards"
        )
    return Path(os.path.realpath(path))


def _is_stream(path: Place) -> bool:
    """Is it written to, not replaced: a device, a pipe, what a descriptor stands for?"""
    place = Path(path).absolute()
    name = str(place)
    if name in ("/dev/stdout", "/dev/stderr") or name.startswith(("/dev/fd/", "/proc/")):
        return True
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _in_words(path: object) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
