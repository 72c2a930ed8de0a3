"""Where text comes from: files, folders, stdin, data sets, Python iterables.

All of them become a `TextInput`: one document that opens as a stream of bytes (a text file), or
batches of whole documents (`Documents`: records, the items of an iterable).
"""

from __future__ import annotations

import fnmatch
import io
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, cast

from volt.base.checks import did_you_mean, nearest_path
from volt.base.errors import ArgumentTypeError, InputError, SettingsError, VoltError, VoltWarning
from volt.base.extras import need
from volt.base.gate import reading
from volt.base.manifest import result_files, some_of, tokenizer_files
from volt.base.shown import plural
from volt.counting.decoding import BlockReader, NextBytes, decompressed
from volt.counting.documents import BATCH, Documents, as_lines, batches_of_strings, bytes_of_some
from volt.counting.objects import (
    BATCH_ROWS,
    Files,
    TableBatches,
    Texts,
    are_names,
    is_word_counts,
    names_file,
    object_batches,
    word_count_batches,
)
from volt.counting.records import (
    AS_NAMED,
    HEAD,
    RecordOptions,
    form_by_content,
    form_by_name,
    saved_data_set,
    tokenizer_by_content,
)
from volt.counting.remote import files_at, is_url, open_url, url_size
from volt.settings import Weight


@dataclass(frozen=True, slots=True)
class TextInput:
    """One input: a name for messages, its weight, and how to open it."""

    name: str
    weight: Fraction
    path: Path | None = None
    text: Iterable[str] | None = None
    normalizer: Callable[[str], str] | None = None
    """Applied to every line or document before its words are counted."""
    batches: Callable[[], Iterator[Documents]] | None = None
    """Opens an input that consists of many documents; `path` and `text` are not read then."""
    url: str = ""
    """Where a remote file is."""
    stream: BinaryIO | None = None
    """What was opened before, and can't be opened twice."""
    group: str = ""
    """The part of a mixture that it belongs to."""
    form: str = ""
    """What a file of records is, such as `jsonl`."""
    records: RecordOptions = AS_NAMED
    sampled: bool = False
    """Are its documents chosen ones?"""
    stretch: tuple[int, int] | None = None
    """The lines that begin between these two bytes of the file; None: all of it."""

    def open(self) -> BinaryIO:
        """The bytes of the text. Compression is recognized by content, never by name."""
        documents = self.documents()
        if documents is not None:
            return cast(BinaryIO, io.BufferedReader(BlockReader(as_lines(documents))))
        return self.open_file()

    def documents(self) -> Iterator[Documents] | None:
        """Batches of its documents; None if it is one document, which opens as a stream."""
        if self.batches is not None:
            return self.batches()
        return None if self.text is None else batches_of_strings(self.text, self.name)

    def open_file(self) -> BinaryIO:
        """The bytes of the file, whatever they are."""
        if self.stream is not None:
            return self.stream
        if self.url:
            return decompressed(open_url(self.url), self.name)
        if self.path is None:
            if sys.stdin is None or sys.stdin.closed:
                raise InputError("stdin is closed: there is nothing to read")
            return decompressed(cast(BinaryIO, sys.stdin.buffer), self.name)
        with reading(self.name):
            file = io.BufferedReader(_SteadyFile(self.path, self.name))
            try:
                if self.stretch:
                    return _stretch(file, *self.stretch)
                return decompressed(file, self.name)
            except OSError:
                file.close()
                raise

    @property
    def is_stdin(self) -> bool:
        return self.path is None and self.text is None and self.batches is None and not self.url

    def size(self) -> int | None:
        """Bytes to read from disk, if that can be known."""
        if self.stretch:
            return self.stretch[1] - self.stretch[0]
        if self.url:
            return url_size(self.url)
        if self.text is not None:
            return None
        with reading(self.name):
            status = self.path.stat() if self.path else None
        return status.st_size if status and stat.S_ISREG(status.st_mode) else None

    def expected(self) -> int | None:
        """Bytes to read, or about as many, if that can be known: what is in memory has a size too.
        For progress."""
        if self.text is not None:
            return bytes_of_some(self.text)
        size = self.size()
        if size is None and self.batches is not None:
            return getattr(self.batches(), "expected", None)
        return size


