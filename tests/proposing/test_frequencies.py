"""Push-down: equal to the slow twin, to splitting every word by hand, and to BPE at each size."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import volt
from volt import reference
from volt.base.errors import SettingsError, VoltError
from volt.counting.marks import BYTE_LETTERS, UNKNOWN
from volt.proposing.base import token_characters, token_set

PRETOKENIZERS = ["whitespace", "metaspace", "byte-level"]

# Few letters, so that repeats (`aaaa`), ties and deep merges are common.
few_letters = st.text("ab", min_size=1, max_size=12)
some_text = st.text("abcd é日", min_size=1, max_size=14)
lines_of_text = st.lists(few_letters | some_text, min_size=1, max_size=12)


def made(lines, pretokenizer, merges=60, **options):
    counts = volt.count([lines], pretokenizer=pretokenizer, threads=1)
    return counts, volt.candidates(counts, merges=merges, min_frequency=1, threads=1, **options)


def parents_of(found):
    return {
        found.tokens[found.alphabet_size + m]: (found.tokens[a], found.tokens[b])
        for m, (a, b) in enumerate(zip(found.left.tolist(), found.right.tolist(), strict=True))
    }


def named(found, frequency):
    return {t: f for t, f in zip(found.tokens, frequency.tolist(), strict=True) if f}


def mask_of(found, seed, share):
    generator = random.Random(seed)
    inside = np.array([generator.random() < share for _ in found.tokens], bool)
    inside[: found.alphabet_size] = True
    return inside


any_seed = st.integers(0, 2**32)
any_share = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])


@given(lines_of_text, st.sampled_from(PRETOKENIZERS), any_seed, any_share)
@example(["aaaa aaaa aaaaaaaa"], "whitespace", 0, 0.0)
@example([" "], "whitespace", 0, 0.0)
def test_any_set_equals_the_slow_twin(lines, pretokenizer, seed, share):
    _, found = made(lines, pretokenizer)
    inside = mask_of(found, seed, share)
    slow = reference.merges.push_down(
        named(found, found.frequency),
        parents_of(found),
        {token for token, is_in in zip(found.tokens, inside.tolist(), strict=True) if is_in},
    )
    got = found.push_down(inside)
    assert named(found, got) == slow
    assert not got[~inside].any()
    lengths = found.lengths.astype(np.int64)
    assert got.astype(np.int64) @ lengths == found.curve.characters
    assert found.frequency @ lengths == found.curve.characters


@given(lines_of_text, st.sampled_from(["whitespace", "metaspace"]), any_seed, any_share)
def test_any_set_equals_splitting_the_tokens_of_every_word(lines, pretokenizer, seed, share):
    """What push-down stands for: segment by all candidates, split what is outside."""
    counts, found = made(lines, pretokenizer)
    inside = mask_of(found, seed, share)
    allowed = {t for t, is_in in zip(found.tokens, inside.tolist(), strict=True) if is_in}
    parents = parents_of(found)

    def split(token):
        if token in allowed:
            return [token]
        return [piece for parent in parents[token] for piece in split(parent)]

    slow = reference.merges.bpe(counts.to_dict(), pretokenizer, 60, min_frequency=1)
    pieces = {
        word: [piece for token in tokens for piece in split(token)]
        for word, tokens in slow.segmentation.items()
    }
    expected = reference.merges.token_frequencies(pieces, counts.to_dict())
    assert named(found, found.push_down(inside)) == expected


@given(lines_of_text, st.sampled_from(PRETOKENIZERS))
def test_the_first_merges_are_bpe_at_that_size(lines, pretokenizer):
    counts, found = made(lines, pretokenizer, merges=30)
    ranking = found.ranking("merge")
    for merges in range(found.merges + 1):
        got = found.push_down(token_set(found, ranking[:merges]))
        assert got.sum() == found.curve.tokens[merges]
        assert np.count_nonzero(got) == found.curve.types[merges]
        slow = reference.merges.bpe(counts.to_dict(), pretokenizer, merges, min_frequency=1)
        expected = reference.merges.token_frequencies(slow.segmentation, counts.to_dict())
        if pretokenizer == "byte-level":
            expected = {token.translate(BYTE_LETTERS): f for token, f in expected.items()}
        assert named(found, got) == expected


@given(
    lines_of_text,
    st.sampled_from(PRETOKENIZERS),
    st.sampled_from(["frequency", "merge"]),
    st.lists(st.integers(0, 70), min_size=1, max_size=5, unique=True),
)
def test_all_sets_at_once_equal_each_by_itself(lines, pretokenizer, by, sizes):
    _, found = made(lines, pretokenizer)
    ranking = found.ranking(by)
    sets = [token_set(found, ranking[:size]) for size in sorted(sizes)]
    every = found.frequencies_at(iter(sets))
    assert len(every) == len(sets)
    for at, inside in zip(every, sets, strict=True):
        expected = found.push_down(inside)
        assert np.array_equal(at.tokens, np.flatnonzero(expected))
        assert np.array_equal(at.frequency, expected[at.tokens])


@given(lines_of_text, st.sampled_from(PRETOKENIZERS), any_seed, any_share)
def test_closure_is_all_that_tokens_are_made_from(lines, pretokenizer, seed, share):
    _, found = made(lines, pretokenizer)
    kept = mask_of(found, seed, share)
    names = found.tokens
    pairs = zip(found.left.tolist(), found.right.tolist(), strict=True)
    parents = {
        names[found.alphabet_size + m]: (names[left], names[right])
        for m, (left, right) in enumerate(pairs)
    }
    expected = reference.merges.closure(parents, (names[i] for i in np.flatnonzero(kept)))
    assert {names[i] for i in np.flatnonzero(found.with_parents(kept))} == expected
    assert np.array_equal(found.close(kept), found.with_parents(kept))
    assert np.array_equal(replace(found, encoding="split").close(kept), kept)


def test_all_candidates_change_nothing_and_none_gives_characters():
    _, found = made(["low lower lowest newest widest"] * 3, "whitespace")
    everything = np.ones(len(found), bool)
    assert np.array_equal(found.push_down(everything), found.frequency)
    alphabet = token_set(found, found.ranking("merge")[:0])
    pushed = found.push_down(alphabet)
    assert np.array_equal(pushed[: found.alphabet_size], found.alphabet_counts)
    assert not pushed[found.alphabet_size :].any()


def test_a_count_that_vanishes_is_an_error_that_asks_for_a_report():
    """Every push-down counts its characters before and after."""
    _, found = made(["ab ab ab"], "whitespace")
    object.__setattr__(found, "lengths", found.lengths + np.arange(len(found), dtype=np.uint32))
    with pytest.raises(VoltError, match=r"push-down changed .* please report"):
        found.push_down(token_set(found, found.ranking("merge")[:0]))


# ------------------------------------------------------------------------------------------ ranking


@given(lines_of_text, st.sampled_from(PRETOKENIZERS))
def test_rank_is_by_frequency_then_by_merge(lines, pretokenizer):
    _, found = made(lines, pretokenizer)
    merged = range(found.alphabet_size, len(found))
    frequency = found.frequency.tolist()
    by_frequency = found.ranking("frequency").tolist()
    assert by_frequency == sorted(merged, key=lambda token: (-frequency[token], token))
    assert found.ranking("merge").tolist() == list(merged)


def test_equal_frequencies_rank_in_the_order_of_their_merges():
    _, found = made(["ab cd ef gh ij kl"], "whitespace")
    assert set(found.frequency[found.alphabet_size :].tolist()) == {1}
    ranked = [found.tokens[t] for t in found.ranking("frequency").tolist()]
    assert ranked == [f"{word}</w>" for word in ["ab", "cd", "ef", "gh", "ij", "kl"]]


def test_a_rank_that_does_not_exist_is_refused():
    _, found = made(["ab"], "whitespace")
    with pytest.raises(SettingsError, match="rank is frequency or merge, not 'size'"):
        found.ranking("size")


@given(lines_of_text, st.integers(0, 80))
def test_a_token_set_has_the_alphabet_and_the_best(lines, size):
    _, found = made(lines, "metaspace")
    ranking = found.ranking("frequency")
    inside = token_set(found, ranking[:size])
    assert inside[: found.alphabet_size].all()
    assert set(np.flatnonzero(inside[found.alphabet_size :]) + found.alphabet_size) == set(
        ranking[:size]
    )


# --------------------------------------------------------------------------------------- characters


@given(
    st.lists(st.text(max_size=10) | some_text, min_size=1, max_size=8),
    st.sampled_from(PRETOKENIZERS),
    st.sampled_from([0.5, 0.9, 1.0]),
)
@example(["a</w>b a</w>b </w> <unk>"], "whitespace", 1.0)
@example(["a</w>b a</w>b </w> </w>q"], "whitespace", 0.9)
def test_characters_are_those_of_the_corpus(lines, pretokenizer, coverage):
    lines = [line.encode(errors="ignore").decode() for line in lines]
    options = {} if pretokenizer == "byte-level" else {"coverage": coverage}
    counts, found = made(lines, pretokenizer, **options)
    if not len(counts):
        return
    table, characters = token_characters(found, np.arange(len(found)))
    assert table.shape == (len(found), len(characters))
    assert len(set(characters)) == len(characters)
    assert np.array_equal(table.sum(axis=1), found.lengths)

    spelled = Counter()
    for word, count in counts.items():
        for c in word.encode().decode("latin-1") if pretokenizer == "byte-level" else word:
            spelled[c.translate(BYTE_LETTERS) if pretokenizer == "byte-level" else c] += count
    kept = set(characters) - {UNKNOWN}
    expected = {c: n for c, n in spelled.items() if c in kept}
    lost = sum(n for c, n in spelled.items() if c not in kept)
    if lost:
        expected[UNKNOWN] = lost
    got = dict(zip(characters, (table.T @ found.frequency).tolist(), strict=True))
    assert {c: n for c, n in got.items() if n} == expected
    assert (lost > 0) == (found.unknown is not None)


def test_characters_of_some_tokens_are_rows_of_all():
    _, found = made(["low lower lowest", "née née"], "metaspace", coverage=0.9)
    everything, characters = token_characters(found, np.arange(len(found)))
    some = np.array([found.unknown, len(found) - 1, 3])
    rows, names = token_characters(found, some)
    columns = [characters.index(name) for name in names]
    assert np.array_equal(rows.toarray(), everything[some].toarray()[:, columns])
    assert UNKNOWN in names


def test_characters_of_the_three_ways_to_spell():
    def spelled(pretokenizer, token):
        _, found = made(["née née"], pretokenizer)
        table, characters = token_characters(found, np.arange(len(found)))
        row = table[[found.tokens.index(token)]].toarray()[0]
        return {c: int(n) for c, n in zip(characters, row.tolist(), strict=True) if n}

    assert spelled("whitespace", "née</w>") == {"n": 1, "é": 1, "e": 1}
    assert spelled("metaspace", "▁née") == {"▁": 1, "n": 1, "é": 1, "e": 1}
    assert spelled("byte-level", "nÃ©e") == {"n": 1, "Ã": 1, "©": 1, "e": 1}
