"""Tokenizer: what is encoded comes back, whatever it is; names, offsets, files, loading."""

import gzip
import json
import pickle
import random
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import volt
from volt import reference
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.printing import read_printed
from volt.tokenizing.tokenizer import Tokenizer

LINES = [
    "the low lower lowest newest, 1984 and 2001",
    "the newer the lower: é ü ß 日本語 don't we'll",
    "widest wider wide, wide  spaces \t tab",
] * 4

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
spaces = st.text(" \t\n\r\u00a0\u2581\u3000\u0085\u2028\0a.1é\u0301", max_size=20)


def make(pretokenizer="metaspace", lines=LINES, merges=120, normalize=None, **options) -> Tokenizer:
    counts = volt.count([lines], pretokenizer=pretokenizer, normalize=normalize)
    found = volt.candidates(counts, merges=merges)
    return Tokenizer(build_vocabulary(found, range(len(found)), **options), threads=2)


METASPACE = make()
BYTE_LEVEL = make("byte-level")
WHITESPACE = make("whitespace")
LOSSLESS = pytest.mark.parametrize("tok", [METASPACE, BYTE_LEVEL], ids=["metaspace", "byte-level"])


# ---------------------------------------------------------------------------------------- lossless


@LOSSLESS
@given(text=any_text | spaces)
@example(text="")
@example(text=" ")
@example(text="▁")
@example(text=" ▁ ")
@example(text="▁▁low▁low")
@example(text="\x00\ufeff\ufffe\U0010ffff\U000e0001\ue000")
def test_decode_gives_back_what_was_encoded(tok, text):
    assert tok.decode(tok.encode(text), errors="strict") == text
    assert tok.decode_bytes(tok.encode(text)) == text.encode()


@LOSSLESS
def test_every_character_comes_back(tok):
    """All scalar values of the first two planes, many of the others, assigned or not."""
    every = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 7), 0x10FFFF]
    text = "".join(map(chr, every))
    assert tok.decode(tok.encode(text)) == text
    random.Random(5).shuffle(every)
    text = "".join(map(chr, every[:50_000]))
    assert tok.decode(tok.encode(text)) == text


@given(any_text | spaces)
def test_whitespace_keeps_words_and_single_spaces(text):
    tok = WHITESPACE
    words = reference.words.words_of(text, "whitespace")
    ids = tok.encode(" ".join(words))
    assert tok.encode(text) == ids
    decoded, losses = tok.decode_with_losses(ids)
    if not losses:
        assert decoded == " ".join(words)


def test_a_mark_in_the_text_is_no_space():
    marked = METASPACE.encode("a▁b")
    assert [METASPACE.tokens[i] for i in marked] == [
        *["▁", "a"] * ("▁a" not in METASPACE.tokens),
        *["▁a"] * ("▁a" in METASPACE.tokens),
        "<0xE2>",
        "<0x96>",
        "<0x81>",
        *["b"] * ("b" in METASPACE.tokens),
        *["<0x62>"] * ("b" not in METASPACE.tokens),
    ]
    assert marked != METASPACE.encode("a b")


def test_unknown_characters_are_lost_where_decoding_says():
    tok = make(unknown="unk")
    ids = tok.encode("lowz 😀low▁")
    text, losses = tok.decode_with_losses(ids)
    assert text == "low<unk> <unk>low<unk>"
    assert losses == [(3, 8), (9, 14), (17, 22)]
    assert tok.decode(ids) == text
    assert tok.decode_with_losses(tok.encode("low")) == ("low", [])


def test_unknown_characters_in_whitespace_mode():
    ids = WHITESPACE.encode("low 😀low")
    assert WHITESPACE.decode_with_losses(ids) == ("low <unk>low", [(4, 9)])


def test_ids_that_spell_no_utf8():
    ids = [METASPACE.token_to_id(token) for token in ("<0xC3>", "<0x28>", "<0xFF>")]
    assert METASPACE.decode_bytes(ids) == b"\xc3(\xff"
    assert METASPACE.decode(ids) == "\ufffd(\ufffd"
    assert METASPACE.decode(ids, errors="ignore") == "("
    with pytest.raises(UnicodeDecodeError):
        METASPACE.decode(ids, errors="strict")


@pytest.mark.parametrize("ids", [[-1], [10**6], [2**40], [0, 1, -(2**63)]])
def test_ids_that_are_no_tokens(ids):
    with pytest.raises(volt.InputError, match="there is no token"):
        METASPACE.decode(ids)


def test_decode_takes_arrays_and_batches():
    ids = METASPACE.encode("the lowest")
    assert METASPACE.decode(np.array(ids, np.uint32)) == "the lowest"
    assert METASPACE.decode_batch([ids, [], ids]) == ["the lowest", "", "the lowest"]


