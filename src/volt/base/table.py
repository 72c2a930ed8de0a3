"""Tables for the terminal: every command that prints one prints it like this."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from volt.base.shown import shown_line


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells, as wide as the widest: the first column to the left, the others to the right.

    >>> aligned([["size", "loss"], ["big", "0.5"]])
    ['size  loss', 'big    0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return lines


def wrapped(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The same in lines of at most that width: columns that do not fit go on below, after the first
    column again."""
    names, *columns = zip(*rows, strict=True)
    lines: list[str] = []
    block = [names]
    for column in columns:
        wider = aligned([*zip(*block, column, strict=True)])
        if len(block) > 1 and max(map(len, wider)) > width:
            lines += [*aligned([*zip(*block, strict=True)]), ""]
            block = [names]
        block.append(column)
    return lines + aligned([*zip(*block, strict=True)])


def text_table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> list[str]:
    """The head and the rows as lines of text. A column is its head and the format of its values;
    None and NaN are shown as a dash.

    >>> text_table([("name", "<6"), ("share", ">6.1%")], [("de", 0.5), ("en", None)])
    ['name    share', 'de      50.0%', 'en          -']
    """
    forms = [form for _, form in columns]
    plain = [re.sub(r"([<>])\+?([0-9]+).*", r"\1\2", form) for form in forms]

    def line(values: Sequence[Any], forms: Sequence[str]) -> str:
        cells = (
            f"{'-':{place}}"
            if value is None or value != value
            else f"{shown_line(value) if isinstance(value, str) else value:{form}}"
            for value, form, place in zip(values, forms, plain, strict=True)
        )
        return " ".join(cells).rstrip()

    return [line([head for head, _ in columns], plain), *(line(row, forms) for row in rows)]
