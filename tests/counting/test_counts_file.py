"""Counts files: any word survives, the same counts give the same bytes, damage is noticed."""

import io
import json
import os
import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import volt
from volt.counting.counts import WordCounts
from volt.counting.words import PRETOKENIZERS as REGISTERED
from volt.proposing.candidates_file import save_candidates

PRETOKENIZERS = list(REGISTERED)
HEAD = "# volt counts "

any_character = st.characters(exclude_categories=["Cs"])
awkward = st.sampled_from([*"\\\t\r#▁ '\0ntr", "\\t", "\\n", "\x85", "\u2028", "\ufeff", "# volt"])
awkward_texts = st.lists(
    st.lists(awkward | any_character, max_size=12).map("".join).map(lambda s: s.replace("\n", "")),
    max_size=8,
)


def written(counts: WordCounts) -> bytes:
    stream = io.BytesIO()
    counts.write(stream)
    return stream.getvalue()


def header_of(data: bytes) -> dict:
    first = data.split(b"\n", 1)[0].decode()
    assert first.startswith(HEAD)
    return json.loads(first.removeprefix(HEAD))


def assert_same(a: WordCounts, b: WordCounts) -> None:
    assert list(a.items()) == list(b.items())
    assert (a.rule, a.totals, a.unit) == (b.rule, b.totals, b.unit)
    assert written(a) == written(b)


