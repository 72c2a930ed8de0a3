"""volt --version: which volt, which Unicode, and which engines are there."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

ENGINES = ("tokenizers", "sentencepiece", "tiktoken", "transformers", "pyspark", "torch")
"""Libraries that run other people's tokenizers, count on a cluster, or train."""
OTHERS = (
    "numpy", "scipy", "protobuf", "gguf", "jinja2", "regex", "subword-nmt", "pyarrow", "datasets",
    "fsspec", "sacrebleu", "matplotlib", "vl-convert-python",
)  # fmt: skip
"""Libraries that read, draw or score: named where they are installed."""


def versions() -> dict[str, str]:
    """Each by its name. Nothing is imported but the native module."""
    from volt import __version__, _core

    found = {
        "volt": __version__,
        "Unicode": _core.unicode_version,
        "Python": platform.python_version(),
    }
    for name in (*ENGINES, *OTHERS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if name in ENGINES:
                found[name] = "not installed"
    return found
