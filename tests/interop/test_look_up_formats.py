"""WordPiece and Unigram files: read, and written, with the same ids as the real libraries."""

import json
from itertools import product

import pytest
from hypothesis import assume, given
from real import real_text
from samples import (
    LONG,
    any_text_for,
    letters,
    looked_up,
    sample_lines,
    spaces,
    token_texts,
)

import volt
from volt import Tokenizer
from volt.formats.huggingface.parts import BYTE_LEVEL, SPLIT_AT_BLANKS, SPLIT_AT_MARK
from volt.tokenizing.vocabulary import LookUp

tokenizers = pytest.importorskip("tokenizers")
sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
from tokenizers import models, normalizers, pre_tokenizers, trainers  # noqa: E402


def hugging_face(vocabulary, folder):
    volt.export(vocabulary, "hf", folder / "hf", force=True)
    other = tokenizers.Tokenizer.from_file(str(folder / "hf" / "tokenizer.json"))
    return lambda text: other.encode(text, add_special_tokens=False).ids


def processor(path):
    return sentencepiece.SentencePieceProcessor(model_file=str(path)).encode


def equal(vocabulary, other, texts, more=()):
    """On random text, on tokens strung together, and on the texts given."""
    tok = Tokenizer(vocabulary, threads=1)
    pretokenizer = vocabulary.rule.pretokenizer

    # Hugging Face reads the names of special tokens in text as these tokens, volt only if asked.
    # Hypothesis knows the names: it draws constants of the modules that are loaded.
    names = vocabulary.of_kind("special")

    @given(any_text_for(pretokenizer) | token_texts(vocabulary))
    def check(text):
        for part in (text, *more):
            assume(not any(name in text + part for name in names))
            assert other(text + part) == tok.encode(text + part)

    check()
    # WordPiece of Hugging Face takes time that grows with the square of a word.
    long = [] if vocabulary.encoding == "longest" else [*LONG, "a" * 5000]
    for text in ["", " ", "  ", "a", *long, *sample_lines()[:200], *texts]:
        text = text.replace("▁", "_") if pretokenizer == "metaspace" else text
        assert other(text) == tok.encode(text), text


def round_trip(vocabulary, form, name, folder):
    first = volt.export(vocabulary, form, folder / f"one{name}").files
    read, messages = volt.import_vocabulary(first[0])
    assert not messages
    second = volt.export(read, form, folder / f"two{name}").files
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    assert [(t.text, t.kind, t.score) for t in read.tokens] == [
        (t.text, t.kind, t.score) for t in vocabulary.tokens
    ]
    read.save(folder / "volt.json")
    tok, again = Tokenizer(vocabulary), volt.load(folder / "volt.json")
    for text in ("bade  deba 3.14", "日本 don't ☃☃☃", *sample_lines()[:20]):
        assert again.encode(text) == tok.encode(text)


# ---------------------------------------------------------------------------------- made by volt


@pytest.mark.parametrize("pretokenizer", ["whitespace", "metaspace", "byte-level"])
def test_longest_as_word_piece(pretokenizer, tmp_path):
    unknown = "byte" if pretokenizer == "byte-level" else "unk"
    vocabulary = looked_up(pretokenizer, "longest", unknown)
    assert not vocabulary.unreachable
    equal(vocabulary, hugging_face(vocabulary, tmp_path), ["##bade ## #", "a" * 500])
    round_trip(vocabulary, "hf", "", tmp_path)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("pretokenizer", "unknown"),
    [("metaspace", "byte"), ("metaspace", "unk"), ("byte-level", "byte")],
)
def test_unigram_as_unigram(pretokenizer, unknown, exact, tmp_path):
    vocabulary = looked_up(pretokenizer, "unigram", unknown, exact)
    equal(vocabulary, hugging_face(vocabulary, tmp_path), ["☃☃☃a☃ ☃"])
    round_trip(vocabulary, "hf", "", tmp_path)


@pytest.mark.parametrize("unknown", ["byte", "unk"])
def test_unigram_as_sentencepiece(unknown, tmp_path):
    vocabulary = looked_up("metaspace", "unigram", unknown)
    model = volt.export(vocabulary, "sentencepiece", tmp_path / "x").files[0]
    equal(vocabulary, processor(model), ["☃☃☃a☃ ☃", "<unk> <s> <0x41>"])
    read, _ = volt.import_vocabulary(model)
    assert read.look_up.arithmetic == "float32"
    second = volt.export(read, "sentencepiece", tmp_path / "y").files[0]
    assert model.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("unknown", ["byte", "unk"])
def test_joint_scores_as_those_of_others(unknown, tmp_path):
    lines = sample_lines()
    parts = [
        volt.learn(
            [some], candidates="substring:3000", unknown=unknown,
            size=size + 256 * (unknown == "byte"),
        ).vocabulary
        for some, size in ((lines[:350], 300), (lines[350:], 400))
    ]  # fmt: skip
    vocabulary = volt.join(parts).vocabulary
    assert not vocabulary.unreachable
    equal(vocabulary, hugging_face(vocabulary, tmp_path), ["☃☃☃a☃ ☃"])
    round_trip(vocabulary, "hf", "", tmp_path)
    model = volt.export(vocabulary, "sentencepiece", tmp_path / "x").files[0]
    equal(vocabulary, processor(model), ["☃☃☃a☃ ☃", "<unk> <s> <0x41>"])


