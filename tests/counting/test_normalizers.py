"""Normalizers of imported vocabularies, without the toolkits they come from."""

import base64
import contextlib
import json
import re
import struct
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import bert_vocabulary

import volt
from volt import Tokenizer, WordRule, _core, reference
from volt.counting.character_map import CharacterMap
from volt.counting.normalizers import (
    Bert,
    Cut,
    Form,
    Lowercase,
    Nmt,
    Normalizer,
    Precompiled,
    Replace,
    ReplaceSpaces,
    SentencePiece,
    Strip,
    StripAccents,
    read_normalizer,
)
from volt.foreign.inner import Inner
from volt.proposing.tokens import Token
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.vocabulary import LookUp, Vocabulary

# ------------------------------------------------------------------------- a table of characters


def table_of(rules: dict[str, str]) -> bytes:
    """A double array as Darts makes it, with no thought of room: every state has 256 units."""
    states: dict[bytes, int] = {b"": 1}
    for key in rules:
        data = key.encode()
        for end in range(1, len(data) + 1):
            states.setdefault(data[:end], len(states) + 1)
    # 255 is no byte of UTF-8.
    units = [0xFF] * (256 * (len(states) + 1))
    units[0] = _unit(0, states[b""], False)
    texts = b""
    for key, state in states.items():
        if not key:
            continue
        place = states[key[:-1]] * 256 ^ key[-1]
        rule = rules.get(key.decode(errors="replace"))
        units[place] = _unit(place, state, rule is not None) | key[-1]
        if rule is not None:
            units[state * 256] = 0x80000000 | len(texts)
            texts += rule.encode() + b"\0"
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + texts


def _unit(place: int, state: int, ends: bool) -> int:
    """Without its label: `place ^ offset` has to be where the state is."""
    return (place ^ state * 256) << 10 | (0x100 if ends else 0)


characters = st.sampled_from("abé\u0301中\U0001f600 ▁ﬁ")
small_rules = st.dictionaries(
    st.text(characters, min_size=1, max_size=3), st.text("xyz é", max_size=3), max_size=6
).map(lambda rules: {key: by for key, by in rules.items() if "  " not in by})


@given(small_rules, st.text(characters, max_size=12), st.booleans())
def test_the_longest_rule_applies_and_spaces_follow(rules, text, trims):
    table = table_of(rules) if rules else b""
    native = _core.CharacterMap(table)
    assert native.map(text) == reference.character_map.map_longest(text, rules)
    expected = reference.character_map.clean(text, rules, trims)
    assert native.clean(text, trims) == expected
    assert native.clean_all([text, "a"], trims)[0] == expected
    assert native.clean_lines(f"{text}\n{text}".encode(), trims).decode() == (
        f"{expected}\n{expected}"
    )
    assert SentencePiece(table, trims)(text) == expected


@given(st.binary(max_size=60))
def test_any_bytes_are_a_safe_table(table):
    """The native code reads nothing outside of it; what it is gets checked before."""
    try:
        native = _core.CharacterMap(table)
    except ValueError:
        return
    with contextlib.suppress(UnicodeDecodeError):
        native.clean("aé中\U0001f600ﬁ \u0301", True)


def test_a_table_that_leads_from_everywhere_to_everywhere():
    """Every byte leads back to the only place of the trie: its rules are too many to be listed."""
    units = [byte << 10 | 0x100 | byte for byte in range(256)]
    table = struct.pack("<I256I", 1024, *units) + bytes(300)
    native = _core.CharacterMap(table)
    for text in ("aé中\U0001f600 ﬁ", "中" * 200, "e\u0301"):
        assert native.map(text) == ""


def test_spaces_as_sentencepiece_has_them():
    table = table_of({"\t": " ", "\u00a8": " \u0308", "\x01": "", "ﬁ": "fi"})
    remove, keep = SentencePiece(table, True), SentencePiece(table, False)
    for text, removed, kept in (
        ("  a \t b ", "a b", "  a   b "),
        ("\t", "", " "),
        ("a \u00a8", "a \u0308", "a  \u0308"),
        ("a\x01 ", "a", "a "),
        ("▁ a▁", "  a", "  a "),
        ("ﬁ", "fi", "fi"),
    ):
        assert (remove(text), keep(text)) == (removed, kept), text