def test_a_lone_surrogate_is_refused_by_place():
    with pytest.raises(volt.InputError, match=r"character 2.*U\+D800"):
        METASPACE.encode("ab\ud800")
    with pytest.raises(volt.InputError, match=r"text 1, character 0"):
        METASPACE.encode_batch(["a", "\udfff"])


@pytest.mark.parametrize("text", [b"bytes", None, 3])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(volt.InputError):
        METASPACE.encode(text)
    with pytest.raises(volt.InputError):
        METASPACE.encode_batch([text])
    with pytest.raises(volt.InputError):
        METASPACE.encode_batch("one text")


# ------------------------------------------------------------------------------------------- tokens


def test_tokens_by_id_and_back():
    tok = METASPACE
    assert len(tok) == len(tok.tokens) == len(tok.vocabulary)
    for i, token in enumerate(tok.tokens):
        assert tok.token_to_id(token) == i
        assert tok.id_to_token(i) == token
    assert tok.token_to_id("no such token") is None
    with pytest.raises(volt.InputError):
        tok.id_to_token(len(tok))


def test_a_tokenizer_can_be_pickled():
    copy = pickle.loads(pickle.dumps(METASPACE))
    assert copy.encode("the lowest") == METASPACE.encode("the lowest")
    assert copy.threads == METASPACE.threads


# -------------------------------------------------------------------------------------------- names


def test_the_name_of_a_special_token_is_text_unless_allowed():
    tok = METASPACE
    text = "<s>the low</s>"
    plain = tok.encode(text)
    start, end = tok.token_to_id("<s>"), tok.token_to_id("</s>")
    assert not {start, end} & set(plain)
    both = tok.encode(text, allowed_special={"<s>", "</s>"})
    assert (both[0], both[-1]) == (start, end)
    assert tok.encode(text, allowed_special="all") == both
    one = tok.encode(text, allowed_special=["<s>"])
    assert one[0] == start
    assert end not in one
    assert tok.encode_batch([text, text], allowed_special="all") == [both, both]
    for ids in (plain, both, one):
        assert tok.decode(ids) == text


@pytest.mark.parametrize("allowed", [["<nope>"], ["low"], "some"])
def test_only_special_tokens_can_be_allowed(allowed):
    with pytest.raises(volt.SettingsError):
        METASPACE.encode("x", allowed_special=allowed)


def test_special_tokens_can_be_skipped():
    tok = METASPACE
    ids = [tok.token_to_id("<s>"), *tok.encode("the low"), tok.token_to_id("</s>")]
    assert tok.decode(ids) == "<s> the low</s>"
    assert tok.decode(ids, skip_special=True) == "the low"


@pytest.mark.parametrize("pretokenizer", ["metaspace", "byte-level", "whitespace"])
def test_symbols_are_never_split_and_the_longest_wins(pretokenizer):
    tok = make(pretokenizer, symbols=["<2de>", "<2d", "New York", "New"])
    texts = {
        "<2de> the low": ["<2de>"],
        "the <2d low": ["<2d"],
        "low<2de><2d<2de>low": ["<2de>", "<2d", "<2de>"],
        "New York": ["New York"],
        "New  York New": ["New", "New"],
        "NewNew York": ["New", "New York"],
    }
    for text, symbols in texts.items():
        ids = tok.encode(text)
        assert [tok.tokens[i] for i in ids if tok.vocabulary.tokens[i].kind == "symbol"] == symbols
        if pretokenizer != "whitespace":
            assert tok.decode(ids) == text
    if pretokenizer == "whitespace":
        assert tok.decode(tok.encode("the<2de>low  New")) == "the <2de> low New"


def test_the_space_before_a_text_is_not_before_a_name():
    """It is understood at the start of the text, and only if that is ordinary text."""
    tok = make(symbols=["<2de>"])

    def tokens(text):
        return [tok.tokens[i] for i in tok.encode(text)]

    assert tokens("<2de>t") == ["<2de>", "t"]
    assert tokens("<2de> the low") == ["<2de>", *tokens("the low")]
    assert tokens("low<2de>t") == [*tokens("low"), "<2de>", "t"]
    assert tokens("low <2de>") == [*tokens("low"), "▁", "<2de>"]


@LOSSLESS
@given(parts=st.lists(any_text | spaces | st.sampled_from(["<s>", "<2de>", "</s>"]), max_size=6))
def test_text_with_names_comes_back(tok, parts):
    text = "".join(parts)
    assert tok.decode(tok.encode(text, allowed_special="all")) == text


# ------------------------------------------------------------------------------------------ offsets


