"""Samples, caps and mixtures: which documents are counted, decided by a hash of each one's content.

A first pass over the text adds up the bytes of documents by their hash. That says below which hash
documents are kept, so that the sample is as large as asked for and the mixture has its shares. A
second pass counts those. Whether a document is kept depends on its content, the seed and these sums
alone: it is the same for any order of files, number of threads, and machine. Copies of a document
are all kept, or none of them.
"""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import InputError, SettingsError
from volt.base.output import write_array
from volt.base.progress import Report
from volt.counting.decoding import position_of
from volt.counting.documents import (
    LONGEST_RECORD,
    Batches,
    Documents,
    blocks_of_lines,
    documents_of,
    one_document,
    text_only,
)
from volt.counting.inputs import TextInput
from volt.settings.samples import SampleSettings

BUCKETS = 1 << 20
"""Hashes are summed up in so many ranges: a sample ends between two of them."""
SHIFT = np.uint64(44)
BYTES = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


@dataclass(frozen=True)
class Sampling:
    """Which documents are asked for."""

    size: int | None = None
    """Bytes of text."""
    cap: int | None = None
    """Characters of a document that are read."""
    mix: Mapping[str, Fraction] = field(default_factory=dict)
    """Shares of the bytes by group; they add up to 1."""
    seed: int = 0
    unit: str = "document"
    """What is kept or left out: a `document` or a `line`."""

    @classmethod
    def of(cls, settings: SampleSettings, unit: str) -> Sampling | None:
        """What settings ask for; None if it is all of the text."""
        size, cap, mix = settings.sample, settings.document_cap, settings.mix
        if (size, cap, mix) == (None, None, None):
            return None
        return cls(cast(Any, size), cast(Any, cap), cast(Any, mix) or {}, settings.seed, unit)

    def wanted(self, group: str) -> int | None:
        """Bytes that are asked of a group, if any number is."""
        return None if self.size is None else int(self.size * self.mix.get(group, Fraction(1)))


def parse_bytes(value: Any, kilo: int = 1000) -> int:
    """Bytes as people write them: 2G of text is 2 * 10**9; of memory a kilo is 1024.

    >>> [parse_bytes(size) for size in (1000, "2G", "1.5MB", "10k")]
    [1000, 2000000000, 1500000, 10000]
    """
    found = BYTES.fullmatch(str(value).strip())
    size = found and int(Fraction(found[1]) * kilo ** " KMGT".index(found[2].upper() or " "))
    if not size or isinstance(value, bool):
        raise ValueError(f"{value!r} is not a number of bytes such as 2G or 500M")
    return size


def parse_mix(value: Any) -> dict[str, Fraction]:
    """Shares by name, from a mapping or `web=0.6,code=0.4`. They are divided by their sum.

    >>> parse_mix("web=3,code=1")
    {'web': Fraction(3, 4), 'code': Fraction(1, 4)}
    """
    if isinstance(value, str):
        pairs = [part.partition("=")[::2] for part in value.split(",") if part]
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a name twice")
    else:
        pairs = list(value.items())
    shares = {str(name).strip(): Fraction(str(share)) for name, share in pairs}
    if not shares or not all(name and share > 0 for name, share in shares.items()):
        raise ValueError("shares above 0 by name")
    whole = sum(shares.values())
    return {name: share / whole for name, share in shares.items()}


# ------------------------------------------------------------------------------------ the documents


def units_of(found: Documents, sampling: Sampling) -> tuple[Documents, int]:
    """The documents or lines of a batch, cut to the cap; and their bytes before that."""
    if sampling.unit == "line":
        found = split_lines(found)
    size = int(_sizes(found, sampling).sum())
    return (found if sampling.cap is None else capped(found, sampling.cap)), size


