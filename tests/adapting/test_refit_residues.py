"""Refit without residues: a text whose tokens all stay is encoded as before, whatever it is."""

import json
import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published import write_ranks

import volt
from volt.foreign.engine_choice import open_engine

tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("tiktoken")
sentencepiece_model_pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

EVERY = ["".join(word) for length in range(1, 8) for word in product("abc", repeat=length)]
"""All words of three letters and these lengths, so most of what two tokens side by side can be."""
LONGEST = 4
MERGES = 14


def cuts(text, known):
    return [(text[:i], text[i:]) for i in range(1, len(text))
            if text[:i] in known and text[i:] in known]  # fmt: skip


def random_merges(seed, rule):
    """Tokens in the order of their ranks, and merges. `ab` is a residue of the text `abc`, which
    `a` and `bc` make, too; other tokens of up to four letters come before, between and after these.
    Merges are any pairs, some of them for one token; or, under rule concat, all pairs."""
    draw = random.Random(seed)
    made = ["a", "b", "c", "ab", "bc", "abc"]
    core = made[3:]
    while len(made) < MERGES:
        text = draw.choice(made) + draw.choice(made)
        alone = "ab" in text.replace("abc", " ")  # then `ab` would have to stay
        if len(text) <= LONGEST and text not in made and not alone:
            made.append(text)
    order = made[6:]
    if draw.random() < 0.5:  # a trainer would number parts before what is made of them
        draw.shuffle(order)
    places = sorted(draw.randint(0, len(order)) for _ in core)
    for token, place in reversed([*zip(core, places, strict=True)]):
        order.insert(place, token)
    order = ["a", "b", "c", *order]
    if rule == "concat":
        return order, [pair for token in order for pair in cuts(token, order)]
    some = [("ab", "c") if token == "abc" else draw.choice(cuts(token, order))
            for token in order[3:]]  # fmt: skip
    for pair in [pair for token in order for pair in cuts(token, order) if draw.random() < 0.2]:
        some.insert(draw.randrange(len(some) + 1), pair)
    return order, list(dict.fromkeys(some))


def write(seed, rule, folder):
    """As pairs, as all pairs of ranked tokens, or as ranks for tiktoken or SentencePiece."""
    tokens, merges = random_merges(seed, "pairs" if rule == "pairs" else "concat")
    if rule == "tiktoken":
        every = [*(bytes([byte]) for byte in range(256)), *map(str.encode, tokens[3:])]
        return write_ranks(folder / "t.tiktoken", {data: i for i, data in enumerate(every)})
    if rule == "sentencepiece":
        model = sentencepiece_model_pb2.ModelProto()
        model.trainer_spec.model_type = 2
        model.normalizer_spec.add_dummy_prefix = False
        model.pieces.add(piece="<unk>", score=0.0, type=2)
        for place, token in enumerate([*tokens[3:], *"abc▁"]):
            model.pieces.add(piece=token, score=-float(place), type=1)
        (folder / "m.model").write_bytes(model.SerializeToString())
        return folder / "m.model"
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([*letters, *tokens[3:]])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def without_residues(path):
    """The engines before and after, and what was done."""
    pattern = "byte-level" if path.suffix == ".tiktoken" else None
    before = open_engine(path, native=False, pattern=pattern).engine
    result = volt.refit(path, [["abc"]], residues=True, pattern=pattern)
    return before, result, result.original.changed(result.change)


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**9),
       st.sampled_from(["pairs", "pairs", "concat", "tiktoken", "sentencepiece"]))  # fmt: skip
def test_only_texts_with_a_removed_token_change(tmp_path_factory, seed, rule):
    before, result, after = without_residues(write(seed, rule, tmp_path_factory.mktemp("t")))
    id_map = result.id_map
    for word, old, new in zip(EVERY, before.encode_batch(EVERY), after.encode_batch(EVERY),
                              strict=True):  # fmt: skip
        if all(id_map[i] >= 0 for i in old):
            assert [int(id_map[i]) for i in old] == new, word


@pytest.mark.parametrize("rule", ["pairs", "concat", "tiktoken", "sentencepiece"])
def test_a_residue_goes_where_no_text_needs_it(rule, tmp_path, monkeypatch):
    """`ab` in `abc` and no more; with `bcc`, that would come before `abc` in `abcc`, it stays."""
    for others, gone in (([], ["ab"]), (["bcc"], [])):
        tokens = ["a", "b", "c", "ab", "bc", *others, "abc"]
        merges = [("a", "b"), ("b", "c"), *[("bc", "c")] * len(others), ("ab", "c")]
        monkeypatch.setitem(globals(), "random_merges", lambda *_, made=(tokens, merges): made)
        if rule == "concat":
            merges.append(("a", "bc"))
        before, result, after = without_residues(write(0, rule, tmp_path))
        assert [before.names[i] for i, new in enumerate(result.id_map) if new < 0] == gone
        told = "lines of the text that are encoded differently: 0" in result.messages[-1]
        assert told == bool(gone)
        stays = "1 residue stayed: another text would be encoded differently"
        assert (stays in result.messages) == (not gone)
        assert [after.names[i] for i in after.encode("abcc")] == ["abc", "c"]


def test_the_notes_count_in_whole_sentences(tmp_path, monkeypatch):
    """`ab` goes, `de` and `fg` stay."""
    tokens = [*"abcdefg", "ab", "bc", "abc", "de", "fg", "dea", "fga"]
    merges = [("a", "b"), ("b", "c"), ("ab", "c"), ("d", "e"), ("f", "g"), ("de", "a"), ("fg", "a")]
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([*letters, *tokens[7:]])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.save(str(tmp_path / "tokenizer.json"))
    messages = volt.refit(tmp_path / "tokenizer.json", [["abc dea fga"]], residues=True).messages
    assert any(one.endswith("; 1 of them was taken out") for one in messages)
    assert "2 residues stayed: a token made from each has no other pair" in messages


def test_no_size_goes_with_residues(tmp_path):
    for more in ({"size": 300}, {"sizes": [300, 310]}, {"for_model": "1b"}, {"profile": "paper"}):
        (name,) = more
        with pytest.raises(volt.SettingsError, match=f"leave out `{name}`, or `residues`"):
            volt.refit(write(0, "pairs", tmp_path), [["abc"]], residues=True, **more)


@pytest.mark.parametrize("listed", ["before", "after"])
def test_a_merge_that_is_replaced_keeps_its_place(listed, tmp_path, monkeypatch):
    """The file lists the new pair already, where it was never used."""
    merges = [("a", "b"), ("b", "c"), ("c", "c"), ("ab", "c"), ("a", "a")]
    merges.insert(2 if listed == "before" else 5, ("a", "bc"))
    made = ["a", "b", "c", "ab", "bc", "abc", "cc", "aa"], merges
    monkeypatch.setitem(globals(), "random_merges", lambda *_: made)
    path = write(0, "pairs", tmp_path)
    without_residues(path)[1].save(tmp_path / "new")
    data = json.loads((tmp_path / "new" / "tokenizer.json").read_text(encoding="utf-8"))
    left = [tuple(pair) for pair in data["model"]["merges"]]
    assert left == [("b", "c"), ("c", "c"), ("a", "bc"), ("a", "a")]
