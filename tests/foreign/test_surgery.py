"""Refit and extend of any tokenizer: its own file is rewritten, and its own library reads it."""

import json
import random
import re
from collections import Counter

import numpy as np
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from published import (
    hugging_face,
    sentencepiece_model,
    write_pair,
    write_ranks,
    write_tekken,
)

import volt
from volt.base.errors import VoltError
from volt.foreign.base import Change
from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine
from volt.foreign.huggingface import HuggingFace
from volt.foreign.inner import merging
from volt.foreign.json_text import JsonText
from volt.foreign.original import open_original
from volt.tokenizing.tokenizer import Tokenizer

TEXT = ["the and of the\nreturn self\n    if der die und\n" * 12, "дом 12 the, the. don't"]
NEW = ["quartz vexing jumble synthetic embeddings polynomial 12 quartzite\n\tvexing jumbled\n" * 9]
MERGING = ["gpt2", "neox", "falcon", "deepseek", "llama3", "qwen2", "command_r", "llama2", "gemma",
           "clip"]  # fmt: skip


def write(name, folder):
    folder.mkdir(exist_ok=True)
    path = folder / "tokenizer.json"
    path.write_text(hugging_face(name), encoding="utf-8")
    return path


def pieces(engine, texts):
    return [[engine.names[i] for i in ids] for ids in engine.encode_batch(texts)]


def kept_pieces_are_the_same(before, after, id_map, texts):
    """A text whose tokens all stay is cut as before, with the ids of now."""
    found = 0
    for text, old, new in zip(texts, before.encode_batch(texts), after.encode_batch(texts),
                              strict=True):  # fmt: skip
        if all(id_map[i] >= 0 for i in old):
            assert [int(id_map[i]) for i in old] == new, text
            found += 1
    return found


@pytest.mark.parametrize("name", MERGING)
def test_refit_of_a_tokenizer_json(name, tmp_path):
    path = write(name, tmp_path / "old")
    before = open_engine(path, native=False).engine
    # Gemma's added tokens stay, with all that they are merged from.
    size = before.size - (6 if name == "gemma" else 12)
    result = volt.refit(path, [TEXT], size=size)
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new" / "tokenizer.json", native=False).engine
    assert after.size == size == result.after.size
    assert kept_pieces_are_the_same(before, after, result.id_map, [*TEXT, *built_in()]) > 100
    # What could be encoded still can.
    for text, ids in zip(built_in(), after.encode_batch(built_in()), strict=True):
        if before.unknown_id is None or before.unknown_id not in before.encode(text):
            assert after.unknown_id is None or after.unknown_id not in ids, text
    # Every other part stays byte for byte.
    old, new = JsonText(path.read_text()), JsonText((tmp_path / "new/tokenizer.json").read_text())
    for part in ("normalizer", "pre_tokenizer", "decoder", "truncation", "version"):
        one, other = old.find((part,)), new.find((part,))
        assert old.text[slice(*one)] == new.text[slice(*other)]
    assert np.array_equal(np.load(tmp_path / "new" / "id_map.npy"), result.id_map)
    special = {one["content"] for one in json.loads(old.text)["added_tokens"]}
    assert special == {one["content"] for one in json.loads(new.text)["added_tokens"]}


@pytest.mark.parametrize("name", [*MERGING, "starcoder"])
def test_extending_never_makes_a_text_longer(name, tmp_path):
    path = write(name, tmp_path / "old")
    before = open_engine(path, native=False).engine
    result = volt.extend(path, [NEW], 15)
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new" / "tokenizer.json", native=False).engine
    assert after.size == before.size + 15
    texts = [*NEW, *TEXT, *built_in()]
    shorter = 0
    for text, old, new in zip(texts, before.encode_batch(texts), after.encode_batch(texts),
                              strict=True):  # fmt: skip
        assert len(new) <= len(old), text
        shorter += len(new) < len(old)
        if name != "clip" and (before.unknown_id is None or before.unknown_id not in old):
            assert after.decode(new) == before.decode(old), text
    assert shorter >= 1
    assert result.after.tokens < result.before.tokens
    for name_, number in zip(before.names, range(before.size), strict=True):
        assert after.names[number] == name_


letters = st.lists(st.sampled_from(["ab", "ba", "a", "b", "aab", "bb", "abab"]), min_size=3,
                   max_size=20).map(" ".join)  # fmt: skip


