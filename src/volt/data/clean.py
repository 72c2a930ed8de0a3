"""Cleaning of parallel text by length and ratio, as Moses' clean-corpus-n does it.

A pair is kept if both sides have from `minimum` to `maximum` words and neither has more than
`ratio` times as many as the other. Runs of spaces become one, spaces at the ends go. Both sides
stay aligned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_files, claim
from volt.counting.decoding import invalid_utf8
from volt.counting.inputs import find_inputs

_SPACES = re.compile(r"[ \t\r\f\v\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")


@dataclass(frozen=True)
class CleanResult:
    pairs: int
    kept: int


def is_clean(source: str, target: str, minimum: int, maximum: int, ratio: float | None) -> bool:
    counts = (len(source.split(" ")) if source else 0), (len(target.split(" ")) if target else 0)
    fewer, more = min(counts), max(counts)
    if fewer < minimum or more > maximum:
        return False
    return ratio is None or more <= ratio * fewer


def cleaned(
    pairs: Iterable[tuple[str, str]],
    *,
    minimum: int = 1,
    maximum: int = 80,
    ratio: float | None = 9.0,
) -> Iterator[tuple[str, str] | None]:
    """For each pair the cleaned pair, or None if it goes."""
    if not 0 <= minimum <= maximum:
        raise SettingsError(f"lengths are from {minimum} to {maximum} words: nothing is between")
    if ratio is not None and not ratio >= 1:
        raise SettingsError(f"a ratio is at least 1, not {ratio}")
    for source, target in pairs:
        tidy = _tidy(source), _tidy(target)
        yield tidy if is_clean(*tidy, minimum, maximum, ratio) else None


def clean_files(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    output_source: str | os.PathLike[str],
    output_target: str | os.PathLike[str],
    *,
    minimum: int = 1,
    maximum: int = 80,
    ratio: float | None = 9.0,
    force: bool = False,
) -> CleanResult:
    """Clean two files line by line; packed ones are read as they are. Outputs that exist are
    replaced only with `force`."""
    claim(output_source, output_target, inputs=[source, target], force=force)
    total = kept = 0
    with atomic_files(output_source, output_target) as (one, other):
        pairs = aligned(source, target)
        for pair in cleaned(pairs, minimum=minimum, maximum=maximum, ratio=ratio):
            total += 1
            if pair is not None:
                kept += 1
                one.write(pair[0].encode() + b"\n")
                other.write(pair[1].encode() + b"\n")
        # Raised inside, so that no half of the output appears.
        if not total:
            raise InputError(f"{source} and {target} are empty: there is nothing to clean")
    return CleanResult(total, kept)


def aligned(
    source: str | os.PathLike[str], target: str | os.PathLike[str]
) -> Iterator[tuple[str, str]]:
    """Lines of two files, side by side; unequal numbers are an error, found at the end."""
    sides = (text_lines(source), text_lines(target))
    number = 0
    while True:
        one, other = (next(side, None) for side in sides)
        if one is None and other is None:
            return
        if one is None or other is None:
            short, long = (source, target) if one is None else (target, source)
            raise InputError(
                f"{short} ends after {number:,} lines, {long} goes on: line n of one must be the "
                "translation of line n of the other"
            )
        number += 1
        yield one, other


def text_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """The lines of a file, packed or not; of records or a data set, where each text is a line."""
    for source in find_inputs(path):
        if (batches := source.documents()) is not None:
            for text in chain.from_iterable(batch.split() for batch in batches):
                yield " ".join(text.decode().splitlines())
        else:
            with source.open() as stream:
                yield from decoded(stream, source.name)


def decoded(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines of UTF-8 as text, without line ends."""
    offset = 0
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            byte = line[error.start]
            raise invalid_utf8(name, number, offset + error.start, byte, "") from None
        offset += len(line)


def _tidy(line: str) -> str:
    return _SPACES.sub(" ", line).strip(" ")
