"""Lists of sizes as people write them: `1000:10000:1000`, `500,1000,2000`, `1k,2k`, `1k:10k:1k`."""

from __future__ import annotations

import re

from volt.base.errors import SettingsError

MOST = 100_000


def parse_sizes(text: str) -> list[int]:
    """The sizes, in rising order, each once; START:STOP:STEP includes STOP."""
    found: set[int] = set()
    for part in text.split(","):
        numbers = [_number(number, text) for number in part.split(":")]
        if len(numbers) == 1:
            found.add(numbers[0])
        elif len(numbers) == 3 and numbers[2] > 0 and numbers[0] <= numbers[1]:
            start, stop, step = numbers
            if (stop - start) // step >= MOST:
                raise SettingsError(f"{text!r} names more than {MOST:,} sizes")
            found.update(range(start, stop + 1, step))
        else:
            raise SettingsError(
                f"sizes are START:STOP:STEP or a list such as 1000,2000, not {text!r}"
            )
    return sorted(found)


def _number(text: str, whole: str) -> int:
    match = re.fullmatch(r"\s*([0-9](?:_?[0-9]){0,11})([kK]?)\s*", text)
    if not match or int(match[1]) == 0:
        raise SettingsError(f"sizes are START:STOP:STEP or a list such as 1000,2000, not {whole!r}")
    return int(match[1]) * (1000 if match[2] else 1)
