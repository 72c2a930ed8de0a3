"""Token files: what training programs read is what was encoded, also after a kill."""

import json
from functools import lru_cache

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import reference
from volt.base.errors import InputError, SettingsError
from volt.cli.encode import kept_lines
from volt.counting import shards
from volt.tokenizing import unfinished
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.training_files import TRAINING_FORMS, encode_to_files, token_lengths, with_eos

LINES = ["low lower lowest", "", "slow 日本", "new", "", "widest newest low"] * 40
FORMS = ["bin", "megatron", "datatrove"]


@lru_cache
def tokenizer(pretokenizer="byte-level", **options):
    found = volt.candidates([LINES], pretokenizer=pretokenizer)
    return volt.Tokenizer(build_vocabulary(found, range(len(found)), **options), threads=2)


def expected(tok, texts, eos=True):
    """The ids of the documents that have tokens."""
    documents = [tok.encode(text) for text in texts]
    return [ids + [tok.special_ids["</s>"]] * eos for ids in documents if ids]


def read_bin(folder):
    about = json.loads((folder / "x.bin.json").read_text())
    ids = np.fromfile(folder / "x.bin", about["dtype"])
    assert about["tokens"] == len(ids)
    ends = np.flatnonzero(ids == about["eos"]) + 1
    return [part.tolist() for part in np.split(ids, ends)[:-1]]


def read_megatron(folder):
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    found = indexed.IndexedDataset(str(folder / "x"))
    assert np.array_equal(found.document_indices, np.arange(len(found) + 1))
    return [found[i].tolist() for i in range(len(found))]


def read_datatrove(folder):
    dataset = pytest.importorskip("datatrove.utils.dataset")
    size = int((folder / "x.ds.metadata").read_text().split("\n")[0].partition("|")[2])
    ends = np.fromfile(folder / "x.ds.index", "<u8").tolist()
    ids = []
    windows = dataset.DatatroveFileDataset(str(folder / "x.ds"), 1, token_size=size)
    for i in range(len(windows)):
        ids += windows[i]["input_ids"].tolist()
    ids += np.fromfile(folder / "x.ds", f"<u{size}")[len(ids) :].tolist()
    return [part.tolist() for part in np.split(np.array(ids), ends)[:-1]]


def plain_megatron(folder):
    """As the format is described, without Megatron."""
    data = (folder / "x.idx").read_bytes()
    assert data[:9] == b"MMIDIDX\x00\x00"
    assert data[9:17] == (1).to_bytes(8, "little")
    dtype = {8: "<u2", 4: "<i4"}[data[17]]
    size, documents = np.frombuffer(data[18:34], "<u8").tolist()
    assert documents == size + 1
    lengths = np.frombuffer(data, "<i4", size, 34)
    starts = np.frombuffer(data, "<i8", size, 34 + 4 * size)
    assert np.frombuffer(data, "<i8", documents, 34 + 12 * size).tolist() == list(range(documents))
    ids = np.fromfile(folder / "x.bin", dtype)
    size = np.dtype(dtype).itemsize
    return [
        ids[start // size : start // size + length].tolist()
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    ]


READERS = {
    "bin": [read_bin], "megatron": [plain_megatron, read_megatron], "datatrove": [read_datatrove],
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "reader"), [(form, one) for form in FORMS for one in READERS[form]]
)
@pytest.mark.parametrize(
    ("pretokenizer", "unit"),
    [("byte-level", None), ("byte-level", "line"), ("metaspace", None), ("whitespace", None)],
)
def test_what_is_read_is_what_was_encoded(form, reader, pretokenizer, unit, tmp_path):
    """A byte-level vocabulary reads whole files, line ends and all, unless it is told otherwise."""
    tok = tokenizer(pretokenizer)
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    more = tmp_path / "more.txt"
    more.write_text("low\n\nnew\n")
    found = encode_to_files(tok, [file, more], tmp_path / READERS_PATH[form], form, unit=unit)
    if pretokenizer == "byte-level" and unit is None:
        documents = expected(tok, ["\n".join(LINES), "low\n\nnew\n"])
    else:
        documents = expected(tok, [*LINES, "low", "new"])
    assert reader(tmp_path) == documents
    assert found.documents == len(documents)
    assert found.tokens == sum(map(len, documents))
    assert not list(tmp_path.glob("*.partial"))
    lengths = np.load(tmp_path / "token_bytes.npy", allow_pickle=False)
    assert lengths.tolist() == token_lengths(tok).tolist()


