"""The charting library of the page: Vega, Vega-Lite and Vega-Embed in one script.

vl-convert carries them and puts them together, which takes two seconds. The script is kept in the
user's cache folder, by version, so that only the first page on a machine takes that long.
"""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path

from volt.base.errors import InputError, SettingsError
from volt.base.output import write_file

PACKAGE = "vl-convert-python"
INSTALL = "pip install 'volt-vocab[report]'"


def is_installed() -> bool:
    return util.find_spec("vl_convert") is not None


def is_cached() -> bool:
    """Whether the next page is quick."""
    return is_installed() and _path().is_file()


def vega_bundle() -> str:
    """A script that defines `vegaEmbed`."""
    if not is_installed():
        raise SettingsError(f"the page needs a charting library: {INSTALL}")
    path = _path()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        pass
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, script.encode())
    except (OSError, InputError):
        pass  # a cache that cannot be written costs time, nothing else
    return script


def _path() -> Path:
    from importlib import metadata  # takes 20 ms

    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "volt" / f"vega-{metadata.version(PACKAGE)}.js"
