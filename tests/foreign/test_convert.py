"""Published tokenizers are converted exactly, or refused with the part that can't be expressed."""

import json

import numpy as np
import pytest
import sentencepiece
import tokenizers
from published import (
    HUGGING_FACE,
    OF_VOLT,
    REFUSED,
    gguf_file,
    hugging_face,
    sentencepiece_model,
    write_opus,
    write_rwkv,
    write_tekken,
)
from sentencepiece import sentencepiece_model_pb2

import volt
from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine
from volt.proposing.tokens import packed
from volt.verification import verify_conversion

PLAIN = [text for text in built_in() if "▁" not in text]
"""Literal marks are names of added tokens in Gemma, and spaces elsewhere."""


@pytest.mark.parametrize("name", sorted(HUGGING_FACE.keys() - REFUSED.keys()))
def test_a_tokenizer_json_is_imported_and_exported_again(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face(name), encoding="utf-8")
    vocabulary, messages = volt.import_vocabulary(path)
    vocabulary.save(tmp_path / "volt.json")
    tok = volt.load(tmp_path / "volt.json")
    library = tokenizers.Tokenizer.from_file(str(path))
    library.encode_special_tokens = True
    expected = [one.ids for one in library.encode_batch(PLAIN, add_special_tokens=False)]
    differing = sum(a != b for a, b in zip(tok.encode_batch(PLAIN), expected, strict=True))
    assert differing <= (60 if name == "t5" else 0)  # t5: sums that are rounded
    told = verify_conversion(vocabulary, path)
    names = "warning: different ids, at names of special tokens only: 2,0"
    differs = {"gemma": names, "t5": "warning: different ids: "}
    assert told.startswith(differs.get(name, "verified: 2,0" if name in OF_VOLT else "verified: "))
    assert ("warning" in told) == (name in differs)
    if name == "whisper":
        assert any("has no text" in message for message in messages)
    if name == "t5":
        return
    written = volt.export(vocabulary, "hf", tmp_path / "again.json").files[0]
    again = tokenizers.Tokenizer.from_file(str(written))
    again.encode_special_tokens = True
    assert [one.ids for one in again.encode_batch(PLAIN, add_special_tokens=False)] == expected
    read, _ = volt.import_vocabulary(written)
    assert read.texts == vocabulary.texts and read.word_ends == vocabulary.word_ends
    if vocabulary.rule.mode.space_before:
        texts = [text for text in PLAIN if vocabulary.unknown_id not in tok.encode(text)][:300]
        if name == "mistral":  # it puts no second space before a text, and its decoder drops one
            texts = [text for text in texts if not text.startswith(" ")]
        assert [tok.decode(tok.encode(text)) for text in texts] == texts


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_part_and_what_works_instead(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face(name), encoding="utf-8")
    with pytest.raises(volt.InputError, match=rf"{REFUSED[name]}.*compare.*as it is"):
        volt.import_vocabulary(path)


def runs_of_equal_score(**settings):
    """A BPE model whose runs of spaces have the same score, as Llama's and Mistral's."""
    options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    data = sentencepiece_model("bpe", **options, **settings)
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    kept = [piece for piece in proto.pieces if "▁▁" not in piece.piece]
    del proto.pieces[:]
    proto.pieces.extend(kept)
    for n in range(2, 17):
        proto.pieces.add(piece="▁" * n, score=-1.5, type=1)
    return proto.SerializeToString()