READERS_PATH = {"bin": "x.bin", "megatron": "x", "datatrove": "x"}


@pytest.mark.parametrize("form", ["npy", *FORMS])
def test_the_call_that_is_printed_reads_it(form, tmp_path):
    tok = tokenizer()
    found = encode_to_files(tok, [[*LINES] * 10], tmp_path / "x", form)
    call = TRAINING_FORMS[form].reader(found)
    module = call.partition("(")[0].rpartition(".")[0]
    pytest.importorskip(module)
    read = eval(call, {module.partition(".")[0]: __import__(module)})
    if form == "datatrove":
        read = [read[i]["input_ids"] for i in range(len(read))]
    if form in ("megatron", "datatrove"):
        read = np.concatenate([read[i] for i in range(len(read))])
    ids = [one for ids in expected(tok, LINES * 10, eos=form != "npy") for one in ids]
    assert len(read) > 1000
    assert read.tolist() == ids[: len(read)]


def test_bytes_of_tokens_add_up_to_the_text():
    for pretokenizer in ("byte-level", "metaspace", "whitespace"):
        tok = tokenizer(pretokenizer)
        lengths = token_lengths(tok)
        assert lengths[list(tok.special_ids.values())].sum() == (
            0 if tok.vocabulary.unknown_id is None else len("<unk>")
        )
        text = "low slow newest"
        added = 0 if pretokenizer == "byte-level" else 1  # a space before, or after the last word
        assert lengths[tok.encode(text)].sum() == len(text.encode()) + added


def test_wide_ids_where_16_bits_are_too_few():
    kinds = {name: form.dtype for name, form in TRAINING_FORMS.items()}
    assert kinds["bin"](1 << 16) == kinds["datatrove"](1 << 16) == "uint16"
    assert kinds["bin"]((1 << 16) + 1) == "uint32"
    assert (kinds["megatron"](65499), kinds["megatron"](65500)) == ("uint16", "int32")


@given(st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=6), st.integers(0, 3))
def test_an_eos_before_each_place(documents, rest):
    ids = np.array([i for some in documents for i in some] + [5] * rest, np.uint32)
    stops = np.cumsum([len(some) for some in documents], dtype=np.int64)
    for kind in ("uint16", "uint32", "int32"):
        found = with_eos(ids, stops, 0, kind)
        assert found.dtype == kind
        assert found.tolist() == reference.token_files.with_eos(ids.tolist(), stops.tolist(), 0)
    assert found.tolist() == [i for some in documents for i in [*some, 0]] + [5] * rest


def test_an_eos_is_not_left_out_of_npy_silently(tmp_path):
    with pytest.raises(SettingsError, match="`npy` has no eos after documents"):
        encode_to_files(
            tokenizer("metaspace"), [["low"]], tmp_path / "x.npy", "npy", document_eos=True
        )
    assert list(tmp_path.iterdir()) == []


class Killed(BaseException):
    pass


