"""BPE as few files have it: tokens over two words, unknown characters that vanish."""

import json

import pytest
import tokenizers

import volt
from volt.base.errors import SettingsError
from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine

SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}


def write(folder, tokens, merges, *, special=(), **parts):
    vocab = {token: i for i, token in enumerate([*special, *tokens, *map("".join, merges)])}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [{"id": vocab[name], "content": name, "special": True, **plain} for name in special]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": parts.pop("unk", None)}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"added_tokens": added, "model": model} | parts))
    return path


def encoder(path):
    library = tokenizers.Tokenizer.from_file(str(path))
    return lambda text: library.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("cut", [False, True])
def test_a_token_over_two_words_that_no_built_in_text_has(cut, tmp_path):
    """volt ends a word before a space. Where the library does so too, there is no difference."""
    runs = [["▁", "▁"], ["▁▁", "▁▁"]]
    merges = [*runs, ["ʬ", "."], ["ʬ.", "▁"]]
    parts = {"normalizer": SPACES} if not cut else {
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never",
                          "split": True}}  # fmt: skip
    path = write(tmp_path, ["▁", ".", "a", "ʬ"], merges, special=["<unk>"], unk="<unk>", **parts)
    opened = open_engine(path, texts=["a a. a"])
    library = encoder(path)
    assert opened.engine.encode("a ʬ. a") == library("a ʬ. a")
    if not cut:
        assert opened.said.endswith("volt cuts words inside of the token 'ʬ.▁'")


def test_characters_without_a_token_may_vanish(tmp_path):
    merges = [["a", "b"], ["c", "d"], ["ab", "cd"], ["▁", "ab"]]
    path = write(tmp_path, ["▁", *"abcd"], merges, special=["<pad>"], normalizer=SPACES)
    text = ["abcd xazb cd ab abcd cbcb", "cb cb zz cb abcd"] * 5
    before = encoder(path)
    assert before("azb") == before("ab")
    small, large = volt.refit(path, [text], size=9), volt.extend(path, [text], 2)
    small.save(tmp_path / "small")
    large.save(tmp_path / "large")
    after, longer = (encoder(tmp_path / name / "tokenizer.json") for name in ("small", "large"))
    assert len(large.added) == 2 and small.dropped == 1
    for one in [*text, *built_in(), "xxabxx zcd dcba aazzb cbzcb"]:
        ids, new = before(one), small.id_map
        assert len(longer(one)) <= len(ids)
        if all(new[i] >= 0 for i in ids):
            assert after(one) == [new[i] for i in ids]


def test_vanishing_characters_need_some_special_token(tmp_path):
    path = write(tmp_path, ["▁", *"abcd"], [["a", "b"], ["c", "d"]], normalizer=SPACES)
    with pytest.raises(SettingsError, match=r"model\.unk_token: none, and no byte or special"):
        volt.refit(path, [["abcd ab cd"] * 5], size=6)
