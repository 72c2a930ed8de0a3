r"""The regular expressions by which other toolkits cut byte-level text, as far as volt knows them.

They are recognised by their text; volt/core/scan.hpp does what they do. The same text may mean
something else elsewhere: to Hugging Face `\p{N}{1,3}+` is any number of digits, to tiktoken three.
"""

from __future__ import annotations

from volt.counting.counts import Pretokenizer

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
CL100K = LLAMA3.replace(r"|\s*[", r"|\s++$|\s*[")

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        + CONTRACTION,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        + CONTRACTION,
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ]
)

PATTERNS: dict[Pretokenizer, str] = {
    "byte-level": GPT2,
    "byte-level:cl100k": CL100K,
    "byte-level:llama3": LLAMA3,
    "byte-level:qwen2": QWEN2,
    "byte-level:o200k": O200K,
}
"""As volt writes them, for both toolkits."""
KNOWN = {pattern: pretokenizer for pretokenizer, pattern in PATTERNS.items()}
KNOWN_TO_TIKTOKEN: dict[str, Pretokenizer] = {
    **KNOWN,
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++"
    r"|\s++$|\s+(?!\S)|\s": "byte-level",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "byte-level",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s": "byte-level:cl100k",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+": "byte-level:llama3",
}  # fmt: skip
"""With the spellings of `tiktoken_ext.openai_public`, then and now."""
