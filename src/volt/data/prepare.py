"""volt data get: downloads -> text of each side -> splits -> cleaning -> a folder."""

from __future__ import annotations

import csv
import hashlib
import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from volt.corpus import find_sources
from volt.data.archive import extract
from volt.data.clean import cleaned, decoded
from volt.data.download import download
from volt.data.table import DATASETS, Dataset, Side
from volt.errors import InputError, SettingsError
from volt.files import atomic_folder, atomic_write, make_folder
from volt.progress import Progress

NULL = "__NULL__"
"""A column of the TED tables that has no translation."""


@dataclass(frozen=True)
class GetResult:
    folder: Path
    lines: dict[str, int]
    """Pairs of each split."""
    dropped: int
    """Pairs that cleaning left out."""
    messages: list[str]


def get(
    name: str,
    output: str | Path,
    *,
    languages: Sequence[str] = (),
    cache: str | Path | None = None,
    clean: bool = True,
    table: dict[str, Dataset] | None = None,
    progress: Progress | None = None,
) -> GetResult:
    """Fetch a data set and write `SPLIT.LANGUAGE` files into a new folder.

    Downloads are kept in `cache` (by default a folder beside the output), so that a second try
    needs none of them. `languages`: which of the data set's; of TED two, or `*` and one for all
    pairs with that one.
    """
    known = DATASETS if table is None else table
    if name not in known:
        raise SettingsError(f"there is no data set {name!r}; there are {', '.join(known)}")
    dataset = known[name]
    chosen = _languages(name, dataset, languages)
    folder = Path(output)
    store = Path(cache) if cache else folder.with_name(folder.name + ".downloads")
    if folder.exists():
        raise SettingsError(f"{folder} exists; name another folder, or remove it")
    messages: list[str] = []
    with atomic_folder(folder) as temporary, TemporaryDirectory(dir=make_folder(store)) as scratch:
        # 1. Fetch, and read out of archives.
        files = _fetch(dataset, store, Path(scratch), messages, progress)
        # 2. Text of every split.
        many = chosen[0] == "*"
        rows: dict[str, list[tuple[str, ...]]] = {}
        for split, parts in dataset.splits.items():
            rows[split] = [row for part in parts for row in _rows(part, files, chosen)]
        if many:
            chosen = ("other", chosen[1])
        # 3. Clean, then hold out: the order of the paper's scripts for IWSLT.
        dropped = 0
        if clean and dataset.cleaning:
            rows["train"], dropped = _cleaned(rows["train"], dataset)
        if dataset.held_out_every:
            every = dataset.held_out_every
            rows["valid"] = rows["train"][every - 1 :: every]
            rows["train"] = [row for i, row in enumerate(rows["train"], 1) if i % every]
        # 4. Write.
        for split, lines in rows.items():
            if not lines:
                raise InputError(f"{name}: no line of {split} has all of {', '.join(chosen)}")
            for number, language in enumerate(chosen):
                text = "".join(row[number] + "\n" for row in lines)
                with atomic_write(temporary / f"{split}.{language}") as stream:
                    stream.write(text.encode())
    messages += [f"the paper's pipeline also: {step}" for step in dataset.paper_steps]
    return GetResult(
        folder, {split: len(lines) for split, lines in rows.items()}, dropped, messages
    )


def _languages(name: str, dataset: Dataset, asked: Sequence[str]) -> tuple[str, ...]:
    if dataset.languages == ("*",):
        if len(asked) != 2:
            raise SettingsError(
                f"{name} has many languages: name two (--languages de,en), or *,en for all pairs "
                "with English"
            )
        return tuple(asked)
    chosen = tuple(asked) or dataset.languages
    unknown = [one for one in chosen if one not in dataset.languages]
    if unknown or len(chosen) < 2:
        raise SettingsError(
            f"{name} has {', '.join(dataset.languages)}: name two or more of these, not "
            f"{', '.join(chosen)}"
        )
    return chosen


