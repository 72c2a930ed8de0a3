"""Drafts: an output has a temporary name, in the folder it is for, until it is complete.

The name tells which output the draft is for, and the draft is locked while its process lives. What
a killed process left is cleaned up by the next one that writes the same output.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path, PurePath

from volt.base.errors import UnreadableError
from volt.base.manifest import MANIFEST, TEMPORARY, entries_below, read_manifest

SLOTS = 8
"""Temporary names of one output that are looked at for leftovers."""


@contextmanager
def new_draft(target: Path, make: Callable[[Path], object]) -> Iterator[Path]:
    """A new file or folder next to the target. At the end whatever has its name is deleted: an
    unfinished draft, or what the draft replaced."""
    recover(target)
    for number in count():
        draft = _beside(target, number, "tmp")
        with ExitStack() as left:
            for _ in range(2):  # a signal or an error may stop the first
                left.callback(_sweep, draft, certain=False)
            try:
                make(draft)
            except FileExistsError:
                left.pop_all()
                continue
            if left.enter_context(_locked(draft)) is not False:
                yield draft
                return


def recover(target: Path) -> None:
    """Clean up after processes that were killed while they wrote the target.

    If one died while old and new were being exchanged, the old one has a temporary name: it gets
    its own name back.
    """
    for number in range(SLOTS):
        old = _beside(target, number, "old")
        if status(old) is not None:
            with _locked(old) as mine, suppress(OSError):
                if mine is not False and status(target) is None:
                    old.rename(target)
            _sweep(old)
        _sweep(_beside(target, number, "tmp"))


def _beside(target: Path, number: int, end: str) -> Path:
    key = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]
    return target.parent / f".volt-{key}-{number}.{end}"


# --------------------------------------------------------------------------------- changing places


def place_files(drafts: list[tuple[Path, Path]]) -> None:
    """Give finished files the names of their targets: all of them, or none."""
    new = [draft.stat() for draft, _ in drafts]

    def is_placed(number: int) -> bool:
        found = status(drafts[number][1])
        return found is not None and os.path.samestat(found, new[number])

    try:
        for draft, target in drafts[:-1]:
            swap(draft, target)
        for draft, target in drafts[-1:]:  # nothing after it can fail and need the old one
            draft.replace(target)
    except BaseException:
        placed = [pair for number, pair in enumerate(drafts) if is_placed(number)]
        if len(placed) < len(drafts):
            for draft, target in placed:
                if status(draft) is None:
                    target.unlink()
                else:  # what was there before
                    draft.replace(target)
        raise


def swap(draft: Path, target: Path) -> None:
    """Put a finished file or folder in its place. What was there then has the name of the draft.

    At every moment one of the two is in place or, where the system can't exchange names in one
    step, the old one has a temporary name that `recover` knows.
    """
    if status(target) is None:
        draft.rename(target)
    elif not _exchange(draft, target):
        old = draft.with_suffix(".old")
        with _locked(target):
            try:
                target.rename(old)
                draft.rename(target)
            finally:  # a signal may stop the program between any two of these
                if status(old) is not None:
                    old.rename(target if status(target) is None else draft)
    if os.name == "posix":
        with suppress(OSError):  # it is in place
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step. False where the system can't: Linux can, on most disks."""
    import ctypes

    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return int(rename(here, os.fsencode(one), here, os.fsencode(other), exchange)) == 0


# --------------------------------------------------------------------------------------- leftovers


def _sweep(path: Path, *, certain: bool = True) -> None:
    """Delete what has a temporary name, unless another process is at work on it. If that can't be
    known, it is kept where we must be `certain`."""
    with suppress(OSError, UnreadableError):
        if status(path) is None:
            return
        with _locked(path) as mine:
            if mine or (mine is None and not certain):
                _delete(path)


def _delete(path: Path) -> None:
    """A folder with a manifest may be one that was replaced: only volt's own files are deleted."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    manifest = read_manifest(path)
    if manifest is None:
        shutil.rmtree(path)
        return
    found = list(entries_below(path))
    own = [name for name in found if manifest.owns(name) or TEMPORARY.fullmatch(name)]
    for name in own:
        if not name.endswith("/") and name != MANIFEST:
            (path / name).unlink()
    folders = {PurePath(name) for name in own if name.endswith("/")}
    folders |= {folder for name in own for folder in PurePath(name).parents[:-1]}
    for folder in sorted(folders, reverse=True):  # inner ones first
        with suppress(OSError):
            (path / folder).rmdir()
    if len(own) == len(found):
        (path / MANIFEST).unlink()
        path.rmdir()


@contextmanager
def _locked(path: Path) -> Iterator[bool | None]:
    """Lock it until the block ends. Yields whether that worked; None where locks do not work."""
    number, mine = _lock(path)
    try:
        yield mine
    finally:
        if number is not None:
            with suppress(OSError):  # it is closed in any case
                os.close(number)


def _lock(path: Path) -> tuple[int | None, bool | None]:
    try:
        import fcntl
    except ImportError:  # Windows
        return None, None
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None, False
    except OSError:
        return None, None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between the two calls another process may have deleted it, and used the name again.
        now = status(path)
        return number, now is not None and os.path.samestat(now, os.fstat(number))
    except BlockingIOError:
        return number, False
    except OSError:  # a file system without locks
        return number, None
    except BaseException:  # a signal: what stays locked is not cleaned up
        os.close(number)
        raise


def status(path: Path) -> os.stat_result | None:
    """The status of the name itself, even if it is a link; None if nothing has that name."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