def test_other_arithmetic_is_told(tmp_path):
    vocabulary = looked_up("metaspace", "unigram", "byte", exact=False)
    with pytest.raises(volt.SettingsError, match="32 bits"):
        volt.export(vocabulary, "sentencepiece", tmp_path / "x")
    model = volt.export(
        looked_up("metaspace", "unigram", "byte"), "sentencepiece", tmp_path / "y"
    ).files[0]
    read, _ = volt.import_vocabulary(model)
    assert not any("rounding" in m for m in volt.export(read, "hf", tmp_path / "z").messages)


REFUSED = [
    (("metaspace", "longest", "byte"), "hf", "byte tokens"),
    (("metaspace", "longest", "unk"), "sentencepiece", "longest"),
    (("byte-level", "unigram", "byte"), "sentencepiece", "metaspace"),
    (("byte-level", "unigram", "byte"), "gpt2", "looks tokens up"),
    (("byte-level", "longest", "byte"), "tiktoken", "looks tokens up"),
    (("whitespace", "longest", "unk"), "subword-nmt", "looks tokens up"),
]


@pytest.mark.parametrize(("which", "form", "reason"), REFUSED)
def test_refused(which, form, reason, tmp_path):
    with pytest.raises(volt.VoltError, match=reason):
        volt.export(looked_up(*which), form, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_an_unknown_score_of_ones_own_is_refused(tmp_path):
    from dataclasses import replace

    vocabulary = looked_up("metaspace", "unigram", "byte")
    changed = replace(vocabulary, look_up=LookUp(unknown_score=-99.0))
    for form in ("hf", "sentencepiece"):
        with pytest.raises(volt.SettingsError, match="unknown character"):
            volt.export(changed, form, tmp_path / "x")


@pytest.mark.parametrize("form", ["fairseq", "marian", "text"])
def test_lists_have_the_tokens_only(form, tmp_path):
    result = volt.export(looked_up("metaspace", "unigram", "byte"), form, tmp_path / "x")
    assert "tokens only" in result.messages[0]


# ----------------------------------------------------------------------------- trained by others


def trained(model, trainer, pre_tokenizer, folder, normalizer=None):
    other = tokenizers.Tokenizer(model)
    other.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        other.normalizer = normalizer
    other.train_from_iterator(sample_lines(), trainer)
    other.save(str(folder / "tokenizer.json"))
    vocabulary, messages = volt.import_vocabulary(folder / "tokenizer.json")
    return vocabulary, messages, lambda text: other.encode(text, add_special_tokens=False).ids


def test_word_piece_of_hugging_face(tmp_path):
    vocabulary, messages, other = trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(
            vocab_size=600, special_tokens=["[PAD]", "[UNK]"], show_progress=False
        ),
        pre_tokenizers.WhitespaceSplit(),
        tmp_path,
    )
    assert vocabulary.unknown_token == "[UNK]"
    assert vocabulary.look_up.longest_word == 100
    assert not messages
    tok = Tokenizer(vocabulary)
    texts = [*sample_lines(), "a" * 100, "a" * 101, "ba" * 60, "##a ## #a", "bade\tde\r\nba"]
    for text in texts:
        assert other(text) == tok.encode(text)

    @given(letters | token_texts(vocabulary))
    def check(text):
        assert other(text) == tok.encode(text)

    check()


@pytest.mark.parametrize("normalizer", [None, "nfkc"])
def test_unigram_of_hugging_face(normalizer, tmp_path):
    vocabulary, messages, other = trained(
        models.Unigram(),
        trainers.UnigramTrainer(
            vocab_size=500, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False
        ),
        pre_tokenizers.Metaspace(),
        tmp_path,
        normalizers.NFKC() if normalizer else None,
    )
    assert vocabulary.normalizer.summary.startswith("form" if normalizer else "cut")
    assert not messages
    tok = Tokenizer(vocabulary)

    @given(any_text_for("metaspace") | token_texts(vocabulary) | spaces)
    def check(text):
        text = "x" + text
        assert other(text) == tok.encode(text)

    check()
    for text in (*filter(str.strip, sample_lines()), *LONG):
        text = text.replace("<", "(")  # special tokens have no place here
        assert other(text) == tok.encode(text)


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_unigram_of_sentencepiece(byte_fallback, tmp_path):
    """Its scores have any last bits: sums are added in single precision, through the line."""
    model = tmp_path / "trained.model"
    with model.open("wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample_lines()), model_writer=stream, model_type="unigram",
            vocab_size=500 + 256 * byte_fallback, byte_fallback=byte_fallback, minloglevel=2,
            normalization_rule_name="identity", remove_extra_whitespaces=False,
            character_coverage=0.999, user_defined_symbols=["<2de>"],
        )  # fmt: skip
    vocabulary, messages = volt.import_vocabulary(model)
    assert vocabulary.encoding == "unigram" and not messages
    lines = sample_lines()
    joined = [" ".join(lines[i : i + 40]) for i in range(0, len(lines), 40)]
    equal(vocabulary, processor(model), [*lines, *joined, "日" * 50, "ba <2de> de<2de>"])
    again = volt.export(vocabulary, "sentencepiece", tmp_path / "again").files[0]
    assert processor(again)(joined) == processor(model)(joined)
    result = volt.export(vocabulary, "hf", tmp_path / "hf")
    assert any("rounding" in message for message in result.messages)


