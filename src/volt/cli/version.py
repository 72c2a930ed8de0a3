"""volt --version: which volt, which Unicode, and which engines are there."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

ENGINES = ("tokenizers", "sentencepiece", "tiktoken", "transformers", "pyspark", "torch")
"""Libraries that run other people's tokenizers, count on a cluster, or train."""


def versions() -> dict[str, str]:
    """Each by its name. Nothing is imported but the native module."""
    from volt import __version__, _core

    found = {
        "volt": __version__,
        "Unicode": _core.unicode_version,
        "Python": platform.python_version(),
    }
    for name in ENGINES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
