"""Joined vocabularies: closed, every token whole, lossless, with true id maps."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import made, modes, scored, unigram_modes

import volt
from volt import InputError, SettingsError, Tokenizer, reference
from volt.adapting.join import join
from volt.proposing.pieces import PENALTY, STEPS
from volt.proposing.tokens import KINDS, SPELLED
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.vocabulary import LookUp
from volt.tokenizing.volt_json import load_vocabulary

ALPHABET = "abcd"


words = st.lists(st.text(ALPHABET, min_size=1, max_size=7), min_size=1, max_size=12)


@given(words, words, st.integers(0, 9), modes, st.sampled_from(["merge", "split"]))
def test_every_token_of_both_is_encoded_as_itself(
    first: list[str], second: list[str], seed: int, mode: tuple[str, str], encoding: str
) -> None:
    options = {"pretokenizer": mode[0], "merge_rule": mode[1], "encoding": encoding}
    parts = [made(first, seed, **options), made(second, seed + 1, **options)]
    try:
        joined = join(parts)
    except volt.InputError as error:  # only where pairs can't express it
        assert mode[1] == "pairs" and "--merge-rule concat" in str(error)
        joined = join(parts, merge_rule="concat")
    vocabulary = joined.vocabulary
    assert vocabulary.unreachable == []
    assert find_unreachable(Tokenizer(vocabulary)) == []
    ids = vocabulary.ids
    for part, id_map in zip(parts, joined.id_maps, strict=True):
        assert [vocabulary.tokens[i].text for i in id_map] == part.texts
        assert id_map.tolist() == [ids[text] for text in part.texts]
    texts = {text for part in parts for text in part.texts}
    new = [token for token in vocabulary.tokens if token.text not in texts]
    assert all(token.scaffold for token in new)
    assert len(new) == joined.added or encoding == "split"
    tokenizer = Tokenizer(vocabulary)
    for word in (*first, *second):
        assert tokenizer.decode(tokenizer.encode(word)) == word
    for text in ("dcba abcd", "x y\tz", "  a  b ", "ß漢🙂"):
        if vocabulary.unknown == "byte":
            assert tokenizer.decode(tokenizer.encode(text)) == text


@given(words, words, st.integers(0, 9), st.booleans())
def test_a_joint_file_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], second: list[str], seed: int,
    unigram: bool,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("joint") / "joint"
    both = [(first, seed), (second, seed + 1)]
    joined = join([scored(*one, "metaspace", "byte") if unigram else made(*one) for one in both])
    joined.save(folder)
    again = load_vocabulary(folder)
    assert again.to_json() == joined.vocabulary.to_json()
    assert volt.load(folder).tokens == joined.vocabulary.texts
    for number, id_map in enumerate(joined.id_maps, 1):
        assert np.array_equal(np.load(folder / f"id_map.{number}.npy"), id_map)


@given(words, words, st.integers(0, 9), unigram_modes)
def test_joint_scores_are_those_of_the_mixture_raised_to_the_best_cut(
    first: list[str], second: list[str], seed: int, mode: tuple[str, str | None]
) -> None:
    parts = [scored(first, seed, *mode), scored(second, seed + 1, *mode)]
    joined = join(parts)
    vocabulary = joined.vocabulary
    models = [{t.text: t.score for t in part.tokens if t.kind in SPELLED} for part in parts]

    def symbols(text: str) -> tuple[str, ...]:
        if mode[0] == "whitespace" and text.endswith("</w>"):
            return (*text[:-5], text[-5:])
        return tuple(text)

    mean = {
        symbols(text): sum(math.exp(model[text]) for model in models if text in model) / 2
        for text in models[0] | models[1]
    }
    logarithms = {key: round(math.log(p) * STEPS) / STEPS for key, p in mean.items()}
    expected = reference.pieces.lift_scores(logarithms)
    got = {symbols(t.text): t.score for t in vocabulary.tokens if t.kind in SPELLED}
    assert got == expected
    assert vocabulary.look_up == LookUp(unknown_score=min(expected.values()) - PENALTY)

    assert vocabulary.unreachable == find_unreachable(Tokenizer(vocabulary)) == []
    kinds = [KINDS.index(token.kind) for token in vocabulary.tokens]
    assert kinds == sorted(kinds)
    tokenizer = Tokenizer(vocabulary)
    for part, id_map in zip(parts, joined.id_maps, strict=True):
        assert [vocabulary.texts[i] for i in id_map] == part.texts
    for text in (" ".join(first), " ".join(second)):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    for part in parts:  # what was encodable still is
        before = Tokenizer(part)
        for text in ("dcba abcd", "x y\tz", "ß漢🙂", *second):
            if before.decode(before.encode(text)) == text:
                assert tokenizer.decode(tokenizer.encode(text)) == text
    frequency = {t.text: t.frequency for t in vocabulary.tokens}
    for text, sum_of_parts in frequency.items():
        assert sum_of_parts == sum(p.tokens[p.ids[text]].frequency for p in parts if text in p.ids)


def test_unigram_parts_that_spell_unknown_characters_and_that_do_not() -> None:
    spelled, unknown = scored(["low", "lower"], 1, "metaspace", "byte"), scored(
        ["slow", "lowest"], 2, "metaspace", "unk"
    )  # fmt: skip
    for parts in ([spelled, unknown], [unknown, spelled]):
        tokenizer = Tokenizer(join(parts).vocabulary)
        assert tokenizer.decode(tokenizer.encode("low ☃☃ slowest")) == "low ☃☃ slowest"


def test_unigram_joined_with_itself_is_itself() -> None:
    one = scored(["low", "lower", "slow", "lowest"] * 3, 1, "metaspace", "byte")
    twice = join([one, one]).vocabulary
    assert [(t.text, t.score) for t in twice.tokens] == [
        (text, one.tokens[one.ids[text]].score) for text in twice.texts
    ]
    assert twice.look_up == one.look_up


def test_scores_that_no_model_has_are_refused() -> None:
    one = scored(["ab", "abab"], 1, "metaspace", "byte")
    absurd = [t._replace(score=9e5) if t.kind == "character" else t for t in one.tokens]
    with pytest.raises(volt.InputError, match="not logarithms of probabilities"):
        join([replace(one, tokens=absurd)] * 2)


def test_a_torn_token_is_merged_behind_all_others() -> None:
    # One makes bcd of bc + d, the other cd first: bcd comes out as b + cd there.
    one = volt.candidates([["bcx bcx bcx bcdx"]], pretokenizer="whitespace", min_frequency=1)
    two = volt.candidates([["cdx cdx cdx cdx"]], pretokenizer="whitespace", min_frequency=1)
    first = build_vocabulary(one, range(len(one)), merge_rule="pairs")
    second = build_vocabulary(two, range(len(two)), merge_rule="pairs")
    joined = join([second, first])
    assert joined.vocabulary.unreachable == []
    assert joined.moved > 0
    ranks = [token.rank for token in joined.vocabulary.tokens if token.kind == "merged"]
    assert ranks == list(range(len(ranks)))


def test_frequencies_are_sums_or_measured() -> None:
    counts = volt.count([["low lower lowest slow"] * 3])
    first, second = made(["low", "lower"], 1), made(["slow", "lowest"], 2)
    assert join([first, second]).vocabulary.unit == 1
    measured = join([first, second], counts=counts).vocabulary
    tokenizer = Tokenizer(measured)
    ids, offsets = tokenizer.encode_words(counts)
    expected = np.zeros(len(measured), np.int64)
    np.add.at(
        expected, ids, np.repeat(counts.counts.astype(np.int64), np.diff(offsets).astype(int))
    )
    assert [token.frequency for token in measured.tokens] == expected.tolist()
    assert "corpus:none" not in measured.signature


def test_what_can_not_be_joined_says_why() -> None:
    one = made(["low"], 1)
    with pytest.raises(SettingsError, match="pretokenizer is metaspace in one and whitespace"):
        join([one, made(["low"], 1, pretokenizer="whitespace")])
    with pytest.raises(SettingsError, match="encoding is merge in one and split"):
        join([one, made(["low"], 1, encoding="split")])
    with pytest.raises(SettingsError, match="at least two"):
        join([one])
    with pytest.raises(SettingsError, match="'l' is a symbol token in one"):
        join([made(["tip"], 1, symbols=["l"]), one])
    with pytest.raises(InputError, match="the text has no words"):
        join([one, one], counts=volt.count([[]]))


def test_three_parts_and_the_same_one_twice() -> None:
    one, two, three = made(["low", "lower"], 1), made(["ab", "abc"], 2), made(["xyz"], 3)
    joined = join([one, two, three])
    assert len(joined.id_maps) == 3 and joined.vocabulary.unreachable == []
    twice = join([one, one])
    assert twice.vocabulary.texts == one.texts
    assert twice.moved == twice.added == 0
    assert twice.id_maps[0].tolist() == list(range(len(one)))