def _fetch(
    dataset: Dataset,
    store: Path,
    scratch: Path,
    messages: list[str],
    progress: Progress | None,
) -> Callable[[Side], Path]:
    """Where the text of a side lies, once its download is there."""
    fetched: dict[str, Path] = {}
    members: dict[str, dict[str, Path]] = {}
    sides = [side for parts in dataset.splits.values() for part in parts for side in part]
    for side in sides:
        if side.member is not None:
            place = scratch / hashlib.sha256(f"{side.download}/{side.member}".encode()).hexdigest()
            members.setdefault(side.download, {})[side.member] = place

    def fetch(key: str) -> Path:
        if key not in fetched:
            wanted = dataset.downloads[key]
            path = store / wanted.address.rpartition("/")[2]
            found = download(wanted.address, path, wanted.sha256, progress=progress)
            if wanted.sha256 is None and not any(s.sha256 for s in sides if s.download == key):
                messages.append(f"{path.name}: SHA-256 {found}, not verified (none is on record)")
            if key in members:
                extract(path, members[key])
            fetched[key] = path
        return fetched[key]

    def find(side: Side) -> Path:
        path = fetch(side.download)
        return path if side.member is None else members[side.download][side.member]

    return find


def _rows(
    part: tuple[Side, ...], find: Callable[[Side], Path], languages: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    if part[0].form == "columns":
        yield from _column_rows(find(part[0]), languages)
        return
    sides = {side.language: side for side in part}
    texts = [_side_lines(sides[language], find(sides[language])) for language in languages]
    for language, text in zip(languages, texts, strict=True):
        if len(text) != len(texts[0]):
            raise InputError(
                f"{part[0].member or part[0].download}: {len(texts[0]):,} lines in {languages[0]}, "
                f"{len(text):,} in {language}: the data are not what they were"
            )
    yield from zip(*texts, strict=True)


def _side_lines(side: Side, path: Path) -> list[str]:
    with find_sources(path)[0].open() as stream:
        data = stream.read()
    name = side.member or path.name
    if side.sha256 is not None:
        found = hashlib.sha256(data).hexdigest()
        if found != side.sha256:
            raise InputError(
                f"{name}: the text has the SHA-256 {found}, not {side.sha256}: remove {path} and "
                "try again"
            )
    lines = list(decoded(data.removesuffix(b"\n").split(b"\n") if data else [], name))
    if side.form == "tagged":
        return [_TITLE.sub("", line).strip() for line in lines if not _METADATA.search(line)]
    if side.form == "segments":
        found_segments = (_SEGMENT.search(line) for line in lines)
        return [html.unescape(one[1]).strip() for one in found_segments if one]
    return lines


_METADATA = re.compile(
    r"<(url|talkid|keywords|speaker|reviewer|translator)\b|</?(doc|reviewer|translator)\b"
)
_TITLE = re.compile(r"</?(title|description)>")
_SEGMENT = re.compile(r"<seg id=\"[^\"]*\">(.*?)</seg>")


def _column_rows(path: Path, languages: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Rows of a table with text in both columns; `*` stands for every other language."""
    with path.open(encoding="utf-8", newline="") as stream:
        table = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        head = next(table, [])
        _, fixed = languages
        missing = [one for one in languages if one != "*" and one not in head]
        if missing:
            raise SettingsError(f"no language {missing[0]}; there are {', '.join(head[1:])}")
        others = (
            [one for one in head[1:] if one != fixed] if languages[0] == "*" else [languages[0]]
        )
        at = {language: number for number, language in enumerate(head)}
        for row in table:
            if len(row) != len(head):
                raise InputError(
                    f"{path.name}, line {table.line_num}: {len(row)} columns of {len(head)}"
                )
            target = row[at[fixed]].strip()
            for one in others:
                source = row[at[one]].strip()
                if source and target and NULL not in (source, target):
                    # Which language it is, is the model's business: the text has no tag.
                    yield (source, target)


def _cleaned(rows: list[tuple[str, ...]], dataset: Dataset) -> tuple[list[tuple[str, ...]], int]:
    rule = dataset.cleaning
    if rule is None or any(len(row) != 2 for row in rows[:1]):
        return rows, 0
    pairs = [(row[0], row[1]) for row in rows]
    kept: list[tuple[str, ...]] = [
        pair
        for pair in cleaned(pairs, minimum=rule.minimum, maximum=rule.maximum, ratio=rule.ratio)
        if pair is not None
    ]
    return kept, len(rows) - len(kept)
