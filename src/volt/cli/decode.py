"""volt decode: tokens or ids back to text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import volt
from volt.base.errors import InputError
from volt.base.options import Settings, choice, one_of, option
from volt.cli.arguments import File, Model, Quiet, Stdin
from volt.cli.command import command
from volt.cli.console import say
from volt.settings import units
from volt.tokenizing.training_files import offsets_path

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class DecodeCommand(Settings, group="Input"):
    form: str = option("tokens", "How ids are written", choice("tokens", "ids", "npy"), flag="as")
    unit: str | None = option(
        None, "What a line of ids stands for: a line, or a whole document with its line ends",
        one_of(units), default_words="as the vocabulary reads text",
    )  # fmt: skip
    skip_special: bool = option(False, "Leave special tokens out.", group="Tokens")


@command("volt decode -m out test.tok -o test.txt")
def decode(model: Model, inputs: Stdin, asked: DecodeCommand, target: File, shown: Quiet) -> None:
    """Decode what `volt encode` wrote."""
    beside = [offsets_path(Path(one)) for one in inputs.files if asked.form == "npy"]
    target.claim(inputs.files, beside, model.file)
    tokenizer = volt.load(model.model)
    decoder = _Decoder(tokenizer, asked.skip_special)
    documents = (asked.unit or tokenizer.vocabulary.rule.reads) == "document"
    if asked.form == "npy":
        lines = _npy_lines(inputs.files)
    else:
        lines = decoder.text_lines(inputs.files, asked.form)

    def write(stream: BinaryIO) -> None:
        block: list[bytes] = []
        for before, ids, after in lines:
            decoded = decoder.decode(ids)
            # The line ends of a document are among its tokens.
            block += [decoded] if documents else [before, decoded, after]
            if len(block) >= 10_000:
                stream.write(b"".join(block))
                block.clear()
        stream.write(b"".join(block))

    target.write(write)
    say(shown.quiet, *decoder.losses())


EncodedLine = tuple[bytes, list[int], bytes]
"""The ids of a line, between the line end that the file before lacks, if any, and its own."""


class _Decoder:
    """Decodes lines and counts what was lost."""

    def __init__(self, tokenizer: volt.Tokenizer, skip_special: bool) -> None:
        self._tokenizer = tokenizer
        self._skip_special = skip_special
        self._unknown = tokenizer.vocabulary.unknown_id
        self._lines = 0
        self._lost = 0
        self._first_lost = 0

    def decode(self, ids: list[int]) -> bytes:
        self._lines += 1
        if self._unknown is not None:
            lost = ids.count(self._unknown)
            if lost and not self._lost:
                self._first_lost = self._lines
            self._lost += lost
        return self._tokenizer.decode(ids, skip_special=self._skip_special).encode()

    def losses(self) -> list[str]:
        if not self._lost:
            return []
        return [f"{self._lost:,} unknown characters were lost, the first in line "
                f"{self._first_lost:,}; they are <unk> in the text"]  # fmt: skip

    def text_lines(self, inputs: Sequence[str], form: str) -> Iterator[EncodedLine]:
        from volt.counting.inputs import find_inputs

        size = len(self._tokenizer)
        tokens = self._tokenizer.printed if form == "tokens" else map(str, range(size))
        id_of = {token.encode(): i for i, token in enumerate(tokens)}
        unfinished = False
        for source in find_inputs(inputs):
            number = 0
            with source.open() as stream:
                for line in stream:
                    number += 1
                    words = line.removesuffix(b"\n").split(b" ")
                    try:
                        ids = [id_of[word] for word in words if word]
                    except KeyError as error:
                        raise InputError(
                            f"{source.name}, line {number}: "
                            f"{error.args[0].decode(errors='replace')!r} is not one of the "
                            f"vocabulary's {form}"
                        ) from None
                    before = b"\n" if unfinished else b""
                    unfinished = not line.endswith(b"\n")
                    yield before, ids, b"" if unfinished else b"\n"


def _npy_lines(names: Sequence[str]) -> Iterator[EncodedLine]:
    for path in map(Path, names):
        ids, offsets = _npy_arrays(path)
        for start in range(0, len(offsets) - 1, 100_000):
            bounds = offsets[start : start + 100_001].tolist()
            if bounds != sorted(bounds):
                raise InputError(f"{offsets_path(path)}: offsets out of order")
            some = ids[bounds[0] : bounds[-1]].tolist()
            for begin, end in pairwise(bounds):
                yield b"", some[begin - bounds[0] : end - bounds[0]], b"\n"


def _npy_arrays(path: Path) -> list[NDArray[Any]]:
    import numpy as np

    arrays = []
    for file, kind in ((path, np.uint32), (offsets_path(path), np.uint64)):
        try:
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror or error}") from error
        except ValueError:  # whose words tell how to load it unsafely
            raise InputError(
                f"{file} is not a NumPy file of numbers as volt encode --as npy writes it"
            ) from None
        if array.ndim != 1 or array.dtype != kind:
            raise InputError(f"{file}: no list of {np.dtype(kind).name}")
        arrays.append(array)
    ids, offsets = arrays
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(ids):
        raise InputError(f"{offsets_path(path)} does not belong to {path}")
    return arrays
