"""Chat templates: how messages become the text of a conversation, in Jinja."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from volt.base.errors import InputError, SettingsError
from volt.base.gate import named, read_text

CHATML = (
    "{%- for message in messages -%}\n"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' -}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n"
    "{{- '<|im_start|>assistant\\n' -}}\n"
    "{%- endif -%}\n"
)
LLAMA3 = (
    "{{- bos_token -}}\n"
    "{%- for message in messages -%}\n"
    "{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'"
    " + message['content'] | trim + '<|eot_id|>' -}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n"
    "{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}\n"
    "{%- endif -%}\n"
)
TemplateRole = Literal["bos", "eos", "pad", "unk", "mask"]
TEMPLATES = {"chatml": CHATML, "llama3": LLAMA3}
"""By name; anything else is a file."""
TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eot|>", "<|end|>", "<|turn_end|>")
MOST_BYTES = 1_000_000
_NAME = re.compile(r"<\|[A-Za-z0-9_.:-]+\|>")
_GENERATION = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
"""A tag that transformers adds to Jinja, around what the model says."""
_ROLE = re.compile(r"\b(bos|eos|pad|unk|mask)_token\b")


def read_template(chat: str) -> str:
    """The template of a name, or of a file."""
    if chat in TEMPLATES:
        return TEMPLATES[chat]
    if not Path(chat).exists():
        raise SettingsError(
            f"`chat` must be one of {', '.join(TEMPLATES)}, or a Jinja file: cannot read {chat}: "
            "No such file or directory"
        )
    found = read_text(named(chat), MOST_BYTES)
    if not found.strip():
        raise InputError(f"{chat}: an empty chat template")
    _check_jinja(chat, found)
    return found


def _check_jinja(name: str, template: str) -> None:
    """An error with the line if it is not Jinja, as transformers reads it; nothing without
    jinja2."""
    if not can_check():
        return
    from jinja2 import Environment, TemplateSyntaxError

    try:
        Environment(extensions=["jinja2.ext.loopcontrols"]).parse(_GENERATION.sub("", template))
    except TemplateSyntaxError as error:
        raise InputError(f"{name}, line {error.lineno}: not valid Jinja: {error.message}") from None


def can_check() -> bool:
    """Can a template be checked?"""
    return find_spec("jinja2") is not None


def chat_notes(chat: str | None) -> list[str]:
    """What to know about the template that was named."""
    if chat is None or chat in TEMPLATES or can_check():
        return []
    return [f"the chat template {chat} was not checked: jinja2 is not installed"]


def turn_ends(template: str) -> list[str]:
    """The special tokens that end a turn in a template, as far as their names are usual."""
    return [name for name in TURN_ENDS if name in template]


def template_names(template: str) -> list[str]:
    """The special tokens that a template writes, such as `<|im_start|>`."""
    return list(dict.fromkeys(_NAME.findall(template)))


def template_roles(template: str) -> list[TemplateRole]:
    """The roles whose tokens a template asks for: `bos` for `bos_token`."""
    return list(dict.fromkeys(_ROLE.findall(template)))