class Units(Batches):
    """The documents of an input or, where lines are the unit, its lines; each cut to the cap."""

    def __init__(self, one: TextInput, sampling: Sampling) -> None:
        super().__init__()
        self._input, self._sampling = one, sampling
        self._source: Any = None
        self._stream: BinaryIO | None = None
        self.read_bytes = 0

    @property
    def position(self) -> int | None:  # type: ignore[override]
        if self._source is not None:
            return getattr(self._source, "position", None)
        return position_of(self._stream) if self._stream else 0

    @property
    def expected(self) -> int | None:  # type: ignore[override]
        return self._input.expected()

    @property
    def fields(self) -> list[str]:
        return getattr(self._source, "fields", [])

    def read(self) -> Iterator[Documents]:
        self._source = self._input.documents()
        batches = self._source if self._source is not None else self._file()
        for found in text_only(batches, self._input.name):
            units, size = units_of(found, self._sampling)
            self.read_bytes += size
            yield units

    def _file(self) -> Iterator[Documents]:
        """A text file: one document, or blocks of lines."""
        name, sampling = self._input.name, self._sampling
        with self._input.open_file() as self._stream:
            stream = self._stream
            if stream.peek(3)[:3] == b"\xef\xbb\xbf":  # type: ignore[attr-defined]
                stream.read(3)
            if sampling.unit == "document":
                enough = LONGEST_RECORD + 1 if sampling.cap is None else 4 * sampling.cap
                text = stream.read(enough)
                if sampling.cap is None and len(text) > LONGEST_RECORD:
                    raise InputError(
                        f"{name}: a document of more than {LONGEST_RECORD >> 20} MiB can't be "
                        "sampled; use `unit='line'` or `document_cap`"
                    )
                yield one_document(text)
                return
            yield from blocks_of_lines(stream, name)


def split_lines(found: Documents) -> Documents:
    """Every line of the documents as one, with its line end if it has one. An empty document is an
    empty line."""
    text, sizes = np.frombuffer(found.text, np.uint8), found.sizes()
    after = (np.flatnonzero(text == 0x0A) + 1).astype(np.uint64)
    open_end = found.ends[~_ends_line(text, found.ends, sizes)]
    return Documents(found.text, np.sort(np.concatenate([after, open_end])))


def _ends_line(
    text: NDArray[np.uint8], ends: NDArray[np.uint64], sizes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which documents end with a line feed."""
    if not len(text):
        return np.zeros(len(ends), np.bool_)
    last = text[np.maximum(ends.astype(np.int64) - 1, 0)]
    return np.asarray((sizes > 0) & (last == 0x0A))


def capped(found: Documents, cap: int) -> Documents:
    """The first `cap` characters of each document."""
    sizes = found.sizes()
    if not np.any(sizes > cap):
        return found
    texts, view = [], memoryview(found.text).cast("B")
    for end, size in zip(found.ends.tolist(), sizes.tolist(), strict=True):
        part = view[end - size : end]
        if size > cap:  # invalid bytes stay as they are: whoever counts them decides
            characters = bytes(part[: 4 * cap]).decode(errors="surrogateescape")[:cap]
            texts.append(characters.encode(errors="surrogateescape"))
        else:
            texts.append(bytes(part))
    return documents_of(texts)


def _hashed(found: Documents, sampling: Sampling) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The range of each document's hash, and its bytes. A line's end is not part of it."""
    hashes = _core.hash_documents(found.text, found.ends, sampling.seed, sampling.unit == "line")
    return (hashes >> SHIFT).astype(np.int64), _sizes(found, sampling)


def _sizes(found: Documents, sampling: Sampling) -> NDArray[np.int64]:
    """Bytes of each document, or of each line without its end."""
    sizes = found.sizes()
    if sampling.unit != "line" or not len(sizes):
        return sizes
    return sizes - _ends_line(np.frombuffer(found.text, np.uint8), found.ends, sizes)


# --------------------------------------------------------------------------------------- first pass


@dataclass
class Census:
    """Bytes and documents by range of hash. Those of two parts can be added."""

    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))
    documents: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))
    read_bytes: int = 0
    """Before documents were cut to the cap."""

    def add(self, found: Documents, sampling: Sampling) -> NDArray[np.int64]:
        """Count a batch; the ranges of its documents."""
        ranges, sizes = _hashed(found, sampling)
        np.add.at(self.sizes, ranges, sizes)
        np.add.at(self.documents, ranges, 1)
        return ranges

    @property
    def bytes(self) -> int:
        return int(self.sizes.sum())

    def limit(self, size: int) -> int:
        """How many ranges have at most so many bytes together."""
        return int(np.searchsorted(np.cumsum(self.sizes), size, "right"))


