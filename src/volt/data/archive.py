"""Read named members of a tar archive. Nothing is unpacked to where a member says."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from volt.base.errors import InputError
from volt.base.output import atomic_write


def extract(archive: Path, members: dict[str, Path]) -> None:
    """Write members to the paths given. An archive that would write elsewhere is refused whole."""
    missing = dict(members)
    with _reading(archive), tarfile.open(archive, "r:*") as opened:
        for one in opened:
            name = _checked(archive, one)
            if name in missing and one.isfile():
                stream = opened.extractfile(one)
                if stream is not None:
                    _copy(stream, missing.pop(name), one.size, archive)
    if missing:
        raise InputError(f"{archive} has no {', '.join(missing)}: this is another archive")


@contextmanager
def _reading(archive: Path) -> Iterator[None]:
    """Turn errors of the archive into ours; errors of writing are not among them."""
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"cannot read {archive}: {error.strerror}") from error
        raise InputError(
            f"{archive}: damaged or cut short ({error}): remove it and try again"
        ) from error


def _checked(archive: Path, member: tarfile.TarInfo) -> str:
    """The member's name, if it is below the archive's root."""
    for name in [member.name, *([member.linkname] if member.islnk() or member.issym() else [])]:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise InputError(
                f"{archive} has a member {member.name!r} that leads out of it: it is not trusted"
            )
    return str(PurePosixPath(member.name))


def _copy(stream: IO[bytes], path: Path, size: int, archive: Path) -> None:
    written = 0
    with atomic_write(path) as output:
        while True:
            with _reading(archive):
                block = stream.read(1 << 20)
            if not block:
                break
            output.write(block)
            written += len(block)
        if written != size:
            raise InputError(f"{archive}: cut short in {path.name}: remove it and try again")