def total_size(sizes: Iterable[int | None]) -> int | None:
    """Bytes of all inputs together; None if one of their sizes is not known."""
    found = list(sizes)
    return None if None in found else sum(size or 0 for size in found)


Text = Any
"""A path, an iterable of strings, a data set, a column, word counts, `Texts`, `Files`, or an input
that was found before."""


def find_inputs(
    inputs: Text | Iterable[Text],
    *,
    glob: str = "*",
    weights: Iterable[Weight] | Weight | None = None,
    records: RecordOptions = AS_NAMED,
    groups: Collection[str] = (),
) -> list[TextInput]:
    """List the inputs that are given, in order.

    A path is a file, a folder (all files below it that match `glob`, sorted by path; hidden ones
    and, with a warning, results of volt are left out), `-` for stdin, a URL, or
    `hf:DATASET:CONFIG:SPLIT:FIELD`; `path:2.0` has a weight of 2, and `name=path` belongs to the
    group of that name. A string is a path if there is such a file, and text otherwise; a single one
    is always a path. A list or tuple contains several of these, or iterables of strings. Any other
    iterable is text itself.
    """
    items = _items(inputs, groups)
    found: list[TextInput] = []
    for number, (item, weight) in enumerate(
        zip(items, weight_of_each(weights, len(items)), strict=True), 1
    ):
        group, item = _group_of(item, groups)
        for one in _find(item, number, glob, weight, records):
            found.append(replace(one, group=group) if group else one)
    if not found:
        raise InputError("no input: name at least one file, folder, or - for stdin")
    if sum(one.is_stdin for one in found) > 1:
        raise InputError("stdin (-) is named twice; it can be read only once")
    return found


def _items(inputs: Any, groups: Collection[str]) -> list[Any]:
    """The inputs one by one. Strings that follow each other in a list and are text are one."""
    if isinstance(inputs, Mapping) and not is_word_counts(inputs):
        object_batches(inputs, "input", AS_NAMED)  # a data set with splits says so
        if not groups:
            raise InputError(
                "a mapping is word counts, such as {'the': 500}, or texts by name, which need "
                "`mix` or volt.learn_languages"
            )
        return [_Named(name, text) for name, text in inputs.items()]
    if isinstance(inputs, str):
        names_file(inputs, _is_name)  # an error if it only looks like a name
        return [Files([inputs])]
    if not isinstance(inputs, (list, tuple)):
        return [inputs]
    if isinstance(inputs, Files) or groups:
        return [Files([one]) if isinstance(one, str) else one for one in inputs]
    strings = [one for one in inputs if isinstance(one, str)]
    if not strings or are_names(strings, _is_name):
        return [Files([one]) if isinstance(one, str) else one for one in inputs]
    if len(strings) == len(inputs):
        return [Texts(strings)]
    items: list[Any] = []
    for text, some in groupby(inputs, lambda one: isinstance(one, str)):
        alike = list(some)
        items += [Texts(alike)] if text else alike
    return items


@dataclass(frozen=True)
class _Named:
    """A part of a mixture that is given by name."""

    name: str
    text: Any


def _is_name(string: str) -> bool:
    """Does a string name a file that is there, or something that only looks like a name?"""
    return bool(
        is_url(string)
        or string.startswith("hf:")
        or _exists(Path(string))
        or (":" in string and _exists(Path(string.rpartition(":")[0])))
        or re.fullmatch(r"-:[0-9.]+", string)
    )


def _group_of(item: Any, groups: Collection[str]) -> tuple[str, Any]:
    """The group of an input, and the input without its name."""
    if not groups:
        return "", item
    if isinstance(item, Files) and isinstance(item[0], str):
        name, path = split_group(item[0], groups)
        return name, Files([path])
    name, rest = "", item
    if isinstance(item, _Named):
        name, rest = item.name, item.text
    elif isinstance(item, TextInput):
        name = item.group
    if name not in groups:
        raise _no_group(name or type(item).__name__, groups)
    return name, rest


def split_group(named: str, groups: Collection[str]) -> tuple[str, str]:
    """`web=crawl/` is the path `crawl/` of the group `web`."""
    if not groups:
        return "", named
    name, _, path = named.partition("=")
    if name not in groups:
        raise _no_group(named, groups)
    return name, path


