"""volt data get: downloads -> text of each side -> splits -> cleaning -> a folder."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from volt.base.drafts import new_draft
from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_folder, check_folder, make_folder
from volt.base.progress import Progress
from volt.counting.inputs import TextInput, find_inputs
from volt.data.archive import extract
from volt.data.clean import cleaned, decoded_lines, paired
from volt.data.datasets import DATASETS, Dataset, Side
from volt.data.download import download
from volt.data.sample import write_sample

NULL = ("__NULL__", "_ _ NULL _ _")
"""What a column of the TED tables has where a translation is missing, or incomplete."""


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
    force: bool = False,
    table: dict[str, Dataset] | None = None,
    progress: Progress | None = None,
) -> GetResult:
    """Fetch a data set and write `SPLIT.LANGUAGE` files into a new folder.

    Downloads are kept in `cache` (by default a folder next to the output), so that a second try
    needs none of them. `languages`: which of the data set's; of TED two, or `*` and one for all
    pairs with that one: then `SPLIT.other` has the text of all others, and `SPLIT.language` says
    line by line which it is. A folder that `get` wrote before is replaced with `force`.
    """
    known = DATASETS if table is None else table
    if name not in known:
        raise SettingsError(f"there is no data set {name!r}; there are {', '.join(known)}")
    dataset = known[name]
    chosen = _languages(name, dataset, languages)
    folder = Path(output)
    check_folder(folder, force=force, holds="text")
    if not dataset.downloads:
        with atomic_folder(folder, force=force, holds="text") as temporary:
            return GetResult(folder, write_sample(temporary, chosen), 0, [])
    # A folder for each data set: files of two have the same name.
    store = (Path(cache) if cache else folder.with_name(folder.name + ".downloads")) / name
    if folder.resolve() in store.resolve().parents:
        raise SettingsError(
            f"{store.parent} is in {folder}, which does not exist yet: name another `cache`"
        )
    messages: list[str] = []
    dropped = 0
    with (
        nullcontext() if cache else _removed_if_empty(store),
        atomic_folder(folder, force=force, holds="text") as temporary,
        new_draft(make_folder(store) / "unpacked", Path.mkdir) as scratch,
        ExitStack() as opened,
    ):
        # 1. Fetch, and read out of archives.
        files = _fetch(dataset, store, scratch, messages, progress)
        # 2. Files to write.
        sides = ("language", "other", chosen[1]) if chosen[0] == "*" else chosen
        splits = [*dataset.splits, *(["valid"] if dataset.held_out_every else [])]
        outputs = {
            split: [
                opened.enter_context((temporary / f"{split}.{one}").open("wb")) for one in sides
            ]
            for split in splits
        }
        # 3. Text, cleaned and cut into splits, row by row.
        lines = dict.fromkeys(splits, 0)
        for split, row in _split_rows(dataset, files, chosen, clean):
            if row is None:
                dropped += 1
                continue
            lines[split] += 1
            for stream, text in zip(outputs[split], row, strict=True):
                stream.write(text.encode() + b"\n")
        for split, number in lines.items():
            if not number:
                raise InputError(f"{name}: no line of {split} has all of {', '.join(chosen)}")
    messages += [f"the paper's pipeline also: {step}" for step in dataset.paper_steps]
    return GetResult(folder, lines, dropped, messages)


@contextmanager
def _removed_if_empty(store: Path) -> Iterator[None]:
    """Where nothing could be fetched, no folders stay for it."""
    try:
        yield
    finally:
        with suppress(OSError):
            store.rmdir()
            store.parent.rmdir()


def _languages(name: str, dataset: Dataset, asked: Sequence[str]) -> tuple[str, ...]:
    chosen = tuple(asked) or dataset.languages
    if len(set(chosen)) != len(chosen):
        raise SettingsError(f"a language is named twice: {', '.join(chosen)}")
    if dataset.languages == ("*",):
        if len(chosen) != 2 or chosen[1] == "*":
            raise SettingsError(
                f"{name} has many languages: `languages` must name two, such as de and en, or * "
                "and en for all pairs with English"
            )
        return chosen
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
    """A function that downloads what is needed and says which file has the text of a side."""
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
            found = download(wanted.address, path, wanted.checksum, progress=progress)
            if wanted.checksum is None and not any(s.sha256 for s in sides if s.download == key):
                messages.append(f"{path.name}: {found}, not verified (no checksum is on record)")
            if key in members:
                extract(path, members[key])
            fetched[key] = path
        return fetched[key]

    def find(side: Side) -> Path:
        path = fetch(side.download)
        return path if side.member is None else members[side.download][side.member]

    return find


def _split_rows(
    dataset: Dataset, find: Callable[[Side], Path], languages: tuple[str, ...], clean: bool
) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Rows with the split they go to; None is one that cleaning leaves out.

    Cleaned, then held out: the order of the paper's scripts for IWSLT.
    """
    pair = len(languages) == 2 and "*" not in languages
    rule = dataset.cleaning if clean and pair else None
    for split, parts in dataset.splits.items():
        rows = (row for part in parts for row in _rows(part, find, languages))
        kept = 0
        for row in cleaned(rows, rule) if split == "train" and rule else rows:
            kept += row is not None
            every = dataset.held_out_every if split == "train" and row is not None else None
            yield ("valid" if every and kept % every == 0 else split), row


