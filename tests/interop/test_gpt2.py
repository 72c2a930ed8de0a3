"""Exported vocab.json and merges.txt give the same ids in Hugging Face's byte-level BPE."""

import json

import pytest
from hypothesis import given
from real import real_text
from samples import LONG, any_text_for, learned, letter_texts, made_up, token_texts, tokenizer_of

import volt
from volt import Tokenizer

tokenizers = pytest.importorskip("tokenizers")

RULES = ["pairs", "concat"]


def peer(vocabulary, folder):
    files = volt.export(vocabulary, "gpt2", folder, force=True).files
    assert [file.name for file in files] == ["vocab.json", "merges.txt", "tokenizer_config.json"]
    return tokenizers.ByteLevelBPETokenizer(*map(str, files[:2]))


@pytest.mark.parametrize("rule", RULES)
def test_any_text(rule, tmp_path):
    vocabulary = learned("byte-level", rule)
    other = peer(vocabulary, tmp_path)
    tok = tokenizer_of(vocabulary)

    @given(any_text_for("byte-level") | token_texts(vocabulary))
    def check(text):
        ids = tok.encode(text)
        assert other.encode(text).ids == ids
        assert other.decode(ids) == text

    check()
    for text in ("", " ", "  ", "\n\n a", *LONG):
        assert other.encode(text).ids == tok.encode(text)


@pytest.mark.parametrize("rule", RULES)
def test_vocabularies_that_no_bpe_would_learn(rule, tmp_path):
    for seed in range(30):
        vocabulary = made_up("byte-level", rule, seed)
        other = peer(vocabulary, tmp_path)
        texts = letter_texts(seed)
        expected = tokenizer_of(vocabulary).encode_batch(texts)
        assert [one.ids for one in other.encode_batch(texts)] == expected


def test_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    vocabulary = learned("byte-level")
    peer(vocabulary, tmp_path)
    other = transformers.GPT2Tokenizer(
        vocab=str(tmp_path / "vocab.json"), merges=str(tmp_path / "merges.txt"),
        unk_token="<unk>", bos_token="<s>", eos_token="</s>",
    )  # fmt: skip
    tok = tokenizer_of(vocabulary)
    named = transformers.AutoTokenizer.from_pretrained(tmp_path)  # by tokenizer_config.json
    for text in ("Hello,  wörld\n3.14 日本 ", "don't we'll", "\t👩‍🚀"):
        assert other(text)["input_ids"] == named(text)["input_ids"] == tok.encode(text)


def test_real_text(volt_data, tmp_path):
    path = volt_data("multi30k/valid.de")
    lines = real_text(path).split("\n")
    vocabulary = volt.learn(path, pretokenizer="byte-level", merges=6000).vocabulary
    other = peer(vocabulary, tmp_path)
    expected = Tokenizer(vocabulary).encode_batch(lines)
    assert [one.ids for one in other.encode_batch(lines)] == expected


@pytest.mark.parametrize("rule", RULES)
def test_round_trip(rule, tmp_path):
    vocabulary = learned("byte-level", rule)
    first = volt.export(vocabulary, "gpt2", tmp_path / "a").files
    read, messages = volt.import_vocabulary(tmp_path / "a")
    assert "tokenizer_config.json names GPT2Tokenizer" in messages
    assert read.of_kind("special") == vocabulary.of_kind("special")
    second = volt.export(read, "gpt2", tmp_path / "b").files
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    for text in (*letter_texts(1), "日本 don't  "):
        assert tokenizer_of(read).encode(text) == tokenizer_of(vocabulary).encode(text)


@pytest.mark.parametrize(
    ("vocabulary", "reason"),
    [
        (lambda: learned("metaspace"), "byte-level"),
        (lambda: learned("byte-level", encoding="split"), "split"),
        (lambda: learned("byte-level", symbols=("<2de>",)), "symbols"),
        (lambda: learned("byte-level", normalize="nfc"), "nfc"),
    ],
)
def test_refused(vocabulary, reason, tmp_path):
    with pytest.raises(volt.VoltError, match=reason):
        volt.export(vocabulary(), "gpt2", tmp_path)


def test_broken_files_are_refused(tmp_path):
    vocab, merges, _ = volt.export(learned("byte-level"), "gpt2", tmp_path).files
    good = vocab.read_text(), merges.read_text()
    table = json.loads(good[0])
    for numbers, lines, named in (
        ("[1]", good[1], "table"),
        (json.dumps({**table, "Ġ": "x"}), good[1], "Ġ: 'x' is not a whole number"),
        (json.dumps({**table, "new": 3}), good[1], "ids"),
        (
            json.dumps({t: i for t, i in table.items() if i < 100}),
            good[1],
            "is not in the vocabulary",
        ),
        (good[0], good[1] + "a b c\n", "merges.txt: line"),
        (good[0], good[1] + "a nowhere\n", "nowhere"),
        (good[0], None, "merges.txt"),
    ):
        vocab.write_text(numbers)
        merges.unlink(missing_ok=True)
        if lines is not None:
            merges.write_text(lines)
        with pytest.raises(volt.VoltError, match=named):
            volt.import_vocabulary(tmp_path, "gpt2")


def test_the_pattern_is_never_guessed(tmp_path):
    vocabulary = learned("byte-level:qwen2")
    files = volt.export(learned("byte-level"), "gpt2", tmp_path).files
    files[2].unlink()
    for form in (None, "gpt2"):
        with pytest.raises(volt.SettingsError, match="name it with `pattern`: one of byte-level"):
            volt.import_vocabulary(tmp_path, form)
    for pattern in ("byte-level:qwen2", "byte-level:deepseek", "byte-level"):
        assert volt.import_vocabulary(tmp_path, pattern=pattern)[0].rule.pretokenizer == pattern
    read, _ = volt.import_vocabulary(tmp_path, pattern="qwen2")
    assert read.rule.pretokenizer == "byte-level:qwen2"
    with pytest.raises(volt.SettingsError, match="did you mean byte-level:qwen2"):
        volt.import_vocabulary(tmp_path, pattern="qwen")
    files[2].write_text(json.dumps({"tokenizer_class": "Qwen2Tokenizer"}))
    read, messages = volt.import_vocabulary(tmp_path)
    assert (read.rule.pretokenizer, read.rule.normalize) == ("byte-level:qwen2", "nfc")
    assert "tokenizer_config.json names Qwen2Tokenizer" in messages
    json_file = volt.export(vocabulary, "hf", tmp_path / "x.json").files[0]
    with pytest.raises(volt.SettingsError, match="`pattern`: a hf file says itself"):
        volt.import_vocabulary(json_file, pattern="byte-level")
