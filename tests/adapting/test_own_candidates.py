"""Tokens of a vocabulary as candidates, with the frequencies that the slow encoder finds."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import made, modes

import volt
from volt import SettingsError, Tokenizer, reference
from volt.adapting.own_candidates import own_merges
from volt.proposing.base import token_set
from volt.proposing.tokens import Token
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.vocabulary import LookUp, Vocabulary

words = st.lists(st.text("abcd", min_size=1, max_size=7), min_size=1, max_size=12)


def counted(vocabulary: Vocabulary, texts: list[str]) -> volt.WordCounts:
    return volt.count([[" ".join(texts)]], pretokenizer=vocabulary.rule.pretokenizer)


@given(words, words, st.integers(0, 9), modes, st.sampled_from(["rank", "use"]))
def test_frequencies_are_those_of_encoding(
    old: list[str], new: list[str], seed: int, mode: tuple[str, str], order: str
) -> None:
    vocabulary = made(old, seed, pretokenizer=mode[0], merge_rule=mode[1])
    counts = counted(vocabulary, [*new, "dxad", "é"])
    found = own_merges(vocabulary, counts, order=order)  # type: ignore[arg-type]
    expected: Counter[str] = Counter()
    for word, number in counts.items():
        symbols = reference.encode.spell_known(word, vocabulary)
        for node in reference.encode.merge_symbols(symbols, vocabulary, iter(lambda: False, None)):
            if node.merges:
                expected[node.text] += number
    frequency = found.frequency.tolist()
    known = {
        text: f
        for i, (text, f) in enumerate(zip(found.tokens, frequency, strict=True))
        if i != found.unknown and f
    }
    assert known == dict(expected)
    lost = frequency[found.unknown] if found.unknown is not None else 0
    characters = sum(
        number * len(word.encode() if mode[0] == "byte-level" else word)
        for word, number in counts.items()
    )
    assert int(found.lengths.astype(np.int64) @ found.frequency) == characters
    assert lost == characters - sum(
        number * len(symbol.removesuffix("</w>")) for symbol, number in expected.items()
    )
    assert lost >= 2 * (mode[0] != "byte-level")  # x and é are in no word of the old text
    assert found.curve.tokens[-1] == sum(frequency)


@given(words, words, st.integers(0, 9), modes, st.sampled_from(["rank", "use"]))
def test_parents_come_first_and_every_token_that_text_gives_is_there(
    old: list[str], new: list[str], seed: int, mode: tuple[str, str], order: str
) -> None:
    vocabulary = made(old, seed, pretokenizer=mode[0], merge_rule=mode[1])
    found = own_merges(vocabulary, counted(vocabulary, new), order=order)  # type: ignore[arg-type]
    for merge, (left, right) in enumerate(zip(found.left, found.right, strict=True)):
        token = found.alphabet_size + merge
        assert max(left, right) < token
        assert found.tokens[left] + found.tokens[right] == found.tokens[token]
    assert len(set(found.ids.tolist())) == len(found)
    known = [i for i in found.ids.tolist() if i >= 0]
    never = find_unreachable(Tokenizer(vocabulary))
    kinds = {i for i, t in enumerate(vocabulary.tokens) if t.kind in ("character", "merged")}
    assert set(known) == kinds - set(never)
    assert [vocabulary.tokens[i].text for i in known] == [
        text for i, text in enumerate(found.tokens) if i != found.unknown
    ]
    if order == "use":
        assert (np.diff(found.merge_counts.astype(np.int64)) <= 0).all()
    half = token_set(found, found.ranking("frequency")[: found.merges // 2])
    found.push_down(half)  # which checks that characters are conserved


def test_what_does_not_fit_is_refused() -> None:
    vocabulary = made(["abcab", "bcd"], 1, pretokenizer="metaspace")
    with pytest.raises(SettingsError, match="normalized by nfc, the vocabulary by none"):
        own_merges(vocabulary, volt.count([["abc"]], normalize="nfc"))
    with pytest.raises(SettingsError, match="the words are whitespace"):
        own_merges(vocabulary, volt.count([["abc"]], pretokenizer="whitespace"))
    looked_up = Vocabulary(
        volt.WordRule("metaspace"), [Token("<unk>", "special"), Token("a", "character")],
        encoding="unigram", unknown="unk", look_up=LookUp(),
    )  # fmt: skip
    with pytest.raises(SettingsError, match="no parents"):
        own_merges(looked_up, volt.count([["abc"]]))
