"""OPUS-MT: pieces of source.spm and target.spm, numbered by one vocab.json, as `MarianTokenizer`
does it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.base.gate import read_bytes, read_json, read_text
from volt.counting.marks import SPACE_MARK
from volt.foreign.base import Added, Change, Engine, by_id
from volt.foreign.huggingface import renumbered_beside, rewritten_table
from volt.foreign.inner import ROUNDING, Inner, looking_up
from volt.foreign.sentencepiece import SentencePieceModel, rewritten_model
from volt.formats.huggingface.classes import CONFIG
from volt.formats.huggingface.folder import settings_of
from volt.formats.reasons import UNKNOWN_PENALTY
from volt.formats.sentencepiece import NORMAL, UNIGRAM
from volt.tokenizing.schemas import TOKEN_IDS
from volt.tokenizing.tokenizer import Tokenizer

LANGUAGE = re.compile(r">>.+?<<")
UNKNOWN = "<unk>"
VOCAB = "vocab.json"
SIDES = ("source.spm", "target.spm")


class MarianMT(Engine):
    """The source side of a translation model; `>>de<<` before a text names the target language.
    What it is refitted to or extended for may be text of either side."""

    def __init__(self, folder: Path) -> None:
        self.name, self.kind, self.folder = str(folder), "marian-mt", folder
        table = read_json(folder / VOCAB, TOKEN_IDS)
        if UNKNOWN not in table:
            raise InputError(f"{folder / VOCAB}: no {UNKNOWN} among the tokens")
        self.sides = {name: SentencePieceModel(str(folder / name), read_bytes(folder / name))
                      for name in SIDES if (folder / name).exists()}  # fmt: skip
        source = self.source = self.sides[SIDES[0]]
        self.library = source.library
        self.ids: dict[str, int] = table
        self.names = by_id(table.items())
        self.unknown_id = table[UNKNOWN]
        # Names of languages, and whatever else no side spells, are found by name or never.
        spelled = {name for side in self.sides.values() for name in side.spelled}
        self.named = frozenset(number for name, number in table.items() if name not in spelled)
        self.before_word = source.before_word
        self.messages = [f"encoded as the source side, {SIDES[0]}; {SIDES[1]} writes the same ids"]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._encode(text, self.source) for text in texts]

    def encode_fitting(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._encode(text, self._side_of(text)) for text in texts]

    def _encode(self, text: str, side: SentencePieceModel) -> list[int]:
        code = LANGUAGE.match(text)
        head = [code[0]] if code else []
        rest = text[code.end() :] if code else text
        pieces = [*head, *side.model.encode(rest, out_type=str)]
        return [self.ids.get(piece, self.ids[UNKNOWN]) for piece in pieces]

    def _side_of(self, text: str) -> SentencePieceModel:
        """The side that makes fewer tokens of a text: it is the one for its language."""
        return min(self.sides.values(), key=lambda side: len(self._encode(text, side)))

    def decode(self, ids: list[int]) -> str:
        pieces = [self.names[i] or "" for i in ids if i not in self.named]
        return "".join(pieces).replace(SPACE_MARK, " ").removeprefix(" ")

    def words(self, text: str) -> list[str]:
        return self._side_of(text).words(LANGUAGE.sub("", text, count=1))

    def inner(self) -> Inner:
        """Both models as one; a piece of both has the score of the source side. It is only used to
        choose tokens: the two files stay two."""
        for name, side in self.sides.items():
            if side.proto.trainer_spec.model_type != UNIGRAM:
                raise SettingsError(
                    f"{self.folder / name}: not a Unigram model: refit and extend take OPUS-MT "
                    "folders with Unigram models only; compare and verify take this one"
                )
        if settings_of(self.folder, CONFIG).get("separate_vocabs"):
            raise SettingsError(
                f"{self.folder / CONFIG}: separate_vocabs: the sides have a vocabulary each; refit "
                "and extend take folders with one; compare and verify take this one"
            )
        scores = [0.0] * self.size
        for side in reversed(self.sides.values()):
            for piece in side.proto.pieces:
                if piece.type == NORMAL and piece.piece in self.ids:
                    scores[self.ids[piece.piece]] = float(piece.score)
        lowest = min((score for i, score in enumerate(scores) if i not in self.named), default=0.0)
        return looking_up(
            self.names, self.named, encoding="unigram", scores=scores, unknown_id=self.unknown_id,
            unknown_score=float(np.float32(lowest) - UNKNOWN_PENALTY), arithmetic="float32",
        )  # fmt: skip

    def rewrite(self, change: Change) -> dict[str, bytes]:
        files = {VOCAB: rewritten_table(read_text(self.folder / VOCAB), self.ids, change).encode()}
        for name, side in self.sides.items():
            dropped = [change.id_map[self.ids[piece.piece]] < 0
                       if piece.type == NORMAL and piece.piece in self.ids else False
                       for piece in side.proto.pieces]  # fmt: skip
            kept = ~np.array(dropped)
            own = Change(np.where(kept, np.cumsum(kept) - 1, -1), _added_to(side, change.added))
            files[name] = rewritten_model(side.proto, own, side.name)
        return files | renumbered_beside(self.folder, change)


def _added_to(side: SentencePieceModel, added: Sequence[Added]) -> list[Added]:
    """The new tokens that a side can spell. The score of each is that of its best cut so far, so
    that no text gets more tokens; new characters have the lowest score of all."""
    known = {*side.names}
    characters = [one.text for one in added if len(one.text) == 1 and one.text not in known]
    normal = [float(piece.score) for piece in side.proto.pieces if piece.type == NORMAL]
    lowest = min(normal, default=0.0)
    names = [*side.names, *characters]
    scores = [*(float(piece.score) for piece in side.proto.pieces), *[lowest] * len(characters)]
    inner = looking_up(
        names, side.named, encoding="unigram", scores=scores, unknown_id=side.unknown_id,
        byte_ids=side.byte_ids, unknown_score=lowest - UNKNOWN_PENALTY, arithmetic="float32",
    )  # fmt: skip
    tokenizer = Tokenizer(inner.vocabulary)
    lost = side.byte_ids | {side.unknown_id}
    found = []
    for one in added:
        if one.text in known:
            continue
        ids = tokenizer.encode_words(inner.counts(Counter([one.text]), 1))[0].tolist()
        if not lost & {*ids}:
            more = ROUNDING["float32"] * (len(ids) - 1)
            found.append(replace(one, score=sum(scores[i] for i in ids) + more))
    return found
