"""Opening any tokenizer: what it is, which library runs it, and whether volt's encoder may.

volt's encoder runs a file only if it gives the ids of the file's own library on 2,000 built-in
texts and on the text at hand. Otherwise the library runs it, and one line says why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from volt.base.errors import UnreadableError, VoltError
from volt.base.gate import named, read_bytes
from volt.counting.marks import SPACE_MARK
from volt.foreign.base import Engine
from volt.foreign.check_lines import texts_for
from volt.foreign.checked_text import checked_texts
from volt.foreign.gguf import open_gguf
from volt.foreign.huggingface import HuggingFace
from volt.foreign.marian import MarianMT
from volt.foreign.rwkv import Rwkv
from volt.foreign.sentencepiece import SentencePieceModel
from volt.foreign.tiktoken import TikToken, open_ranks, open_tekken
from volt.foreign.vocab_files import BertVocabulary, open_clip, open_pair
from volt.foreign.volt_engine import Native
from volt.formats import huggingface, sentencepiece, tiktoken
from volt.formats.assembly import Parsed, assemble
from volt.formats.detect import FILE_KINDS, Identified, identify, not_read
from volt.formats.exchange import import_vocabulary
from volt.formats.huggingface.folder import read_roles
from volt.formats.reasons import INSTEAD
from volt.tokenizing.loading import load
from volt.tokenizing.roles import NAMED, as_usual
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

AFTER_A_LETTER = re.compile(f"[^{SPACE_MARK}]{SPACE_MARK}")
MOST_TRIED = 20
"""Tokens over two words; a library ends words before all spaces or before none."""
LONGEST_REASON = 200
"""Characters of why volt can't encode a file that are shown."""
NO_LIBRARY = ("subword-nmt", "opennmt", "fairseq", "marian", "text")
"""What volt reads itself: the files say all, and there is no library to compare with."""


@dataclass(frozen=True)
class Opened:
    """A tokenizer that can encode, and what to say of it."""

    engine: Engine
    said: str
    """What it is, which engine runs it, and why not volt's if it is not."""

    @property
    def messages(self) -> list[str]:
        """Without what says nothing: a vocabulary of volt is encoded by volt."""
        said = [] if self.said == FILE_KINDS["volt"].said else [self.said]
        return [*said, *self.engine.messages]


def open_engine(
    path: str | os.PathLike[str],
    *,
    form: str | None = None,
    pattern: str | None = None,
    texts: Sequence[str] = (),
    native: bool = True,
) -> Opened:
    """Open a tokenizer of any toolkit. `texts` are what it is going to encode: volt's encoder is
    checked on them, too. `pattern` is how it cuts text, where its files do not say it: the name of
    a byte-level pre-tokenizer, or a regular expression."""
    place = named(path)
    found = identify(place) if form is None or place.is_dir() or not place.exists() else None
    if found is None or (form is not None and found.kind != _kind_of(form)):
        found = Identified(_kind_of(form or ""), place)
    if found.kind == "volt":
        said = found.said
        if place.is_dir() and (beside := not_read(found)):
            said = f"{said} (volt.json); beside it, not read: {', '.join(beside)}"
        return Opened(Native(load(place), "volt"), said)
    if found.kind in NO_LIBRARY or found.kind not in FILE_KINDS:
        vocabulary, messages = import_vocabulary(place, form)
        engine: Engine = Native(Tokenizer(vocabulary), found.kind)
        engine.messages += messages
        said = FILE_KINDS[found.kind].said if found.kind in FILE_KINDS else f"a {found.kind} file"
        return Opened(engine, f"{said}, read and encoded by volt itself")
    own = _library_engine(place, found, pattern)
    if own.library == "volt":
        return Opened(own, f"{found.said}, read and encoded by volt itself")
    if not native:
        return Opened(own, f"{found.said}, encoded by {own.library}")
    return _checked(own, found.said, texts)


def _kind_of(form: str) -> str:
    return next((name for name, kind in FILE_KINDS.items() if kind.form == form), form)


