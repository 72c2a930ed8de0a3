"""Lines for people, wrapped to the width of a terminal."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

WARNING = "warning: "
"""How a line begins that is said to those, too, who asked for quiet."""
WIDTH = 80
"""Columns where nobody looks: in a pipe or a file."""
LEAST_WIDTH = 36
"""Columns that a sentence in a table needs; with fewer it goes on at the start of the next line."""
LABEL = re.compile(r"(?:note|warning): |  (?:\w+(?: \w+)? {2,}|\w{9} )")
"""What a line can begin with and its continuation is indented by. Names of rows are padded to nine
letters, as in `Answer.lines`."""
COMMAND = re.compile(r"next: |look at: |  pip ")
"""Lines to copy from: they stay whole."""


@dataclass(frozen=True)
class Line:
    """A line for people, and how it is drawn on a terminal."""

    text: str
    style: str = ""
    indent: int = 0
    """Where the text goes on if the line is too long for the terminal; 0: at its start."""

    def wrapped(self, width: int) -> list[str]:
        """The lines of a terminal of that width."""
        if not self.indent:
            return [self.text]
        indent = self.indent if self.indent <= width - LEAST_WIDTH else min(self.indent, 4)
        return textwrap.wrap(
            self.text, width, subsequent_indent=" " * indent, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip


def note_lines(text: str, width: int) -> list[str]:
    """A message that goes on after its label, or by two columns.

    >>> note_lines("note: the text gives 21 merges, not 100", 42)
    ['note: the text gives 21 merges, not 100']
    >>> note_lines("note: the text gives 21 merges, not 100,000", 42)
    ['note: the text gives 21 merges, not', '      100,000']
    """
    if len(text) <= width or COMMAND.match(text):
        return [text]
    label = LABEL.match(text)
    return Line(text, indent=label.end() if label else 2).wrapped(width)
