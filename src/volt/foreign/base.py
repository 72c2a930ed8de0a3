"""Engine: a tokenizer of any toolkit, as `compare`, `verify`, `refit` and `extend` know it.

An engine encodes and decodes, says what its tokens are, cuts text into the words that its model
sees, and rewrites its own file for other tokens. One module per library, and `volt_engine.py`
for volt's own encoder.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError, SettingsError
from volt.counting.marks import UNMARKED, Marks, byte_of, marks_used
from volt.tokenizing.roles import Roles

if TYPE_CHECKING:
    from volt.foreign.inner import Inner


NO_MEMORY = re.compile("memory allocation|out of memory|pointer is null", re.IGNORECASE)


@contextmanager
def library_errors(message: str) -> Iterator[None]:
    """What a library raises, which may be a plain `Exception` or a panic, as an `InputError`. Too
    little memory stays what it is: a smaller text or another computer is the answer to it."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        if NO_MEMORY.search(str(error)):
            raise MemoryError(str(error)) from None
        raise InputError(f"{message}: {str(error)[:300]}") from None


@dataclass(frozen=True)
class Added:
    """A token that is appended to a file."""

    text: str
    """As the file spells it, marks included."""
    parts: tuple[int, ...]
    """The old tokens that it is made of; empty for a new character."""
    pairs: tuple[tuple[str, str], ...] = ()
    """The merges that make it, of tokens that come before it; none for a new character."""
    score: float = 0.0
    """Of Unigram models."""


@dataclass(frozen=True, eq=False)
class Change:
    """Another vocabulary for a file: which tokens stay, and which come after them."""

    id_map: NDArray[np.int64]
    """Old id to new id; -1 for a token that is dropped."""
    added: list[Added] = field(default_factory=list)
    rerouted: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Merges that are replaced: the old pair, and the pair that makes the same token instead, which
    may be the same. All other pairs that make it go."""
    notes: list[str] = field(default_factory=list)
    """What to know about the files, once they are rewritten."""

    @property
    def kept(self) -> int:
        return int(self.id_map.max(initial=-1)) + 1

    @property
    def size(self) -> int:
        return self.kept + len(self.added)

    def spelled(self, spell: Callable[[str], str]) -> Change:
        """The same with tokens as `spell` writes them."""

        def both(pair: tuple[str, str]) -> tuple[str, str]:
            return spell(pair[0]), spell(pair[1])

        added = [replace(one, text=spell(one.text), pairs=tuple(map(both, one.pairs)))
                 for one in self.added]  # fmt: skip
        rerouted = {both(old): both(new) for old, new in self.rerouted.items()}
        return replace(self, added=added, rerouted=rerouted)

    def new_id(self, number: Any, where: str) -> int:
        if type(number) is not int or not 0 <= number < len(self.id_map):
            raise SettingsError(f"{where}: {str(number)[:40]!r} is not a token")
        if self.id_map[number] < 0:
            raise SettingsError(f"{where}: token {number} was dropped")
        return int(self.id_map[number])


class Engine(ABC):
    """A tokenizer, whichever library runs it. Ids are those of the tokenizer's own library."""

    name: str = ""
    """Of its file, for messages."""
    library: str
    """`volt`, or the name and version of the library."""
    kind: str
    """A key of `volt.formats.detect.FILE_KINDS`."""
    names: list[str | None]
    """Every token by id, as its file spells it; None for an id without a token."""
    named: frozenset[int] = frozenset()
    """Special, control and added tokens: they are found by their names, or never."""
    unknown_id: int | None = None
    byte_ids: frozenset[int] = frozenset()
    """The byte tokens that spell unknown characters."""
    before_word: str = ""
    """What stands before a word inside a line, if the library does not add it."""
    whole: bool = False
    """Is every word one token or unknown? So it is with models of words and of characters."""
    by_lines: bool = False
    """Does it read lines? Then a line end is not text to it."""
    roles: Roles | None = None
    """What special tokens are for, if the file says it in a way of its own."""
    messages: list[str]

    @property
    def named_texts(self) -> list[str]:
        """The names of `named`, by id."""
        return [name for i in sorted(self.named) if (name := self.names[i])]

    @property
    def found(self) -> Iterable[str]:
        """The names that are found in text. SentencePiece and tiktoken do not look for them."""
        return ()

    @property
    def around(self) -> tuple[list[str], list[str]] | None:
        """The tokens that go before and after a text, where they are asked for; None if its files
        do not say it."""
        return None

    @property
    def size(self) -> int:
        """Rows of the embedding table."""
        return len(self.names)

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of whole documents, without the special tokens that a model expects around them.
        Names in the text are what the library takes them for."""

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_fitting(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts that it is fitted to: by the side of a translation model that fits."""
        return self.encode_batch(texts)

    @abstractmethod
    def decode(self, ids: list[int]) -> str: ...

    @abstractmethod
    def words(self, text: str) -> list[str]:
        """The words of a text as its model sees them: normalized, with marks."""

    @abstractmethod
    def inner(self) -> Inner:
        """The model that encodes words: its tokens, merges or scores."""

    @abstractmethod
    def rewrite(self, change: Change) -> dict[str, bytes]:
        """The tokenizer's own files with another vocabulary; everything else stays."""

    @cached_property
    def unknown_ids(self) -> frozenset[int]:
        """The tokens of characters that it lacks: `<unk>`, and byte tokens but for those of line
        ends, which are one token as a byte, too."""
        spelled = frozenset(i for i in self.byte_ids if self.plain[i] not in (b"\n", b"\r"))
        return spelled | ({self.unknown_id} if self.unknown_id is not None else set())

    @cached_property
    def spelled(self) -> list[str]:
        """The tokens that stand for text."""
        left_out = {*self.named, *self.byte_ids}
        return [name for i, name in enumerate(self.names) if name is not None and i not in left_out]

    @cached_property
    def marks(self) -> Marks:
        """The marks that most tokens use."""
        found = marks_used(self.spelled)
        most = max(found, key=lambda marks: found[marks])
        return most if found[most] else UNMARKED

    @cached_property
    def plain(self) -> list[bytes | None]:
        """The bytes of text that each token stands for; None for names, unknown and empty ids."""
        return [self._plain(i, name) for i, name in enumerate(self.names)]

    def _plain(self, number: int, name: str | None) -> bytes | None:
        if name is None or number in self.named or number == self.unknown_id:
            return None
        if number in self.byte_ids:
            return bytes([byte_of(name)])
        return self.marks.text(name) if self.marks.is_spelled(name) else name.encode()

    @cached_property
    def partial_ids(self) -> frozenset[int]:
        """The tokens that are part of a character: their bytes are not UTF-8."""
        return frozenset(i for i, data in enumerate(self.plain) if data and not is_utf8(data))

    @cached_property
    def texts(self) -> set[bytes]:
        """What the tokens stand for. A space before a word is a space, the end of a word is NUL."""
        marks = self.marks
        return {
            marks.text(name) + b"\0" * bool(marks.position(name).ends)
            if marks.is_spelled(name)
            else name.encode()
            for name in self.spelled
        }


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def by_id(numbers: Iterable[tuple[str, int]]) -> list[str | None]:
    """Tokens by id; the first name of an id counts."""
    found: dict[int, str] = {}
    for name, number in numbers:
        found.setdefault(number, name)
    return [found.get(i) for i in range(max(found, default=-1) + 1)]
