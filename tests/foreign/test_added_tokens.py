"""Added tokens that the model makes of words, too: as some stand alone only, and others are found
before the text is normalized."""

import json

import pytest
import tokenizers
from published import HUGGING_FACE, corpus, hugging_face

import volt
from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine

PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
TEXTS = [*built_in(), *(text.upper() for text in built_in()[:300]), "lather there the", "stands"]


def words_of(data):
    """Thirty tokens that are words."""
    found = [name for name in data["model"]["vocab"] if name.isascii() and name.isalpha()]
    return [name for name in found if len(name) > 1][:30]


def write(folder, name, added, **flags):
    """One of the small tokenizers with more added tokens, which its model has already."""
    data = json.loads(hugging_face(name))
    for content in added or words_of(data):
        number = data["model"]["vocab"][content]
        data["added_tokens"].append({"id": number, "content": content, "special": False}
                                    | PLAIN | flags)  # fmt: skip
    if not flags and not added:
        steps = [{"type": "Lowercase"}, *([data["normalizer"]] if data["normalizer"] else [])]
        data["normalizer"] = {"type": "Sequence", "normalizers": steps}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(data, ensure_ascii=False))
    return path


def encoder(path):
    library = tokenizers.Tokenizer.from_file(str(path))
    return lambda text: library.encode(text, add_special_tokens=False).ids


def check(path, result, folder, *, smaller):
    """Kept tokens stay what they are, and no text gets longer."""
    result.save(folder)
    before, after = encoder(path), encoder(folder / "tokenizer.json")
    new = result.id_map.tolist()
    assert all(new[i] >= 0 for i in open_engine(path, native=False).engine.named)
    for text in TEXTS:
        ids, found = before(text), after(text)
        if not smaller:
            assert len(found) <= len(ids), text
        elif all(new[i] >= 0 for i in ids):
            assert found == [new[i] for i in ids], text


@pytest.mark.parametrize("name", ["gpt2", "llama2", "codegen", "clip"])
@pytest.mark.parametrize("flags", [{"single_word": True}, {}], ids=["alone", "as it is"])
def test_what_words_give_too_is_not_lost(name, flags, tmp_path):
    path = write(tmp_path, name, [], **flags)
    text = [[*corpus()[:300]]]
    check(path, volt.refit(path, text), tmp_path / "small", smaller=True)
    check(path, volt.refit(path, text, residues=True), tmp_path / "clean", smaller=True)
    check(path, volt.extend(path, text, 15), tmp_path / "large", smaller=False)


@pytest.mark.parametrize("name", ["gpt2", "llama3"])
def test_an_added_token_may_be_a_letter_of_a_byte(name, tmp_path):
    """Some models pad with `!`."""
    path = write(tmp_path, name, ["!"])
    text = [[*corpus()[:300]]]
    check(path, volt.refit(path, text), tmp_path / "small", smaller=True)
    check(path, volt.extend(path, text, 15), tmp_path / "large", smaller=False)


def test_no_added_token_makes_room(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face("gemma"))
    result = volt.extend(path, [["hat that the other in on an there"] * 9], 2, swap=True)
    assert (result.id_map[[*open_engine(path).engine.behind.named]] >= 0).all()
    result.save(tmp_path / "out")


@pytest.mark.parametrize(
    "flags",
    [{"single_word": True}, {"lstrip": True}, {"rstrip": True}, {"normalized": True},
     {"normalized": True, "lstrip": True, "rstrip": True}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["gpt2", "bert", "qwen2"])
def test_words_are_those_between_added_tokens(name, flags, tmp_path):
    made = HUGGING_FACE[name]()
    made.add_tokens([tokenizers.AddedToken(content, special=False, **PLAIN | flags)
                     for content in ("the", "Foo bar", "ê")])  # fmt: skip
    path = tmp_path / "tokenizer.json"
    path.write_text(made.to_str())
    engine = open_engine(path, native=False).engine
    texts = ("lather the  the, other", " Foo bar\n\n foo bar Foo bars", "fe\u0302te ê \t the \n")
    for text in texts:
        ids = [one.id for word in engine.words(text) for one in made.model.tokenize(word)]
        assert ids == [i for i in made.encode(text, add_special_tokens=False).ids
                       if i not in engine.named], text  # fmt: skip
