"""Long words are encoded in parts, with the ids of the whole word, and files in constant memory."""

import random
import subprocess
import sys
from functools import partial
from unittest import mock

import pytest
import test_encode
import test_look_up
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import _core
from volt.counting.words import PRETOKENIZERS
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

WORDS = st.builds(
    lambda unit, times, rest: (unit * times + rest)[:200],
    st.text("ab", min_size=1, max_size=5) | st.text("abAé1.=/\n' ", min_size=1, max_size=5),
    st.integers(1, 80),
    st.text("ab 1\n=", max_size=60),
)
READS = st.sampled_from(["line", "document"])
VOCABULARIES = test_encode.vocabularies() | test_look_up.vocabularies()


def in_parts_of(vocabulary: Vocabulary, part: int) -> Tokenizer:
    """A tokenizer that encodes so many bytes of a word at a time."""
    with mock.patch.object(_core, "Matching", partial(_core.Matching, part=part)):
        return Tokenizer(vocabulary, threads=1)


def fed(tokenizer: Tokenizer, data: bytes, step: int, reads: str) -> list[int]:
    """The ids of a file that is read in small blocks."""
    encoder = _core.LineEncoder(tokenizer._encoder, b"", 0.0, 0, 1, reads)
    done = have = 0
    last = False
    while not last:
        have += min(step, len(data) - done - have)
        last = done + have == len(data)
        consumed, _, invalid = encoder.feed(data[done : done + have], last)
        assert invalid < 0
        encoder.collect()
        done += consumed
        have -= consumed
    return list(encoder.take()[0])


@given(VOCABULARIES, WORDS, st.integers(1, 40))
def test_a_word_in_parts_has_the_ids_of_the_whole(vocabulary, text, part):
    expected = Tokenizer(vocabulary, threads=1).encode(text)
    assert in_parts_of(vocabulary, part).encode(text) == expected


@given(
    VOCABULARIES,
    WORDS,
    st.integers(1, 40),
    st.integers(1, 60),
    st.sampled_from(["line", "document"]),
)
def test_a_file_in_parts_has_the_ids_of_the_whole(vocabulary, text, part, step, reads):
    """A word that goes on after a block is encoded as far as its ids are sure."""
    data = text.encode()
    expected = fed(Tokenizer(vocabulary, threads=1), data, len(data) + 1, reads)
    assert fed(in_parts_of(vocabulary, part), data, step, reads) == expected


TEXT = ["".join(random.Random(n).choices("abcd", k=9)) for n in range(300)] + [
    "=" * 40,
    "aaaaa" * 8,
]
LONG = {
    "letters": "".join(random.Random(3).choices("abcd", k=1000)) * 2,
    "one letter": "a" * 2000,
    "two letters": "ab" * 1000,
    "signs": "=" * 2000,
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("pretokenizer", sorted(PRETOKENIZERS))
@pytest.mark.parametrize("rule", ["pairs", "concat"])
def test_little_of_a_long_word_waits(pretokenizer, name, rule):
    """Not only the same ids: what waits for more text does not grow with the word."""
    found = volt.candidates(
        [TEXT], pretokenizer=pretokenizer, merges=60, min_frequency=1, coverage=1.0
    )
    merged = range(found.alphabet_size, len(found))
    vocabulary = build_vocabulary(found, merged, merge_rule=rule)
    tokenizer = in_parts_of(vocabulary, 256)
    data = LONG[name].encode()
    encoder = _core.LineEncoder(tokenizer._encoder, b"", 0.0, 0, 1, "line")
    done, most = 0, 0
    for end in range(0, len(data), 100):
        consumed, _, _ = encoder.feed(data[done:end], False)
        done += consumed
        most = max(most, end - done)
        encoder.collect()
    encoder.feed(data[done:], True)
    encoder.collect()
    assert list(encoder.take()[0]) == Tokenizer(vocabulary).encode(LONG[name])
    assert most < 1000


PROGRAM = """
import resource, sys, volt
tokenizer = volt.load(sys.argv[1], threads=1)
size = 0
for ids, _ in tokenizer.encode_to_arrays(volt.Files([sys.argv[2]])): size += len(ids)
print(size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in kilobytes there")
@pytest.mark.parametrize("candidates", ["bpe:200", "unigram:200"])
def test_memory_does_not_grow_with_a_word(tmp_path, candidates):
    learned = volt.learn([TEXT], size=320, candidates=candidates)
    learned.save(tmp_path / "model")
    found = []
    for name, megabytes in (("short", 1), ("long", 24)):
        (tmp_path / name).write_text("".join(random.Random(5).choices("abcd", k=10**6)) * megabytes)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, tmp_path / "model", tmp_path / name],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.append([int(number) for number in done.stdout.split()])
    (few, small), (many, large) = found
    assert 23 * few < many < 25 * few
    assert large - small < 64, "a word of 24 MB took 40 times as much"
