"""The tokenizer in a GGUF file, as a SentencePiece model or a tokenizer.json for their library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from volt.base import schema
from volt.base.errors import InputError, SettingsError
from volt.base.schema import check, rows, table, text, whole
from volt.counting.marks import INNER_MARK, SPACE_MARK
from volt.counting.words import GPT2, PRETOKENIZERS
from volt.foreign.base import Engine
from volt.foreign.gguf_file import read_fields
from volt.foreign.huggingface import HuggingFace
from volt.foreign.sentencepiece import SentencePieceModel
from volt.formats.huggingface.folder import PLAIN_NAME
from volt.formats.huggingface.parts import (
    BYTES,
    SPACE_TO_MARK,
    SPLIT_AT_NOTHING,
    bert_parts,
    cutting_parts,
    in_sequence,
    split_part,
    whole_file,
)
from volt.formats.patterns import full_name
from volt.formats.sentencepiece import BPE, UNIGRAM, new_model_proto
from volt.tokenizing.roles import Roles
from volt.tokenizing.schemas import MOST_TOKENS

KEY = "tokenizer.ggml."
CHINESE_OR_KOREAN = "[一-龥ࠀ-一가-\ud7ff]+"
CASED = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ"
    "-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ"
    "-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
"""The letters that DeepSeek's first models took for those of a word."""
DIGITS_APART = ("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b")
PATTERNS: dict[str, str | tuple[str, ...]] = {
    "gpt-2": "byte-level", "gpt2": "byte-level", "phi-2": "byte-level", "mpt": "byte-level",
    "olmo": "byte-level", "jais": "byte-level", "llama-bpe": "byte-level:llama3",
    "llama3": "byte-level:llama3", "llama-v3": "byte-level:llama3", "dbrx": "byte-level:llama3",
    "smaug-bpe": "byte-level:llama3", "qwen2": "byte-level:qwen2", "deepseek-r1-qwen":
    "byte-level:qwen2", "stablelm2": "byte-level:qwen2", "gpt-4o": "byte-level:o200k",
    "deepseek-v3": "byte-level:deepseek", **dict.fromkeys(DIGITS_APART, "byte-level:starcoder"),
    "qwen35": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
        r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "falcon": (r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"),
    "deepseek-coder": ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CHINESE_OR_KOREAN, r"\p{N}"),
    "deepseek-llm": (
        "[\r\n]", rf"\s?[{CASED}]+", r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", r"\s+$",
        CHINESE_OR_KOREAN, r"\p{N}+",
    ),
}  # fmt: skip
"""What `tokenizer.ggml.pre` names: a pre-tokenizer, or expressions, each of which cuts what the one
before it has left."""
WHOLE_WORDS = ("llama-bpe", "llama3", "llama-v3")
"""Where a word that is a token is taken whole."""
NORMAL_TYPE, UNKNOWN_TYPE, CONTROL_TYPE, USER_TYPE, UNUSED_TYPE = 1, 2, 3, 4, 5
FIELDS = table(
    {"tokens": rows(text(), MOST_TOKENS, least=1)},
    {"token_type": rows(whole(), MOST_TOKENS), "scores": rows(schema.number(), MOST_TOKENS)},
)


def open_gguf(path: Path, pattern: str | None) -> Engine:
    found = read_fields(path, KEY)
    check(FIELDS, found, f"{path}: {KEY[:-1]}")
    kind, tokens = found.get("model"), found["tokens"]
    types = found.get("token_type") or [NORMAL_TYPE] * len(tokens)
    scores = found["scores"] = found.get("scores") or [0.0] * len(tokens)
    if not len(types) == len(scores) == len(tokens):
        raise InputError(f"{path}: {KEY}token_type or {KEY}scores: not a number per token")
    openers = {"llama": _sentencepiece, "t5": _sentencepiece, "gpt2": _bpe, "bert": _word_piece,
               "gemma4": _spaced_bpe}  # fmt: skip
    if kind not in openers:
        raise SettingsError(
            f"{path}: {KEY}model: {str(kind)[:40]!r}; volt reads {', '.join(openers)}: take the "
            "tokenizer's own file"
        )
    engine = openers[kind](path, found, types, pattern)
    engine.roles = _roles(found, tokens)
    writes = "tokenizer.model" if isinstance(engine, SentencePieceModel) else "tokenizer.json"
    engine.messages.append(f"{KEY}model is {kind}; refit and extend write a {writes}, not GGUF")
    return engine


def _roles(found: dict[str, Any], tokens: list[str]) -> Roles:
    def name(key: str) -> str | None:
        number = found.get(f"{key}_token_id")
        return tokens[number] if type(number) is int and 0 <= number < len(tokens) else None

    bos, eos = name("bos"), name("eos")
    return Roles(
        bos, eos, name("padding"), name("mask"),
        add_bos=bos is not None and found.get("add_bos_token") is True,
        add_eos=eos is not None and found.get("add_eos_token") is True,
    )  # fmt: skip


