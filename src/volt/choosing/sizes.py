"""Sizes as people write them, and S, the sizes at which the paper solves transport.

`32k`, `1000:10000:1000`, `500,1000,2000`, `1k:10k:1k`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from volt.base.errors import InputError, SettingsError
from volt.base.options import parse_size

MOST = 100_000
IN_THOUSANDS = re.compile(
    r"(?<![0-9])(?:[0-9]{1,3}(?:,[0-9]{3})*,0[0-9]{2}|[0-9],[0-9]{3})(?![0-9])"
)
"""A number such as 9,920 or 16,000, which can't be two sizes: they would begin with 0, or have one
digit."""
BILINGUAL_S = (1000, 10_000, 1000)
MULTILINGUAL_S = (40_000, 160_000, 10_000)
"""Start, stop and step of the paper's S, which counts the alphabet (METHOD 4)."""


def parse_sizes(sizes: str | Sequence[int]) -> list[int]:
    """The sizes, in rising order, each once; START:STOP:STEP includes STOP."""
    words = "sizes are START:STOP:STEP or a list such as 1000,2000"
    if not isinstance(sizes, str):
        sizes = ",".join(map(str, sizes))
    elif thousands := IN_THOUSANDS.search(sizes):
        number = thousands[0]
        raise SettingsError(
            f"{words}: for {number} write {number.replace(',', '')}, a comma separates sizes"
        )
    found: set[int] = set()
    for part in sizes.split(","):
        numbers = [_number(number, sizes, words) for number in part.split(":")]
        if len(numbers) == 1:
            found.add(numbers[0])
        elif len(numbers) == 3 and numbers[2] > 0 and numbers[0] <= numbers[1]:
            start, stop, step = numbers
            if (stop - start) // step >= MOST:
                raise SettingsError(f"{sizes!r} names more than {MOST:,} sizes")
            found.update(range(start, stop + 1, step))
        else:
            raise SettingsError(f"{words}, not {sizes!r}")
    return sorted(found)


def _number(text: str, whole: str, words: str) -> int:
    try:
        number = parse_size(text.strip())
    except ValueError:
        number = 0
    if number < 1:
        raise SettingsError(f"{words}, not {whole!r}")
    return number


def paper_s(
    alphabet: int, most: int, multilingual: bool, other: int = 0
) -> tuple[list[int], list[str]]:
    """The paper's S for an alphabet and a number of other candidates, with messages.

    S starts at the first multiple of its step that is at least the alphabet plus one step. Where
    the alphabet is so large that this lies beyond the paper's last size, S has as many sizes from
    there on.
    """
    start, stop, step = MULTILINGUAL_S if multilingual else BILINGUAL_S
    length = (stop - start) // step + 1
    start = max(start, -(-(alphabet + step) // step) * step)
    stop = max(stop, start + (length - 1) * step) if start > stop - 2 * step else stop
    return fitting_s(range(start, stop + 1, step), alphabet, most, other)


def fitting_s(
    s: Sequence[int], alphabet: int, most: int, other: int = 0
) -> tuple[list[int], list[str]]:
    """The sizes of S that these candidates reach, and what there is to say.

    If there is too little text for S, it is scaled down to the candidates there are. Messages name
    sizes in rows: a vocabulary has `other` rows that S does not count.
    """
    above = [size for size in s if size > alphabet]
    if len(above) < 2:
        raise SettingsError(
            f"fewer than two of the sizes have room for the {alphabet:,} characters of the text "
            "and another token: give larger sizes"
        )
    reached = [size for size in above if size <= alphabet + most]
    if len(reached) == len(s):
        return reached, []
    if len(reached) >= 3 or reached == above:
        return reached, [
            f"transport is solved at sizes from {reached[0] + other:,} to "
            f"{reached[-1] + other:,}: the text has {alphabet:,} characters and gives {most:,} "
            "other candidates"
        ]
    span = above[-1] - alphabet
    scaled = sorted({alphabet + max(1, (size - alphabet) * most // span)
                     for size in above if most})  # fmt: skip
    if len(scaled) < 2:
        raise InputError(
            f"the text gives {most:,} candidates, too few for two sizes: give it more text"
        )
    return scaled, [
        f"transport is solved at sizes from {scaled[0] + other:,} to {scaled[-1] + other:,}, not "
        f"{s[0] + other:,} to {s[-1] + other:,}: the text gives {most:,} candidates"
    ]


def listed_s(s: Sequence[int]) -> str:
    """S in few characters: START:STOP:STEP where that says it all."""
    steps = {b - a for a, b in pairwise(s)}
    return f"{s[0]}:{s[-1]}:{steps.pop()}" if len(steps) == 1 else ",".join(map(str, s))
