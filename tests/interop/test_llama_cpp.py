"""llama.cpp itself, by way of the package llama-cpp-python: it loads GGUF files with volt's
vocabularies and encodes with them."""

import random
import unicodedata
from dataclasses import replace

import pytest
from samples import SPACES, assigned_in_13, sample_lines

import volt
from volt import WordRule
from volt.formats.patterns import LLAMA_CPP, LLAMA_CPP_DIFFERS

gguf = pytest.importorskip("gguf")
llama_cpp = pytest.importorskip("llama_cpp").llama_cpp

HARD = [
    "a\n\n b", "x  \n y", "12345 678", "don't DON'T we'LL", "\r\n\r\n", "   ", " \n", "日本語 12",
    "a\u00a0b", "$+<=>^~|", "CamelCaseWORDs", "e\u0301", "  lead", "trail  ", "½ ²³ ٣٤",
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    ignore = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(ignore, None)
    yield ignore
    llama_cpp.llama_log_set(llama_cpp.llama_log_callback(), None)


def hostile_texts(number):
    """Short texts of every category of characters, a few of each."""
    by_category = {}
    for code in range(1, 0x30000):
        category = unicodedata.category(chr(code))
        if category not in ("Cs", "Cn", "Co") and assigned_in_13(chr(code)):
            by_category.setdefault(category, []).append(chr(code))
    rare = [one for some in by_category.values() for one in some[:: len(some) // 6 + 1]]
    generator = random.Random(1)
    for _ in range(number):
        length = generator.randint(1, 12)
        some = [generator.choice("ab AB1 .'\n\rs t" if generator.random() < 0.6 else rare)
                for _ in range(length)]  # fmt: skip
        yield "".join(some)


class Peer:
    """The vocabulary of a GGUF file in llama.cpp."""

    def __init__(self, path):
        settings = llama_cpp.llama_model_default_params()
        settings.vocab_only = True
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), settings)

    def encode(self, text):
        data = text.encode()
        room = len(data) + 16
        ids = (llama_cpp.llama_token * room)()
        vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        number = llama_cpp.llama_tokenize(vocabulary, data, len(data), ids, room, False, False)
        return list(ids[:number])


def write_byte_level(tokenizer, name, folder):
    """As llama.cpp's converter does it."""
    volt.export(tokenizer.vocabulary, "hf", folder / "hf")
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list(tokenizer.tokens)
    kinds = {"special": gguf.TokenType.CONTROL}
    writer.add_token_types(
        [kinds.get(token.kind, gguf.TokenType.NORMAL) for token in tokenizer.vocabulary.tokens]
    )
    gguf.SpecialVocab(folder / "hf", load_merges=True).add_to_gguf(writer, quiet=True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return Peer(folder / "model.gguf")


@pytest.fixture(scope="module")
def across():
    """A vocabulary with tokens that every pattern would cut, so that every cut can be seen."""
    pytest.importorskip("regex")
    texts = [*hostile_texts(20_000), *SPACES]
    return volt.learn(volt.count([texts], pretokenizer="custom:(?s).+"), size=3000).vocabulary


@pytest.mark.parametrize("pretokenizer", LLAMA_CPP)
def test_patterns_that_llama_cpp_knows(pretokenizer, across, tmp_path):
    lines = sample_lines()
    tok = volt.learn(volt.count([lines], pretokenizer=pretokenizer), size=700).tokenizer
    peer = write_byte_level(tok, LLAMA_CPP[pretokenizer], tmp_path)
    assert [one for one in [*lines, *HARD] if peer.encode(one) != tok.encode(one)] == []
    (tmp_path / "across").mkdir()
    tok = volt.Tokenizer(replace(across, rule=WordRule(pretokenizer), self_test=[]))
    peer = write_byte_level(tok, LLAMA_CPP[pretokenizer], tmp_path / "across")
    differ = [one for one in hostile_texts(3000) if peer.encode(one) != tok.encode(one)]
    assert bool(differ) == (pretokenizer in LLAMA_CPP_DIFFERS)


def test_a_pattern_that_llama_cpp_does_not_know(tmp_path):
    tok = volt.learn([["low lower lowest"] * 3], pretokenizer="byte-level").tokenizer
    assert not write_byte_level(tok, "volt", tmp_path).model


@pytest.mark.parametrize("source,model", [("bpe", "llama"), ("unigram", "t5")])
def test_models_of_sentencepiece(source, model, tmp_path):
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    tok = volt.learn(
        volt.count([sample_lines()], pretokenizer="metaspace"), size=700, candidates=source,
        unknown="byte" if source == "bpe" else "unk",
    ).tokenizer  # fmt: skip
    volt.export(tok.vocabulary, "sentencepiece", tmp_path / "a.model")
    proto.ParseFromString((tmp_path / "a.model").read_bytes())
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", model)
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre("default")
    writer.add_token_list([one.piece for one in proto.pieces])
    writer.add_token_scores([one.score for one in proto.pieces])
    writer.add_token_types([one.type for one in proto.pieces])
    writer.add_add_space_prefix(proto.normalizer_spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(proto.normalizer_spec.remove_extra_whitespaces)
    writer.add_unk_token_id(tok.token_to_id("<unk>"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    peer = Peer(tmp_path / "model.gguf")
    texts = [*sample_lines(), *HARD, *(one.replace("▁", "_") for one in hostile_texts(1000))]
    if source == "unigram":  # llama.cpp puts no space before a text of spaces
        texts = [one for one in texts if one.strip(" ")]
    assert [one for one in texts if peer.encode(one) != tok.encode(one)] == []