@dataclass(frozen=True)
class GroupShare:
    """What was read and kept of one group."""

    name: str
    share: float | None
    """The share that was asked for."""
    read_bytes: int
    read_documents: int
    kept_bytes: int
    kept_documents: int


@dataclass(frozen=True)
class SampleReport:
    """What was read, what was kept, and the mixture that came out."""

    unit: str
    seed: int
    groups: list[GroupShare]
    size: int | None = None
    """Bytes that were asked for."""
    cap: int | None = None

    def total(self, name: str) -> int:
        return sum(getattr(group, name) for group in self.groups)

    def achieved(self, group: GroupShare) -> float:
        return group.kept_bytes / max(self.total("kept_bytes"), 1)

    def lines(self) -> list[str]:
        """In words."""
        read, kept = self.total("read_bytes"), self.total("kept_bytes")
        what = f"{self.unit}s"
        lines = [
            f"sample: kept {self.total('kept_documents'):,} of {self.total('read_documents'):,} "
            f"{what}, {in_bytes(kept)} of {in_bytes(read)}"
        ]
        if self.size is not None and read and kept < 0.9 * self.size:
            why = "there is no more of the mixture" if self.groups[1:] else "that is all there is"
            if self.total("kept_documents") < self.total("read_documents") and not self.groups[1:]:
                why = f"the next {self.unit} is too large"
            lines.append(f"sample: {in_bytes(self.size)} were asked for; {why}")
        lines += [
            f"mixture: {group.name} {self.achieved(group):.1%} (asked for {group.share:.1%}), "
            f"{in_bytes(group.kept_bytes)} of {in_bytes(group.read_bytes)}"
            for group in self.groups if group.share is not None
        ]  # fmt: skip
        return lines

    def summary(self) -> dict[str, Any]:
        """Plain data, the same for the same text."""
        return {
            "unit": self.unit, "seed": self.seed, "size": self.size, "document_cap": self.cap,
            **{name: self.total(name) for name in
               ("read_bytes", "read_documents", "kept_bytes", "kept_documents")},
            "mixture": {group.name: {"asked": group.share, "achieved": self.achieved(group),
                                     "read_bytes": group.read_bytes,
                                     "kept_bytes": group.kept_bytes}
                        for group in self.groups if group.share is not None},
        }  # fmt: skip


def in_bytes(size: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:,.{1 if size < 100 * unit else 0}f} {name}"
    return f"{size:,} bytes"


@dataclass(frozen=True)
class Sample:
    """The documents that were chosen: inputs that yield only these."""

    inputs: list[TextInput]
    report: SampleReport
    half: list[TextInput]
    """Those of a sample of half the size, all of them in the sample."""


def take_sample(inputs: Sequence[TextInput], sampling: Sampling, report: Report) -> Sample:
    """The first pass: read all, and find out which documents to keep."""
    sources: list[TextInput] = []
    censuses = {name: Census() for name in sampling.mix or ("",)}
    done = documents = 0
    for one in inputs:
        census = censuses[one.group]
        units = Units(one, sampling)
        spool = None if _can_read_again(one) else Spool()
        for found in units:
            ranges = census.add(found, sampling)
            documents += len(ranges)
            if spool is not None:
                wanted = sampling.wanted(one.group)
                limit = BUCKETS if wanted is None else census.limit(wanted) + 1
                spool.write(_chosen(found, ranges < limit))
            at = units.position
            report(
                done + (units.read_bytes if at is None else at), f"{documents:,} {sampling.unit}s"
            )
        census.read_bytes += units.read_bytes
        done += one.size() or units.read_bytes
        sources.append(one if spool is None else replace(one, text=None, batches=spool.read))
    limits, half = choose(censuses, sampling)
    return Sample(
        [_filtered(one, sampling, limits[one.group]) for one in sources],
        sample_report(censuses, limits, sampling),
        [_filtered(one, sampling, half[one.group]) for one in sources],
    )


