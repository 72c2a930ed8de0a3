"""Files of other toolkits with a normalizer: the same ids as the real libraries."""

import json
import random
import unicodedata
from functools import lru_cache
from io import BytesIO
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from real import real_text
from samples import sample_lines

import volt
from volt import Tokenizer
from volt.foreign.engine_choice import open_engine

tokenizers = pytest.importorskip("tokenizers")
sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
from sentencepiece import sentencepiece_model_pb2  # noqa: E402
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers  # noqa: E402

BLANKS = " \t\n\r\v\f\u0085\u00a0\u1680\u2003\u2028\u202f\u3000\u200b\u200d\ufeff\0▁"
MARKED = (
    "e\u0301",
    "a\u0323\u0302",
    "\u1100\u1161\u11a8",
    "가\u11a8",
    "ﬁ",
    "①",
    "½",
    "™",
    "Å",
    "İ",
)
KINDS = (*MARKED, "\u00a0\u0301", "ｶﾞ", "が", "ΑΣ", "\r\n", "中文", "don't", "[MASK]", "<s>", "  ")

# The tables of the peers are older than Python's, and newer; what Unicode 3.2 had is in all.
old_characters = st.characters(exclude_categories=["Cs", "Cn"]).filter(
    lambda c: unicodedata.ucd_3_2_0.category(c) not in ("Cs", "Cn")
)
parts = (
    st.sampled_from(KINDS)
    | st.text(BLANKS, min_size=1, max_size=3)
    | st.sampled_from([word for line in sample_lines()[:60] for word in line.split()])
    | st.text(old_characters, max_size=4)
)
texts = st.lists(parts, max_size=8).map("".join)


def equal(tok, other, allowed=()):
    @given(texts)
    def check(text):
        assert other(text) in (None, tok.encode(text, allowed_special=allowed))

    check()
    for text in sample_lines()[:150]:
        assert tok.encode(text, allowed_special=allowed) == other(text)


# ------------------------------------------------------------------------------------ Hugging Face


@lru_cache
def table(rule="nmt_nfkc"):
    return model(rule, True, "bpe").normalizer_spec.precompiled_charsmap


def trained(kind, normalizer, pre_tokenizer):
    special = ["[UNK]", "[MASK]", "<s>"]
    suffix = {"end_of_word_suffix": "</w>"} if kind == "BPE </w>" else {}
    if kind == "WordPiece":
        other = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        trainer = trainers.WordPieceTrainer(
            vocab_size=500, special_tokens=special, show_progress=False
        )
    elif kind == "Unigram":
        other = tokenizers.Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(
            vocab_size=400, special_tokens=special, unk_token="[UNK]", show_progress=False
        )
    elif kind == "bytes":
        other = tokenizers.Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=600, special_tokens=special, show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )  # fmt: skip
    else:
        other = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]", **suffix))
        trainer = trainers.BpeTrainer(
            vocab_size=500, special_tokens=special, show_progress=False, **suffix
        )
    if normalizer is not None:
        other.normalizer = normalizer
    other.pre_tokenizer = pre_tokenizer
    other.train_from_iterator(sample_lines(), trainer)
    return other


def bert(**options):
    return lambda: normalizers.BertNormalizer(**options)


def sequence(*steps):
    return lambda: normalizers.Sequence([step() for step in steps])


def precompiled():
    return normalizers.Precompiled(table())


def folded():
    return normalizers.Precompiled(table("nfkc_cf"))


def one_space(by=" "):
    return lambda: normalizers.Replace(Regex(" {2,}"), by)


def spaced():
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])