def test_the_shortest_rule_replaces_a_cluster():
    """As Hugging Face does it: the second mark is lost."""
    step = Precompiled(table_of({"a\u0323": "ạ", "a\u0323\u0302": "ậ", "\r": " ", "A": "a"}))
    assert step("a\u0323\u0302") == "ạ"
    assert step("\r\nA") == " a"
    assert SentencePiece(step.table, False)("a\u0323\u0302") == "ậ"


ONE_BY_ONE = [
    Bert(), Bert(lowercase=False), Bert(False, False, False, False), Lowercase(), StripAccents(),
    Nmt(), ReplaceSpaces("_"), Strip(True, True), Form("NFKD"), Replace("a ", "b"),
]  # fmt: skip


@given(st.sampled_from(ONE_BY_ONE), st.lists(st.text("aB \t\x07\x7fÉé\u0301İ▁中"), max_size=5))
def test_plain_text_is_not_treated_in_another_way(step, texts):
    """Steps have a quick way for ASCII. After a letter that is not, which no step changes, they do
    not take it; and texts that come together are normalized as those that come alone."""
    normalizer = Normalizer((step, Cut("bytes")))
    assert normalizer.batch(texts) == [normalizer(text) for text in texts]
    if not isinstance(step, Strip):
        assert [step("ß" + text) for text in texts] == ["ß" + step(text) for text in texts]


def test_names_are_not_normalized():
    vocabulary = bert_vocabulary()
    tok = Tokenizer(vocabulary)
    ids = tok.encode("A[X] a", allowed_special=["[X]"])
    assert [tok.tokens[i] for i in ids] == ["a", "[X]", "a"]
    assert [tok.tokens[i] for i in tok.encode("[X]")] == ["[UNK]"] * 3


def test_a_space_before_any_text():
    """As Hugging Face's Prepend does it: after a special token too. The encoder adds the first."""
    every, none = (Normalizer((Cut(at),)) for at in ("prepend", "spaces"))
    assert every.pretokenizer == none.pretokenizer == "metaspace"
    for text, expected in (("", ""), (" ", " "), ("a▁b", "a b")):
        assert every(text) == none(text) == expected
    assert every("a<s>b<s> c<s>", re.compile("(<s>)")) == "a<s> b<s>  c<s>"
    assert none("a<s>b<s> c<s>", re.compile("(<s>)")) == "a<s>b<s> c<s>"


def test_a_space_before_text_that_has_none():
    prefix = Normalizer((Cut("bytes-prefix"),))
    assert prefix.pretokenizer == "byte-level"
    for text, expected in (("", ""), (" ", " "), ("a", " a"), (" a", " a"), ("\ta", " \ta")):
        assert prefix(text) == expected
    assert prefix("a<s>b<s> c<s>", re.compile("(<s>)")) == " a<s> b<s> c<s>"


# ---------------------------------------------------------------------------------- words to spaces


PAIRS = [(2, 3), (6, 4), (1, 2), (7, 2), (3, 3), (9, 5), (1, 1), (12, 12), (12, 8)]
"""Of tokens by id; the last three have several spaces."""


def merging(word_ends: str, **settings: object) -> Vocabulary:
    texts = ["▁", "a", "1", ".", "b"]
    tokens = [Token("<unk>", "special"), *(Token(text, "character") for text in texts)]
    for rank, (left, right) in enumerate(PAIRS if word_ends == "runs" else PAIRS[:6]):
        text = tokens[left].text + tokens[right].text
        tokens.append(Token(text, "merged", (left, right), rank))
    settings = {"unknown": "unk", "word_ends": word_ends} | settings
    return Vocabulary(WordRule(), tokens, **settings)  # type: ignore[arg-type]


@given(st.text("a1.b  ▁x", max_size=14), st.booleans())
def test_words_that_end_at_spaces(text, space_first):
    for word_ends in ("kinds", "spaces", "runs"):
        tok = Tokenizer(merging(word_ends, space_first=space_first), threads=1)
        ids = tok.encode(text)
        assert [tok.tokens[i] for i in ids] == reference.encode.encode(text, tok.vocabulary)
        assert tok.count(text) == len(ids)
        if not {*"x▁"} & {*text}:
            assert tok.decode(ids) == text
            stream = tok.decode_stream()
            assert "".join([*map(stream.push, ids), stream.finish()]) == text
            spans = tok.encode_with_offsets(text)[1]
            assert "".join(text[start:end] for start, end in spans) == text


