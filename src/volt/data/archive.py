"""Read named members of a tar archive. Nothing is unpacked to where a member says."""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from volt.base.errors import InputError
from volt.base.gate import named, open_file
from volt.base.output import atomic_write
from volt.counting.decoding import EXPANDED, MAX_RATIO


def extract(archive: Path, members: dict[str, Path]) -> None:
    """Write members to the paths given. An archive that would write elsewhere is refused whole."""
    missing = dict(members)
    with (
        _reading(archive),
        open_file(named(archive)) as packed,
        tarfile.open(fileobj=packed) as opened,
    ):
        budget = max(EXPANDED, MAX_RATIO * os.fstat(packed.fileno()).st_size)
        for one in opened:
            name = _checked(archive, one)
            # What comes before a member has to be unpacked to reach it, and a sparse one may stand
            # for any number of zeros. Both are known before anything is unpacked.
            if one.sparse is not None or one.offset_data + one.size > budget:
                raise InputError(
                    f"{archive}: the member {member_name(one)} stands for {one.size:,} bytes, "
                    "which no archive of texts of this size contains: it is not trusted"
                )
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
        what = str(error).partition("\n")[0].rstrip(":")  # not what each way to unpack it says
        raise InputError(
            f"{archive}: damaged or cut short ({what}): remove it and try again"
        ) from error


def _checked(archive: Path, member: tarfile.TarInfo) -> str:
    """The member's name, if it is below the archive's root."""
    for name in [member.name, *([member.linkname] if member.islnk() or member.issym() else [])]:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise InputError(
                f"{archive} has a member {member_name(member)} that leads out of it: it is not "
                "trusted"
            )
    return str(PurePosixPath(member.name))


def member_name(member: tarfile.TarInfo) -> str:
    return repr(member.name[:100])


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
