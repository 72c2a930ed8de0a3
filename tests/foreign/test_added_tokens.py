"""Added tokens that the model makes of words, too: as some stand alone only, and others are found
before the text is normalized."""

import json

import pytest
import tokenizers
from published import HUGGING_FACE, corpus, hugging_face, write_ranks

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


@pytest.mark.parametrize("name", ["tokenizer.model", "tiktoken.model", "some.tiktoken"])
def test_special_tokens_beside_ranks_keep_their_ids(name, tmp_path):
    """Models whose ranks file does not say them have them in tokenizer_config.json."""
    folder = tmp_path / "model"
    folder.mkdir()
    write_ranks(folder / name)
    special = {"<|eot|>": 420, "<|pad|>": 421}
    listed = {str(i): {"content": text, "special": True} for text, i in special.items()}
    config = {"added_tokens_decoder": listed, "eos_token": "<|eot|>", "chat_template": "<|eot|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text('{"eos_token_id": 420, "top_p": 0.90}')
    pattern = "byte-level:llama3"
    engine = open_engine(folder, pattern=pattern).engine
    assert [engine.names[i] for i in sorted(engine.named)] == [*special] and engine.size == 422
    text = [[*corpus()[:300]]]
    for result in (volt.refit(folder, text, pattern=pattern),
                   volt.extend(folder, text, 9, pattern=pattern)):  # fmt: skip
        out = tmp_path / f"out-{len(result.added)}"
        result.save(out)
        now = {name: int(result.id_map[i]) for name, i in special.items()}
        assert json.loads((out / f"{name}.json").read_text())["special_tokens"] == now
        config = json.loads((out / "tokenizer_config.json").read_text())
        assert [*config["added_tokens_decoder"]] == [*map(str, now.values())]
        settings = (out / "generation_config.json").read_text()
        assert settings == f'{{"eos_token_id": {now["<|eot|>"]}, "top_p": 0.90}}'
        after = open_engine(out / name).engine
        assert {after.names[i]: i for i in after.named} == now
        assert after.size == len(result.vocabulary)


def test_added_tokens_of_another_tokenizer_are_not_those_of_ranks(tmp_path):
    write_ranks(tmp_path / "some.tiktoken")
    (tmp_path / "added_tokens.json").write_text('{"<x>": 300}')
    opened = open_engine(tmp_path / "some.tiktoken", pattern="byte-level:llama3")
    assert not opened.engine.named and "no some.tiktoken.json: no special tokens" in opened.messages
