r"""The regular expressions by which other toolkits cut byte-level text, as far as volt knows them.

They are recognized by their text; src/core/counting/scan_patterns.hpp does what they do. The same
text may mean something else elsewhere: to Hugging Face `\p{N}{1,3}+` is any number of digits, to
tiktoken three.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from volt.base.checks import closest
from volt.base.errors import SettingsError
from volt.counting.words import CUSTOM, PRETOKENIZERS, Pretokenizer

OPENAI: dict[str, str] = {
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++"
    r"|\s++$|\s+(?!\S)|\s": "byte-level",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "byte-level",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s": "byte-level:cl100k",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+": "byte-level:llama3",
}  # fmt: skip
"""The spellings of `tiktoken_ext.openai_public`, then and now."""

CLIP = "clip"
"""How CLIP's own file is read: its text is also cleaned."""

LLAMA_CPP: dict[str, str] = {
    "byte-level": "gpt-2",
    "byte-level:llama3": "llama-bpe",
    "byte-level:qwen2": "qwen2",
    "byte-level:o200k": "gpt-4o",
    "byte-level:deepseek": "deepseek-v3",
    "byte-level:starcoder": "starcoder",
}
"""What llama.cpp calls a pattern (`tokenizer.ggml.pre`). It knows none of the others."""
LLAMA_CPP_DIFFERS: dict[str, str] = {
    "byte-level:o200k": "llama.cpp cuts differently at marks and at capitals other than A to Z",
}
"""Where llama.cpp only comes near to a pattern that it knows."""


def pattern_notes(mode: Pretokenizer) -> Iterator[str]:
    """What to know about a byte-level pattern before a model is trained with it."""
    if not mode.byte_level:
        return
    exact = ", ".join(name for name in LLAMA_CPP if name not in LLAMA_CPP_DIFFERS)
    if mode.name not in LLAMA_CPP:
        yield (
            f"llama.cpp has no pattern like that of {mode.name}; transformers and vLLM load it. "
            f"For llama.cpp use {exact}"
        )
    elif mode.name in LLAMA_CPP_DIFFERS:
        yield f"{LLAMA_CPP_DIFFERS[mode.name]}. It does the same as volt with {exact}"


def full_name(pattern: str) -> str:
    """What the user names: a pre-tokenizer, `llama3` for `byte-level:llama3`, `gpt2` for
    `byte-level`, or a regular expression. A plain word is taken for a misspelled name;
    `custom:WORD` is an expression."""
    byte_level = [name for name, mode in PRETOKENIZERS.items() if mode.byte_level]
    short = {name.removeprefix("byte-level:"): name for name in byte_level}
    short = {"gpt2": short.pop("byte-level"), **short}
    name = short.get(pattern, pattern)
    if name in byte_level or name.startswith(CUSTOM) or not re.fullmatch(r"[\w:-]+", name):
        return name.removeprefix(CUSTOM)
    # Without the beginning that all share, which makes any name look close.
    likely = closest(name.removeprefix("byte-level:"), [one for one in short if one != "gpt2"])
    hint = f"; did you mean {short[likely]}?" if likely else ""
    raise SettingsError(
        f"`pattern` must be one of {', '.join(short)}, or a regular expression, not {name!r}{hint}"
    )


def regular_expression(pattern: str | None) -> str | None:
    """The one regular expression that the user names."""
    pattern = pattern and full_name(pattern)
    if pattern is None or pattern not in PRETOKENIZERS:
        return pattern
    mode = PRETOKENIZERS[pattern]
    if mode.pattern is None:
        raise SettingsError(
            f"`pattern`: {pattern} is not one regular expression, which these files need"
        )
    return mode.pattern


def known_patterns() -> dict[str, str]:
    """The pre-tokenizer that does what a pattern says, as volt writes patterns. Of several names
    for one pattern the first registered is taken."""
    entries = reversed([*PRETOKENIZERS.values()])
    return {entry.pattern: entry.name for entry in entries if entry.pattern}


def known_to_tiktoken() -> dict[str, str]:
    return known_patterns() | OPENAI
