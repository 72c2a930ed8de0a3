"""Options of samples, caps, mixtures and shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from volt.base.options import Settings, ValueKind, late, option, size, whole


def byte_size() -> ValueKind:
    read = late("volt.counting.sampling", "parse_bytes")
    return ValueKind(read, "a number of bytes such as 2G or 500M", "SIZE")


def mixture() -> ValueKind:
    read = late("volt.counting.sampling", "parse_mix")
    return ValueKind(read, "shares above 0 by name, such as web=0.6,code=0.4", "NAME=SHARE,...")


def parts() -> ValueKind:
    read = late("volt.counting.shards", "parse_shard")
    return ValueKind(read, "a part and the number of parts, from 1/N to N/N", "K/N")


@dataclass(frozen=True, kw_only=True)
class SampleSettings(Settings, group="Input"):
    """Which documents are counted."""

    sample: int | str | None = option(
        None, "Bytes of text to keep, such as 2G; documents are chosen by a hash of their content.",
        byte_size(), default_words="all of it",
    )  # fmt: skip
    document_cap: int | str | None = option(
        None, "Characters of each document to read, such as 10k.", size(),
        default_words="all of them",
    )  # fmt: skip
    mix: str | Mapping[str, float | str | Fraction] | None = option(
        None, "Shares of the text by name, such as web=0.6,code=0.4; inputs are NAME=FILE.",
        mixture(),
    )  # fmt: skip
    seed: int = option(0, "Random seed for the sample.", whole(0, 2**63 - 1))
    shard: str | None = option(
        None, "Count only this part of the inputs, such as 3/64.", parts(),
        default_words="all of them",
    )  # fmt: skip
