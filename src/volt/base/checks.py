"""Checks of parameters that several functions share. A message names the parameter."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from volt.base.errors import SettingsError

MOST_THREADS = 256
ALSO_CALLED = {
    "huggingface": "hf", "transformers": "hf", "tokenizers": "hf", "spm": "sentencepiece",
    "nanogpt": "bin", "vocab-size": "size", "special-tokens": "special", "model-type": "candidates",
    "character-coverage": "coverage", "model-prefix": "output", "sample": "dropout",
    "llama3": "byte-level:llama3", "qwen2": "byte-level:qwen2", "deepseek": "byte-level:deepseek",
    "starcoder": "byte-level:starcoder", "cl100k": "byte-level:cl100k",
    "o200k": "byte-level:o200k", "gpt2": "byte-level", "byte-level:gpt2": "byte-level",
    "gpt4": "byte-level:cl100k", "byte-level:gpt4": "byte-level:cl100k",
    "gpt4o": "byte-level:o200k", "byte-level:gpt4o": "byte-level:o200k",
}  # fmt: skip
"""What people call some of our names: those of other toolkits, with dashes."""


def canonical(name: str, choices: Iterable[str]) -> str:
    """The choice that a name stands for: in any case, or as other toolkits call it. A name that
    stands for none stays as it is.

    >>> canonical("HF", ["hf"]), canonical("huggingface", ["hf"]), canonical("spm", ["hf"])
    ('hf', 'hf', 'spm')
    """
    choices, lower = tuple(choices), name.lower()
    also = ALSO_CALLED.get(lower, lower)
    return name if name in choices else next((o for o in choices if o in (lower, also)), name)


def check_choice(name: str, value: str | None, choices: Iterable[str]) -> None:
    """Refuse a value that is none of the choices; None means "not given"."""
    choices = tuple(choices)
    if value is not None and value not in choices:
        hint = did_you_mean(str(value), choices)
        raise SettingsError(f"`{name}` must be one of {', '.join(choices)}, not {value!r}{hint}")


def check_at_least(name: str, value: float | None, least: float) -> None:
    """Refuse a number below `least`; None means "not given"."""
    if value is not None and not value >= least:
        raise SettingsError(f"`{name}` must be at least {least}, not {value}")


def did_you_mean(name: str, known: Iterable[str], quote: str = "'") -> str:
    """A hint at the known name that is closest, if one is close."""
    close = closest(name, known)
    return f"; did you mean {quote}{close}{quote}?" if close else ""


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that is closest; empty if none is close."""
    known = tuple(known)
    if (also := ALSO_CALLED.get(name)) in known and also is not None:
        return also
    # A beginning such as `byte-level:` that many names share makes all of them look close.
    shared = name.rpartition(":")[0] + ":"
    alike = {one.removeprefix(shared): one for one in known if one.startswith(shared)}
    if alike:
        return alike.get(closest(name.removeprefix(shared), alike), "")
    name = name.lstrip("-").replace("_", "-")
    # Dashes make all flags alike.
    names = {one.lstrip("-").replace("_", "-"): one for one in known}
    names = {also: names[one] for also, one in ALSO_CALLED.items() if one in names} | names
    close = get_close_matches(name, names, 1) or get_close_matches(name.lower(), names, 1)
    return names[close[0]] if close else ""


def nearest_path(path: Path) -> str:
    """A hint at the file or folder beside it whose name is closest."""
    try:
        with os.scandir(path.parent) as beside:
            names = {one.name for one in islice(beside, 10_000)}
    except (OSError, ValueError):
        return ""
    close = closest(path.name, sorted(names - {path.name}))  # itself: a loop of links
    return f"; did you mean {path.parent / close}?" if close else ""


def thread_count(threads: int | None) -> int:
    """The number asked for, or one per core that this process may use."""
    check_at_least("threads", threads, 1)
    if threads is None:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:
            return os.cpu_count() or 1
    return min(threads, MOST_THREADS)
