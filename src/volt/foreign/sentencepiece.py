"""A SentencePiece model of any type, run by SentencePiece."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.base.extras import need
from volt.counting.marks import SPACE_MARK
from volt.foreign.base import Change, Engine
from volt.foreign.examine import examine_sentencepiece
from volt.foreign.huggingface import cut_at_marks, renumbered_beside
from volt.foreign.inner import Inner, looking_up, merging, word_model
from volt.formats.huggingface.folder import leading_space, names_after, renumbering_class
from volt.formats.reasons import UNKNOWN_PENALTY
from volt.formats.sentencepiece import (
    BPE,
    BYTE,
    CHAR,
    CONTROL,
    NORMAL,
    UNIGRAM,
    UNKNOWN_TYPE,
    UNUSED,
    USER_DEFINED,
    WORD,
    model_proto,
)

ROLES = ("unk", "bos", "eos", "pad")
WORDS = f"{SPACE_MARK}[^{SPACE_MARK}]*|[^{SPACE_MARK}]+"


class SentencePieceModel(Engine):
    """Runs a `.model`. Added tokens of the folder it is in are found in the text first."""

    def __init__(
        self, name: str, data: bytes, kind: str = "sentencepiece", folder: Path | None = None,
        file_name: str = "tokenizer.model",
    ) -> None:  # fmt: skip
        self.name, self.kind, self.folder, self.file_name = name, kind, folder, file_name
        self.messages = []
        self.proto = model_proto(name, data)
        examine_sentencepiece(name, self.proto)
        library = need("sentencepiece", "sentencepiece")
        self.library = f"sentencepiece {library.__version__}"
        try:
            self.model = library.SentencePieceProcessor(model_proto=data)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{name}: SentencePiece does not read it: {error}") from None
        pieces = self.proto.pieces
        self.names = [piece.piece for piece in pieces]
        kinds = [piece.type for piece in pieces]
        self.named = frozenset(i for i, kind in enumerate(kinds)
                               if kind in (CONTROL, UNKNOWN_TYPE, USER_DEFINED))  # fmt: skip
        self.symbols = [piece.piece for piece in pieces if piece.type == USER_DEFINED]
        self.unknown_id = int(self.model.unk_id())
        self.byte_ids = frozenset(i for i, kind in enumerate(kinds) if kind == BYTE)
        self.unused = frozenset(i for i, kind in enumerate(kinds) if kind == UNUSED)
        self.whole = self.proto.trainer_spec.model_type in (WORD, CHAR)
        first = self.model.encode("a", out_type=str)
        self.before_word = "" if first and first[0].startswith(SPACE_MARK) else " "
        self.added: dict[str, int] = {}
        self._pattern: re.Pattern[str] | None = None
        if folder is not None:
            self._add(folder)

    def _add(self, folder: Path) -> None:
        """Tokens that the files beside the model add after its pieces."""
        if (kind := renumbering_class(folder)) is not None:
            self.messages.append(
                f"ids are those of {self.file_name}; {kind} of transformers numbers its pieces in "
                "another way"
            )
        spec = self.proto.normalizer_spec
        if spec.add_dummy_prefix and not spec.remove_extra_whitespaces:
            self.messages += leading_space(folder)
        found = names_after(folder, [piece.piece for piece in self.proto.pieces])
        if not found:
            return
        self.added = {one["content"]: number for number, one in found.items()}
        names = {number: name for name, number in self.added.items()}
        self.names += [names.get(i) for i in range(len(self.names), max(found) + 1)]
        self.named |= frozenset(found)
        longest = sorted(self.added, key=lambda name: (-len(name), name))
        self._pattern = re.compile("(" + "|".join(map(re.escape, longest)) + ")")
        self.messages.append(
            f"{len(found):,} added tokens, such as {longest[0]!r}, are found in the text first"
        )

    @property
    def found(self) -> Iterable[str]:
        return self.added

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        if self._pattern is None:
            return list(self.model.encode(list(texts)))
        return [self._encode_parts(text, self._pattern) for text in texts]

    def _encode_parts(self, text: str, pattern: re.Pattern[str]) -> list[int]:
        ids: list[int] = []
        for part in pattern.split(text):
            if part in self.added:
                ids.append(self.added[part])
            elif part:
                ids += self.model.encode(part)
        return ids

    def decode(self, ids: list[int]) -> str:
        return str(self.model.decode([i for i in ids if i < len(self.proto.pieces)]))

    def words(self, text: str) -> list[str]:
        parts = self._pattern.split(text) if self._pattern else [text]
        plain = (self.model.normalize(part) for part in parts if part and part not in self.added)
        if not self.whole:
            return [word for part in plain for word in cut_at_marks(part, self.names)]
        if self.proto.trainer_spec.model_type == CHAR:  # only symbols are longer than a character
            pattern = "|".join(map(re.escape, sorted(self.symbols, key=len, reverse=True))) or "$^"
            return [one for part in plain for rest in re.split(pattern, part) for one in rest]
        return [one for part in plain for one in re.findall(WORDS, part)]

    def inner(self) -> Inner:
        pieces, kind = self.proto.pieces, self.proto.trainer_spec.model_type
        if self.unused:
            raise SettingsError(
                f"{self.name}: {len(self.unused):,} UNUSED pieces, which text only passes through: "
                "it can't be refitted or extended"
            )
        if kind == BPE:
            ranks = [(piece.piece, -piece.score) for piece in pieces if piece.type == NORMAL]
            return merging(
                self.names, self.named, ranks=ranks, unknown_id=self.unknown_id,
                byte_ids=self.byte_ids, fuse_unknown=True,
            )  # fmt: skip
        if kind == UNIGRAM:
            scores = [float(piece.score) for piece in pieces]
            normal = [float(piece.score) for piece in pieces if piece.type == NORMAL]
            return looking_up(
                self.names, self.named, encoding="unigram", unknown_id=self.unknown_id,
                scores=[*scores, *[0.0] * (self.size - len(scores))], byte_ids=self.byte_ids,
                unknown_score=float(np.float32(min(normal, default=0.0)) - UNKNOWN_PENALTY),
                arithmetic="float32",
            )  # fmt: skip
        return word_model(self.names, self.named | self.byte_ids, self.unknown_id)

    def rewrite(self, change: Change) -> dict[str, bytes]:
        files = {self.file_name: rewritten_model(self.proto, change, self.name)}
        if self.folder is not None:
            files |= renumbered_beside(self.folder, change)
        return files


def rewritten_model(proto: Any, change: Change, name: str) -> bytes:
    """The model with other pieces; everything else stays."""
    model = type(proto)()
    model.CopyFrom(proto)
    del model.pieces[:]
    number = len(proto.pieces)
    beyond = [int(new) for new in change.id_map[number:] if new >= 0]
    if change.added and beyond:
        raise SettingsError(
            f"{name}: tokens were added after its pieces (ids {number:,} and up), in files beside "
            "it: a model that grows would take their ids. Extend a tokenizer.json instead, which "
            "transformers writes: AutoTokenizer.from_pretrained(folder).save_pretrained(new)"
        )
    for old in np.argsort(change.id_map[:number], kind="stable").tolist():
        if change.id_map[old] >= 0:
            model.pieces.add().CopyFrom(proto.pieces[old])
    normal = [piece.score for piece in proto.pieces if piece.type == NORMAL]
    merges = proto.trainer_spec.model_type == BPE
    score = np.float32(min(normal, default=0.0))
    for one in change.added:
        score = _below(score) if merges else np.float32(one.score)
        model.pieces.add(piece=one.text, score=float(score), type=NORMAL)
    spec = model.trainer_spec
    if spec.HasField("vocab_size"):
        spec.vocab_size = len(model.pieces)
    for role in ROLES:
        field = f"{role}_id"
        old = getattr(spec, field)
        if spec.HasField(field) and 0 <= old < number:
            setattr(spec, field, int(change.id_map[old]))
    return bytes(model.SerializeToString(deterministic=True))


def _below(score: np.float32) -> np.float32:
    """The next whole number, or the next number that 32 bits tell apart."""
    lower = np.float32(score - np.float32(1.0))
    return lower if lower < score else np.nextafter(score, np.float32(-np.inf))
