"""Cleaning of parallel text by length and ratio, as Moses' clean-corpus-n does it.

A pair is kept if both sides have from `minimum` to `maximum` words and neither has more than
`ratio` times as many as the other. Runs of spaces become one, spaces at the ends go. Both sides
stay aligned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_files, claim
from volt.counting.decoding import invalid_utf8
from volt.counting.inputs import find_inputs
from volt.counting.records import RecordOptions
from volt.data.datasets import Cleaning
from volt.settings import InputSettings

AS_NAMED = InputSettings()
"""Files are what their names say."""

_SPACES = re.compile(r"[ \t\r\f\v\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")


@dataclass(frozen=True)
class CleanResult:
    pairs: int
    kept: int


def cleaned(pairs: Iterable[Sequence[str]], rule: Cleaning) -> Iterator[tuple[str, ...] | None]:
    """For each pair the cleaned pair, or None if it goes."""
    if not 0 <= rule.minimum <= rule.maximum:
        raise SettingsError(
            f"lengths are from {rule.minimum} to {rule.maximum} words: nothing is between"
        )
    if rule.ratio is not None and not rule.ratio >= 1:
        raise SettingsError(f"a ratio is at least 1, not {rule.ratio}")
    for pair in pairs:
        tidy = tuple(_SPACES.sub(" ", side).strip(" ") for side in pair)
        yield tidy if rule.keeps(*tidy) else None


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
        pairs = paired([text_lines(source), text_lines(target)], [str(source), str(target)])
        for pair in cleaned(pairs, Cleaning(minimum, maximum, ratio)):
            total += 1
            if pair is not None:
                kept += 1
                one.write(pair[0].encode() + b"\n")
                other.write(pair[1].encode() + b"\n")
        # Raised inside, so that no half of the output appears.
        if not total:
            raise InputError(f"{source} and {target} are empty: there is nothing to clean")
    return CleanResult(total, kept)


def paired(sides: Sequence[Iterator[str]], names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Lines side by side; unequal numbers are an error, found at the end."""
    for number, row in enumerate(zip_longest(*sides)):
        if None in row:
            short, long = (next(i for i, one in enumerate(row) if (one is None) == ended)
                           for ended in (True, False))  # fmt: skip
            raise InputError(
                f"{names[short]} ends after {number:,} lines, {names[long]} goes on: line n of one "
                "must be the translation of line n of the other"
            )
        yield row


def text_lines(path: str | os.PathLike[str], reading: InputSettings = AS_NAMED) -> Iterator[str]:
    """The lines of a file, packed or not; of records or a data set, where each text is a line."""
    for source in find_inputs(path, glob=reading.glob, records=RecordOptions.of(reading)):
        if (batches := source.documents()) is not None:
            for text in chain.from_iterable(batch.split() for batch in batches):
                yield " ".join(text.decode().splitlines())
        else:
            with source.open() as stream:
                yield from decoded_lines(stream, source.name)


def decoded_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines of UTF-8 as text, without line ends."""
    offset = 0
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            byte = line[error.start]
            raise invalid_utf8(name, number, offset + error.start, byte, "") from None
        offset += len(line)
