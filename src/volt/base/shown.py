r"""Text for its destination: a terminal, JSON, a cell of a CSV file, LaTeX.

Names of files, tokens and signatures come from other people, and may contain anything: sequences
that control a terminal, half of a surrogate pair (a file name that is not UTF-8), formulas. HTML
has `html.escape` and `volt.report.page.embedded_json`.

>>> print(shown("red\x1b[31m"))
red\x1b[31m
>>> print(shown(b"caf\xe9.txt".decode(errors="surrogateescape")))
caf\xe9.txt
"""

from __future__ import annotations

import json
import re
from typing import Any

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line end, characters that turn the direction of a line, and
surrogates."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
SIGNS = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"})
"""For tokens that are shown as the text they stand for."""
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
})  # fmt: skip


def shown(text: str) -> str:
    """For a terminal: what would control it is written as an escape. Lines stay lines."""
    return _UNSAFE.sub(_escape, text)


def shown_line(text: str) -> str:
    """The same for a name or a token inside a line."""
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")


def plural(number: float, one: str, many: str = "") -> str:
    """
    >>> plural(1, "line"), plural(1200, "line"), plural(0, "entry", "entries")
    ('1 line', '1,200 lines', '0 entries')
    """
    said = f"{number:,.0f}"
    return f"{said} {one if said == '1' else many or one + 's'}"


def json_text(data: Any, **options: Any) -> str:
    """JSON that can be written as UTF-8 and printed on a terminal. What `shown` escapes is escaped
    as JSON does it; half of a surrogate pair, which is not text, becomes what `shown` makes of it.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, **options)
    return _UNSAFE.sub(_escape_in_json, text)


def csv_cell(value: Any) -> Any:
    """A spreadsheet takes a cell that starts like this for a formula: text gets an apostrophe."""
    if not isinstance(value, str):
        return value
    value = shown_line(value)
    return f"'{value}" if value.startswith(_FORMULA) else value


def latex_cell(text: str) -> str:
    return shown_line(text).translate(_LATEX)


def _escape_in_json(found: re.Match[str]) -> str:
    number = ord(found[0])
    return "\\" + _escape(found) if 0xD800 <= number < 0xE000 else f"\\u{number:04x}"


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a name that is not UTF-8
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