def test_offsets_of_plain_text():
    ids, offsets = METASPACE.encode_with_offsets("the low")
    assert METASPACE.tokens[ids[0]].startswith("▁")
    assert offsets[0][0] == 0
    assert offsets[-1][1] == 7
    ids, offsets = METASPACE.encode_with_offsets(" 😀")
    assert [METASPACE.tokens[i] for i in ids][:2] == ["▁", "▁"]
    assert offsets == [(0, 0), (0, 1), *[(1, 2)] * 4]
    assert METASPACE.encode_with_offsets("") == ([], [])


@pytest.mark.parametrize(
    "tok", [METASPACE, BYTE_LEVEL, WHITESPACE], ids=["metaspace", "byte-level", "whitespace"]
)
@given(text=any_text | spaces, everything=st.booleans())
@example(text="<unk>😀<unk> <s>", everything=True)
def test_offsets_cover_the_text_in_order(tok, text, everything):
    allowed = "all" if everything else ()
    ids, offsets = tok.encode_with_offsets(text, allowed_special=allowed)
    assert ids == tok.encode(text, allowed_special=allowed)
    assert len(ids) == len(offsets)
    covered = set()
    before = (0, 0)
    for token, (start, end) in zip(ids, offsets, strict=True):
        assert before[0] <= start <= end <= len(text)
        assert before[1] <= end
        before = (start, end)
        covered.update(range(start, end))
        if tok.vocabulary.tokens[token].kind == "merged" and tok is not BYTE_LEVEL:
            # Alone, the token is the text of its span.
            piece = tok.vocabulary.plain_text(tok.tokens[token]).decode()
            assert text[start:end] == piece or (start == 0 and " " + text[start:end] == piece)
    left = {i for i in range(len(text)) if i not in covered}
    assert all(tok is WHITESPACE and text[i] in " \t\r\n" for i in left)


def test_offsets_are_those_of_the_text_before_it_is_normalized():
    tok = make(normalize="nfc")
    text = "ü" + unicodedata.normalize("NFD", "ü") + "low"
    ids, offsets = tok.encode_with_offsets(text)
    assert offsets[-1][1] == len(text) == len(unicodedata.normalize("NFC", text)) + 1
    assert [text[start:end] for start, end in offsets] == [text[0], text[1:3], "lo", "w"]
    pieces = [tok.vocabulary.plain_text(tok.tokens[token]).decode() for token in ids]
    spans = [unicodedata.normalize("NFC", text[start:end]) for start, end in offsets]
    assert [" " + spans[0], *spans[1:]] == pieces
    assert tok.encode(text) == ids == tok.encode(unicodedata.normalize("NFC", text))
    assert tok.encode_batch([text]) == [ids]


# -------------------------------------------------------------------------------- dropout, settings


@pytest.mark.parametrize(
    "options", [{"dropout": -0.1}, {"dropout": 1.1}, {"dropout": float("nan")}, {"seed": -1},
                {"seed": 1 << 64}]
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options, tmp_path):
    with pytest.raises(volt.SettingsError):
        METASPACE.encode("low", **options)
    with pytest.raises(volt.SettingsError):
        METASPACE.encode_batch(["low"], **options)
    (tmp_path / "text").write_text("low")
    with pytest.raises(volt.SettingsError):
        METASPACE.encode_file(tmp_path / "text", **options)


def test_dropout_is_lossless_and_repeatable():
    text = "the lowest newest wider"
    seen = {tuple(METASPACE.encode(text, dropout=0.5, seed=seed)) for seed in range(20)}
    assert len(seen) > 5
    assert {METASPACE.decode(ids) for ids in seen} == {text}
    assert METASPACE.encode(text, dropout=0.5, seed=3) == METASPACE.encode(
        text, dropout=0.5, seed=3
    )


def test_words_of_another_pre_tokenizer_are_refused():
    with pytest.raises(volt.SettingsError, match="whitespace"):
        METASPACE.encode_words(volt.count([["a b"]], pretokenizer="whitespace"))


# -------------------------------------------------------------------------------------------- files

FILES = {
    "empty": "",
    "one line": "the low",
    "line ends": "the low\n\n\nlower\n",
    "carriage returns": "the low\r\nlower\r\n\r",
    "odd": " \n▁\n\0\n\u2028x\u0085y\x0b\x0c\x1c\n\t\n  two  \n<s>\n",
    "a mark of byte order": "\ufefflow\n",
}


@LOSSLESS
@pytest.mark.filterwarnings("ignore:.*lines end in CR LF", "ignore:.*starts with a BOM")
@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_files_line_by_line(tok, content, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(content.encode())
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    ids, offsets = tok.encode_file(path, unit="line")
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.uint64)
    found = [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())]
    assert found == [tok.encode(line) for line in lines] == tok.encode_batch(lines)
    printed = b"".join(tok.encode_to_text([path], unit="line"))
    assert printed.count(b"\n") == content.count("\n")
    by_text = [
        [tok.token_to_id(read_printed(token)) for token in line.split()]
        for line in printed.decode().splitlines()
    ]
    assert by_text == found
    numbers = b"".join(tok.encode_to_text([path], "ids", unit="line")).decode()
    assert [[int(i) for i in line.split()] for line in numbers.splitlines()] == found


