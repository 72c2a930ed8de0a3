"""SentencePiece: a BPE `.model` and its `.vocab`. Metaspace text, rule `concat`, both encodings.

Pieces have the ids of volt. The score of a merged piece is minus its place in the order of merges,
and hidden tokens of the `split` encoding are UNUSED pieces after all others. The protobuf is read
and written by the classes that come with the package `sentencepiece`.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

from volt.candidates import UNKNOWN
from volt.errors import SettingsError
from volt.formats.assembly import Pieces, is_character, read_bytes
from volt.formats.merges import merged_by_rank
from volt.formats.refusals import need_no_normalization, need_pretokenizer, need_space_mark
from volt.vocabulary import Kind, Vocabulary

NORMAL, UNKNOWN_TYPE, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
TYPES: dict[Kind, int] = {
    "special": CONTROL,
    "symbol": USER_DEFINED,
    "byte": BYTE,
    "character": NORMAL,
    "merged": NORMAL,
}
BPE = 2
MOST_RANKS = 1 << 24
"""Scores are 32-bit floats, which count no further."""


def _proto() -> Any:
    try:
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        raise SettingsError(
            "this needs the packages sentencepiece and protobuf: "
            "pip install 'volt-vocab[sentencepiece]'"
        ) from None
    return sentencepiece_model_pb2


def model_path(path: Path) -> Path:
    """PATH, or PATH.model."""
    return path if path.suffix == ".model" else path.with_name(path.name + ".model")


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    need_pretokenizer(vocabulary, "SentencePiece", "metaspace")
    need_no_normalization(vocabulary, "SentencePiece")
    need_space_mark(vocabulary, "SentencePiece")
    _refuse(vocabulary)
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
        kind = UNKNOWN_TYPE if token.text == UNKNOWN else kind
        model.pieces.add(piece=token.text, score=score, type=kind)
    _describe(vocabulary, model, proto)
    lines = [f"{_one_line(piece.piece)}\t{piece.score:g}\n" for piece in model.pieces]
    file = model_path(path)
    return {
        file: model.SerializeToString(deterministic=True),
        file.with_suffix(".vocab"): "".join(lines).encode(),
    }


def _refuse(vocabulary: Vocabulary) -> None:
    if vocabulary.unknown == "unk":
        raise SettingsError(
            "SentencePiece makes one <unk> of a run of unknown characters, volt one of each; "
            "learn with --unknown byte"
        )
    if UNKNOWN not in vocabulary.of_kind("special"):
        raise SettingsError(f"a SentencePiece model needs the special token {UNKNOWN}")
    if len(vocabulary.pool) >= MOST_RANKS:
        raise SettingsError(f"SentencePiece can't tell more than {MOST_RANKS:,} ranks apart")
    for name in vocabulary.of_kind("symbol"):
        if " " in name:
            raise SettingsError(f"a SentencePiece symbol has no space in it, as {name!r} has")


def _describe(vocabulary: Vocabulary, model: Any, proto: Any) -> None:
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type = BPE
    trainer.vocab_size = len(vocabulary.pool)
    trainer.byte_fallback = True
    trainer.split_digits = False
    special = set(vocabulary.of_kind("special"))
    for role, name in (("unk", UNKNOWN), ("bos", "<s>"), ("eos", "</s>"), ("pad", "<pad>")):
        setattr(trainer, f"{role}_id", vocabulary.ids[name] if name in special else -1)
        setattr(trainer, f"{role}_piece", name)
    taken = {UNKNOWN, "<s>", "</s>", "<pad>"}
    trainer.control_symbols.extend(
        name for name in vocabulary.of_kind("special") if name not in taken
    )
    trainer.user_defined_symbols.extend(vocabulary.of_kind("symbol"))
    for spec in (normalizer, model.denormalizer_spec):
        spec.add_dummy_prefix = True
        spec.remove_extra_whitespaces = False
        spec.escape_whitespaces = True
    normalizer.name = "identity"
    normalizer.precompiled_charsmap = b""
    model.ClearField("denormalizer_spec")


def _one_line(text: str) -> str:
    """SentencePiece itself writes pieces as they are; one that has a line end breaks its line."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


# --------------------------------------------------------------------------------------------- read


def read(path: Path) -> Pieces:
    pieces = Pieces(str(path), "sentencepiece", "metaspace", [])
    proto = _proto()
    model = proto.ModelProto()
    try:
        model.ParseFromString(read_bytes(path))
    except Exception as error:
        if type(error).__name__ != "DecodeError":  # of google.protobuf.message
            raise
        raise pieces.fail("no SentencePiece model: it can't be parsed") from None
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    if not model.pieces:
        raise pieces.fail("no SentencePiece model: it has no pieces")
    if trainer.model_type != BPE:
        name = proto.TrainerSpec.ModelType.Name(trainer.model_type)
        raise pieces.fail(f"model_type: volt reads BPE, not {name}")
    if normalizer.precompiled_charsmap:
        raise pieces.fail(f"normalizer_spec: {normalizer.name[:40]!r} is no identity")
    if (
        not normalizer.add_dummy_prefix
        or normalizer.remove_extra_whitespaces
        or not normalizer.escape_whitespaces
        or trainer.treat_whitespace_as_suffix
    ):
        raise pieces.fail(
            "normalizer_spec: volt puts a space before the text and keeps all others: "
            "add_dummy_prefix, no remove_extra_whitespaces, escape_whitespaces"
        )
    pieces.unknown = "byte" if any(piece.type == BYTE for piece in model.pieces) else "unk"
    if pieces.unknown == "unk":
        pieces.messages.append("SentencePiece makes one <unk> of a run of them, volt does not")
    _read_pieces(pieces, model)
    return pieces


def _read_pieces(pieces: Pieces, model: Any) -> None:
    scored: list[tuple[float, int, str]] = []
    for number, piece in enumerate(model.pieces):
        text = piece.piece
        if not isinstance(text, str):  # protobuf gives bytes where they are no UTF-8
            raise pieces.fail(f"pieces[{number}].piece: invalid UTF-8")
        if not math.isfinite(piece.score):
            raise pieces.fail(f"pieces[{number}].score: {piece.score} is no score")
        if piece.type == UNUSED:
            pieces.hidden.append(text)
        elif pieces.hidden:
            raise pieces.fail(
                f"pieces[{number}]: after an UNUSED piece; volt can't keep its id, since hidden "
                "tokens come last"
            )
        else:
            pieces.texts.append(text)
        if piece.type == UNKNOWN_TYPE and text != UNKNOWN:
            raise pieces.fail(f"pieces[{number}]: the unknown piece is {UNKNOWN} in volt")
        if piece.type in (CONTROL, UNKNOWN_TYPE):
            pieces.kinds[text] = "special"
        elif piece.type == USER_DEFINED:
            pieces.kinds[text] = "symbol"
        elif piece.type in (NORMAL, UNUSED) and not is_character(text, "metaspace"):
            scored.append((-piece.score, number, text))
    scored.sort()
    for (score, _, one), (next_score, _, other) in pairwise(scored):
        if score == next_score:
            raise pieces.fail(f"{one[:40]!r} and {other[:40]!r} have the same score")
    pieces.ranked = [text for _, _, text in scored]
