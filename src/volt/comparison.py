"""Vocabularies side by side on one text: volt's own and those of other toolkits.

A file that volt can import is encoded by volt; any other tokenizer.json or .model by its own
library.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from volt.base.errors import InputError, SettingsError, VoltError
from volt.counting.decoding import invalid_utf8
from volt.counting.inputs import Text, find_inputs
from volt.counting.marks import BYTE_LETTERS, LETTER_BYTES
from volt.formats import import_vocabulary
from volt.proposing.tokens import SPELLED
from volt.tokenizing.tokenizer import Tokenizer, load
from volt.tokenizing.vocabulary import Vocabulary

ORDER = 2.5
"""Of the Rényi efficiency (Zouhar et al. 2023), as in the criterion `renyi`."""

Marks = Literal["space before", "end of word", "inside a word", "none"]
"""How tokens of a vocabulary tell where words begin and end."""


@dataclass(frozen=True)
class Compared:
    """One row of the table. Docs: docs/cli.md."""

    name: str
    encoded_by: str
    """`volt`, or the library that had to do it."""
    size: int
    tokens: int
    tokens_per_word: float | None
    bytes_per_token: float | None
    renyi_efficiency: float | None
    entropy_per_character: float | None
    """Nats: token entropy times tokens over characters."""
    single_token_words: float | None
    unknown: float | None
    """Share of the tokens that are `<unk>` or single bytes that spell an unknown character."""
    overlap: float | None
    """Share of its tokens that the first vocabulary has too."""
    messages: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Comparison:
    rows: list[Compared]
    lines: int
    words: int
    characters: int

    def summary(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    vocabularies: Sequence[str | os.PathLike[str]], on: Text | Iterable[Text]
) -> Comparison:
    """Encode the text `on` with each vocabulary: a folder or volt.json of volt's, or any file that
    `volt import` reads, or any tokenizer.json or SentencePiece model."""
    if not vocabularies:
        raise SettingsError("name at least one vocabulary")
    lines = read_lines(on)
    words = Counter(word for line in lines for word in line.split())
    subjects = [open_subject(Path(path)) for path in vocabularies]
    rows = []
    for name, subject in zip(_names(vocabularies), subjects, strict=True):
        row = measure(name, subject, lines, words)
        rows.append(replace(row, overlap=overlap(subjects[0], subject)))
    return Comparison(rows, len(lines), words.total(), sum(map(len, lines)))


def read_lines(on: Text | Iterable[Text]) -> list[str]:
    lines: list[str] = []
    for source in find_inputs(on):
        try:
            with source.open() as stream:
                data = stream.read()
        except OSError as error:
            raise InputError(f"cannot read {source.name}: {error.strerror or error}") from error
        try:
            text = data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise invalid_utf8(source.name, line, error.start, data[error.start], "") from None
        found = text.split("\n")
        lines += [line.removesuffix("\r") for line in (found if found[-1] else found[:-1])]
    if not any(line.split() for line in lines):
        raise InputError("there is not one word in the text: nothing to compare on")
    return lines


def _names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The last part of each path, or as much of it as tells them apart."""
    parts = [Path(path).parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = [str(Path(*part[-length:])) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [os.fspath(path) for path in paths]


def measure(name: str, subject: Subject, lines: list[str], words: Counter[str]) -> Compared:
    """All figures but the overlap."""
    ids = [i for line in subject.encode(lines) for i in line]
    alone = subject.encode([subject.before_word + word for word in words])
    single = sum(count for count, cut in zip(words.values(), alone, strict=True) if len(cut) == 1)
    tokens = len(ids)
    if not tokens:
        raise InputError(f"{name} makes no tokens of the text")
    counts = np.bincount(np.array(ids, np.int64), minlength=subject.size).astype(np.float64)
    shares = counts[counts > 0] / tokens
    entropy = float(-(shares * np.log(shares)).sum())
    characters = sum(map(len, lines))
    renyi = None
    if subject.size > 1:
        renyi = math.log(float((shares**ORDER).sum())) / (1 - ORDER) / math.log(subject.size)
    return Compared(
        name=name,
        encoded_by=subject.encoded_by,
        size=subject.size,
        tokens=tokens,
        tokens_per_word=tokens / words.total(),
        bytes_per_token=sum(len(line.encode()) for line in lines) / tokens,
        renyi_efficiency=renyi,
        entropy_per_character=entropy * tokens / characters,
        single_token_words=single / words.total(),
        unknown=sum(i in subject.unknown for i in ids) / tokens,
        overlap=None,
        messages=subject.messages,
    )


def overlap(first: Subject, other: Subject) -> float | None:
    """With the marks of word ends if both have the same, else without any."""
    if first.marks == other.marks:
        mine, theirs = set(first.texts), set(other.texts)
    else:
        mine, theirs = set(map(_bare, first.texts)), set(map(_bare, other.texts))
    return len(mine & theirs) / len(theirs) if theirs else None


def _bare(text: bytes) -> bytes:
    return text.strip(b" \0")


# ---------------------------------------------------------------------------------------- subjects


@dataclass(frozen=True)
class Subject:
    """A vocabulary, however it is encoded."""

    encoded_by: str
    size: int
    encode: Any
    """Lists of ids for a list of texts."""
    texts: list[bytes]
    """What tokens stand for: a space before a word is a space, the end of a word is NUL."""
    marks: Marks
    unknown: frozenset[int]
    before_word: str = ""
    """What stands before a word inside a line, if the toolkit does not add it."""
    messages: list[str] = field(default_factory=list)


def open_subject(path: Path) -> Subject:
    if not path.exists():
        raise InputError(f"no such file or folder: {path}")
    if path.name == "volt.json" or (path / "volt.json").exists():
        return _from_volt(load(path), [])
    try:
        vocabulary, messages = import_vocabulary(path)
        return _from_volt(Tokenizer(vocabulary), messages)
    except VoltError as error:
        reason = str(error)
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.suffix == ".json" and file.exists():
        return _from_tokenizers(file, reason)
    if file.suffix == ".model":
        return _from_sentencepiece(file, reason)
    raise InputError(reason)


def _from_volt(tokenizer: Tokenizer, messages: list[str]) -> Subject:
    vocabulary = tokenizer.vocabulary
    spelled = {i for i, token in enumerate(vocabulary.tokens) if token.kind == "byte"}
    unknown = vocabulary.unknown_id
    mode = vocabulary.rule.mode
    marks: Marks = "end of word" if mode.loses_spaces else "space before"
    if vocabulary.look_up is not None and vocabulary.look_up.mark:
        marks = "inside a word"
    return Subject(
        encoded_by="volt",
        size=len(vocabulary),
        encode=tokenizer.encode_batch,
        texts=_volt_texts(vocabulary),
        marks=marks,
        unknown=frozenset(spelled if unknown is None else {unknown}),
        before_word=" " if mode.byte_level else "",
        messages=messages,
    )


def _volt_texts(vocabulary: Vocabulary) -> list[bytes]:
    final = vocabulary.rule.pretokenizer == "whitespace"
    return [
        vocabulary.plain_text(text) + (b"\0" if final and text.endswith("</w>") else b"")
        for text in vocabulary.of_kind(*SPELLED)
    ]


def _from_tokenizers(path: Path, reason: str) -> Subject:
    try:
        import tokenizers
    except ImportError:
        raise SettingsError(
            f"volt cannot read {path} itself ({reason}), so this needs the package tokenizers: "
            "pip install 'volt-vocab[hf]'"
        ) from None
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise InputError(f"{path} is no tokenizer.json: {error}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(texts: list[str]) -> list[list[int]]:
        return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]

    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "<unk>")
    spelled = _byte_ids(vocabulary) if getattr(tokenizer.model, "byte_fallback", False) else set()
    texts, marks = _foreign_texts(vocabulary)
    return Subject(
        encoded_by=f"tokenizers {tokenizers.__version__}",
        size=tokenizer.get_vocab_size(with_added_tokens=True),
        encode=encode,
        texts=texts,
        marks=marks,
        unknown=frozenset(spelled | ({unknown} if unknown is not None else set())),
        before_word=" ",
        messages=[f"not read by volt: {reason}"],
    )


def _from_sentencepiece(path: Path, reason: str) -> Subject:
    try:
        import sentencepiece
    except ImportError:
        raise SettingsError(
            f"volt cannot read {path} itself ({reason}), so this needs the package sentencepiece: "
            "pip install 'volt-vocab[sentencepiece]'"
        ) from None
    try:
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except Exception as error:
        raise InputError(f"{path} is no SentencePiece model: {error}") from None
    size = model.get_piece_size()
    plain = {
        model.id_to_piece(i): i
        for i in range(size)
        if not (model.is_control(i) or model.is_unknown(i) or model.is_byte(i))
    }
    texts, _ = _foreign_texts(plain)
    unknown = {i for i in range(size) if model.is_unknown(i) or model.is_byte(i)}
    return Subject(
        encoded_by=f"sentencepiece {sentencepiece.__version__}",
        size=size,
        encode=model.encode,
        texts=texts,
        marks="space before",
        unknown=frozenset(unknown),
        before_word="" if model.encode("a", out_type=str)[0].startswith("▁") else " ",
        messages=[f"not read by volt: {reason}"],
    )


def _byte_ids(vocabulary: dict[str, int]) -> set[int]:
    return {i for text, i in vocabulary.items() if re.fullmatch(r"<0x[0-9A-F]{2}>", text)}


def _foreign_texts(vocabulary: Iterable[str]) -> tuple[list[bytes], Marks]:
    """What tokens stand for, told by the marks they use most."""
    listed = list(vocabulary)
    starts: Counter[str] = Counter()
    for text in listed:
        starts["▁"] += text.startswith("▁")
        starts["Ġ"] += text.startswith("Ġ")
        starts["##"] += text.startswith("##")
        starts["</w>"] += text.endswith("</w>")
    mark, count = max(starts.items(), key=lambda item: item[1], default=("", 0))
    if not count:
        return [text.encode() for text in listed], "none"
    if mark == "Ġ":
        letters = {chr(letter) for letter in BYTE_LETTERS.values()}
        return [
            text.translate(LETTER_BYTES).encode("latin-1") if set(text) <= letters
            else text.encode()
            for text in listed
        ], "space before"  # fmt: skip
    if mark == "▁":
        return [text.replace("▁", " ").encode() for text in listed], "space before"
    if mark == "</w>":
        return [
            text.removesuffix("</w>").encode() + b"\0" * text.endswith("</w>") for text in listed
        ], "end of word"
    return [text.removeprefix("##").encode() for text in listed], "inside a word"
