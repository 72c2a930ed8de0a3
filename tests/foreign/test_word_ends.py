"""BPE that marks the ends of words with something else than `</w>`."""

import json

import numpy as np
import pytest
import tokenizers
from published import corpus, hugging_face
from tokenizers import models, pre_tokenizers, trainers

import volt
from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine

TEXT = [[*corpus()[:300]]]
NEW = [["zulu tango whisky zulus tangos"] * 30]


def twins(folder, suffix):
    """CLIP's kind of file, and the same with another mark."""
    paths = [folder / "a" / "tokenizer.json", folder / "b" / "tokenizer.json"]
    text = hugging_face("clip")
    for path, content in zip(paths, [text, text.replace("</w>", suffix)], strict=True):
        path.parent.mkdir()
        path.write_text(content, encoding="utf-8")
    return paths


@pytest.mark.parametrize("way", ["refit", "residues", "extend", "swap"])
@pytest.mark.parametrize("suffix", ["<|e|>", "⌋"])
def test_the_mark_makes_no_difference(way, suffix, tmp_path):
    written = []
    for number, path in enumerate(twins(tmp_path, suffix)):
        if way in ("refit", "residues"):
            result = volt.refit(path, TEXT, residues=way == "residues")
        else:
            result = volt.extend(path, NEW, 5, swap=way == "swap")
        result.save(tmp_path / str(number))
        written.append((result, (tmp_path / str(number) / "tokenizer.json").read_text("utf-8")))
    (first, data), (other, other_data) = written
    assert np.array_equal(first.id_map, other.id_map)
    assert first.after == other.after
    assert data.replace("</w>", suffix) == other_data
    before, after = (tokenizers.Tokenizer.from_file(str(tmp_path / name / "tokenizer.json"))
                     for name in ("b", "1"))  # fmt: skip
    for text in [*built_in()[:500], *NEW[0]]:
        old, new = before.encode(text).ids, after.encode(text).ids
        if way == "extend":
            assert len(new) <= len(old)
        elif way != "swap" and all(other.id_map[i] >= 0 for i in old):
            assert new == other.id_map[old].tolist()


def test_a_trained_one(tmp_path):
    """Words that end at spaces, without byte letters."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="$$"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    lines = [line for line in corpus() if "$" not in line]
    made.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=1500, show_progress=False, special_tokens=["<unk>"], end_of_word_suffix="$$",
    ))  # fmt: skip
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    size = made.get_vocab_size()
    small, large = volt.refit(path, [lines[:200]], size=size - 60), volt.extend(path, NEW, 5)
    small.save(tmp_path / "small")
    large.save(tmp_path / "large")
    shrunk, grown = (tokenizers.Tokenizer.from_file(str(tmp_path / name / "tokenizer.json"))
                     for name in ("small", "large"))  # fmt: skip
    assert (shrunk.get_vocab_size(), grown.get_vocab_size()) == (size - 60, size + 5)
    assert any(token.endswith("$$") for token in grown.get_vocab().keys() - made.get_vocab().keys())
    assert len(grown.encode(NEW[0][0]).ids) < len(made.encode(NEW[0][0]).ids)
    same = 0
    for text in [*lines, *NEW[0]]:
        old = made.encode(text).ids
        assert len(grown.encode(text).ids) <= len(old)
        if all(small.id_map[i] >= 0 for i in old):
            assert shrunk.encode(text).ids == small.id_map[old].tolist()
            same += 1
    assert same > 100


@pytest.mark.parametrize("change", ["a token", "a merge"])
def test_a_mark_that_is_unclear_is_refused(change, tmp_path):
    path = twins(tmp_path, "$$")[1]
    data = json.loads(path.read_text("utf-8"))
    vocab = data["model"]["vocab"]
    if change == "a token":
        vocab["x</w>"] = len(vocab)
    else:
        vocab |= {"$": len(vocab), "a$": len(vocab) + 1, "a$$": len(vocab) + 2}
        data["model"]["merges"] += [["a", "$"], ["a$", "$"]]
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(volt.SettingsError, match=r"end_of_word_suffix: '\$\$'.* can't be told"):
        volt.refit(path, TEXT)


def test_marks_inside_of_words_are_refused(tmp_path):
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1500, show_progress=False, special_tokens=["<unk>"],
        continuing_subword_prefix="##",
    ))  # fmt: skip
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    opened = open_engine(path).engine  # compare and verify take it
    assert opened.encode("the of and") == made.encode("the of and").ids
    for call in (lambda: volt.refit(path, TEXT), lambda: volt.extend(path, NEW, 5)):
        with pytest.raises(volt.SettingsError, match="continuing_subword_prefix"):
            call()
