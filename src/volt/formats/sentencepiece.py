"""SentencePiece: a `.model` and its `.vocab`, metaspace text. BPE (rule `concat`, the encodings
`merge` and `split`) and Unigram.

Pieces have the ids of volt. The score of a merged piece is minus its place in the order of merges,
and hidden tokens of the `split` encoding are UNUSED pieces after all others. The protobuf is read
and written by the classes that come with the package `sentencepiece`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from volt.base.errors import InputError
from volt.base.extras import need
from volt.base.gate import read_bytes
from volt.counting import normalizers
from volt.counting.character_map import character_map
from volt.counting.marks import SPACE
from volt.formats import reasons
from volt.formats.assembly import Parsed
from volt.formats.base import Format, Written
from volt.formats.huggingface.classes import CONFIG
from volt.formats.huggingface.folder import ADDED, MAP, names_after
from volt.proposing.tokens import SPELLED, Kind
from volt.tokenizing.merge_pairs import merged_by_rank
from volt.tokenizing.roles import USUAL, RoleName, Roles, as_usual
from volt.tokenizing.vocabulary import LookUp, Vocabulary

NORMAL, UNKNOWN_TYPE, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
TYPES: dict[Kind, int] = {
    "special": CONTROL,
    "symbol": USER_DEFINED,
    "byte": BYTE,
    "character": NORMAL,
    "merged": NORMAL,
    "piece": NORMAL,
}
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
ROLES: tuple[RoleName, ...] = ("unk", "bos", "eos", "pad")
MOST_RANKS = 1 << 24
"""Scores are 32-bit floats, which can't tell more whole numbers apart."""
ADDS = LookUp(arithmetic="float32", restart="text")
"""How scores are added."""


def _proto() -> Any:
    # Models are protobuf messages, which sentencepiece alone does not bring.
    what = "a SentencePiece model is a protobuf message: reading or writing one"
    need("google.protobuf", "sentencepiece", what)
    return need("sentencepiece.sentencepiece_model_pb2", "sentencepiece", what)


def new_model_proto() -> Any:
    return _proto().ModelProto()


def model_path(path: Path) -> Path:
    """PATH if it ends as models do (`.spm` for Marian), or PATH.model."""
    return path if path.suffix in (".model", ".spm") else path.with_name(path.name + ".model")


def refusals(vocabulary: Vocabulary) -> Iterator[str]:
    if _own_normalizer(vocabulary) is None:
        yield from reasons.normalization(vocabulary, "SentencePiece")
    yield from reasons.space_mark(vocabulary, "SentencePiece")
    yield from reasons.one_unknown(vocabulary, "SentencePiece")
    if len(vocabulary.pool) >= MOST_RANKS:
        yield f"SentencePiece can't tell more than {MOST_RANKS:,} ranks apart"
    for name in vocabulary.of_kind("symbol"):
        if " " in name:
            yield f"a SentencePiece symbol can't contain a space, as {name!r} does"
    if vocabulary.encoding == "unigram":
        scored = [token for token in vocabulary.tokens if token.kind in SPELLED]
        for token in scored:
            if float(np.float32(token.score)) != token.score:
                yield (
                    f"SentencePiece stores scores in 32 bits, which the score {token.score!r} of "
                    f"{token.text[:40]!r} does not fit into"
                )
        lowest = min(token.score for token in scored)
        yield from reasons.unknown_score(vocabulary, "SentencePiece", lowest)


def notes(vocabulary: Vocabulary) -> Iterator[str]:
    yield from reasons.rounding(vocabulary, "SentencePiece", ADDS)
    yield from reasons.added(vocabulary, "SentencePiece", "add_bos=True and add_eos=True")
    if vocabulary.of_kind("symbol"):
        yield "SentencePiece puts `▁` before a text that starts with a symbol"


def write(vocabulary: Vocabulary, path: Path) -> Written:
    proto = _proto()
    model = proto.ModelProto()
    place_of = {token.text: place for place, token in enumerate(merged_by_rank(vocabulary))}
    after = len(place_of)
    for number, token in enumerate(vocabulary.pool):
        kind = TYPES[token.kind] if number < len(vocabulary) else UNUSED
        place = place_of.get(token.text)
        if token.kind == "character":
            place, after = after, after + 1
        score = 0.0 if place is None else -float(place)
        if vocabulary.encoding == "unigram":
            score = token.score
        kind = UNKNOWN_TYPE if token.text == vocabulary.unknown_token else kind
        model.pieces.add(piece=token.text, score=score, type=kind)
    _describe(vocabulary, model, proto)
    lines = [f"{_one_line(piece.piece)}\t{piece.score:g}\n" for piece in model.pieces]
    file = model_path(path)
    return {
        file: model.SerializeToString(deterministic=True),
        file.with_suffix(".vocab"): "".join(lines).encode(),
    }


