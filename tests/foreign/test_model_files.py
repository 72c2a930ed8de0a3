"""The folder of a refitted model has the tokenizer's own files, with the settings that it had."""

import json

import pytest
from published import corpus, hugging_face, sentencepiece_model, write_pair

import volt

transformers = pytest.importorskip("transformers")
pytest.importorskip("torch", reason="needs torch: make large")

TEXT = [[*corpus()[:300]]]
CHAT = "{% for m in messages %}{{ bos_token }}{{ m['content'] }}{% endfor %}"
TURN = [{"role": "user", "content": "the of"}]
SETTINGS = {
    "sentencepiece": {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True,
                      "add_eos_token": False, "bos_token": "<s>", "added_tokens_decoder": {
                          "0": {"content": "<unk>", "special": True},
                          "1": {"content": "<s>", "special": True}}},
    "gpt2": {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, "errors": "replace",
             "bos_token": "<|endoftext|>",
             "added_tokens_decoder": {"0": {"content": "<|endoftext|>", "special": True}}},
    "bert": {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "bos_token": "[CLS]"},
}  # fmt: skip
FILES = {"sentencepiece": ["tokenizer.model"], "gpt2": ["merges.txt", "vocab.json"],
         "bert": ["vocab.txt"]}  # fmt: skip


def write(folder, kind, **more):
    """The folder of a model, with a tokenizer of this kind."""
    folder.mkdir()
    if kind == "sentencepiece":
        (folder / "tokenizer.model").write_bytes(sentencepiece_model("bpe"))
    elif kind == "gpt2":
        write_pair(folder, hugging_face("gpt2"))
    else:
        vocab = [*json.loads(hugging_face("bert"))["model"]["vocab"], "of", "and", "der", "if"]
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in vocab))
    settings = SETTINGS[kind] | {"chat_template": CHAT} | more
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    made = transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(made), hidden_size=16, intermediate_size=24, num_hidden_layers=1,
        num_attention_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return made


@pytest.mark.parametrize("what", ["refit", "extend"])
@pytest.mark.parametrize("kind", SETTINGS)
def test_it_is_that_of_the_folder_above(kind, what, tmp_path):
    old = write(tmp_path / "old", kind)
    model = tmp_path / "old"
    if what == "refit":
        result = volt.refit(model, TEXT, model=model, size=len(old) - (2 if kind == "bert" else 40))
    else:
        result = volt.extend(model, [["zulu tango whisky"] * 30], 3, model=model)
    result.save(tmp_path / "new")
    above, inside = tmp_path / "new", tmp_path / "new" / "model"
    for name in [*FILES[kind], "tokenizer_config.json"]:
        assert (inside / name).read_bytes() == (above / name).read_bytes()
    assert not (inside / "tokenizer.json").exists()
    settings = json.loads((inside / "tokenizer_config.json").read_text())
    assert settings == SETTINGS[kind] | {"chat_template": CHAT}
    new = transformers.AutoTokenizer.from_pretrained(inside)
    other = transformers.AutoTokenizer.from_pretrained(above)
    assert type(new) is type(old)
    assert len(new) == len(other) == len(result.vocabulary)
    chat = new.apply_chat_template(TURN, tokenize=False)
    assert chat == other.apply_chat_template(TURN, tokenize=False)
    assert chat == old.apply_chat_template(TURN, tokenize=False)
    for text in corpus()[:200]:
        before, after = old(text)["input_ids"], new(text)["input_ids"]
        assert after == other(text)["input_ids"]
        if what == "extend":
            assert len(after) <= len(before)
        elif all(result.id_map[i] >= 0 for i in before):
            assert after == result.id_map[before].tolist()


def test_tokens_after_the_pieces_stay(tmp_path):
    added = {"added_tokens_decoder": {"900": {"content": "<tool>", "special": True}}}
    old = write(tmp_path / "old", "sentencepiece", **added)
    result = volt.refit(tmp_path / "old", TEXT, model=tmp_path / "old", size=861)
    result.save(tmp_path / "new")
    new = transformers.AutoTokenizer.from_pretrained(tmp_path / "new" / "model")
    assert len(new) == 861 == len(old) - 40
    assert new.convert_tokens_to_ids("<tool>") == 860
    with pytest.raises(volt.InputError, match="name the folder"):  # it has no row there
        volt.refit(tmp_path / "old" / "tokenizer.model", TEXT, model=tmp_path / "old", size=860)


def test_a_class_that_numbers_pieces_in_another_way_is_refused(tmp_path):
    write(tmp_path / "old", "sentencepiece", tokenizer_class="XLMRobertaTokenizer")
    result = volt.refit(tmp_path / "old", TEXT, size=860)
    assert any("XLMRobertaTokenizer" in one for one in result.messages)
    with pytest.raises(volt.InputError, match=r"XLMRobertaTokenizer.*tokenizer\.json instead"):
        volt.refit(tmp_path / "old", TEXT, model=tmp_path / "old", size=860)
