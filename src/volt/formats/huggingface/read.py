"""Reading `tokenizer.json`, as far as volt encodes the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.base.gate import read_bytes
from volt.counting.marks import BYTE_TOKENS, END_MARK, INNER_MARK, SPACE_MARK
from volt.counting.normalizers import Cut, Normalizer
from volt.counting.words import CUSTOM, PRETOKENIZERS, Normalization
from volt.formats import reasons
from volt.formats.assembly import LONGEST_TOKEN, Parsed
from volt.formats.huggingface.file import Columns, tokenizer_json
from volt.formats.huggingface.folder import read_beside, read_roles
from volt.formats.huggingface.parts import (
    ANY_LENGTH,
    BYTE_LEVEL,
    BYTES,
    CUTS,
    PREPEND_MARK,
    SPACE_TO_MARK,
    SPLIT_AT_BLANKS,
    SPLIT_AT_MARK,
    SPLIT_AT_NOTHING,
    WHOLE,
    cutting_parts,
    split_part,
)
from volt.formats.huggingface.steps import read_step
from volt.formats.reasons import INSTEAD
from volt.proposing.tokens import Kind, packed
from volt.tokenizing.merge_pairs import Pair
from volt.tokenizing.vocabulary import HIGHEST_SCORE, LookUp, is_text

FLAGS = {
    "lstrip": "it takes the white space before it",
    "rstrip": "it takes the white space after it",
    "single_word": "it is found between words only",
    "normalized": "it is found in the text that was normalized",
}
"""What the flags of an added token mean."""


def read(path: Path) -> Parsed:
    """A `tokenizer.json`, or the folder it is in, if volt encodes alike."""
    file = path / "tokenizer.json" if path.is_dir() else path
    found = tokenizer_json(str(file), read_bytes(file))
    data, columns, told = read_beside(found, path if path.is_dir() else None)
    parsed = parse(str(file), data, columns)
    parsed.messages += told
    read_roles(parsed, data, path)
    return parsed


def parse(name: str, data: Any, columns: Columns | None = None, *, exact: bool = False) -> Parsed:
    """The value of a `tokenizer.json`. With columns, its vocabulary and merges are there. `exact`:
    flags of special tokens that volt can't express are an error and not a message; special tokens
    are plain text to volt unless they are allowed."""
    parsed = Parsed(name, "hf", "metaspace", [])
    model = data["model"]
    kind = model.get("type", "BPE")
    readers = {"BPE": _read_bpe, "WordPiece": _read_word_piece, "Unigram": _read_unigram}
    if not isinstance(kind, str) or kind not in readers:
        raise parsed.fail(
            f"model.type: volt reads {', '.join(readers)}, not {str(kind)[:40]!r}; {INSTEAD}"
        )
    added = data.get("added_tokens") or []
    _read_text_rule(parsed, data, kind)
    if columns is not None and not _taken_over(parsed, columns, added, kind):
        model = model | {"vocab": columns.vocab, "merges": columns.merges}
    parsed.kinds = _added_kinds(parsed, added, model.get("vocab"))
    _check_flags(parsed, added, exact)
    readers[kind](parsed, model, added)
    return parsed


def _read_bpe(parsed: Parsed, model: dict[str, Any], added: list[dict[str, Any]]) -> None:
    parsed.whole_words = parsed.mode.byte_level and model.get("ignore_merges") is True
    for key in ("dropout", "continuing_subword_prefix", "ignore_merges"):
        if model.get(key) and not (key == "ignore_merges" and parsed.whole_words):
            raise parsed.fail(f"model.{key}: {str(model[key])[:40]!r}, which volt does not do")
    if parsed.mode.loses_spaces and model.get("end_of_word_suffix") != END_MARK:
        raise parsed.fail(f"model.end_of_word_suffix: volt needs {END_MARK!r}")
    if not parsed.mode.loses_spaces and model.get("end_of_word_suffix"):
        raise parsed.fail("model.end_of_word_suffix: only with text that is split at blanks")
    byte = bool(model.get("byte_fallback")) or parsed.mode.byte_level
    parsed.unknown = "byte" if byte else "unk"
    _read_unknown(parsed, model.get("unk_token"))
    parsed.fuse_unknown = bool(model.get("fuse_unk"))
    if parsed.joins is None:
        parsed.texts = _texts(parsed, model.get("vocab"), added)
        parsed.pairs = _merges(parsed, model.get("merges"))


def _taken_over(parsed: Parsed, columns: Columns, added: Any, kind: str) -> bool:
    """Byte-level BPE with ids in the order of the file, and added tokens that have their ids there
    or come right after: its columns are taken as they are."""
    if kind != "BPE" or not parsed.mode.byte_level or not columns.in_order:
        return False
    tokens, size = columns.tokens, len(columns.tokens)
    listed = {one["id"]: one["content"] for one in added}
    beyond = {number: listed[number] for number in sorted(listed) if number >= size}
    fine = (
        len(listed) == len(set(listed.values())) == len(added)
        and [*beyond] == [*range(size, size + len(beyond))]
        and all(tokens[i] == name for i, name in listed.items() if i < size)
        and all(beyond.values())
        and set(beyond.values()).isdisjoint(tokens)
    )
    if fine:
        parsed.texts, parsed.joins = [*tokens, *beyond.values()], columns.joins
        longest = max([np.diff(columns.offsets).max(initial=0), *map(len, beyond.values())])
        if longest <= LONGEST_TOKEN and all(map(is_text, beyond.values())):
            more, ends = packed([name.encode() for name in beyond.values()])
            parsed.packed = (
                np.concatenate([columns.text, more]),
                np.concatenate([columns.offsets, columns.offsets[-1] + ends[1:]]),
            )
    return fine


def _read_unknown(parsed: Parsed, name: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise parsed.fail(f"model.unk_token: {str(name)[:40]!r} is not a token")
    if name is not None:
        parsed.unknown_token = name
        parsed.kinds.setdefault(name, "special")


def _read_word_piece(parsed: Parsed, model: dict[str, Any], added: list[dict[str, Any]]) -> None:
    parsed.encoding = "longest"
    parsed.unknown = "byte" if parsed.mode.byte_level else "unk"
    _read_unknown(parsed, model.get("unk_token", "[UNK]"))
    mark = model.get("continuing_subword_prefix", INNER_MARK)
    expected: Literal["", "##"] = INNER_MARK if parsed.mode.loses_spaces else ""
    if mark != expected:
        raise parsed.fail(
            f"model.continuing_subword_prefix: {str(mark)[:40]!r}; volt needs {expected!r} with "
            f"{parsed.pretokenizer} words"
        )
    longest = model.get("max_input_chars_per_word", 100)
    if type(longest) is not int or longest < 0:
        raise parsed.fail("model.max_input_chars_per_word: not a number")
    if longest == 0:
        raise parsed.fail("model.max_input_chars_per_word: 0 makes every word unknown")
    if parsed.mode.byte_level and longest < ANY_LENGTH:
        parsed.unknown = "unk"
    parsed.look_up = LookUp(mark=expected, longest_word=0 if longest >= ANY_LENGTH else longest)
    parsed.texts = _texts(parsed, model.get("vocab"), added)


def _read_unigram(parsed: Parsed, model: dict[str, Any], added: list[dict[str, Any]]) -> None:
    parsed.encoding = "unigram"
    if parsed.mode.loses_spaces:
        raise parsed.fail("pre_tokenizer: in volt a Unigram model needs metaspace or byte-level")
    vocab = model.get("vocab")
    if not isinstance(vocab, list) or not vocab:
        raise parsed.fail("model.vocab: not a list of tokens and scores")
    if high := next((one for one in vocab if abs(one[1]) > HIGHEST_SCORE), None):
        raise parsed.fail(f"model.vocab: {str(high)[:40]!r} is not a token and score")
    unknown = model.get("unk_id")
    if type(unknown) is not int or not 0 <= unknown < len(vocab):
        raise parsed.fail(f"model.unk_id: {str(unknown)[:40]!r} is not a token")
    _read_unknown(parsed, vocab[unknown][0])
    texts = [text for text, _ in vocab]
    if len(set(texts)) < len(texts):
        again = next(text for i, text in enumerate(texts) if text in texts[:i])
        raise parsed.fail(f"model.vocab: {again[:40]!r} is there twice")
    parsed.texts = _texts(parsed, dict(zip(texts, range(len(texts)), strict=True)), added)
    spelled = bool(model.get("byte_fallback")) and set(BYTE_TOKENS) <= set(texts)
    byte = spelled or parsed.mode.byte_level
    parsed.unknown, parsed.fuse_unknown = "byte" if byte else "unk", True
    named = {*parsed.kinds, *(BYTE_TOKENS if spelled else ())}
    parsed.scores = {text: float(score) for text, score in vocab if text not in named}
    lowest = min(float(score) for _, score in vocab)
    parsed.look_up = LookUp(unknown_score=lowest - reasons.UNKNOWN_PENALTY)


def _read_text_rule(parsed: Parsed, data: dict[str, Any], kind: str) -> None:
    """How text is normalized and cut: as volt does it, or by steps that come to the same."""
    steps = _sequence(data.get("normalizer"), "normalizers")
    before = _sequence(data.get("pre_tokenizer"), "pretokenizers")
    if steps and steps[0] in ({"type": "NFC"}, {"type": "NFKC"}):
        form: Normalization = "nfc" if steps[0]["type"] == "NFC" else "nfkc"
        rule = _own_rule(steps[1:], before, kind)
    else:
        form, rule = "none", _own_rule(steps, before, kind)
    if rule is not None:
        parsed.pretokenizer, parsed.normalize = rule, form
        parsed.runs = parsed.mode.space_before and not before
        if not (parsed.runs and PREPEND_MARK in steps and data.get("added_tokens")):
            return
        # The mark is put before the text after a special token, too.
    before = [_as_written(one) for one in before if one != SPLIT_AT_NOTHING]
    cut = next((Cut(at) for at, shown in CUTS.items() if before == shown), None)
    for at, (last, cuts) in WHOLE.items() if kind == "BPE" else ():
        if cut is None and before == cuts and steps[len(steps) - len(last) :] == last:
            cut, steps, parsed.runs = Cut(at), steps[: len(steps) - len(last)], True
    if cut is None:
        after = f", after the normalizer {_named_steps(steps)}" if steps else ""
        raise parsed.fail(
            f"pre_tokenizer: {_named_steps(before)}{after}: volt has no pre-tokenizer that cuts "
            f"text like this; {INSTEAD}"
        )
    parsed.space_first = cut.at not in ("whole", "whole-first", "spaces")
    try:
        parsed.normalizer = Normalizer((*map(read_step, steps), cut))
    except InputError as error:
        raise parsed.fail(f"normalizer: {error}") from None
    parsed.pretokenizer, parsed.normalize = parsed.normalizer.pretokenizer, "none"


def _own_rule(steps: list[dict[str, Any]], before: list[dict[str, Any]], kind: str) -> str | None:
    if len(steps) == 2 and steps[1] == SPACE_TO_MARK and _is_prepend(steps[0]):
        # Without the split BPE comes to the same, and sums of scores nearly so.
        fine = before == [SPLIT_AT_MARK] or (before == [] and kind == "BPE")
        return "metaspace" if fine else None
    if not steps and before == [SPLIT_AT_BLANKS]:
        return "whitespace"
    before = [_as_written(one) for one in before]
    known = reversed([mode for mode in PRETOKENIZERS.values() if mode.patterns])
    rules = [
        mode.name
        for mode in known
        if not steps and before in (cutting_parts(mode), [*map(split_part, mode.patterns), BYTES])
    ]
    if rules:
        return rules[-1]
    regex = before[0].get("pattern", {}).get("Regex") if len(before) == 2 else None
    if not steps and isinstance(regex, str) and before == [split_part(regex), BYTES]:
        return _custom(regex)
    return None


def _named_steps(steps: list[dict[str, Any]]) -> str:
    """Steps by name; one that splits with what it splits at."""
    names = []
    for step in steps[:8]:
        how = {key: step[key] for key in ("pattern", "behavior", "invert") if key in step}
        told = json.dumps(how, ensure_ascii=False) if step.get("type") == "Split" else ""
        names.append(f"{str(step.get('type'))[:40]} {told}".rstrip()[:300])
    return " + ".join(names) + (" + ..." if len(steps) > 8 else "") or "none"


def _custom(regex: str) -> str | None:
    """A pattern that volt has no scanner for, if the package regex reads it. `{1,3}+` is not the
    same there and in Hugging Face."""
    if re.search(r"[\d,]\}\+", regex):
        return None
    try:
        return PRETOKENIZERS[CUSTOM + regex].name
    except SettingsError:
        return None


def _as_written(step: dict[str, Any]) -> dict[str, Any]:
    """A step as volt writes it, if that comes to the same. `trim_offsets` changes no ids."""
    pattern = step.get("pattern")
    if step.get("type") == "Split" and isinstance(pattern, dict) and "Regex" in pattern:
        # Line breaks may be written as themselves.
        shown = str(pattern["Regex"]).replace("\r", "\\r").replace("\n", "\\n")
        step = step | {"pattern": {"Regex": shown}}
    inverted = step.get("behavior") == "Removed" and step.get("invert") is True
    if step.get("type") == "Split" and inverted:
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
        and step.get("content") == SPACE_MARK
        and isinstance(regex, str)
        and regex.startswith(r"\A(?!")
        and regex.endswith(r")(?=[\s\S])")
    )


def _added_kinds(parsed: Parsed, added: Any, vocab: Any) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    own = vocab if isinstance(vocab, dict) else {}
    for one in added:
        content = one["content"]
        # Gemma names its runs of `▁`: text has spaces there, and merges them.
        spaces = parsed.mode.space_before and SPACE_MARK in content and content in own
        if not spaces or one.get("special"):
            kinds[content] = "special" if one.get("special") else "symbol"
    return kinds


def _check_flags(parsed: Parsed, added: list[dict[str, Any]], exact: bool) -> None:
    found = [
        (one, flag) for one in added for flag in FLAGS
        if one.get(flag) and (parsed.normalizer is not None or flag != "normalized")
    ]  # fmt: skip
    if not found:
        return
    ordinary = ((one, flag) for one, flag in found if exact or not one.get("special"))
    one, flag = next(ordinary, found[0])
    told = f"added_tokens: {one['content'][:40]!r} has {flag}: {FLAGS[flag]}"
    if exact or not one.get("special"):
        raise parsed.fail(f"{told}; volt finds names anywhere and leaves white space; {INSTEAD}")
    names = {one["content"] for one, _ in found}
    parsed.messages.append(
        f"{told} ({len(names):,} special tokens are like that). volt does not know this: where you "
        "allow special tokens in text, the ids beside them may differ"
    )


def _texts(parsed: Parsed, vocab: Any, added: list[dict[str, Any]]) -> list[str]:
    if not isinstance(vocab, dict):
        raise parsed.fail("model.vocab: not a table of tokens and ids")
    number_of = dict(vocab)
    for one in added:
        if number_of.setdefault(one["content"], one["id"]) != one["id"]:
            raise parsed.fail(f"added_tokens: {one['content'][:40]!r} has two ids")
    return parsed.by_number(number_of)


def _merges(parsed: Parsed, merges: Any) -> list[Pair]:
    if not isinstance(merges, list):
        raise parsed.fail("model.merges: not a list")
    return [(one[0], one[1])
            for one in (m.split(" ") if isinstance(m, str) else m for m in merges)]  # fmt: skip
