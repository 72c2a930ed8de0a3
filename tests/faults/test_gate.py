"""Every reader of files that are not trusted, against every rule of the gate (volt.base.gate)."""

import io
import json
import os
import random
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import volt
from volt.adapting.checkpoint import open_checkpoint
from volt.base import gate
from volt.base.errors import InputError
from volt.base.manifest import read_manifest
from volt.counting.records import saved_data_set
from volt.data.archive import extract
from volt.foreign.engine_choice import open_engine
from volt.formats import import_vocabulary
from volt.report.page import load_material, page_data
from volt.tokenizing.chat import read_template

ALL = os.environ.get("VOLT_FAULTS") == "all"
"""Every change of every file, as in `make faults`; otherwise a sample, the same each time."""
TEXT = ["low lower lowest new newer newest wide wider widest"] * 40
SEEDS = Path(__file__).parents[1] / "fuzz" / "corpus" / "readers"
TENSOR = b'{"wte.weight":{"dtype":"F32","shape":[300,1],"data_offsets":[0,1200]}}  '


@pytest.fixture(scope="module")
def result():
    return volt.learn(TEXT, sizes="262:280:2", candidates="bpe:50", threads=1)


def learned(folder: Path, result) -> None:
    result.save(folder, force=True)


def checkpoint(folder: Path, result) -> None:
    folder.mkdir()
    (folder / "config.json").write_text('{"vocab_size": 300}')
    (folder / "generation_config.json").write_text("{}")
    data = struct.pack("<Q", len(TENSOR)) + TENSOR + bytes(1200)
    (folder / "model.safetensors").write_bytes(data)


def seed(name: str, group: str = "") -> Callable[[Path, object], None]:
    def make(folder: Path, result) -> None:
        folder.mkdir()
        (folder / name).write_bytes((SEEDS / f"seed-{group}{name}").read_bytes()[1:])

    return make


def pair(folder: Path, result) -> None:
    folder.mkdir()
    for name in ("vocab.json", "merges.txt"):
        (folder / name).write_bytes((SEEDS / f"seed-{name}").read_bytes()[1:])


def hugging_face(folder: Path, result) -> None:
    volt.export(result.vocabulary, "hf", folder)


def data_set(folder: Path, result) -> None:
    folder.mkdir()
    (folder / "dataset_info.json").write_text("{}")
    (folder / "state.json").write_text('{"_data_files": [{"filename": "a.arrow"}]}')


def template(folder: Path, result) -> None:
    folder.mkdir()
    (folder / "chat.jinja").write_text("{{ messages }}")


def archive(folder: Path, result) -> None:
    folder.mkdir()
    with tarfile.open(folder / "a.tgz", "w:gz") as opened:
        member = tarfile.TarInfo("x")
        member.size = 2
        opened.addfile(member, io.BytesIO(b"a\n"))


READERS: dict[str, tuple[Callable, str, Callable[[Path], object]]] = {
    "volt.json": (learned, "volt.json", volt.load),
    "volt.json for info": (learned, "volt.json", load_material),
    "choices": (learned, "choices.json", load_material),
    "report": (learned, "report.json", load_material),
    "import hf": (hugging_face, "tokenizer.json", import_vocabulary),
    "engine hf": (hugging_face, "tokenizer.json", open_engine),
    "settings beside": (hugging_face, "tokenizer_config.json", open_engine),
    "import settings beside": (hugging_face, "tokenizer_config.json", import_vocabulary),
    "vocab.json": (pair, "vocab.json", lambda f: import_vocabulary(f, "gpt2", "byte-level")),
    "merges.txt": (pair, "merges.txt", lambda f: import_vocabulary(f, "gpt2", "byte-level")),
    "sentencepiece": (seed("x.model"), "x.model", open_engine),
    "tiktoken": (
        seed("x.tiktoken"), "x.tiktoken",
        lambda f: import_vocabulary(f / "x.tiktoken", pattern="byte-level"),
    ),
    "gguf": (seed("a.gguf"), "a.gguf", lambda f: open_engine(f / "a.gguf")),
    "tekken": (seed("tekken.json"), "tekken.json", open_engine),
    "bert": (
        seed("vocab.txt", "foreign-"), "vocab.txt", lambda f: open_engine(f / "vocab.txt")
    ),
    "rwkv": (seed("rwkv.txt", "foreign-"), "rwkv.txt", lambda f: open_engine(f / "rwkv.txt")),
    "codes": (seed("codes"), "codes", lambda f: import_vocabulary(f / "codes")),
    "fairseq": (seed("dict.txt"), "dict.txt", lambda f: import_vocabulary(f / "dict.txt")),
    "marian": (seed("vocab.yml"), "vocab.yml", lambda f: import_vocabulary(f / "vocab.yml")),
    "token list": (seed("words.txt"), "words.txt", lambda f: import_vocabulary(f / "words.txt")),
    "candidates": (
        seed("candidates.tsv"), "candidates.tsv",
        lambda f: volt.load_candidates(f / "candidates.tsv"),
    ),
    "config.json": (checkpoint, "config.json", lambda f: open_checkpoint(f, 290)),
    "generation": (checkpoint, "generation_config.json", lambda f: open_checkpoint(f, 290)),
    "tensors": (checkpoint, "model.safetensors", lambda f: open_checkpoint(f, 290)),
    "data set": (data_set, "state.json", saved_data_set),
    "chat template": (template, "chat.jinja", lambda f: read_template(str(f / "chat.jinja"))),
    "archive": (
        archive, "a.tgz", lambda f: extract(f / "a.tgz", {"x": f / "out"})
    ),
}  # fmt: skip
"""Who makes a folder, the file in it that is exchanged, and who reads the folder."""
JSON = [name for name, (_, file, _) in READERS.items() if file.endswith(".json")]
NAMED = ("tiktoken", "gguf", "bert", "rwkv", "codes", "fairseq", "marian", "token list",
         "candidates", "chat template", "archive")  # fmt: skip
