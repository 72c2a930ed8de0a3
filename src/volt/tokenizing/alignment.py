"""Where the characters of a normalized text come from.

A normalizer is only known as a function here. If two parts of a text, normalized one by one, make
the normalized text, then each part comes from its own part. So the text is halved again and again,
wherever that holds, until a part stays as it is or can't be cut: most often a single character.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from volt.tokenizing.offsets import Span

FEW = 64
"""Characters among which every place is tried."""
NEAR = 6
"""How far from the middle of a longer text every place is tried."""
LONG = 256
"""Characters that are not compared one by one any more, which takes time by their square."""


def original_spans(
    text: str, normalized: str, normalize: Callable[[str], str], spans: list[Span]
) -> list[Span]:
    """Spans in the normalized text as spans in the text itself.

    >>> original_spans("LOW ½", "low 1/2", lambda text: text.lower().replace("½", "1/2"), [(4, 7)])
    [(4, 5)]
    """
    places = [(0, 0)] * len(normalized)
    for start, end, first, last in _parts(text, normalized, normalize, 0, 0):
        _compare(text, normalized, (start, end), (first, last), places)
    return [_joined(places[start:end], places, start, len(text)) for start, end in spans]


def _joined(some: list[Span], places: list[Span], start: int, length: int) -> Span:
    real = [place for place in some if place[0] < place[1]]
    if real:
        return real[0][0], real[-1][1]
    at = some[0][0] if some else places[start][0] if start < len(places) else length
    return at, at


_Part = tuple[int, int, int, int]


def _parts(
    text: str, normalized: str, normalize: Callable[[str], str], at: int, to: int
) -> Iterator[_Part]:
    """Where parts of the text start and end, and what they become."""
    waiting = [(text, normalized, at, to)]
    while waiting:
        text, normalized, at, to = waiting.pop()
        found = None if text == normalized else _halves(text, normalized, normalize)
        if found is None:
            yield at, at + len(text), to, to + len(normalized)
            continue
        middle, cut = found
        waiting.append((text[middle:], normalized[cut:], at + middle, to + cut))
        waiting.append((text[:middle], normalized[:cut], at, to))


def _halves(text: str, normalized: str, normalize: Callable[[str], str]) -> tuple[int, int] | None:
    """A place near the middle at which the text can be cut, and that place in what it becomes."""
    for middle in _places(text):
        if len(text) > FEW:  # see first whether the characters around it can be cut
            left, right = text[middle - min(middle, NEAR) : middle], text[middle : middle + NEAR]
            if normalize(left) + normalize(right) != normalize(left + right):
                continue
        first = normalize(text[:middle])
        if normalized.startswith(first) and first + normalize(text[middle:]) == normalized:
            return middle, len(first)
    return None


def _places(text: str) -> list[int]:
    """Where a text may be cut, the best first: all places of a short one. In a longer one those
    near the middle and at spaces, then ever further from the middle, and ever nearer to the ends:
    so what can be cut around a long part that can't is found in a few steps."""
    length, half = len(text), len(text) // 2
    if length <= FEW:
        return sorted(range(1, length), key=lambda place: abs(place - half))
    near = sorted(range(half - NEAR + 1, half + NEAR), key=lambda place: abs(place - half))
    spaces = [text.rfind(" ", 0, half), text.find(" ", half)]
    near += [place + more for place in spaces if place > 0 for more in (0, 1)]
    steps = [1 << power for power in range(half.bit_length())]
    near += [half + step for far in steps for step in (-far, far)]
    near += [place for far in reversed(steps) for place in (far, length - far)]
    return [place for place in dict.fromkeys(near) if 0 < place < length]


def _compare(text: str, normalized: str, own: Span, made: Span, places: list[Span]) -> None:
    """Give each character of a part of the normalized text its place, as far as they are alike."""
    before, after = text[own[0] : own[1]], normalized[made[0] : made[1]]
    for kind, i, j, k, m in _changes(before, after):
        for number in range(k, m):
            if kind == "equal" or (kind == "replace" and j - i == m - k):
                place = own[0] + i + number - k
                places[made[0] + number] = (place, place + 1)
            elif kind in ("replace", "whole"):
                places[made[0] + number] = (own[0] + i, own[0] + j)
            else:
                places[made[0] + number] = (own[0] + i, own[0] + i)


def _changes(before: str, after: str) -> Sequence[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher.get_opcodes`."""
    if before == after:
        return [("equal", 0, len(before), 0, len(after))]
    if max(len(before), len(after)) > LONG:
        return [("whole", 0, len(before), 0, len(after))]
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