@pytest.mark.parametrize("form", [*FORMS, "npy"])
@pytest.mark.parametrize(
    ("pretokenizer", "number", "end"),
    [("metaspace", 1, "txt"), ("byte-level", 12, "txt"), ("byte-level", 1, "jsonl"),
     ("byte-level", 1, "parquet")],
    ids=["lines", "files", "jsonl", "parquet"],
)  # fmt: skip
def test_a_run_that_was_killed_goes_on(form, pretokenizer, number, end, tmp_path, monkeypatch):
    """After a piece of a file, or after a file if files are read as a whole."""
    monkeypatch.setattr(shards, "PIECE", 200)
    tok = tokenizer(pretokenizer)
    texts = [tmp_path / f"{i}.{end}" for i in range(number)]
    for i, text in enumerate(texts):
        if end == "parquet":
            table = pyarrow.table({"text": LINES[i:]})
            pyarrow.parquet.write_table(table, text, row_group_size=max(1, len(LINES) // 8))
            continue
        lines = LINES[i:] if end == "txt" else [json.dumps({"text": one}) for one in LINES[i:]]
        text.write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "whole").mkdir()
    (tmp_path / "x").mkdir()
    whole = encode_to_files(tok, texts, tmp_path / "whole" / "x", form)
    parts = 0
    save = unfinished.Partial.save

    def killed(self, journal):
        nonlocal parts
        save(self, journal)
        parts += 1
        if parts in (2, 4):
            raise Killed

    monkeypatch.setattr(unfinished.Partial, "save", killed)
    for _ in range(2):
        with pytest.raises(Killed):
            encode_to_files(tok, texts, tmp_path / "x" / "x", form, resume=True)
        with (next((tmp_path / "x").glob("*.partial")) / "ids").open("ab") as stream:
            stream.write(b"what was written after the last entry of the journal")
    found = encode_to_files(tok, texts, tmp_path / "x" / "x", form, resume=True)
    assert found.tokens == whole.tokens
    assert parts > 5
    for one, other in zip(whole.files, found.files, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert not list((tmp_path / "x").glob("*.partial"))


def test_another_task_is_not_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "PIECE", 200)
    tok = tokenizer("metaspace")
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    killed_after_a_part(monkeypatch, tok, file, tmp_path / "x.bin", resume=True)
    assert (tmp_path / "x.bin.partial" / "journal.json").is_file()
    file.write_text("\n".join(LINES[:9]), encoding="utf-8")
    kept = (tmp_path / "x.bin.partial" / "journal.json").read_bytes()
    with pytest.raises(
        SettingsError, match=r"run \(\d.* of .* so far\) with other inputs: use the"
    ):
        encode_to_files(tok, file, tmp_path / "x.bin", resume=True)
    with pytest.raises(SettingsError, match="with other vocabulary and inputs and options"):
        encode_to_files(tokenizer(), file, tmp_path / "x.bin", resume=True, unit="line")
    assert (tmp_path / "x.bin.partial" / "journal.json").read_bytes() == kept
    encode_to_files(tok, file, tmp_path / "x.bin", resume=True, force=True)
    assert read_bin(tmp_path) == expected(tok, LINES[:9])
    assert not (tmp_path / "x.bin.partial").exists()


def test_what_is_kept_is_told_with_the_command_that_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "PIECE", 200)
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    killed_after_a_part(monkeypatch, tokenizer("metaspace"), file, tmp_path / "x.bin", resume=True)
    monkeypatch.setattr("sys.argv", ["/usr/bin/volt", "encode", "a b.txt", "--resume"])
    (said,) = kept_lines(str(tmp_path / "x.bin"))
    assert said.startswith(f"kept in {tmp_path / 'x.bin.partial'}: ")
    assert said.endswith("; go on: volt encode 'a b.txt' --resume")
    assert kept_lines(str(tmp_path / "y.bin")) == [
        "nothing is kept: the first piece was not complete yet"
    ]


def test_what_is_complete_needs_no_second_run(tmp_path):
    """The same call can be repeated until it succeeds."""
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    tok, path = tokenizer("metaspace"), tmp_path / "x.bin"
    first = encode_to_files(tok, file, path, resume=True)
    before = path.stat().st_mtime_ns
    again = encode_to_files(tok, file, path, resume=True)
    assert (again.complete, again.tokens, again.kept) == (True, first.tokens, first.documents)
    assert path.stat().st_mtime_ns == before
    with pytest.raises(SettingsError, match="is complete, but was made with other options: name"):
        encode_to_files(tok, file, path, resume=True, document_eos=False)
    file.write_text("other", encoding="utf-8")
    with pytest.raises(SettingsError, match="is complete, but was made with other inputs: name"):
        encode_to_files(tok, file, path, resume=True)
    encode_to_files(tok, file, path, force=True)
    assert not (tmp_path / "x.bin.done").exists()
    with pytest.raises(SettingsError, match="exists, and nothing says that it was made of these"):
        encode_to_files(tok, file, path, resume=True)
    (tmp_path / "y.bin.done").write_text("mine")
    with pytest.raises(SettingsError, match=r"y\.bin\.done exists"):
        encode_to_files(tok, file, tmp_path / "y.bin", resume=True)


def killed_after_a_part(monkeypatch, tok, file, path, **options):
    save = unfinished.Partial.save

    def killed(self, journal):
        save(self, journal)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(unfinished.Partial, "save", killed)
        with pytest.raises(Killed):
            encode_to_files(tok, file, path, **options)


def test_what_was_done_before_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "PIECE", 200)
    tok = tokenizer("metaspace")
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    killed_after_a_part(monkeypatch, tok, file, tmp_path / "x.bin", resume=True)
    journal = json.loads((tmp_path / "x.bin.partial" / "journal.json").read_text())
    assert journal["documents"] > 0
    found = encode_to_files(tok, file, tmp_path / "x.bin", resume=True)
    assert found.kept == journal["documents"] < found.documents
    assert encode_to_files(tok, file, tmp_path / "y.bin").kept == 0