"""Whose file is named by the user, not found in a folder."""


@pytest.fixture(params=READERS)
def reader(request, tmp_path, result):
    make, file, read = READERS[request.param]
    make(tmp_path / "folder", result)
    read(tmp_path / "folder")  # as it is, it is fine
    for path in (tmp_path / "folder").glob("out*"):
        path.unlink()
    return request.param, tmp_path / "folder" / file, lambda: read(tmp_path / "folder")


def test_only_regular_files_are_read(reader):
    name, path, read = reader
    path.unlink()
    os.mkfifo(path)  # nobody writes into it
    if name == "data set":
        assert read() is None  # it is another folder then
        return
    with pytest.raises(InputError, match=r"is a pipe; name a regular file"):
        read()
    path.unlink()
    path.symlink_to("/dev/zero")  # it never ends
    with pytest.raises(InputError, match=r"is a device; name a regular file"):
        read()
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"is a folder; name a regular file|folder"):
        read()


def test_a_link_is_followed_inside_its_folder_only(reader, tmp_path):
    name, path, read = reader
    private = tmp_path / "private"
    path.rename(private)
    path.symlink_to(private)
    if name in NAMED:
        read()
        return
    with pytest.raises(InputError, match=r"is a link to .*private, which is not in its folder"):
        read()
    path.unlink()
    (path.parent / "elsewhere").mkdir()
    private.rename(path.parent / "elsewhere" / "file")
    path.symlink_to("elsewhere/file")
    read()


def test_the_cache_of_a_library_is_a_folder_of_links(tmp_path, result):
    repository = tmp_path / "models--some--one"
    (repository / "snapshots").mkdir(parents=True)
    hugging_face(repository / "snapshots" / "0a1b", result)
    (repository / "blobs").mkdir()
    for path in (repository / "snapshots" / "0a1b").iterdir():
        path.rename(repository / "blobs" / path.name)
        path.symlink_to(f"../../blobs/{path.name}")
    assert open_engine(repository / "snapshots" / "0a1b").engine.encode("low")
    (repository / "blobs" / "tokenizer.json").rename(tmp_path / "private")
    (repository / "blobs" / "tokenizer.json").symlink_to(tmp_path / "private")
    with pytest.raises(InputError, match="which is not in its folder"):
        open_engine(repository / "snapshots" / "0a1b")


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_too_large_is_not_read(name, tmp_path, result):
    """It is sparse: nobody may read four terabytes of zeros to find out."""
    make, file, read = READERS[name]
    make(tmp_path / "folder", result)
    (tmp_path / "folder" / file).write_bytes(b"{")
    try:
        os.truncate(tmp_path / "folder" / file, 1 << 42)
    except OSError:
        pytest.skip("no file of that size on this disk")
    with pytest.raises(InputError, match=r"larger than|cut short|not a safetensors|damaged"):
        read(tmp_path / "folder")


HOSTILE = {
    "a lone surrogate": '{"x": "\\ud800", "size": "\\udc00"}',
    "deep": "[" * 100_000,
    "infinite": '{"size": 1e999}',
    "not a number": '{"size": NaN}',
    "many digits": f'{{"size": {"9" * 5000}}}',
    "a list": "[]",
    "a number": "1",
    "nothing": "",
    "not UTF-8": "\xff",
}


