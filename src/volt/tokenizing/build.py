"""TokenizerPlan -> Tokenizer: the fourth arrow. Chosen candidates become a vocabulary, measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from volt.base.checks import check_choice
from volt.base.errors import SettingsError
from volt.choosing.choice import Choice
from volt.counting.counts import WordCounts
from volt.counting.marks import SPACE_MARK, UNKNOWN
from volt.counting.words import MergeRule, Pretokenizer, Unknown
from volt.proposing.base import Candidates, resolve_unknown
from volt.proposing.tokens import Kind, Tokens
from volt.settings import VocabularySettings
from volt.settings.roles import DEFAULT_SPECIAL
from volt.tokenizing.check import measure
from volt.tokenizing.roles import Roles, check_roles, learned_roles
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import LookUp, Vocabulary, is_text


@dataclass(frozen=True, eq=False)
class TokenizerPlan:
    """What was chosen, and everything else that a vocabulary contains."""

    choice: Choice
    counts: WordCounts
    """What frequencies are measured on."""
    settings: VocabularySettings
    threads: int = 1


def build_tokenizer(plan: TokenizerPlan) -> Tokenizer:
    """The vocabulary of the choice, measured by encoding every word type with it."""
    choice, asked = plan.choice, plan.settings
    vocabulary = build_vocabulary(
        choice.candidates, choice.chosen, merge_rule=asked.merge_rule, unknown=asked.unknown,
        special=asked.special, symbols=asked.symbols, roles=learned_roles(asked),
        unknown_token=asked.unknown_token,
    )  # fmt: skip
    return measure(vocabulary, plan.counts, plan.threads)


def build_vocabulary(
    candidates: Candidates,
    chosen: Iterable[int],
    *,
    merge_rule: MergeRule | None = None,
    unknown: Unknown | None = None,
    special: Sequence[str] = DEFAULT_SPECIAL,
    symbols: Sequence[str] = (),
    roles: Roles = Roles(),  # noqa: B008, frozen
    unknown_token: str = UNKNOWN,
) -> Vocabulary:
    """A vocabulary of chosen candidates (by their ids) and the whole alphabet."""
    mode = candidates.rule.mode
    check_choice("merge_rule", merge_rule, get_args(MergeRule))
    unknown = resolve_unknown(mode, unknown, special, unknown_token)
    fixed = fixed_tokens(mode, unknown, special, symbols)
    entries = candidates.build(np.fromiter(chosen, np.int64), len(fixed))
    tokens = fixed + entries.tokens
    check_unique(tokens.texts + entries.hidden.texts)
    look_up = None
    if candidates.encoding in ("longest", "unigram"):
        if merge_rule is not None:
            raise SettingsError(
                f"`merge_rule` is for tokens that are merged: leave it out with "
                f"`encoding='{candidates.encoding}'`"
            )
        look_up = LookUp(mark=entries.inner_mark, unknown_score=entries.unknown_score)
    vocabulary = Vocabulary(
        rule=candidates.rule,
        tokens=tokens,
        hidden=entries.hidden,
        encoding=candidates.encoding,
        merge_rule=merge_rule or ("concat" if look_up else mode.merge_rule),
        unknown=unknown,
        # SentencePiece and Hugging Face make one unknown token of a run, which needs a known space.
        fuse_unknown=(
            candidates.encoding == "unigram"
            and unknown == "unk"
            and mode.space_before
            and SPACE_MARK in tokens.texts
        ),
        look_up=look_up,
        unknown_token=unknown_token,
        roles=roles,
        unit=candidates.unit,
    )
    check_roles(vocabulary)
    return vocabulary


def fixed_tokens(
    mode: Pretokenizer, unknown: Unknown, special: Sequence[str], symbols: Sequence[str]
) -> Tokens:
    """The first of all tokens: special ones, symbols, and the bytes, if unknown characters are
    spelled in them."""
    kinds: dict[Kind, Sequence[str]] = {
        "special": special,
        "symbol": symbols,
        "byte": mode.byte_tokens(unknown),
    }
    return Tokens.made(
        [text for texts in kinds.values() for text in texts],
        [kind for kind, texts in kinds.items() for _ in texts],
    )


def check_unique(texts: list[str]) -> None:
    if len(set(texts)) == len(texts) and "" not in texts and is_text("".join(texts)):
        return
    seen: set[str] = set()
    for text in texts:
        if not text:
            raise SettingsError("a special token or symbol is empty")
        if not is_text(text):
            raise SettingsError(f"the special token or symbol {text!r} has a lone surrogate")
        if text in seen:
            raise SettingsError(
                f"two tokens are both {text!r}: choose another name for the special token or symbol"
            )
        seen.add(text)
