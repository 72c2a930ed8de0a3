"""What is in a folder, before and after a run."""

from __future__ import annotations

import os
from pathlib import Path

from volt.base.manifest import TEMPORARY

Tree = dict[str, bytes | str | None]
"""Files with their bytes, links with where they lead, folders."""


def tree(folder: Path) -> Tree:
    found: Tree = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            key = os.fsdecode(os.path.relpath(path, folder))
            if path.is_symlink():
                found[key] = os.readlink(path)  # noqa: PTH115
            else:
                found[key] = None if path.is_dir() else path.read_bytes()
    return found


def restore(folder: Path, wanted: Tree, now: Tree | None = None) -> None:
    """Make a folder what it was. `now` is what it is, if that is known."""
    now = tree(folder) if now is None else dict(now)
    for name in sorted(now, reverse=True):
        if name not in wanted or type(now[name]) is not type(wanted[name]):
            path = folder / name
            path.rmdir() if now[name] is None else path.unlink()
            del now[name]
    for name in sorted(wanted):
        data = wanted[name]
        if name in now and now[name] == data:
            continue
        path = folder / name
        if data is None:
            path.mkdir()
        elif isinstance(data, str):
            path.unlink(missing_ok=True)
            path.symlink_to(data)
        else:
            path.write_bytes(data)


def is_temporary(name: str) -> bool:
    return TEMPORARY.fullmatch(name) is not None


def moved(path: str, place: str, to: str) -> str:
    """A path at or below a place, after the place was renamed."""
    return to + path.removeprefix(place) if path == place or path.startswith(f"{place}/") else path


def changes(one: Tree, other: Tree) -> str:
    names = sorted(name for name in {*one, *other} if one.get(name, "-") != other.get(name, "-"))

    def size(data: object) -> str:
        return f"{len(data)} bytes" if isinstance(data, bytes) else str(data)

    return "; ".join(
        f"{name}: {size(one.get(name, 'absent'))} -> {size(other.get(name, 'absent'))}"
        for name in names[:6]
    )
