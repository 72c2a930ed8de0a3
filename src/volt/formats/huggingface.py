r"""Hugging Face `tokenizer.json`, for `tokenizers` and `transformers.PreTrainedTokenizerFast`.

BPE takes all three pre-tokenizers and both merge rules; the encoding `longest` is WordPiece there,
`unigram` is Unigram. In metaspace mode `▁` goes before the text by a
normaliser, since HF's Metaspace does not put a second one before a space; it is not put before a
special token or symbol, as in volt. HF finds special tokens in the text by default: this is volt's
`allowed_special="all"`; with `tokenizer.encode_special_tokens = True` they are ordinary text.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError, SettingsError
from volt.counting.character_map import character_map
from volt.counting.marks import END_MARK as WORD_FINAL
from volt.counting.normalizers import (
    Bert,
    Cut,
    Form,
    Lowercase,
    Normalizer,
    Place,
    Precompiled,
    Replace,
    ReplaceSpaces,
    SentencePiece,
    Step,
    Strip,
    StripAccents,
    UnicodeForm,
)
from volt.counting.words import Normalization
from volt.formats.assembly import BYTE_NAMES, Pieces, read_bytes, read_json
from volt.formats.merges import Pair, merge_list
from volt.formats.patterns import KNOWN, PATTERNS
from volt.formats.refusals import (
    UNKNOWN_PENALTY,
    need_no_hidden,
    need_space_mark,
    need_unknown_score,
)
from volt.proposing.tokens import SPELLED, Kind
from volt.tokenizing.vocabulary import HIGHEST_SCORE, LookUp, Vocabulary

MOST_UNUSED = 1000
"""Ids among the special tokens that no token has."""
ANY_LENGTH = 1_000_000_000
"""For `max_input_chars_per_word`."""
ROLES = {"<unk>": "unk_token", "<s>": "bos_token", "</s>": "eos_token", "<pad>": "pad_token"}
ROLES |= {"<mask>": "mask_token", "<sep>": "sep_token", "<cls>": "cls_token"}
ROLES |= {"[UNK]": "unk_token", "[PAD]": "pad_token", "[MASK]": "mask_token"}
ROLES |= {"[SEP]": "sep_token", "[CLS]": "cls_token"}

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
BYTES = BYTE_LEVEL | {"use_regex": False}
"""No more than bytes as letters: after a split by another pattern than GPT-2's."""
MANY_SPACES = " {2,}"


def _split(pattern: str) -> dict[str, Any]:
    return {
        "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False,
    }  # fmt: skip


def _metaspace(scheme: str) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}


CUTS: dict[Place, list[dict[str, Any]]] = {
    "bert": [{"type": "BertPreTokenizer"}],
    "blanks": [{"type": "WhitespaceSplit"}],
    "words": [{"type": "Whitespace"}],
    "metaspace": [_metaspace("always")],
    "metaspace-first": [_metaspace("first")],
    "blanks-metaspace": [{"type": "WhitespaceSplit"}, _metaspace("always")],
    "bytes": [BYTE_LEVEL],
    "bytes-prefix": [BYTE_LEVEL | {"add_prefix_space": True}],
}


# -------------------------------------------------------------------------------------------- write


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    """A folder with `tokenizer.json` and `tokenizer_config.json`; or PATH.json, the first alone."""
    need_no_hidden(vocabulary, "Hugging Face BPE")
    _refuse_look_up(vocabulary)
    _refuse_normalizer(vocabulary)
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
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, **added} for number, added in _added_tokens(vocabulary).items()
        ],
        "normalizer": _normalizer(vocabulary),
        "pre_tokenizer": _pre_tokenizer(vocabulary),
        "post_processor": None,
        "decoder": _decoder(vocabulary),
        "model": _model(vocabulary),
    }


