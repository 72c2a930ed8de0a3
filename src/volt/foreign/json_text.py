"""Changing values in the text of a JSON file, so that every other byte stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Keys = tuple[str | int, ...]
Span = tuple[int, int]

_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class JsonText:
    """The text of a JSON file, and where in it each value is.

    >>> text = JsonText('{"a": [1, 2], "b": {"c":  3}}')
    >>> text.with_values({("a", 1): "20", ("b", "c"): "30"})
    '{"a": [1, 20], "b": {"c":  30}}'
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, path: Keys) -> Span | None:
        """Where a value is; None if there is no such value."""
        place = self._skip(0)
        for step in path:
            found = next((at for key, at, _ in self._members(place) if key == step), None)
            if found is None:
                return None
            place = found
        return place, self._end(place)

    def children(self, path: Keys) -> Iterator[tuple[str | int, Span, Span | None]]:
        """The members of a table or list: key, where the value is, and where the key is."""
        span = self.find(path)
        if span is not None:
            for key, at, key_span in self._members(span[0]):
                yield key, (at, self._end(at)), key_span

    def with_values(self, values: Mapping[Keys, str]) -> str:
        """The text with other values, each written as JSON."""
        spans = {}
        for path, new in values.items():
            span = self.find(path)
            if span is not None:
                spans[span] = new
        return self.with_spans(spans)

    def with_spans(self, spans: Mapping[Span, str]) -> str:
        parts, last = [], 0
        for (start, end), new in sorted(spans.items()):
            parts += [self.text[last:start], new]
            last = end
        return "".join([*parts, self.text[last:]])

    def with_changes(self, old: Any, new: Any) -> str:
        """The text with its value `old` changed to `new`: only what differs is written again.

        >>> JsonText('{"a": [1,  2.50]}').with_changes({"a": [1, 2.5]}, {"a": [7, 2.5]})
        '{"a": [7,  2.50]}'
        """
        return self.with_spans(dict(self._changes(self._skip(0), old, new)))

    def _changes(self, place: int, old: Any, new: Any) -> Iterator[tuple[Span, str]]:
        if type(old) is type(new) and old == new:
            return
        tables = isinstance(old, dict) and isinstance(new, dict) and [*old] == [*new]
        lists = isinstance(old, list) and isinstance(new, list) and len(old) == len(new)
        if tables or lists:
            for key, at, _ in self._members(place):
                yield from self._changes(at, old[key], new[key])
        else:
            yield (place, self._end(place)), dumped(new)

    def style(self, path: Keys) -> tuple[str, str, str]:
        """How the members of a table or list are laid out: what is before the first, between two,
        and after the last."""
        span = self.find(path)
        if span is None:
            return "", ",", ""
        inner = self.text[span[0] + 1 : span[1] - 1]
        before = _BLANKS.match(inner)
        blank = before[0] if before else ""
        if not inner.strip():
            return "", ", ", ""
        after = inner[len(inner.rstrip()) :]
        return blank, "," + (blank or self._between(span)), after

    def _between(self, span: Span) -> str:
        """What is after the comma between the first two members."""
        members = self._members(span[0])
        next(members)
        second = next(members, None)
        if second is None:
            return " "
        start = second[2][0] if second[2] else second[1]
        return self.text[self.text.rindex(",", 0, start) + 1 : start]

    def _skip(self, place: int) -> int:
        found = _BLANKS.match(self.text, place)
        return found.end() if found else place

    def _end(self, place: int) -> int:
        return _DECODER.raw_decode(self.text, place)[1]

    def _members(self, place: int) -> Iterator[tuple[str | int, int, Span | None]]:
        text = self.text
        opening = text[place]
        if opening not in "{[":
            return
        place = self._skip(place + 1)
        number = 0
        while text[place] not in "}]":
            key: str | int = number
            key_span = None
            if opening == "{":
                key, end = _DECODER.raw_decode(text, place)
                key_span = place, end
                place = self._skip(self._skip(end) + 1)
            yield key, place, key_span
            place = self._skip(self._end(place))
            if text[place] == ",":
                place = self._skip(place + 1)
            number += 1


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def laid_out(members: list[str], style: tuple[str, str, str], brackets: str) -> str:
    """Members in the layout of the table or list that they replace."""
    if not members:
        return brackets
    before, between, after = style
    return brackets[0] + before + between.join(members) + after + brackets[1]
