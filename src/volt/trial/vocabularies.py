"""The vocabularies that a trial compares, as one small type: lines to ids, ids to a line.

out/                a folder that `volt learn` or `volt import` wrote
FILE                tokenizer.json, a SentencePiece .model, codes: by their own library or by volt
bpe:N               plain BPE, N tokens in all, as in `volt search`
spm-bpe:N           SentencePiece, N pieces in all
spm-unigram:N
wordpiece:N         Hugging Face tokenizers, N pieces in all
char, byte
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from volt.base.errors import InputError, SettingsError
from volt.base.extras import need
from volt.base.gate import named, read_bytes
from volt.base.options import parse_size
from volt.counting.count import count
from volt.counting.counts import WordCounts
from volt.counting.marks import UNKNOWN
from volt.foreign.base import Engine
from volt.foreign.engine_choice import open_engine
from volt.foreign.huggingface import HuggingFace
from volt.foreign.sentencepiece import SentencePieceModel
from volt.foreign.volt_engine import Native
from volt.formats.detect import identify
from volt.pipeline import candidates
from volt.proposing.base import fill
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.loading import load
from volt.tokenizing.tokenizer import Tokenizer

MADE_HERE = ("bpe", "spm-bpe", "spm-unigram", "wordpiece", "char", "byte")


@dataclass(frozen=True, eq=False)
class TrialVocabulary:
    """A vocabulary as a trial sees it."""

    name: str
    size: int
    encode: Callable[[Sequence[str]], list[list[int]]] = field(repr=False)
    decode: Callable[[list[int]], str] = field(repr=False)
    unknown: int | None
    """The id that stands for what the vocabulary can't spell. It is never generated."""
    digest: str = field(repr=False)
    """Tells two vocabularies of one name apart."""


def make_vocabulary(
    spec: str, lines: Sequence[str], *, threads: int | None = None
) -> TrialVocabulary:
    """The vocabulary that `spec` names; `lines` is the training text of both sides."""
    kind, _, number = spec.partition(":")
    if Path(spec).exists():
        return _from_path(spec, threads)
    if kind not in MADE_HERE:
        raise SettingsError(
            f"{spec}: no such file or folder, and no vocabulary such as bpe:8000, spm-bpe:8000, "
            "spm-unigram:8000, wordpiece:8000, char or byte"
        )
    if kind in ("char", "byte"):
        if number:
            raise SettingsError(f"{spec}: {kind} has no size")
        return _characters(lines) if kind == "char" else _bytes()
    try:
        size = parse_size(number)
    except ValueError:
        size = 0
    if not size:
        raise SettingsError(f"{spec}: name a size, such as {kind}:8000")
    if kind == "bpe":
        return bpe(spec, count([list(lines)], threads=threads), size, threads=threads)
    return (
        _wordpiece(spec, lines, size) if kind == "wordpiece" else _pieces(spec, kind, lines, size)
    )


# --------------------------------------------------------------------------------------------- volt


def from_tokenizer(name: str, tokenizer: Tokenizer) -> TrialVocabulary:
    """Any vocabulary that volt encodes with."""
    vocabulary = tokenizer.vocabulary
    look_up, normalizer, pool = vocabulary.look_up, vocabulary.normalizer, vocabulary.pool_columns
    about = [
        asdict(vocabulary.rule), vocabulary.encoding, vocabulary.merge_rule, vocabulary.unknown,
        vocabulary.unknown_token, vocabulary.fuse_unknown, vocabulary.word_ends,
        vocabulary.whole_words, look_up and asdict(look_up), normalizer and normalizer.to_data(),
        len(vocabulary), pool.texts, pool.kinds.tolist(), pool.parents.tolist(),
        pool.ranks.tolist(), pool.scores.tolist(),
    ]  # fmt: skip
    return _from_engine(name, Native(tokenizer, "volt"), _digest(about))