def _model(vocabulary: Vocabulary) -> dict[str, Any]:
    pretokenizer = vocabulary.rule.pretokenizer
    numbers = {token.text: number for number, token in enumerate(vocabulary.tokens)}
    spelled = vocabulary.unknown == "byte" and not vocabulary.rule.mode.byte_level
    if vocabulary.look_up is not None and vocabulary.encoding == "longest":
        return {
            "type": "WordPiece",
            "unk_token": vocabulary.unknown_token,
            "continuing_subword_prefix": vocabulary.look_up.mark,
            "max_input_chars_per_word": vocabulary.look_up.longest_word or ANY_LENGTH,
            "vocab": numbers,
        }
    if vocabulary.look_up is not None:
        return {
            "type": "Unigram",
            "unk_id": vocabulary.ids[vocabulary.unknown_token],
            "vocab": [[token.text, token.score] for token in vocabulary.tokens],
            "byte_fallback": spelled,
        }
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": vocabulary.unknown_token if vocabulary.unknown == "unk" else None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": WORD_FINAL if pretokenizer == "whitespace" else None,
        "fuse_unk": vocabulary.fuse_unknown,
        "byte_fallback": spelled,
        "ignore_merges": vocabulary.whole_words,
        "vocab": numbers,
        "merges": [list(pair) for pair in merge_list(vocabulary)],
    }


def _refuse_look_up(vocabulary: Vocabulary) -> None:
    look_up = vocabulary.look_up
    if look_up is None:
        return
    pretokenizer = vocabulary.rule.pretokenizer
    if pretokenizer == "whitespace" and not look_up.mark:
        raise SettingsError(
            f"Hugging Face has no {WORD_FINAL} in WordPiece and Unigram; "
            "learn with --pretokenizer metaspace"
        )
    if vocabulary.encoding == "longest":
        if vocabulary.unknown == "byte" and not vocabulary.rule.mode.byte_level:
            raise SettingsError(
                "Hugging Face WordPiece has no byte tokens for unknown characters; "
                "learn with --unknown unk"
            )
        return
    if vocabulary.unknown_token not in vocabulary.of_kind("special"):
        raise SettingsError(
            f"Hugging Face Unigram needs the special token {vocabulary.unknown_token}"
        )
    if vocabulary.unknown == "unk" and not vocabulary.fuse_unknown:
        raise SettingsError(
            "Hugging Face Unigram makes one unknown token of a run of unknown characters, volt one "
            "of each; learn with --unknown byte"
        )
    need_unknown_score(vocabulary, "Hugging Face", min(t.score for t in vocabulary.tokens))


def _refuse_normalizer(vocabulary: Vocabulary) -> None:
    if vocabulary.normalizer and isinstance(vocabulary.normalizer.steps[-1], SentencePiece):
        raise SettingsError(
            "Hugging Face does not do to text what the normaliser of SentencePiece does: it takes "
            "the table by the shortest rule, not the longest; export to sentencepiece"
        )


def _added_tokens(vocabulary: Vocabulary) -> dict[int, dict[str, Any]]:
    # What is found in the normalised text, where the `▁` is already before it, gets none after it.
    normalized = vocabulary.rule.pretokenizer == "metaspace" and vocabulary.normalizer is None
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
    if vocabulary.normalizer is not None:
        steps = [_step_data(step) for step in vocabulary.normalizer.steps[:-1]]
    elif vocabulary.rule.normalize != "none":
        steps.append({"type": vocabulary.rule.normalize.upper()})
    if vocabulary.rule.pretokenizer == "metaspace" and vocabulary.normalizer is None:
        names = [token.text for token in vocabulary.tokens if token.kind in ("special", "symbol")]
        steps += [_prepend(names), SPACE_TO_MARK]
    if len(steps) > 1:
        return {"type": "Sequence", "normalizers": steps}
    return steps[0] if steps else None


