"""What runs in a Spark worker, without Spark: parts counted apart and added up are the whole."""

import json
from collections import Counter
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt.base.errors import InputError
from volt.counting import spark, spark_worker
from volt.counting.sampling import Census, Sampling, choose
from volt.counting.spark_worker import Work
from volt.counting.words import WordRule

arrow = pytest.importorskip("pyarrow", reason="the extra spark is not installed")

CHARACTERS = st.one_of(
    st.sampled_from("aab  \t\r\u2581\ufeff\u0301é½.'\x00漢"),
    st.characters(exclude_categories=["Cs"]),
)
LINES = st.lists(st.text(CHARACTERS, max_size=12).map(lambda text: text.replace("\n", "")))
RULES = st.builds(
    WordRule,
    st.sampled_from(["whitespace", "metaspace", "byte-level"]),
    st.sampled_from(["none", "nfc", "nfkc"]),
    st.sampled_from([2, 5, 64]),
)


def added_up(parts, rule, on_invalid="error", **more):
    """What Spark does with the rows of the partitions."""
    sums = Counter()
    work = Work(rule, on_invalid, **more)
    for batches in parts:
        for batch in spark_worker.count_on_worker(work, iter(batches)):
            for row in batch.to_pylist():
                sums[row["field"], row["word"]] += row["count"]
    rows = sorted(sums.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    table = arrow.table(
        {
            "field": arrow.array([field for (field, _), _ in rows], arrow.string()),
            "word": arrow.array([word for (_, word), _ in rows], arrow.binary()),
            "count": arrow.array([count for _, count in rows], arrow.int64()),
        }
    )
    return spark._word_counts(table, rule, 1)


def batch_of(strings):
    return arrow.RecordBatch.from_pydict({"text": arrow.array(strings, arrow.binary())})


def same(found, expected):
    assert (found.rule, found.unit, found.totals) == (
        expected.rule, expected.unit, expected.totals
    )  # fmt: skip
    assert found.digest() == expected.digest()


@given(LINES, RULES, st.data())
def test_parts_are_the_whole_however_they_are_cut(lines, rule, data):
    expected = volt.count(
        [["", *lines]],  # the mark of a file's start is for Spark's reader to drop
        pretokenizer=rule.pretokenizer, normalize=rule.normalize,
        max_word_length=rule.max_word_length,
    )  # fmt: skip
    parts = [[batch_of([b""])]]
    while lines:
        size = data.draw(st.integers(1, len(lines)))
        parts.append([batch_of([line.encode() for line in lines[:size]])])
        lines = lines[size:]
    same(added_up(parts, rule), expected)


@pytest.mark.parametrize("on_invalid", ["replace", "skip-line"])
@given(st.lists(st.binary(max_size=8).map(lambda line: line.replace(b"\n", b""))))
def test_invalid_text_is_mended_as_on_one_machine(tmp_path, on_invalid, lines):
    file = tmp_path / "text"
    file.write_bytes(b"".join(line + b"\n" for line in [b"", *lines]))
    found = added_up([[batch_of([b"", *lines])]], WordRule(), on_invalid)
    same(found, volt.count(file, on_invalid=on_invalid, input_format="text"))


def test_invalid_text_is_refused_with_its_line():
    with pytest.raises(InputError, match=r"0xFF.*b'b\\xff'.*on_invalid"):
        added_up([[batch_of([b"a", b"b\xff", b"c"])]], WordRule())


def test_strings_of_a_column_are_lines_and_null_is_no_text():
    strings = ["two\nlines", "ended\n", None, "", "c\r", "x\r\n"]
    data = [text and text.encode() for text in strings]
    expected = volt.count([["", *(text for text in strings if text is not None)]])
    with pytest.warns(volt.VoltWarning, match="left out 1 null"):
        found = added_up([[batch_of([b""])], [batch_of(data)]], WordRule())
    same(found, expected)


def test_json_lines_give_the_text_of_a_member():
    rows = [{"doc": {"text": "a\nb ü"}}, {"doc": {"text": None}}, {"doc": {"text": "c"}, "more": 1}]
    lines = [json.dumps(row).encode() for row in rows]
    with pytest.warns(volt.VoltWarning, match="left out 1 null"):
        found = added_up([[batch_of(lines)]], WordRule(), members=[("doc", "text")])
    same(found, volt.count([["a\nb ü", "c"]]))


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b"{}", b'{"text": 1}', b'{"text": "\\ud800"}', b"\xff"]
)
def test_a_line_that_is_no_json_with_text_is_refused(line):
    with pytest.raises(InputError, match="`field` names the text"):
        added_up([[batch_of([line])]], WordRule(), members=[("text",)])


def test_many_words_go_out_in_several_batches(monkeypatch):
    monkeypatch.setattr(spark_worker, "WORDS_IN_BATCH", 3)
    text = " ".join(f"w{i}" for i in range(20))
    same(added_up([[batch_of([text.encode()])]], WordRule()), volt.count([[text]]))


