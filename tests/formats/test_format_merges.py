"""volt.formats.merges: what can be seen from a vocabulary, without merging every token's text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from volt.formats.merges import differing_tokens
from volt.tokenizing.merge_pairs import last_pair, last_pairs, mergeable, own_pairs

sys.path.insert(0, str(Path(__file__).parents[1] / "interop"))
from samples import made_up


@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level"])
def test_tokens_that_concat_merges_from_another_pair(pretokenizer):
    differing = 0
    for seed in range(100):
        vocabulary = made_up(pretokenizer, "pairs", seed)
        ranks, marks = mergeable(vocabulary), vocabulary.marks
        expected = ["".join(pair) for pair in own_pairs(vocabulary)
                    if last_pair("".join(pair), ranks, marks) != pair]  # fmt: skip
        assert differing_tokens(vocabulary) == expected
        differing += len(expected)
    assert differing > 200


@pytest.mark.parametrize("rule", ["pairs", "concat"])
@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level"])
def test_last_pairs_are_those_of_the_slow_twin(pretokenizer, rule):
    never = 0
    for seed in range(50):
        vocabulary = made_up(pretokenizer, rule, seed)
        ranks, marks = mergeable(vocabulary), vocabulary.marks
        texts = sorted((text for text in ranks if ranks[text] >= 0), key=lambda text: ranks[text])
        slow = {text: last_pair(text, ranks, marks) for text in texts}
        found = last_pairs(vocabulary)
        assert list(found.items()) == [(text, pair) for text, pair in slow.items() if pair]
        never += len(slow) - len(found)
    assert never > 0
