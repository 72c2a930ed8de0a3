"""Cleaning keeps both sides aligned."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volt.base.errors import InputError, SettingsError
from volt.data import clean_files
from volt.data.clean import cleaned
from volt.data.datasets import Cleaning

VOLT = Path(sys.executable).with_name("volt")
LINES = st.lists(st.text("ab \t", max_size=12), max_size=12)


@given(LINES, LINES, st.integers(0, 3), st.integers(3, 6), st.sampled_from([None, 1.0, 1.5, 3.0]))
def test_kept_pairs_are_those_within_the_limits(source, target, minimum, maximum, ratio):
    pairs = list(zip(source, target, strict=False))
    found = list(cleaned(pairs, Cleaning(minimum, maximum, ratio)))
    for (one, other), kept in zip(pairs, found, strict=True):
        first, second = len(one.split()), len(other.split())
        good = minimum <= min(first, second) and max(first, second) <= maximum
        if good and ratio is not None:
            good = max(first, second) <= ratio * min(first, second)
        assert (kept is not None) == good
        if kept:
            assert kept == (" ".join(one.split()), " ".join(other.split()))


def test_files_stay_aligned(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress("eins  zwei\n\nx\u00a0y z\nlang \n".encode()))
    (tmp_path / "b").write_text("one two\nempty\n1 2 3\na b c d\n", encoding="utf-8")
    done = subprocess.run(
        [VOLT, "data", "clean", tmp_path / "a", tmp_path / "b", "--ratio", "1.5",
         "-o", tmp_path / "c", tmp_path / "d"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == "2 of 4 pairs kept\n"
    assert (tmp_path / "c").read_text(encoding="utf-8") == "eins zwei\nx y z\n"
    assert (tmp_path / "d").read_text(encoding="utf-8") == "one two\n1 2 3\n"


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [(b"a\n", b"b\nc\n", "ends after 1 lines"), (b"", b"", "empty"), (b"\xff\n", b"a\n", "line 1")],
)
def test_what_is_not_parallel_leaves_nothing(tmp_path, source, target, words):
    (tmp_path / "a").write_bytes(source)
    (tmp_path / "b").write_bytes(target)
    with pytest.raises(InputError, match=words):
        clean_files(tmp_path / "a", tmp_path / "b", tmp_path / "c", tmp_path / "d")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("limits", [Cleaning(9, 3, None), Cleaning(1, 80, 0.5)])
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(SettingsError):
        list(cleaned([("a", "b")], limits))