@given(st.text("a1  ▁x", max_size=14), st.booleans())
def test_tokens_with_several_spaces_are_looked_up(text, space_first):
    texts = ["▁", "a", "1", "▁▁", "▁▁▁a", "a1"]
    tokens = [Token("<unk>", "special"), *(
        Token(one, "character" if len(one) == 1 else "piece", score=-float(len(one) % 3))
        for one in texts)]  # fmt: skip
    vocabulary = Vocabulary(
        WordRule(), tokens, encoding="unigram", unknown="unk", word_ends="runs",
        space_first=space_first, look_up=LookUp(unknown_score=-9.0, restart="text"),
    )  # fmt: skip
    tok = Tokenizer(vocabulary, threads=1)
    found = [tok.tokens[i] for i in tok.encode(text)]
    assert found == reference.encode.encode(text, vocabulary)


def test_runs_of_spaces_in_files_and_words(tmp_path):
    lines = ["  a1.", "a   a", "", " ", "x  ", "a" * 70 + "  " * 40 + "b"]
    (tmp_path / "text").write_text("\n".join(lines))
    for space_first in (True, False):
        tok = Tokenizer(merging("runs", space_first=space_first), threads=2)
        ids, offsets = tok.encode_file(tmp_path / "text")
        cut = [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())]
        assert cut == [tok.encode(line) for line in lines]
    counts = Counter({"▁▁▁a": 2, "▁a": 1})
    found, ends = tok.encode_words(Inner(tok.vocabulary).counts(counts, 3))
    assert [tok.tokens[i] for i in found] == ["▁▁▁a", "▁a"]
    assert ends.tolist() == [0, 1, 2]


def test_a_token_of_two_kinds_needs_words_that_end_at_spaces(tmp_path):
    assert [len(Tokenizer(merging(ends)).encode("xa1.a")) for ends in ("kinds", "spaces")] == [6, 3]
    text = tmp_path / "text"
    text.write_text("xa1.a\n" * 3 + "a1.")
    tok = Tokenizer(merging("spaces"), threads=2)
    ids, offsets = tok.encode_file(text)
    assert ids[: offsets[1]].tolist() == tok.encode("xa1.a")


# ----------------------------------------------------------------------------------- save and load


