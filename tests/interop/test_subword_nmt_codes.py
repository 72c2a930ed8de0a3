"""Exported codes and vocabularies give the same tokens in subword-nmt as volt."""

import codecs

import pytest
from hypothesis import given
from real import real_text
from samples import (
    LONG,
    any_text_for,
    learned,
    letter_texts,
    made_up,
    sample_lines,
    token_texts,
    tokenizer_of,
)

import volt
from volt import Tokenizer, reference
from volt.formats.merges import delayed_tokens

apply_bpe = pytest.importorskip("subword_nmt.apply_bpe")

ENCODINGS = ["merge", "split"]
RULES = ["pairs", "concat"]


def peer(vocabulary, folder, **options):
    path = folder / "codes.bpe"
    codes, vocab = volt.export(vocabulary, "subword-nmt", path, force=True, **options).files
    assert (codes.name, vocab.name) == ("codes.bpe", "codes.bpe.vocab")
    with codecs.open(str(vocab), encoding="utf-8") as stream:
        known = apply_bpe.read_vocabulary(stream, None)
    with codecs.open(str(codes), encoding="utf-8") as stream:
        return apply_bpe.BPE(stream, vocab=known if vocabulary.hidden else None)


def tokens_of(vocabulary, text):
    tok = tokenizer_of(vocabulary)
    return [tok.tokens[i] for i in tok.encode(text)]


def their_tokens(vocabulary, other, text):
    """Words are told by volt's rule, which cuts at tabs and line ends as well as at spaces.
    Characters that are not in the vocabulary are left as they are by subword-nmt."""
    found = []
    for word in reference.words.words_of(text, "whitespace"):
        for piece in other.segment(word).split(" "):
            inner = piece.endswith("@@")
            token = piece.removesuffix("@@") if inner else piece + "</w>"
            found.append(token if token in vocabulary.ids else "<unk>")
    return found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_any_text(encoding, rule, tmp_path):
    vocabulary = learned("whitespace", rule, encoding)
    assert bool(vocabulary.hidden) == (encoding == "split")
    other = peer(vocabulary, tmp_path)

    @given(any_text_for("whitespace") | token_texts(vocabulary))
    def check(text):
        text = text.replace("@", "")  # the mark of subword-nmt
        assert their_tokens(vocabulary, other, text) == tokens_of(vocabulary, text)

    check()
    for text in ("", " ", "  a  b ", *LONG[:1], LONG[2][:800]):
        assert their_tokens(vocabulary, other, text) == tokens_of(vocabulary, text)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_vocabularies_that_no_bpe_would_learn(encoding, rule, tmp_path):
    delayed = 0
    for seed in range(40):
        vocabulary = made_up("whitespace", rule, seed, hidden=encoding == "split")
        texts = letter_texts(seed)
        other = peer(vocabulary, tmp_path)
        wrong = {
            word
            for text in texts
            for word in text.split()
            if their_tokens(vocabulary, other, word) != tokens_of(vocabulary, word)
        }
        if rule == "pairs" or not delayed_tokens(vocabulary):
            assert not wrong
            continue
        # All places of a pair at once: the exporter says so, and counts them.
        delayed += 1
        words = volt.count([texts], pretokenizer="whitespace")
        result = volt.export(vocabulary, "subword-nmt", tmp_path / "x", check=words, force=True)
        assert any("too early" in message for message in result.messages)
        assert encoding == "split" or result.check.types == len(wrong)
    assert rule == "pairs" or delayed


def test_lines_with_spaces(tmp_path):
    vocabulary = learned("whitespace")
    other = peer(vocabulary, tmp_path)
    for line in sample_lines()[:200]:
        words = " ".join(reference.words.words_of(line, "whitespace"))
        printed = [
            token.removesuffix("</w>") if token.endswith("</w>") else token + "@@"
            for token in tokens_of(vocabulary, words)
        ]
        if "<unk>@@" not in printed:
            assert other.process_line(words) == " ".join(printed)


def test_real_text(volt_data, tmp_path):
    path = volt_data("multi30k/valid.de")
    lines = real_text(path).split("\n")
    for rule in RULES:
        for encoding in ENCODINGS:
            vocabulary = volt.learn(
                path, pretokenizer="whitespace", merge_rule=rule, encoding=encoding,
                merges=6000,
            ).vocabulary  # fmt: skip
            other = peer(vocabulary, tmp_path)
            tok = Tokenizer(vocabulary)
            for line, ids in zip(lines, tok.encode_batch(lines), strict=True):
                assert their_tokens(vocabulary, other, line) == [tok.tokens[i] for i in ids]


# ------------------------------------------------------------------------------------ refused, read


@pytest.mark.parametrize(
    ("vocabulary", "reason"),
    [
        (lambda: learned("metaspace"), "whitespace"),
        (lambda: learned("whitespace", symbols=("<2de>",)), "symbols"),
        (lambda: learned("whitespace", normalize="nfc"), "nfc"),
    ],
)
def test_refused(vocabulary, reason, tmp_path):
    with pytest.raises(volt.VoltError, match=reason):
        volt.export(vocabulary(), "subword-nmt", tmp_path / "codes")


def test_the_mark_in_the_text_is_refused(tmp_path):
    found = volt.candidates([["a@@ ab a@@ ab"]], pretokenizer="whitespace")
    vocabulary = volt.tokenizing.build.build_vocabulary(found, range(len(found)))
    with pytest.raises(volt.VoltError, match="@@"):
        volt.export(vocabulary, "subword-nmt", tmp_path / "codes")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_round_trip(encoding, rule, tmp_path):
    vocabulary = learned("whitespace", rule, encoding)
    first = volt.export(vocabulary, "subword-nmt", tmp_path / "a").files
    read, messages = volt.import_vocabulary(first[0])
    assert not messages
    second = volt.export(read, "subword-nmt", tmp_path / "b").files
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    for text in sample_lines()[:200]:
        assert tokens_of(read, text) == tokens_of(vocabulary, text)


def test_codes_of_subword_nmt_are_read(tmp_path):
    from subword_nmt.learn_bpe import learn_bpe

    lines = sample_lines()
    codes = tmp_path / "codes"
    with codecs.open(str(codes), "w", encoding="utf-8") as stream:
        learn_bpe(iter(lines), stream, 300)
    vocabulary, messages = volt.import_vocabulary(codes)
    assert "alphabet" in messages[0]
    with codecs.open(str(codes), encoding="utf-8") as stream:
        other = apply_bpe.BPE(stream)
    for text in lines:
        assert their_tokens(vocabulary, other, text) == tokens_of(vocabulary, text)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("#version: 0.1\na b\n", "version 0.2"),
        ("#version: 0.2\na b c\n", "line 2"),
        ("#version: 0.2\na\n", "line 2"),
        ("#version: 0.2\n", "character"),
        ("#version: 0.2\na b\nb c\nc d\nab c\na bcd\nb cd\nbc d\nab cd\n", "more than one way"),
        ("#version: 0.2\nab c\na b\n", "before"),
    ],
)
def test_broken_codes_are_refused_by_line(content, named, tmp_path):
    path = tmp_path / "codes"
    path.write_text(content)
    with pytest.raises(volt.VoltError, match=named):
        volt.import_vocabulary(path, "subword-nmt")
