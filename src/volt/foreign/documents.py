"""Whole documents, for encoding with tokenizers that read across line ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from volt.base.errors import InputError, SettingsError
from volt.counting.decoding import invalid_utf8
from volt.counting.documents import text_only
from volt.counting.inputs import Text, find_inputs
from volt.counting.objects import Files
from volt.counting.records import RecordOptions
from volt.settings import InputSettings

GROUP = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)

Groups = dict[str, list[str]]
On = Text | Iterable[Text] | Mapping[str, Text | Iterable[Text]]


def read_documents(on: Text | Iterable[Text], settings: InputSettings | None = None) -> list[str]:
    """Every file, record or item is a document, with the line end at its end."""
    settings = settings or InputSettings()
    if settings.input_format in ("counts", "pairs"):
        raise SettingsError("a tokenizer has to see the text itself: word counts won't do")
    records = RecordOptions.of(settings)
    replace = records.on_invalid == "replace"
    documents: list[str] = []
    for source in find_inputs(on, glob=settings.glob, records=records):
        try:
            batches = source.documents()
            if batches is None:
                with source.open() as stream:
                    found = [stream.read().removeprefix(b"\xef\xbb\xbf")]
            else:
                found = [one for batch in text_only(batches, source.name) for one in batch.split()]
        except OSError as error:
            raise InputError(f"cannot read {source.name}: {error.strerror or error}") from error
        for data in found:
            try:
                documents.append(data.decode(errors="replace" if replace else "strict"))
            except UnicodeDecodeError as error:
                line = data.count(b"\n", 0, error.start) + 1
                raise invalid_utf8(source.name, line, error.start, data[error.start], "") from None
    return [document for document in documents if document]


def read_groups(on: On, settings: InputSettings | None = None) -> Groups:
    """Documents by kind of text; the name of the only kind is empty if it was not named."""
    named = on if isinstance(on, Mapping) else {"": on}
    groups = {name: read_documents(texts, settings) for name, texts in named.items()}
    for name, documents in groups.items():
        if not any(document.split() for document in documents):
            where = f" of {name}" if name else ""
            raise InputError(f"there is not one word in the text{where}: nothing to compare on")
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
