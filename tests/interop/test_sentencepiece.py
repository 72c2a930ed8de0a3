"""Exported .model files give the same ids in SentencePiece as volt."""

import sys

import pytest
from hypothesis import given
from real import real_text
from samples import (
    LONG,
    SPACES,
    any_text_for,
    learned,
    letter_texts,
    made_up,
    token_texts,
    tokenizer_of,
)

import volt
from volt import Tokenizer
from volt.formats import sentencepiece as form

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")

ENCODINGS = ["merge", "split"]


def peer(vocabulary, folder):
    path = folder / "spm.model"
    model, vocab = volt.export(vocabulary, "sentencepiece", path, force=True).files
    assert (model.name, vocab.name) == ("spm.model", "spm.vocab")
    return sentencepiece.SentencePieceProcessor(model_file=str(model))


def equal(vocabulary, other, text):
    tok = tokenizer_of(vocabulary)
    ids = tok.encode(text)
    assert other.encode(text) == ids
    assert other.encode(text, out_type=str) == [tok.tokens[i] for i in ids]
    return ids


def test_marian_knows_a_model_by_its_ending(tmp_path):
    found = volt.export(learned("metaspace"), "sentencepiece", tmp_path / "vocab.spm")
    assert [file.name for file in found.files] == ["vocab.spm", "vocab.vocab"]
    vocabulary, _ = volt.import_vocabulary(tmp_path / "vocab.spm")
    assert vocabulary.texts == learned("metaspace").texts