def _step_data(step: Step) -> dict[str, Any]:
    match step:
        case Bert():
            return {"type": "BertNormalizer", **asdict(step)}
        case Precompiled():
            table = base64.b64encode(step.table).decode()
            return {"type": "Precompiled", "precompiled_charsmap": table}
        case Strip():
            return {"type": "Strip", "strip_left": step.left, "strip_right": step.right}
        case Replace():
            return {"type": "Replace", "pattern": {"String": step.text}, "content": step.by}
        case ReplaceSpaces():
            return {"type": "Replace", "pattern": {"Regex": MANY_SPACES}, "content": step.by}
        case Form():
            return {"type": step.form}
    return {"type": type(step).__name__}  # Lowercase, StripAccents


def _pre_tokenizer(vocabulary: Vocabulary) -> dict[str, Any]:
    if vocabulary.normalizer is not None:
        steps = CUTS[cast(Cut, vocabulary.normalizer.steps[-1]).at]
        return steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}
    pretokenizer = vocabulary.rule.pretokenizer
    own = {
        "metaspace": SPLIT_AT_MARK,
        "whitespace": SPLIT_AT_BLANKS,
        "byte-level": BYTE_LEVEL,
    }
    if pretokenizer in own:
        return own[pretokenizer]
    steps = [_split(PATTERNS[pretokenizer]), BYTES]
    return {"type": "Sequence", "pretokenizers": steps}


def _prepend(names: list[str]) -> dict[str, Any]:
    """`▁` before a text that is not empty and does not start with one of the names."""
    if not names:
        return PREPEND_MARK
    alternatives = "|".join(re.sub(r"[\\.^$|?*+()\[\]{}]", r"\\\g<0>", name) for name in names)
    pattern = rf"\A(?!{alternatives})(?=[\s\S])"
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": "▁"}


def _decoder(vocabulary: Vocabulary) -> dict[str, Any]:
    if vocabulary.rule.mode.byte_level:
        return BYTE_LEVEL
    if vocabulary.rule.pretokenizer == "whitespace":
        if vocabulary.look_up is not None:
            return {"type": "WordPiece", "prefix": vocabulary.look_up.mark, "cleanup": False}
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
        **{role: name for name, role in reversed(ROLES.items()) if name in special},
        "added_tokens_decoder": {
            str(number): added for number, added in _added_tokens(vocabulary).items()
        },
    }


# ------------------------------------------------------------------------------------------ rewrite


def rewritten(path: Path, vocabulary: Vocabulary, id_map: NDArray[np.int64]) -> dict[str, bytes]:
    """The files of a tokenizer with another vocabulary, made from that of these files: everything
    else stays as it is, post-processor and padding included, with the ids that tokens have now.
    `id_map` maps an id in the files to the new one, or to -1."""
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
    config = _config(vocabulary)
    beside = file.with_name("tokenizer_config.json")
    if beside.exists():
        given = read_json(beside)
        if not isinstance(given, dict):
            raise InputError(f"{beside}: no table of settings")
        # The class is the one that reads tokenizer.json and nothing else.
        config |= {**given, "tokenizer_class": config["tokenizer_class"],
                   "added_tokens_decoder": config["added_tokens_decoder"]}  # fmt: skip
    files = {"tokenizer.json": _json(data), "tokenizer_config.json": _json(config)}
    names = file.with_name("special_tokens_map.json")
    if names.exists():
        files[names.name] = read_bytes(names)
    return files


