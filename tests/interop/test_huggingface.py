"""Exported tokenizer.json files give the same ids in `tokenizers` and `transformers` as volt."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from volt import Tokenizer
from volt.formats.huggingface import tokenizer_data

tokenizers = pytest.importorskip("tokenizers")

PRETOKENIZERS = ["metaspace", "whitespace", "byte-level"]
RULES = ["pairs", "concat"]


def peer(vocabulary):
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer_data(vocabulary)))


def equal(vocabulary, other, text, **options):
    tok = tokenizer_of(vocabulary)
    ids = tok.encode(text, **options)
    found = other.encode(text, add_special_tokens=False)
    assert found.ids == ids
    assert found.word_ids == tok.encode_with_words(text, **options)[2]
    names = [token.replace("▁", " ") if token[0] == "<" else token for token in found.tokens]
    assert names == [tok.tokens[i] for i in ids]
    return ids


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_any_text(pretokenizer, rule):
    vocabulary = learned(pretokenizer, rule)
    other = peer(vocabulary)

    @given(any_text_for(pretokenizer) | token_texts(vocabulary))
    def check(text):
        ids = equal(vocabulary, other, text, allowed_special="all")
        if pretokenizer != "whitespace":
            assert other.decode(ids, skip_special_tokens=False) == text

    check()
    for text in ("", " ", "  ", "\n", *LONG):
        equal(vocabulary, other, text)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_vocabularies_that_no_bpe_would_learn(pretokenizer, rule):
    for seed in range(30):
        vocabulary = made_up(pretokenizer, rule, seed)
        other = peer(vocabulary)
        for text in letter_texts(seed):
            equal(vocabulary, other, text)


def test_unknown_characters_are_not_fused():
    vocabulary = learned("metaspace", unknown="unk")
    other = peer(vocabulary)
    unknown = vocabulary.ids["<unk>"]
    assert equal(vocabulary, other, "ⴰⴱⴲ")[-3:] == [unknown] * 3
    words = learned("whitespace")
    assert equal(words, peer(words), "ⴰⴱ ⴲ") == [unknown] * 3


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@given(
    parts=st.lists(
        st.sampled_from(["<2de>", "<2", "<2de><x y>", "<x y>", "<s>", "</s>", " ", "a", "be", "▂"]),
        max_size=8,
    )
)
def test_special_tokens_and_symbols(pretokenizer, parts):
    vocabulary = learned(pretokenizer, symbols=("<2de>", "<x y>", "<2"))
    other = peer(vocabulary)
    text = "".join(parts)
    ids = equal(vocabulary, other, text, allowed_special="all")
    if pretokenizer != "whitespace":
        assert other.decode(ids, skip_special_tokens=False) == text
    # Without special tokens in the text, all the same where it does not start with one.
    other.encode_special_tokens = True
    if not text.startswith(("<s>", "</s>")):
        equal(vocabulary, other, text)


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_normalization(pretokenizer, form):
    vocabulary = learned(pretokenizer, normalize=form)
    other = peer(vocabulary)
    for text in ("ﬁne ½ e\u0301", "Å ＡＢ  ㎏", "가각힣 ガ", "a\u0323\u0307 ﷺ"):
        equal(vocabulary, other, text)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_transformers(pretokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    vocabulary = learned(pretokenizer, symbols=("<2de>",))
    result = volt.export(vocabulary, "hf", tmp_path / "out")
    assert [file.name for file in result.files] == [
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
        "generation_config.json",
    ]  # fmt: skip
    tok = Tokenizer(vocabulary)
    for other in (
        transformers.PreTrainedTokenizerFast.from_pretrained(str(tmp_path / "out")),
        transformers.AutoTokenizer.from_pretrained(str(tmp_path / "out")),
    ):
        assert len(other) == len(tok)
        assert other.pad_token_id == tok.token_to_id("<pad>")
        assert other.bos_token_id == tok.token_to_id("<s>")
        assert other.eos_token_id == tok.token_to_id("</s>")
        assert other.unk_token_id == tok.token_to_id("<unk>")
        for text in (
            "",
            "  Hello,  wörld\n3.14 日本 ",
            "bade <2de>deba <2de> ",
            "<s>bade</s>",
            "\t👩‍🚀",
        ):
            ids = other(text, add_special_tokens=False)["input_ids"]
            assert ids == tok.encode(text, allowed_special="all")
            if pretokenizer != "whitespace":
                assert other.decode(ids) == text


def test_real_text(volt_data, tmp_path):
    path = volt_data("multi30k/valid.de")
    lines = real_text(path).split("\n")
    for pretokenizer in PRETOKENIZERS:
        for rule in RULES:
            found = volt.learn(
                path, pretokenizer=pretokenizer, merge_rule=rule, merges=6000
            ).vocabulary
            volt.export(found, "hf", tmp_path / "out", check=path, force=True)
            other = tokenizers.Tokenizer.from_file(str(tmp_path / "out/tokenizer.json"))
            expected = Tokenizer(found).encode_batch(lines)
            got = other.encode_batch(lines, add_special_tokens=False)
            assert [one.ids for one in got] == expected


# ------------------------------------------------------------------------------------ refused, read


def test_split_is_refused(tmp_path):
    with pytest.raises(volt.VoltError, match="split encoding"):
        volt.export(learned("metaspace", encoding="split"), "hf", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_round_trip(pretokenizer, rule, tmp_path):
    for number, vocabulary in enumerate(
        [
            learned(pretokenizer, rule, symbols=("<2de>", "a.*b")),
            learned(pretokenizer, rule, normalize="nfkc"),
        ]
    ):
        first = volt.export(vocabulary, "hf", tmp_path / f"{number}a").files
        read, _ = volt.import_vocabulary(tmp_path / f"{number}a")
        second = volt.export(read, "hf", tmp_path / f"{number}b").files
        assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
        assert [(t.text, t.kind) for t in read.tokens] == [
            (t.text, t.kind) for t in vocabulary.tokens
        ]
        read.save(tmp_path / "volt.json")
        tok, again = Tokenizer(vocabulary), volt.load(tmp_path / "volt.json")
        for text in ("bade  deba 3.14 <2de>e", "日本 don't", *letter_texts(1)):
            assert again.encode(text) == tok.encode(text)


def test_a_tokenizer_that_hugging_face_trained_is_read(tmp_path):
    from tokenizers import decoders, models, pre_tokenizers, trainers

    other = tokenizers.Tokenizer(models.BPE())
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    other.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    other.train_from_iterator(sample_lines(), trainer)
    other.save(str(tmp_path / "tokenizer.json"))
    vocabulary, messages = volt.import_vocabulary(tmp_path / "tokenizer.json")
    assert not messages
    tok = Tokenizer(vocabulary)

    @given(any_text_for("byte-level") | token_texts(vocabulary))
    def check(text):
        assert other.encode(text).ids == tok.encode(text)

    check()


BROKEN = [
    (["model"], {}, "model.vocab"),
    (["model", "type"], "Unigram", "model.vocab"),
    (["model", "type"], "WordLevel", "model.type"),
    (["model", "type"], {"a": 1}, "model.type"),
    (["model", "vocab"], {"a": "x"}, "model.vocab"),
    (["model", "vocab"], {"a": 5}, "ids"),
    (["model", "merges"], 3, "model.merges"),
    (["model", "merges"], [["a"]], "model.merges"),
    (["model", "merges"], [["a", "nowhere"]], "nowhere"),
    (["model", "dropout"], 0.1, "dropout"),
    (["model", "unk_token"], ["x"], "unk_token"),
    (["model", "continuing_subword_prefix"], "##", "continuing_subword_prefix"),
    (["normalizer"], {"type": "Lowercase"}, "normalizer"),
    (["pre_tokenizer"], {"type": "Sequence", "pretokenizers": 3}, None),
    (["added_tokens"], [{"content": 3}], "added_tokens"),
    (["added_tokens"], {"x": 3}, "added_tokens"),
]


@pytest.mark.parametrize(("where", "value", "named"), BROKEN)
def test_a_broken_file_is_refused_by_name(where, value, named, tmp_path):
    data = tokenizer_data(learned("metaspace"))
    inner = data
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    if named is None:
        volt.import_vocabulary(path)
        return
    with pytest.raises(volt.VoltError, match=named):
        volt.import_vocabulary(path)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"model": 1}']
)
def test_what_is_no_tokenizer_is_refused(content, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(volt.VoltError):
        volt.import_vocabulary(path)


def test_names_as_text_at_the_start_lack_the_mark():
    """Two behaviours of the library decide: normalizers do not know `encode_special_tokens`, and
    its own Metaspace, which does, adds no mark before a text that starts with a space."""
    vocabulary = learned("metaspace")
    tok, other = tokenizer_of(vocabulary), peer(vocabulary)
    other.encode_special_tokens = True
    mark = tok.token_to_id("▁")
    for text in ("a<s> b", " <s>a", "a b </s>", "<x>"):
        assert other.encode(text, add_special_tokens=False).ids == tok.encode(text)
    for text in ("<s>a", "</s>"):
        assert [mark, *other.encode(text, add_special_tokens=False).ids] == tok.encode(text)
    alone = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    assert alone.pre_tokenize_str("<s>a") == [("▁<s>a", (0, 4))]
    assert alone.pre_tokenize_str(" a") == [("▁a", (0, 2))]
    assert tok.encode(" a")[0] == mark