def random_bpe(seed):
    """A tokenizer.json that no trainer makes: merges of any two tokens, several for one text."""
    draw = random.Random(seed)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    vocab = {letter: i for i, letter in enumerate(sorted(alphabet))}
    parts, merges = ["a", "b", "Ġ"], []
    while len(merges) < 30:
        pair = draw.choice(parts), draw.choice(parts)
        text = "".join(pair)
        if len(text) > 8 or "Ġ" in text[1:] or pair in merges:
            continue
        merges.append(pair)
        if text not in vocab:
            vocab[text] = len(vocab)
            parts.append(text)
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    if seed % 2:  # a pattern that volt does not run: then it sees only the model inside
        made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(r" ?[^ ]+| +"), "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])  # fmt: skip
    made.decoder = tokenizers.decoders.ByteLevel()
    return made.to_str()


def smaller(path, text, size):
    """None if the text needs more tokens, or gives fewer."""
    try:
        return volt.refit(path, [[text] * 3], size=size)
    except VoltError as error:
        assert "tokens that text gives" in str(error) or "has no room" in str(error)
        return None


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), letters, letters)
def test_random_merges_are_refitted_and_extended(tmp_path_factory, seed, text, other):
    folder = tmp_path_factory.mktemp("random")
    (folder / "t.json").write_text(random_bpe(seed))
    before = open_engine(folder / "t.json", native=False).engine
    texts = [text, other, "abababab baab", "aaaaaa bbbb"]
    inner = before.inner()  # the model inside merges as the library does
    for word in {*before.words(f"{text} {other} abababab")}:
        ids, _ = Tokenizer(inner.vocabulary).encode_words(inner.counts(Counter([word]), 1))
        assert ids.tolist() == before.encode(word.replace("Ġ", " "))
    original = open_original(folder / "t.json")
    sizes = range(before.size - 5, 256, -4)  # some of its tokens no text gives
    for result in filter(None, (smaller(folder / "t.json", text, size) for size in sizes)):
        after = original.changed(result.change)
        kept_pieces_are_the_same(before, after, result.id_map, texts)
        assert after.size == result.after.size
        for name, token in enumerate(after.names):  # every token but what was unreachable before
            word = token.replace("Ġ", " ")
            if {*word} <= {*"ab "} and len(before.encode(word)) == 1:
                assert after.encode(word) == [name]
    try:
        result = volt.extend(folder / "t.json", [[text] * 3], 2)
    except VoltError as error:
        assert "new tokens that occur" in str(error)
        return
    after = original.changed(result.change)
    for one in texts:
        assert len(after.encode(one)) <= len(before.encode(one)), one
    assert {*after.encode(text)} & {*range(before.size, after.size)}, "no new token comes out"


def test_of_several_pairs_of_a_token_that_counts_which_text_uses():
    """`ab` is made before `bc`, so `abc` never comes from `a` and `bc`."""
    names = [*"abc", "ab", "bc", "abc", "<unk>"]
    pairs = [("a", "b"), ("b", "c"), ("a", "bc"), ("ab", "c")]
    inner = merging(names, frozenset({6}), pairs=pairs, unknown_id=6)
    ids, _ = Tokenizer(inner.vocabulary).encode_words(inner.counts(Counter(["abc"]), 1))
    assert [names[i] for i in ids] == ["abc"]
    assert inner.vocabulary.tokens[5].parents == (3, 2)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("bpe", {"add_dummy_prefix": False}), ("bpe", {"allow_whitespace_only_pieces": True}),
     ("unigram", {"add_dummy_prefix": False}), ("unigram", {})],
)  # fmt: skip
def test_sentencepiece_models(kind, options, tmp_path):
    path = tmp_path / "m.model"
    path.write_bytes(sentencepiece_model(kind, **options))
    before = open_engine(path, native=False).engine
    result = volt.refit(path, [TEXT], size=before.size - 10)
    result.save(tmp_path / "small")
    after = open_engine(tmp_path / "small" / "m.model", native=False).engine
    assert after.size == before.size - 10
    if kind == "bpe":
        assert kept_pieces_are_the_same(before, after, result.id_map, [*TEXT, *built_in()]) > 100
    assert after.proto.normalizer_spec == before.proto.normalizer_spec
    result = volt.extend(path, [NEW], 8)
    result.save(tmp_path / "large")
    library = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "large" / "m.model"))
    assert library.vocab_size() == before.size + 8
    if kind == "bpe":  # after all old pieces, each after those before it
        scores = [library.get_score(i) for i in range(before.size + 8)]
        normal = [i for i in range(before.size) if before.proto.pieces[i].type == 1]
        assert scores[-8:] == sorted({*scores[-8:]}, reverse=True)
        assert scores[-8] < min(scores[i] for i in normal)
    texts = [*TEXT, *built_in()]
    for text, old, new in zip(
        texts, before.encode_batch(texts), library.encode(texts), strict=True
    ):
        if kind == "bpe" or before.unknown_id not in old:
            assert len(new) <= len(old), text


