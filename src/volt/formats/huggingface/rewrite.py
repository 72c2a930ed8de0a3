"""Somebody's `tokenizer.json` with another vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError
from volt.formats.files import read_bytes, read_json
from volt.formats.huggingface.folder import config
from volt.formats.huggingface.write import added_tokens, as_json
from volt.proposing.tokens import SPELLED
from volt.tokenizing.pairs import merge_list
from volt.tokenizing.vocabulary import Vocabulary


def rewritten(path: Path, vocabulary: Vocabulary, id_map: NDArray[np.int64]) -> dict[str, bytes]:
    """The files of a tokenizer with another vocabulary that was made from its own. Everything else
    stays as it is, post-processor and padding included, with the new ids. `id_map` maps an id in
    the files to the new one, or to -1."""
    file = path / "tokenizer.json" if path.is_dir() else path
    data = read_json(file)
    old = data["model"]
    model = {**old, **_new_vocabulary(old, vocabulary)}
    pad = data.get("padding")
    if isinstance(pad, dict) and "pad_id" in pad:
        pad = {**pad, "pad_id": _new_id(id_map, pad["pad_id"], f"{file}: padding")}
    data |= {
        "padding": pad,
        "added_tokens": [
            {**one, "id": _new_id(id_map, one["id"], f"{file}: added_tokens")}
            for one in data.get("added_tokens") or []
        ],
        "post_processor": _new_ids(data.get("post_processor"), id_map, str(file)),
        "model": model,
    }
    settings = config(vocabulary)
    added = {str(number): one for number, one in added_tokens(vocabulary).items()}
    beside = file.with_name("tokenizer_config.json")
    if beside.exists():
        given = read_json(beside)
        if not isinstance(given, dict):
            raise InputError(f"{beside}: no table of settings")
        # This class reads tokenizer.json and nothing else.
        settings |= {**given, "tokenizer_class": settings["tokenizer_class"],
                     "added_tokens_decoder": added}  # fmt: skip
    files = {"tokenizer.json": as_json(data), "tokenizer_config.json": as_json(settings)}
    names = file.with_name("special_tokens_map.json")
    if names.exists():
        files[names.name] = read_bytes(names)
    return files


def _new_vocabulary(old: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """The parts of a model that contain the vocabulary."""
    if old.get("type") == "Unigram":
        new = {token.text: token.score for token in vocabulary.tokens if token.kind in SPELLED}
        scores = new | dict(old["vocab"])
        last = max(i for i, text in enumerate(vocabulary.texts) if text in scores)
        # Ids are places in this list, so added tokens before the last have a place too. Their score
        # does not matter: they are found before the model sees the text.
        kept = [[text, scores.get(text, 0.0)] for text in vocabulary.texts[: last + 1]]
        return {"vocab": kept, "unk_id": vocabulary.ids[vocabulary.unknown_token]}
    # Added tokens have a place here too, or those after them would move.
    if vocabulary.look_up is not None:
        return {"vocab": vocabulary.ids}
    merges: list[Any] = [list(pair) for pair in merge_list(vocabulary)]
    if old["merges"] and isinstance(old["merges"][0], str):
        merges = [" ".join(pair) for pair in merges]
    return {"vocab": vocabulary.ids, "merges": merges}


def _new_ids(part: Any, id_map: NDArray[np.int64], name: str) -> Any:
    """A post-processor: ids are in `ids` lists, or in pairs of a token and its id."""
    if isinstance(part, dict):
        return {
            key: [_new_id(id_map, one, f"{name}: post_processor") for one in value]
            if key == "ids" and isinstance(value, list)
            else _new_ids(value, id_map, name)
            for key, value in part.items()
        }
    if isinstance(part, list):
        if len(part) == 2 and isinstance(part[0], str) and type(part[1]) is int:
            return [part[0], _new_id(id_map, part[1], f"{name}: post_processor")]
        return [_new_ids(one, id_map, name) for one in part]
    return part


def _new_id(id_map: NDArray[np.int64], number: Any, where: str) -> int:
    if type(number) is not int or not 0 <= number < len(id_map) or id_map[number] < 0:
        raise InputError(f"{where}: {str(number)[:40]!r} is not a token that stays")
    return int(id_map[number])
