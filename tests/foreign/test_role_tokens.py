"""Tokens that only the settings of a folder name, such as a `pad_token`, have the ids that
transformers gives them."""

import json

import pytest
from published import corpus, hugging_face, sentencepiece_model

import volt
from volt.foreign.engine_choice import open_engine

transformers = pytest.importorskip("transformers")

PAD = "<|fill|>"
TEXT = [[*corpus()[:300]]]
FLAGS = {"lstrip": True, "rstrip": False, "normalized": False, "single_word": False}
SETTINGS = {
    "one": {"pad_token": PAD},
    "several": {"pad_token": PAD, "image_token": "<image>", "eos_token": "<end>",
                "additional_special_tokens": ["<more>", PAD]},
    "with flags": {"pad_token": {"__type": "AddedToken", "content": PAD, **FLAGS}},
    "after others": {"pad_token": PAD, "cls_token": "<first>", "added_tokens_decoder": {
        "LAST": {"content": "<first>", "special": True, **FLAGS, "lstrip": False}}},
    "a word": {"pad_token": "the"},
}  # fmt: skip


def write(folder, kind, settings):
    """A small tokenizer with these settings beside it."""
    folder.mkdir()
    size = 900
    if kind == "LlamaTokenizer":
        (folder / "tokenizer.model").write_bytes(sentencepiece_model("bpe"))
    elif kind == "BertTokenizer":
        vocab = [*json.loads(hugging_face("bert"))["model"]["vocab"], "of", "and", "der", "if"]
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in vocab))
        size = len(vocab)
    else:
        data = hugging_face("gpt2")
        (folder / "tokenizer.json").write_text(data)
        size = len(json.loads(data)["model"]["vocab"])
    text = json.dumps({"tokenizer_class": kind} | settings).replace("LAST", str(size))
    (folder / "tokenizer_config.json").write_text(text)
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("kind", ["PreTrainedTokenizerFast", "LlamaTokenizer", "BertTokenizer"])
@pytest.mark.parametrize("what", SETTINGS)
def test_they_have_the_rows_of_transformers(kind, what, tmp_path):
    if kind == "LlamaTokenizer" and what == "a word":
        pytest.skip("pieces of SentencePiece are found in text as the model says")
    theirs = write(tmp_path / "old", kind, SETTINGS[what])
    mine = open_engine(tmp_path / "old", native=False).engine
    assert mine.size == len(theirs)
    assert mine.names[theirs.pad_token_id] == theirs.pad_token
    known = theirs.added_tokens_decoder
    assert all(mine.names[i] == token.content for i, token in known.items())
    for text in (f"a {theirs.pad_token} b", f"of{theirs.pad_token}the <image> <more><end>", "the"):
        if kind != "LlamaTokenizer":  # what stands after a name depends on `legacy` there
            assert mine.encode(text) == theirs.encode(text, add_special_tokens=False)
        assert mine.encode(text).count(theirs.pad_token_id) == text.count(theirs.pad_token)


@pytest.mark.parametrize("kind", ["PreTrainedTokenizerFast", "LlamaTokenizer"])
def test_a_refit_and_an_extension_know_them(kind, tmp_path):
    old = write(tmp_path / "old", kind, SETTINGS["several"])
    names = [PAD, "<image>", "<end>", "<more>"]
    results = {"small": volt.refit(tmp_path / "old", TEXT, size=650)}
    if kind == "LlamaTokenizer":
        with pytest.raises(volt.SettingsError, match=r"a tokenizer.json instead"):
            volt.extend(tmp_path / "old", TEXT, 5).save(tmp_path / "large")
        old.save_pretrained(tmp_path / "fast")  # as the message says
        again = volt.extend(tmp_path / "fast", TEXT, 5)
        assert len(again.vocabulary) == len(old) + 5
    else:
        results["large"] = volt.extend(tmp_path / "old", TEXT, 5)
    for where, result in results.items():
        result.save(tmp_path / where)
        new = transformers.AutoTokenizer.from_pretrained(tmp_path / where)
        assert len(new) == len(result.vocabulary)
        expected = result.id_map[old.convert_tokens_to_ids(names)].tolist()
        assert new.convert_tokens_to_ids(names) == expected
        assert min(expected) >= 0


@pytest.mark.parametrize("kind", ["PreTrainedTokenizerFast", "LlamaTokenizer", "BertTokenizer"])
def test_an_imported_vocabulary_has_the_role(kind, tmp_path):
    theirs = write(tmp_path / "old", kind, SETTINGS["one"])
    if kind == "BertTokenizer":  # volt imports a tokenizer.json of BERT
        theirs.save_pretrained(tmp_path / "old")
        (tmp_path / "old" / "vocab.txt").unlink()
    vocabulary, _ = volt.import_vocabulary(tmp_path / "old")
    assert len(vocabulary) == len(theirs)
    assert vocabulary.role("pad") == PAD
    assert vocabulary.ids[PAD] == theirs.pad_token_id


def test_a_vocab_txt_with_later_tokens_is_refitted_and_not_extended(tmp_path):
    old = write(tmp_path / "old", "BertTokenizer", SETTINGS["one"])
    result = volt.refit(tmp_path / "old", TEXT, size=len(old) - 2)
    result.save(tmp_path / "small")
    new = transformers.AutoTokenizer.from_pretrained(tmp_path / "small")
    assert len(new) == len(old) - 2
    assert new.pad_token_id == result.id_map[old.pad_token_id]
    with pytest.raises(volt.SettingsError, match=r"a tokenizer.json instead"):
        volt.extend(tmp_path / "old", [["zulu tango"] * 20], 2).save(tmp_path / "large")


@pytest.mark.parametrize("kind", ["LlamaTokenizer", "CodeLlamaTokenizer", "GPT2Tokenizer"])
def test_that_transformers_puts_no_second_mark_before_a_text_is_said(kind, tmp_path):
    options = {"remove_extra_whitespaces": False, "normalization_rule_name": "identity"}
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model("bpe", **options))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    mine = open_engine(tmp_path)
    vocabulary, messages = volt.import_vocabulary(tmp_path)
    written = volt.export(vocabulary, "hf", tmp_path / "hf").messages
    said = "gives other ids for text that begins with a space"
    llama = "Llama" in kind
    for told in (mine.messages, messages):
        assert any(said in one for one in told) == llama
    assert any("plain text to SentencePiece" in one for one in written)
    assert any(said in one for one in written)  # of the class for any tokenizer.model
    if llama:
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
        for text in ("of the", " of the", "  of", "a\n  of"):
            same = theirs.encode(text, add_special_tokens=False) == mine.engine.encode(text)
            assert same == (text[0] != " "), text
