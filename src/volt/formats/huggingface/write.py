"""Writing a Hugging Face folder: `tokenizer.json`, and the files of folder.py."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from volt.base.errors import SettingsError
from volt.counting.marks import END_MARK, SPACE_MARK
from volt.counting.normalizers import Cut, SentencePiece
from volt.formats import reasons
from volt.formats.base import Written
from volt.formats.huggingface.folder import (
    PLAIN_NAME,
    TEMPLATE,
    config,
    generation,
    post_processor,
    role_tokens,
)
from volt.formats.huggingface.parts import (
    ANY_LENGTH,
    BYTE_LEVEL,
    CUTS,
    PREPEND_MARK,
    SPACE_TO_MARK,
    SPLIT_AT_BLANKS,
    SPLIT_AT_MARK,
    WHOLE,
    cutting_parts,
    in_sequence,
    whole_file,
)
from volt.formats.huggingface.steps import WRITTEN
from volt.tokenizing.merge_pairs import merge_list
from volt.tokenizing.vocabulary import LookUp, Vocabulary


def refusals(vocabulary: Vocabulary) -> Iterator[str]:
    if vocabulary.look_up is not None:
        yield from _look_up_refusals(vocabulary, vocabulary.look_up)
    if vocabulary.normalizer and isinstance(vocabulary.normalizer.last, SentencePiece):
        yield (
            "Hugging Face does not normalize text as SentencePiece does: it applies the shortest "
            "rule of the table, not the longest"
        )
    elif vocabulary.normalizer:
        for step in vocabulary.normalizer.steps[:-1]:
            if type(step) not in WRITTEN:
                yield f"Hugging Face has no normalizer for the step {step.name}"
    yield from reasons.space_mark(vocabulary, "Hugging Face")


def _look_up_refusals(vocabulary: Vocabulary, look_up: LookUp) -> Iterator[str]:
    mode = vocabulary.rule.mode
    if mode.loses_spaces and not look_up.mark:
        yield (
            f"Hugging Face has no {END_MARK} in WordPiece and Unigram; "
            "learn with `pretokenizer='metaspace'`"
        )
    if vocabulary.encoding == "unigram":
        yield from reasons.one_unknown(vocabulary, "Hugging Face Unigram")
        lowest = min(token.score for token in vocabulary.tokens)
        yield from reasons.unknown_score(vocabulary, "Hugging Face", lowest)
    elif mode.byte_tokens(vocabulary.unknown):
        yield (
            "Hugging Face WordPiece has no byte tokens for unknown characters; "
            "learn with `unknown='unk'`"
        )


def notes(vocabulary: Vocabulary) -> Iterator[str]:
    yield from reasons.rounding(vocabulary, "Hugging Face", LookUp())
    if vocabulary.look_up is not None and vocabulary.unknown == "byte":
        yield "Hugging Face takes the text `<0x41>` for the byte token of that name"


def write(vocabulary: Vocabulary, path: Path) -> Written:
    """A folder that `AutoTokenizer.from_pretrained` loads; or PATH.json, `tokenizer.json` alone."""
    # As the library writes it, so that save_pretrained gives back the same bytes.
    tokenizer = json.dumps(tokenizer_data(vocabulary), ensure_ascii=False, indent=2).encode()
    if path.suffix == ".json":
        return {path: tokenizer}
    files = {
        path / "tokenizer.json": tokenizer,
        path / "tokenizer_config.json": as_json(config(vocabulary)),
        path / "special_tokens_map.json": as_json(role_tokens(vocabulary)),
        path / "generation_config.json": as_json(generation(vocabulary)),
    }
    if vocabulary.roles.chat is not None:
        files[path / TEMPLATE] = vocabulary.roles.chat.encode()
    return files


def as_json(data: Any) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()


def tokenizer_data(vocabulary: Vocabulary) -> dict[str, Any]:
    return whole_file(
        [{"id": number, **added} for number, added in added_tokens(vocabulary).items()],
        normalizer=_normalizer(vocabulary),
        pre_tokenizer=_pre_tokenizer(vocabulary),
        post_processor=post_processor(vocabulary),
        decoder=_decoder(vocabulary),
        model=_model(vocabulary),
    )


def _model(vocabulary: Vocabulary) -> dict[str, Any]:
    mode = vocabulary.rule.mode
    spelled = bool(mode.byte_tokens(vocabulary.unknown))
    if vocabulary.look_up is not None and vocabulary.encoding == "longest":
        return {
            "type": "WordPiece",
            "unk_token": vocabulary.unknown_token,
            "continuing_subword_prefix": vocabulary.look_up.mark,
            "max_input_chars_per_word": vocabulary.look_up.longest_word or ANY_LENGTH,
            "vocab": vocabulary.ids,
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
        "end_of_word_suffix": END_MARK if mode.loses_spaces else None,
        "fuse_unk": vocabulary.fuse_unknown,
        "byte_fallback": spelled,
        "ignore_merges": vocabulary.whole_words,
        "vocab": vocabulary.ids,
        "merges": [list(pair) for pair in merge_list(vocabulary)],
    }


def added_tokens(vocabulary: Vocabulary) -> dict[int, dict[str, Any]]:
    # They are found in the normalized text, after the `▁` was put before it: so they get no other.
    normalized = vocabulary.rule.mode.space_before and vocabulary.normalizer is None
    return {
        number: {
            "content": token.text,
            **PLAIN_NAME,
            "normalized": normalized,
            "special": token.kind == "special",
        }
        for number, token in enumerate(vocabulary.tokens)
        if token.kind in ("special", "symbol")
    }


def _keeps_runs(vocabulary: Vocabulary) -> bool:
    """Must runs of spaces not be cut? Some normalizers are only known without a cut."""
    last = vocabulary.normalizer.last if vocabulary.normalizer else None
    return vocabulary.word_ends == "runs" or getattr(last, "at", "") in WHOLE.keys() - CUTS.keys()


def _normalizer(vocabulary: Vocabulary) -> dict[str, Any] | None:
    steps: list[dict[str, Any]] = []
    if vocabulary.normalizer is not None:
        steps = [WRITTEN[type(step)](step) for step in vocabulary.normalizer.steps[:-1]]
        if _keeps_runs(vocabulary):
            steps += WHOLE[cast(Cut, vocabulary.normalizer.last).at][0]
    elif vocabulary.rule.normalize != "none":
        steps.append({"type": vocabulary.rule.normalize.upper()})
    if vocabulary.rule.mode.space_before and vocabulary.normalizer is None:
        names = [token.text for token in vocabulary.tokens if token.kind in ("special", "symbol")]
        steps += [_prepend(names), SPACE_TO_MARK] if vocabulary.space_first else [SPACE_TO_MARK]
    return in_sequence(steps, "normalizers")


def _pre_tokenizer(vocabulary: Vocabulary) -> dict[str, Any] | None:
    runs = _keeps_runs(vocabulary)
    if vocabulary.normalizer is not None:
        at = cast(Cut, vocabulary.normalizer.last).at
        return in_sequence(WHOLE[at][1] if runs else CUTS[at])
    mode = vocabulary.rule.mode
    if runs:
        return None
    if not mode.patterns:
        return SPLIT_AT_MARK if mode.space_before else SPLIT_AT_BLANKS
    return in_sequence(cutting_parts(mode))


def _prepend(names: list[str]) -> dict[str, Any]:
    """`▁` before a text that is not empty and does not start with one of the names."""
    if not names:
        return PREPEND_MARK
    alternatives = "|".join(re.sub(r"[\\.^$|?*+()\[\]{}]", r"\\\g<0>", name) for name in names)
    pattern = rf"\A(?!{alternatives})(?=[\s\S])"
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": SPACE_MARK}


def _decoder(vocabulary: Vocabulary) -> dict[str, Any]:
    mode = vocabulary.rule.mode
    if mode.byte_level:
        return BYTE_LEVEL
    if mode.loses_spaces:
        if vocabulary.look_up is not None:
            return {"type": "WordPiece", "prefix": vocabulary.look_up.mark, "cleanup": False}
        return {"type": "BPEDecoder", "suffix": END_MARK}
    steps: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": SPACE_MARK}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if vocabulary.drops_space:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def to_transformers(vocabulary: Vocabulary) -> Any:
    """A `PreTrainedTokenizerFast` of transformers with the ids and roles of a vocabulary."""
    try:
        from tokenizers import Tokenizer
        from transformers import PreTrainedTokenizerFast
    except ImportError:
        raise SettingsError(
            "this needs the package transformers: pip install transformers"
        ) from None
    if reason := next(refusals(vocabulary), None):
        raise SettingsError(reason)
    settings = config(vocabulary)
    for name in ("tokenizer_class", "backend"):
        del settings[name]
    if vocabulary.roles.chat is not None:
        settings["chat_template"] = vocabulary.roles.chat
    made = Tokenizer.from_str(json.dumps(tokenizer_data(vocabulary)))
    kind: Any = PreTrainedTokenizerFast
    return kind(tokenizer_object=made, **settings)
