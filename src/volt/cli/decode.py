"""volt decode: tokens or ids back to text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast, get_args

from volt.base.errors import InputError
from volt.base.options import Settings, one_of, option
from volt.base.shown import plural
from volt.cli.arguments import File, ModelOption, Quiet, Stdin
from volt.cli.command import command
from volt.cli.console import say
from volt.settings import TextForm, units
from volt.tokenizing.training_files import offsets_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from volt.tokenizing.detokenizing import DecodeStream
    from volt.tokenizing.tokenizer import Tokenizer

BLOCK = 1 << 20
"""Bytes, or ids, of a line that are decoded at a time."""
LONGEST_TOKEN = 1 << 24
"""Bytes. What is longer is not a token."""
LONGEST_SHOWN = 40
"""Characters of what is not a token, in a message."""


def forms() -> tuple[str, ...]:
    """How ids may be written in what is decoded."""
    return (*get_args(TextForm), "npy")


@dataclass(frozen=True, kw_only=True)
class DecodeCommand(Settings, group="Input"):
    form: str = option("tokens", "How ids are written", one_of(forms), flag="as")
    unit: str | None = option(
        None, "What a line of ids stands for: a line, or a whole document with its line ends",
        one_of(units), default_words="as the vocabulary reads text",
    )  # fmt: skip
    skip_special: bool = option(False, "Leave special tokens out.", group="Tokens")


@command("volt decode -m out test.tok -o test.txt")
def decode(
    model: ModelOption, inputs: Stdin, asked: DecodeCommand, target: File, shown: Quiet
) -> None:
    """Decode what `volt encode` wrote as tokens, ids or NumPy files."""
    beside = [offsets_path(Path(one)) for one in inputs.files if asked.form == "npy"]
    target.claim(inputs.files, beside, model.file)
    decoder = FileDecoder(model.load(), asked)
    target.write(lambda stream: stream.writelines(decoder.blocks(inputs.files)))
    say(shown.quiet, *decoder.losses())


class _Part(NamedTuple):
    """Ids of a line: all of them, or some of a long one."""

    ids: list[int] | NDArray[Any]
    end: bytes | None
    """The line end. Empty at the end of a file that has none there; None: the line goes on."""


class FileDecoder:
    """Decodes files and counts what was lost."""

    def __init__(self, tokenizer: Tokenizer, asked: DecodeCommand) -> None:
        self._tokenizer = tokenizer
        self._form = asked.form
        self._skip_special = asked.skip_special
        self._documents = (asked.unit or tokenizer.vocabulary.rule.reads) == "document"
        self._unknown = tokenizer.vocabulary.unknown_id
        self._lines = 1
        self._lost = 0
        self._first_lost = 0
        self._open = 0
        """Documents that another one follows without a line end between them."""

    def blocks(self, files: Sequence[str]) -> Iterator[bytes]:
        """The text, in blocks that do not grow with the length of a line."""
        parts = _npy_parts(files) if self._form == "npy" else self._text_parts(files)
        block: list[bytes] = []
        size = 0
        for one in self._decoded(parts):
            block.append(one)
            size += len(one)
            if size >= BLOCK:
                yield b"".join(block)
                block.clear()
                size = 0
        yield b"".join(block)

    def _decoded(self, parts: Iterator[_Part]) -> Iterator[bytes]:
        stream: DecodeStream | None = None  # of a line that goes on
        unfinished, begins, last = False, True, "\n"
        for ids, end in parts:
            if begins and not last.endswith("\n"):
                self._open += 1
            begins = end is not None
            if unfinished:  # the file before lacks its last line end
                yield b"\n"
                unfinished = False
            self._see(ids)
            if end is not None and stream is None:
                text = self._tokenizer.decode(ids, skip_special=self._skip_special)
            else:
                stream = stream or self._tokenizer.decode_stream(skip_special=self._skip_special)
                text = stream.push_many(ids)
                if end is not None:
                    text += stream.finish()
                    stream = None
            yield text.encode()
            last = text[-1:] or last
            if end is None:
                continue
            self._lines += 1
            if not self._documents:  # the line ends of a document are among its tokens
                yield end
                unfinished = not end

    def _see(self, ids: list[int] | NDArray[Any]) -> None:
        if self._unknown is None:
            return
        lost = (
            ids.count(self._unknown) if isinstance(ids, list) else int((ids == self._unknown).sum())
        )
        if lost and not self._lost:
            self._first_lost = self._lines
        self._lost += lost

    def losses(self) -> list[str]:
        found = []
        if self._lost:
            found.append(
                f"{self._lost:,} unknown characters were lost, the first in line "
                f"{self._first_lost:,}; they are <unk> in the text"
            )
        if self._documents and self._open:
            found.append(
                f"note: {plural(self._open, 'document')} did not end in a line end, so the next "
                "one begins in the same line; with --unit line every document ends its line"
            )
        return found

    def _text_parts(self, inputs: Sequence[str]) -> Iterator[_Part]:
        from volt.counting.inputs import find_inputs

        written = self._tokenizer.written(cast(TextForm, self._form))
        id_of = {token.encode(): i for i, token in enumerate(written)}
        for source in find_inputs(inputs):
            number = 1
            with source.open() as stream:
                for text, end in _line_parts(stream):
                    try:
                        ids = [id_of[word] for word in text.split(b" ") if word]
                    except KeyError as error:
                        if binary := _binary(text):
                            raise InputError(f"{source.name}: {binary}") from None
                        word, kind = error.args[0], "ids" if self._form == "ids" else "tokens"
                        raise InputError(
                            f"{source.name}, line {number}: "
                            f"{word.decode(errors='replace')[:LONGEST_SHOWN]!r} is not one of the "
                            f"vocabulary's {kind}{_hint(text, self._form)}"
                        ) from None
                    yield _Part(ids, end)
                    number += end is not None


def _binary(line: bytes) -> str:
    """What a file is that is not lines of tokens; empty if it may be."""
    if line.startswith(b"\x93NUMPY"):
        return "this is a NumPy file: --as npy"
    if b"\0" in line:
        return (
            "these are not lines of tokens or ids, but numbers in bytes, as token files for "
            "training have them: Python reads them, as volt encode says when it writes them"
        )
    return ""


def _hint(line: bytes, form: str) -> str:
    """What a line may be that is not of this form."""
    if form != "ids" and line.replace(b" ", b"").isdigit():
        return "; these look like ids: --as ids"
    if form == "tokens" and b"@@ " in line:
        return "; this looks like the notation of subword-nmt: --as subword-nmt"
    return ""


def _line_parts(stream: BinaryIO) -> Iterator[tuple[bytes, bytes | None]]:
    """Lines and their ends. A long line comes in parts, which are cut at a space."""
    rest = b""
    while read := stream.readline(BLOCK):
        text = rest + read
        rest = b""
        if text.endswith(b"\n"):
            yield text[:-1], b"\n"
        elif len(read) < BLOCK:
            yield text, b""
        else:
            cut = text.rfind(b" ") + 1
            text, rest = text[:cut], text[cut:]
            if len(rest) > LONGEST_TOKEN:
                rest, text = b"", text + rest  # it is not one, which is said by who looks it up
            yield text, None
            if not rest and not stream.peek(1):  # type: ignore[attr-defined]
                yield b"", b""
    if rest:
        yield rest, b""


def _npy_parts(names: Sequence[str]) -> Iterator[_Part]:
    for path in map(Path, names):
        ids, offsets = _npy_arrays(path)
        for start in range(0, len(offsets) - 1, 100_000):
            bounds = offsets[start : start + 100_001].tolist()
            if bounds != sorted(bounds):
                raise InputError(f"{offsets_path(path)}: offsets out of order")
            for begin, end in pairwise(bounds):
                last = max(begin, end - 1) // BLOCK * BLOCK if end - begin > BLOCK else begin
                for place in range(begin, last, BLOCK):
                    yield _Part(ids[place : min(place + BLOCK, last)], None)
                yield _Part(ids[last:end], b"\n")


def _npy_arrays(path: Path) -> list[NDArray[Any]]:
    import numpy as np

    arrays = []
    for file, kind in ((path, np.uint32), (offsets_path(path), np.uint64)):
        try:
            if file.exists() and not file.is_file():
                raise ValueError
            array = np.lib.format.open_memmap(file, mode="r")
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror or error}") from error
        except (ValueError, EOFError, SyntaxError, TokenError):  # of a header that is damaged
            raise InputError(
                f"{file} is not a NumPy file of numbers as volt encode --as npy writes it"
            ) from None
        if array.ndim != 1 or array.dtype != kind:
            raise InputError(f"{file}: not a list of {np.dtype(kind).name}")
        arrays.append(np.asarray(array))
    ids, offsets = arrays
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(ids):
        raise InputError(f"{offsets_path(path)} does not belong to {path}")
    return arrays
