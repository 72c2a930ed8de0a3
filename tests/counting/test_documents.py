"""Whole documents: words with line ends, wherever parts, blocks and threads end."""

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import _core, reference
from volt.counting.words import PRETOKENIZERS, WordRule

BYTE_LEVEL = [name for name, mode in PRETOKENIZERS.items() if mode.byte_level]
PARTS = [
    *"aASǅſ1²!/'«\u0301é日。ー・ガ゠龦 \t\n\r\u00a0\u3000\u2028\x85\x00\u200b\u3040_",
    "'s", "'LL", "12345", "\r\n", "  ", "def f(x):", "\n    ", "!!\n\n", " \n ", "x" * 9,
    "\n" * 9, " " * 9, "!" * 9, "\n/" * 5, "漢" * 9, "\x00" * 9, "!abcdefgh", "\u0301" * 9,
    " \n" * 5, "!\n\n\n\n\n\n\n\n", "/\n/\n/!\n", "A" * 9 + "b" * 9, "'sé",
]  # fmt: skip
hostile = st.lists(st.sampled_from(PARTS), max_size=25).map("".join) | st.text(max_size=30)
patterns = st.sampled_from(BYTE_LEVEL)


def counted(counter):
    text, offsets, counts = counter.finish(1)
    data = text.tobytes()
    words = [data[a:b].decode() for a, b in pairwise(offsets.tolist())]
    return dict(zip(words, counts.tolist(), strict=True)), counter.totals["cut_words"]


def expected(texts, pretokenizer, longest):
    words = [word for text in texts for word in reference.words.words_of(text, pretokenizer)]
    pieces = Counter(piece for word in words for piece in reference.words.cut(word, longest))
    return dict(pieces), sum(len(word) > longest for word in words)


def feed(counter, text, step):
    """Feed a document, `step` bytes more at a time."""
    data = text.encode()
    done = have = 0
    while True:
        have = min(have + step, len(data) - done)
        last = done + have == len(data)
        consumed, _, invalid = counter.feed(data[done : done + have], last, 1)
        assert invalid < 0
        done += consumed
        have -= consumed
        if last:
            assert have == 0
            return


@given(hostile, patterns)
def test_words_are_those_of_the_reference(text, pretokenizer):
    assert _core.words_of(text, pretokenizer) == reference.words.words_of(text, pretokenizer)


@given(hostile, patterns)
def test_a_cut_changes_no_word(text, pretokenizer):
    cuts = reference.words.cuts_of(text)
    assert _core.cuts_of(text, pretokenizer) == [len(text[:cut].encode()) for cut in cuts]
    words = reference.words.words_of(text, pretokenizer)
    for cut in cuts:
        parts = [reference.words.words_of(part, pretokenizer) for part in (text[:cut], text[cut:])]
        assert parts[0] + parts[1] == words, (text[:cut], text[cut:])


@given(
    st.lists(hostile, min_size=1, max_size=4), patterns, st.integers(2, 12), st.integers(1, 40),
    st.integers(1, 3),
)  # fmt: skip
def test_counts_do_not_depend_on_parts(texts, pretokenizer, longest, step, threads):
    rule = WordRule(pretokenizer, max_word_length=longest)
    whole, parts = rule.counter(), rule.counter(threads)
    for text in texts:
        whole.feed(text.encode(), True, 1)
        feed(parts, text, step)
    found = counted(whole)
    assert found == counted(parts) == expected(texts, pretokenizer, longest)


@given(st.lists(hostile, max_size=6), patterns, st.integers(2, 12), st.integers(1, 3))
def test_batches_of_documents(texts, pretokenizer, longest, threads):
    rule = WordRule(pretokenizer, max_word_length=longest)
    counter = rule.counter(threads)
    ends = np.cumsum([len(text.encode()) for text in texts]).astype(np.uint64)
    lines, invalid = counter.feed_documents("".join(texts).encode(), ends, 1)
    assert invalid < 0
    assert lines == sum(text.count("\n") + (not text.endswith("\n")) for text in texts if text)
    assert counted(counter) == expected(texts, pretokenizer, longest)


@pytest.mark.parametrize("pretokenizer", BYTE_LEVEL)
def test_threads_and_segments(pretokenizer):
    """Text that is larger than what a thread takes at a time, with and without spaces."""
    generator = random.Random(5)
    rows = ["\n" + "    " * generator.randrange(9) + "x = f(y)  # é" for _ in range(30_000)]
    for text in ("".join(rows), "".join(generator.choices(PARTS, k=200_000)), "漢字。\n" * 90_000):
        words = Counter(_core.words_of(text, pretokenizer))
        for threads in (1, 3):
            counter = WordRule(pretokenizer, max_word_length=10**6).counter(threads)
            feed(counter, text, 300_000)
            assert counted(counter)[0] == words


def test_ends_that_are_wrong():
    counter = WordRule("byte-level").counter()
    for ends in ([1], [3, 2], [2, 4]):
        with pytest.raises(ValueError, match="ascend"):
            counter.feed_documents(b"abc", np.array(ends, np.uint64), 1)
    assert counter.feed_documents(b"", np.zeros(0, np.uint64), 1) == (0, -1)