@pytest.fixture
def save(tmp_path):
    """Write bytes or text as a file; returns its path."""

    def save(data: bytes | str, name: str = "counts.tsv"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return save


# --------------------------------------------------------------------------------- there and back


@given(
    awkward_texts,
    st.sampled_from(PRETOKENIZERS),
    st.sampled_from([2, 3, 8, 64]),
    st.sampled_from(["none", "nfc", "nfkc"]),
    st.sampled_from(["1", "0.1", "1/3"]),
)
@example(["\\ \\t \\n \\\\", "#", "# volt counts x"], "whitespace", 64, "none", "1")
@example(["\t\r\t!", "\0", " \t"], "metaspace", 64, "none", "1")
@example(["\r\r \t", "\\\r"], "byte-level", 2, "none", "0.1")
@example(["we're I've she'll 'lll ''re"], "byte-level", 2, "none", "1")
@example(["we'RE 'lab «x» !\r\r\r. 12345 \r   \r  x"], "byte-level:llama3", 2, "none", "1")
@example(["ABc's «D語E's e's !/\r/\r/", "!\r/\r"], "byte-level:o200k", 2, "none", "1")
@example(["ABc's «D語E's e're !/\r/\r/", "!\r/\r"], "byte-level:o200k", 3, "none", "1")
@example(["!!!\u0301!", "!!!\u0301/\r/"], "byte-level:o200k", 3, "none", "1")
def test_whatever_was_counted_is_loaded_again(
    tmp_path, lines, pretokenizer, max_word_length, normalize, weight
):
    counts = volt.count(
        [["x", *lines]],
        pretokenizer=pretokenizer,
        max_word_length=max_word_length,
        normalize=normalize,
        weights=weight,
    )
    path = tmp_path / "counts.tsv"
    counts.save(path)
    assert path.read_bytes() == written(counts)
    assert_same(volt.count(path), counts)


def test_the_file_is_lines_of_word_tab_count_most_frequent_first_then_by_bytes(tmp_path):
    path = tmp_path / "counts.tsv"
    volt.count([["b a \\ a b", "ä z 𝒳 \uffff"]], pretokenizer="whitespace").save(path)
    assert path.read_text(encoding="utf-8").split("\n")[1:] == [
        "a\t2", "b\t2", "\\\\\t1", "z\t1", "ä\t1", "\uffff\t1", "𝒳\t1", "",
    ]  # fmt: skip


def test_tab_carriage_return_and_backslash_are_escaped():
    counts = volt.count([["\t\r\t!\\"]], pretokenizer="metaspace")
    assert written(counts).split(b"\n")[1] == "▁\\t\\r\\t!\\\\\t1".encode()


def test_the_header_records_the_rule_the_versions_and_the_totals():
    text = ["a▁b " + "c" * 20, "a", "d"]
    counts = volt.count(
        [text], normalize="nfc", max_word_length=10, weights="2.5", min_count=3, threads=1
    )
    assert header_of(written(counts)) == {
        "format": 1,
        "volt": volt.__version__,
        "pretokenizer": "metaspace",
        "normalize": "nfc",
        "max_word_length": 10,
        "unicode": volt._core.unicode_version,
        "unit": 2,
        "types": 1,
        "lines": 3,
        "words": 10,
        "cut_words": 1,
        "reserved": 5,
        "replaced": 0,
        "skipped_lines": 0,
        "pruned_words": 25,
        "max_undercount": 0,
    }


def test_the_header_records_what_was_replaced_or_skipped(save):
    path = save(b"good\nb\xffd \xfe\n", "text")
    replaced = header_of(written(volt.count(path, on_invalid="replace")))
    skipped = header_of(written(volt.count(path, on_invalid="skip-line")))
    assert (replaced["replaced"], replaced["skipped_lines"], replaced["lines"]) == (2, 0, 2)
    assert (skipped["replaced"], skipped["skipped_lines"], skipped["lines"]) == (0, 1, 1)


def test_the_file_names_no_input(save):
    assert b"secret" not in written(volt.count(save("a b\n", "secret.txt")))


# ------------------------------------------------------------------------------------- same bytes


@given(awkward_texts, awkward_texts, st.sampled_from(PRETOKENIZERS))
def test_bytes_do_not_depend_on_threads_or_the_order_of_inputs(one, two, pretokenizer):
    options = {"pretokenizer": pretokenizer, "max_word_length": 5}
    one, two = ["a", *one], ["a", *two]
    expected = written(volt.count([one, two], threads=1, **options))
    assert written(volt.count([two, one], threads=2, **options)) == expected
    assert written(volt.count([[*one, *two]], threads=5, **options)) == expected


@given(st.lists(awkward_texts, min_size=1, max_size=4), st.sampled_from(PRETOKENIZERS))
def test_shards_merge_to_the_bytes_of_the_whole(tmp_path, shards, pretokenizer):
    options = {"pretokenizer": pretokenizer, "max_word_length": 5}
    shards = [["x", *shard] for shard in shards]
    paths = []
    for number, shard in enumerate(shards):
        paths.append(tmp_path / f"{number}.tsv")
        volt.count([shard], **options).save(paths[-1])
    whole = written(volt.count([[line for shard in shards for line in shard]], **options))
    assert written(volt.count(paths)) == whole
    assert written(volt.count([*paths[1:], shards[0]], **options)) == whole


def test_shards_of_fractions_merge_to_the_bytes_of_the_whole(tmp_path):
    paths = []
    for number, weight in enumerate(["0.1", "1/3", "2"]):
        paths.append(tmp_path / f"{number}.tsv")
        volt.count([["a b", "a"]], weights=weight).save(paths[-1])
    whole = volt.count([["a b", "a"]] * 3, weights=["0.1", "1/3", "2"])
    assert whole.unit == 30
    assert written(volt.count(paths)) == written(whole)


def test_weights_multiply_the_counts_of_a_file(tmp_path):
    path = tmp_path / "counts.tsv"
    volt.count([["a a b ▁"]], weights="0.5").save(path)
    doubled = volt.count(f"{path}:2")
    assert (doubled.to_dict(), doubled.unit) == ({"▁a": 2, "▁": 1, "▁b": 1}, 1)
    assert (doubled.totals.words, doubled.totals.reserved, doubled.totals.lines) == (4, 1, 1)
    thirds = volt.count([path, path], weights=["1/3", "2"])
    assert (thirds.to_dict(), thirds.unit) == ({"▁a": 14, "▁": 7, "▁b": 7}, 6)


def test_bytes_do_not_depend_on_the_hash_seed(save, tmp_path):
    path = save("".join(f"w{n % 37} v{n % 11}\n" for n in range(500)), "text")
    script = "import sys, volt; volt.count(sys.argv[1]).write(sys.stdout.buffer)"
    one, two = (
        subprocess.run(
            [sys.executable, "-c", script, path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert one == two == written(volt.count(path))


def test_bytes_are_the_same_on_real_text_for_any_thread_count(volt_data):
    paths = [volt_data("multi30k/train.en"), volt_data("multi30k/train.de")]
    one, two, five = (written(volt.count(paths, threads=threads)) for threads in (1, 2, 5))
    assert one == two == five
    assert written(volt.count(paths[::-1])) == one


def test_the_figures_of_real_text_are_known(volt_data):
    paths = [volt_data("multi30k/train.en"), volt_data("multi30k/train.de")]
    counts = volt.count(paths, pretokenizer="whitespace")
    assert len(counts) == 39_522
    assert counts.totals.words == 667_356
    assert counts.totals.lines == 58_000


# ------------------------------------------------------------------------------ rules and formats


def test_a_loaded_file_needs_no_options_and_refuses_contradicting_ones(save):
    options = {"pretokenizer": "whitespace", "normalize": "nfc", "max_word_length": 9}
    path = save(written(volt.count([["a b"]], **options)))
    assert volt.count(path).rule == volt.count(path, **options).rule
    for name, other in [
        ("pretokenizer", "metaspace"), ("normalize", "none"), ("max_word_length", 64),
    ]:  # fmt: skip
        with pytest.raises(volt.SettingsError, match=rf"counts\.tsv was counted with {name}="):
            volt.count(path, **{name: other})


@pytest.mark.parametrize(
    "options",
    [{"pretokenizer": "byte-level"}, {"normalize": "nfkc"}, {"max_word_length": 63}],
)
def test_files_of_different_rules_cannot_be_added_up(save, options):
    one = save(written(volt.count([["a"]])), "one")
    two = save(written(volt.count([["a"]], **options)), "two")
    with pytest.raises(volt.SettingsError, match=rf"one and .*two .*{next(iter(options))}:"):
        volt.count([one, two])


def other_unicode(data: bytes) -> bytes:
    return data.replace(volt._core.unicode_version.encode(), b"3.2.0", 1)


def test_counts_of_another_unicode_version_are_kept_apart(save):
    data = written(volt.count([["a"]]))
    new, old = save(data, "new"), save(other_unicode(data), "old")
    assert volt.count(old).rule.unicode == "3.2.0"
    with pytest.raises(volt.SettingsError, match="unicode"):
        volt.count([new, old])
    with pytest.raises(volt.SettingsError, match=r"Unicode 3\.2\.0"):
        volt.count([old, ["some text"]])


def test_text_is_counted_by_the_rule_of_the_counts_beside_it(save):
    path = save(written(volt.count([["a b"]], pretokenizer="whitespace", max_word_length=3)))
    found = volt.count([["a bbbb"], path])
    assert found.to_dict() == {"a": 2, "b": 2, "bbb": 1}
    assert found.totals.cut_words == 1


def test_a_file_without_header_is_read_as_counts_when_asked(save):
    path = save("the\t10\r\ncat\t3\nthe\t1\n\\\\n\t2")
    found = volt.count(path, input_format="counts", pretokenizer="whitespace")
    assert found.to_dict() == {"the": 11, "cat": 3, "\\n": 2}
    assert found.totals == volt.CountTotals(words=16)
    as_text = volt.count(path, input_format="text", pretokenizer="whitespace")
    assert as_text.to_dict()["the"] == 2


def test_a_counts_file_is_read_as_text_when_asked(save):
    path = save(written(volt.count([["a"]])))
    found = volt.count(path, input_format="text", pretokenizer="whitespace")
    assert {"#", "volt", "counts", "▁a"} < set(found.words)


def test_an_empty_file_of_counts_holds_no_word(save):
    assert volt.count(save(""), input_format="counts").to_dict() == {}
    empty = save(written(volt.count([[]])))
    assert volt.count(empty).to_dict() == {}


def test_a_counts_file_longer_than_a_block_is_read_whole(save, monkeypatch):
    counts = volt.count([[f"word{n} w{n % 7}" for n in range(300)]])
    path = save(written(counts))
    for block in (1, 10, 1000):
        monkeypatch.setattr("volt.counting.count.BLOCK", block)
        assert_same(volt.count(path), counts)


def test_a_candidates_file_is_not_taken_for_text(save, tmp_path):
    path = tmp_path / "candidates.tsv"
    save_candidates(volt.candidates([["a a a"]]), path)
    with pytest.raises(volt.InputError, match=r"candidates\.tsv: a candidates file"):
        volt.count(path)


# ----------------------------------------------------------------------------------------- damage

GOOD = written(volt.count([["the cat", "the dog \\ end"]]))
BODY = GOOD.index(b"\n") + 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"word", "no tab"), (b"\t3", "empty"), (b"word\t", "not a whole number"),
        (b"word\t0", "not a whole number"), (b"word\t-1", "not a whole number"),
        (b"word\t1.5", "not a whole number"), (b"word\t 1", "not a whole number"),
        (b"word\t1 ", "not a whole number"), (b"word\tx", "not a whole number"),
        (b"word\t9223372036854775808", "63 bits"), (b"word\t99999999999999999999", "63 bits"),
        (b"w\xffrd\t1", "not valid UTF-8"), (b"w\\x\t1", "backslash"), (b"w\\\t1", "backslash"),
        (b"two words\t1", "one word"), (b"wo\\nrd\t1", "one word"), (b"a1\t1", "one word"),
        (b" word\t1", "one word"), ("w▁\t1".encode(), "one word"), ("▁▁\t1".encode(), "one word"),
        (b"w" * 65 + b"\t1", "longer than max_word_length"),
        ("▁".encode() + b"w" * 64 + b"\t1", "longer than max_word_length"),
        (b"# volt counts {}", "no tab"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("last", [False, True])
def test_a_bad_line_is_named_by_its_number_and_what_is_wrong(save, line, problem, last):
    path = save(GOOD + line + (b"" if last else b"\nmore\t1\n"))
    number = GOOD.count(b"\n") + 1
    with pytest.raises(volt.InputError, match=rf"counts\.tsv, line {number}: .*{problem}"):
        volt.count(path)


def test_an_empty_line_is_a_bad_line(save):
    number = GOOD.count(b"\n") + 1
    with pytest.raises(volt.InputError, match=rf"counts\.tsv, line {number}: no tab"):
        volt.count(save(GOOD + b"\n"))


def test_a_bad_line_of_a_file_without_header_is_named_by_its_number(save):
    path = save("a\t1\nb\t2\nc 3\n")
    with pytest.raises(volt.InputError, match=r"counts\.tsv, line 3: no tab"):
        volt.count(path, input_format="counts")


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("word", ["two words", "a\tb", "a\nb"])
def test_no_pretokenizer_takes_two_words_for_one(save, pretokenizer, word):
    escaped = word.replace("\t", "\\t").replace("\n", "\\n")
    path = save(f"{escaped}\t1\n")
    with pytest.raises(volt.InputError, match=r"line 1: .*one word"):
        volt.count(path, pretokenizer=pretokenizer, input_format="counts")


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2}, {"format": "1"}, {"pretokenizer": "bert"}, {"pretokenizer": None},
        {"normalize": "nfd"}, {"max_word_length": 1}, {"max_word_length": 2**40},
        {"max_word_length": "64"}, {"unit": 0}, {"unit": 10**10}, {"unit": 1.0}, {"unit": True},
        {"unicode": 15}, {"lines": -1}, {"words": 2**63}, {"reserved": None}, {"types": []},
    ],
)  # fmt: skip
def test_a_header_that_makes_no_sense_is_an_error(save, change):
    header = header_of(GOOD) | change
    path = save(HEAD.encode() + json.dumps(header).encode() + b"\n" + GOOD[BODY:])
    with pytest.raises(volt.InputError, match=r"counts\.tsv(, line 1)?: .*(header|format)"):
        volt.count(path)


@pytest.mark.parametrize("name", ["lines", "cut_words", "reserved", "max_undercount"])
def test_totals_that_add_up_past_63_bits_are_an_error(save, name):
    header = header_of(GOOD) | {name: 2**62}
    path = save(HEAD.encode() + json.dumps(header).encode() + b"\n" + GOOD[BODY:])
    assert getattr(volt.count(path).totals, name) == 2**62
    with pytest.raises(volt.InputError, match=f"{name} .* 63 bits"):
        volt.count([path, path])


@pytest.mark.parametrize("name", sorted(set(header_of(GOOD)) - {"volt"}))
def test_a_header_that_lacks_something_is_an_error(save, name):
    header = {key: value for key, value in header_of(GOOD).items() if key != name}
    path = save(HEAD.encode() + json.dumps(header).encode() + b"\n" + GOOD[BODY:])
    with pytest.raises(volt.InputError, match=rf"line 1: .*{name}"):
        volt.count(path)


@pytest.mark.parametrize(
    "header", [b"", b"{", b"[]", b"1", b'"x"', b"null", b"\xff", b"[" * 20_000, b"9" * 10_000]
)
def test_a_header_that_is_no_json_object_is_an_error(save, header):
    path = save(HEAD.encode() + header + b"\na\t1\n")
    with pytest.raises(volt.InputError, match=r"line 1: the counts header"):
        volt.count(path)


def test_a_file_cut_short_at_any_byte_is_an_error(save):
    for length in range(len(HEAD), len(GOOD) - 1):
        with pytest.raises(volt.InputError, match=r"counts\.tsv, line \d"):
            volt.count(save(GOOD[:length]))
    assert volt.count(save(GOOD[:-1])).to_dict()["▁the"] == 2  # only the final line end is missing


def test_a_line_more_or_an_edited_count_is_an_error(save):
    with pytest.raises(volt.InputError, match="edited"):
        volt.count(save(GOOD + b"more\t1\n"))
    with pytest.raises(volt.InputError, match="edited"):
        volt.count(save(GOOD.replace(b"the\t2", b"the\t3")))


@given(st.data())
def test_a_damaged_file_gives_counts_or_a_volt_error_never_anything_else(save, data):
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(damaged)))
        stop = min(len(damaged), start + data.draw(st.integers(0, 8)))
        patch = data.draw(
            st.binary(max_size=6) | st.sampled_from([b"\t", b"\n", b"\\", b"9" * 20, b'"', b"-"])
        )
        damaged[start:stop] = patch
    path = save(bytes(damaged))
    for options in ({}, {"input_format": "counts"}, {"input_format": "text"}):
        try:
            volt.count(path, **options)
        except volt.VoltError as error:
            assert str(error)


@given(
    st.lists(
        st.tuples(
            st.lists(awkward | any_character, min_size=1, max_size=6).map("".join),
            st.integers(1, 2**40),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda item: item[0],
    ),
    st.sampled_from(PRETOKENIZERS),
)
def test_words_given_by_hand_are_taken_as_they_are_or_refused(save, items, pretokenizer):
    escapes = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})
    path = save("".join(f"{word.translate(escapes)}\t{count}\n" for word, count in items))
    try:
        found = volt.count(path, input_format="counts", pretokenizer=pretokenizer)
    except volt.InputError:
        assume(False)
    assert found.to_dict() == dict(items)
    assert_same(volt.count(save(written(found))), found)