def _new_vocabulary(old: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """The parts of a model that hold the vocabulary."""
    if old.get("type") == "Unigram":
        new = {token.text: token.score for token in vocabulary.tokens if token.kind in SPELLED}
        scores = new | dict(old["vocab"])
        last = max(i for i, text in enumerate(vocabulary.texts) if text in scores)
        # Ids are places in this list, so added tokens before the last have one, too. What they
        # score does not matter: they are found before the model sees the text.
        kept = [[text, scores.get(text, 0.0)] for text in vocabulary.texts[: last + 1]]
        return {"vocab": kept, "unk_id": vocabulary.ids[vocabulary.unknown_token]}
    # Added tokens, too, have their place here, or those behind them would move.
    numbers = {token.text: number for number, token in enumerate(vocabulary.tokens)}
    if vocabulary.look_up is not None:
        return {"vocab": numbers}
    merges: list[Any] = [list(pair) for pair in merge_list(vocabulary)]
    if old["merges"] and isinstance(old["merges"][0], str):
        merges = [" ".join(pair) for pair in merges]
    return {"vocab": numbers, "merges": merges}


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
        raise InputError(f"{where}: {str(number)[:40]!r} is no token that stays")
    return int(id_map[number])


# --------------------------------------------------------------------------------------------- read


def read(path: Path) -> Pieces:
    """A `tokenizer.json`, or the folder it is in, if volt encodes alike."""
    file = path / "tokenizer.json" if path.is_dir() else path
    data = read_json(file)
    pieces = Pieces(str(file), "hf", "metaspace", [])
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict):
        raise pieces.fail("no Hugging Face tokenizer: it has no model")
    model = data["model"]
    kind = model.get("type", "BPE")
    readers = {"BPE": _read_bpe, "WordPiece": _read_word_piece, "Unigram": _read_unigram}
    if not isinstance(kind, str) or kind not in readers:
        raise pieces.fail(f"model.type: volt reads {', '.join(readers)}, not {str(kind)[:40]!r}")
    added = data.get("added_tokens") or []
    _read_text_rule(pieces, data, kind)
    pieces.kinds = _added_kinds(pieces, added)
    readers[kind](pieces, model, added)
    return pieces


def _read_bpe(pieces: Pieces, model: dict[str, Any], added: list[dict[str, Any]]) -> None:
    pieces.whole_words = pieces.mode.byte_level and model.get("ignore_merges") is True
    for key in ("dropout", "continuing_subword_prefix", "ignore_merges"):
        if model.get(key) and not (key == "ignore_merges" and pieces.whole_words):
            raise pieces.fail(f"model.{key}: {str(model[key])[:40]!r} is nothing volt does")
    if pieces.pretokenizer == "whitespace" and model.get("end_of_word_suffix") != WORD_FINAL:
        raise pieces.fail(f"model.end_of_word_suffix: volt needs {WORD_FINAL!r}")
    if pieces.pretokenizer != "whitespace" and model.get("end_of_word_suffix"):
        raise pieces.fail("model.end_of_word_suffix: only with text that is split at blanks")
    byte = bool(model.get("byte_fallback")) or pieces.mode.byte_level
    pieces.unknown = "byte" if byte else "unk"
    _read_unknown(pieces, model.get("unk_token"))
    pieces.fuse_unknown = bool(model.get("fuse_unk"))
    pieces.texts = _texts(pieces, model.get("vocab"), added)
    pieces.pairs = _merges(pieces, model.get("merges"))


