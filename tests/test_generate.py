"""Text made for benchmarks: the same bytes for the same seed, and new words without end."""

import subprocess
import sys
from pathlib import Path

import pytest

import volt

GENERATE = Path(__file__).parents[1] / "benchmarks" / "generate.py"


@pytest.fixture(scope="module")
def generate():
    sys.path.insert(0, str(GENERATE.parent))
    try:
        import generate
    finally:
        sys.path.remove(str(GENERATE.parent))
    return generate


def test_the_same_seed_gives_the_same_bytes(generate, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate.write_text(["latin-b", "han"], 0.2, seed, tmp_path / name)
    first, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == again
    assert first != other
    assert len(first) == pytest.approx(200_000, rel=0.05)


def test_new_words_keep_coming(generate, tmp_path):
    """Twice the text has between 2^0.4 and 2^0.9 times the types, as Heaps' law says."""
    types = []
    for megabytes in (1, 2):
        path = tmp_path / f"{megabytes}.txt"
        generate.write_text(["latin-a"], megabytes, 0, path)
        types.append(len(volt.count([path], pretokenizer="whitespace").words))
    assert 2**0.4 < types[1] / types[0] < 2**0.9


def test_a_counts_file_has_the_words_it_was_asked_for(tmp_path):
    path = tmp_path / "counts.tsv"
    command = [sys.executable, GENERATE, "--types", "5000", "--languages", "greek", "-o", path]
    subprocess.run(command, check=True)
    counts = volt.count([path], input_format="pairs", pretokenizer="whitespace")
    assert 4_900 <= len(counts.words) <= 5_000
    assert min(counts.counts) == 1