def test_without_protobuf_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(volt.SettingsError, match=r"needs protobuf: pip install 'volt-vocab"):
        volt.export(learned("metaspace"), "sentencepiece", tmp_path / "spm")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_any_text(encoding, tmp_path):
    vocabulary = learned("metaspace", encoding=encoding)
    assert bool(vocabulary.hidden) == (encoding == "split")
    other = peer(vocabulary, tmp_path)
    for name, number in (
        ("pad", other.pad_id()), ("s", other.bos_id()), ("/s", other.eos_id()),
        ("unk", other.unk_id()),
    ):  # fmt: skip
        assert number == vocabulary.ids[f"<{name}>"]

    @given(any_text_for("metaspace") | token_texts(vocabulary))
    def check(text):
        ids = equal(vocabulary, other, text)
        assert other.decode(ids) == text

    check()
    for text in (
        "",
        " ",
        "  ",
        "\n",
        "\0",
        "a\0b",
        "<s> <0x41> <unk>",
        SPACES,
        *LONG,
        "a" * 50_000,
    ):
        equal(vocabulary, other, text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_vocabularies_that_no_bpe_would_learn(encoding, tmp_path):
    """A hidden token that can be made in several ways is split as volt does, too."""
    for seed in range(40):
        vocabulary = made_up("metaspace", "concat", seed, hidden=encoding == "split")
        other = peer(vocabulary, tmp_path)
        for text in letter_texts(seed):
            equal(vocabulary, other, text)


def test_a_literal_mark_is_the_one_difference(tmp_path):
    vocabulary = learned("metaspace")
    other = peer(vocabulary, tmp_path)
    assert other.encode("ba▁de") == other.encode("ba de")
    tok = tokenizer_of(vocabulary)
    assert tok.decode(tok.encode("ba▁de")) == "ba▁de"


def test_symbols(tmp_path):
    vocabulary = learned("metaspace", symbols=("<2de>", "<2"))
    result = volt.export(vocabulary, "sentencepiece", tmp_path / "x")
    assert any("starts with a symbol" in message for message in result.messages)
    other = peer(vocabulary, tmp_path)
    for text in ("bade <2de> <2 deba", "bade<2de><2<2de>ba", "a <2de"):
        equal(vocabulary, other, text)
    assert other.encode("<2de>ba")[1:] == Tokenizer(vocabulary).encode("<2de>ba")


def test_the_vocabulary_of_rule_pairs(tmp_path):
    """It goes as it is where the rules agree, and after a check over text where they don't."""
    vocabulary = learned("metaspace", "pairs")
    other = peer(vocabulary, tmp_path)
    for text in (*LONG, "bade deba, 3.14", "日本 don't"):
        equal(vocabulary, other, text)

    differing = 0
    for seed in range(20):
        vocabulary = made_up("metaspace", "pairs", seed)
        texts = letter_texts(seed)
        tok = tokenizer_of(vocabulary)
        try:
            other = peer(vocabulary, tmp_path)
        except volt.SettingsError as error:
            assert "`check`" in str(error)
        else:
            assert [other.encode(text) for text in texts] == tok.encode_batch(texts)
            continue
        differing += 1
        words = volt.count([texts], pretokenizer="metaspace")
        result = volt.export(vocabulary, "sentencepiece", tmp_path / "spm", check=words, force=True)
        assert "are encoded differently" in result.messages[0]
        other = sentencepiece.SentencePieceProcessor(model_file=str(result.files[0]))
        wrong = [
            count
            for word, count in words.items()
            if other.encode(word.removeprefix("▁")) != tok.encode(word.removeprefix("▁"))
        ]
        assert (result.check.types, result.check.words) == (len(wrong), sum(wrong))
    assert differing > 5


def test_real_text(volt_data, tmp_path):
    path = volt_data("multi30k/valid.de")
    lines = real_text(path).split("\n")
    for rule in ("concat", "pairs"):
        for encoding in ENCODINGS:
            found = volt.learn(path, merge_rule=rule, encoding=encoding, merges=6000)
            other = peer(found.vocabulary, tmp_path)
            assert other.encode(lines) == Tokenizer(found.vocabulary).encode_batch(lines)


# ------------------------------------------------------------------------------------ refused, read


@pytest.mark.parametrize(
    ("vocabulary", "reason"),
    [
        (lambda: learned("whitespace"), "metaspace"),
        (lambda: learned("metaspace", normalize="nfkc"), "nfkc"),
        (lambda: learned("metaspace", unknown="unk"), "run of unknown"),
        (lambda: learned("metaspace", symbols=("a b",)), "space"),
    ],
)
def test_refused(vocabulary, reason, tmp_path):
    with pytest.raises(volt.VoltError, match=reason):
        volt.export(vocabulary(), "sentencepiece", tmp_path / "x.model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_round_trip(encoding, tmp_path):
    vocabulary = learned("metaspace", encoding=encoding, symbols=("<2de>",))
    first = volt.export(vocabulary, "sentencepiece", tmp_path / "a").files
    read, messages = volt.import_vocabulary(first[0])
    assert not messages
    second = volt.export(read, "sentencepiece", tmp_path / "b").files
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    assert [(t.text, t.kind) for t in read.pool] == [(t.text, t.kind) for t in vocabulary.pool]
    read.save(tmp_path / "volt.json")
    assert volt.load(tmp_path / "volt.json").encode("bade  deba") == tokenizer_of(
        vocabulary
    ).encode("bade  deba")


def test_a_model_that_sentencepiece_trained_is_read(tmp_path):
    lines = letter_texts(1, 400, "abcdefgh")
    model = tmp_path / "trained.model"
    with model.open("wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=stream, model_type="bpe", vocab_size=400,
            byte_fallback=True, normalization_rule_name="identity", minloglevel=2,
            remove_extra_whitespaces=False, character_coverage=1.0,
        )  # fmt: skip
    vocabulary, _ = volt.import_vocabulary(model)
    other = sentencepiece.SentencePieceProcessor(model_file=str(model))
    for text in [*lines, *letter_texts(2, 100, "abcdefgh"), "x y ü", "  a  b "]:
        equal(vocabulary, other, text)


def test_broken_models_are_refused(tmp_path):
    path = tmp_path / "x.model"
    data = volt.export(learned("metaspace"), "sentencepiece", path).files[0].read_bytes()
    for cut in (0, 1, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(volt.VoltError):
            volt.import_vocabulary(path)
    proto = form._proto()

    def changed(change):
        model = proto.ModelProto()
        model.ParseFromString(data)
        change(model)
        path.write_bytes(model.SerializeToString())
        with pytest.raises(volt.VoltError) as error:
            volt.import_vocabulary(path)
        return str(error.value)

    def words(model):
        model.trainer_spec.model_type = 3

    def twice(model):
        model.pieces[300].piece = model.pieces[301].piece

    def infinite(model):
        model.pieces[-1].score = float("nan")

    def normalizer(model):
        model.normalizer_spec.precompiled_charsmap = b"x"

    def suffix(model):
        model.trainer_spec.treat_whitespace_as_suffix = True

    def unused(model):
        model.pieces[400].type = form.UNUSED

    def no_byte(model):
        del model.pieces[10]

    for change, named in (
        (words, "WORD"), (twice, "twice"), (infinite, "score"),
        (normalizer, "cut short"), (suffix, "treat_whitespace_as_suffix"),
        (unused, "UNUSED"), (no_byte, "byte"),
    ):  # fmt: skip
        assert named in changed(change)
