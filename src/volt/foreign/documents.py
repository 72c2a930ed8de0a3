"""Whole documents, for encoding with tokenizers that read across line ends."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from volt.base.errors import InputError, SettingsError
from volt.base.gate import reading
from volt.counting.counts import COUNTS_HEAD, WordCounts
from volt.counting.decoding import BlockReader, invalid_utf8
from volt.counting.documents import Documents, text_only
from volt.counting.inputs import Text, TextInput, find_inputs
from volt.counting.marks import SPACE_MARK
from volt.counting.objects import Files
from volt.counting.records import RecordOptions
from volt.settings import CountSettings, InputSettings

GROUP = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)

Groups = dict[str, list[str]]
On = Text | Iterable[Text] | Mapping[str, Text | Iterable[Text]]


def read_documents(on: Text | Iterable[Text], settings: InputSettings | None = None) -> list[str]:
    """Every file, record or item is a document, with the line end at its end."""
    settings = settings or InputSettings()
    if settings.input_format in ("counts", "pairs"):
        raise SettingsError("a tokenizer has to see the text itself: word counts are not enough")
    records = RecordOptions.of(settings)
    replace = records.on_invalid == "replace"
    documents: list[str] = []
    for source in find_inputs(on, glob=settings.glob, records=records):
        with reading(source.name):
            batches = source.documents()
            if batches is None:
                with source.open() as stream:
                    found = [stream.read().removeprefix(b"\xef\xbb\xbf")]
            else:
                found = [one for batch in text_only(batches, source.name) for one in batch.split()]
        for data in found:
            try:
                documents.append(data.decode(errors="replace" if replace else "strict"))
            except UnicodeDecodeError as error:
                line = data.count(b"\n", 0, error.start) + 1
                raise invalid_utf8(source.name, line, error.start, data[error.start], "") from None
    return [document for document in documents if document]


def look_at(
    on: WordCounts | Text | Iterable[Text], settings: CountSettings, most: int
) -> tuple[WordCounts | list[TextInput], list[str]]:
    """The inputs, to be read from their start, and the first texts in them: about `most`
    characters. Of word counts these are the words. Text that is not UTF-8 is for the reader to
    refuse."""
    if isinstance(on, WordCounts):
        return on, [word.replace(SPACE_MARK, " ") for word in on.words]
    inputs = find_inputs(
        on, glob=settings.glob, weights=settings.weights, records=RecordOptions.of(settings),
        groups=cast("Mapping[str, float]", settings.mix or {}),
    )  # fmt: skip
    texts: list[str] = []
    for place, source in enumerate(inputs):
        if most <= 0:
            break
        with reading(source.name):
            inputs[place], found = _first_texts(source, most)
        texts += found
        most -= sum(map(len, found))
    return inputs, texts


def _first_texts(source: TextInput, most: int) -> tuple[TextInput, list[str]]:
    """What an input starts with. One that can be read only once gets it back."""
    if source.batches is None and source.text is None:
        stream = source.open_file()
        head = stream.read(most)
        if source.path is not None and source.size() is not None:
            stream.close()
        elif not source.url:
            blocks = chain([head], iter(lambda: stream.read(io.DEFAULT_BUFFER_SIZE), b""))
            again = io.BufferedReader(BlockReader(blocks))
            source = replace(source, stream=cast(BinaryIO, again))
        text = head.decode(errors="replace").removeprefix("\ufeff")
        if head.startswith(COUNTS_HEAD):
            return source, [line.partition("\t")[0] for line in text.split("\n")[1:]]
        return source, [text]
    if source.text is not None and iter(source.text) is source.text:
        kept: list[str] = []
        for one in source.text:
            kept.append(one)
            most -= len(str(one))
            if most <= 0:
                break
        return replace(source, text=chain(kept, source.text)), [*map(str, kept)]
    batches = source.documents()
    assert batches is not None
    taken: list[Documents] = []
    with warnings.catch_warnings():  # what is left out is said when it is read
        warnings.simplefilter("ignore")
        for batch in batches:
            taken.append(batch)
            most -= len(batch.text)
            if most <= 0:
                break
    if source.batches is not None and source.size() is None and (source.path or source.is_stdin):
        rest: Iterator[Documents] = chain(taken, batches)
        source = replace(source, batches=lambda: rest)
    return source, [text.decode(errors="replace") for one in taken for text in one.split()]


def read_groups(on: On, settings: InputSettings | None = None) -> Groups:
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
