"""Rows of the embedding table: what candidates count is what vocabularies have, at every size."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from vocabularies import made

import volt
from volt.adapting.own_candidates import own_merges, own_pieces
from volt.base.errors import InputError, SettingsError
from volt.proposing.base import fill, fixed_rows, rows_of, token_set
from volt.tokenizing.build import build_vocabulary

PRETOKENIZERS = ["whitespace", "metaspace", "byte-level"]
ENCODINGS = ["merge", "split", "unigram", "longest"]

# Few letters, so that deep merges, and candidates that need many others, are common.
few_letters = st.text("ab", min_size=1, max_size=14)
some_text = st.text("abcd é日", min_size=1, max_size=14)
texts = st.lists(few_letters | some_text, min_size=1, max_size=10).filter(
    lambda lines: any(line.strip() for line in lines)
)
coverages = st.sampled_from([0.7, 1.0])


def candidates(lines, pretokenizer, encoding, coverage=1.0, **options):
    source = "bpe:40" if encoding in ("merge", "split") else "substring:40"
    counts = volt.count([lines], pretokenizer=pretokenizer, threads=1)
    return volt.candidates(
        counts, candidates=source, encoding=encoding, min_frequency=1, threads=1,
        coverage=None if pretokenizer == "byte-level" else coverage, **options,
    )  # fmt: skip


def ranks_of(found):
    return ["merge", "frequency", None] if found.exact else ["frequency", None]


# ------------------------------------------------------------------------------------- as it counts


@given(
    texts, st.sampled_from(PRETOKENIZERS), st.sampled_from(ENCODINGS), coverages, st.integers(0, 99)
)
def test_rows_of_is_the_length_of_the_vocabulary(lines, pretokenizer, encoding, coverage, seed):
    found = candidates(lines, pretokenizer, encoding, coverage)
    generator = random.Random(seed)
    others = range(found.alphabet_size, len(found))
    for share in (0.0, 0.3, 0.7, 1.0):
        chosen = np.array([i for i in others if generator.random() < share], np.int64)
        assert rows_of(found, chosen) == len(build_vocabulary(found, chosen))
        # The alphabet is in every vocabulary, named or not.
        named = np.concatenate([chosen, np.arange(found.alphabet_size)])
        assert rows_of(found, named) == found.rows(token_set(found, named))
        assert rows_of(found, named) == rows_of(found, chosen)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("pretokenizer", "unknown"),
    [("whitespace", "unk"), ("metaspace", "byte"), ("metaspace", "unk"), ("byte-level", "byte")],
)
def test_special_tokens_symbols_and_bytes_are_rows(pretokenizer, unknown, encoding):
    special, symbols = ("<unk>", "<s>"), ("<2de>", "<2fr>", "<2en>")
    fixed = fixed_rows(pretokenizer, unknown, special, symbols)
    assert fixed == 5 + 256 * (pretokenizer == "metaspace" and unknown == "byte")
    lines = ["low lower lowest newest widest"] * 3
    found = replace(candidates(lines, pretokenizer, encoding), fixed_rows=fixed)
    for number in (0, 3, 7):
        chosen = found.ranking()[:number]
        options = {"unknown": unknown, "special": special, "symbols": symbols}
        assert rows_of(found, chosen) == len(build_vocabulary(found, chosen, **options))
    learned = volt.learn(
        [lines], pretokenizer=pretokenizer, encoding=encoding, special=special, symbols=symbols,
        unknown=None if pretokenizer == "byte-level" else unknown, size=rows_of(found, chosen),
        candidates="bpe:40" if encoding in ("merge", "split") else "substring:40",
        min_frequency=1, threads=1,
    )  # fmt: skip
    assert len(learned.vocabulary) == rows_of(found, chosen)
    assert learned.candidates.fixed_rows == fixed


def test_the_special_tokens_of_candidates_can_be_named():
    plain, none = (volt.candidates([["low"]], special=special) for special in (None, ()))
    assert plain.fixed_rows == none.fixed_rows + 4 == 260
    assert (plain.curve.size - none.curve.size).tolist() == [4] * len(plain.curve)


@given(texts, st.sampled_from(PRETOKENIZERS), st.sampled_from(ENCODINGS), coverages)
def test_the_curve_has_the_size_of_the_vocabulary_at_every_size(
    lines, pretokenizer, encoding, coverage
):
    found = candidates(lines, pretokenizer, encoding, coverage)
    # The curve of merges is that of BPE, which takes them in order and so needs no scaffold.
    ranking = found.ranking()
    curve = found.curve
    assert curve.merges[0] == 0
    assert curve.merges[-1] == found.merges
    for size, learned, number in zip(
        curve.size.tolist(), curve.learned.tolist(), curve.merges.tolist(), strict=True
    ):
        assert size == len(build_vocabulary(found, ranking[:number]))
        assert learned == found.alphabet_size + number
        assert curve.merges[curve.at_size(size)] == number
    some = np.unique(np.linspace(0, len(curve) - 1, 3).astype(np.int64))
    assert found.curve_at(some).size.tolist() == curve.size[some].tolist()


# ------------------------------------------------------------------------------------------- filled


def slow_fill(found, ranking, size):
    """In order, whatever still fits; again, until nothing is missing."""
    chosen = []
    while rows_of(found, np.array(chosen, np.int64)) < size:
        for token in ranking.tolist():
            if token not in chosen and rows_of(found, np.array([*chosen, token])) <= size:
                chosen.append(token)
    return set(chosen)


@settings(max_examples=100)
@given(texts, st.sampled_from(PRETOKENIZERS), st.sampled_from(ENCODINGS), coverages)
@example(["aaaaaaaaaaaaaaaa"], "whitespace", "merge", 1.0)
@example(["abababab baba ab", "aaaa"], "metaspace", "merge", 1.0)
def test_fill_makes_exactly_so_many_rows(lines, pretokenizer, encoding, coverage):
    found = candidates(lines, pretokenizer, encoding, coverage)
    for by in ranks_of(found):
        ranking = found.ranking(by)
        least, most = rows_of(found, ranking[:0]), rows_of(found, ranking)
        assert most == found.curve.size[-1]
        assert least == found.curve.size[0]
        for size in range(least, most + 1):
            chosen = fill(found, ranking, size)
            assert rows_of(found, chosen) == size
            assert len(set(chosen.tolist())) == len(chosen)
            assert set(chosen.tolist()) <= set(ranking.tolist())
            assert set(chosen.tolist()) <= slow_fill(found, ranking, size)
            if size in (least, (least + most) // 2, most):
                assert len(build_vocabulary(found, chosen)) == size
        with pytest.raises(SettingsError, match="has no room for the"):
            fill(found, ranking, least - 1)
        with pytest.raises(InputError, match=f"use at most {most:,}"):
            fill(found, ranking, most + 1)


@given(texts, st.sampled_from(PRETOKENIZERS), st.integers(0, 60))
def test_fill_in_the_order_of_merging_is_bpe(lines, pretokenizer, merges):
    found = candidates(lines, pretokenizer, "merge")
    merges = min(merges, found.merges)
    chosen = fill(found, found.ranking("merge"), int(found.curve.size[merges]))
    assert chosen.tolist() == found.ranking("merge")[:merges].tolist()


def test_a_candidate_that_no_longer_fits_is_skipped_for_the_next_that_does():
    lines = ["abcdefgh " * 5 + "xy xy xy"]
    found = candidates(lines, "whitespace", "merge")
    ranking = found.ranking("frequency")
    names = [found.tokens[token] for token in ranking.tolist()]
    assert names[:2] == ["abcdefgh</w>", "xy</w>"]  # the first needs six others
    least = rows_of(found, ranking[:0])
    filled = [
        {found.tokens[token] for token in fill(found, ranking, least + more).tolist()}
        for more in range(9)
    ]
    assert ["abcdefgh</w>" in names for names in filled] == [False] * 7 + [True] * 2
    assert ["xy</w>" in names for names in filled] == [False] + [True] * 6 + [False, True]
    split = replace(found, encoding="split")
    assert fill(split, ranking, least + 2).tolist() == ranking[:2].tolist()


words = st.lists(st.text("abcd", min_size=1, max_size=7), min_size=1, max_size=12)


@given(
    words,
    words,
    st.integers(0, 9),
    st.sampled_from(PRETOKENIZERS),
    st.sampled_from(["pairs", "concat"]),
    st.integers(0, 3),
)
def test_fill_makes_exactly_so_many_rows_of_the_tokens_of_a_tokenizer(
    old, new, seed, pretokenizer, rule, pins
):
    vocabulary = made(old, seed, pretokenizer=pretokenizer, merge_rule=rule)
    counts = volt.count([[" ".join(new)]], pretokenizer=pretokenizer)
    merged = [i for i, token in enumerate(vocabulary.tokens) if token.kind == "merged"]
    pinned = frozenset(random.Random(seed).sample(merged, min(pins, len(merged))))
    found = own_merges(vocabulary, counts, order="use", pinned=pinned)
    assert found.curve.size[0] == rows_of(found, found.ranking()[:0])
    kept = found.frequencies_at([token_set(found, [])])[0]
    assert kept.frequency.sum() == found.curve.tokens[0]
    assert pinned <= found.kept_ids(kept.tokens)
    for by in ("merge", "frequency"):
        ranking = found.ranking(by)
        least, most = rows_of(found, ranking[:0]), rows_of(found, ranking)
        for size in range(least, most + 1):
            chosen = fill(found, ranking, size)
            assert len(found.kept_ids(chosen)) == rows_of(found, chosen) == size
            assert pinned <= found.kept_ids(chosen)


@pytest.mark.parametrize("encoding", ["unigram", "longest"])
def test_fill_and_curve_of_the_pieces_of_a_tokenizer(encoding):
    lines = [f"{a}{b}{c} {a}{b}" for a in "klmn" for b in "aeio" for c in ("t", "s", "ts")]
    first = volt.candidates([lines], candidates="substring:60", encoding=encoding, min_frequency=1)
    vocabulary = build_vocabulary(first, first.ranking())
    counts = volt.count([lines[:9]])
    found = own_pieces(vocabulary, counts)
    assert found.merges == len(vocabulary.of_kind("piece")) > 10
    assert found.frequency.shape == (len(found),)
    ranking = found.ranking()
    for size in range(int(found.curve.size[0]), len(vocabulary) + 1):
        assert len(found.kept_ids(fill(found, ranking, size))) == size
    for size, number in zip(found.curve.size.tolist(), found.curve.merges.tolist(), strict=True):
        assert len(found.kept_ids(ranking[:number])) == size
