"""Format: how one kind of file is written and read, and what it can't express."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from volt.base.shown import plural
from volt.counting.words import PRETOKENIZERS, MergeRule, Pretokenizer
from volt.formats.assembly import Parsed
from volt.formats.merges import differing_tokens
from volt.proposing.base import Encoding
from volt.settings import TextForm
from volt.tokenizing.vocabulary import Vocabulary

Written = dict[Path, bytes]
"""What is to be written."""
OF_OTHERS = re.compile(r"volt\|(from|refit|extend):")
"""How the signature of a vocabulary starts that was not learned."""
TO_LEARN = re.compile(r"(;|, or) learn .*", re.DOTALL)
"""Advice at the end of a reason, which is for vocabularies that were learned."""


def nothing(vocabulary: Vocabulary) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True)
class Format:
    """One format: an entry of `volt.formats.FORMATS`."""

    name: str
    toolkit: str
    """Whose format it is, for messages."""
    description: str
    writes: str
    """Which files, for the docs."""
    write: Callable[[Vocabulary, Path], Written]
    """The files at a path, for a vocabulary that is not refused."""
    read: Callable[..., Parsed]
    """From a path."""
    needs_pattern: bool = False
    """Do its files not say how text is cut? Then `read` takes a `pattern`, too."""
    takes: Callable[[Pretokenizer], bool] = lambda mode: True
    """Which text the toolkit knows."""
    encodings: tuple[Encoding, ...] = get_args(Encoding)
    merge_rule: MergeRule | None = None
    """How the toolkit merges. None: the file is a list of tokens, without merges."""
    one_pair_at_a_time: bool = False
    """Does it merge all places of a pair before it looks for the next pair (subword-nmt)?"""
    refusals: Callable[[Vocabulary], Iterator[str]] = nothing
    """Reasons of its own to refuse a vocabulary."""
    notes: Callable[[Vocabulary], Iterator[str]] = nothing
    """What there is to know about a vocabulary that is not refused."""
    names: tuple[str, ...] = ()
    """Names or endings by which its files are recognized."""
    example: tuple[str, str] = ("vocabulary", "")
    """A path to write to, and how to use what is there, for the report."""

    encoded_as: Callable[[Vocabulary], TextForm] = lambda vocabulary: "tokens"
    """How `volt encode` writes text for its files, if these are a list of tokens."""

    def refuse(self, vocabulary: Vocabulary, *, checked: bool = False) -> str | None:
        """Why the format can't express a vocabulary, and what works instead; None if it can.
        `checked`: will a text show how many words the toolkit encodes differently?"""
        reason = next(self._reasons(vocabulary, checked), None)
        if reason is None:
            return None
        if OF_OTHERS.match(vocabulary.signature):
            reason = TO_LEARN.sub("", reason)
        return f"{reason}; {self._instead(vocabulary, checked)}"

    def _instead(self, vocabulary: Vocabulary, checked: bool) -> str:
        """A format with merges or scores that takes the vocabulary, which may not be learned
        again: others may have made it."""
        from volt.formats.registry import FORMATS

        for form in FORMATS.values():
            if form.merge_rule and next(form._reasons(vocabulary, checked), None) is None:
                return f"export to {form.name} works"
        return "volt encode takes it as it is"

    def _reasons(self, vocabulary: Vocabulary, checked: bool) -> Iterator[str]:
        mode, encoding = vocabulary.rule.mode, vocabulary.encoding
        if vocabulary.look_up is not None and encoding not in self.encodings:
            yield (
                f"{self.toolkit} can't express the encoding {encoding}, which looks tokens up; "
                "learn merges (`select='merges'`)"
            )
        if not self.takes(mode):
            taken = next(name for name, other in PRETOKENIZERS.items() if self.takes(other))
            yield (
                f"{self.toolkit} knows text cut by the pre-tokenizer {taken}, not by {mode.name}; "
                f"learn with `pretokenizer='{taken}'`"
            )
        if vocabulary.hidden and "split" not in self.encodings:
            yield (
                f"{self.toolkit} can't express the split encoding: it has no tokens that are "
                f"merged but never returned ({len(vocabulary.hidden):,} here); learn with "
                "`encoding='merge'`"
            )
        yield from self.refusals(vocabulary)
        if self.differs(vocabulary) and not checked and (other := differing_tokens(vocabulary)):
            yield (
                f"{self.merges_differently(other)}; use `check` to name a text that shows how many "
                "words this changes, or learn with `merge_rule='concat'`"
            )

    def differs(self, vocabulary: Vocabulary) -> bool:
        """Does the toolkit merge by rule `concat` what was learned by rule `pairs`?"""
        return (
            self.merge_rule == "concat"
            and vocabulary.merge_rule == "pairs"
            and vocabulary.look_up is None
        )

    def merges_differently(self, tokens: list[str]) -> str:
        return (
            f"{self.toolkit} merges {plural(len(tokens), 'token')}, such as {tokens[0]!r}, from "
            "another pair than in learning (rule concat)"
        )