def bpe(name: str, counts: WordCounts, size: int, *, threads: int | None = None) -> TrialVocabulary:
    """BPE of exactly `size` rows."""
    found = candidates(counts, merges=size, threads=threads)
    if not found.curve.size[0] <= size <= found.curve.size[-1]:
        raise InputError(
            f"{name}: the text gives BPE of {found.curve.size[0]:,} to {found.curve.size[-1]:,} "
            "tokens; name a size between"
        )
    vocabulary = build_vocabulary(found, fill(found, found.ranking(), size))
    return from_tokenizer(name, Tokenizer(vocabulary, threads=threads))


def _from_path(spec: str, threads: int | None) -> TrialVocabulary:
    path = Path(spec)
    if (path / "source" / "volt.json").exists() and not (path / "volt.json").exists():
        raise SettingsError(
            f"{spec} has a vocabulary for each side; a trial's model shares its embeddings: "
            "learn one from both sides"
        )
    # Results name the folder or file, not where it lies.
    whole = path.resolve()
    inside = ("volt.json", "tokenizer.json")
    name = whole.parent.name if whole.name in inside and whole.parent.name else whole.name
    found = identify(named(path))
    if found.kind == "volt":
        return from_tokenizer(name, load(path, threads=threads))
    digest = hashlib.sha256(read_bytes(found.file)).hexdigest()
    return _from_engine(name, open_engine(path, native=False).engine, digest)


def _from_engine(name: str, engine: Engine, digest: str) -> TrialVocabulary:
    return TrialVocabulary(
        name, engine.size, engine.encode_batch, engine.decode, engine.unknown_id, digest
    )


# -------------------------------------------------------------------------------- characters, bytes


def _characters(lines: Sequence[str]) -> TrialVocabulary:
    alphabet = sorted(set().union(*lines))
    number = {character: i for i, character in enumerate(alphabet, 1)}

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[number.get(character, 0) for character in text] for text in texts]

    def decode(ids: list[int]) -> str:
        return "".join(alphabet[i - 1] if i else UNKNOWN for i in ids)

    return TrialVocabulary("char", len(alphabet) + 1, encode, decode, 0, _digest(alphabet))


def _bytes() -> TrialVocabulary:
    def decode(ids: list[int]) -> str:
        return bytes(ids).decode(errors="replace")

    return TrialVocabulary(
        "byte", 256, lambda texts: [list(text.encode()) for text in texts], decode, None, "byte"
    )


# ----------------------------------------------------------------------------------- other toolkits


def _pieces(spec: str, kind: str, lines: Sequence[str], size: int) -> TrialVocabulary:
    sentencepiece = need("sentencepiece", "trial")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(line for line in lines if line.strip()),
            model_writer=model, vocab_size=size, model_type=kind.removeprefix("spm-"),
            character_coverage=1.0, normalization_rule_name="identity", num_threads=1,
            max_sentence_length=1 << 20, byte_fallback=True, minloglevel=2,
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{spec}: SentencePiece says {error}") from error
    data = model.getvalue()
    return _from_engine(spec, SentencePieceModel(spec, data), hashlib.sha256(data).hexdigest())


def _wordpiece(spec: str, lines: Sequence[str], size: int) -> TrialVocabulary:
    """WordPiece over words as they are between spaces, so that text comes back as it was."""
    tokenizers = need("tokenizers", "trial")
    trained = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token=UNKNOWN))
    trained.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    # Pairs of one count are merged in the order of their ids. Named here, the letters have the same
    # ids every time; else they would have them in the order of a hash table.
    letters = [f"##{letter}" for letter in sorted(set().union(*lines)) if not letter.isspace()]
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[UNKNOWN, *letters], show_progress=False
    )
    trained.train_from_iterator(lines, trainer)
    tokens = sorted(trained.get_vocab().items(), key=lambda item: item[1])
    if len(tokens) > size:
        raise InputError(f"{spec}: the characters alone make {len(tokens):,} tokens; name more")
    # Once more, since there the letters are not special tokens.
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(dict(tokens), unk_token=UNKNOWN, max_input_chars_per_word=1000)
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.decoder = tokenizers.decoders.WordPiece(cleanup=False)
    return _from_engine(spec, HuggingFace(spec, made.to_str()), _digest(json.dumps([tokens])))


def _digest(about: Any) -> str:
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()
