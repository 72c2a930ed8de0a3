"""Counting and truncating give what encoding gives, without its ids."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import made, scored

import volt
from volt.base.errors import InputError, SettingsError

WORDS = [
    "low",
    "lower",
    "lowest",
    "slow",
    "newest",
    "日本",
    "don't",
    "3.14",
    "(a)",
    "éa",
    "naïve",
    "I'll",
]
PRETOKENIZERS = ["metaspace", "whitespace", "byte-level", "byte-level:llama3", "byte-level:o200k",
                 "byte-level:cl100k", "byte-level:qwen2"]  # fmt: skip
texts = (
    st.text("lowers 日é'tn I.3\n\t  <s>", max_size=40)
    | st.lists(st.sampled_from([*WORDS, " ", "  ", "\n", "<s>"]), max_size=14).map(" ".join)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
)


@lru_cache
def tokenizer(pretokenizer, kind="merge"):
    if kind == "unigram":
        unknown = "unk" if pretokenizer == "metaspace" else None
        return volt.Tokenizer(scored(WORDS, 3, pretokenizer, unknown), threads=1)
    symbols = ("<2de>",) if kind == "symbols" else ()
    encoding = "split" if kind == "split" else "merge"
    found = made(WORDS, 3, pretokenizer=pretokenizer, encoding=encoding, symbols=symbols)
    return volt.Tokenizer(found, threads=1)


KINDS = [
    *((pretokenizer, "merge") for pretokenizer in PRETOKENIZERS), ("metaspace", "symbols"),
    ("metaspace", "split"), ("metaspace", "unigram"), ("whitespace", "unigram"),
]  # fmt: skip


@pytest.mark.parametrize(("pretokenizer", "kind"), KINDS)
@settings(max_examples=40)
@given(texts)
def test_count_is_the_number_of_ids(pretokenizer, kind, text):
    tok = tokenizer(pretokenizer, kind)
    assert tok.count(text) == len(tok.encode(text))
    assert tok.count(text * 30) == len(tok.encode(text * 30))
    with_names = tok.encode(text, allowed_special="all")
    assert tok.count(text, allowed_special="all") == len(with_names)
    assert tok.encode_array(text).tolist() == tok.encode(text)


def longest(tok, text, most, **options):
    """By trying every end of a token, the last first."""
    _, spans = tok.encode_with_offsets(text, **options)
    starts = [start for start, _ in spans[1:]] + [len(text)]
    ends = {end for (_, end), after in zip(spans, starts, strict=True) if after >= end}
    for end in sorted({0, *ends}, reverse=True):
        if len(tok.encode(text[:end], **options)) <= most:
            return text[:end]
    return ""


@pytest.mark.parametrize(("pretokenizer", "kind"), KINDS)
@settings(max_examples=60)
@given(texts, st.integers(0, 12))
def test_truncate_is_the_longest_prefix_that_fits(pretokenizer, kind, text, most):
    tok = tokenizer(pretokenizer, kind)
    found = tok.truncate(text, most)
    assert len(tok.encode(found)) <= most
    expected = text if tok.count(text) <= most else longest(tok, text, most)
    assert found == expected


@pytest.mark.parametrize(("pretokenizer", "kind"), KINDS)
def test_truncate_in_a_long_text(pretokenizer, kind):
    tok = tokenizer(pretokenizer, kind)
    text = " ".join(WORDS[i * 7 % len(WORDS)] for i in range(1400))
    for most in (1, 50, 333, 1200):
        found = tok.truncate(text, most)
        assert text.startswith(found)
        assert most - 2 <= tok.count(found) <= most
        longer = text[: len(found) + 40]
        assert found == longest(tok, longer, most)


@pytest.mark.parametrize(("pretokenizer", "kind"), KINDS)
@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, "x" * 300, " ", "  ", "\n", "\u00a0"]), min_size=200,
                max_size=600), st.integers(100, 900))  # fmt: skip
def test_truncate_in_long_texts_of_any_words(pretokenizer, kind, words, most):
    tok = tokenizer(pretokenizer, kind)
    text = " ".join(words)
    found = tok.truncate(text, most)
    assert text.startswith(found)
    if tok.count(text) <= most:
        assert found == text
    else:
        assert found == longest(tok, text[: len(found) + 700], most)


def test_what_cannot_be_counted_or_truncated():
    tok = tokenizer("metaspace")
    with pytest.raises(InputError, match="lone surrogate"):
        tok.count("a\ud800")
    with pytest.raises(InputError, match="`text` must be a str"):
        tok.count(3)
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(SettingsError, match="max_tokens"):
            tok.truncate("low", wrong)
    assert tok.truncate("", 0) == ""
    assert tok.truncate("low low low", np.int64(2)) == tok.truncate("low low low", 2)
    assert tok.count("") == 0