def _read_unknown(pieces: Pieces, name: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise pieces.fail(f"model.unk_token: {str(name)[:40]!r} is no token")
    if name is not None:
        pieces.unknown_token = name
        pieces.kinds.setdefault(name, "special")


def _read_word_piece(pieces: Pieces, model: dict[str, Any], added: list[dict[str, Any]]) -> None:
    pieces.encoding = "longest"
    pieces.unknown = "byte" if pieces.mode.byte_level else "unk"
    _read_unknown(pieces, model.get("unk_token", "[UNK]"))
    mark = model.get("continuing_subword_prefix", "##")
    expected: Literal["", "##"] = "##" if pieces.pretokenizer == "whitespace" else ""
    if mark != expected:
        raise pieces.fail(
            f"model.continuing_subword_prefix: {str(mark)[:40]!r}; volt needs {expected!r} with "
            f"{pieces.pretokenizer} words"
        )
    longest = model.get("max_input_chars_per_word", 100)
    if type(longest) is not int or longest < 0:
        raise pieces.fail("model.max_input_chars_per_word: no number")
    if longest == 0:
        raise pieces.fail("model.max_input_chars_per_word: 0 makes every word unknown")
    if pieces.mode.byte_level and longest < ANY_LENGTH:
        pieces.unknown = "unk"
    pieces.look_up = LookUp(mark=expected, longest_word=0 if longest >= ANY_LENGTH else longest)
    pieces.texts = _texts(pieces, model.get("vocab"), added)


def _read_unigram(pieces: Pieces, model: dict[str, Any], added: list[dict[str, Any]]) -> None:
    pieces.encoding = "unigram"
    if pieces.pretokenizer == "whitespace":
        raise pieces.fail("pre_tokenizer: in volt a Unigram model needs metaspace or byte-level")
    vocab = model.get("vocab")
    if not isinstance(vocab, list) or not vocab:
        raise pieces.fail("model.vocab: no list of tokens and scores")
    for number, one in enumerate(vocab):
        if not (
            isinstance(one, list)
            and len(one) == 2
            and isinstance(one[0], str)
            and type(one[1]) in (int, float)
            and abs(one[1]) <= HIGHEST_SCORE
        ):
            raise pieces.fail(f"model.vocab[{number}]: {str(one)[:40]!r} is no token and score")
    unknown = model.get("unk_id")
    if type(unknown) is not int or not 0 <= unknown < len(vocab):
        raise pieces.fail(f"model.unk_id: {str(unknown)[:40]!r} is no token")
    _read_unknown(pieces, vocab[unknown][0])
    texts = [text for text, _ in vocab]
    pieces.texts = _texts(pieces, dict(zip(texts, range(len(texts)), strict=True)), added)
    if len(pieces.texts) < len(vocab):
        raise pieces.fail("model.vocab: a token is there twice")
    spelled = bool(model.get("byte_fallback")) and set(BYTE_NAMES) <= set(texts)
    byte = spelled or pieces.mode.byte_level
    pieces.unknown, pieces.fuse_unknown = "byte" if byte else "unk", True
    named = {*pieces.kinds, *(BYTE_NAMES if spelled else ())}
    pieces.scores = {text: float(score) for text, score in vocab if text not in named}
    lowest = min(float(score) for _, score in vocab)
    pieces.look_up = LookUp(unknown_score=lowest - UNKNOWN_PENALTY)


def _read_text_rule(pieces: Pieces, data: dict[str, Any], kind: str) -> None:
    """How text is normalised and cut: as volt does it, or by steps that come to the same."""
    steps = _sequence(data.get("normalizer"), "normalizers")
    before = _sequence(data.get("pre_tokenizer"), "pretokenizers")
    if steps and steps[0] in ({"type": "NFC"}, {"type": "NFKC"}):
        form: Normalization = "nfc" if steps[0]["type"] == "NFC" else "nfkc"
        rule = _own_rule(steps[1:], before, kind)
    else:
        form, rule = "none", _own_rule(steps, before, kind)
    if rule is not None:
        pieces.pretokenizer, pieces.normalize = rule, form
        return
    before = [_as_written(one) for one in before]
    cut = next((Cut(at) for at, shown in CUTS.items() if before == shown), None)
    if cut is None:
        found = json.dumps([data.get("normalizer"), data.get("pre_tokenizer")], ensure_ascii=False)
        raise pieces.fail(
            f"normalizer, pre_tokenizer: {found[:600]} cut text as no pre-tokenizer of volt does"
        )
    pieces.normalizer = Normalizer((*(_read_step(pieces, one) for one in steps), cut))
    pieces.pretokenizer = pieces.normalizer.pretokenizer


def _own_rule(steps: list[dict[str, Any]], before: list[dict[str, Any]], kind: str) -> str | None:
    if len(steps) == 2 and steps[1] == SPACE_TO_MARK and _is_prepend(steps[0]):
        # Without the split BPE comes to the same, and sums of scores nearly so.
        fine = before == [SPLIT_AT_MARK] or (before == [] and kind == "BPE")
        return "metaspace" if fine else None
    if not steps and before == [SPLIT_AT_BLANKS]:
        return "whitespace"
    before = [_as_written(one) for one in before]
    if not steps and before == [BYTE_LEVEL]:
        return "byte-level"
    if not steps and before[1:] == [BYTES]:
        return next((rule for text, rule in KNOWN.items() if before[0] == _split(text)), None)
    return None


def _read_step(pieces: Pieces, data: dict[str, Any]) -> Step:
    """A step of the normaliser."""

    def flag(key: str, default: bool = True) -> bool:
        if not isinstance(data.get(key, default), bool):
            raise pieces.fail(f"normalizer: {key}: neither true nor false")
        return bool(data.get(key, default))

    kind = data.get("type")
    if kind == "BertNormalizer":
        lowercase = flag("lowercase")
        accents = lowercase if data.get("strip_accents") is None else flag("strip_accents")
        return Bert(flag("clean_text"), flag("handle_chinese_chars"), accents, lowercase)
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        return Form(cast(UnicodeForm, kind))
    if kind == "Lowercase":
        return Lowercase()
    if kind == "StripAccents":
        return StripAccents()
    if kind == "Strip":
        return Strip(flag("strip_left"), flag("strip_right"))
    if kind == "Precompiled":
        try:
            table = base64.b64decode(str(data.get("precompiled_charsmap")), validate=True)
            character_map(table)
        except (binascii.Error, ValueError):
            raise pieces.fail("normalizer: precompiled_charsmap: no base64") from None
        except InputError as error:
            raise pieces.fail(f"normalizer: {error}") from None
        return Precompiled(table)
    pattern, by = data.get("pattern"), data.get("content")
    if kind == "Replace" and isinstance(pattern, dict) and isinstance(by, str):
        if pattern == {"Regex": MANY_SPACES}:
            return ReplaceSpaces(by)
        if isinstance(pattern.get("String"), str) and pattern["String"]:
            return Replace(pattern["String"], by)
    shown = json.dumps(data, ensure_ascii=False)[:80]
    raise pieces.fail(f"normalizer: {shown} is nothing volt does")


def _as_written(step: dict[str, Any]) -> dict[str, Any]:
    """A step as volt writes it, if that comes to the same. `trim_offsets` changes no ids."""
    if step.get("type") == "Split" and (step.get("behavior"), step.get("invert")) == (
        "Removed",
        True,
    ):
        return step | {"behavior": "Isolated", "invert": False}  # the patterns leave nothing out
    if step.get("type") == "ByteLevel":
        return BYTE_LEVEL | {key: step.get(key, True) for key in ("add_prefix_space", "use_regex")}
    if step.get("type") != "Metaspace":
        return step
    scheme = step.get("prepend_scheme", "always")
    if not step.get("add_prefix_space", True):
        scheme = "never"
    named = {key: step.get(key) for key in ("type", "replacement")}
    return named | {"prepend_scheme": scheme, "split": step.get("split", True)}


def _sequence(part: Any, key: str) -> list[dict[str, Any]]:
    if not isinstance(part, dict):
        return []
    inner = part.get(key) if part.get("type") == "Sequence" else [part]
    return [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []


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
    """The tokens by id; ids are 0, 1, 2, ... without a gap, but among the special tokens behind
    all others (GPT-4 has some): what is missing there is filled with names."""
    own = [number for text, number in number_of.items() if text not in pieces.kinds]
    last = max(number_of.values(), default=-1)
    if own and len(number_of) <= last < len(number_of) + MOST_UNUSED:
        taken = set(number_of.values())
        unused = {f"<|unused-{i}|>": i for i in range(max(own) + 1, last) if i not in taken}
        pieces.kinds |= dict.fromkeys(unused, "special")
        pieces.messages.append(
            f"{len(unused):,} ids, such as {min(unused.values(), default=0)}, have no token: they "
            "are special tokens here, which text never gives"
        )
        number_of = {**unused, **number_of}
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
