"""volt.compat gives what the real libraries give, call by call."""

import json
from functools import lru_cache

import pytest
from samples import sample_lines

import volt
from volt.compat.tiktoken import Encoding
from volt.compat.tokenizers import Tokenizer
from volt.formats.huggingface import tokenizer_data
from volt.formats.tiktoken import settings_path

TEXTS = [
    "", " ", "bade  dabe\n", "日本 é 🧿", "don't 3.14", "<s> bade</s>", "x" * 300,
    *sample_lines()[:30],
]  # fmt: skip
PLAIN = [text for text in TEXTS if "<s>" not in text]


@lru_cache
def learned(pretokenizer, **roles):
    counts = volt.count([sample_lines()], pretokenizer=pretokenizer)
    merge_rule = "concat" if pretokenizer.startswith("byte") else None
    return volt.learn(counts, size=700, merge_rule=merge_rule, **roles).tokenizer


# ----------------------------------------------------------------------------------------- tiktoken


@pytest.fixture
def encodings(tmp_path, monkeypatch):
    tiktoken = pytest.importorskip("tiktoken")
    load = pytest.importorskip("tiktoken.load")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    tok = learned("byte-level:cl100k")
    path = tmp_path / "ranks"
    volt.export(tok.vocabulary, "tiktoken", path)
    settings = json.loads(settings_path(path).read_text(encoding="utf-8"))
    real = tiktoken.Encoding("x", mergeable_ranks=load.load_tiktoken_bpe(str(path)), **settings)
    return Encoding(tok), real


def same(ours, real, call):
    """Both return the same, or both raise the same kind of error."""
    results = []
    for one in (ours, real):
        try:
            results.append(call(one))
        except (ValueError, KeyError) as error:
            results.append(type(error))
    assert results[0] == results[1]
    return results[0]


def test_tiktoken(encodings):
    ours, real = encodings
    for text in TEXTS:
        same(ours, real, lambda one: one.encode(text))  # noqa: B023
        same(ours, real, lambda one: one.encode(text, allowed_special="all"))  # noqa: B023
        same(ours, real, lambda one: one.encode(text, allowed_special={"<s>"}))  # noqa: B023
        same(ours, real, lambda one: one.encode(text, disallowed_special=()))  # noqa: B023
        ids = same(ours, real, lambda one: one.encode_ordinary(text))  # noqa: B023
        same(ours, real, lambda one: one.decode(ids))  # noqa: B023
        same(ours, real, lambda one: one.decode_bytes(ids))  # noqa: B023
        same(ours, real, lambda one: one.decode_tokens_bytes(ids))  # noqa: B023
        same(ours, real, lambda one: one.decode_with_offsets(ids))  # noqa: B023
        array = ours.encode_to_numpy(text, disallowed_special=())
        assert array.tolist() == ids
        assert array.dtype == real.encode_to_numpy(text, disallowed_special=()).dtype
    for call in (
        lambda one: one.encode_batch(PLAIN),
        lambda one: one.encode_batch(TEXTS),
        lambda one: one.encode_ordinary_batch(TEXTS, num_threads=2),
        lambda one: one.decode_batch(real.encode_ordinary_batch(TEXTS)),
        lambda one: one.decode_bytes_batch(real.encode_ordinary_batch(TEXTS)),
        lambda one: one.encode_single_token(" "),
        lambda one: one.encode_single_token(b"\xc3"),
        lambda one: one.encode_single_token("<s>"),
        lambda one: one.encode_single_token("no such token"),
        lambda one: one.decode_single_token_bytes(20),
        lambda one: one.decode_single_token_bytes(10**6),
        lambda one: one.decode([1, 2, 40]),
        lambda one: one.decode_bytes([10**6]),
        lambda one: one.token_byte_values(),
        lambda one: one.special_tokens_set,
        lambda one: [one.is_special_token(i) for i in range(9)],
        lambda one: one.max_token_value,
        lambda one: one.n_vocab,
        lambda one: one.encode("a\ud83e\uddffb \ud800"),
        lambda one: one.decode([ours.tokenizer.token_to_id("Ã")], errors="strict"),
    ):
        same(ours, real, call)
    # It has no `<|endoftext|>`, for which tiktoken raises a KeyError: here it is the eos.
    assert ours.eot_token == ours.tokenizer.token_to_id("</s>")


def test_the_end_of_text_of_tiktoken(tmp_path):
    tiktoken = pytest.importorskip("tiktoken")
    tok = learned("byte-level:cl100k", eos="<|endoftext|>")
    path = tmp_path / "ranks"
    volt.export(tok.vocabulary, "tiktoken", path)
    settings = json.loads(settings_path(path).read_text(encoding="utf-8"))
    real = tiktoken.Encoding("x", mergeable_ranks={bytes([i]): i for i in range(256)}, **settings)
    assert Encoding(tok).eot_token == real.eot_token == tok.token_to_id("<|endoftext|>")


# --------------------------------------------------------------------------------------- tokenizers