def _library_engine(place: Path, found: Identified, pattern: str | None) -> Engine:
    folder = found.file.parent if place.is_dir() or found.file.name in FOLDER_NAMES else None
    file = found.file / "tokenizer.json" if found.file.is_dir() else found.file
    openers: dict[str, Callable[[], Engine]] = {
        "hf": lambda: HuggingFace(str(file), read_bytes(file), folder=folder),
        "sentencepiece": lambda: SentencePieceModel(
            str(file), read_bytes(file), folder=folder if place.is_dir() else None,
            file_name=file.name,
        ),
        "tiktoken": lambda: open_ranks(file, pattern, is_alone=not place.is_dir()),
        "tekken": lambda: open_tekken(file),
        "gpt2": lambda: open_pair(place if place.is_dir() else place.parent, pattern),
        "bert": lambda: BertVocabulary(file),
        "marian-mt": lambda: MarianMT(file.parent),
        "clip": lambda: open_clip(file, pattern),
        "rwkv": lambda: Rwkv(file),
        "gguf": lambda: open_gguf(file, pattern),
    }  # fmt: skip
    return openers[found.kind]()


FOLDER_NAMES = ("tokenizer.json",)
"""A file of this name is read with the files beside it."""


def _checked(own: Engine, said: str, texts: Sequence[str]) -> Opened:
    try:
        vocabulary = native_vocabulary(own)
        if vocabulary is None:
            why = "volt has no encoder for it"
        elif vocabulary.rule.mode.custom:
            why = "volt runs its pattern in Python, which is slower"
        else:
            native = Native(Tokenizer(vocabulary), own.kind, own)
            difference = first_difference(native, own, texts)
            reaching = token_over_words(vocabulary, own) if difference is None else None
            if reaching is not None:
                why = f"volt cuts words inside of the token {reaching[:40]!r}"
            elif difference is None:
                mine = "" if not texts else " and on yours"
                line = (f"{said}, encoded by volt: the same ids as {own.library} on the built-in "
                        f"texts{mine}")  # fmt: skip
                return Opened(native, line)
            else:
                why = f"volt gives other ids for {difference[:60]!r}"
    except UnreadableError:
        raise
    except VoltError as error:
        why = str(error).removeprefix(f"{own.name}: ").removesuffix(f"; {INSTEAD}")
        why = f"not by volt: {why if len(why) <= LONGEST_REASON else why[:LONGEST_REASON] + ' ...'}"
    return Opened(own, f"{said}, encoded by {own.library}: {why}")


def native_vocabulary(own: Engine) -> Vocabulary | None:
    """The file of an engine as a vocabulary of volt; None or an error if there is none."""
    parsed = parse_engine(own)
    if parsed is None:
        return None
    if own.roles is not None:
        special = {name for name, kind in parsed.kinds.items() if kind == "special"}
        known: dict[str, Any] = {role: None for role in NAMED
                                 if getattr(own.roles, role) not in special}  # fmt: skip
        parsed.roles = as_usual(replace(own.roles, **known), parsed.unknown_token, special)
    vocabulary = assemble(parsed)
    own.messages += [one for one in parsed.messages if one not in own.messages]
    return vocabulary


def parse_engine(own: Engine) -> Parsed | None:
    """What an engine runs, as far as volt has such an encoder."""
    if isinstance(own, HuggingFace):
        parsed = huggingface.parse(own.name, own.head, own.columns, exact=True)
        read_roles(parsed, own.head, own.folder or Path(own.name))
        return parsed
    if isinstance(own, SentencePieceModel):
        parsed = sentencepiece.parse(own.name, own.proto.SerializeToString())
        if own.folder is not None:
            sentencepiece.add_after(parsed, own.folder)
            read_roles(parsed, None, own.folder)
        return parsed
    if isinstance(own, TikToken):
        return tiktoken.parse(own.name, own.ranks, own.pattern, own.special, own.offset)
    return None


def token_over_words(vocabulary: Vocabulary, own: Engine) -> str | None:
    """A token that goes on after a space, if the library does not end words there: texts that have
    it may be rare."""
    if not vocabulary.rule.mode.space_before:
        return None
    found = (name for name in vocabulary.of_kind("merged", "piece")
             if AFTER_A_LETTER.search(name))  # fmt: skip
    for name in islice(found, MOST_TRIED):
        if any(map(AFTER_A_LETTER.search, own.words(name.replace(SPACE_MARK, " ")))):
            return name
    return None


def first_difference(one: Engine, other: Engine, texts: Sequence[str]) -> str | None:
    """The first built-in or given text that two engines encode differently."""
    for lot in (texts_for(other), checked_texts(texts)):
        for text, mine, theirs in zip(
            lot, one.encode_batch(lot), other.encode_batch(lot), strict=True
        ):
            if mine != theirs:
                return text
    return None