def test_real_text(volt_data, tmp_path):
    for name, size in (("multi30k/valid.de", 2000), ("tatoeba-ja-en/valid.ja", 1500)):
        text = real_text(volt_data(name))
        lines = text.split("\n")[:-1]
        model = tmp_path / "real.model"
        with model.open("wb") as stream:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=stream, model_type="unigram",
                vocab_size=size, byte_fallback=True, minloglevel=2, character_coverage=0.98,
                normalization_rule_name="identity", remove_extra_whitespaces=False,
            )  # fmt: skip
        vocabulary, _ = volt.import_vocabulary(model)
        tok = Tokenizer(vocabulary)
        assert processor(model)(lines) == tok.encode_batch(lines)
        # Past a sum of -100,000, some 20,000 tokens, SentencePiece starts from zero again.
        joined = " ".join(lines[:300])
        assert processor(model)(joined) == tok.encode(joined)


# ---------------------------------------------------------------------------------------- broken


def unigram_file(**changes):
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁", -1.0], ["a", -2.0]]}
    data = {"model": model | changes, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁"}}
    return data | {"added_tokens": [{"id": 0, "content": "<unk>", "special": True}]}


def word_piece_file(**changes):
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "##a": 2}}  # fmt: skip
    return {"model": model | changes, "pre_tokenizer": SPLIT_AT_BLANKS}


BROKEN = [
    (unigram_file(vocab=3), "model.vocab"),
    (unigram_file(vocab=[]), "model.vocab"),
    (unigram_file(vocab=[["<unk>", "x"]]), "model.vocab"),
    (unigram_file(vocab=[["<unk>", 1e300]]), "model.vocab"),
    (unigram_file(vocab=[["<unk>", 0.0], ["a", 0.0], ["a", 0.0]]), "twice"),
    (unigram_file(unk_id=None), "unk_id"),
    (unigram_file(unk_id=7), "unk_id"),
    (unigram_file() | {"pre_tokenizer": SPLIT_AT_BLANKS}, "pre_tokenizer"),
    (unigram_file() | {"normalizer": {"type": "Precompiled"}}, "normalizer"),
    (word_piece_file(vocab=None), "model.vocab"),
    (word_piece_file(unk_token="[NO]"), "NO"),
    (word_piece_file(unk_token=3), "unk_token"),
    (word_piece_file(continuing_subword_prefix="@@"), "continuing_subword_prefix"),
    (word_piece_file(max_input_chars_per_word=0), "max_input_chars_per_word"),
    (word_piece_file(max_input_chars_per_word="x"), "max_input_chars_per_word"),
    (word_piece_file() | {"pre_tokenizer": SPLIT_AT_MARK}, "pre_tokenizer"),
    (word_piece_file() | {"pre_tokenizer": BYTE_LEVEL}, "continuing_subword_prefix"),
]


@pytest.mark.parametrize(("data", "named"), BROKEN)
def test_a_broken_file_is_refused_by_name(data, named, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    with pytest.raises(volt.VoltError, match=named):
        volt.import_vocabulary(path)


def test_the_mark_alone_is_a_token_at_the_start_of_a_word(tmp_path):
    vocab = {text: i for i, text in enumerate(["[UNK]", "a", "##a", "##", "#", "###", "####a"])}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(word_piece_file(vocab=vocab)))
    vocabulary, messages = volt.import_vocabulary(path)
    assert not messages
    tok = Tokenizer(vocabulary)
    other = tokenizers.Tokenizer.from_file(str(path))
    for text in map("".join, product("#a ", repeat=7)):
        assert tok.encode(text) == other.encode(text).ids, text
    assert tok.decode(tok.encode("a ## a ##")) == "a ## a ##"
    volt.export(vocabulary, "hf", tmp_path / "again")
    assert volt.import_vocabulary(tmp_path / "again")[0].texts == vocabulary.texts


def test_those_files_unbroken_are_read(tmp_path):
    path = tmp_path / "tokenizer.json"
    for data, text, expected in ((unigram_file(), "aa ab", [1, 2, 2, 1, 2, 0]),
                                 (word_piece_file(), "aa ab", [1, 2, 0])):  # fmt: skip
        path.write_text(json.dumps(data))
        vocabulary, _ = volt.import_vocabulary(path)
        assert Tokenizer(vocabulary).encode(text) == expected