def _no_group(shown: str, groups: Collection[str]) -> SettingsError:
    name = shown.partition("=")[0]
    hint = did_you_mean(name, groups, "")
    if "=" in shown and hint:
        hint = f"{hint[:-1]} (in the input, or {name} in `mix`)?"
    else:
        hint = f"; write {next(iter(groups))}=PATH"
    return SettingsError(
        f"`mix` has shares of {', '.join(groups)}; {shown[:200]!r} belongs to none of them{hint}"
    )


def _find(
    item: Any, number: int, glob: str, weight: Fraction | None, records: RecordOptions
) -> Iterator[TextInput]:
    name, heavy = f"text {number}", Fraction(1) if weight is None else weight
    if isinstance(item, TextInput):
        yield item if weight is None else replace(item, weight=weight)
    elif isinstance(item, (str, os.PathLike, Files)):
        for one in item if isinstance(item, Files) else [item]:
            found = _find_path(os.fspath(one), glob, weight)
            if records.form == "auto" and not os.path.isdir(one):  # noqa: PTH112
                _refuse_tokenizers(found)
            yield from _as_records(found, records)
    elif isinstance(item, (list, tuple)) and any(isinstance(one, os.PathLike) for one in item):
        for one in item:
            yield from _find(one, number, glob, weight, records)
    elif is_word_counts(item):
        yield TextInput(name, heavy, batches=lambda: word_count_batches(item, name))
    elif batches := object_batches(item, name, records):
        yield TextInput(name, heavy, batches=batches)
    elif isinstance(item, io.IOBase) and form_by_name(str(named := getattr(item, "name", ""))):
        raise InputError(f"input {number} is an open file of records; give its name: {named!r}")
    elif isinstance(item, Texts):
        yield TextInput(name, heavy, text=item.strings)
    elif isinstance(item, Iterable) and not isinstance(item, Mapping):
        yield TextInput(name, heavy, text=item)
    else:
        raise ArgumentTypeError(
            f"input {number} is a {type(item).__name__}; give paths, or iterables of strings such "
            "as [sentences]; of records, give their texts: [[one['text'] for one in records]]"
        )


def _as_records(found: Iterable[TextInput], records: RecordOptions) -> Iterator[TextInput]:
    """Inputs that are files of records open as batches of documents."""
    for one in found:
        form = _form_of(one, records)
        if form is None:
            yield one
        else:
            batches = partial(open_records, one, form, records)
            yield replace(one, batches=batches, form=form, records=records)


def _refuse_tokenizers(named: Sequence[TextInput]) -> None:
    """An error if a file that was named is a tokenizer: its JSON would be learned as text."""
    for one in named:
        if one.path is None or not one.path.is_file() or one.path.suffix != ".json":
            continue
        with one.open_file() as stream:
            what = tokenizer_by_content(cast(io.BufferedReader, stream).read(HEAD))
        if what:
            raise InputError(
                f"{one.name}: {what}, not text; to read its JSON as text all the same: "
                "`input_format=text`"
            )


def _form_of(one: TextInput, records: RecordOptions) -> str | None:
    """The form of a file of records; None for text and counts files."""
    if records.form in ("text", "counts") or one.text is not None or one.batches is not None:
        return None
    if records.form != "auto":
        return records.form
    named = form_by_name(one.name)
    if named is None or (one.path is None and not one.url):
        return None
    if one.path is not None and not one.path.is_file():
        return named if named != "json" else "jsonl"  # a pipe, which can't be looked into
    with one.open_file() as stream:
        form = form_by_content(named, cast(io.BufferedReader, stream).read(HEAD), records.fields)
    return None if form == "text" else form


def open_records(one: TextInput, form: str, records: RecordOptions) -> Iterator[Documents]:
    from volt.counting.record_readers import RecordFile

    return RecordFile(one, form, records.fields, records.on_invalid)


# ------------------------------------------------------------------------------------------ weights