def choose(
    censuses: Mapping[str, Census], sampling: Sampling
) -> tuple[dict[str, int], dict[str, int]]:
    """Below which range documents are kept, for the sample and for one of half the size."""
    whole: Fraction | None = None if sampling.size is None else Fraction(sampling.size)
    for name, share in sampling.mix.items():  # no group can give more than it has
        most = Fraction(censuses[name].bytes) / share
        if not most:
            raise InputError(f"`mix`: there is no text of {name}")
        whole = most if whole is None else min(whole, most)
    limits, half = {}, {}
    for name, census in censuses.items():
        if whole is None:
            limits[name] = BUCKETS
        else:
            limits[name] = census.limit(int(whole * sampling.mix.get(name, Fraction(1))))
        kept = int(census.sizes[: limits[name]].sum())
        if census.bytes and not kept:
            raise SettingsError(
                f"`sample` is too small: the first {sampling.unit}"
                f"{f' of {name}' if name else ''} is larger; ask for more"
            )
        half[name] = census.limit(kept // 2)
    return limits, half


def sample_report(
    censuses: Mapping[str, Census], limits: Mapping[str, int], sampling: Sampling
) -> SampleReport:
    groups = [
        GroupShare(
            name,
            float(sampling.mix[name]) if name in sampling.mix else None,
            census.read_bytes,
            int(census.documents.sum()),
            int(census.sizes[: limits[name]].sum()),
            int(census.documents[: limits[name]].sum()),
        )
        for name, census in censuses.items()
    ]
    return SampleReport(sampling.unit, sampling.seed, groups, sampling.size, sampling.cap)


# -------------------------------------------------------------------------------------- second pass


class Chosen(Units):
    """Only the documents whose hash is below the limit."""

    def __init__(self, one: TextInput, sampling: Sampling, limit: int) -> None:
        super().__init__(one, sampling)
        self._limit = limit

    def read(self) -> Iterator[Documents]:
        for units in super().read():
            found = below(units, self._sampling, self._limit)
            if len(found.ends):
                yield found


def _filtered(one: TextInput, sampling: Sampling, limit: int) -> TextInput:
    return replace(one, batches=lambda: Chosen(one, sampling, limit), sampled=True)


def below(found: Documents, sampling: Sampling, limit: int) -> Documents:
    """The documents whose hash is in a range below the limit."""
    if limit >= BUCKETS:
        return found
    return _chosen(found, _hashed(found, sampling)[0] < limit)


def _chosen(found: Documents, kept: NDArray[np.bool_]) -> Documents:
    if kept.all():
        return found
    view, ends, sizes = memoryview(found.text).cast("B"), found.ends, found.sizes()
    places = np.flatnonzero(kept)
    each = zip(ends[places].tolist(), sizes[places].tolist(), strict=True)
    return documents_of([view[end - size : end] for end, size in each])


def _can_read_again(one: TextInput) -> bool:
    """A file can; an iterator, stdin or a pipe can't."""
    if one.text is not None:
        return iter(one.text) is not one.text
    return (one.batches is not None and one.path is None) or one.size() is not None


class Spool:
    """Batches of a source that can be read only once, kept in a file that has no name."""

    def __init__(self) -> None:
        self._file = cast(Any, tempfile.TemporaryFile())  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def write(self, found: Documents) -> None:
        if len(found.ends):
            write_array(self._file, found.ends)
            write_array(self._file, np.frombuffer(found.text, np.uint8))

    def read(self) -> Iterator[Documents]:
        at, end = 0, self._file.seek(0, 2)
        while at < end:
            self._file.seek(at)
            ends = np.load(self._file, allow_pickle=False)
            text = np.load(self._file, allow_pickle=False)
            at = self._file.tell()
            yield Documents(text, ends)