FILES = {
    "BERT uncased": ("WordPiece", bert(), pre_tokenizers.BertPreTokenizer),
    "BERT cased": ("WordPiece", bert(lowercase=False), pre_tokenizers.BertPreTokenizer),
    "BERT with accents": ("WordPiece", bert(strip_accents=False), pre_tokenizers.BertPreTokenizer),
    "BERT unclean": (
        "WordPiece", bert(clean_text=False, handle_chinese_chars=False),
        pre_tokenizers.BertPreTokenizer,
    ),
    "GPT": ("BPE </w>", bert(), pre_tokenizers.BertPreTokenizer),
    "words": ("WordPiece", normalizers.Lowercase, pre_tokenizers.Whitespace),
    "blanks": ("WordPiece", None, pre_tokenizers.WhitespaceSplit),
    "XLM-R": ("Unigram", precompiled, spaced),
    "T5": (
        "Unigram",
        sequence(precompiled, lambda: normalizers.Strip(False, True), one_space("▁")),
        pre_tokenizers.Metaspace,
    ),
    "mBART": ("Unigram", sequence(precompiled, one_space()), pre_tokenizers.Metaspace),
    "ALBERT": (
        "Unigram",
        sequence(
            lambda: normalizers.Replace("``", '"'), normalizers.NFKD, normalizers.StripAccents,
            normalizers.Lowercase, precompiled, one_space(),
        ),
        spaced,
    ),
    "NMT": (
        "bytes", sequence(normalizers.Nmt, normalizers.NFKD, normalizers.StripAccents),
        lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
    ),
    "folded BPE": ("BPE", sequence(folded, one_space()), pre_tokenizers.Metaspace),
    "RoBERTa": ("bytes", None, lambda: pre_tokenizers.ByteLevel(trim_offsets=False)),
    "RoBERTa uncased": (
        "bytes", sequence(normalizers.NFC, normalizers.Lowercase), pre_tokenizers.ByteLevel,
    ),
    "GPT-2 uncased": (
        "bytes", normalizers.Lowercase, lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
    ),
    "first": (
        "Unigram", normalizers.NFKC, lambda: pre_tokenizers.Metaspace(prepend_scheme="first"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_hugging_face(name, tmp_path):
    kind, normalizer, pre_tokenizer = FILES[name]
    other = trained(kind, normalizer and normalizer(), pre_tokenizer())
    other.save(str(tmp_path / "tokenizer.json"))
    vocabulary, messages = volt.import_vocabulary(tmp_path / "tokenizer.json")
    assert not messages
    # The library gets it too: its steps do not expand a text out of proportion.
    assert open_engine(tmp_path / "tokenizer.json", native=False).engine.kind == "hf"

    def ids(text):
        found = other.encode(text, add_special_tokens=False).ids
        kinds = [vocabulary.tokens[i].kind for i in found[1:2]]
        # A space before nothing is one `▁` to Metaspace, and none to volt: see docs/formats.md.
        lone = found[:1] == [vocabulary.ids.get("▁")] and kinds in ([], ["special"])
        return None if lone else found

    equal(Tokenizer(vocabulary, threads=1), ids, "all")
    # There and back, and there again.
    first = volt.export(vocabulary, "hf", tmp_path / "one").files
    again, _ = volt.import_vocabulary(tmp_path / "one")
    second = volt.export(again, "hf", tmp_path / "two").files
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    written = tokenizers.Tokenizer.from_file(str(first[0]))
    vocabulary.save(tmp_path / "volt.json")
    tok = volt.load(tmp_path / "volt.json")
    generator = random.Random(1)
    for _ in range(100):
        text = "x" + "".join(generator.choices([*KINDS, *BLANKS, "bade"], k=6))
        theirs = other.encode(text, add_special_tokens=False)
        assert written.encode(text, add_special_tokens=False).ids == theirs.ids
        found, _, words = tok.encode_with_words(text, allowed_special="all")
        assert (found, words) == (theirs.ids, theirs.word_ids)
    assert all(
        refuses(vocabulary, form, tmp_path)
        for form in ("sentencepiece", "subword-nmt", "tiktoken", "gpt2")
    )


def refuses(vocabulary, form, folder):
    try:
        volt.export(vocabulary, form, folder / "refused")
    except volt.VoltError:
        return not (folder / "refused").exists()
    return False


# ----------------------------------------------------------------------------------- SentencePiece


@lru_cache
def model(rule, remove, kind, symbols=(), fallback=False):
    stream = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample_lines()), model_writer=stream, model_type=kind,
        vocab_size=500 + 256 * fallback, minloglevel=2, normalization_rule_name=rule,
        remove_extra_whitespaces=remove, hard_vocab_limit=False, byte_fallback=fallback,
        user_defined_symbols=list(symbols),
    )  # fmt: skip
    return sentencepiece_model_pb2.ModelProto.FromString(stream.getvalue())


@pytest.mark.parametrize(
    ("rule", "remove", "kind", "fallback"),
    [
        ("nmt_nfkc", True, "bpe", False),  # the defaults but for the kind
        ("nmt_nfkc", True, "unigram", False),
        ("nfkc", False, "bpe", True),
        ("nmt_nfkc_cf", True, "unigram", True),
        ("nfkc_cf", True, "bpe", False),
        ("identity", True, "unigram", False),
    ],
)
def test_sentencepiece(rule, remove, kind, fallback, tmp_path):
    path = tmp_path / "trained.model"
    path.write_bytes(model(rule, remove, kind, ("<2de>",), fallback).SerializeToString())
    vocabulary, messages = volt.import_vocabulary(path)
    assert not messages
    other = sentencepiece.SentencePieceProcessor(model_file=str(path)).encode
    tok = Tokenizer(vocabulary, threads=1)
    equal(tok, other)
    for text in ("x<2de>ﬁ", "x <2de>  <2de> y ", "3.14 (a)b1", "日本 don't", "", " ", " ▁ ", "▁"):
        assert tok.encode(text) == other(text), text
    first = volt.export(vocabulary, "sentencepiece", tmp_path / "one").files
    again, _ = volt.import_vocabulary(first[0])
    second = volt.export(again, "sentencepiece", tmp_path / "two").files
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    written = sentencepiece.SentencePieceProcessor(model_file=str(first[0])).encode
    equal(tok, written)
    with pytest.raises(volt.SettingsError, match="shortest rule"):
        volt.export(vocabulary, "hf", tmp_path / "refused")


def test_files_and_lines(tmp_path):
    """What is encoded line by line is what is encoded alone, on any number of threads."""
    path = tmp_path / "trained.model"
    path.write_bytes(model("nmt_nfkc", True, "unigram").SerializeToString())
    vocabulary, _ = volt.import_vocabulary(path)
    lines = [" ﬁ  x", "", "  ", "e\u0301\t½ ", *sample_lines()[:200], "last"]
    lines = [line.replace("\n", " ") for line in lines]
    text = tmp_path / "text"
    text.write_text("\n".join(lines))
    for threads in (1, 2):
        tok = Tokenizer(vocabulary, threads=threads)
        ids, offsets = tok.encode_file(text)
        found = [ids[a:b].tolist() for a, b in pairwise(offsets)]
        assert found == [tok.encode(line) for line in lines] == tok.encode_batch(lines)
    assert tok.decode(tok.encode("  ﬁne   x½ ")) == "fine x1⁄2"
    ids_found, spans = tok.encode_with_offsets("ﬁ  x")
    assert ids_found == tok.encode("ﬁ  x") and spans[-1][1] == len("ﬁ  x")


def test_real_text(volt_data, tmp_path):
    for name in ("multi30k/valid.de", "tatoeba-ja-en/valid.ja"):
        text = real_text(volt_data(name))
        lines = text.split("\n")[:1000]
        for kind in ("bpe", "unigram"):
            path = tmp_path / "real.model"
            with path.open("wb") as stream:
                sentencepiece.SentencePieceTrainer.train(
                    sentence_iterator=iter(lines), model_writer=stream, model_type=kind,
                    vocab_size=2500, minloglevel=2, hard_vocab_limit=False,
                )  # fmt: skip
            tok = Tokenizer(volt.import_vocabulary(path)[0])
            other = sentencepiece.SentencePieceProcessor(model_file=str(path))
            assert tok.encode_batch(lines) == other.encode(lines)
        other = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        other.normalizer = normalizers.BertNormalizer()
        other.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        other.train_from_iterator(
            lines,
            trainers.WordPieceTrainer(
                vocab_size=2500, special_tokens=["[UNK]"], show_progress=False
            ),
        )
        other.save(str(tmp_path / "tokenizer.json"))
        tok = Tokenizer(volt.import_vocabulary(tmp_path / "tokenizer.json")[0])
        assert tok.encode_batch(lines) == [one.ids for one in other.encode_batch(lines)]


# ------------------------------------------------------------------------------------------ broken


def word_piece(normalizer, pre_tokenizer="BertPreTokenizer"):
    vocab = {"[UNK]": 0, "a": 1, "##a": 2}
    return {
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
        "normalizer": normalizer,
        "pre_tokenizer": {"type": pre_tokenizer},
    }


BROKEN = [
    (word_piece({"type": "BertNormalizer", "lowercase": "x"}), "lowercase"),
    (word_piece({"type": "ByteLevel"}), "ByteLevel"),
    (word_piece({"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}), "Replace"),
    (word_piece({"type": "Replace", "pattern": {"String": ""}, "content": ""}), "Replace"),
    (word_piece({"type": "Precompiled", "precompiled_charsmap": "*"}), "base64"),
    (word_piece({"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "cut short"),
    (word_piece(None, "Digits"), "pre_tokenizer"),
]


@pytest.mark.parametrize(("data", "named"), BROKEN)
def test_a_broken_file_is_refused_by_name(data, named, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    with pytest.raises(volt.VoltError, match=named):
        volt.import_vocabulary(path)


def test_a_damaged_table_is_refused_or_read(tmp_path):
    """Whatever the bytes of a table are, it ends, and text goes through."""
    whole = model("nmt_nfkc", True, "bpe")
    generator = random.Random(7)
    path = tmp_path / "damaged.model"
    for number in range(12):
        damaged = sentencepiece_model_pb2.ModelProto()
        damaged.CopyFrom(whole)
        data = bytearray(whole.normalizer_spec.precompiled_charsmap)
        for _ in range(1 + number * 40):
            data[generator.randrange(4, len(data))] = generator.randrange(256)
        damaged.normalizer_spec.precompiled_charsmap = bytes(data[: len(data) - number % 3])
        path.write_bytes(damaged.SerializeToString())
        try:
            tok = Tokenizer(volt.import_vocabulary(path)[0])
        except volt.VoltError:
            continue
        for text in (*KINDS, "ｆｕｌｌ ｗｉｄｔｈ"):
            tok.encode(text)