def test_other_files_are_rewritten_under_their_own_names(tmp_path):
    pair = write_pair(tmp_path / "pair", hugging_face("qwen2"))
    (pair / "tokenizer_config.json").write_text('{"tokenizer_class":  "Qwen2Tokenizer"}')
    ranks = write_ranks(tmp_path / "some.tiktoken")
    tekken = write_tekken(tmp_path / "tekken.json")
    for path, name, pattern in (
        (pair, "vocab.json", None), (ranks, "some.tiktoken", "byte-level:llama3"),
        (tekken, "tekken.json", None),
    ):  # fmt: skip
        before = open_engine(path, native=False, pattern=pattern).engine
        folder = tmp_path / f"new-{name}"
        result = volt.refit(path, [TEXT], size=before.size - 9, pattern=pattern)
        result.save(folder)
        after = open_engine(folder / name, native=False).engine
        assert after.size == before.size - 9
        assert kept_pieces_are_the_same(before, after, result.id_map, [*TEXT, *built_in()]) > 100
        larger = volt.extend(path, [NEW], 7, pattern=pattern)
        larger.save(tmp_path / f"large-{name}")
        after = open_engine(tmp_path / f"large-{name}" / name, native=False).engine
        assert after.size == before.size + 7
        texts = [*TEXT, *built_in()]
        for old, new in zip(before.encode_batch(texts), after.encode_batch(texts), strict=True):
            assert len(new) <= len(old)
    config = (tmp_path / "new-vocab.json" / "tokenizer_config.json").read_text()
    assert config == '{"tokenizer_class":  "Qwen2Tokenizer"}'
    data = json.loads((tmp_path / "new-tekken.json" / "tekken.json").read_text())
    assert data["multimodal"] == {"a": 1.5} and data["config"]["default_vocab_size"] == 401


def test_ids_in_the_files_beside_are_renumbered(tmp_path):
    folder = tmp_path / "old"
    path = write("qwen2", folder)
    data = json.loads(path.read_text())
    end = data["model"]["vocab"]["<|im_start|>"]
    config = (
        '{"chat_template": "{{ x }}",\n  "added_tokens_decoder": {"END": {"content": '
        '"<|im_start|>", "special": true}}}'
    ).replace("END", str(end))
    (folder / "tokenizer_config.json").write_text(config)
    (folder / "special_tokens_map.json").write_text('{"eos_token":"<|im_start|>"}')
    post = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|im_start|>",
            "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [
            {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [end],
                                                "tokens": ["<|im_start|>"]}}}  # fmt: skip
    path.write_text(json.dumps(data | {"post_processor": post}))
    result = volt.refit(folder, [TEXT], size=len(data["model"]["vocab"]) - 8)
    result.save(tmp_path / "new")
    new = int(result.id_map[end])
    written = (tmp_path / "new" / "tokenizer_config.json").read_text()
    assert written == config.replace(f'"{end}"', f'"{new}"')
    assert (
        tmp_path / "new/special_tokens_map.json"
    ).read_bytes() == b'{"eos_token":"<|im_start|>"}'
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json"))
    assert library.encode("the").ids[0] == new == library.token_to_id("<|im_start|>")


def test_a_new_script_is_learned(tmp_path):
    """Through bytes, or by adding its characters."""
    text = ["क्या नमस्ते नमस्ते दुनिया नमस्ते " * 9]
    for name, add, factor in (("llama2", 24, 3), ("gpt2", 8, 1)):
        path = write(name, tmp_path / name)
        before = open_engine(path, native=False).engine
        result = volt.extend(path, [text], add)
        after = open_original(path).changed(result.change)
        ids = after.encode(text[0])
        assert len(ids) * factor < len(before.encode(text[0]))
        assert after.decode(ids).strip() == text[0].strip()
        for one in built_in():
            assert len(after.encode(one)) <= len(before.encode(one))
    (tmp_path / "u.model").write_bytes(sentencepiece_model("unigram"))
    before = open_engine(tmp_path / "u.model", native=False).engine
    assert before.unknown_id in before.encode(text[0])
    result = volt.extend(tmp_path / "u.model", [text], 14)
    after = open_original(tmp_path / "u.model").changed(result.change)
    assert before.unknown_id not in after.encode(text[0])


