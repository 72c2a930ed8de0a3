"""Exported ranks files give the same ids in tiktoken."""

import json

import pytest
from hypothesis import given
from real import real_text
from samples import LONG, any_text_for, learned, letter_texts, made_up, token_texts, tokenizer_of

import volt
from volt import Tokenizer
from volt.tokenizing.check import find_unreachable

tiktoken = pytest.importorskip("tiktoken")
load = pytest.importorskip("tiktoken.load")

RULES = ["pairs", "concat"]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    """tiktoken keeps what it read once under this path, even if the file has changed since."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")


def peer(path, size):
    settings = json.loads(path.with_name(path.name + ".json").read_text())
    return tiktoken.Encoding(
        "volt", mergeable_ranks=load.load_tiktoken_bpe(str(path)), explicit_n_vocab=size, **settings
    )


def exported(vocabulary, folder, **options):
    path = folder / "x.tiktoken"
    volt.export(vocabulary, "tiktoken", path, force=True, **options)
    return peer(path, len(vocabulary))


@pytest.mark.parametrize("rule", RULES)
def test_any_text(rule, tmp_path):
    vocabulary = learned("byte-level", rule)
    other = exported(vocabulary, tmp_path)
    tok = tokenizer_of(vocabulary)

    @given(any_text_for("byte-level") | token_texts(vocabulary))
    def check(text):
        ids = tok.encode(text)
        assert other.encode_ordinary(text) == ids
        assert other.decode(ids) == text

    check()
    for text in ("", " ", "  ", "\n\n a", *LONG):
        assert other.encode_ordinary(text) == tok.encode(text)
    text = "bade<s>deba </s>"
    for names in ("all", {"<s>"}):
        assert other.encode(text, allowed_special=names, disallowed_special=()) == tok.encode(
            text, allowed_special=names
        )


def test_vocabularies_that_no_bpe_would_learn(tmp_path):
    for seed in range(40):
        vocabulary = made_up("byte-level", "concat", seed)
        tok = tokenizer_of(vocabulary)
        # tiktoken looks a whole word up first, so a token that merges don't reach is reached.
        direct = {vocabulary.tokens[i].text for i in find_unreachable(tok)}
        other = exported(vocabulary, tmp_path)
        for text in letter_texts(seed):
            if direct.isdisjoint(text.replace(" ", " Ġ").split(" ")):
                assert other.encode_ordinary(text) == tok.encode(text)


def test_the_vocabulary_of_rule_pairs(tmp_path):
    refused = 0
    for seed in range(20):
        vocabulary = made_up("byte-level", "pairs", seed)
        texts = letter_texts(seed)
        try:
            exported(vocabulary, tmp_path)
        except volt.SettingsError as error:
            assert "`check`" in str(error)
            refused += 1
            result = volt.export(vocabulary, "tiktoken", tmp_path / "y", check=[texts], force=True)
            assert result.check.words_of == sum(len(text.split()) for text in texts)
            assert "are encoded differently" in result.messages[0]
    assert refused


def test_real_text(volt_data, tmp_path):
    path = volt_data("multi30k/valid.de")
    lines = real_text(path).split("\n")
    for rule in RULES:
        vocabulary = volt.learn(
            path, pretokenizer="byte-level", merge_rule=rule, merges=6000
        ).vocabulary
        other = exported(vocabulary, tmp_path, check=path)
        assert other.encode_ordinary_batch(lines) == Tokenizer(vocabulary).encode_batch(lines)


@pytest.mark.parametrize("rule", RULES)
def test_round_trip(rule, tmp_path):
    vocabulary = learned("byte-level", rule)
    first = volt.export(vocabulary, "tiktoken", tmp_path / "a.tiktoken").files
    read, messages = volt.import_vocabulary(first[0])
    assert not messages
    second = volt.export(read, "tiktoken", tmp_path / "b.tiktoken").files
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    assert read.texts == vocabulary.texts
    for text in (*letter_texts(1), "日本 don't  "):
        assert tokenizer_of(read).encode(text) == tokenizer_of(vocabulary).encode(text)


@pytest.mark.parametrize(
    ("vocabulary", "reason"),
    [
        (lambda: learned("metaspace"), "byte-level"),
        (lambda: learned("byte-level", encoding="split"), "split"),
        (lambda: learned("byte-level", symbols=("<2de>",)), "symbols"),
        (lambda: learned("byte-level", normalize="nfc"), "nfc"),
    ],
)
def test_refused(vocabulary, reason, tmp_path):
    with pytest.raises(volt.VoltError, match=reason):
        volt.export(vocabulary(), "tiktoken", tmp_path / "x")


def test_broken_files_are_refused_by_line(tmp_path):
    path, settings = volt.export(learned("byte-level"), "tiktoken", tmp_path / "x.tiktoken").files
    good = path.read_text()
    for content, named in (
        (good + "!!!! 3\n", "base64"),
        (good + "AAAA\n", "base64"),
        (good + "AAAA x\n", "base64"),
        (good + "AAAA 99999999999999999999\n", "base64"),
        (good + good.splitlines()[3] + "\n", "twice"),
        (good + "AAAAAA== 4\n", "ids"),
        ("\n".join(good.splitlines()[1:]), "ids"),
        ("", "character"),
        (good + "AAAAAA== 4", "two tokens have the same rank; it seems to be cut short"),
    ):
        path.write_text(content)
        with pytest.raises(volt.VoltError, match=named):
            volt.import_vocabulary(path)
    path.write_text(good)
    for content in ("[]", "{", '{"special_tokens": {"<s>": "0"}}', '{"special_tokens": {}}'):
        settings.write_text(content)
        with pytest.raises(volt.VoltError):
            volt.import_vocabulary(path)
    settings.unlink()
    path.write_text(good[:-1])
    with pytest.raises(volt.VoltError, match="`pattern`; it seems to be cut short"):
        volt.import_vocabulary(path)
    path.write_text(good)
    with pytest.raises(volt.VoltError, match="ids"):
        volt.import_vocabulary(path, pattern="byte-level")