def _rows(
    part: tuple[Side, ...], find: Callable[[Side], Path], languages: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    if part[0].form == "columns":
        yield from _column_rows(part[0], find(part[0]), languages)
        return
    sides = {side.language: side for side in part}
    wanted = [sides[language] for language in languages]
    names = [side.member or side.download for side in wanted]
    yield from paired([_side_lines(side, find(side)) for side in wanted], names)


def _side_lines(side: Side, path: Path) -> Iterator[str]:
    source = find_inputs(path)[0]
    if side.sha256 is not None:
        _check_text(source, side.sha256)
    with source.open() as stream:
        for line in decoded_lines(stream, side.member or path.name):
            if side.form == "lines":
                yield line
            elif side.form == "segments":
                if found := _SEGMENT.search(line):
                    yield html.unescape(found[1]).replace("\n", " ").strip()
            elif not _METADATA.search(line):
                yield _TITLE.sub("", line).strip()


def _check_text(source: TextInput, sha256: str) -> None:
    whole = hashlib.sha256()
    try:
        with source.open() as stream:
            for line in stream:
                whole.update(line)
    except InputError as error:
        raise InputError(f"{error}: remove it and try again") from error
    if whole.hexdigest() != sha256:
        raise InputError(
            f"{source.name}: the text has the SHA-256 {whole.hexdigest()}, not {sha256}: remove it "
            "and try again"
        )


_METADATA = re.compile(
    r"<(url|talkid|keywords|speaker|reviewer|translator)\b|</?(doc|reviewer|translator)\b"
)
_TITLE = re.compile(r"</?(title|description)>")
_SEGMENT = re.compile(r"<seg id=\"[^\"]*\">(.*?)</seg>")


def _column_rows(side: Side, path: Path, languages: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Rows of a table with text in both columns. `*` stands for every other language, whose name
    is then the first of the row."""
    name = side.member or path.name
    with path.open("rb") as stream:
        table = (line.split("\t") for line in decoded_lines(stream, name))
        head = next(table, [])
        first, fixed = languages
        missing = [one for one in languages if one != "*" and one not in head[1:]]
        if missing:
            raise SettingsError(f"no language {missing[0]}; there are {', '.join(head[1:])}")
        others = [one for one in head[1:] if one != fixed] if first == "*" else [first]
        at = {language: number for number, language in enumerate(head)}
        for number, row in enumerate(table, 2):
            if len(row) != len(head):
                raise InputError(f"{name}, line {number}: {len(row)} columns of {len(head)}")
            target = row[at[fixed]].strip()
            for one in others:
                source = row[at[one]].strip()
                if source and target and not any(mark in f"{source}\t{target}" for mark in NULL):
                    yield (one, source, target) if first == "*" else (source, target)
