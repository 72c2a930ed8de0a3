"""A Hugging Face folder in transformers: roles, post-processor, chat, and ids on hostile text."""

import json
from functools import lru_cache
from pathlib import Path

import pytest
from samples import sample_lines

import volt

transformers = pytest.importorskip("transformers")

PRETOKENIZERS = ["metaspace", "whitespace", "byte-level", "byte-level:llama3", "byte-level:o200k"]
HOSTILE = [
    "", " ", "  a  b ", "\n\n", "\t\r\n x", "a\u0000b", "é e\u0301 ﬁ ½", "日本語テキスト", "🧿👩‍🚀",
    "<s>", "</s> bade", "x<unk>y", "<|im_start|>user", "a" * 2000, "\u200b\u00a0\u3000", "I'LL",
    "1234567.89", "ﷺ\u202e\ufeff", "<0x41> </w> ## @@ _",
]  # fmt: skip


@lru_cache
def learned(pretokenizer, roles):
    counts = volt.count([sample_lines()], pretokenizer=pretokenizer)
    return volt.learn(counts, size=700, **dict(roles)).tokenizer


ROLES = [
    (),
    (("add_eos", True),),
    (("bos", "<|b|>"), ("eos", "<|e|>"), ("add_bos", True), ("add_eos", True), ("reserve", 3),
     ("chat", "chatml"), ("max_length", 512), ("padding_side", "left"), ("mask", "<|m|>")),
]  # fmt: skip


@pytest.mark.parametrize("roles", ROLES, ids=["none", "eos", "all"])
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_ids_and_offsets(pretokenizer, roles, tmp_path):
    tok = learned(pretokenizer, roles)
    volt.export(tok.vocabulary, "hf", tmp_path / "a")
    others = [
        transformers.AutoTokenizer.from_pretrained(str(tmp_path / "a")),
        transformers.PreTrainedTokenizerFast.from_pretrained(str(tmp_path / "a")),
        tok.to_transformers(),
    ]
    texts = [*HOSTILE, *sample_lines()[:40]]
    pairs = [(text, HOSTILE[i % len(HOSTILE)]) for i, text in enumerate(texts)]
    for other in others:
        for special in (True, False):
            mine = tok(texts, add_special_tokens=special, allowed_special="all")
            assert other(texts, add_special_tokens=special)["input_ids"] == mine["input_ids"]
            mine = tok(*map(list, zip(*pairs, strict=True)), add_special_tokens=special,
                       allowed_special="all")  # fmt: skip
            theirs = other(*map(list, zip(*pairs, strict=True)), add_special_tokens=special,
                           return_token_type_ids=True)  # fmt: skip
            assert theirs["input_ids"] == mine["input_ids"]
            assert theirs["token_type_ids"] == mine["token_type_ids"]
    other = others[0]
    for text in texts:
        mine = tok(text, allowed_special="all", return_offsets_mapping=True)
        theirs = other(text, return_offsets_mapping=True)["offset_mapping"]
        assert mine["offset_mapping"] == list(map(tuple, theirs))


@pytest.mark.parametrize("roles", ROLES, ids=["none", "eos", "all"])
@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level:llama3"])
def test_what_is_saved_is_what_was_loaded(pretokenizer, roles, tmp_path):
    vocabulary = learned(pretokenizer, roles).vocabulary
    volt.export(vocabulary, "hf", tmp_path / "a")
    other = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "a"))
    other.save_pretrained(str(tmp_path / "b"))
    for file in (tmp_path / "b").iterdir():
        before = (tmp_path / "a" / file.name).read_text(encoding="utf-8")
        after = file.read_text(encoding="utf-8")
        # Version 5 has a new name for the class, which version 4 would refuse.
        assert after.replace('"TokenizersBackend"', '"PreTrainedTokenizerFast"') == before
    other = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "b"))
    other.save_pretrained(str(tmp_path / "again"))
    for file in (tmp_path / "b").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()
    again, _ = volt.import_vocabulary(tmp_path / "b")
    assert again.roles == vocabulary.roles
    third = volt.export(again, "hf", tmp_path / "c")
    for file in third.files:
        assert file.read_bytes() == (tmp_path / "a" / file.name).read_bytes()


def test_roles_lengths_and_generation(tmp_path):
    tok = learned("byte-level:llama3", ROLES[2])
    folder = tmp_path / "a"
    volt.export(tok.vocabulary, "hf", folder)
    other = transformers.AutoTokenizer.from_pretrained(str(folder))
    for role in ("bos", "eos", "pad", "unk", "mask"):
        name = tok.vocabulary.role(role)
        assert getattr(other, f"{role}_token") == name
        assert getattr(other, f"{role}_token_id") == tok.token_to_id(name)
    assert other.model_max_length == 512
    assert other.padding_side == "left"
    texts = ["bade", "bade dabe bade"]
    padded = other(texts, padding=True)
    assert padded["input_ids"] == tok(texts, padding=True)["input_ids"]
    assert padded["attention_mask"] == tok(texts, padding=True)["attention_mask"]
    long = ["bade " * 30, "dabe " * 9]
    cut = other(*long, truncation=True, max_length=21)["input_ids"]
    assert cut == tok(*long, truncation=True, max_length=21)["input_ids"]
    generation = transformers.GenerationConfig.from_pretrained(str(folder))
    assert generation.bos_token_id == tok.token_to_id("<|b|>")
    assert generation.eos_token_id == [tok.token_to_id("<|e|>"), tok.token_to_id("<|im_end|>")]
    assert generation.pad_token_id == tok.token_to_id("<pad>")
    names = json.loads(Path(folder, "special_tokens_map.json").read_text(encoding="utf-8"))
    assert names["eos_token"] == "<|e|>"


@pytest.mark.parametrize("chat", ["chatml", "llama3"])
def test_chat(chat, tmp_path):
    found = learned("byte-level:llama3", (("reserve", 4),))
    volt.export(found.vocabulary, "hf", tmp_path / "a", chat=chat)
    other = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "a"))
    messages = [
        {"role": "user", "content": "bade"}, {"role": "assistant", "content": "dabe\n"},
        {"role": "user", "content": "<s>"},
    ]  # fmt: skip
    text = other.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert (
        text
        == {
            "chatml": "<|im_start|>user\nbade<|im_end|>\n<|im_start|>assistant\ndabe\n<|im_end|>\n"
            "<|im_start|>user\n<s><|im_end|>\n<|im_start|>assistant\n",
            "llama3": "<s><|start_header_id|>user<|end_header_id|>\n\nbade<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\ndabe<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n<s><|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        }[chat]
    )
    ids = other(text, add_special_tokens=False)["input_ids"]
    assert other.decode(ids) == text
    # The names are single tokens, in the places that were reserved.
    special = [i for i in ids if i in other.added_tokens_decoder]
    assert len(special) == {"chatml": 8, "llama3": 13}[chat]
    assert found.encode("bade") == other("bade", add_special_tokens=False)["input_ids"]
