"""llama.cpp's own package reads an exported folder: merges, roles, chat. A file that it makes of it
gives the same ids in transformers."""

import json

import pytest
from samples import sample_lines

import volt
from volt.formats.patterns import LLAMA_CPP

gguf = pytest.importorskip("gguf")


@pytest.fixture(scope="module")
def tokenizer():
    counts = volt.count([sample_lines()], pretokenizer="byte-level:llama3")
    return volt.learn(
        counts, size=600, bos="<|b|>", eos="<|e|>", add_bos=True, chat="chatml"
    ).tokenizer


def test_the_folder_is_read(tokenizer, tmp_path):
    volt.export(tokenizer.vocabulary, "hf", tmp_path / "a")
    found = gguf.SpecialVocab(tmp_path / "a", load_merges=True)
    assert found.special_token_ids["bos"] == tokenizer.token_to_id("<|b|>")
    assert found.special_token_ids["eos"] == tokenizer.token_to_id("<|e|>")
    assert found.special_token_ids["pad"] == tokenizer.token_to_id("<pad>")
    assert found.add_special_token["bos"] is True
    assert found.chat_template == tokenizer.vocabulary.roles.chat
    data = json.loads((tmp_path / "a" / "tokenizer.json").read_text(encoding="utf-8"))
    assert [tuple(merge.split(" ")) for merge in found.merges] == [
        tuple(merge) for merge in data["model"]["merges"]
    ]


@pytest.fixture
def written(tokenizer, tmp_path):
    """A file as llama.cpp's converter makes it, from an exported folder."""
    volt.export(tokenizer.vocabulary, "hf", tmp_path / "a")
    path = tmp_path / "a" / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(LLAMA_CPP["byte-level:llama3"])
    writer.add_token_list(tokenizer.tokens)
    kinds = {"special": gguf.TokenType.CONTROL}
    writer.add_token_types(
        [kinds.get(token.kind, gguf.TokenType.NORMAL) for token in tokenizer.vocabulary.tokens]
    )
    special = gguf.SpecialVocab(tmp_path / "a", load_merges=True)
    special.add_to_gguf(writer, quiet=True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_a_file_of_llama_cpp_has_the_tokens(tokenizer, written):
    reader = gguf.GGUFReader(written)
    tokens = reader.fields["tokenizer.ggml.tokens"]
    assert [bytes(tokens.parts[i]).decode() for i in tokens.data] == tokenizer.tokens
    assert int(reader.fields["tokenizer.ggml.eos_token_id"].parts[-1][0]) == tokenizer.token_to_id(
        "<|e|>"
    )


def test_a_file_of_llama_cpp_gives_the_same_ids(tokenizer, written):
    pytest.importorskip("torch", reason="transformers reads GGUF with torch: make large")
    transformers = pytest.importorskip("transformers")
    other = transformers.AutoTokenizer.from_pretrained(str(written.parent), gguf_file=written.name)
    # It takes the merges of the file, and always GPT-2's pattern: letters are cut alike.
    for line in sample_lines()[:50]:
        text = "".join(c for c in line if c.isalpha() or c == " ")
        ids = other(text, add_special_tokens=False)["input_ids"]
        assert ids == tokenizer.encode(text)