def _own_normalizer(vocabulary: Vocabulary) -> normalizers.SentencePiece | None:
    """The normalizer as SentencePiece's own, if it is or comes to the same."""
    steps = vocabulary.normalizer.steps if vocabulary.normalizer else ()
    if len(steps) == 1 and isinstance(steps[0], normalizers.SentencePiece):
        return steps[0]
    if len(steps) == 1 and getattr(steps[0], "at", "") in ("prepend", "spaces"):
        return normalizers.SentencePiece(b"", False)
    return None


def _describe(vocabulary: Vocabulary, model: Any, proto: Any) -> None:
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type = UNIGRAM if vocabulary.encoding == "unigram" else BPE
    trainer.vocab_size = len(vocabulary.pool)
    trainer.byte_fallback = vocabulary.unknown == "byte"
    trainer.split_digits = False
    special = set(vocabulary.of_kind("special"))
    unknown = vocabulary.unknown_token
    taken = {unknown}
    for role in ROLES:
        name = unknown if role == "unk" else vocabulary.role(role) or USUAL[role][0]
        setattr(trainer, f"{role}_id", vocabulary.ids[name] if name in special else -1)
        setattr(trainer, f"{role}_piece", name)
        taken.add(name)
    trainer.control_symbols.extend(
        name for name in vocabulary.of_kind("special") if name not in taken
    )
    trainer.user_defined_symbols.extend(vocabulary.of_kind("symbol"))
    for spec in (normalizer, model.denormalizer_spec):
        spec.add_dummy_prefix = vocabulary.space_first
        spec.remove_extra_whitespaces = False
        spec.escape_whitespaces = True
    own = _own_normalizer(vocabulary)
    if own is not None:
        normalizer.remove_extra_whitespaces = own.remove_extra_whitespaces
    normalizer.precompiled_charsmap = own.table if own is not None else b""
    normalizer.name = "user_defined" if normalizer.precompiled_charsmap else "identity"
    model.ClearField("denormalizer_spec")