@pytest.mark.parametrize("prefix", [True, False])
def test_runs_of_spaces_in_a_sentencepiece_model(prefix, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(runs_of_equal_score(add_dummy_prefix=prefix))
    library = sentencepiece.SentencePieceProcessor(model_file=str(path))
    vocabulary, _ = volt.import_vocabulary(path)
    assert (vocabulary.word_ends, vocabulary.space_first) == ("runs", prefix)
    assert "2,0" in verify_conversion(vocabulary, path)
    assert "warning" not in verify_conversion(vocabulary, path)
    tok = volt.Tokenizer(vocabulary)
    texts = [*PLAIN, *("a" + " " * n + "b" for n in range(40))]
    assert tok.encode_batch(texts) == library.encode(texts)
    written = volt.export(vocabulary, "sentencepiece", tmp_path / "again.model").files[0]
    again = sentencepiece.SentencePieceProcessor(model_file=str(written))
    assert again.encode(texts) == library.encode(texts)
    folder = tmp_path / "hf"
    other = tokenizers.Tokenizer.from_file(str(volt.export(vocabulary, "hf", folder).files[0]))
    other.encode_special_tokens = True
    texts = [text for text in texts if not text.startswith("<")]  # no `▁` before a name
    assert [one.ids for one in other.encode_batch(texts)] == library.encode(texts)


def test_indentation_survives_refit(tmp_path):
    (tmp_path / "tokenizer.json").write_text(hugging_face("llama2"), encoding="utf-8")
    volt.import_vocabulary(tmp_path)[0].save(tmp_path / "volt.json")
    text = ["    the in\n        the on re\n" * 40]
    for path in (tmp_path / "tokenizer.json", tmp_path / "volt.json"):
        old = volt.load(tmp_path / "volt.json").vocabulary
        result = volt.refit(path, [text], size=len(old) - 4)
        assert {"▁▁", "▁▁▁▁", "▁▁▁▁▁▁▁▁"} <= {*result.vocabulary.texts}


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word", "normalized"])
def test_flags_of_added_tokens_are_left_to_the_library(flag, tmp_path):
    """volt can't express them: its library encodes such a file. It is converted only if the token
    is special, which is plain text to volt, and this is told."""
    data = json.loads(hugging_face("llama2"))
    data["added_tokens"][2] |= {flag: True}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    vocabulary, messages = volt.import_vocabulary(path)
    assert any(f"'</s>' has {flag}: " in message for message in messages)
    assert "warning" in verify_conversion(vocabulary, path)
    data["added_tokens"][2] |= {"special": False}
    path.write_text(json.dumps(data))
    with pytest.raises(volt.InputError, match=rf"'</s>' has {flag}: .*compare, verify.*as it is"):
        volt.import_vocabulary(path)
    library = tokenizers.Tokenizer.from_file(str(path))
    texts = ["a  </s> \n b", "a</s>b ▁</s>", "</s> </s>.", *built_in(("</s>",))]
    opened = open_engine(path, texts=texts)
    assert opened.engine.library.startswith("tokenizers") and flag in opened.said
    expected = [one.ids for one in library.encode_batch(texts, add_special_tokens=False)]
    assert opened.engine.encode_batch(texts) == expected
    # Without a normalizer there is nothing that could be normalized first.
    if flag == "normalized":
        data = json.loads(hugging_face("gpt2"))
        data["added_tokens"][0] |= {flag: True}
        path.write_text(json.dumps(data))
        assert open_engine(path).engine.library == "volt"
        assert "warning" not in verify_conversion(volt.import_vocabulary(path)[0], path)


def test_files_of_other_toolkits_are_converted(tmp_path):
    """BERT's vocab.txt, tekken.json and GGUF: as their libraries do it, with their roles."""
    vocab = json.loads(hugging_face("bert"))["model"]["vocab"]
    tokens = sorted(vocab, key=vocab.get)
    bert = tmp_path / "bert"
    bert.mkdir()
    (bert / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    for config in ({}, {"do_lower_case": False}, {"strip_accents": False, "model_max_length": 512},
                   {"tokenize_chinese_chars": False}):  # fmt: skip
        (bert / "tokenizer_config.json").write_text(json.dumps(config))
        for path in (bert, bert / "vocab.txt"):
            vocabulary, _ = volt.import_vocabulary(path)
            told = verify_conversion(vocabulary, path)
            assert told.startswith("verified: 2,020 of 2,020"), told
        assert vocabulary.roles.max_length == config.get("model_max_length")
    tekken = write_tekken(tmp_path / "tekken.json")
    vocabulary, messages = volt.import_vocabulary(tekken)
    assert len(vocabulary) == 410 and messages[0] == "a tekken.json of Mistral"
    assert verify_conversion(vocabulary, tekken).startswith("verified: 2,040 of 2,040")
    model = json.loads(hugging_face("qwen2"))["model"]
    texts = sorted(model["vocab"], key=model["vocab"].get)
    gguf = gguf_file(
        tmp_path / "b.gguf", model="gpt2", pre="qwen2", tokens=texts, bos=1, eos=0,
        types=[3 if text.startswith("<|") else 1 for text in texts],
        merges=[one if isinstance(one, str) else " ".join(one) for one in model["merges"]],
    )  # fmt: skip
    vocabulary, _ = volt.import_vocabulary(gguf)
    assert verify_conversion(vocabulary, gguf).startswith("verified: 2,008 of 2,008")
    assert (vocabulary.roles.bos, vocabulary.role("eos")) == ("<|im_start|>", "<|endoftext|>")
    proto = sentencepiece_model_pb2.ModelProto.FromString(runs_of_equal_score())
    gguf = gguf_file(
        tmp_path / "a.gguf", model="llama", tokens=[one.piece for one in proto.pieces],
        types=[one.type for one in proto.pieces], scores=[one.score for one in proto.pieces],
        unk=0, bos=1, eos=2,
    )  # fmt: skip
    vocabulary, _ = volt.import_vocabulary(gguf)
    assert verify_conversion(vocabulary, gguf).startswith("verified: 2,012 of 2,012")
    vocabulary.save(tmp_path / "volt.json")
    assert volt.load(tmp_path / "volt.json").encode("a  b") == volt.Tokenizer(vocabulary).encode(
        "a  b"
    )


def test_what_can_not_be_converted_says_why_and_what_works(tmp_path):
    with pytest.raises(volt.InputError, match=r"two models share its ids.*refit and extend"):
        volt.import_vocabulary(write_opus(tmp_path / "opus"))
    with pytest.raises(volt.InputError, match=r"over the words.*refit and extend"):
        volt.import_vocabulary(write_rwkv(tmp_path / "rwkv.txt"))
    (tmp_path / "m.model").write_bytes(sentencepiece_model("char"))
    with pytest.raises(volt.InputError, match=r"model_type: .*CHAR.*refit and extend"):
        volt.import_vocabulary(tmp_path / "m.model")


def test_a_folder_with_a_sentencepiece_model_is_converted(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model("bpe"))
    vocabulary, _ = volt.import_vocabulary(tmp_path)
    for form in (None, "sentencepiece"):
        assert verify_conversion(vocabulary, tmp_path, form).startswith("verified: 2,012 of 2,012")
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<|im_end|>": len(vocabulary)}))
    later, _ = volt.import_vocabulary(tmp_path)
    assert later.texts == [*vocabulary.texts, "<|im_end|>"]
    names = "warning: different ids, at names of special tokens only: 2,0"
    assert verify_conversion(later, tmp_path).startswith(names)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<|im_end|>": len(later)}))
    with pytest.raises(volt.InputError, match=r"'<\|im_end\|>' are .*a gap.*as it is"):
        volt.import_vocabulary(tmp_path)
    (tmp_path / "added_tokens.json").unlink()
    added = {"added_tokens_decoder": {str(len(vocabulary)): {"content": "<tool>"}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(added))
    with pytest.raises(volt.InputError, match=r"'<tool>' are .*are not special.*as it is"):
        volt.import_vocabulary(tmp_path)


def test_a_unigram_piece_that_is_there_twice_is_named(tmp_path):
    data = json.loads(hugging_face("t5"))
    data["model"]["vocab"][700] = ["</s>", -9.0]
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(volt.InputError, match=r"model\.vocab: '</s>' is there twice"):
        volt.import_vocabulary(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("indent", [None, 2])
def test_columns_that_are_taken_over_are_those_of_the_tokens(indent, tmp_path):
    data = json.loads(hugging_face("qwen2"))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    for number, name in enumerate(["<später>", "<語>"], len(data["model"]["vocab"])):
        data["added_tokens"].append({"id": number, "content": name, "special": True} | flags)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data, indent=indent))
    columns = volt.import_vocabulary(path)[0].columns
    text, offsets = packed([name.encode() for name in columns.texts])
    assert columns.texts[-2:] == ["<später>", "<語>"]
    assert np.array_equal(columns.packed[0], text)
    assert np.array_equal(columns.packed[1], offsets)
    for bad, why in (("\ud800", "surrogate"), ("x" * 1025, "more than 1,024")):
        broken = json.loads(json.dumps(data))
        broken["added_tokens"][-1]["content"] = bad
        path.write_text(json.dumps(broken, indent=indent))
        with pytest.raises(volt.InputError, match=why):
            volt.import_vocabulary(path)
