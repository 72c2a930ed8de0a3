"""Words cut at every size: equal to the slow twins and to the frequencies of the curve."""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import made, scored

import volt
from volt import reference
from volt.adapting.own_candidates import own_merges, own_pieces
from volt.counting.marks import byte_letters
from volt.proposing.base import token_set
from volt.proposing.cuts import text_bytes

PRETOKENIZERS = ["whitespace", "metaspace", "byte-level"]

some_text = st.text("abc ", min_size=1, max_size=30) | st.text("ab日ß ▁", min_size=1, max_size=12)
long_words = st.text("ab", min_size=33, max_size=60)


def texts_at(candidates, cuts, row):
    """The words as texts of tokens; numbers after those of the candidates stay."""
    tokens, offsets = cuts(row)
    named = [candidates.tokens[t] if t < len(candidates) else t - len(candidates)
             for t in tokens.tolist()]  # fmt: skip
    return [named[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def spelled(word: bytes, candidates, byte_fallback: bool):
    """A word in the symbols of the alphabet, by the definition."""
    alphabet = {*candidates.tokens[: candidates.alphabet_size]} - {"<unk>"}
    if candidates.rule.mode.byte_level:
        return [*byte_letters(word)]
    letters = [*word.decode()]
    if candidates.rule.pretokenizer == "whitespace":
        letters[-1] += "</w>"
    unknown = "<unk>" if candidates.unknown is not None else 0
    found = []
    for letter in letters:
        if letter in alphabet:
            found.append(letter)
        elif byte_fallback:
            found += [*letter.replace("▁", " ").encode()]
        else:
            found.append(unknown)
    return found


@given(
    st.lists(some_text | long_words, min_size=1, max_size=8),
    st.lists(some_text | long_words, max_size=4),
    st.sampled_from(PRETOKENIZERS),
    st.booleans(),
    st.sampled_from([0.6, 1.0]),
    st.integers(1, 3),
)
def test_merges_cut_as_the_slow_twin(lines, others, pretokenizer, bytes_too, coverage, threads):
    learned = volt.count([lines], pretokenizer=pretokenizer)
    if pretokenizer == "byte-level":
        coverage = 1.0
    found = volt.candidates(learned, merges=30, min_frequency=1, coverage=coverage)
    words = volt.count([lines + others], pretokenizer=pretokenizer)
    byte_fallback = bytes_too and pretokenizer == "metaspace"
    cuts = found.cuts(words, threads, byte_fallback)
    symbols = [spelled(word, found, byte_fallback) for word in words.word_bytes()]
    pairs = [(found.tokens[a], found.tokens[b])
             for a, b in zip(found.left.tolist(), found.right.tolist(), strict=True)]  # fmt: skip
    for row in {0, 1, found.merges // 2, found.merges} & {*range(found.merges + 1)}:
        expected = [reduce(reference.merges.join, pairs[:row], word) for word in symbols]
        assert texts_at(found, cuts, row) == expected


def frequencies(candidates, words, row):
    tokens, offsets = candidates.cuts(words)(row)
    weights = np.repeat(words.counts, np.diff(offsets).astype(np.int64))
    found = np.zeros(len(candidates), np.uint64)
    np.add.at(found, tokens, weights)
    return found.tolist()


TEXT = ["low lower lowest new newer newest wide wider widest slow slower slowest ▁ 日本"] * 3 + [
    "the newest and the widest of them wallow slowly below the lower window"
]


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize(
    "source", ["bpe", "wordpiece", "bpe+unigram", "bpe+longest", "substring", "substring+longest"]
)
def test_the_curve_counts_the_same_tokens(source, pretokenizer):
    name, _, encoding = source.partition("+")
    if name == "wordpiece":
        encoding = "merge"
    words = volt.count([TEXT], pretokenizer=pretokenizer)
    found = volt.candidates(
        words, candidates=f"{name}:60", encoding=encoding or None, min_frequency=1,
        coverage=1.0 if pretokenizer == "byte-level" else 0.97,
    )  # fmt: skip
    assert (found.unknown is not None) == (pretokenizer != "byte-level")
    ranking, learned = found.ranking(), found.curve.learned - found.alphabet_size
    for row in {0, len(learned) // 2, len(learned) - 1}:
        inside = token_set(found, ranking[: learned[row]])
        (expected,) = found.frequencies_at([inside])
        used = frequencies(found, words, row)
        assert np.flatnonzero(used).tolist() == expected.tokens.tolist()
        assert [f for f in used if f] == expected.frequency.tolist()
        assert sum(used) == found.curve.tokens[row]


@pytest.mark.parametrize("encoding", ["unigram", "longest"])
def test_pieces_spell_unknown_characters_in_bytes(encoding):
    learned = volt.count([["low lower lowest"] * 3])
    found = volt.candidates(learned, candidates="substring:9", encoding=encoding)
    words = volt.count([["low é wol"]])
    last = len(found.curve.learned) - 1
    named = dict(zip(words.words, texts_at(found, found.cuts(words, 2, True), last), strict=True))
    assert named["▁low"] == ["▁low"]
    assert named["▁é"] == ["▁", 0xC3, 0xA9]
    plain = dict(zip(words.words, texts_at(found, found.cuts(words), last), strict=True))
    assert plain["▁é"] == ["▁", 0]


def test_a_space_outside_the_alphabet_is_one_byte():
    words = volt.count([["aaaa"]])
    found = volt.candidates(words, merges=0, coverage=0.5)
    assert found.tokens == ["a", "<unk>"]
    assert texts_at(found, found.cuts(words, 1, True), 0) == [[0x20, "a", "a", "a", "a"]]
    assert texts_at(found, found.cuts(words), 0) == [["<unk>", "a", "a", "a", "a"]]


@pytest.mark.parametrize("order", ["rank", "use"])
@pytest.mark.parametrize("mode", ["metaspace", "whitespace", "byte-level"])
def test_merges_of_a_vocabulary_are_cut_as_it_encodes(mode, order):
    lines = [line.replace("▁ 日本", "") for line in TEXT]
    vocabulary = made(lines, 1, pretokenizer=mode)
    words = volt.count([lines], pretokenizer=mode)
    found = own_merges(vocabulary, words, order=order)
    for row in {0, found.merges // 2, found.merges}:
        inside = token_set(found, found.ranking()[:row])
        (expected,) = found.frequencies_at([inside])
        used = frequencies(found, words, row)
        assert np.flatnonzero(used).tolist() == expected.tokens.tolist()
        assert [f for f in used if f] == expected.frequency.tolist()


def test_pieces_of_a_vocabulary_are_cut_as_it_encodes():
    lines = ["low lower lowest new newer newest wide wider widest"] * 3
    words = volt.count([lines])
    found = own_pieces(scored(lines, 2, "metaspace", "unk"), words)
    ranking, learned = found.ranking(), found.curve.learned - found.alphabet_size
    for row in {0, len(learned) // 2, len(learned) - 1}:
        expected = found.cut(token_set(found, ranking[: learned[row]]))
        assert frequencies(found, words, row) == expected.tolist()


@pytest.mark.parametrize(
    ("pretokenizer", "expected"),
    [
        ("whitespace", {"low": 4, "日": 4, "a": 2}),
        ("metaspace", {"▁low": 4, "▁日": 4, "▁a": 2}),
        ("byte-level", {"low": 3, " 日": 4, " a": 2}),
    ],
)
def test_a_space_counts_as_one_byte(pretokenizer, expected):
    words = volt.count([["low 日 a"]], pretokenizer=pretokenizer)
    assert dict(zip(words.words, text_bytes(words).tolist(), strict=True)) == expected
    assert text_bytes(volt.count([[]], pretokenizer=pretokenizer)).tolist() == []


def test_damaged_arrays_are_refused():
    words = volt.count([["low lower"]])
    found = volt.candidates(words, merges=3, min_frequency=1)
    cuts = found.cuts(words)
    tokens, offsets = cuts(found.merges)
    with pytest.raises(ValueError, match="not so many merges"):
        cuts(found.merges + 1)
    with pytest.raises(ValueError, match="does not exist yet"):
        replace(found, left=found.left + 1000).undo_merges(tokens, offsets)(0)
    with pytest.raises(ValueError, match="span"):
        found.undo_merges(tokens[1:], offsets)(0)
    with pytest.raises(ValueError, match="not valid UTF-8"):
        found.cuts(replace(words, text=words.text | 0x80))
    with pytest.raises(ValueError, match="no threads"):
        found.cuts(words, 0)