def weight_of_each(weights: Iterable[Weight] | Weight | None, number: int) -> list[Fraction | None]:
    """A weight per input: one for all, or as many as there are inputs."""
    if weights is None:
        return [None] * number
    if isinstance(weights, (int, float, str, Fraction)):
        weights = [weights]
    found: list[Fraction | None] = [exact_weight(weight) for weight in weights]
    if len(found) == 1:
        found *= number
    if len(found) != number:
        raise SettingsError(
            f"{len(found)} weights for {number} inputs: give one for all, or one per input"
        )
    return found


def weight_in_name(name: str, weight: Fraction | None) -> tuple[str, Fraction]:
    """`corpus.txt:2.0` is `corpus.txt` with a weight of 2."""
    suffix = re.fullmatch(r"(.+):([0-9]+(?:\.[0-9]+)?)", name)
    if suffix is None:
        return name, Fraction(1) if weight is None else weight
    if weight is not None:
        raise SettingsError(
            f"{name} has a weight in its name, and `weights` gives another; use one of them"
        )
    return suffix[1], exact_weight(suffix[2])


def exact_weight(value: Weight) -> Fraction:
    """A weight as it is written: 0.1 is one tenth, not the nearest binary fraction."""
    try:
        if re.search(r"[eE][+-]?[0-9_]{3}", str(value)):
            raise ValueError("an exponent that takes long to spell out")
        weight = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise SettingsError(f"a weight is a number such as 2 or 0.5, not {value!r}") from None
    if not 0 < weight <= 10**9 or weight.denominator > 10**9:
        raise SettingsError(f"a weight must be above 0, with at most nine digits, not {value!r}")
    return weight


# -------------------------------------------------------------------------------- files and folders


def _find_path(name: str, glob: str, weight: Fraction | None) -> list[TextInput]:
    if not name:  # an unset shell variable, which must not mean the current folder
        raise InputError("an input has an empty name; the current folder is .")
    path = Path(name)
    if _exists(path):
        weight = Fraction(1) if weight is None else weight
    elif name.startswith("hf:"):
        return [_data_set(name, weight)]
    else:
        named, weight = weight_in_name(name, weight)
        if is_url(named):
            return _find_urls(named, glob, weight)
        path = Path(named)
    if str(path) == "-":
        return [TextInput("stdin", weight)]
    if not _exists(path):
        hint = "; if it is text, say so: volt.Texts([...])" if re.search(r"\s", name) else ""
        parts = name.split(",")
        files = [part.partition("=")[2] for part in parts]
        if all(one and _exists(Path(one)) for one in files):
            shown = " ".join(files)[:200]
            raise InputError(
                f"{name[:200]}: inputs have no names here: write {shown}. Names are for `mix` "
                "of learn and count, which gives their shares"
            )
        if all(part and _exists(Path(part)) for part in parts):
            hint = f"; separate files by spaces: {' '.join(parts)[:200]}"
        raise InputError(f"no such file: {name[:200]}{hint or nearest_path(path)}")
    if not path.is_dir():
        return [TextInput(str(path), weight, path=path)]
    if (saved := saved_data_set(path)) is not None:
        return [TextInput(str(file), weight, path=file) for file in saved]
    skipped: dict[str, list[str]] = {whose: [] for whose in NOT_TEXT}
    try:
        matches = _matcher(path, glob)
        names = sorted(filter(matches, _files_below(path, skipped)))
    except (ValueError, NotImplementedError) as error:
        raise SettingsError(f"`glob` {glob!r}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
    for whose, files in skipped.items():
        files = sorted(filter(matches, files))
        if files:
            number = plural(len(files), "file")
            warnings.warn(
                f"{path}: skipped {number} {whose}, not text: {some_of(files)}",
                VoltWarning,
                stacklevel=2,
            )
    if not names:
        if glob == "*" and any(skipped.values()):
            raise InputError(f"{path} has no text: all of its files are those of a vocabulary")
        other = "other " if any(skipped.values()) else ""
        raise InputError(f"no {other}file below {path} matches {glob!r}")
    return [TextInput(str(file), weight, path=file) for file in map(path.joinpath, names)]


def _find_urls(url: str, glob: str, weight: Fraction) -> list[TextInput]:
    """A remote file, or those of a folder."""
    urls, folder = files_at(url)
    if folder:
        urls = [one for one in urls if fnmatch.fnmatchcase(one.rpartition("/")[2], glob)]
    if not urls:
        raise InputError(f"no file below {url} matches {glob!r}")
    return [TextInput(one, weight, url=one) for one in urls]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a text that is too long for a name
        return False


NOT_TEXT = {"that volt wrote": result_files, "of a tokenizer": tokenizer_files}
"""What is skipped in a folder, and what finds it."""


def _files_below(folder: Path, skipped: Mapping[str, list[str]]) -> Iterator[str]:
    """Paths of the files in a folder, relative to it, in any order, without hidden ones. What is
    not text goes to `skipped`. Links to folders are not followed. A folder that can't be read is
    an error, because nobody would notice that its files are missing."""
    inner = [""]
    kinds: dict[str, list[str]] = {}
    while inner:
        below = inner.pop()
        for whose, find in NOT_TEXT.items():
            for name in find(folder / below):
                kinds.setdefault(below + name, skipped[whose])
        with os.scandir(folder / below) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    inner.append(f"{below}{entry.name}/")
                elif below + entry.name in kinds:
                    kinds[below + entry.name].append(below + entry.name)
                elif os.path.isfile(entry) if entry.is_symlink() else entry.is_file():  # noqa: PTH113
                    yield below + entry.name


def _matcher(folder: Path, glob: str) -> Callable[[str], object]:
    """Does `rglob` find a file below the folder? A plain pattern is about the file's own name."""
    if "/" in glob or not glob:
        return {file.relative_to(folder).as_posix() for file in folder.rglob(glob)}.__contains__
    matches = re.compile(fnmatch.translate(glob)).match
    return lambda name: matches(name.rpartition("/")[2])


class _SteadyFile(io.FileIO):
    """A file that must not change while it is read: half of a file that is still being written is
    not a corpus. A pipe is read to its end; an endless device is refused."""

    def __init__(self, path: Path, name: str) -> None:
        mode = path.stat().st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not path.samefile(os.devnull)):
            with path.open("rb") as device:
                if not device.isatty():
                    raise InputError(f"{name}: a device, which may never end; name a file")
        super().__init__(path, "rb")
        self._name = name
        self._opened = self._status()

    def _status(self) -> tuple[int, int] | None:
        status = os.fstat(self.fileno())
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def readinto(self, buffer: Any) -> int | None:
        got = super().readinto(buffer)
        if not got and self._status() != self._opened:
            raise InputError(
                f"{self._name}: the file changed while it was read; wait until it is complete"
            )
        return got