THAI = st.text("กขคงจชดตทนบปผมยรลวสหอะาิีุูเแโไ่้์", min_size=2, max_size=6)


@settings(max_examples=25, deadline=None)
@given(st.lists(THAI, min_size=3, max_size=9, unique=True), st.text("\n<>~{}[]", max_size=1))
@pytest.mark.parametrize("name", ["llama2", "gemma", "bpe", "unigram"])
def test_a_new_script_leaves_the_ids_of_other_text_alone(tmp_path_factory, name, words, ends):
    """With byte fallback, a character of one byte is one token already, whether it has a token of
    its own or not."""
    folder = tmp_path_factory.mktemp("extend")
    if name in ("llama2", "gemma"):
        path = write(name, folder)
    else:
        path = folder / "s.model"
        path.write_bytes(sentencepiece_model(name, byte_fallback=True))
    result = volt.extend(path, [[f"{word}{ends}\n" * 3 for word in words]], 4)
    before = open_engine(path, native=False).engine
    after = result.original.changed(result.change)
    thai = {*"".join(words)}
    assert all(thai & {*one.text} for one in result.added)
    for text in built_in()[:600]:
        old, ids = before.encode(text), after.encode(text)
        assert len(ids) <= len(old)
        assert ids == old or thai & {*text}, text
    for word in words:
        assert len(after.encode(word)) <= len(before.encode(word))


MIXED = st.text("กขคงนมยรสหอะาิีเแไ่้" + "the ander12.-_<" * 2, min_size=1, max_size=9)
"""Words of both, so that merges join Thai and ASCII."""


@settings(max_examples=20, deadline=None)
@given(st.lists(MIXED, min_size=3, max_size=9), st.lists(MIXED, min_size=1, max_size=20))
@pytest.mark.parametrize("name", ["llama2", "gemma", "bpe", "gpt2", "qwen2", "tiktoken"])
def test_no_text_gets_longer_where_merges_join_two_scripts(tmp_path_factory, name, words, others):
    folder = tmp_path_factory.mktemp("mixed")
    pattern = "byte-level:llama3" if name == "tiktoken" else None
    if name == "bpe":
        path = folder / "s.model"
        path.write_bytes(sentencepiece_model(name, byte_fallback=True))
    else:
        path = write_ranks(folder / "t.tiktoken") if pattern else write(name, folder)
    try:
        result = volt.extend(path, [[" ".join(words) * 2]], 6, min_frequency=1, pattern=pattern)
    except VoltError as error:
        assert "new tokens that occur" in str(error)
        return
    before = open_engine(path, native=False, pattern=pattern).engine
    after = result.original.changed(result.change)
    texts = [*words, *others, "".join(words), "".join(others), *built_in()[:300]]
    for text, old, new in zip(texts, before.encode_batch(texts), after.encode_batch(texts),
                              strict=True):  # fmt: skip
        assert len(new) <= len(old), text
        assert before.unknown_id in old or after.decode(new) == before.decode(old), text


def test_wordpiece_learns_a_new_script_at_every_size(tmp_path):
    """A word with an unknown character is unknown as a whole: before its characters are there, no
    merge gives a new token."""
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face("bert"))
    size = open_engine(path).engine.size
    text = "კატა სახლი წიგნი ქალაქი მდინარე მთა ზღვა ხე ბავშვი\n" * 9
    with pytest.raises(volt.InputError, match=r"only [0-9]+ new tokens .* is 500,") as error:
        volt.extend(path, [[text]], 500)
    most = int(re.search("only ([0-9]+) new", str(error.value))[1])
    unknown = []
    for add in (1, 8, 16, 26, 30, most):
        result = volt.extend(path, [[text]], add)
        assert result.after.size == size + add
        unknown.append(result.after.unknown)
    assert unknown[0] > unknown[-1] == 0
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new").engine
    assert after.unknown_id not in after.encode(text)
    with pytest.raises(volt.InputError, match=rf"only {most} new tokens .* is {most + 1},"):
        volt.extend(path, [[text]], most + 1)