def test_compressed_files_and_several(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"the low\nlower"))
    (tmp_path / "b").write_bytes(b"wider\n")
    assert len(METASPACE.encode_file(tmp_path / "a.gz")[1]) == 3
    text = b"".join(METASPACE.encode_to_text([tmp_path / "a.gz", tmp_path / "b"])).decode()
    assert len(text.splitlines()) == 3
    blocks = list(METASPACE.encode_to_arrays([tmp_path / "a.gz", tmp_path / "b"]))
    all_ids = np.concatenate([ids for ids, _ in blocks])
    ends = np.concatenate([ends for _, ends in blocks])
    assert len(ends) == 3
    assert ends[-1] == len(all_ids)
    assert METASPACE.decode(all_ids[ends[0] : ends[1]]) == "lower"
    with pytest.raises(volt.SettingsError, match="weight"):
        METASPACE.encode_file(f"{tmp_path / 'b'}:2.0")


def test_invalid_utf8_in_a_file(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"low\nlo\xffw\n")
    with pytest.raises(volt.InputError, match=r"line 2: invalid UTF-8 \(byte 0xFF at offset 6\)"):
        METASPACE.encode_file(path)
    ids, _ = METASPACE.encode_file(path, on_invalid="replace")
    assert METASPACE.decode(ids[-4:]).endswith("w")
    with pytest.raises(volt.SettingsError):
        METASPACE.encode_file(path, on_invalid="skip-line")
    with pytest.raises(volt.InputError, match="no such file"):
        METASPACE.encode_file(tmp_path / "missing")


def test_files_are_normalized(tmp_path):
    tok = make(normalize="nfc")
    path = tmp_path / "text"
    text = unicodedata.normalize("NFD", "üü é low\nü")
    path.write_text(text)
    ids, _ = tok.encode_file(path)
    expected = tok.encode_batch(text.split("\n"))
    assert ids.tolist() == [i for line in expected for i in line]


def test_special_tokens_in_a_file(tmp_path):
    path = tmp_path / "text"
    path.write_text("<s>low</s>\n")
    ids, _ = METASPACE.encode_file(path, allowed_special="all")
    assert ids.tolist() == METASPACE.encode("<s>low</s>", allowed_special="all")


@given(any_text | spaces | st.sampled_from(["\\u{20}", "\\", "\\u{5C}u{", "\\\\u{ }"]))
def test_printed_tokens_have_no_white_space_and_read_back(name):
    if not name or name in METASPACE.tokens:
        return
    tok = make(lines=["x x x"], symbols=[name]) if name != "x" else METASPACE
    for token, printed in zip(tok.tokens, tok.printed, strict=True):
        assert printed.split() == [printed]
        assert len(printed.splitlines()) == 1
        assert read_printed(printed) == token
    assert len(set(tok.printed)) == len(tok)


# ----------------------------------------------------------------------------------- load and check


def test_load_takes_a_folder_or_a_file(tmp_path):
    METASPACE.vocabulary.save(tmp_path / "volt.json")
    for path in (tmp_path, str(tmp_path / "volt.json")):
        tok = volt.load(path, threads=1)
        assert isinstance(tok, volt.Tokenizer)
        assert tok.encode("the lowest 😀") == METASPACE.encode("the lowest 😀")


def test_load_tries_the_samples_of_the_file(tmp_path):
    path = tmp_path / "volt.json"
    METASPACE.vocabulary.save(path)
    data = json.loads(path.read_text())
    data["self_test"] = [{"text": "the low", "ids": METASPACE.encode("the low")}]
    path.write_text(json.dumps(data))
    volt.load(path)
    data["self_test"].append({"text": "lower", "ids": [1, 2, 3]})
    path.write_text(json.dumps(data))
    with pytest.raises(volt.InputError, match=r"self_test\[1\]: 'lower' is encoded as"):
        volt.load(path)


def test_a_vocabulary_that_contradicts_itself_is_refused():
    from dataclasses import replace

    vocabulary = METASPACE.vocabulary
    tokens = list(vocabulary.tokens)
    merged = next(i for i, token in enumerate(tokens) if token.kind == "merged")
    tokens[merged] = tokens[merged]._replace(parents=(merged, merged))
    with pytest.raises(volt.InputError, match="contradicts itself"):
        Tokenizer(replace(vocabulary, tokens=tokens))
