"""Registry: things of one kind by name, in the order in which they were registered.

Criteria, candidate sources, formats, pre-tokenizers and normalizers live in registries. The command
line's choices, the tables of the docs and the report read them, so a new one needs only an entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, TypeVar

from volt.base.checks import did_you_mean
from volt.base.errors import SettingsError


def members(package: str, attribute: str, first: Sequence[str]) -> list[Any]:
    """What `attribute` is in each module of a package that has it: in the order of `first`, and
    then those of other modules by name."""
    folder = import_module(package)
    names = sorted(
        (one.name for one in iter_modules(folder.__path__)),
        key=lambda name: (first.index(name) if name in first else len(first), name),
    )
    modules = [import_module(f"{package}.{name}") for name in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


class Named(Protocol):
    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


class Registry(dict[str, Entry]):
    """`registry[name]`, or a SettingsError that lists the names there are."""

    def __init__(self, what: str, entries: Iterable[Entry] = ()) -> None:
        super().__init__()
        self.what = what
        """What the entries are called in messages, such as "criterion"."""
        for entry in entries:
            self.register(entry)

    def register(self, entry: Entry) -> Entry:
        if entry.name in self:
            raise SettingsError(f"there is already a {self.what} named {entry.name!r}")
        self[entry.name] = entry
        return entry

    def __missing__(self, name: str) -> Entry:
        hint = did_you_mean(str(name), self)
        raise SettingsError(f"{self.what} must be one of {', '.join(self)}, not {name!r}{hint}")