def test_units(tmp_path):
    """A file, an item of an iterable: documents for byte-level text, lines for the others."""
    text = "one\n\n\ttwo\r\nthree"
    (tmp_path / "text").write_bytes(text.encode())
    for inputs in (str(tmp_path / "text"), [[text]]):
        found = volt.count(inputs, pretokenizer="byte-level")
        assert found.rule.reads == "document"
        assert found.to_dict() == dict.fromkeys(
            ["one", "\n\n", "\t", "two", "\r", "\n", "three"], 1
        )
        assert (found.totals.documents, found.totals.lines) == (1, 4)
        lines = volt.count(inputs, pretokenizer="byte-level", unit="line")
        assert lines.to_dict() == {"one": 1, "\t": 1, "two": 1, "three": 1}
        assert (lines.totals.documents, lines.totals.lines) == (0, 4)
        assert volt.count(inputs).rule.reads == "line"
    for pretokenizer in ("metaspace", "whitespace"):
        with pytest.raises(volt.SettingsError, match="reads lines"):
            volt.count([[text]], pretokenizer=pretokenizer, unit="document")


def test_counts_files(tmp_path):
    text = "a\n b\n\n" * 3 + "\n" * 200
    found = volt.count([[text, "\n"]], pretokenizer="byte-level:llama3")
    found.save(tmp_path / "a.tsv")
    header = (tmp_path / "a.tsv").read_text().partition("\n")[0]
    assert '"format": 2' in header
    assert '"reads": "document"' in header
    again = volt.count([tmp_path / "a.tsv", tmp_path / "a.tsv"])
    assert again.rule == found.rule
    assert again.to_dict() == {word: 2 * count for word, count in found.items()}
    assert again.totals.documents == 4
    volt.count([["a"]], pretokenizer="byte-level:llama3", unit="line").save(tmp_path / "b.tsv")
    assert "reads" not in (tmp_path / "b.tsv").read_text()
    with pytest.raises(volt.SettingsError, match="different rules"):
        volt.count([tmp_path / "a.tsv", tmp_path / "b.tsv"])
    with pytest.raises(volt.SettingsError, match="unit=document"):
        volt.count([tmp_path / "a.tsv"], unit="line")


@given(st.lists(hostile, min_size=1, max_size=3), patterns, st.integers(2, 9))
def test_words_in_files_are_accepted(texts, pretokenizer, longest):
    """What counting writes, the reader of counts files takes for words."""
    rule = WordRule(pretokenizer, max_word_length=longest)
    counter, again = rule.counter(), rule.counter()
    for text in texts:
        counter.feed(text.encode(), True, 1)
    text, offsets, counts = counter.finish(1)
    written = _core.write_words(text, offsets, counts)
    assert again.read_words(written, True, 1)[2] == ""
    assert _core.write_words(*again.finish(1)) == written


def test_spilled(tmp_path):
    generator = random.Random(6)
    text = "".join(generator.choices(PARTS, k=9000))
    file = tmp_path / "text"
    file.write_bytes(text.encode())
    for pretokenizer in ("byte-level", "byte-level:o200k"):
        volt.count(file, pretokenizer=pretokenizer).save(tmp_path / "a")
        volt.count_to_file(file, tmp_path / "b", pretokenizer=pretokenizer, memory="256M")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        (tmp_path / "b").unlink()


CUSTOM = r"custom:\d|[a-z]+\n?"


def test_custom_patterns(tmp_path):
    found = volt.count([["ab\ncd 12!\n!x"]], pretokenizer=CUSTOM)
    assert found.to_dict() == dict.fromkeys(["ab\n", "cd", " ", "1", "2", "!\n!", "x"], 1)
    assert found.rule.reads == "document"
    found.save(tmp_path / "counts")
    assert volt.count(tmp_path / "counts").to_dict() == found.to_dict()
    lines = volt.count([["ab\ncd 12!\n!x"]], pretokenizer=CUSTOM, unit="line")
    assert lines.to_dict() == dict.fromkeys(["ab", "cd", " ", "1", "2", "!", "x"], 1) | {"!": 2}
    long = volt.count([["a" * 100]], pretokenizer=CUSTOM, max_word_length=60)
    assert long.to_dict() == {"a" * 60: 1, "a" * 40: 1}
    assert long.totals.cut_words == 1
    with pytest.raises(volt.SettingsError, match=r"custom:\(: not a pattern"):
        volt.count([["a"]], pretokenizer="custom:(")
    with pytest.raises(volt.SettingsError, match="custom:REGEX"):
        volt.count([["a"]], pretokenizer="custom:")


def test_a_document_too_long_for_a_custom_pattern(tmp_path, monkeypatch):
    monkeypatch.setattr("volt.counting.reading.LONGEST_CUSTOM", 5)
    (tmp_path / "text").write_text("abcdef")
    with pytest.raises(volt.InputError, match="whole documents"):
        volt.count(tmp_path / "text", pretokenizer=CUSTOM)


def test_invalid_text_in_a_document():
    batch = volt.counting.documents.Documents(b"a\xffb", np.array([1, 3], np.uint64))
    source = volt.counting.inputs.TextInput("data", Fraction(1), batches=lambda: iter([batch]))
    with pytest.raises(volt.InputError, match="data, record 2: invalid UTF-8"):
        volt.count(source, pretokenizer="byte-level")
    found = volt.count(source, pretokenizer="byte-level", on_invalid="replace")
    assert found.to_dict() == {"a": 1, "\ufffd": 1, "b": 1}
    assert found.totals.replaced == 1