def test_swap_keeps_the_size(tmp_path):
    path = write("gpt2", tmp_path / "old")
    before = open_engine(path, native=False).engine
    result = volt.extend(path, [NEW], 20, swap=True)
    after = open_original(path).changed(result.change)
    assert after.size == before.size and result.dropped == 20 == len(result.added)
    assert len(after.encode(NEW[0])) < len(before.encode(NEW[0]))
    for text in built_in():
        assert after.decode(after.encode(text)) == before.decode(before.encode(text))


def test_swap_takes_the_tokens_that_the_text_uses_least(tmp_path):
    path = tmp_path / "u.model"
    path.write_bytes(sentencepiece_model("unigram"))
    before = open_engine(path, native=False).engine
    text = [*NEW, *TEXT]
    used = np.bincount([i for ids in before.encode_batch(text) for i in ids],
                       minlength=before.size)  # fmt: skip
    result = volt.extend(path, [text], 9, swap=True)
    dropped = result.id_map < 0
    droppable = [i for i, one in enumerate(result.original.vocabulary.tokens)
                 if one.kind == "piece"]  # fmt: skip
    assert dropped.sum() == 9 and {*np.flatnonzero(dropped)} <= {*droppable}
    kept = [used[i] for i in droppable if not dropped[i]]
    assert used[dropped].max() <= min(kept)


@pytest.mark.parametrize("number", [5, 30, 450])
def test_tokens_that_no_text_gives_make_room_first(number, tmp_path):
    """Published files have tokens over two words, which are never found, and others made of
    them."""
    data = json.loads(hugging_face("gpt2"))
    vocab, merges = data["model"]["vocab"], data["model"]["merges"]
    first = len(vocab)
    for letter in "abcdef":
        for left, right in ((letter, "Ġ"), (f"{letter}Ġ", "x")):
            vocab[left + right] = len(vocab)
            merges.append([left, right])
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data, ensure_ascii=False))
    size = open_engine(path, native=False).engine.size
    result = volt.extend(path, [[*TEXT, *built_in()]], number, swap=True)
    assert result.dropped == number and len(result.vocabulary) == size == first + 12
    dropped = {*np.flatnonzero(result.id_map < 0).tolist()}
    idle = {*range(first, size)}
    assert dropped <= idle if number < len(idle) else idle <= dropped


def test_residues_are_taken_out(tmp_path):
    """`ab` can go, since `abc` can be made from `a` and `bc`; `xy` can't."""
    vocab = {letter: i for i, letter in enumerate(
        sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}  # fmt: skip
    merges = [("a", "b"), ("b", "c"), ("ab", "c"), ("x", "y"), ("xy", "z"), ("abc", "d")]
    vocab |= {left + right: len(vocab) + i for i, (left, right) in enumerate(merges)}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    before = open_engine(path, native=False).engine
    text = ["abc\nbc\nabcd\nxyz\n" * 5]
    row = volt.compare([path], [text]).rows[0]
    assert row.residues == 2
    result = volt.refit(path, [text], residues=True)
    assert [before.names[i] for i in np.flatnonzero(result.id_map < 0)] == ["ab"]
    assert "2 residues" in result.messages[-3] and "1 of them" in result.messages[-3]
    assert result.messages[-2] == "1 residue stayed: a token made from it has no other pair"
    after = open_original(path).changed(result.change)
    assert pieces(after, text) == pieces(before, text)
    assert pieces(after, ["abcd", "ab"]) == [["abcd"], ["a", "b"]]
    with pytest.raises(VoltError, match="do not merge"):
        (tmp_path / "u.model").write_bytes(sentencepiece_model("unigram"))
        volt.refit(tmp_path / "u.model", [text], residues=True)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), letters)
def test_without_residues_the_text_stays_as_it_was(tmp_path_factory, seed, text):
    folder = tmp_path_factory.mktemp("random")
    (folder / "t.json").write_text(random_bpe(seed))
    before = open_engine(folder / "t.json", native=False).engine
    result = volt.refit(folder / "t.json", [[text]], residues=True)
    after = open_original(folder / "t.json").changed(result.change)
    assert pieces(after, [text]) == pieces(before, [text])


def test_a_change_that_drops_what_a_file_needs_is_an_error(tmp_path):
    path = write("gpt2", tmp_path / "old")
    engine = HuggingFace(str(path), path.read_text())
    id_map = np.arange(engine.size)
    id_map[min(engine.named)] = -1
    with pytest.raises(VoltError, match="was dropped"):
        engine.rewrite(Change(id_map))
