r"""Hugging Face `tokenizer.json`, for `tokenizers` and `transformers.PreTrainedTokenizerFast`.

Takes all three pre-tokenizers and both merge rules. In metaspace mode `▁` goes before the text by a
normaliser, since HF's Metaspace does not put a second one before a space; it is not put before a
special token or symbol, as in volt. HF finds special tokens in the text by default: this is volt's
`allowed_special="all"`; with `tokenizer.encode_special_tokens = True` they are ordinary text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from volt.candidates import UNKNOWN, WORD_FINAL
from volt.corpus import Normalization
from volt.counts import Pretokenizer
from volt.formats.assembly import Pieces, read_json
from volt.formats.merges import Pair, merge_list
from volt.formats.refusals import need_no_hidden, need_space_mark
from volt.vocabulary import Kind, Vocabulary

ROLES = {"<unk>": "unk_token", "<s>": "bos_token", "</s>": "eos_token", "<pad>": "pad_token"}
ROLES |= {"<mask>": "mask_token", "<sep>": "sep_token", "<cls>": "cls_token"}

SPACE_TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND_MARK = {"type": "Prepend", "prepend": "▁"}
SPLIT_AT_MARK = {
    "type": "Split",
    "pattern": {"String": "▁"},
    "behavior": "MergedWithNext",
    "invert": False,
}
"""No token has a `▁` but at its start, so this changes nothing but the speed."""
SPLIT_AT_BLANKS = {
    "type": "Split",
    "pattern": {"Regex": r"[ \t\r\n]+"},
    "behavior": "Removed",
    "invert": False,
}
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}


# -------------------------------------------------------------------------------------------- write


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    """A folder with `tokenizer.json` and `tokenizer_config.json`; or PATH.json, the first alone."""
    need_no_hidden(vocabulary, "Hugging Face BPE")
    if vocabulary.rule.pretokenizer == "metaspace":
        need_space_mark(vocabulary, "Hugging Face")
    tokenizer = _json(tokenizer_data(vocabulary))
    if path.suffix == ".json":
        return {path: tokenizer}
    return {
        path / "tokenizer.json": tokenizer,
        path / "tokenizer_config.json": _json(_config(vocabulary)),
    }


def _json(data: Any) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode()


def tokenizer_data(vocabulary: Vocabulary) -> dict[str, Any]:
    pretokenizer = vocabulary.rule.pretokenizer
    spelled = vocabulary.unknown == "byte" and pretokenizer != "byte-level"
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, **added} for number, added in _added_tokens(vocabulary).items()
        ],
        "normalizer": _normalizer(vocabulary),
        "pre_tokenizer": {
            "metaspace": SPLIT_AT_MARK,
            "whitespace": SPLIT_AT_BLANKS,
            "byte-level": BYTE_LEVEL,
        }[pretokenizer],
        "post_processor": None,
        "decoder": _decoder(vocabulary),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": UNKNOWN if vocabulary.unknown == "unk" else None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": WORD_FINAL if pretokenizer == "whitespace" else None,
            "fuse_unk": False,
            "byte_fallback": spelled,
            "ignore_merges": False,
            "vocab": {token.text: number for number, token in enumerate(vocabulary.tokens)},
            "merges": [list(pair) for pair in merge_list(vocabulary)],
        },
    }


def _added_tokens(vocabulary: Vocabulary) -> dict[int, dict[str, Any]]:
    # What is found in the normalised text, where the `▁` is already before it, gets none after it.
    normalized = vocabulary.rule.pretokenizer == "metaspace"
    return {
        number: {
            "content": token.text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": normalized,
            "special": token.kind == "special",
        }
        for number, token in enumerate(vocabulary.tokens)
        if token.kind in ("special", "symbol")
    }


def _normalizer(vocabulary: Vocabulary) -> dict[str, Any] | None:
    steps: list[dict[str, Any]] = []
    if vocabulary.rule.normalize != "none":
        steps.append({"type": vocabulary.rule.normalize.upper()})
    if vocabulary.rule.pretokenizer == "metaspace":
        names = [token.text for token in vocabulary.tokens if token.kind in ("special", "symbol")]
        steps += [_prepend(names), SPACE_TO_MARK]
    if len(steps) > 1:
        return {"type": "Sequence", "normalizers": steps}
    return steps[0] if steps else None


def _prepend(names: list[str]) -> dict[str, Any]:
    """`▁` before a text that is not empty and does not start with one of the names."""
    if not names:
        return PREPEND_MARK
    alternatives = "|".join(re.sub(r"[\\.^$|?*+()\[\]{}]", r"\\\g<0>", name) for name in names)
    pattern = rf"\A(?!{alternatives})(?=[\s\S])"
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": "▁"}


def _decoder(vocabulary: Vocabulary) -> dict[str, Any]:
    if vocabulary.rule.pretokenizer == "byte-level":
        return BYTE_LEVEL
    if vocabulary.rule.pretokenizer == "whitespace":
        return {"type": "BPEDecoder", "suffix": WORD_FINAL}
    return {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    }


def _config(vocabulary: Vocabulary) -> dict[str, Any]:
    special = set(vocabulary.of_kind("special"))
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **{role: name for name, role in ROLES.items() if name in special},
        "added_tokens_decoder": {
            str(number): added for number, added in _added_tokens(vocabulary).items()
        },
    }


# --------------------------------------------------------------------------------------------- read


def read(path: Path) -> Pieces:
    """A `tokenizer.json`, or the folder it is in. Only BPE, and what volt encodes alike."""
    file = path / "tokenizer.json" if path.is_dir() else path
    data = read_json(file)
    pieces = Pieces(str(file), "hf", "metaspace", [])
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict):
        raise pieces.fail("no Hugging Face tokenizer: it has no model")
    model = data["model"]
    kind = model.get("type", "BPE")
    if kind != "BPE":
        raise pieces.fail(f"model.type: volt reads BPE, not {str(kind)[:40]!r}")
    for key in ("dropout", "continuing_subword_prefix", "ignore_merges"):
        if model.get(key):
            raise pieces.fail(f"model.{key}: {str(model[key])[:40]!r} is nothing volt does")
    pieces.pretokenizer, pieces.normalize = _text_rule(pieces, data)
    if pieces.pretokenizer == "whitespace" and model.get("end_of_word_suffix") != WORD_FINAL:
        raise pieces.fail(f"model.end_of_word_suffix: volt needs {WORD_FINAL!r}")
    if pieces.pretokenizer != "whitespace" and model.get("end_of_word_suffix"):
        raise pieces.fail("model.end_of_word_suffix: only with text that is split at blanks")
    unknown = model.get("unk_token")
    if unknown not in (None, UNKNOWN):
        raise pieces.fail(f"model.unk_token: volt knows {UNKNOWN}, not {str(unknown)[:40]!r}")
    byte = bool(model.get("byte_fallback")) or pieces.pretokenizer == "byte-level"
    pieces.unknown = "byte" if byte else "unk"
    pieces.kinds = _added_kinds(pieces, data.get("added_tokens") or [])
    pieces.texts = _texts(pieces, model.get("vocab"), data.get("added_tokens") or [])
    pieces.pairs = _merges(pieces, model.get("merges"))
    if pieces.unknown == "unk" and model.get("fuse_unk"):
        pieces.messages.append("Hugging Face makes one <unk> of a run of them here, volt does not")
    return pieces


def _text_rule(pieces: Pieces, data: dict[str, Any]) -> tuple[Pretokenizer, Normalization]:
    steps = _sequence(data.get("normalizer"), "normalizers")
    normalize: Normalization = "none"
    if steps and steps[0] in ({"type": "NFC"}, {"type": "NFKC"}):
        normalize = "nfc" if steps.pop(0)["type"] == "NFC" else "nfkc"
    before = _sequence(data.get("pre_tokenizer"), "pretokenizers")
    if len(steps) == 2 and steps[1] == SPACE_TO_MARK and _is_prepend(steps[0]):
        if before in ([], [SPLIT_AT_MARK]):
            return "metaspace", normalize
    elif not steps and before == [SPLIT_AT_BLANKS]:
        return "whitespace", normalize
    elif not steps and len(before) == 1 and _is_byte_level(before[0]):
        return "byte-level", normalize
    found = json.dumps([data.get("normalizer"), data.get("pre_tokenizer")], ensure_ascii=False)
    raise pieces.fail(
        f"normalizer, pre_tokenizer: {found[:200]} cut text as no pre-tokenizer of volt does"
    )


def _sequence(part: Any, key: str) -> list[dict[str, Any]]:
    if not isinstance(part, dict):
        return []
    inner = part.get(key) if part.get("type") == "Sequence" else [part]
    return [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []


def _is_byte_level(step: dict[str, Any]) -> bool:
    return (
        step.get("type") == "ByteLevel"
        and not step.get("add_prefix_space", True)
        and bool(step.get("use_regex", True))
    )


def _is_prepend(step: dict[str, Any]) -> bool:
    if step == PREPEND_MARK:
        return True
    pattern = step.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    return (
        step.get("type") == "Replace"
        and step.get("content") == "▁"
        and isinstance(regex, str)
        and regex.startswith(r"\A(?!")
        and regex.endswith(r")(?=[\s\S])")
    )


def _added_kinds(pieces: Pieces, added: Any) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    if not isinstance(added, list):
        raise pieces.fail("added_tokens: no list")
    for number, one in enumerate(added):
        content = one.get("content") if isinstance(one, dict) else None
        if not isinstance(content, str) or type(one.get("id")) is not int:
            raise pieces.fail(f"added_tokens[{number}]: needs an id and its content")
        kinds[content] = "special" if one.get("special") else "symbol"
    return kinds


def _texts(pieces: Pieces, vocab: Any, added: list[dict[str, Any]]) -> list[str]:
    if not isinstance(vocab, dict) or not all(type(i) is int for i in vocab.values()):
        raise pieces.fail("model.vocab: no table of tokens and ids")
    number_of = dict(vocab)
    for one in added:
        if number_of.setdefault(one["content"], one["id"]) != one["id"]:
            raise pieces.fail(f"added_tokens: {one['content'][:40]!r} has two ids")
    return by_number(pieces, number_of)


def by_number(pieces: Pieces, number_of: dict[str, int]) -> list[str]:
    """The tokens by id; ids are 0, 1, 2, ... without a gap."""
    texts = sorted(number_of, key=lambda text: number_of[text])
    for number, text in enumerate(texts):
        if number_of[text] != number:
            raise pieces.fail(f"the ids are not 0, 1, 2, ...: {number} is missing or there twice")
    return texts


def _merges(pieces: Pieces, merges: Any) -> list[Pair]:
    if not isinstance(merges, list):
        raise pieces.fail("model.merges: no list")
    pairs: list[Pair] = []
    for number, merge in enumerate(merges):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not (
            isinstance(parts, list)
            and len(parts) == 2
            and all(isinstance(part, str) and part for part in parts)
        ):
            raise pieces.fail(f"model.merges[{number}]: {str(merge)[:40]!r} is no pair")
        pairs.append((parts[0], parts[1]))
    return pairs
