"""Parallel text on its way to a model."""

import numpy as np
import pytest
from cipher import encipher, sentences

from volt.errors import InputError
from volt.trial.data import (
    END,
    MOST_TOKENS,
    PAD,
    Parallel,
    batches,
    encode,
    padded,
    read_parallel,
    short_enough,
    without_empty,
)
from volt.trial.vocabularies import make_vocabulary

LINES = sentences(300, 0)
TEXT = Parallel(LINES, [encipher(line) for line in LINES])


def test_unequal_line_counts_are_refused(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("eins\n")
    with pytest.raises(InputError, match=r"a has 2 lines and .*b 1"):
        read_parallel(tmp_path / "a", tmp_path / "b")


def test_empty_files_are_refused(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(InputError, match="empty"):
        read_parallel(tmp_path / "a", tmp_path / "a")


def test_lines_are_cut_at_line_feeds_only(tmp_path):
    (tmp_path / "a").write_bytes("x\u2028y\x0bz\r\n\nlast".encode())
    assert read_parallel(tmp_path / "a", tmp_path / "a").source == ["x\u2028y\x0bz", "", "last"]


def test_pairs_with_an_empty_side_are_not_trained_on():
    kept, left_out = without_empty(Parallel(["a", " ", "c"], ["x", "y", ""]))
    assert (kept.source, kept.target, left_out) == (["a"], ["x"], 2)


def test_too_long_lines_are_cut_and_counted():
    vocabulary = make_vocabulary("byte", [])
    encoded = encode(Parallel(["a" * 3000, "b"], ["c", "d" * 999]), vocabulary)
    assert encoded.cut == 1
    assert len(encoded.source[0]) == MOST_TOKENS - 1
    assert short_enough(encoded, 256).tolist() == []
    assert short_enough(encoded, 1000).tolist() == [1]


def test_batches_hold_every_pair_once_and_no_more_than_their_size():
    encoded = encode(TEXT, make_vocabulary("char", LINES))
    everything = np.arange(len(encoded))
    found = list(batches(encoded, everything, 200, "tokens", np.random.default_rng(1)))
    assert sorted(np.concatenate(found).tolist()) == everything.tolist()
    for batch in found:
        longest = max(max(len(encoded.source[i]), len(encoded.target[i])) + 1 for i in batch)
        assert len(batch) * longest <= 200 or len(batch) == 1
    again = list(batches(encoded, everything, 200, "tokens", np.random.default_rng(1)))
    other = list(batches(encoded, everything, 200, "tokens", np.random.default_rng(2)))
    assert [one.tolist() for one in found] == [one.tolist() for one in again]
    assert [one.tolist() for one in found] != [one.tolist() for one in other]


def test_batches_by_characters_are_the_same_for_every_vocabulary():
    found = [
        [
            one.tolist()
            for one in batches(
                encode(TEXT, make_vocabulary(spec, LINES)), np.arange(len(LINES)), 300,
                "characters", np.random.default_rng([0, 3]),
            )
        ]
        for spec in ("byte", "bpe:60")
    ]  # fmt: skip
    assert found[0] == found[1]
    assert len(found[0]) > 10


def test_rows_end_and_are_filled_up():
    rows = padded([np.array([7, 8], np.int32), np.array([], np.int32)])
    assert rows.tolist() == [[7, 8, END], [END, PAD, PAD]]
