"""Refit and extend check volt's encoder on the text that they are given."""

import io
import json
import sys

import pytest
from published import hugging_face

import volt
from volt.foreign import checked_text
from volt.foreign.check_lines import built_in
from volt.foreign.checked_text import checked_texts
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


MOST = 20_000
LONG = "the and of der\n" * (MOST // 12)
"""More than is compared in any case, below."""
RARE = next(c for c in map(chr, range(0x400, 0x2000)) if c not in "".join(built_in()))


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(checked_text, "MOST_CHECKED", MOST)


@pytest.mark.parametrize("texts", [[LONG + "a \u061d b"], [LONG, "a \u061d b"]])
def test_a_character_that_two_tables_differ_on_is_seen_wherever_it_is(texts, tmp_path, few):
    """Unicode 14 made U+061D punctuation, which BERT's normalizer in Rust does not know."""
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face("bert"))
    assert open_engine(path, texts=[LONG]).engine.library == "volt"
    opened = open_engine(path, texts=texts)
    assert opened.engine.library != "volt" and "gives other ids" in opened.said


@pytest.mark.parametrize("way", ["strings", "file", "files", "jsonl"])
def test_text_after_the_first_million_characters_is_looked_at(way, tmp_path, monkeypatch, few):
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face("gpt2"))
    texts = [LONG, f"self {RARE} self"]
    (tmp_path / "long.txt").write_text(LONG)
    (tmp_path / "short.txt").write_text(texts[1])
    (tmp_path / "text.txt").write_text("".join(texts))
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    on = {
        "strings": [texts], "file": tmp_path / "text.txt", "jsonl": tmp_path / "text.jsonl",
        "files": [tmp_path / "long.txt", tmp_path / "short.txt"],
    }[way]  # fmt: skip

    def wrong(self, texts, encode=Native.encode_batch):
        return [[0] if RARE in text else ids
                for text, ids in zip(texts, encode(self, texts), strict=True)]  # fmt: skip

    monkeypatch.setattr(Native, "encode_batch", wrong)
    size = open_engine(path).engine.size - 20
    assert volt.refit(path, [[LONG]], size=size).original.exact
    assert not volt.refit(path, on, size=size).original.exact


def test_many_documents_are_compared_in_part():
    """And a character that is in none of these, once."""
    many = [f"word {number} " * 20 for number in range(20_000)]
    many[777] += RARE
    found = checked_texts(many)
    assert sum(map(len, found)) < 2 * checked_text.MOST_CHECKED
    assert sum(RARE in one for one in found) == 2  # as it stands there, and beside others
    assert checked_texts(["short", "", "ab"]) == ["", "ab", "short"]
