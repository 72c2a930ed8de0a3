"""What a run of `encode_to_files` leaves that was stopped, and how the next one knows it.

With `resume` ids grow in `OUT.partial`, whose journal says what they are made of and how far the
run has come. When the run is complete, `OUT.done` says what the files were made of, so that the
same call again has nothing to do.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from volt.base.drafts import new_draft
from volt.base.errors import InputError, SettingsError
from volt.base.gate import SETTINGS, read_json
from volt.base.manifest import TEMPORARY
from volt.base.output import write_file
from volt.base.schema import instance
from volt.base.shown import plural
from volt.counting.inputs import TextInput
from volt.tokenizing.vocabulary import Vocabulary

JOURNAL = "journal.json"
MADE_OF = ("vocabulary", "inputs", "options")
"""What a result depends on: fields of the journal."""


@dataclass(frozen=True)
class Journal:
    """What a run makes its files of, as hashes, and how far it has come."""

    vocabulary: str = ""
    inputs: str = ""
    """Names, sizes and times of the files, and the parts they are encoded in."""
    options: str = ""
    parts: int = 0
    tokens: int = 0
    documents: int = 0

    @classmethod
    def of(
        cls, vocabulary: Vocabulary, sources: Sequence[TextInput], parts: int, options: Any
    ) -> Journal:
        """Of a run that begins, and can go on later."""
        if any(one.path is None for one in sources):
            raise SettingsError("`resume` needs files: what was read from stdin is gone")
        states = [one.path.stat() for one in sources if one.path is not None]
        about = [(one.st_size, one.st_mtime_ns) for one in states]
        named = [one.name for one in sources]
        inputs = repr((parts, list(zip(named, about, strict=True))))
        return cls(
            _hash(vocabulary.to_bytes()), _hash(inputs.encode()), _hash(repr(options).encode())
        )

    def differs(self, other: Journal) -> str:
        """What the other's files are not made of; empty if both make the same files."""
        names = [one for one in MADE_OF if getattr(self, one) != getattr(other, one)]
        return " and ".join(names)

    def __str__(self) -> str:
        return f"{plural(self.tokens, 'token')} of {plural(self.documents, 'text')}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Partial:
    """The folder with the ids so far, the ends of the documents, and the journal if it is kept."""

    def __init__(
        self, folder: Path, begun: Journal, itemsize: int, header: int, *, kept: bool
    ) -> None:
        self.folder, self._kept = folder, kept
        self.ids, self.ends = folder / "ids", folder / "ends"
        self._journal = folder / JOURNAL
        self._itemsize, self._header = itemsize, header
        self.done = begun

    def resume(self) -> bool:
        """Go on with what is there, if it is the same task."""
        found = _read(self._journal)
        if found is None or found.differs(self.done):
            return False
        sizes = self._sizes(found)
        if any(not file.exists() or file.stat().st_size < size for file, size in sizes.items()):
            return False
        for file, size in sizes.items():
            os.truncate(file, size)
        self.done = found
        return True

    def start(self) -> None:
        """With nothing, in an empty folder."""
        self.ids.write_bytes(bytes(self._header))
        self.ends.write_bytes(b"")

    def _sizes(self, journal: Journal) -> dict[Path, int]:
        return {
            self.ids: self._header + journal.tokens * self._itemsize,
            self.ends: journal.documents * 8,
        }

    def save(self, journal: Journal) -> None:
        if self._kept:
            write_file(self._journal, json.dumps(asdict(journal)).encode())
        self.done = journal

    def write_done(self) -> Path:
        """The draft of what says that the run is complete. It is newer than the files."""
        draft = self.folder / "ends.done"
        write_file(draft, (json.dumps(asdict(replace(self.done, parts=0))) + "\n").encode())
        return draft

    def finish(self) -> None:
        """From now on files leave the folder, and it is not one to go on with."""
        self._journal.unlink(missing_ok=True)


def _read(journal: Path) -> Journal | None:
    """None where there is none, or a damaged one."""
    try:
        return Journal(**read_json(journal, instance(Journal), SETTINGS))
    except InputError:
        return None


def _folder(target: Path) -> Path:
    return target.with_name(target.name + ".partial")


def what_is_kept(path: str | os.PathLike[str]) -> tuple[Path, Journal] | None:
    """Where a run that was stopped keeps what it has done, and what that is."""
    folder = _folder(Path(os.path.realpath(path)))
    found = _read(folder / JOURNAL)
    return None if found is None or not found.parts else (folder, found)


def check_kept(target: Path, begun: Journal | None) -> None:
    """Refuse to throw away what a run has kept: with `resume`, of another task than `begun`."""
    found = what_is_kept(target)
    if found is None:
        return
    folder, kept = found
    what = f"{folder} contains an unfinished run ({kept} so far)"
    if begun is None:
        raise SettingsError(
            f"{what}: go on with it by `resume`, or start again by `force=True`, which deletes it"
        )
    if differs := kept.differs(begun):
        raise SettingsError(
            f"{what} with other {differs}: use the same {differs} as before (files must be "
            "unchanged), name another output, or start again by `force=True`, which deletes it"
        )


def _check_left(folder: Path) -> None:
    """Refuse a folder that was not left by a stopped run."""
    if folder.is_symlink() or folder.exists():
        known = ("ids", "ends", "journal")
        if not folder.is_dir() or any(
            not one.name.startswith(known) and not TEMPORARY.fullmatch(one.name)
            for one in folder.iterdir()
        ):
            raise InputError(f"{folder} is not a folder that volt encode left: remove it")


def _delete_left(folder: Path) -> None:
    _check_left(folder)
    if folder.exists():
        shutil.rmtree(folder)


@contextmanager
def growing(target: Path, resume: bool, *about: Any) -> Iterator[Partial]:
    """Where the ids grow. It is gone at the end; with `resume` it stays if the block fails."""
    left = _folder(target)
    _check_left(left)
    if resume:
        partial = Partial(left, *about, kept=True)
        if not partial.resume():
            _delete_left(left)
            left.mkdir()
            partial.start()
        yield partial
    else:
        with new_draft(Path(os.path.realpath(target)), Path.mkdir) as draft:
            partial = Partial(draft, *about, kept=False)
            partial.start()
            yield partial
    _delete_left(left)


# ------------------------------------------------------------------------------------ complete runs


def done_path(path: Path) -> Path:
    return path.with_name(path.name + ".done")


def complete(files: Sequence[Path], begun: Journal) -> Journal | None:
    """What a run with `resume` has made, if all its files are there and it was this task. Files
    that were made of something else are an error."""
    file = done_path(files[0])
    if not any(one.exists() for one in files):
        return None
    known = _read(file)
    if known is not None and all(one.exists() for one in files):
        differs = known.differs(begun)
        made = max(one.stat().st_mtime_ns for one in files) <= file.stat().st_mtime_ns
        if made and not differs:
            return known
        if made:
            raise SettingsError(
                f"{files[0]} is complete, but was made with other {differs}: name another output, "
                "or use `force=True` to replace it"
            )
    there = next(one for one in files if one.exists())
    raise SettingsError(
        f"{there} exists, and nothing says that it was made of these inputs: `resume` goes on with "
        "a run that was stopped, and there is none. Name another output, or use `force=True` to "
        "replace it"
    )


def has_done(path: Path) -> bool:
    """Is there such a file, written by volt?"""
    return _read(done_path(path)) is not None


def forget_done(path: Path) -> None:
    """The files are of another run now."""
    if has_done(path):
        done_path(path).unlink()
