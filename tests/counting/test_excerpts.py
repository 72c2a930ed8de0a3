"""Lines from all over a text: the same for any blocks that it comes in."""

import numpy as np
import pytest

from volt.counting.documents import documents_of
from volt.counting.excerpts import EXCERPT, MOST_LINES, PIECE, Excerpting

LINES = [b"%d %s\n" % (i, b"x" * (i % 7)) for i in range(5000)]


def excerpt(blocks):
    found = Excerpting()
    for block in blocks:
        found.block(block)
    return found.done()


@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_blocks_do_not_matter(size, monkeypatch):
    monkeypatch.setattr("volt.counting.excerpts.EXCERPT", 2000)
    text = b"".join(LINES) + b"open end"
    whole = excerpt([text])
    parts = excerpt(text[i : i + size] for i in range(0, len(text), size))
    assert parts.lines == whole.lines
    assert parts.numbers.tolist() == whole.numbers.tolist()
    all_lines = [*LINES, b"open end"]
    assert whole.lines == [all_lines[i] for i in whole.numbers.tolist()]
    assert 500 < len(whole.text) <= 2000


def test_documents_are_taken_like_lines(monkeypatch):
    monkeypatch.setattr("volt.counting.excerpts.EXCERPT", 2000)
    found = Excerpting()
    for start in range(0, len(LINES), 999):
        found.documents(documents_of([one[:-1] for one in LINES[start : start + 999]]))
    assert found.done().lines == excerpt(LINES).lines


def test_all_of_a_short_text_is_taken():
    assert excerpt(LINES).lines == LINES
    assert excerpt([]).lines == []
    assert excerpt([b"", b"a", b"", b"b"]).lines == [b"ab"]


def test_a_line_that_is_too_long_is_left_out():
    long = b"x" * EXCERPT
    found = excerpt([b"a\n", long, long, b"\nb\n"])
    assert (found.lines, found.numbers.tolist()) == ([b"a\n", b"b\n"], [0, 2])


def test_empty_lines_do_not_fill_the_memory():
    found = excerpt([b"\n" * 300_000])
    assert MOST_LINES / 4 < len(found.lines) <= MOST_LINES


def test_a_level_is_part_of_the_one_below():
    found = excerpt(LINES)
    assert found.level(len(found.text)) == 0
    low, high = found.at(1), found.at(2)
    assert set(high.lines) < set(low.lines) < set(LINES)
    assert len(low.lines) == pytest.approx(2500, rel=0.1)
    assert len(found.at(found.level(3000)).text) <= 3000
    assert np.all(np.diff(high.numbers.astype(np.int64)) > 0)


def test_one_long_document_does_not_push_out_the_others():
    """Pieces of many documents, the same whatever batches they come in."""
    lines = [b"line %d of it\n" % i for i in range(20_000)]
    documents = [b"".join(lines[: 3 + 40 * (i % 10)]) for i in range(400)]
    documents[7::20] = [b"".join(lines)] * 20  # 0.3 MB each
    documents[9] = "日本語".encode() * 200_000  # a line of 1.8 MB
    found = {}
    for size in (1, 13, 400):
        taking = Excerpting()
        for start in range(0, 400, size):
            taking.documents(documents_of([one[:-1] for one in documents[start : start + size]]))
        found[size] = taking.done()
    assert found[1].lines == found[13].lines == found[400].lines
    whole = found[400]
    assert EXCERPT / 4 < len(whole.text) <= EXCERPT
    assert max(map(len, whole.lines)) <= PIECE
    assert len(whole.lines) > 100
    assert b"\xef\xbf\xbd" not in whole.text and whole.text.decode()
    runs = whole.runs()
    assert b"".join(runs.lines) == whole.text
    some = runs.at(runs.level(100_000))
    assert 45_000 < len(some.text) <= 100_000
    assert len({number & ((1 << 40) - 1) for number in some.numbers.tolist()}) > 60


def test_documents_that_fit_are_taken_whole():
    documents = [b"".join(LINES), b"short\n"]
    taking = Excerpting()
    taking.documents(documents_of([one[:-1] for one in documents]))
    assert taking.done().lines == documents
