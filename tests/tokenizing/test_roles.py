"""Roles of special tokens: given by name, stored in volt.json, kept in their places."""

import json
from dataclasses import asdict

import pytest

import volt
from volt.base.errors import InputError, SettingsError
from volt.settings import LearnSettings
from volt.settings.roles import UseSettings
from volt.tokenizing import chat
from volt.tokenizing.chat import TEMPLATES
from volt.tokenizing.roles import Roles, with_roles

LOW = ["low lower lowest newest widest", "low new wide"] * 3


def learned(**options):
    return volt.learn([LOW], size=285 + options.get("reserve", 0), **options)


def test_a_special_token_with_a_usual_name_has_its_role():
    vocabulary = learned().vocabulary
    assert [vocabulary.role(role) for role in ("pad", "bos", "eos", "unk", "mask")] == [
        "<pad>", "<s>", "</s>", "<unk>", None,
    ]  # fmt: skip
    assert json.loads(vocabulary.to_json())["format"] == 1


def test_a_role_takes_the_place_of_its_default():
    vocabulary = learned(bos="<|b|>", eos="<|e|>", mask="<|m|>", reserve=2).vocabulary
    assert vocabulary.texts[:7] == [
        "<pad>", "<|b|>", "<|e|>", "<unk>", "<|m|>", "<|reserved_0|>", "<|reserved_1|>",
    ]  # fmt: skip
    assert vocabulary.special_ids["<|reserved_1|>"] == 6
    assert vocabulary.role("mask") == "<|m|>"
    # One token may have two roles.
    both = learned(special="<|end|>", bos="<|end|>", eos="<|end|>").vocabulary
    assert both.of_kind("special") == ["<|end|>"]
    assert both.role("bos") == both.role("eos") == "<|end|>"
    assert both.role("pad") is None


def test_special_tokens_may_be_a_list_or_text():
    assert LearnSettings(special="<a>,<b>").special == ("<a>", "<b>")
    assert LearnSettings(special=["<a>", "<b,c>"]).special == ("<a>", "<b,c>")
    assert LearnSettings(special=[("<a>", "<b>"), ("<c>",)]).special == ("<a>", "<b>", "<c>")


def test_roles_are_saved_and_loaded(tmp_path):
    found = learned(eos="<|e|>", add_eos=True, chat="chatml", max_length=77, padding_side="left")
    found.save(tmp_path / "out", report=False)
    loaded = volt.load(tmp_path / "out").vocabulary
    assert loaded.roles == Roles(
        eos="<|e|>", add_eos=True, chat=TEMPLATES["chatml"], max_length=77, padding_side="left"
    )
    assert loaded.around == ([], [loaded.ids["<|e|>"]])
    assert loaded.to_bytes() == found.vocabulary.to_bytes()
    assert json.loads(loaded.to_json())["format"] == 4


def test_roles_are_part_of_the_signature():
    assert learned().signature == learned(special="<pad>,<s>,</s>,<unk>").signature
    assert learned().signature != learned(add_eos=True).signature


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"special": "<unk>", "add_eos": True}, "`add_eos` needs a special token"),
        ({"special": "<unk>", "chat": "llama3"}, "the chat template needs bos_token"),
        ({"chat": "chat.jinja"}, "`chat` must be one of chatml, llama3, or a Jinja file"),
        ({"padding_side": "top"}, "`padding_side` must be one of right, left"),
        ({"reserve": -1}, "`reserve` must be a whole number"),
        ({"bos": "<0x41>"}, "two tokens are both '<0x41>'"),
    ],
)
def test_roles_that_cannot_be(options, words):
    with pytest.raises(SettingsError, match=words):
        learned(**options)


def test_a_template_of_ones_own(tmp_path):
    file = tmp_path / "my.jinja"
    file.write_text("{% for m in messages %}<|{{ m }}|><|turn|>{{ eos_token }}{% endfor %}")
    vocabulary = learned(chat=str(file)).vocabulary
    assert vocabulary.of_kind("special")[-1] == "<|turn|>"
    assert vocabulary.roles.chat == file.read_text()
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="invalid UTF-8"):
        learned(chat=str(file))


