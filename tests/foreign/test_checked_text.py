"""Refit and extend check volt's encoder on the text that they are given."""

import io
import json
import sys

import pytest
from published import hugging_face

import volt
from volt.foreign.engine_choice import open_engine
from volt.foreign.volt_engine import Native

TEXT = ["the and of the\nreturn self\n    if der die und\n" * 12, "дом 12 the, the. don't"]


class Once:
    """A standard input of these bytes."""

    def __init__(self, data):
        self.buffer, self.closed = io.BufferedReader(io.BytesIO(data)), False


@pytest.mark.parametrize("way", ["strings", "file", "jsonl", "iterator", "stdin", "counts"])
@pytest.mark.parametrize("change", [volt.refit, volt.extend])
def test_volts_encoder_is_checked_on_the_text_that_is_fitted_to(change, way, tmp_path, monkeypatch):
    """However it is given: what can be read only once is not lost by the look at it."""
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face("gpt2"))
    texts = [*TEXT, "mine mine\n" * 9]
    data = "".join(texts).encode()
    (tmp_path / "text.txt").write_bytes(data)
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    size = open_engine(path).engine.size - 20
    options = {"size": size} if change is volt.refit else {"add": 3}

    def on():
        monkeypatch.setattr(sys, "stdin", Once(data))
        return {
            "strings": [texts], "file": tmp_path / "text.txt", "jsonl": tmp_path / "text.jsonl",
            "iterator": iter(texts), "stdin": "-",
            "counts": volt.count([texts], pretokenizer="byte-level", unit="document"),
        }[way]  # fmt: skip

    usual = change(path, on(), **options)
    assert usual.original.exact and usual.messages[0].endswith("built-in texts and on yours")
    whole = change(path, [texts], **options)
    assert usual.before.tokens == whole.before.tokens

    def wrong(self, texts, encode=Native.encode_batch):
        return [[0] if "mine" in text else ids
                for text, ids in zip(texts, encode(self, texts), strict=True)]  # fmt: skip

    monkeypatch.setattr(Native, "encode_batch", wrong)
    assert open_engine(path).engine.library == "volt"  # fine on the built-in texts
    if way == "counts":
        with pytest.raises(volt.SettingsError, match="has to see the text itself"):
            change(path, on(), **options)
        return
    other = change(path, on(), **options)
    assert not other.original.exact and "volt gives other ids for" in other.messages[0]
    assert other.before.tokens == sum(
        map(len, open_engine(path, native=False).engine.encode_batch(
            texts if way in ("strings", "jsonl", "iterator") else [data.decode()])))  # fmt: skip
