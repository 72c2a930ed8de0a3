"""volt.counting.words: the table of pre-tokenizers."""

from __future__ import annotations

from dataclasses import replace

import pytest

import volt
from volt.counting.words import PRETOKENIZERS, WordRule


@pytest.fixture
def lines():
    entry = PRETOKENIZERS.register(replace(PRETOKENIZERS["byte-level:llama3"], name="code"))
    yield entry
    del PRETOKENIZERS["code"]


def test_an_alias_counts_learns_and_encodes_like_the_original(lines, tmp_path):
    text = ["f(self, 12345) don't stop"] * 3
    counts = volt.count([text], pretokenizer="code")
    assert counts.rule.pretokenizer == "code"
    assert counts.to_dict() == volt.count([text], pretokenizer="byte-level:llama3").to_dict()
    counts.save(tmp_path / "counts.tsv")
    assert volt.count(tmp_path / "counts.tsv").to_dict() == counts.to_dict()
    found = volt.learn(counts, size=275)
    found.save(tmp_path / "out")
    tokenizer = volt.load(tmp_path / "out")
    assert tokenizer.vocabulary.rule.pretokenizer == "code"
    assert tokenizer.decode(tokenizer.encode(text[0])) == text[0]


def test_an_unregistered_name_is_refused(tmp_path):
    with pytest.raises(volt.SettingsError, match="must be one of whitespace, metaspace"):
        volt.count([["a"]], pretokenizer="code")


@pytest.mark.parametrize("entry", PRETOKENIZERS.values(), ids=lambda entry: entry.name)
def test_every_entry_is_complete(entry):
    assert entry.description.endswith(".")
    assert volt.count([["a b"]], pretokenizer=entry.name).rule.mode is entry
    assert bool(entry.patterns) == entry.byte_level
    assert bool(entry.byte_tokens("byte")) == (not entry.byte_level)
    assert entry.byte_tokens("unk") == []


def test_the_default_rule_is_metaspace():
    assert WordRule().mode.space_before
