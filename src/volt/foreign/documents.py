"""Whole documents, for encoding with tokenizers that read across line ends."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from volt import _core
from volt.base.errors import InputError, SettingsError, VoltWarning
from volt.base.gate import reading
from volt.base.shown import plural
from volt.counting.counts import COUNTS_HEAD, WordCounts
from volt.counting.decoding import BlockReader, OnInvalid, invalid_utf8
from volt.counting.documents import Documents, text_only
from volt.counting.inputs import Text, TextInput, find_inputs
from volt.counting.marks import SPACE_MARK
from volt.counting.objects import Files
from volt.counting.records import RecordOptions
from volt.foreign.checked_text import BLOCK, CheckedText
from volt.settings import CountSettings, TextSettings

GROUP = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)

Groups = dict[str, list[str]]
On = Text | Iterable[Text] | Mapping[str, Text | Iterable[Text]]


def read_documents(on: Text | Iterable[Text], settings: TextSettings | None = None) -> list[str]:
    """Every file, record or item is a document, with the line end at its end."""
    settings = settings or TextSettings()
    if settings.input_format in ("counts", "pairs"):
        raise SettingsError("a tokenizer has to see the text itself: word counts are not enough")
    records = RecordOptions.of(settings)
    documents: list[str] = []
    for source in find_inputs(on, glob=settings.glob, records=records):
        with reading(source.name):
            batches = source.documents()
            if batches is None:
                with source.open() as stream:
                    found = [stream.read().removeprefix(b"\xef\xbb\xbf")]
            else:
                found = [one for batch in text_only(batches, source.name) for one in batch.split()]
        documents += [_decoded(data, source.name, settings.on_invalid) for data in found]
    return [document for document in documents if document]


def _decoded(data: bytes, name: str, on_invalid: OnInvalid) -> str:
    try:
        return data.decode(errors="replace" if on_invalid == "replace" else "strict")
    except UnicodeDecodeError as error:
        if on_invalid == "error":
            line = data.count(b"\n", 0, error.start) + 1
            found = invalid_utf8(name, line, error.start, data[error.start], data=data)
            raise found from None
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
    kept = [line for line in lines if _core.find_invalid_utf8(line) < 0]
    skipped = plural(len(lines) - len(kept), "line")
    warnings.warn(f"{name}: left out {skipped} of invalid UTF-8", VoltWarning, stacklevel=3)
    return b"".join(kept).decode()


def look_at(
    on: WordCounts | Text | Iterable[Text], settings: CountSettings
) -> tuple[WordCounts | list[TextInput], list[str]]:
    """The inputs, to be read from their start, and the texts in them on which encoders are
    compared. Of word counts these are the words. Text that is not UTF-8 is for the reader to
    refuse."""
    if isinstance(on, WordCounts):
        return on, [word.replace(SPACE_MARK, " ") for word in on.words]
    inputs = find_inputs(
        on, glob=settings.glob, weights=settings.weights, records=RecordOptions.of(settings),
        groups=cast("Mapping[str, float]", settings.mix or {}),
    )  # fmt: skip
    some = CheckedText()
    for place, source in enumerate(inputs):
        with reading(source.name):
            inputs[place] = _looked_at(source, some.share(len(inputs) - place), some)
    return inputs, some.texts


def _looked_at(source: TextInput, share: int, some: CheckedText) -> TextInput:
    """An input of which so many characters are taken, and the others glanced at if it can be read
    twice. One that can be read only once gets back what was read."""
    if source.batches is None and source.text is None:
        return _file_looked_at(source, share, some)
    if source.text is not None and iter(source.text) is source.text:
        kept: list[str] = []
        for one in source.text:
            kept.append(one)
            some.take(str(one))
            share -= len(str(one))
            if share <= 0:
                break
        return replace(source, text=chain(kept, source.text))
    batches = source.documents()
    assert batches is not None
    once = source.batches is not None and source.size() is None
    taken: list[Documents] = []
    with warnings.catch_warnings():  # what is left out is said when it is read
        warnings.simplefilter("ignore")
        for batch in batches:
            if share > 0:
                for data in batch.split():
                    text = data.decode(errors="replace")
                    some.take(text[: max(0, share)])
                    share -= len(text)
            if once:
                taken.append(batch)
                if share <= 0:
                    break
            else:
                some.glance(bytes(batch.text).decode(errors="replace"))
    if once and (source.path or source.is_stdin):
        rest: Iterator[Documents] = chain(taken, batches)
        source = replace(source, batches=lambda: rest)
    return source


def _file_looked_at(source: TextInput, share: int, some: CheckedText) -> TextInput:
    stream = source.open_file()
    head = stream.read(share)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = decoder.decode(head).removeprefix("\ufeff")
    if head.startswith(COUNTS_HEAD):
        text = "\n".join(line.partition("\t")[0] for line in text.split("\n")[1:])
    some.take(text)
    if source.path is not None and source.size() is not None:
        with stream:
            while block := stream.read(BLOCK):
                some.glance(decoder.decode(block))
        return source
    if source.url:
        return source
    blocks = chain([head], iter(lambda: stream.read(io.DEFAULT_BUFFER_SIZE), b""))
    again = io.BufferedReader(BlockReader(blocks))
    return replace(source, stream=cast(BinaryIO, again))


def read_groups(on: On, settings: TextSettings | None = None) -> Groups:
    """Documents by kind of text; the name of the only kind is empty if it was not named."""
    named = on if isinstance(on, Mapping) else {"": on}
    groups = {name: read_documents(texts, settings) for name, texts in named.items()}
    for name, documents in groups.items():
        if not any(document.split() for document in documents):
            where = f" of {name}" if name else ""
            raise InputError(f"the text{where} has no words: nothing to compare on")
    return groups


def parse_groups(named: Iterable[str]) -> On:
    """What the command line says: files, or `code=FILE,en=FILE`."""
    listed = list(named)
    if not any(GROUP.fullmatch(one) and not Path(one).exists() for one in listed):
        return Files(listed)
    groups: dict[str, list[str]] = {}
    for one in listed:
        for part in re.split(r",(?=[\w.+-]+=)", one):
            found = GROUP.fullmatch(part)
            if found is None:
                raise SettingsError(f"`on`: {part!r}: name all kinds of text, as in code=FILE")
            groups.setdefault(found[1], []).append(found[2])
    return {name: Files(files) for name, files in groups.items()}