def _sentencepiece(path: Path, found: dict[str, Any], types: list[int], pattern: Any) -> Engine:
    model, unknown = new_model_proto(), found.get("unknown_token_id")
    for i, (token, score) in enumerate(zip(found["tokens"], found["scores"], strict=True)):
        kind = types[i] if 1 <= types[i] <= 6 else NORMAL_TYPE
        if type(unknown) is int and (i == unknown or kind == UNKNOWN_TYPE):
            # Rows without a token, as of Phi-3, are called unknown as well.
            kind = UNKNOWN_TYPE if i == unknown else UNUSED_TYPE
        model.pieces.add(piece=token, score=float(score), type=int(kind))
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type = BPE if found["model"] == "llama" else UNIGRAM
    trainer.byte_fallback = any(kind == 6 for kind in types)
    trainer.vocab_size = len(types)
    names = {"unk": "unknown_token_id", "bos": "bos_token_id", "eos": "eos_token_id"}
    for role, key in names.items():
        number = found.get(key)
        if isinstance(number, int) and 0 <= number < len(types):
            setattr(trainer, f"{role}_id", number)
            setattr(trainer, f"{role}_piece", found["tokens"][number])
    trainer.pad_id = -1
    normalizer.add_dummy_prefix = bool(found.get("add_space_prefix", True))
    normalizer.remove_extra_whitespaces = bool(found.get("remove_extra_whitespaces", False))
    normalizer.escape_whitespaces = True
    table = found.get("precompiled_charsmap")
    try:
        normalizer.precompiled_charsmap = bytes(table) if table else b""
    except (TypeError, ValueError):
        raise InputError(f"{path}: {KEY}precompiled_charsmap: not a list of bytes") from None
    return SentencePieceModel(str(path), bytes(model.SerializeToString(deterministic=True)), "gguf")


def _json(path: Path, found: dict[str, Any], types: list[int], parts: dict[str, Any]) -> Engine:
    added = [
        {"id": i, "content": token, **PLAIN_NAME, "special": kind != USER_TYPE}
        for i, (token, kind) in enumerate(zip(found["tokens"], types, strict=True))
        if kind in (UNKNOWN_TYPE, CONTROL_TYPE, USER_TYPE) and token
    ]
    data = whole_file(added, **parts)
    return HuggingFace(str(path), json.dumps(data, ensure_ascii=False, indent=2), "gguf")


def _bpe(path: Path, found: dict[str, Any], types: list[int], pattern: str | None) -> Engine:
    named = str(found.get("pre", ""))
    if pattern is None and named not in PATTERNS:
        raise SettingsError(
            f"{path}: {KEY}pre: {named!r}, which volt does not know: name how it cuts text "
            "with `pattern`"
        )
    known = PATTERNS[named] if pattern is None else full_name(pattern)
    if isinstance(known, str) and known in PRETOKENIZERS:
        steps = cutting_parts(PRETOKENIZERS[known])
    else:
        each = (known,) if isinstance(known, str) else known
        steps = [*map(split_part, each), BYTES]
    model = {"type": "BPE", "ignore_merges": named in WHOLE_WORDS, **_merging(found)}
    return _json(path, found, types, {"pre_tokenizer": in_sequence(steps), "model": model})


def _merging(found: dict[str, Any]) -> dict[str, Any]:
    vocab: dict[str, int] = {}
    for number, token in enumerate(found["tokens"]):
        vocab.setdefault(token, number)
    return {"vocab": vocab, "merges": found.get("merges") or []}


def _spaced_bpe(path: Path, found: dict[str, Any], types: list[int], pattern: Any) -> Engine:
    """Merges over whole lines, with `▁` for a space and bytes for what is unknown."""
    unknown = found.get("unknown_token_id")
    names = found["tokens"]
    known = type(unknown) is int and 0 <= unknown < len(names)
    model = {"type": "BPE", "unk_token": names[unknown] if known else None, "fuse_unk": True,
             "byte_fallback": True, **_merging(found)}  # fmt: skip
    space: dict[str, Any] = SPACE_TO_MARK | {"pattern": {"String": SPACE_MARK}, "content": " "}
    decoders = [space, {"type": "ByteFallback"}, {"type": "Fuse"}]
    return _json(path, found, types, {
        "normalizer": SPACE_TO_MARK, "pre_tokenizer": SPLIT_AT_NOTHING, "model": model,
        "decoder": in_sequence(decoders, "decoders"),
    })  # fmt: skip


def _word_piece(path: Path, found: dict[str, Any], types: list[int], pattern: Any) -> Engine:
    """A token that starts a word is marked there, not one that is inside."""
    vocab: dict[str, int] = {}
    for number, (token, kind) in enumerate(zip(found["tokens"], types, strict=True)):
        if kind == NORMAL_TYPE and not (token.startswith("[") and token.endswith("]")):
            inside = not token.startswith(SPACE_MARK)
            token = INNER_MARK + token if inside else token.removeprefix(SPACE_MARK)
        vocab.setdefault(token, number)
    return _json(path, found, types, bert_parts(vocab))