def _one_line(text: str) -> str:
    """SentencePiece itself writes pieces as they are, even if they contain a line end."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


# --------------------------------------------------------------------------------------------- read


def read(path: Path) -> Parsed:
    parsed = parse(str(path), read_bytes(path))
    if path.name == "tokenizer.model":
        add_after(parsed, path.parent)
    return parsed


def add_after(parsed: Parsed, folder: Path) -> None:
    """The special tokens that the files beside a model add after its pieces."""
    later = names_after(folder, [*parsed.texts, *parsed.hidden])
    if not later:
        return
    first, names = len(parsed.texts), [one["content"] for one in later.values()]
    plain = next((one["content"] for one in later.values() if not one["special"]), None)
    why = "" if plain is None else ", and are not special"
    if not why and [*later] != [*range(first, first + len(later))]:
        why = f", at ids {min(later):,} and up, which leaves a gap"
    if why or parsed.hidden:
        raise parsed.fail(
            f"tokens such as {(plain or names[0])[:40]!r} are added after its {first:,} pieces by "
            f"{CONFIG}, {ADDED} or {MAP}{why}; {reasons.INSTEAD}"
        )
    parsed.texts += names
    parsed.kinds |= dict.fromkeys(names, "special")


def model_proto(name: str, data: bytes) -> Any:
    """The parsed file."""
    model = _proto().ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:
        if type(error).__name__ != "DecodeError":  # of google.protobuf.message
            raise
        raise InputError(f"{name}: not a SentencePiece model, or cut short") from None
    return model


def parse(name: str, data: bytes) -> Parsed:
    parsed = Parsed(name, "sentencepiece", "metaspace", [])
    proto = _proto()
    model = model_proto(name, data)
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    if not model.pieces:
        raise parsed.fail("not a SentencePiece model: it has no pieces")
    if trainer.model_type not in (UNIGRAM, BPE):
        name = proto.TrainerSpec.ModelType.Name(trainer.model_type)
        raise parsed.fail(f"model_type: volt reads BPE and UNIGRAM, not {name}; {reasons.INSTEAD}")
    if not normalizer.escape_whitespaces or trainer.treat_whitespace_as_suffix:
        raise parsed.fail(
            "normalizer_spec: volt writes spaces as `▁` and before words: escape_whitespaces, no "
            f"treat_whitespace_as_suffix; {reasons.INSTEAD}"
        )
    parsed.space_first, parsed.runs = bool(normalizer.add_dummy_prefix), True
    _read_normalizer(parsed, normalizer)
    parsed.unknown = "byte" if any(piece.type == BYTE for piece in model.pieces) else "unk"
    parsed.fuse_unknown = True
    _read_pieces(parsed, model)
    _read_roles(parsed, trainer)
    if trainer.model_type == UNIGRAM:
        _read_unigram(parsed, model)
    else:
        _read_ranks(parsed, model)
    return parsed


def _read_normalizer(parsed: Parsed, spec: Any) -> None:
    table = bytes(spec.precompiled_charsmap)
    if not table and not spec.remove_extra_whitespaces:
        return
    try:
        if table:
            character_map(table)
    except InputError as error:
        raise parsed.fail(f"normalizer_spec: {error}") from None
    step = normalizers.SentencePiece(table, bool(spec.remove_extra_whitespaces))
    parsed.normalizer = normalizers.Normalizer((step,))


def _read_pieces(parsed: Parsed, model: Any) -> None:
    unigram = model.trainer_spec.model_type == UNIGRAM
    unused: list[str] = []
    for number, piece in enumerate(model.pieces):
        text = piece.piece
        if not isinstance(text, str):  # protobuf gives bytes where they are not UTF-8
            raise parsed.fail(f"pieces[{number}].piece: invalid UTF-8")
        if not math.isfinite(piece.score):
            raise parsed.fail(f"pieces[{number}].score: {piece.score} is not a score")
        if piece.type == UNUSED and not unigram:
            parsed.hidden.append(text)
        elif parsed.hidden:
            raise parsed.fail(
                f"pieces[{number}]: after an UNUSED piece; volt can't keep its id, since hidden "
                "tokens come last"
            )
        else:
            parsed.texts.append(text)
        if piece.type == UNKNOWN_TYPE:
            parsed.unknown_token = text
        if piece.type in (CONTROL, UNKNOWN_TYPE):
            parsed.kinds[text] = "special"
        elif piece.type == USER_DEFINED:
            parsed.kinds[text] = "symbol"
        elif piece.type == UNUSED and unigram:
            parsed.kinds[text] = "special"
            unused.append(text)
    if unused:
        parsed.messages.append(
            f"{len(unused):,} unused pieces, such as {unused[0][:40]!r}: taken for special tokens, "
            "which text never gives"
        )


def _read_roles(parsed: Parsed, trainer: Any) -> None:
    special = {name for name, kind in parsed.kinds.items() if kind == "special"}
    named: dict[str, Any] = {}
    for role in ("bos", "eos", "pad"):
        number = getattr(trainer, f"{role}_id")
        if 0 <= number < len(parsed.texts) and parsed.texts[number] in special:
            named[role] = parsed.texts[number]
    parsed.roles = as_usual(Roles(**named), parsed.unknown_token, special)


def _read_unigram(parsed: Parsed, model: Any) -> None:
    parsed.encoding = "unigram"
    parsed.scores = {piece.piece: piece.score for piece in model.pieces if piece.type == NORMAL}
    if not parsed.scores:
        raise parsed.fail("pieces: none is NORMAL")
    lowest = np.float32(min(parsed.scores.values()))
    parsed.look_up = LookUp(
        unknown_score=float(lowest - np.float32(reasons.UNKNOWN_PENALTY)),
        arithmetic=ADDS.arithmetic,
        restart=ADDS.restart,
    )


def _read_ranks(parsed: Parsed, model: Any) -> None:
    """The order of the merges is that of the scores. Of equal scores SentencePiece merges the
    leftmost place first, and what is made there goes on: so longer pieces come first."""
    scored = sorted(
        (-piece.score, -len(piece.piece), number, piece.piece)
        for number, piece in enumerate(model.pieces)
        if piece.type in (NORMAL, UNUSED) and not SPACE.is_character(piece.piece)
    )
    parsed.ranked = [text for *_, text in scored]


FORMAT = Format(
    name="sentencepiece",
    toolkit="SentencePiece",
    description="A model for SentencePiece: BPE or Unigram.",
    writes="`PATH.model` (or `.spm`), `PATH.vocab`",
    write=write,
    read=read,
    takes=lambda mode: mode.space_before,
    encodings=("merge", "split", "unigram"),
    merge_rule="concat",
    refusals=refusals,
    notes=notes,
    names=(".model",),
    example=(
        "volt.model",
        'import sentencepiece; sentencepiece.SentencePieceProcessor(model_file="volt.model")',
    ),
)