@pytest.mark.parametrize("name", JSON)
def test_json_of_any_shape_is_refused_in_one_way(name, tmp_path, result):
    make, file, read = READERS[name]
    make(tmp_path / "folder", result)
    path = tmp_path / "folder" / file
    whole = path.read_text(encoding="utf-8")
    for what, text in HOSTILE.items():
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(InputError) as raised:
            read(tmp_path / "folder")
        assert str(path) in str(raised.value), what
    changes = list(every_change(json.loads(whole)))
    few = 20 if "engine" in name or "beside" in name else 60
    for other in changes if ALL else random.Random(1).sample(changes, min(few, len(changes))):
        path.write_text(json.dumps(other), encoding="utf-8")
        try:
            found = read(tmp_path / "folder")
        except InputError:
            continue
        if name in ("choices", "report"):
            page_data(found)


def every_change(data):
    """The value with one of its first fields gone, of another type, or out of range."""
    for key in list(data)[:30] if isinstance(data, dict) else range(min(len(data), 2)):
        for other in (None, 2**64, -1, "x", [], {}, [1], [[]], {"a": {}}, 0.5, True):
            yield {**data, key: other} if isinstance(data, dict) else [
                other if i == key else one for i, one in enumerate(data)]  # fmt: skip
        if isinstance(data, dict):
            yield {name: one for name, one in data.items() if name != key}
        if isinstance(data[key], (dict, list)) and data[key]:
            for inner in every_change(data[key]):
                yield {**data, key: inner} if isinstance(data, dict) else [
                    inner if i == key else one for i, one in enumerate(data)]  # fmt: skip


def test_what_is_copied_is_as_private_as_it_was(tmp_path, result):
    checkpoint(tmp_path / "model", result)
    (tmp_path / "model" / "notes.txt").write_text("private")
    (tmp_path / "model" / "notes.txt").chmod(0o600)
    (tmp_path / "target").mkdir()
    open_checkpoint(tmp_path / "model", 290)._copy_others(tmp_path / "target")
    assert (tmp_path / "target" / "notes.txt").stat().st_mode & 0o777 == 0o600
    (tmp_path / "secret").write_text("private")
    (tmp_path / "model" / "README.md").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="which is not in its folder"):
        open_checkpoint(tmp_path / "model", 290)._copy_others(tmp_path / "target")
    assert not (tmp_path / "target" / "README.md").exists()


def test_a_manifest_that_is_no_file_is_none(tmp_path):
    os.mkfifo(tmp_path / ".volt-files.json")
    assert read_manifest(tmp_path) is None


# ------------------------------------------------------------------------------------- expansion


@pytest.mark.parametrize("read", [import_vocabulary, open_engine])
def test_steps_that_double_a_text_forty_times_are_refused(read, tmp_path, result):
    hugging_face(tmp_path / "folder", result)
    path = tmp_path / "folder" / "tokenizer.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    data["normalizer"] = {"type": "Sequence", "normalizers": [step] * 40}
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(volt.VoltError, match="normalizer"):
        read(path)


@pytest.mark.parametrize("kind", [4, 0])
def test_a_gguf_file_that_promises_more_than_it_has_is_refused(kind, tmp_path):
    """The package gguf would count to 2^60."""
    name = b"tokenizer.ggml.token_type"
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(name)) + name
    path = tmp_path / "a.gguf"
    path.write_bytes(head + struct.pack("<IIQ", 9, kind, 1 << 60) + bytes(1000))
    with pytest.raises(InputError, match="items, but the file ends before"):
        open_engine(path, form=None)


def test_a_sparse_member_of_an_archive_is_refused(tmp_path):
    """An archive of two blocks whose member stands for a terabyte of zeros."""
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
    head = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    size = 1 << 40
    head[386:398] = b"%011o\0" % size
    head[398:410] = b"%011o\0" % 0
    head[483:495] = b"\x80" + size.to_bytes(11, "big")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    (tmp_path / "a.tar").write_bytes(bytes(head) + bytes(1024))
    with tarfile.open(tmp_path / "a.tar") as opened:
        assert next(iter(opened)).size == size  # it is what it says
    with pytest.raises(InputError, match=r"'x' stands for 1,099,511,627,776 bytes"):
        extract(tmp_path / "a.tar", {"x": tmp_path / "x"})


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("volt.data.archive.EXPANDED", 1 << 20)
    monkeypatch.setattr("volt.data.archive.MAX_RATIO", 100)
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as opened:
        for name in ("other", "x"):
            member = tarfile.TarInfo(name)
            member.size = 1 << 23
            opened.addfile(member, io.BytesIO(bytes(1 << 23)))
    with pytest.raises(InputError, match=r"'other' stands for 8,388,608 bytes"):
        extract(tmp_path / "a.tgz", {"x": tmp_path / "x"})


def test_a_file_that_grows_beyond_the_limit_while_it_is_read(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"12345")
    monkeypatch.setattr(gate.os, "fstat", lambda number:
                        os.stat_result((0o100644, 0, 0, 1, 0, 0, 3, 0, 0, 0)))  # fmt: skip
    with pytest.raises(InputError, match="larger than 4 bytes"):
        gate.read_bytes(tmp_path / "x", 4)
