"""Lines from all over a text: the same for any blocks that it comes in."""

import numpy as np
import pytest

from volt.counting.documents import documents_of
from volt.counting.excerpts import EXCERPT, MOST_LINES, Excerpting

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
