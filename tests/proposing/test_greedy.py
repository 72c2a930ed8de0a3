"""Vocabularies for greedy encoding: what was chosen, as far as merging reaches it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import volt
from volt import reference
from volt.proposing.base import rows_of
from volt.proposing.greedy import greedy
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.volt_json import check_vocabulary, load_vocabulary

words = st.lists(st.text("abcdé", min_size=1, max_size=7), min_size=2, max_size=12)


@settings(max_examples=25)
@given(words, st.integers(0, 99), st.sampled_from(["metaspace", "whitespace", "byte-level"]))
def test_what_merging_reaches_is_the_vocabulary(
    text: list[str], seed: int, pretokenizer: str
) -> None:
    plain = volt.candidates([[" ".join(text)]], pretokenizer=pretokenizer, min_frequency=1)
    found = greedy(plain)
    merged = range(found.alphabet_size, len(found))
    chosen = random.Random(seed).sample(merged, (len(merged) + 1) // 2)
    vocabulary = build_vocabulary(found, chosen, merge_rule="concat")
    names = {found.tokens[i] for i in chosen}
    assert set(vocabulary.of_kind("merged")) <= names
    assert vocabulary.scaffolds == 0
    # A token that is left out has no pair in the vocabulary that makes it.
    known = set(vocabulary.of_kind("character", "merged"))
    ranks = {token: i for i, token in enumerate(found.tokens)}
    for token in names - known:
        assert not any(
            left in known and right in known and max(ranks[left], ranks[right]) < ranks[token]
            for left, right in vocabulary.marks.cuts(token)
        )
    tokenizer = Tokenizer(vocabulary)
    for word in [*text, "".join(text)]:
        found_tokens = [vocabulary.texts[i] for i in tokenizer.encode(word)]
        assert found_tokens == reference.encode.encode(word, vocabulary)
    check_vocabulary(vocabulary, "volt.json")


def test_a_token_without_its_parts_is_left_out_and_does_not_count(tmp_path: Path) -> None:
    plain = volt.candidates([["lower lower low low"]], pretokenizer="whitespace", min_frequency=1)
    found = greedy(plain)
    ids = {token: i for i, token in enumerate(found.tokens)}
    alone = build_vocabulary(found, [ids["low</w>"]], merge_rule="concat")
    assert alone.of_kind("merged") == []
    assert len(alone) == rows_of(found, [ids["low</w>"]])
    assert rows_of(plain, [ids["low</w>"]]) == len(alone) + 2  # with `lo` as its scaffold
    both = build_vocabulary(found, [ids["lo"], ids["low</w>"]], merge_rule="concat")
    assert both.of_kind("merged") == ["lo", "low</w>"]
    assert find_unreachable(Tokenizer(both)) == []
    both.save(tmp_path / "volt.json")
    assert load_vocabulary(tmp_path / "volt.json").tokens == both.tokens


@pytest.mark.parametrize("encoding", ["unigram", "longest"])
def test_pieces_stay_as_they_are(encoding: str) -> None:
    found = volt.candidates(
        [["low lower"]], candidates="substring:9", encoding=encoding, min_frequency=1
    )
    assert greedy(found) is found
