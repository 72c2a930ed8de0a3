"""Records: JSON Lines, Parquet, CSV, data sets. The same documents give the same counts."""

import bz2
import csv
import gzip
import io
import json
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt.base.progress import Progress
from volt.counting.record_readers import READERS
from volt.counting.records import Reading

DOCUMENTS = [
    "low low lower\nnew newest",
    "naïve – 日本語\nwidest",
    'quote " , comma\ttab \\ backslash',
    "last line",
    "a\u2028b \x1f c",
] * 5
ROWS = [{"id": place, "text": text, "meta": {"de": text}} for place, text in enumerate(DOCUMENTS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same documents in every form."""
    at = tmp_path_factory.mktemp("records")
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    (at / "a.jsonl").write_bytes(lines)
    (at / "a.ndjson.gz").write_bytes(gzip.compress(lines))
    (at / "a.jsonl.zst").write_bytes(zstandard.compress(lines))
    (at / "wrong.jsonl.gz").write_bytes(bz2.compress(lines))
    (at / "plain.jsonl.zst").write_bytes(lines)
    (at / "array.json").write_text(json.dumps(ROWS, indent=1))
    (at / "lines.json").write_bytes(lines)
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, at / "a.parquet", row_group_size=4)
    pq.write_table(table, at / "zipped.parquet", compression="zstd", use_dictionary=False)
    (at / "parquet.jsonl").write_bytes((at / "a.parquet").read_bytes())
    feather.write_feather(table, at / "a.arrow", compression="uncompressed")
    with (at / "stream.arrow").open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, 3)
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t")):
        with (at / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(["id", "text"])
            writer.writerows([[row["id"], row["text"]] for row in ROWS])
    return at


def same(counts, expected):
    return counts.digest() == expected.digest() and counts.totals == expected.totals


FORMS = [
    "a.jsonl", "a.ndjson.gz", "a.jsonl.zst", "wrong.jsonl.gz", "plain.jsonl.zst", "array.json",
    "lines.json", "a.parquet", "zipped.parquet", "parquet.jsonl", "a.arrow", "stream.arrow",
    "a.csv", "a.tsv",
]  # fmt: skip


@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level"])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_counts_of_the_documents(folder, name, pretokenizer):
    expected = volt.count(volt.Texts(DOCUMENTS), pretokenizer=pretokenizer)
    assert same(volt.count(folder / name, pretokenizer=pretokenizer), expected)
    twice = volt.count(volt.Files([folder / name, folder / name]), pretokenizer=pretokenizer)
    assert twice.totals.words == 2 * expected.totals.words


def test_text_of_the_same_lines_gives_the_same_counts(folder, tmp_path):
    (tmp_path / "a.txt").write_text("".join(text + "\n" for text in DOCUMENTS), encoding="utf-8")
    text, records = volt.count(tmp_path / "a.txt"), volt.count(folder / "a.jsonl")
    text.save(tmp_path / "text.tsv")
    records.save(tmp_path / "records.tsv")
    assert (tmp_path / "text.tsv").read_bytes() == (tmp_path / "records.tsv").read_bytes()


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.arrow", "array.json"])
def test_fields_may_be_inside_others_and_several(folder, name):
    expected = volt.count(volt.Texts(DOCUMENTS))
    assert same(volt.count(folder / name, field="meta.de"), expected)
    both = volt.count(folder / name, field=["text", "meta.de"])
    assert both.to_dict() == {word: 2 * n for word, n in expected.to_dict().items()}


def test_data_sets_saved_and_in_memory(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    expected = volt.count(volt.Texts(DOCUMENTS))
    rows = datasets.Dataset.from_list(ROWS)
    rows.save_to_disk(tmp_path / "saved", num_shards=3)
    datasets.DatasetDict({"train": rows}).save_to_disk(tmp_path / "splits")
    for source in (
        tmp_path / "saved", tmp_path / "splits" / "train", rows, rows.to_iterable_dataset(),
        rows.select(range(len(rows))),
    ):  # fmt: skip
        assert same(volt.count(source), expected)
    assert same(volt.count(rows, field="meta.de"), expected)
    with pytest.raises(volt.InputError, match=r"splits train; name one: .*splits/train"):
        volt.count(tmp_path / "splits")
    with pytest.raises(volt.InputError, match=r"splits train; name one: x\['train'\]"):
        volt.count(datasets.DatasetDict({"train": rows}))
    with pytest.raises(volt.InputError, match="no field 'body'; there are: id, text, meta"):
        volt.count(rows, field="body")


def test_columns_and_tables_of_other_libraries():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = volt.count(volt.Texts(DOCUMENTS))
    for source in (
        pandas.Series(DOCUMENTS), polars.Series(DOCUMENTS), pandas.DataFrame(ROWS),
        polars.DataFrame(ROWS), pa.Table.from_pylist(ROWS),
    ):  # fmt: skip
        assert same(volt.count(source), expected)
    for column in (pandas.Series(["a b", None, "b"]), polars.Series(["a b", None, "b"])):
        with pytest.warns(volt.VoltWarning, match="text 1: left out 1 null"):
            assert volt.count(column).to_dict() == {"▁b": 2, "▁a": 1}
    with pytest.raises(volt.InputError, match="item 2: a int, not a string"):
        volt.count(pandas.Series(["a", 2], dtype=object))


@pytest.mark.parametrize("counts", [Counter(["a", "b", "a", "c", "a"]), {"a": 3, "b": 1, "c": 1}])
def test_words_with_their_counts(counts, tmp_path):
    expected = volt.count(volt.Texts(["a b a c a"])).to_dict()
    assert volt.count(counts).to_dict() == expected
    (tmp_path / "words.tsv").write_text("".join(f"{word}\t{n}\n" for word, n in counts.items()))
    assert volt.count(tmp_path / "words.tsv").to_dict() == expected


def test_word_counts_are_learned_from_like_their_text():
    text = "low lower lowest new newer newest wide wider widest " * 20
    counted = volt.candidates(Counter(text.split()), merges=20)
    assert counted.tokens == volt.candidates(volt.Texts([text]), merges=20).tokens


# ------------------------------------------------------------------------------------ what is text


def test_lists_of_strings_are_text_and_names_of_files_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("from a file\n")
    assert volt.count(["a text", "another"]).to_dict() == {"▁a": 1, "▁another": 1, "▁text": 1}
    assert "▁file" in volt.count(["a.txt"]).to_dict()
    assert "▁file" in volt.count(volt.Files(["a.txt"])).to_dict()
    assert volt.count(volt.Texts(["a.txt"])).to_dict() == {"▁a": 1, ".": 1, "txt": 1}
    assert volt.count(iter(["a.txt"])).to_dict() == {"▁a": 1, ".": 1, "txt": 1}
    for missing in ("b.txt", "folder/b", ["b.txt"], ["folder/b", "some text"]):
        with pytest.raises(volt.InputError, match="no such file"):
            volt.count(missing)
    with pytest.raises(volt.InputError, match=r"volt\.Texts"):
        volt.count(["b.txt"])
    with pytest.raises(volt.InputError, match=r"'a.txt' names a file, 'hello' does not"):
        volt.count(["a.txt", "hello"])
    with pytest.raises(volt.InputError, match="no such file: hello"):
        volt.count(volt.Files(["hello"]))


def test_json_that_is_not_records_is_text(tmp_path):
    for text in ('{\n "name": "volt",\n "private": true\n}\n', '{"name": "volt"}\n', "[1, 2]\n"):
        (tmp_path / "a.json").write_text(text)
        raw = volt.count(tmp_path / "a.json", input_format="text")
        assert volt.count(tmp_path / "a.json").digest() == raw.digest()
    for text in ('{"name": "volt"}\n{"name": "x"}\n', '[{"name": "volt"}]'):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(volt.InputError, match=r"a.json, record 1: no field named text, .*name"):
            volt.count(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"text": "one record"}')
    assert volt.count(tmp_path / "a.json").to_dict() == {"▁one": 1, "▁record": 1}


# --------------------------------------------------------------------------------------- bad input


def jsonl(*lines):
    return "a.jsonl", "\n".join(lines).encode()


GOOD = '{"text": "good"}'


@pytest.mark.parametrize(
    ("name", "content", "words", "kept"),
    [
        (
            *jsonl(GOOD, '{"text": "cut'),
            r"2: not a complete JSON object \(unterminated string starting at character 10\)",
            1,
        ),
        (*jsonl(GOOD, '{"text": 3}'), "record 2: 'text' is a number, not text", 1),
        (*jsonl(GOOD, '{"content": "x"}'), "record 2: no field 'text'; it has: content", 1),
        (*jsonl(GOOD, "[1]"), "record 2: a list, not an object", 1),
        (*jsonl(GOOD, '{"text": '), r"object \([a-z ]* at character [0-9]+\); fix the file", 1),
        (*jsonl(GOOD, r'{"text": "\ud800"}'), r"record 2: a lone surrogate \(U\+D800\)", 1),
        (
            "a.jsonl",
            b'{"text": "good"}\n{"text": "\xff"}\n',
            r"record 2: invalid UTF-8 \(byte 0xFF at offset 10 of the record\); fix the file, "
            "replace what is not UTF-8 with `on_invalid='replace'`, or leave such records out",
            1,
        ),
        ("a.jsonl", b"", "a.jsonl: the file is empty", 0),
        ("a.csv", b"", "a.csv: the file is empty", 0),
        ("a.csv", b"id,text\n1,good\n2,x,y\n", "record 2: 3 fields, not 2", 1),
        ("a.csv", b"id,text\n1,good\n2,\xff\n", r"record 2: invalid UTF-8 \(byte 0xFF", 1),
        ("a.tsv", b"the\t5\n" * 1000 + b"the\n", "record 1,001: not word<TAB>count", 5000),
    ],
)
def test_a_bad_record_stops_with_its_number_or_is_skipped(tmp_path, name, content, words, kept):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(volt.InputError, match=words):
        volt.count(path)
    with pytest.warns(volt.VoltWarning, match="left out 1 record that can't be read"):
        assert volt.count(path, on_invalid="skip-line").totals.words == kept


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (*jsonl('{"a": 1, "b": 2}'), r"a.jsonl, record 1: no field named .*there are: a, b"),
        ("a.csv", b"a,b\n1,2\n", r"a.csv, line 1: no field named .*there are: a, b"),
        ("a.parquet", b"PAR1 not all of it", r"a.parquet: damaged or cut short"),
        ("a.parquet", b"", r"a.parquet: damaged or cut short"),
        ("a.arrow", b"ARROW1\0\0 not all of it", r"a.arrow: damaged or cut short"),
        ("a.json", b'[{"text": "x"}', r"a.json: not complete JSON"),
        (
            "a.jsonl.gz",
            gzip.compress(b'{"text": "x"}\n' * 999, mtime=0)[:-20],
            "damaged or cut short",
        ),
    ],
)
def test_a_bad_file_stops_and_is_named(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    for on_invalid in ("error", "replace", "skip-line"):
        with pytest.raises(volt.InputError, match=words):
            volt.count(tmp_path / name, on_invalid=on_invalid)


def test_truncated_parquet_and_columns_that_are_not_text(folder, tmp_path):
    (tmp_path / "cut.parquet").write_bytes((folder / "a.parquet").read_bytes()[:-100])
    with pytest.raises(volt.InputError, match=r"cut.parquet: damaged or cut short"):
        volt.count(tmp_path / "cut.parquet")
    with pytest.raises(volt.InputError, match="field 'id' is int64, not text"):
        volt.count(folder / "a.parquet", field="id")
    with pytest.raises(volt.InputError, match="no field 'txt'; did you mean 'text'"):
        volt.count(folder / "a.parquet", field="txt")


def test_a_row_that_is_wrong_in_two_ways(tmp_path, capfd):
    """pyarrow prints a traceback about it, and can't skip it."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text\n1,good\n2,x,\xff\n")
    for on_invalid in ("error", "skip-line", "replace"):
        with pytest.raises(
            volt.InputError, match=r"a\.csv, record 2: 3 fields, not 2; fix the file"
        ):
            volt.count(path, on_invalid=on_invalid)
    assert "Traceback" not in capfd.readouterr().err


def test_a_damaged_file_says_after_which_record(tmp_path, monkeypatch):
    monkeypatch.setattr("volt.counting.record_readers.CSV_BLOCK", 1 << 10)
    (tmp_path / "a.csv").write_text("text\n" + "good\n" * 400 + '"' + "x\n" * 4000)
    with pytest.raises(volt.InputError, match=r"a\.csv, after record [34]\d\d: .*never closed"):
        volt.count(tmp_path / "a.csv")


def test_files_of_different_schemas(tmp_path):
    """Each file decides for itself which default field it has. In a file the first record does."""
    (tmp_path / "a.jsonl").write_text('{"text": "a", "n": 1}\n{"text": "b"}\n')
    (tmp_path / "b.jsonl").write_text('{"content": "c"}\n')
    pq.write_table(pa.table({"sentence": ["d"]}), tmp_path / "c.parquet")
    assert set(volt.count(tmp_path).words) == {"▁a", "▁b", "▁c", "▁d"}
    with pytest.raises(volt.InputError, match=r"b\.jsonl, record 1: no field 'text'"):
        volt.count(tmp_path, field="text")
    pq.write_table(pa.table({"text": [[1, 2]]}), tmp_path / "d.parquet")
    with pytest.raises(volt.InputError, match=r"d\.parquet: field 'text' is list.*, not text"):
        volt.count(tmp_path)


def test_a_wrong_suffix_is_seen_by_the_content(folder, tmp_path):
    lines = b'{"text": "a b"}\n'
    expected = volt.count(volt.Texts(["a b"])).digest()
    (tmp_path / "plain.jsonl.gz").write_bytes(lines)
    (tmp_path / "packed.jsonl").write_bytes(gzip.compress(lines))
    pq.write_table(pa.table({"text": ["a b"]}), tmp_path / "table.jsonl")
    for name in ("plain.jsonl.gz", "packed.jsonl", "table.jsonl"):
        assert volt.count(tmp_path / name).digest() == expected
    (tmp_path / "text.parquet").write_bytes(lines)
    with pytest.raises(volt.InputError, match=r"text\.parquet: damaged or cut short"):
        volt.count(tmp_path / "text.parquet")


def test_a_damaged_arrow_file_is_refused(tmp_path):
    path, table = tmp_path / "a.arrow", pa.record_batch([["one", "two"]], ["text"])
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_batch(table)
    whole = path.read_bytes()
    ends, outside = (np.array([0, 3, end], np.int32).tobytes() for end in (6, 1 << 20))
    assert ends in whole
    for damaged in (whole.replace(ends, outside), whole.replace(b"text", b"tex\xff")):
        path.write_bytes(damaged)
        with pytest.raises(volt.InputError, match=r"a\.arrow: damaged or cut short"):
            volt.count(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
@pytest.mark.parametrize("wrong", [2**30, -5, 3])
def test_arrow_with_damaged_offsets_is_refused(tmp_path, kind, wrong):
    strings = pa.array(["the", "low", "lower"], kind)
    width = np.int64 if kind == pa.large_string() else np.int32
    offsets = np.array([0, 6 if wrong == 3 else 3, wrong, 11], width)
    buffers = [None, pa.py_buffer(offsets.tobytes()), strings.buffers()[2]]
    damaged = pa.Array.from_buffers(kind, 3, buffers)
    batch = pa.RecordBatch.from_arrays([damaged], ["text"])
    path = tmp_path / "a.arrow"
    with path.open("wb") as file, pa.ipc.new_stream(file, batch.schema) as writer:
        writer.write(batch)
    with pytest.raises(volt.InputError, match=r"a.arrow: damaged or cut short"):
        volt.count(path)


def test_invalid_bytes_in_a_column_name_the_record(tmp_path):
    column = pa.array([b"good", b"\xe2\x82", b"\xacbad"], pa.binary())
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
    with pytest.raises(volt.InputError, match=r"a.parquet, record 2: invalid UTF-8 \(byte 0xE2"):
        volt.count(tmp_path / "a.parquet")
    with pytest.warns(volt.VoltWarning, match="left out 2 records that can't be read"):
        assert volt.count(tmp_path / "a.parquet", on_invalid="skip-line").to_dict() == {"▁good": 1}
    replaced = volt.count(tmp_path / "a.parquet", on_invalid="replace").to_dict()
    assert replaced == {"▁good": 1, "▁\ufffd": 2, "bad": 1}


def test_null_is_not_text_and_no_mistake(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": null}\n{"text": "b"}\n')
    pq.write_table(pa.table({"text": ["a", None, "b"]}), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        with pytest.warns(volt.VoltWarning, match=f"{name}: left out 1 null"):
            assert volt.count(tmp_path / name).to_dict() == {"▁a": 1, "▁b": 1}


def test_a_record_that_is_too_long(tmp_path, monkeypatch):
    for module in ("record_readers", "documents"):
        monkeypatch.setattr(f"volt.counting.{module}.LONGEST_RECORD", 1 << 20)
    monkeypatch.setattr("volt.counting.record_readers.BATCH", 1 << 16)
    texts = ["a", "b " * (1 << 20), "c"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        with pytest.raises(volt.InputError, match=f"{name}, record 2: longer than 1 MiB"):
            volt.count(tmp_path / name)
        with pytest.warns(volt.VoltWarning, match="left out 1 record "):
            kept = volt.count(tmp_path / name, on_invalid="skip-line").to_dict()
        assert kept == {"▁a": 1, "▁c": 1}


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), st.integers(1, 9))
def test_lines_are_read_the_same_wherever_blocks_end(texts, block):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("volt.counting.record_readers.BATCH", block)
        batches = READERS["jsonl"](io.BytesIO(lines), Reading("x"))
        assert [one.decode() for batch in batches for one in batch.split()] == texts


class Watched(Progress):
    """Remembers what is reported."""

    def __init__(self):
        self.seen, self.totals, self.stages = [], [], []

    @contextmanager
    def stage(self, name, total=None, unit=""):
        self.totals.append((total, unit))
        self.stages.append((name, total))
        yield lambda done, note="": self.seen.append((done, note))


@pytest.mark.parametrize("unit", ["line", "document"])
@pytest.mark.parametrize("source", ["a.jsonl", "a.parquet", "a.csv", "list", "generator", "table"])
def test_progress_is_in_bytes_with_what_was_read(folder, source, unit):
    progress = Watched()
    texts = {
        "list": DOCUMENTS,
        "generator": iter(DOCUMENTS),
        "table": pa.table({"text": DOCUMENTS}),
    }
    text = texts.get(source, folder / source)
    counts = volt.count(text, progress=progress, pretokenizer="byte-level", unit=unit)
    ((total, told),) = progress.totals
    assert told == "B"
    size = sum(len(one.encode()) for one in DOCUMENTS)
    if source == "generator":
        assert total is None
        assert progress.seen[-1][0] == size
    elif source in texts:
        assert size / 2 < total < size * 2
    else:
        assert total == (folder / source).stat().st_size
    assert progress.seen[-1][1] == (
        f"{counts.totals.lines:,} lines" if unit == "line" else f"{len(DOCUMENTS):,} documents"
    )
    if total is not None:
        assert progress.seen[-1][0] == total


def test_progress_of_encoding_and_of_samples(folder, tmp_path):
    progress = Watched()
    learned = volt.learn(folder / "a.jsonl", pretokenizer="byte-level", sample="5k",
                         progress=progress)  # fmt: skip
    assert ("Choosing documents", (folder / "a.jsonl").stat().st_size) in progress.stages
    progress = Watched()
    for target in (None, tmp_path / "x.bin"):
        if target is None:
            list(learned.tokenizer.encode_to_arrays(DOCUMENTS, progress=progress))
        else:
            volt.encode_to_files(learned.tokenizer, DOCUMENTS, target, progress=progress)
        assert progress.seen[-1][1] == f"{len(DOCUMENTS):,} documents"


def test_of_several_named_fields_a_file_has_some(tmp_path):
    """Dumps with different names for the text are counted together; a file needs one of them."""
    (tmp_path / "a.jsonl").write_text('{"text": "a", "n": 1}\n{"text": "b"}\n')
    (tmp_path / "b.jsonl").write_text('{"body": "c", "text": "d"}\n')
    pq.write_table(pa.table({"m.body": ["e"], "n": [1]}), tmp_path / "c.parquet")
    (tmp_path / "d.csv").write_text("n,body\n1,f\n")
    asked = ["text", "body", "m.body"]
    found = volt.count(tmp_path, field=asked)
    assert set(found.words) == {"▁a", "▁b", "▁c", "▁d", "▁e", "▁f"}
    (tmp_path / "e.jsonl").write_text('{"bodi": "g"}\n')
    problem = r"e\.jsonl, record 1: no field 'text' and no field 'body'; did you mean 'bodi'"
    with pytest.raises(volt.InputError, match=problem):
        volt.count(tmp_path, field=asked)


def test_invalid_utf8_in_a_json_array(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"text": "good"},\n{"text": "b\xffd"}]')
    with pytest.raises(volt.InputError, match=r"a\.json, line 2: invalid UTF-8 \(byte 0xFF at"):
        volt.count(path)
    assert volt.count(path, on_invalid="replace").totals.words == 4  # good b \ufffd d


def test_what_python_writes_for_no_number_is_no_reason_to_stop(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "good", "score": 1}\n{"text": "bad", "score": NaN}\n')
    assert volt.count(path).totals.words == 2


def test_the_first_record_decides_which_of_several_fields_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"content": "b"}\n')
    said = "record 2: no field 'text'; it has: content; the first record decides which are read: "
    for field in (["text", "content"], []):
        with pytest.raises(volt.InputError, match=f"{said}text; fix the file"):
            volt.count(path, field=field)
    with pytest.raises(volt.InputError, match="it has: content; fix the file"):
        volt.count(path, field="text")


def test_several_fields_of_each_record_are_told(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"lang": "de", "text": "ein Haus"}\n')
    (tmp_path / "b.jsonl").write_text('{"text": "a house"}\n')
    pq.write_table(pa.table({"lang": ["en"], "text": ["a cat"]}), tmp_path / "c.parquet")
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.parquet")]
    said = f"{paths[0]}, {paths[2]}: 2 fields per record: lang, text"
    assert volt.count(paths, field=["lang", "text"]).told == [said]
    assert volt.count(paths, field=["lang", "text"], sample="1k").told == [said]
    assert volt.count(paths, field="text").told == []


def test_lists_are_not_read_and_not_proposed(tmp_path):
    path, table = tmp_path / "chat.jsonl", tmp_path / "chat.parquet"
    messages = [{"role": "user", "content": "hi"}]
    path.write_text(json.dumps({"messages": messages, "body": "x"}) + "\n")
    pq.write_table(pa.table({"messages": [messages], "body": ["x"]}), table)
    flatten = "lists are not read: flatten them first, to one text per record"
    for file in (path, table):
        with pytest.raises(volt.InputError, match=f"no field 'messages.content': .*; {flatten}"):
            volt.count(file, field="messages.content")
        with pytest.raises(volt.InputError, match=f"'messages' is .*, not text; {flatten}"):
            volt.count(file, field="messages")
        with pytest.raises(volt.InputError, match="no field 'message'; there are: messages, body"):
            volt.count(file, field="message")


@pytest.mark.parametrize("text", ['[{"text": "a"}]', '[\n{"text": "a"},\n{"text": "b"}\n]\n'])
def test_an_array_named_as_lines(tmp_path, text):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    for on_invalid in ("error", "skip-line"):
        with pytest.raises(volt.InputError, match=r"a JSON array, .* use `input_format='json'`"):
            volt.count(path, on_invalid=on_invalid)
    assert "▁a" in volt.count(path, input_format="json").words
