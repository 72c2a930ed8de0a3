"""Parallel text on its way to a model."""

import numpy as np
import pytest
from cipher import encipher, sentences

from volt.base.errors import InputError, SettingsError
from volt.settings import InputSettings
from volt.trial.data import (
    END,
    PAD,
    POOL,
    TrialText,
    batches,
    encode_text,
    hold_out,
    padded,
    read_parallel,
    read_sentences,
    without_empty,
    without_long,
)
from volt.trial.presets import CHARACTERS_PER_TOKEN, MOST_TOKENS
from volt.trial.run import read_as
from volt.trial.vocabularies import make_vocabulary

LINES = sentences(300, 0)
TEXT = TrialText(LINES, [encipher(line) for line in LINES])


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


def test_the_field_of_records_can_be_named(tmp_path):
    for name, word in (("a.jsonl", "cat"), ("b.jsonl", "Katze")):
        (tmp_path / name).write_text(f'{{"text": "no", "note": "{word}"}}\n', encoding="utf-8")
    notes = InputSettings(field=["note"])
    read = read_parallel(tmp_path / "a.jsonl", tmp_path / "b.jsonl", notes)
    assert read.sides == [["cat"], ["Katze"]]
    assert read_sentences(tmp_path / "a.jsonl", reading=notes).target == ["cat"]


def test_word_counts_are_not_text_of_a_trial():
    with pytest.raises(SettingsError, match="word counts are not enough"):
        read_as({"input_format": "counts"})


def test_pairs_with_an_empty_side_are_not_trained_on():
    kept, left_out = without_empty(TrialText(["a", " ", "c"], ["x", "y", ""]))
    assert (kept.source, kept.target, left_out) == (["a"], ["x"], 2)


def test_too_long_lines_are_cut_and_counted():
    vocabulary = make_vocabulary("byte", [])
    encoded = encode_text(TrialText(["é" * 3000, "b"], ["c", "d" * 999]), vocabulary)
    assert encoded.cut == 1
    assert len(encoded.source[0]) == MOST_TOKENS - 1
    # 511 letters, half of one, and the line end: what the loss is counted on.
    assert encoded.characters.tolist() == [3001, 1000]
    assert encoded.bytes.tolist() == [2, 1000]
    (alone,) = (encode_text(TrialText(None, ["é" * 3000]), vocabulary),)
    assert alone.bytes.tolist() == [511 * 2 + 3 + 1]  # half a letter is shown as a sign of 3 bytes


def test_a_pair_that_is_too_long_for_one_vocabulary_is_left_out_for_all():
    text = TrialText(["é" * 130, "b", "é" * 100], ["c", "d" * 999, "e"])
    byte, char = make_vocabulary("byte", []), make_vocabulary("char", ["bcdeé"])
    assert without_long(text, [char], 256) == (
        TrialText(["é" * 130, "é" * 100], ["c", "e"]), 1
    )  # fmt: skip
    assert without_long(text, [char, byte], 256) == (TrialText(["é" * 100], ["e"]), 2)
    assert without_long(text, [char, byte], 1000) == (text, 0)


def test_batches_hold_every_pair_once_and_no_more_than_their_size():
    encoded = encode_text(TEXT, make_vocabulary("char", LINES))
    everything = np.arange(len(encoded))
    found = list(batches(encoded, 200, "tokens", np.random.default_rng(1)))
    assert sorted(np.concatenate(found).tolist()) == everything.tolist()
    for batch in found:
        longest = max(max(len(encoded.source[i]), len(encoded.target[i])) + 1 for i in batch)
        assert len(batch) * longest <= 200 or len(batch) == 1
    again = list(batches(encoded, 200, "tokens", np.random.default_rng(1)))
    other = list(batches(encoded, 200, "tokens", np.random.default_rng(2)))
    assert [one.tolist() for one in found] == [one.tolist() for one in again]
    assert [one.tolist() for one in found] != [one.tolist() for one in other]


def test_batches_by_characters_are_the_same_for_every_vocabulary():
    found = [
        [
            one.tolist()
            for one in batches(
                encode_text(TEXT, make_vocabulary(spec, LINES)), 300, "characters",
                np.random.default_rng([0, 3]),
            )
        ]
        for spec in ("byte", "bpe:320")
    ]  # fmt: skip
    assert found[0] == found[1]
    assert len(found[0]) > 10


def test_batches_by_tokens_draw_the_same_sentences_at_a_time_for_every_vocabulary():
    pools = []
    for spec in ("byte", "bpe:320"):
        encoded = encode_text(TEXT, make_vocabulary(spec, LINES))
        found = batches(encoded, 20, "tokens", np.random.default_rng([0, 3]))
        pool = int(POOL * 20 * CHARACTERS_PER_TOKEN / encoded.characters.mean())
        assert pool < len(LINES)
        pools.append(sorted(np.concatenate(list(found)).tolist()[:pool]))
    assert pools[0] == pools[1] != list(range(len(pools[0])))


def test_rows_end_and_are_filled_up():
    rows = padded([np.array([7, 8], np.int32), np.array([], np.int32)])
    assert rows.tolist() == [[7, 8, END], [END, PAD, PAD]]


def test_one_line_in_twenty_is_held_out(tmp_path):
    lines = [f"line {number}" for number in range(45)]
    text, held_out = hold_out(TrialText(None, lines))
    assert held_out.target == ["line 19", "line 39"]
    assert text.target == [line for line in lines if line not in held_out.target]
    with pytest.raises(InputError, match="name a file in `heldout`"):
        hold_out(TrialText(None, lines[:19]))
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}1\n\n{name}2\n")
    read = read_sentences(tmp_path / "a", tmp_path / "b")
    assert (read.source, read.target) == (None, ["a1", "", "a2", "b1", "", "b2"])
    assert without_empty(read) == (TrialText(None, ["a1", "a2", "b1", "b2"]), 2)
