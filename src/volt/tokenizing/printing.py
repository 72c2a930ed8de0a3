"""Tokens as words of a line: how they are printed, and read back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import get_args

from volt import _core
from volt.base.checks import check_choice
from volt.base.errors import SettingsError
from volt.counting.marks import WORD_END
from volt.proposing.tokens import SPELLED, packed
from volt.settings import TextForm
from volt.tokenizing.vocabulary import Vocabulary

_UNPRINTABLE = re.compile(r"[\s\x1c-\x1f\x85\u180e]|\\(?=u\{)")
_PRINTED = re.compile(r"\\u\{([0-9A-F]{1,6})\}")


def printed_token(token: str) -> str:
    r"""A token with white space and line ends as `\u{...}`."""
    return _UNPRINTABLE.sub(_print_character, token)


def _print_character(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):X}}}"


def read_printed(printed: str) -> str:
    """The token that `Tokenizer.printed` prints like this."""
    return _PRINTED.sub(lambda found: chr(int(found[1], 16)), printed)


def written_tokens(vocabulary: Vocabulary, form: TextForm) -> list[str]:
    """What stands for every id in a line of text (see `Tokenizer.written`)."""
    check_choice("form", form, get_args(TextForm))
    printed = [printed_token(token.text) for token in vocabulary.tokens]
    if form == "tokens":
        return printed
    if form == "ids":
        return [*map(str, range(len(printed)))]
    if vocabulary.rule.mode.marks is not WORD_END:
        raise SettingsError(
            "`form` 'subword-nmt' is for vocabularies learned with `pretokenizer='whitespace'`"
        )
    tokens = zip(printed, vocabulary.tokens, strict=True)
    found = [WORD_END.joined(_raw(one.text)) if one.kind in SPELLED else text
             for text, one in tokens]  # fmt: skip
    if twice := next((text for text, count in Counter(found).items() if count > 1), None):
        raise SettingsError(
            f"`form` 'subword-nmt' writes two tokens as {twice!r}: the text has its mark itself"
        )
    return found


def _raw(token: str) -> str:
    """As subword-nmt writes it: only a space or a line end would end the token."""
    return printed_token(token) if " " in token or "\n" in token else token


def print_table(texts: Iterable[str]) -> _core.PrintTable:
    return _core.PrintTable(*packed([text.encode() for text in texts]))