def test_workers_of_another_version_are_refused(monkeypatch):
    parts = list(spark_worker.count_on_worker(Work(WordRule()), iter([batch_of([b"a"])])))
    monkeypatch.setattr(spark_worker, "__version__", "99")
    with pytest.raises(volt.SettingsError, match=r"workers have volt .*, this is volt 99"):
        spark._word_counts(arrow.Table.from_batches(parts), WordRule(), 1)


def test_the_file_of_a_bad_line_is_found():
    work = partial(spark_worker.count_on_worker, Work(WordRule()))
    lines = [b"fine"] * 9 + [b"b\xffd"] + [b"fine"] * 3
    files = ["one.txt"] * 5 + ["two.txt"] * 8
    batch = arrow.RecordBatch.from_pydict(
        {"text": arrow.array(lines, arrow.binary()), "file": files}
    )
    (found,) = spark_worker.failing(work, iter([batch.slice(0, 3), batch.slice(3)]))
    assert found.to_pylist()[0]["file"] == "two.txt"
    assert "b'b\\xffd'" in found.to_pylist()[0]["problem"]


@pytest.mark.parametrize(
    ("name", "form"),
    [("s3a://bucket/x.parquet/", "parquet"), ("x.JSONL.gz", "jsonl"), ("x", "text")],
)  # fmt: skip
def test_the_end_of_a_name_tells_what_it_is(name, form):
    assert spark._form_of(name) == form


def test_weights_and_groups_come_from_names_or_from_a_list():
    def found(inputs, **options):
        return [(path, one.weight, one.group)
                for one, paths in spark._groups(inputs, volt.CountSettings(**options)).items()
                for path in paths]  # fmt: skip

    assert found(["a", "hdfs://h:9000/b:0.5"]) == [("a", 1, ""), ("hdfs://h:9000/b", 0.5, "")]
    assert found(["a", "b"], weights=["2", "3"]) == [("a", 2, ""), ("b", 3, "")]
    assert found(["x=a:2", "y=b=c"], mix="x=1,y=1") == [("a", 2, "x"), ("b=c", 1, "y")]
    for inputs, weights in ((["a:2"], ["3"]), (["a", "b", "c"], ["1", "2"]), (["-"], None)):
        with pytest.raises(volt.SettingsError):
            found(inputs, weights=weights)
    with pytest.raises(volt.SettingsError, match="belongs to none of them"):
        found(["a"], mix="x=1,y=1")


UNITS = st.sampled_from(["line", "document"])
STRINGS = st.lists(st.text(st.sampled_from("ab \n\ré漢"), max_size=8), min_size=1, max_size=30)


@given(STRINGS, UNITS, st.integers(1, 60), st.sampled_from([None, 3]), st.data())
def test_a_sample_is_that_of_one_machine_however_it_is_cut(strings, unit, size, cap, data):
    rule = WordRule("byte-level", reads=unit)
    options = {"pretokenizer": "byte-level", "unit": unit, "sample": size, "document_cap": cap}
    try:
        expected = volt.count(volt.Texts(strings), **options)
    except volt.SettingsError:  # the first document is larger than the sample
        return
    sampling = Sampling(size, cap, unit=unit)
    places = sorted(data.draw(st.lists(st.integers(0, len(strings)), max_size=3)))
    parts = [
        [batch_of([text.encode() for text in strings[a:b]])]
        for a, b in pairwise([0, *places, len(strings)])
    ]
    work = Work(rule, sampling=sampling)
    census = added_census(parts, work)
    limits, _ = choose({"": census}, sampling)
    report = spark.sample_report({"": census}, limits, sampling)
    assert report == expected.sample
    same(added_up(parts, rule, sampling=sampling, limit=limits[""]), expected)


def added_census(parts, work):
    """What Spark adds up in the first pass."""
    found = Census()
    for batches in parts:
        for batch in spark_worker.census_partition(work, iter(batches)):
            for place, size, documents in zip(*batch.to_pydict().values(), strict=True):
                if place < 0:
                    found.read_bytes += size
                else:
                    found.sizes[place] += size
                    found.documents[place] += documents
    return found


def test_bad_json_is_left_out_and_counted_where_that_is_asked():
    lines = [b'{"text": "a"}', b"{", b"", b'{"text": 1}', b'{"text": null}', b'{"text": "b"}']
    with pytest.warns(volt.VoltWarning, match="left out 2 records that can't be read and 1 null"):
        found = added_up([[batch_of(lines)]], WordRule(), "skip-line", members=[("text",)])
    same(found, volt.count([["a", "b"]]))


def test_ctrl_c_is_not_an_error_of_spark():
    """Stopped while it waits for Spark, the connection breaks too."""
    with pytest.raises(SystemExit), spark.spark_errors():
        try:
            raise SystemExit(130)
        finally:
            raise OSError("Broken pipe")
    with pytest.raises(InputError, match="Spark: Broken pipe"), spark.spark_errors():
        raise OSError("Broken pipe")
