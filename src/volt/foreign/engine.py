"""Engine: a tokenizer of any toolkit, encoding and decoding by volt or by its own library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from volt.base.errors import InputError, VoltError
from volt.base.extras import need
from volt.counting.marks import BYTE_TOKENS, SPACE, SPACE_MARK, UNMARKED, Marks, marks_used
from volt.foreign.original import read_tokenizer
from volt.formats.files import read_bytes
from volt.proposing.tokens import SPELLED
from volt.tokenizing.tokenizer import Tokenizer, load


@dataclass(frozen=True, eq=False)
class Engine:
    """A tokenizer, whichever library runs it."""

    library: str
    """`volt`, or the name and version of the library."""
    size: int
    """Rows of the embedding table."""
    encode: Callable[[Sequence[str]], list[list[int]]] = field(repr=False)
    decode: Callable[[list[int]], str] = field(repr=False)
    tokens: list[str] = field(repr=False)
    """The tokens that stand for text, in any order."""
    marks: Marks
    unknown_id: int | None
    byte_ids: frozenset[int] = field(default=frozenset(), repr=False)
    """The byte tokens that spell unknown characters."""
    before_word: str = ""
    """What stands before a word inside a line, if the library does not add it."""
    messages: list[str] = field(default_factory=list)

    @property
    def texts(self) -> set[bytes]:
        """What the tokens stand for. A space before a word is a space, the end of a word is NUL."""
        marks = self.marks
        return {
            marks.text(token) + b"\0" * bool(marks.position(token).ends)
            if marks.is_spelled(token)
            else token.encode()
            for token in self.tokens
        }


def open_engine(path: Path) -> Engine:
    """The tokenizer in a file or folder: encoded by volt if it can, else by its own library."""
    if path.name == "volt.json" or (path / "volt.json").exists():
        return from_volt(load(path))
    try:
        original = read_tokenizer(path, lists=True)
        return from_volt(Tokenizer(original.vocabulary), original.messages)
    except VoltError as error:
        reason = error
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.suffix == ".json" and file.exists():
        engine = from_tokenizers(str(path), read_bytes(file).decode(errors="replace"))
    elif file.suffix == ".model" and file.exists():
        engine = from_sentencepiece(str(path), read_bytes(file))
    else:
        raise reason
    return replace(engine, messages=[f"not read by volt: {reason}"])


def from_volt(tokenizer: Tokenizer, messages: Iterable[str] = ()) -> Engine:
    vocabulary = tokenizer.vocabulary
    return Engine(
        library="volt",
        size=len(vocabulary),
        encode=tokenizer.encode_batch,
        decode=tokenizer.decode,
        tokens=vocabulary.of_kind(*SPELLED),
        marks=vocabulary.marks,
        unknown_id=vocabulary.unknown_id,
        byte_ids=frozenset(i for i, one in enumerate(vocabulary.tokens) if one.kind == "byte"),
        before_word=" " if vocabulary.rule.mode.byte_level else "",
        messages=list(messages),
    )


def from_tokenizers(name: str, data: str) -> Engine:
    """A `tokenizer.json`, run by Hugging Face's `tokenizers`."""
    library = need("tokenizers", "hf")
    try:
        tokenizer = library.Tokenizer.from_str(data)
    except Exception as error:  # the library raises plain Exception
        raise InputError(f"{name} is not a tokenizer.json: {error}") from None
    # What a file says of padding and of longest lines is meant for another use.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    model = json.loads(tokenizer.to_str())["model"]
    unknown = model.get("unk_id")  # a Unigram model has it by number, the others by name
    if model.get("unk_token") is not None:
        unknown = tokenizer.token_to_id(model["unk_token"])
    own = tokenizer.get_vocab(with_added_tokens=False)
    spelled = set(BYTE_TOKENS) if model.get("byte_fallback") else set()

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [one.ids for one in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    return Engine(
        library=f"tokenizers {library.__version__}",
        size=1 + max(tokenizer.get_vocab().values(), default=-1),  # some ids may have no token
        encode=encode,
        decode=tokenizer.decode,
        tokens=list(own),
        marks=_marks_of(own),
        unknown_id=unknown,
        byte_ids=frozenset(own[token] for token in spelled & own.keys()),
        before_word=" ",
    )


def from_sentencepiece(name: str, data: bytes) -> Engine:
    """A SentencePiece model, run by SentencePiece."""
    library = need("sentencepiece", "sentencepiece")
    try:
        model = library.SentencePieceProcessor(model_proto=data)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{name} is not a SentencePiece model: {error}") from None
    ids = range(model.get_piece_size())
    first = model.encode("a", out_type=str)[0]
    return Engine(
        library=f"sentencepiece {library.__version__}",
        size=len(ids),
        encode=lambda texts: list(model.encode(list(texts))),
        decode=model.decode,
        tokens=[
            model.id_to_piece(i)
            for i in ids
            if not (model.is_control(i) or model.is_unknown(i) or model.is_byte(i))
        ],
        marks=SPACE,
        unknown_id=model.unk_id(),
        byte_ids=frozenset(i for i in ids if model.is_byte(i)),
        before_word="" if first.startswith(SPACE_MARK) else " ",
    )


def _marks_of(tokens: Iterable[str]) -> Marks:
    """The marks that most tokens use."""
    found = marks_used(tokens)
    most = max(found, key=lambda marks: found[marks])
    return most if found[most] else UNMARKED