def test_reserved_places_are_named_later_and_ids_stay():
    old = learned(reserve=2).vocabulary
    new = with_roles(old, UseSettings(chat="chatml", eos="<|im_end|>"))
    changed = {a: b for a, b in zip(old.texts, new.texts, strict=True) if a != b}
    assert changed == {"<|reserved_0|>": "<|im_end|>", "<|reserved_1|>": "<|im_start|>"}
    assert new.role("eos") == "<|im_end|>"
    assert volt.Tokenizer(new).encode("low new") == volt.Tokenizer(old).encode("low new")
    problem = r"'<\|eot_id\|>', and no reserved place for it: 3 places are needed, 2 are free"
    with pytest.raises(SettingsError, match=problem):
        with_roles(old, UseSettings(chat="llama3"))
    assert with_roles(old, UseSettings()) is old


def test_ids_of_roles():
    tokenizer = learned(eos="<|end|>", special="<unk>").tokenizer
    assert tokenizer.id_to_token(tokenizer.eos_id) == "<|end|>"
    assert tokenizer.bos_id is None
    assert tokenizer.pad_id is None
    tokenizer = learned(bos="<b>", pad="<p>").tokenizer
    assert tokenizer.bos_id == tokenizer.token_to_id("<b>")
    assert tokenizer.pad_id == tokenizer.token_to_id("<p>")


def test_export_says_which_places_names_took(tmp_path):
    old = learned(reserve=2).vocabulary
    assert not volt.export(old, "hf", tmp_path / "plain").messages
    [said] = volt.export(old, "hf", tmp_path / "chat", chat="chatml").messages
    place = old.special_ids["<|reserved_0|>"]
    assert said.startswith(f"<|im_start|> took <|reserved_0|> (id {place}), <|im_end|> took")
    assert "only the files written here know them; name them with" in said


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("bos", "low", "roles: bos must be a special token"),
        ("bos", 3, "roles.bos: 3 is not text"),
        ("add_bos", 1, "roles.add_bos: 1 is not true or false"),
        ("max_length", 0, "roles.max_length: at least 1"),
        ("padding_side", None, "roles.padding_side: None is not one of right, left"),
        ("more", 1, "roles.more: not a field"),
        ("chat", "<|x|>", r"roles: the chat template needs the special token"),
    ],
)
def test_damaged_roles_are_named(tmp_path, field, value, words):
    data = json.loads(learned(add_eos=True).vocabulary.to_json())
    assert data["roles"] == asdict(Roles(add_eos=True))
    data["roles"][field] = value
    (tmp_path / "volt.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=words):
        volt.load(tmp_path)


def test_older_formats_have_no_roles(tmp_path):
    data = json.loads(learned(add_eos=True).vocabulary.to_json()) | {"format": 3}
    (tmp_path / "volt.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="roles: not in format 3"):
        volt.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"special": "<|a|>", "chat": "llama3"}, "the chat template needs bos_token"),
        ({"special": "<|a|>", "add_eos": True}, "`add_eos` needs a special token"),
    ],
)
def test_roles_that_contradict_each_other_are_found_before_any_text_is_read(options, said):
    read = []
    texts = (read.append(line) or line for line in ["low lower lowest"] * 30)
    with pytest.raises(SettingsError, match=said):
        volt.learn(volt.Texts(texts), **options)
    assert read == []


def test_a_chat_template_must_be_jinja(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    wrong, right = tmp_path / "wrong.jinja", tmp_path / "right.jinja"
    wrong.write_text("{%- for message in messages -%}\n{{ message\n")
    with pytest.raises(InputError, match=r"wrong\.jinja, line \d: not valid Jinja: "):
        learned(chat=str(wrong))
    # What transformers adds to Jinja.
    right.write_text(
        "{% for m in messages %}{% generation %}{{ m }}{% endgeneration %}{% break %}{% endfor %}"
    )
    assert not any("Jinja" in one or "jinja" in one for one in learned(chat=str(right)).messages)
    monkeypatch.setattr(chat, "find_spec", lambda name: None)
    told = f"the chat template {wrong} was not checked: jinja2 is not installed"
    assert told in learned(chat=str(wrong)).messages
    assert learned(chat="chatml").messages == learned().messages