def test_what_is_kept_is_what_resume_kept(tmp_path, monkeypatch):
    """A run without it leaves nothing, does not delete what another kept unless it is told to, and
    then only after it succeeded."""
    monkeypatch.setattr(shards, "PIECE", 200)
    tok = tokenizer("metaspace")
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    killed_after_a_part(monkeypatch, tok, file, tmp_path / "x.bin")
    assert list(tmp_path.iterdir()) == [file]
    killed_after_a_part(monkeypatch, tok, file, tmp_path / "x.bin", resume=True)
    kept = tmp_path / "x.bin.partial"
    journal = (kept / "journal.json").read_bytes()
    with pytest.raises(
        SettingsError, match=r"unfinished run .*: go on with it by `resume`, or start"
    ):
        encode_to_files(tok, file, tmp_path / "x.bin")
    killed_after_a_part(monkeypatch, tok, file, tmp_path / "x.bin", force=True)
    assert (kept / "journal.json").read_bytes() == journal
    assert set(tmp_path.iterdir()) == {file, kept}
    encode_to_files(tok, file, tmp_path / "x.bin", force=True)
    assert read_bin(tmp_path) == expected(tok, LINES)
    assert not kept.exists()


def test_a_folder_that_lost_its_ids_is_not_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "PIECE", 200)
    tok = tokenizer("metaspace")
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    for name in ("ids", "ends"):
        killed_after_a_part(monkeypatch, tok, file, tmp_path / "x.bin", resume=True)
        (tmp_path / "x.bin.partial" / name).unlink()
        (tmp_path / "x.bin.partial" / ".volt-0123456789ab-0.tmp").touch()  # of the journal
        encode_to_files(tok, file, tmp_path / "x.bin", resume=True)
        assert read_bin(tmp_path) == expected(tok, LINES)
        (tmp_path / "x.bin").unlink()
        (tmp_path / "x.bin.json").unlink()


def test_files_are_not_replaced_by_accident(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("low\n")
    tok = tokenizer()
    encode_to_files(tok, file, tmp_path / "x.bin")
    with pytest.raises((InputError, SettingsError), match="exists"):
        encode_to_files(tok, file, tmp_path / "x.bin")
    encode_to_files(tok, file, tmp_path / "x.bin", force=True)
    encode_to_files(tok, file, tmp_path / "y.bin")  # the same token_bytes.npy
    with pytest.raises(SettingsError, match=r"token_bytes\.npy exists, .* into another folder"):
        encode_to_files(tokenizer("metaspace"), file, tmp_path / "z.bin")
    (tmp_path / "w.bin.partial").mkdir()
    (tmp_path / "w.bin.partial" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="remove it"):
        encode_to_files(tok, file, tmp_path / "w.bin")


@pytest.mark.parametrize("resume", [False, True])
def test_a_link_stays_one(tmp_path, resume):
    """The ids are where it leads."""
    (tmp_path / "text").write_text("\n".join(LINES))
    (tmp_path / "real").write_text("old")
    (tmp_path / "x.bin").symlink_to("real")
    encode_to_files(
        tokenizer(), volt.Files([tmp_path / "text"]), tmp_path / "x.bin", force=True, resume=resume
    )
    assert (tmp_path / "x.bin").readlink().name == "real"
    assert read_bin(tmp_path)
    names = {"text", "real", "x.bin", "x.bin.json", "token_bytes.npy"}
    names |= {"x.bin.done"} if resume else set()
    assert {one.name for one in tmp_path.iterdir()} == names


def test_a_vocabulary_without_eos(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("low\nnew\n")
    tok = tokenizer(special=("<pad>",))
    with pytest.raises(SettingsError, match=r"no eos to put .*, or use `document_eos=False`"):
        encode_to_files(tok, file, tmp_path / "x.bin")
    found = encode_to_files(tok, file, tmp_path / "x.bin", document_eos=False)
    ids = np.fromfile(tmp_path / "x.bin", found.dtype)
    assert ids.tolist() == tok.encode("low\nnew\n")
    assert found.documents == 1
    found = encode_to_files(tok, file, tmp_path / "y.bin", document_eos=False, unit="line")
    ids = np.fromfile(tmp_path / "y.bin", found.dtype)
    assert ids.tolist() == tok.encode("low") + tok.encode("new")
    assert found.documents == 2
