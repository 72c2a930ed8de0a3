"""generation_config.json: ids change with the tokens, every other byte stays."""

import json

import pytest
from published import (
    hugging_face,
    sentencepiece_model,
    write_opus,
    write_pair,
    write_ranks,
    write_tekken,
)

import volt
from volt.foreign.engine_choice import open_engine

TEXT = "the and of the\nreturn self\n    if der die und the the. don't дом\n" * 12
SETTINGS = """{
    "temperature": 0.60,  "top_p":1e0,
  "do_sample":true, "max_new_tokens" : 2048,
  "eos_token_id": [
      END,
      OTHER   ],
  "bos_token_id": OTHER,
  "suppress_tokens": [],  "transformers_version": "4.40.0.dev0"
}
"""
LESS = {"llama2": 9, "tiktoken": 30, "tekken": 30}
"""How many of its tokens the smaller one has less, where few can go."""


def write(kind, folder):
    folder.mkdir()
    if kind == "pair":
        write_pair(folder, hugging_face("qwen2"))
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "Qwen2Tokenizer"}')
    elif kind == "sentencepiece":
        (folder / "tokenizer.model").write_bytes(sentencepiece_model("bpe"))
    elif kind == "tiktoken":
        write_ranks(folder / "some.tiktoken")
    elif kind == "tekken":
        write_tekken(folder / "tekken.json")
    elif kind == "opus":
        write_opus(folder)
    else:
        (folder / "tokenizer.json").write_text(hugging_face(kind))
    return folder


@pytest.mark.parametrize(
    "kind", ["qwen2", "llama2", "pair", "sentencepiece", "tiktoken", "tekken", "opus"]
)
def test_refit_and_extend_change_ids_only(kind, tmp_path):
    folder = write(kind, tmp_path / "old")
    pattern = "byte-level:llama3" if kind == "tiktoken" else None
    engine = open_engine(folder, native=False, pattern=pattern).engine
    text = [TEXT]
    size = engine.size - LESS.get(kind, 90)
    id_map = volt.refit(folder, text, size=size, pattern=pattern).id_map
    end = max(i for i, new in enumerate(id_map.tolist()) if 0 <= new < i)
    other = min(engine.named, default=min(engine.encode(TEXT)))

    def settings(id_map):
        found = SETTINGS.replace("END", str(id_map[end]))
        return found.replace("OTHER", str(id_map[other]))

    (folder / "generation_config.json").write_text(settings(range(engine.size)))
    small = volt.refit(folder, text, size=size, pattern=pattern)
    small.save(tmp_path / "small")
    written = (tmp_path / "small" / "generation_config.json").read_text()
    assert written == settings(small.id_map)
    large = volt.extend(folder, [TEXT + "vexing quartz vexing quartz"], 1, pattern=pattern)
    large.save(tmp_path / "large")
    written = (tmp_path / "large" / "generation_config.json").read_text()
    assert written == settings(range(engine.size))


def test_import_and_export_name_all_that_is_left_out(tmp_path):
    folder = write("qwen2", tmp_path / "old")
    end = open_engine(folder).engine.names.index("<|im_start|>")
    text = SETTINGS.replace("END", str(end)).replace("OTHER", str(end - 1))
    (folder / "generation_config.json").write_text(text)
    vocabulary, messages = volt.import_vocabulary(folder)
    (told,) = [one for one in messages if one.startswith("generation_config.json")]
    for key in json.loads(text).keys() - {"transformers_version"}:
        assert key in told
    assert "the ids stay, so keep it as it is" in told
    volt.export(vocabulary, "hf", tmp_path / "hf")
    again, _ = volt.import_vocabulary(tmp_path / "hf")
    assert again.texts == vocabulary.texts  # so the ids of that file are still right
