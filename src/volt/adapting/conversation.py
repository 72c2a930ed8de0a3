"""The tokens of a chat template, which a model reads in every conversation: they stay.

The template is rendered on a short conversation, and the tokenizer says which tokens that is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from volt.adapting.rendering import render
from volt.base.gate import read_text
from volt.base.shown import plural
from volt.foreign.engine_choice import FOLDER_NAMES
from volt.foreign.original import Original
from volt.formats.huggingface.folder import TEMPLATE, settings_of
from volt.tokenizing.chat import MOST_BYTES, can_check

CONFIG = "tokenizer_config.json"
SAID = "a"
"""What everybody says. A single letter is a token that stays anyway."""
GENERATION = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
CONVERSATIONS = (("system", "user", "assistant", "user"), ("user", "assistant", "user"))
"""A template may have no place for system messages."""


MOST_NAMED = 3
"""Tokens of the template that are named, the longest."""


def template_tokens(
    original: Original, model: str | os.PathLike[str] | None, messages: list[str]
) -> frozenset[int]:
    """The ids that the chat templates of the tokenizer and the model are encoded as."""
    if original.engine is None:
        return frozenset()
    path = original.path
    beside = path.parent if path is not None and path.name in FOLDER_NAMES else path
    folders = [Path(one) for one in (beside, model) if one and Path(one).is_dir()]
    found: set[int] = set()
    for folder in dict.fromkeys(folders):
        settings = settings_of(folder, CONFIG)
        for name, template in _templates(folder, settings):
            if not can_check():
                messages.append(
                    f"{name}: jinja2 is not installed, so the tokens of the chat template were not "
                    "looked at: its text may be encoded as more tokens now"
                )
                continue
            texts = _rendered(template, settings)
            if not texts:
                messages.append(
                    f"{name}: the chat template could not be rendered on a short conversation: "
                    "its text may be encoded as more tokens now"
                )
            found.update(i for ids in original.engine.encode_batch(texts) for i in ids)
    tokens = original.vocabulary.tokens
    return frozenset(i for i in found if tokens[i].kind in ("merged", "piece"))


def what_stays(original: Original, spoken: frozenset[int]) -> list[str]:
    """What is said of these tokens where others go."""
    if not spoken:
        return []
    tokens = original.vocabulary.tokens
    some = [repr(original.vocabulary.marks.strip(tokens[i].text)) for i in sorted(spoken)]
    some = sorted(some, key=len, reverse=True)[:MOST_NAMED]
    return [f"{plural(len(spoken), 'token')} of the chat template stay, such as {', '.join(some)}"]


def _templates(folder: Path, settings: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Every template, and where it is from."""
    if (folder / TEMPLATE).is_file():
        yield str(folder / TEMPLATE), read_text(folder / TEMPLATE, MOST_BYTES)
    given = settings.get("chat_template")
    several = given if isinstance(given, list) else [{"template": given}]
    for one in several:
        if isinstance(one, dict) and isinstance(template := one.get("template"), str):
            yield str(folder / CONFIG), template


def _rendered(template: str, settings: dict[str, Any]) -> list[str]:
    """The text of every conversation that the template has a place for."""
    tokens = {key: value.get("content") if isinstance(value, dict) else value
              for key, value in settings.items() if key.endswith("_token")}  # fmt: skip
    calls = [
        {
            "messages": [{"role": role, "content": SAID} for role in roles],
            "add_generation_prompt": True,
            **tokens,
        }
        for roles in CONVERSATIONS
    ]
    return render(GENERATION.sub("", template), calls)
