"""Every reader of files on any bytes: it reads them or raises a VoltError, nothing else.

    python tests/fuzz/readers.py [LIBFUZZER OPTION...] FOLDER    # fuzz, with atheris
    VOLT_FUZZ=records python tests/fuzz/readers.py ...           # one group of GROUPS
    VOLT_FUZZ=a.jsonl,a.csv python tests/fuzz/readers.py ...     # some of the readers

The first byte of an input is the reader, the rest the file. `run` is also what the regression test
calls, without atheris.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from unittest import mock

if __name__ == "__main__":
    import atheris

    with atheris.instrument_imports(include=["volt"]):
        import volt.foreign.engine_choice
        import volt.formats

import volt
from volt import reference
from volt.adapting.checkpoint import read_header
from volt.base.errors import VoltError, VoltWarning
from volt.cli.decode import DecodeCommand, FileDecoder
from volt.counting.decoding import Cleaner
from volt.counting.reading import Reader, feed_text
from volt.counting.words import PRETOKENIZERS, WordRule
from volt.foreign.engine_choice import open_engine
from volt.formats import import_vocabulary
from volt.report.page import load_material, page_data
from volt.tokenizing import compiled as cache

SEEDS = Path(__file__).parent / "corpus" / "readers"
BYTE_LEVEL = [name for name, mode in PRETOKENIZERS.items() if mode.byte_level]
MOST = 1 << 14
"""Bytes of a file: enough for every branch, and small enough to be fast."""


def load(path: Path) -> None:
    tokenizer = volt.load(path, threads=1)
    tokenizer.decode(tokenizer.encode("the low ▁ 日本\n"))


def candidates(path: Path) -> None:
    assert len(volt.load_candidates(path).curve.tokens)


def counts(path: Path) -> None:
    volt.count(path, input_format="counts", threads=1)


def text(path: Path) -> None:
    volt.count(path, threads=1, on_invalid="replace", normalize="nfkc", max_types=50)


def imported(form: str | None, pattern: str | None = None) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        vocabulary, _ = import_vocabulary(path, form, pattern)
        tokenizer = volt.Tokenizer(vocabulary, threads=1)
        tokenizer.decode(tokenizer.encode("the low ▁ 日本\n"))

    return read


def gpt2(path: Path) -> None:
    """vocab.json or merges.txt, beside a good one of the other."""
    for name in {"vocab.json", "merges.txt"} - {path.name}:
        (path.parent / name).write_bytes((SEEDS / f"seed-{name}").read_bytes()[1:])
    import_vocabulary(path.parent, "gpt2", "byte-level")


def compiled(path: Path) -> None:
    """The cache beside a good volt.json: what comes after its two checksums, which are right."""
    known = (SEEDS / "seed-volt.json").read_bytes()[1:]
    path.with_name("volt.json").write_bytes(known)
    rest = hashlib.sha256(known).digest() + path.read_bytes()
    path.write_bytes(cache.MAGIC + hashlib.sha256(rest).digest() + rest)
    with mock.patch.object(cache, "__version__", "any"):
        load(path.with_name("volt.json"))


def engine(path: Path) -> None:
    """A tokenizer of any toolkit, run by its own library."""
    opened = open_engine(path, native=False, pattern="byte-level")
    opened.engine.decode(opened.engine.encode_batch(["the low ▁ 日本\n"])[0])


def beside_files(**others: str) -> Callable[[Path], None]:
    """One file of a folder that is a tokenizer, beside good ones: their names and seeds."""

    def read(path: Path) -> None:
        for name, seed in others.items():
            good = (SEEDS / f"seed-{seed}").read_bytes()[1:]
            (path.parent / name.replace("_", ".")).write_bytes(good)
        engine(path.parent)

    return read


def encoded(form: str) -> Callable[[Path], None]:
    """What `volt decode` reads, as it decodes it."""

    def read(path: Path) -> None:
        path.with_name("volt.json").write_bytes((SEEDS / "seed-volt.json").read_bytes()[1:])
        for name in {"ids.npy", "ids.offsets.npy"} - {path.name} if form == "npy" else ():
            path.with_name(name).write_bytes((SEEDS / f"seed-encoded-{name}").read_bytes()[1:])
        given = path.with_name("ids.npy") if form == "npy" else path
        tokenizer = volt.load(path.with_name("volt.json"))
        b"".join(FileDecoder(tokenizer, DecodeCommand(form=form)).blocks([str(given)]))

    return read


def beside(path: Path) -> None:
    """Settings beside a good tokenizer.json."""
    good = (SEEDS / "seed-tokenizer.json").read_bytes()[1:]
    (path.parent / "tokenizer.json").write_bytes(good)
    try:
        engine(path.parent)
    finally:
        (path.parent / "tokenizer.json").unlink()


def report(path: Path) -> None:
    """report.json or choices.json beside a good vocabulary."""
    (path.parent / "volt.json").write_bytes((SEEDS / "seed-volt.json").read_bytes()[1:])
    try:
        page_data(load_material(path.parent))
    finally:
        (path.parent / "volt.json").unlink()
        path.unlink()


def records(path: Path) -> None:
    """What can be read without a complaint is the same whatever is done with bad records."""
    options = {"threads": 1, "pretokenizer": "byte-level"}
    found = {}
    for on_invalid in ("error", "replace", "skip-line"):
        try:
            counted = volt.count(path, on_invalid=on_invalid, **options)
        except VoltError as error:
            found[on_invalid] = error
        else:
            found[on_invalid] = counted.digest()
    if isinstance(found["error"], VoltError):
        raise found["error"]
    assert len(set(found.values())) == 1
    volt.count(path, sample="500", document_cap=9, **options)


def documents(path: Path) -> None:
    """A file of text is one document, however it is cut into blocks, and its words are those of the
    slow twin. The first byte chooses the pre-tokenizer, the second the size of a block."""
    data = path.read_bytes()
    text = data[2:].decode(errors="replace")
    name = BYTE_LEVEL[data[0] % len(BYTE_LEVEL)] if data else BYTE_LEVEL[0]
    rule = WordRule(name, max_word_length=5)
    block = 8 + (data[1] if len(data) > 1 else 0)
    reader = Reader("the text", rule, Cleaner(), 1, bytearray(block), block)
    counter = rule.counter(1)
    feed_text(reader, io.BufferedReader(io.BytesIO(text.encode())), counter, lambda _: None)
    words, offsets, counts = counter.finish(1)
    found = {words.tobytes()[a:b].decode(): int(count) for (a, b), count
             in zip(pairwise(offsets.tolist()), counts, strict=True)}  # fmt: skip
    assert found == reference.words.count_words([text.removeprefix("\ufeff")], name, 5)


READERS: dict[str, Callable[[Path], None]] = {
    "volt.json": load,
    "candidates.tsv": candidates,
    "counts.tsv": counts,
    "text": text,
    "tokenizer.json": imported("hf"),
    "x.model": imported("sentencepiece"),
    "codes": imported("subword-nmt"),
    "vocab.json": gpt2,
    "merges.txt": gpt2,
    "x.tiktoken": imported("tiktoken", "byte-level"),
    "dict.txt": imported("fairseq"),
    "vocab.yml": imported("marian"),
    "words.txt": imported("text"),
    "anything": imported(None),
    "volt.cache": compiled,
    "engine": engine,
    "a.gguf": engine,
    "tekken.json": engine,
    "tokenizer_config.json": beside,
    "added_tokens.json": beside,
    "choices.json": report,
    "report.json": report,
    "x.safetensors": read_header,
    "a.jsonl": records,
    "a.json": records,
    "a.csv": records,
    "a.tsv": records,
    "a.parquet": records,
    "a.arrow": records,
    "document": documents,
    "foreign/x.model": engine,
    "foreign/x.tiktoken": engine,
    "foreign/vocab.txt": engine,
    "foreign/rwkv.txt": engine,
    "foreign/vocab.json": beside_files(merges_txt="merges.txt"),
    "foreign/merges.txt": beside_files(vocab_json="vocab.json"),
    "marian/vocab.json": beside_files(source_spm="x.model"),
    "encoded/ids.txt": encoded("ids"),
    "encoded/tokens.txt": encoded("tokens"),
    "encoded/ids.npy": encoded("npy"),
    "encoded/ids.offsets.npy": encoded("npy"),
}
"""By the name that the file is given. New ones come last: inputs begin with the number."""

GROUPS = {
    "readers": list(READERS),
    "records": [name for name, read in READERS.items() if read in (records, documents)],
    "caches": ["volt.cache", "volt.json"],
    "encoded": [name for name in READERS if name.startswith("encoded/")],
    "engines": [
        name for name in READERS
        if name in ("engine", "a.gguf", "tekken.json", "tokenizer_config.json", "added_tokens.json")
        or name.startswith(("foreign/", "marian/"))
    ],
}  # fmt: skip
"""Readers that are fuzzed by themselves, with `make fuzz-NAME`."""


def chosen() -> list[str]:
    """The readers that are asked for, all unless VOLT_FUZZ says otherwise."""
    asked = os.environ.get("VOLT_FUZZ", "readers")
    return GROUPS.get(asked) or asked.split(",")


def reader_of(data: bytes, names: list[str]) -> str:
    """An input is for the same reader in every run that has it, and for some reader in others."""
    number = data[0] if data else 0
    own = list(READERS)[number % len(READERS)]
    return own if own in names else names[number % len(names)]


def run(data: bytes, folder: Path, names: list[str] = GROUPS["readers"]) -> str:
    """Give the file to its reader. Returns the message if it is refused."""
    name = reader_of(data, names)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data[1:MOST])
    read = READERS[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VoltWarning)  # about records that are left out
            read(path)
    except VoltError as error:
        return str(error)
    return ""


def main() -> None:
    names = chosen()

    def fuzz(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(data, Path(folder), names)

    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
