"""Optional dependencies: imported when they are needed; the error says how to install them."""

from __future__ import annotations

import importlib
from typing import Any

from volt.base.errors import SettingsError

PACKAGES = {"google": "protobuf"}
"""Of modules whose package has another name."""
FIRST = {"torch": "without a GPU, install torch's small CPU build before it (docs/trial.md)"}
"""What to do before the extra is installed."""


class Library:
    """A library that comes with an extra of this package, imported when it is first used."""

    def __init__(self, module: str, extra: str) -> None:
        self._names = module, extra

    def __getattr__(self, name: str) -> Any:
        return getattr(need(*self._names), name)


def need(module: str, extra: str, what: str = "this") -> Any:
    """Import a library that comes with an extra of this package, for something that needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        first = f"; {FIRST[name]}" if name in FIRST else ""
        raise SettingsError(
            f"{what} needs {PACKAGES.get(name, name)}: pip install 'volt-vocab[{extra}]'"
            f"{first}{why}"
        ) from error