def fields(encoding):
    return {
        name: getattr(encoding, name)
        for name in ("ids", "type_ids", "tokens", "offsets", "attention_mask",
                     "special_tokens_mask", "sequence_ids", "n_sequences", "word_ids")
    } | {
        "length": len(encoding),
        "chars": [encoding.token_to_chars(i) for i in range(len(encoding) + 1)],
        "tokens of chars": [
            [encoding.char_to_token(i, sequence) for i in range(40)] for sequence in (0, 1, 2)
        ],
        "words of tokens": [encoding.token_to_word(i) for i in range(len(encoding) + 1)],
        "words of chars": [
            [encoding.char_to_word(i, sequence) for i in range(40)] for sequence in (0, 1, 2)
        ],
        "tokens of words": [
            [call(i, sequence) for i in range(40)]
            for sequence in (0, 1, 2) for call in (encoding.word_to_tokens, encoding.word_to_chars)
        ],
        "overflowing": [fields(one) for one in encoding.overflowing],
    }  # fmt: skip


@pytest.mark.parametrize("roles", [{}, {"add_bos": True, "add_eos": True}], ids=["none", "both"])
@pytest.mark.parametrize("pretokenizer", ["metaspace", "byte-level:llama3", "whitespace"])
def test_tokenizers(pretokenizer, roles, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tok = learned(pretokenizer, **roles)
    ours = Tokenizer(tok)
    real = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_data(tok.vocabulary)))
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    for special in (True, False):
        for text, other in pairs:
            mine = ours.encode(text, add_special_tokens=special)
            theirs = real.encode(text, add_special_tokens=special)
            assert fields(mine) == fields(theirs)
            mine = ours.encode(text, other, add_special_tokens=special)
            theirs = real.encode(text, other, add_special_tokens=special)
            assert fields(mine) == fields(theirs)
    assert ours.padding is real.padding is ours.truncation is real.truncation is None
    few = [*TEXTS[:6], *TEXTS[7:10]]
    for most, direction in ((17, "left"), (6, "right"), (4, "left")):
        for one in (ours, real):
            one.enable_truncation(most)
            one.enable_padding(
                direction=direction, pad_id=0, pad_token="<pad>", pad_to_multiple_of=4
            )
        assert ours.padding == real.padding
        assert ours.truncation == real.truncation
        for batch in (few, list(zip(few, few[::-1], strict=True))):
            mine, theirs = ours.encode_batch(batch), real.encode_batch(batch)
            assert list(map(fields, mine)) == list(map(fields, theirs))
            assert most == 17 or any(one.overflowing for one in mine)
        for batch in (TEXTS, pairs):
            ids = [one.ids for one in real.encode_batch_fast(batch)]
            assert [one.ids for one in ours.encode_batch_fast(batch)] == ids
    for one in (ours, real):
        one.no_truncation()
        one.no_padding()
    assert ours.encode_special_tokens is real.encode_special_tokens is False
    for one in (ours, real):
        one.encode_special_tokens = True
    # In metaspace text tokenizer.json never puts a space before a name at the start.
    for text in [*(PLAIN if pretokenizer == "metaspace" else TEXTS), "bade<s> bade</s>"]:
        assert fields(ours.encode(text)) == fields(real.encode(text))
    for one in (ours, real):
        one.encode_special_tokens = False
    ids = [one.ids for one in real.encode_batch(TEXTS)]
    # In whitespace text volt puts a space between a special token and a word, too.
    for skip in (True,) if pretokenizer == "whitespace" else (True, False):
        assert ours.decode_batch(ids, skip) == real.decode_batch(ids, skip)
    assert ours.get_vocab() == real.get_vocab()
    assert ours.get_vocab(with_added_tokens=False) == real.get_vocab(with_added_tokens=False)
    for added in (True, False):
        assert ours.get_vocab_size(added) == real.get_vocab_size(added)
    names = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
    mine, theirs = (
        {number: [getattr(token, name) for name in names] for number, token in some.items()}
        for some in (ours.get_added_tokens_decoder(), real.get_added_tokens_decoder())
    )
    assert mine == theirs
    for number in (0, 5, len(tok) - 1, len(tok)):
        assert ours.id_to_token(number) == real.id_to_token(number)
    assert ours.token_to_id("<s>") == real.token_to_id("<s>")
    assert ours.token_to_id("no such") is real.token_to_id("no such") is None
    for pair in (True, False):
        assert ours.num_special_tokens_to_add(pair) == real.num_special_tokens_to_add(pair)
    ours.save(tmp_path / "tokenizer.json")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert again.to_str() == real.to_str()
    read = Tokenizer.from_file(tmp_path / "tokenizer.json")
    assert read.encode(PLAIN[3]).ids == ours.encode(PLAIN[3]).ids
    with pytest.raises(ValueError, match="cut before"):
        ours.encode("a b", is_pretokenized=True)
    with pytest.raises(ValueError, match="stride"):
        ours.enable_truncation(5, stride=1)
