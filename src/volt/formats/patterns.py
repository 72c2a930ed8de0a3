r"""The regular expressions by which other toolkits cut byte-level text, as far as volt knows them.

They are recognised by their text; volt/core/scan.hpp does what they do. The same text may mean
something else elsewhere: to Hugging Face `\p{N}{1,3}+` is any number of digits, to tiktoken three.
"""

from __future__ import annotations

from volt.counting.words import PRETOKENIZERS

PATTERNS = {name: entry.pattern for name, entry in PRETOKENIZERS.items() if entry.pattern}
"""As volt writes them, for both toolkits."""
KNOWN = {pattern: pretokenizer for pretokenizer, pattern in PATTERNS.items()}
KNOWN_TO_TIKTOKEN: dict[str, str] = {
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
