"""Token files that training programs read: ids one after the other, with an eos after each
document, and where documents end.

The ids grow in a hidden folder beside the output, which is deleted if the run fails. With `resume`
the folder is `OUT.partial`, which stays, and has a journal that is replaced after every part of the
input: the next run with `resume` goes on after the last part (unfinished.py).
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.arguments import names_arguments
from volt.base.checks import check_choice
from volt.base.drafts import place_files
from volt.base.errors import InputError, SettingsError
from volt.base.output import claim, write_file
from volt.base.progress import Progress, Report
from volt.base.registry import Registry
from volt.counting.inputs import Text, TextInput, total_size
from volt.counting.shards import pieces_of
from volt.settings import EncodeSettings
from volt.tokenizing.feeding import find_texts
from volt.tokenizing.unfinished import (
    Journal,
    Partial,
    check_kept,
    complete,
    done_path,
    forget_done,
    growing,
    has_done,
)

if TYPE_CHECKING:
    from volt.tokenizing.tokenizer import Tokenizer

TOKEN_BYTES = "token_bytes.npy"
NPY_HEADER = 128
MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
MEGATRON_CODES = {"uint16": 8, "int32": 4}
MEGATRON_UINT16 = 65500
"""Megatron takes 16 bits for vocabularies below this size."""


@dataclass(frozen=True)
class Encoded:
    """What was written."""

    files: list[Path]
    tokens: int
    documents: int
    dtype: str
    eos: int | None
    """The id after each document."""
    kept: int = 0
    """Documents that a run before had done, with `resume`."""
    complete: bool = False
    """Had a run before done everything?"""


@dataclass(frozen=True)
class TrainingForm:
    """A kind of token file."""

    name: str
    description: str
    ends: bool
    """Does an eos follow every document, if the vocabulary has one?"""
    dtype: Callable[[int], str]
    """By the size of the vocabulary."""
    files: Callable[[Path], list[Path]]
    """The ids first, then the others."""
    others: Callable[[Encoded, NDArray[np.uint64]], list[bytes]]
    """The content of the other files, from the ends of the documents."""
    reader: Callable[[Encoded], str]
    """The call that reads it in Python."""
    header: int = 0
    """Bytes before the ids."""
    head: Callable[[Encoded], bytes] = lambda found: b""


# -------------------------------------------------------------------------------------------- kinds


def _small(size: int) -> str:
    return "uint16" if size <= 1 << 16 else "uint32"


def npy_header(kind: str, length: int) -> bytes:
    """Format 1.0 (numpy.lib.format): magic, length, a dictionary; 128 bytes in all."""
    about = {"descr": kind, "fortran_order": False, "shape": (length,)}
    text = f"{about}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def offsets_path(path: Path) -> Path:
    """`ids.npy` has its offsets in `ids.offsets.npy`."""
    return path.with_name(f"{path.name.removesuffix('.npy')}.offsets.npy")


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _offsets(found: Encoded, ends: NDArray[np.uint64]) -> list[bytes]:
    return [npy_header("<u8", len(ends) + 1) + bytes(8) + ends.tobytes()]


def _about(found: Encoded, ends: NDArray[np.uint64]) -> list[bytes]:
    """What a file of bare ids does not say."""
    about = {"dtype": found.dtype, "tokens": found.tokens, "documents": found.documents,
             "eos": found.eos}  # fmt: skip
    return [(json.dumps(about) + "\n").encode()]


def _megatron_paths(path: Path) -> list[Path]:
    stem = path.name.removesuffix(".bin")
    return [path.with_name(stem + ".bin"), path.with_name(stem + ".idx")]


def _megatron_index(found: Encoded, ends: NDArray[np.uint64]) -> list[bytes]:
    lengths = np.diff(ends, prepend=np.uint64(0))
    if len(lengths) and int(lengths.max()) >= 1 << 31:
        raise InputError("Megatron stores lengths in 32 bits: a document is longer than that")
    starts = (ends - lengths).astype("<i8") * np.dtype(found.dtype).itemsize
    head = MEGATRON_MAGIC + struct.pack("<QB", 1, MEGATRON_CODES[found.dtype])
    head += struct.pack("<QQ", len(ends), len(ends) + 1)
    places = np.arange(len(ends) + 1, dtype="<i8")
    return [head + lengths.astype("<i4").tobytes() + starts.tobytes() + places.tobytes()]


def _datatrove_paths(path: Path) -> list[Path]:
    path = path if path.suffix == ".ds" else _beside(path, ".ds")
    return [path, _beside(path, ".index"), _beside(path, ".metadata")]


def _datatrove_files(found: Encoded, ends: NDArray[np.uint64]) -> list[bytes]:
    size = np.dtype(found.dtype).itemsize
    about = f"volt|{size}\n{found.tokens}\n{found.tokens:,} T"
    return [ends.astype("<u8").tobytes(), about.encode()]


TRAINING_FORMS: Registry[TrainingForm] = Registry(
    "kind of token file",
    [
        TrainingForm(
            "npy", "NumPy: `X.npy` with all ids, `X.offsets.npy` with where texts begin",
            False, lambda size: "uint32", lambda path: [path, offsets_path(path)], _offsets,
            lambda found: f"numpy.load({str(found.files[0])!r})",
            NPY_HEADER, lambda found: npy_header("<u4", found.tokens),
        ),
        TrainingForm(
            "bin", "bare ids in 16 or 32 bits, as nanoGPT reads them; `X.json` says which",
            True, _small, lambda path: [path, _beside(path, ".json")], _about,
            lambda found: f"numpy.memmap({str(found.files[0])!r}, {found.dtype!r}, 'r')",
        ),
        TrainingForm(
            "megatron", "`X.bin` and `X.idx`, Megatron's `IndexedDataset`",
            True, lambda size: "uint16" if size < MEGATRON_UINT16 else "int32",
            _megatron_paths, _megatron_index,
            lambda found: "megatron.core.datasets.indexed_dataset.IndexedDataset("
            f"{str(found.files[0]).removesuffix('.bin')!r})",
        ),
        TrainingForm(
            "datatrove", "`X.ds`, `X.ds.index` and `X.ds.metadata` of datatrove",
            True, _small, _datatrove_paths, _datatrove_files,
            lambda found: "datatrove.utils.dataset.DatatroveFileDataset("
            f"{str(found.files[0])!r}, 1024, token_size={np.dtype(found.dtype).itemsize})",
        ),
    ],
)  # fmt: skip


# -------------------------------------------------------------------------------------------- write


@names_arguments
def encode_to_files(
    tokenizer: Tokenizer,
    inputs: Text | Iterable[Text],
    path: str | os.PathLike[str],
    form: str = "bin",
    *,
    document_eos: bool | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Encoded:
    """Write token files for training: `bin` (nanoGPT), `megatron` or `datatrove`, and beside them
    `token_bytes.npy`, the bytes of text that each token stands for; or `npy`, the bare ids.

    An eos follows every document, unless `document_eos` is False, and documents without a token are
    left out. `npy` has every document, no eos (`document_eos=True` is an error) and no
    `token_bytes.npy`. With `resume`, what is done is kept if the run is stopped, and the next run
    with `resume` goes on after the last file that was finished, or inside one after its last piece:
    64 MiB of lines or JSON Lines, or a row group of Parquet. Other options are those of
    `Tokenizer.encode_to_arrays`. What a run has kept is deleted only with `force`. With `resume`,
    files that are complete stay as they are.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = encode_to_files(tokenizer, [["low", "low low"]], f"{folder}/train.bin")
    ...     np.fromfile(f"{folder}/train.bin", found.dtype).tolist()
    [272, 2, 272, 272, 2]
    """
    check_choice("form", form, TRAINING_FORMS)
    kind = TRAINING_FORMS[form]
    files = kind.files(Path(path))
    settings = EncodeSettings(**options)
    sources = find_texts(inputs, settings)
    lengths = files[0].with_name(TOKEN_BYTES)
    table = _token_bytes(tokenizer)
    new_table = kind.ends and not _has(lengths, table)
    if new_table and lengths.is_file() and not force:
        raise SettingsError(
            f"{lengths} exists, with the bytes of another vocabulary's tokens; write into another "
            "folder: `force=True` would leave the files of that vocabulary without it"
        )
    real = Path(os.path.realpath(files[0]))  # a link stays one
    reads = settings.unit or tokenizer.vocabulary.rule.reads
    # Dropout is drawn by the number of the line in all of the text.
    parts = (
        [sources] if settings.dropout
        else [[one] for source in sources for one in pieces_of(source, reads == "line")]
    )  # fmt: skip
    dtype = kind.dtype(len(tokenizer))
    eos = _eos(tokenizer, kind, document_eos)
    asked = (form, eos, sorted(options.items(), key=str))
    begun = Journal.of(tokenizer.vocabulary, sources, len(parts), asked) if resume else Journal()
    named = [*files, *([lengths] if kind.ends else [])]
    if not force:
        check_kept(real, begun if resume else None)
        if resume and (known := complete(files, begun)):
            return Encoded(
                named, known.tokens, known.documents, dtype, eos, known.documents, complete=True
            )
    mine = [lengths] if new_table else []
    mine += [done_path(files[0])] if resume and not has_done(files[0]) else []
    claim(*files, *mine, inputs=[inputs], force=force)
    if real.parent.stat().st_dev != lengths.parent.stat().st_dev:
        raise SettingsError(f"{files[0]} is a link to another disk: name the file that it leads to")
    itemsize = np.dtype(dtype).itemsize
    with growing(real, resume, begun, itemsize, kind.header) as partial:
        kept = partial.done.documents
        with _one_stage(progress, parts, partial.done.parts) as inner:
            options["progress"] = inner
            _encode_parts(tokenizer, parts, partial, dtype, eos, kind, options)
        ends = np.fromfile(partial.ends, "<u8")
        done = partial.done
        found = Encoded(named, done.tokens, done.documents, dtype, eos, kept)
        _place(partial, kind, found, ends, table if new_table else None, resume)
    return found


def _eos(tokenizer: Tokenizer, kind: TrainingForm, wanted: bool | None) -> int | None:
    """The id to put after every document."""
    if wanted and not kind.ends:
        raise SettingsError(f"`{kind.name}` has no eos after documents: leave `document_eos` out")
    if wanted is False or not kind.ends:
        return None
    name = tokenizer.vocabulary.role("eos")
    if name is None:
        raise SettingsError(
            "the vocabulary has no eos to put after documents: learn with `eos`, or use "
            "`document_eos=False`"
        )
    return tokenizer.vocabulary.ids[name]


def _encode_parts(
    tokenizer: Tokenizer,
    parts: list[list[TextInput]],
    partial: Partial,
    dtype: str,
    eos: int | None,
    kind: TrainingForm,
    options: dict[str, Any],
) -> None:
    with partial.ids.open("ab", buffering=0) as ids, partial.ends.open("ab") as ends:
        for number in range(partial.done.parts, len(parts)):
            start = partial.done
            taken = last = documents = tokens = 0  # of this part
            for some, stops in tokenizer.encode_to_arrays(parts[number], **options):
                places = stops.astype(np.int64)
                if kind.ends:  # documents without a token are left out
                    kept = places[np.diff(places, prepend=last) > 0]
                    last = int(places[-1]) if len(places) else last
                    places = kept
                block = with_eos(some, places - taken, eos, dtype)
                taken += len(some)
                if eos is not None:
                    places = places + np.arange(documents + 1, documents + 1 + len(places))
                ids.write(block.data)
                ends.write((places + start.tokens).astype("<u8").tobytes())
                documents += len(places)
                tokens += len(block)
            ends.flush()
            done = replace(
                start, parts=number + 1, tokens=start.tokens + tokens,
                documents=start.documents + documents,
            )  # fmt: skip
            if number + 1 < len(parts):
                partial.save(done)
            partial.done = done


@contextmanager
def _one_stage(
    progress: Progress | None, parts: list[list[TextInput]], done: int
) -> Iterator[Progress]:
    """One bar for all parts."""
    sources = [one for part in parts for one in part]
    before = [one.expected() or 0 for part in parts[:done] for one in part]
    whole = total_size(one.expected() for one in sources)
    with (progress or Progress()).stage("Encoding", whole, "B") as report:
        yield _Inner(report, sum(before))


class _Inner(Progress):
    """The progress of one part, reported as that of all of them."""

    def __init__(self, report: Report, done: int) -> None:
        self._report, self._done = report, done
        self._notes: list[str] = []

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Report]:
        amount, told = 0, ""

        def report(done: int, note: str = "") -> None:
            nonlocal amount, told
            amount, told = done, note
            self._report(self._done + done, _added([*self._notes, note]))

        yield report
        self._done += amount if total is None else total
        self._notes = [_added([*self._notes, told])]


def _added(notes: list[str]) -> str:
    """`3 lines` and `4 lines` are `7 lines`."""
    numbers = [note.partition(" ") for note in notes if note]
    total = sum(int(number.replace(",", "")) for number, _, _ in numbers)
    return f"{total:,} {numbers[-1][2]}" if numbers else ""


def with_eos(
    ids: NDArray[np.uint32], stops: NDArray[np.int64], eos: int | None, dtype: str
) -> NDArray[Any]:
    """The ids in another kind of number, with an eos before each of the places."""
    if eos is None or not len(stops):
        return ids.astype(dtype, copy=False)
    block = np.empty(len(ids) + len(stops), dtype)
    _core.put_ends(ids, stops, eos, block)
    return block


def _place(
    partial: Partial,
    kind: TrainingForm,
    found: Encoded,
    ends: NDArray[np.uint64],
    table: bytes | None,
    resume: bool,
) -> None:
    """Give the finished files their names, all of them or none."""
    with partial.ids.open("r+b") as stream:
        stream.write(kind.head(found))
        stream.flush()
        os.fsync(stream.fileno())
    others = [*kind.others(found, ends), *([] if table is None else [table])]
    drafts = [(partial.ids, found.files[0])]
    for number, (data, target) in enumerate(zip(others, found.files[1:], strict=False)):
        draft = partial.folder / f"ends.{number}"
        write_file(draft, data)
        drafts.append((draft, target))
    if resume:
        drafts.append((partial.write_done(), done_path(found.files[0])))
    else:  # what it says is of files that will be gone
        forget_done(found.files[0])
    partial.finish()
    place_files([(draft, Path(os.path.realpath(target))) for draft, target in drafts])


# ---------------------------------------------------------------------------------- bytes of tokens


def token_lengths(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """Bytes of text that each token stands for, 0 for special tokens; in whitespace text with the
    space after a word. A loss per token divided by these is a loss per byte."""
    decoder = tokenizer._decoder
    found = np.array([len(piece) for piece in decoder.pieces], np.int32)
    found[list(decoder.special)] = 0
    if tokenizer.vocabulary.rule.mode.loses_spaces:
        found += np.array(decoder.final, np.int32)
    return found


def _token_bytes(tokenizer: Tokenizer) -> bytes:
    found = token_lengths(tokenizer)
    return npy_header("<i4", len(found)) + found.astype("<i4").tobytes()


def _has(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False
