"""The tokens of a chat template stay, whatever the text is."""

import json
import sys

import pytest

import volt

pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")
from volt.adapting import rendering
from volt.foreign.engine_choice import open_engine

TEXT = ["user\nassistant\nsystem\nlow flow blow\n" * 40]
OTHER = [["low flow blow blow " * 40]]


@pytest.fixture
def chat(tmp_path):
    """A folder whose template has the roles as text, and refuses system messages."""
    vocabulary = volt.learn([TEXT], size=280, pretokenizer="byte-level").vocabulary
    volt.export(vocabulary, "hf", tmp_path / "hf")
    file = tmp_path / "hf" / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    settings["chat_template"] = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('none') }}{% endif %}"
        "{% for one in messages %}\n{{ one.role }}: {{ one.content }}{% endfor %}"
        "{% if add_generation_prompt %}\nassistant:{% endif %}"
    )
    file.write_text(json.dumps(settings))
    return tmp_path / "hf"


def test_the_tokens_of_the_template_stay(chat):
    result = volt.refit(chat, OTHER, size=276)
    before = open_engine(chat, native=False).engine
    after = result.original.changed(result.change)
    for header in ("\nuser: a", "\nassistant:"):
        old = before.encode(header)
        assert after.encode(header) == result.id_map[old].tolist()
    assert any("of the chat template stay" in message for message in result.messages)
    assert len(result.vocabulary) == 276


@pytest.mark.parametrize("change", ["refit", "extend"])
def test_what_was_refitted_or_extended_is_the_tokenizer_of_its_folder(chat, tmp_path, change):
    """Not the volt.json beside it, which has no template."""
    first = (volt.refit(chat, OTHER, size=278) if change == "refit"
             else volt.extend(chat, [["slow flow glow " * 40]], add=2))  # fmt: skip
    first.save(tmp_path / "first")
    assert (tmp_path / "first" / "volt.json").exists()
    second = volt.refit(tmp_path / "first", OTHER, size=277)
    assert any("of the chat template stay" in message for message in second.messages)
    second.save(tmp_path / "second")
    names = ["tokenizer.json", "tokenizer_config.json", "volt.json"]
    assert all((tmp_path / "second" / name).exists() for name in names)
    before, after = (
        open_engine(tmp_path / name, native=False).engine for name in ("first", "second")
    )
    ids = before.encode("\nuser: a")
    assert after.encode("\nuser: a") == second.id_map[ids].tolist()


def test_the_template_beside_a_file_counts(chat):
    messages = volt.refit(chat / "tokenizer.json", OTHER, size=276).messages
    assert any("of the chat template stay" in message for message in messages)


def test_a_template_that_can_not_be_rendered_is_told(chat, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("volt.adapting.conversation.can_check", lambda: False)
    messages = volt.refit(chat, OTHER, size=276).messages
    assert any("jinja2 is not installed" in message for message in messages)
    monkeypatch.undo()
    (chat / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ a.b.c }}"}))
    messages = volt.refit(chat, OTHER, size=276).messages
    assert any("could not be rendered" in message for message in messages)


def test_no_module_of_the_working_folder_is_run(tmp_path, monkeypatch):
    for name in ("json", "jinja2", "volt"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert rendering.render("x", [{}]) == ["x"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("bomb", [
    "{{ 'a' * 9999999999 }}", "{{ '%9999999999d' % 1 }}", "{{ 'a' * 2000000 }}", "{% for",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
])  # fmt: skip
def test_a_template_that_takes_too_much_makes_no_text(monkeypatch, bomb):
    monkeypatch.setattr(rendering, "SECONDS", 3)
    assert rendering.render(bomb, [{}]) == []
    told = "{{ a }}{{ raise_exception('x') if b }}"
    assert rendering.render(told, [{"a": "x"}, {"b": 1}]) == ["x"]


def test_that_they_stay_is_said_where_tokens_go(chat):
    text = [["slow flow glow " * 40]]
    for swap in (False, True):
        messages = volt.extend(chat, text, add=2, swap=swap).messages
        said = [one for one in messages if "of the chat template stay, such as '" in one]
        assert bool(said) == swap
