"""Settings of a model that name tokens by their ids: `config.json` and `generation_config.json`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from volt.base.errors import InputError

NewId = Callable[[Any, str, bool], int]
"""The new id of an old one; where it stands, for errors; must the token be there? -1 for a dropped
token that need not be."""

ID_KEY = re.compile(r"_token_(id|ids|index)$")
FORCED = "force_words_ids"
UNWANTED = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids")
"""Lists of tokens, or of sequences of them: one with a dropped token has no more use."""
MAPS = ("lang_to_id", "task_to_id", "lang_code_to_id", "text_decoder_lang_to_code_id")
"""Tables of names and ids."""
PAIRS, BIASES = "forced_decoder_ids", "sequence_bias"
UNCLEAR = re.compile(r"(_ids|_to_id|_to_code_id|_tokens|^id_to_\w+)$")
"""Other settings that may name tokens, or something else."""


def renumbered(data: dict[str, Any], new_id: NewId, name: str, notes: list[str]) -> dict[str, Any]:
    """The settings in the file `name` with new ids. What was taken out, and what was left as it is
    though it may be ids, goes to `notes`."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        where = f"{name}: {key}"
        if value is None or value in ([], {}):
            pass
        elif ID_KEY.search(key) or key == FORCED:
            value = _nested(value, new_id, where, True)
        elif key in UNWANTED:
            entries = [_nested(one, new_id, where, False) for one in _list(value, where)]
            value = _usable(entries, [*map(_is_whole, entries)], where, notes)
        elif key in MAPS and isinstance(value, dict):
            value = {one: _nested(number, new_id, where, True) for one, number in value.items()}
        elif key == PAIRS:
            value = [[place, _nested(number, new_id, where, True)]
                     for place, number in _pairs(value, where)]  # fmt: skip
        elif key == BIASES:
            biases = [[_nested(ids, new_id, where, False), bias]
                      for ids, bias in _pairs(value, where)]  # fmt: skip
            value = _usable(biases, [_is_whole(ids) for ids, _ in biases], where, notes)
        elif UNCLEAR.search(key) and isinstance(value, (dict, list)) and _has_number(value):
            notes.append(f"{where} stays as it is: volt does not know whether it names tokens")
        elif isinstance(value, dict):
            value = renumbered(value, new_id, name, notes)
        found[key] = value
    return found


def _nested(value: Any, new_id: NewId, where: str, required: bool) -> Any:
    """An id, or a list of them; -1 and null name no token."""
    if isinstance(value, list):
        return [_nested(one, new_id, where, required) for one in value]
    if value is None or value == -1:
        return value
    return new_id(value, where, required)


def _is_whole(entry: Any) -> bool:
    return all(map(_is_whole, entry)) if isinstance(entry, list) else entry is None or entry >= 0


def _usable(entries: list[Any], usable: list[bool], where: str, notes: list[str]) -> list[Any]:
    gone = usable.count(False)
    if gone:
        what = "entry" if gone == 1 else "entries"
        notes.append(f"{where}: {gone} {what} with dropped tokens taken out")
    return [entry for entry, is_usable in zip(entries, usable, strict=True) if is_usable]


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where}: volt does not know how to renumber it; take it out")
    return value


def _pairs(value: Any, where: str) -> list[list[Any]]:
    pairs = _list(value, where)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InputError(f"{where}: volt does not know how to renumber it; take it out")
    return pairs


def _has_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(str(key).isdigit() or _has_number(one) for key, one in value.items())
    return any(map(_has_number, value)) if isinstance(value, list) else type(value) is int
