"""SentencePiece's table of characters, `precompiled_charsmap`: reading it and applying it."""

from __future__ import annotations

import functools
import re
import struct
import unicodedata
from typing import Any

import numpy as np

from volt import _core
from volt.base.errors import InputError

LONGEST_RULE = 256
"""Bytes of text that a rule replaces, at most."""
MOST_PATHS = 1_000_000
"""Paths through the trie of a table, equal ones counted once. SentencePiece's own tables have less
than a tenth of that."""


MOST_CLUSTERS = 10_000
"""Clusters of a letter and its marks that a table remembers."""


@functools.lru_cache(maxsize=4)
def native_map(table: bytes) -> _core.CharacterMap:
    """The same table for whole texts, by the longest rule. It takes any bytes; `character_map`
    checks that they are a table."""
    return _core.CharacterMap(table)


@functools.lru_cache(maxsize=4)
def character_map(table: bytes) -> CharacterMap:
    return CharacterMap(table)


class CharacterMap:
    """A `precompiled_charsmap`: rules that replace a few characters by others. It is not trusted.

    The format: the length of the trie in bytes (32 bits), the trie of what is replaced (a double
    array as Darts builds it, 32 bits per unit), then the replacements, each ended by NUL.

    A unit: bits 0 to 7 and 31 are its label, bit 8 says whether there is a value at its offset,
    and the offset starts at bit 10. From `place`, the byte `b` leads to the unit `place ^ b`, if
    that unit's label is `b`; the next place is that unit's number ^ its offset. Tails are shared:
    `nmt_nfkc` has 225,275 rules in about 50,000 units. So nothing here goes through all rules (that
    took 14 seconds).
    """

    def __init__(self, table: bytes) -> None:
        size = struct.unpack_from("<I", table)[0] if len(table) >= 4 else 0
        if size % 4 or not 4 <= size < len(table) - 4:
            raise _bad_table("it is cut short")
        units = np.frombuffer(table, "<u4", size // 4, 4).astype(np.int64)
        self._texts = table[4 + size :]
        self._check_texts()
        self._clusters: dict[str, str] = {}
        offsets = (units >> 10) << ((units & 0x200) >> 6)
        self._labels: list[int] = (units & 0x800000FF).tolist()
        self._next: list[int] = (np.arange(len(units)) ^ offsets).tolist()
        self._ends: list[bool] = ((units & 0x100) != 0).tolist()
        self._values: list[int] = (units & 0x7FFFFFFF).tolist()
        self._start = int(offsets[0])
        first, later = self._characters()
        found = {c: self._find(c, 0, 1) for c in map(chr, first)}
        self._single = str.maketrans({c: by for c, (end, by) in found.items() if end})
        # Without one of these no rule applies.
        self._active = {*map(chr, self._single), *map(chr, later)}

    @property
    def expansion(self) -> float:
        """A bound of the bytes that a rule makes of one byte. Rules of several characters are not
        looked at one by one: they replace at least two bytes."""
        longest = max(map(len, self._texts.split(b"\0")))
        single = ((chr(one), by) for one, by in self._single.items())
        return max(1.0, longest / 2, *(len(by.encode()) / len(c.encode()) for c, by in single))

    def _check_texts(self) -> None:
        try:
            self._texts.decode()
        except UnicodeDecodeError:
            raise _bad_table("a replacement is not UTF-8") from None
        if not self._texts.endswith(b"\0"):
            raise _bad_table("the last replacement has no end")
        if b"\n" in self._texts or b"  " in self._texts:
            raise _bad_table("a replacement has a line end, or two spaces")

    def _characters(self) -> tuple[list[int], list[int]]:
        """The code points that rules start with, and those that come later in a rule. Also checks
        that all values are there."""
        units = np.arange(len(self._labels))
        labels, places = np.array(self._labels), np.array(self._next)
        ends, values = np.array(self._ends), np.array(self._values)
        real = labels < 256
        before = np.where(real, units ^ labels, -1)  # the place that leads to this unit
        order = np.argsort(before, kind="stable")
        before = before[order]
        found: tuple[list[int], list[int]] = [], []
        # Of each path: its place; the code point so far; its bytes to come; is it the first?
        paths = np.array([[self._start, 0, 0, 1]])
        total = 0
        for _ in range(LONGEST_RULE + 1):
            low, high = (np.searchsorted(before, paths[:, 0], side) for side in ("left", "right"))
            parents = np.repeat(np.arange(len(paths)), high - low)
            steps = np.arange(len(parents)) - np.repeat(
                np.cumsum(high - low) - (high - low), high - low
            )
            reached = order[low[parents] + steps]
            label = labels[reached]
            _, code_point, to_come, first = paths[parents].T
            # 0xxxxxxx, 110xxxxx, 1110xxxx, 11110xxx start a character, 10xxxxxx go on with it.
            length = np.searchsorted([0x80, 0xC2, 0xE0, 0xF0, 0xF5], label, "right")
            starts = (to_come == 0) & np.isin(length, (0, 2, 3, 4))
            goes_on = (to_come > 0) & (length == 1)
            kept = starts | goes_on  # others are not UTF-8 and never occur
            code_point = np.where(
                starts, label & np.array([0x7F, 0, 0x1F, 0x0F, 0x07, 0])[length],
                code_point << 6 | label & 0x3F,
            )  # fmt: skip
            to_come = np.where(starts, np.maximum(length - 1, 0), to_come - 1)
            done = to_come == 0
            for number in (0, 1):
                found[1 - number].extend(np.unique(code_point[kept & done & (first == number)]))
            at_end = kept & ends[reached]
            self._check_values(places[reached[at_end]], values)
            columns = [places[reached], np.where(done, 0, code_point), to_come, first & ~done]
            paths = np.unique(np.stack(columns, 1)[kept], axis=0)
            total += len(paths)
            if total > MOST_PATHS:
                raise _bad_table(f"its trie has more than {MOST_PATHS:,} paths")
            if not len(paths):
                return (
                    [c for c in found[0] if _is_scalar(c)],
                    [c for c in set(found[1]) if _is_scalar(c)],
                )
        raise _bad_table(f"a rule is longer than {LONGEST_RULE} bytes")

    def _check_values(self, places: Any, values: Any) -> None:
        if (places >= len(values)).any():
            raise _bad_table("its trie points outside")
        for start in np.unique(values[places]).tolist():
            if start >= len(self._texts) or self._texts[start] & 0xC0 == 0x80:
                raise _bad_table("it has no replacement where one should be")

    def _find(self, text: str, start: int, most: int) -> tuple[int, str]:
        """The end of the longest rule, of at most `most` characters, that applies at `start`, and
        its replacement; `start` if none applies."""
        labels = self._labels
        place, end, value = self._start, start, 0
        for number in range(start, min(start + most, len(text))):
            for byte in text[number].encode(errors="surrogatepass"):
                place ^= byte
                if place >= len(labels) or labels[place] != byte:
                    return end, self._replacement(value) if end > start else ""
                unit, place = place, self._next[place]
            if self._ends[unit]:
                end, value = number + 1, self._values[place]
        return end, self._replacement(value) if end > start else ""

    def _replacement(self, value: int) -> str:
        return self._texts[value : self._texts.index(b"\0", value)].decode()

    def by_cluster(self, text: str) -> str:
        if self._active.isdisjoint(text):
            return text
        parts = _clusters().split(text)  # every second part is a cluster of several characters
        parts[::2] = [part.translate(self._single) for part in parts[::2]]
        parts[1::2] = map(self._cluster, parts[1::2])
        return "".join(parts)

    def _cluster(self, cluster: str) -> str:
        """Clusters repeat; finding a rule takes ten times as long as remembering it."""
        found = self._clusters.get(cluster)
        if found is None:
            if len(self._clusters) >= MOST_CLUSTERS:
                self._clusters.clear()
            found = self._clusters[cluster] = self._replace_cluster(cluster)
        return found

    def _replace_cluster(self, cluster: str) -> str:
        if len(cluster.encode(errors="surrogatepass")) < 6:
            for most in range(1, len(cluster) + 1):
                end, by = self._find(cluster, 0, most)
                if end:
                    return by
        return cluster.translate(self._single)


def _bad_table(problem: str) -> InputError:
    return InputError(f"the table of characters (precompiled_charsmap): {problem}")


def _is_scalar(code_point: int) -> bool:
    return code_point < 0xD800 or 0xDFFF < code_point < 0x110000


@functools.cache
def _clusters() -> re.Pattern[str]:
    """Finds clusters of several characters with less than six bytes. Hangul, flags and joined emoji
    are longer."""
    joined = {0x200C, 0x200D, 0xE33, 0xEB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400)}
    joined |= set(range(0xE0020, 0xE0080))
    prepended = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    marks, controls = [], []
    for code_point in range(0x110000):
        kind = unicodedata.category(chr(code_point))
        if code_point in joined or kind in ("Mn", "Mc", "Me"):
            marks.append(code_point)
        elif kind in ("Cc", "Cf", "Zl", "Zp") and code_point not in prepended:
            controls.append(code_point)
    return re.compile(f"(\r\n|[^{character_class(controls)}][{character_class(marks)}]+)")


def character_class(code_points: Any) -> str:
    """Sorted code points as the inside of `[...]`."""
    ranges: list[list[int]] = []
    for code_point in code_points:
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    return "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in ranges)