def _stretch(stream: io.BufferedReader[Any], start: int, end: int) -> BinaryIO:
    """The lines that begin between two places of a file."""

    def line_start(at: int) -> int:
        if at == 0:
            return 0
        stream.seek(at - 1)
        while (block := stream.readline(BATCH)) and not block.endswith(b"\n"):
            pass
        return stream.tell()

    first, last = line_start(start), line_start(end)
    stream.seek(first)
    return cast(BinaryIO, io.BufferedReader(NextBytes(cast(BinaryIO, stream), last - first)))


# ---------------------------------------------------------------------- data sets of Hugging Face


def _data_set(name: str, weight: Fraction | None) -> TextInput:
    """`hf:DATASET:CONFIG:SPLIT:FIELD`, with or without a weight after it."""
    address = name
    if name.count(":") > 4:
        address, weight = weight_in_name(name, weight)
    parts = address.removeprefix("hf:").rsplit(":", 3)
    if len(parts) != 4 or not (parts[0] and parts[2] and parts[3]):
        raise InputError(
            f"{name}: a data set is named hf:DATASET:CONFIG:SPLIT:FIELD; CONFIG may be empty, and "
            "a FIELD inside another is written translation.de"
        )
    dataset, configuration, split, field = parts

    def tables() -> Iterator[Any]:
        try:
            rows = need("datasets", "datasets").load_dataset(
                dataset, configuration or None, split=split, streaming=True
            )
            yield from rows.with_format("arrow").iter(BATCH_ROWS)
        except VoltError:
            raise
        except Exception as error:  # the library raises exceptions of many kinds
            raise InputError(f"{name}: {error}") from error

    options = RecordOptions(fields=(field,))
    batches = partial(TableBatches, name, options, tables)
    return TextInput(name, weight or Fraction(1), batches=batches, records=options)