ALL_STEPS = Normalizer(
    (
        Bert(lowercase=False), Form("NFKD"), Lowercase(), StripAccents(), Strip(True, False),
        Replace("``", '"'), ReplaceSpaces("▁"), Precompiled(table_of({"ﬁ": "fi"})),
        Cut("blanks-metaspace"),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    "normalizer", [ALL_STEPS, Normalizer((SentencePiece(b"", True),)), bert_vocabulary().normalizer]
)
def test_data_and_back(normalizer):
    data = json.loads(json.dumps(normalizer.to_data()))
    assert read_normalizer(data) == normalizer
    assert len(normalizer.summary.split(" + ")) == len(normalizer.steps)


def test_only_a_vocabulary_with_a_normalizer_has_format_3(tmp_path):
    for vocabulary, version in (
        (bert_vocabulary(), 3),
        (replace(bert_vocabulary(), normalizer=None), 2),
        (merging("spaces"), 3),
        (merging("kinds"), 1),
        (merging("runs"), 5),
        (merging("kinds", space_first=False), 5),
    ):
        data = json.loads(vocabulary.to_json())
        assert data["format"] == version
        vocabulary.save(tmp_path / "volt.json")
        read = volt.load(tmp_path / "volt.json").vocabulary
        assert read.to_json() == vocabulary.to_json()
        assert (read.normalizer, read.word_ends) == (vocabulary.normalizer, vocabulary.word_ends)


def damaged_table(data: bytes) -> list[dict[str, object]]:
    shown = base64.b64encode(data).decode()
    return [{"step": "sentencepiece", "table": shown, "remove_extra_whitespaces": True}]


CUT = {"step": "cut", "at": "bert"}
GOOD = table_of({"ﬁ": "fi", "a\u0301": "á"})
ROUND = struct.pack("<I", 1024) + struct.pack("<I", 0x61) * 256 + b"\0"
"""Two states; an `a` leads from each to the other."""
HOSTILE = [
    ({"normalizer": None}, "normalizer"),
    ({"normalizer": []}, "normalizer"),
    ({"normalizer": [3]}, r"normalizer\[0\]"),
    ({"normalizer": [{"step": "no"}]}, r"normalizer\[0\].step"),
    ({"normalizer": [{"step": ["cut"]}]}, r"normalizer\[0\].step"),
    ({"normalizer": [CUT | {"more": 1}]}, r"normalizer\[0\].more: not a field"),
    ({"normalizer": [CUT | {"at": "sea"}]}, r"normalizer\[0\].at"),
    ({"normalizer": [CUT | {"at": 1}]}, r"normalizer\[0\].at"),
    ({"normalizer": [CUT, CUT]}, "last"),
    ({"normalizer": [{"step": "lowercase"}]}, "last"),
    ({"normalizer": [{"step": "cut", "at": "metaspace"}]}, "metaspace"),
    ({"normalizer": [{"step": "replace", "text": "", "by": ""}, CUT]}, r"normalizer\[0\].text"),
    ({"normalizer": [{"step": "replace", "text": "a", "by": "\n"}, CUT]}, r"normalizer\[0\]"),
    ({"normalizer": [{"step": "replace", "text": "a", "by": "\ud800"}, CUT]}, r"normalizer\[0\]"),
    ({"normalizer": [{"step": "strip", "left": 1, "right": True}, CUT]}, r"normalizer\[0\].left"),
    ({"normalizer": [{"step": "precompiled", "table": "*"}, CUT]}, "base64"),
    ({"normalizer": damaged_table(b"abc")}, "cut short"),
    ({"normalizer": damaged_table(GOOD[:-1])}, "no end"),
    ({"normalizer": damaged_table(GOOD + b"\xff\0")}, "UTF-8"),
    ({"normalizer": damaged_table(GOOD + b"\n\0")}, "line end"),
    ({"normalizer": damaged_table(GOOD.partition(b"fi\0")[0] + b"\0")}, "no replacement"),
    ({"normalizer": damaged_table(ROUND)}, "longer than 256"),
    ({"word_ends": "nowhere"}, "word_ends"),
    ({"space_first": False}, "space_first: not in format 3"),
    ({"whole_words": 1}, "whole_words"),
    ({"whole_words": True}, "whole_words"),
    ({"format": 2}, "normalizer"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "named"), HOSTILE)
def test_a_hostile_file_is_refused_by_name(change, named, tmp_path):
    data = json.loads(bert_vocabulary().to_json())
    path = tmp_path / "volt.json"
    path.write_text(json.dumps(data | change))
    with pytest.raises(volt.InputError, match=named):
        volt.load(path)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_table_or_none(data):
    for table in (data, struct.pack("<I", len(data) // 8 * 4) + data + b"\0"):
        try:
            found = CharacterMap(table)
        except volt.InputError:
            continue
        _core.CharacterMap(table).map("aé中\U0001f600ﬁ \u0301")
        found.by_cluster("aé中\U0001f600ﬁ \u0301")


@given(
    st.sets(st.text("ab<é", min_size=1, max_size=4), min_size=1, max_size=6),
    st.text("ab<é ", max_size=20),
)
def test_names_are_found_as_a_pattern_finds_them(names, text):
    """Leftmost, and the longest there."""
    found = volt.candidates([["low lower"]], pretokenizer="byte-level")
    kept = sorted(name for name in names if len(name) > 1)
    either = "|".join(map(re.escape, sorted(kept, key=lambda name: (-len(name), name))))
    tokenizer = Tokenizer(build_vocabulary(found, range(len(found)), symbols=kept))
    finder = tokenizer._name_pattern(frozenset())
    expected = re.compile(f"({either})").split(text) if kept else [text]
    assert (finder.split(text) if finder else [text]) == expected
