"""What a format refuses, the exporter refuses and the report says: all from one place."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
from vocabularies import bert_vocabulary, made, scored

import volt
from volt.counting.normalizers import Normalizer, SentencePiece
from volt.counting.words import PRETOKENIZERS
from volt.formats import FORMATS
from volt.proposing.tokens import Token
from volt.report.page import uses
from volt.settings import in_flags
from volt.tokenizing.vocabulary import LookUp, Vocabulary

TEXT = ["low lower lowest slow slower newer"] * 3


def vocabularies() -> dict[str, Vocabulary]:
    """One of every kind, and some that only one format refuses."""
    found: dict[str, Vocabulary] = {}
    for mode, rule, encoding in itertools.product(
        PRETOKENIZERS, ("pairs", "concat"), ("merge", "split")
    ):
        found[f"{mode} {rule} {encoding}"] = made(
            TEXT, 1, pretokenizer=mode, merge_rule=rule, encoding=encoding
        )
    for mode, unknown in (("metaspace", "byte"), ("metaspace", "unk"), ("byte-level", None)):
        unigram = scored(TEXT, 1, mode, unknown)
        found[f"unigram {mode} {unknown}"] = unigram
        look_up = LookUp(unknown_score=-99.0)
        found[f"unigram {mode} {unknown} score"] = replace(unigram, look_up=look_up)
        longest = [token._replace(score=0.0) for token in unigram.tokens]
        found[f"longest {mode} {unknown}"] = replace(
            unigram, tokens=longest, encoding="longest", look_up=LookUp(), fuse_unknown=False
        )
    found["unigram whitespace"] = scored(TEXT, 1, "whitespace", None)
    found["bert"] = bert_vocabulary()
    plain = made(TEXT, 1)
    found["unk"] = made(TEXT, 1, unknown="unk")
    found["symbol"] = made(TEXT, 1, symbols=["<2de>"])
    found["symbol with a space"] = made(TEXT, 1, symbols=["a b"])
    found["symbol that starts with a space"] = made(TEXT, 1, symbols=[" b"])
    found["no <unk>"] = made(TEXT, 1, special=["<s>"])
    found["nfkc"] = replace(plain, rule=replace(plain.rule, normalize="nfkc"))
    step = SentencePiece(b"", True)
    found["sentencepiece"] = replace(plain, normalizer=Normalizer((step,)))
    found["names of fairseq"] = made(TEXT, 1, special=["<unk>"], symbols=["<s>"])
    found["marks in the text"] = made(["a@@ ab a@@ ab"], 1, pretokenizer="whitespace")
    tokens = [one for one in plain.tokens if one.kind != "merged" and one.text != "▁"]
    found["no space"] = replace(plain, tokens=tokens)
    byte_level = made(TEXT, 1, pretokenizer="byte-level")
    found["whole words"] = replace(byte_level, whole_words=True)
    found["ids that are not ranks"] = _with_merges("concat", [("b", "c", 1), ("a", "b", 0)])
    found["not the pair it was learned from"] = _with_merges(
        "pairs",
        [("a", "b", 0), ("b", "c", 1), ("a", "bc", 2)],  # `ab` is merged first
    )
    return found


def _with_merges(rule: str, merges: list[tuple[str, str, int]]) -> Vocabulary:
    """A byte-level vocabulary of these merges, in the order of their ids: left, right, rank."""
    plain = made(TEXT, 1, pretokenizer="byte-level", merge_rule=rule)
    tokens = [one for one in plain.tokens if one.kind != "merged"]
    for left, right, rank in merges:
        ids = {one.text: i for i, one in enumerate(tokens)}
        tokens.append(Token(left + right, "merged", (ids[left], ids[right]), rank))
    return replace(plain, tokens=tokens)


VOCABULARIES = vocabularies()


@pytest.mark.parametrize("name", VOCABULARIES)
def test_exporter_and_page_agree(name, tmp_path):
    vocabulary = VOCABULARIES[name]
    of_toolkit = {entry.toolkit: form for form, entry in FORMATS.items()}
    # Not by the command: for Marian it may be that of SentencePiece.
    shown = {of_toolkit[use["name"]]: use["refused"] for use in uses(vocabulary)}
    # Those that take it first, each group in the order of the formats.
    assert list(shown) == sorted(FORMATS, key=lambda form: bool(shown[form]))
    for form, entry in FORMATS.items():
        reason = entry.refuse(vocabulary)
        assert shown[form] == in_flags(reason or "")
        assert "`" not in shown[form] or "`check`" in shown[form] or "`▁`" in shown[form]
        path = tmp_path / form
        if reason is None:
            assert volt.export(vocabulary, form, path).files
        else:
            with pytest.raises(volt.SettingsError) as error:
                volt.export(vocabulary, form, path)
            assert str(error.value) == reason
            assert not path.exists()


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("form", FORMATS)
def test_a_refusal_names_what_works_instead(form, name):
    """A format that it names takes the vocabulary."""
    vocabulary = VOCABULARIES[name]
    reason = FORMATS[form].refuse(vocabulary)
    if reason is None:
        return
    takers = [one.name for one in FORMATS.values()
              if one.merge_rule and one.refuse(vocabulary) is None]  # fmt: skip
    offered = re.search(r"; export to ([a-z0-9-]+) works$", reason)
    assert offered is not None if takers else reason.endswith("volt encode takes it as it is")
    assert reason.count("export to") == bool(takers)
    if offered is not None:
        assert offered[1] in takers


def test_every_format_refuses_and_takes_some_of_them():
    for form, entry in FORMATS.items():
        refused = [name for name in VOCABULARIES if entry.refuse(VOCABULARIES[name])]
        assert len(refused) < len(VOCABULARIES)
        assert refused or form == "text"
    only = {
        "hf": "unigram metaspace byte score",
        "sentencepiece": "symbol with a space",
        "subword-nmt": "marks in the text",
        "gpt2": "whole words",
        "tiktoken": "ids that are not ranks",
        "fairseq": "names of fairseq",
        "marian": "names of fairseq",
    }
    for form, name in only.items():
        assert FORMATS[form].refuse(VOCABULARIES[name]), form


@pytest.mark.parametrize("start", ["from:hf", "refit:1", "extend:1"])
def test_a_vocabulary_of_others_is_not_to_be_learned(start):
    for vocabulary, entry in itertools.product(VOCABULARIES.values(), FORMATS.values()):
        plain = entry.refuse(vocabulary)
        other = entry.refuse(replace(vocabulary, signature=f"volt|{start}|size:1"))
        assert (plain is None) == (other is None)
        assert other is None or ("learn " not in other and plain.startswith(other.split("; ")[0]))


def test_a_text_to_check_on_lifts_one_refusal():
    vocabulary = VOCABULARIES["not the pair it was learned from"]
    tiktoken = FORMATS["tiktoken"]
    assert "`check`" in (tiktoken.refuse(vocabulary) or "")
    assert tiktoken.refuse(vocabulary, checked=True) is None


def test_an_alias_of_a_pretokenizer_is_exported_like_the_original(tmp_path):
    entry = PRETOKENIZERS.register(replace(PRETOKENIZERS["byte-level:llama3"], name="code"))
    try:
        one = made(TEXT, 1, pretokenizer="code", merge_rule="concat")
        other = made(TEXT, 1, pretokenizer="byte-level:llama3", merge_rule="concat")
        for form in ("hf", "tiktoken"):
            mine = volt.export(one, form, tmp_path / "a" / form).files
            theirs = volt.export(other, form, tmp_path / "b" / form).files
            assert [f.read_bytes() for f in mine] == [f.read_bytes() for f in theirs]
    finally:
        del PRETOKENIZERS[entry.name]
