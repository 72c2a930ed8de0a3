"""Refit: other people's tokenizers, cut to the tokens that fit a text.

The tokens that a tokenizer has are the candidates, their frequencies are measured on the text, and
size and tokens are chosen as in `learn`. How text is cut into words stays, and the rank or score of
every token that stays; old ids are mapped to new ones.

Why every token of a refitted vocabulary is encoded as itself. A token is always merged from the
same two (merge_pairs.py), these from the same two again, and so on. If a vocabulary keeps
all of them, with their ranks, then the merges that were first due in the token's text are there and
still first due. So tokens are kept with all they are made from. Where tokens are looked up, taking
others away takes competitors away.

Why it encodes all text that the old one could: every character, byte token and special token stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from volt.adapting import whole_words
from volt.adapting.checkpoint import Checkpoint
from volt.adapting.conversation import what_stays
from volt.adapting.own_candidates import (
    OwnedMerges,
    OwnedPieces,
    own_merges,
    own_pieces,
    restrict,
)
from volt.adapting.residues import without_residues
from volt.adapting.subject import Changed, RefitResult, Subject
from volt.adapting.words import FittingText
from volt.base.errors import InputError, SettingsError
from volt.base.lines import WARNING
from volt.base.options import accepts, options_of
from volt.base.progress import Progress
from volt.base.shown import plural
from volt.choosing.choice import Choice, choose_size, fixed_choice
from volt.choosing.size_problem import SizeProblem
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.marks import byte_of
from volt.foreign.original import AnyTokenizer
from volt.proposing.base import rows_of
from volt.proposing.pieces import CURVE_SIZES
from volt.proposing.tokens import Token
from volt.settings import GONE, ChoiceSettings, CountSettings
from volt.tokenizing.merge_pairs import last_pairs
from volt.tokenizing.signature import choice_fields
from volt.tokenizing.vocabulary import Vocabulary

LONGER = 0.005
"""By how much a text gets longer in tokens, relative, before that is said of its model."""


@accepts(CountSettings, ChoiceSettings, gone=GONE)
def refit(
    tokenizer: AnyTokenizer,
    on: WordCounts | Text | Iterable[Text],
    *,
    model: str | os.PathLike[str] | None = None,
    form: str | None = None,
    pattern: str | None = None,
    residues: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RefitResult:
    """The smaller vocabulary, of a tokenizer's own tokens, that fits a text.

    `model` is the folder of a Hugging Face checkpoint that uses this tokenizer: its matrices are
    cut to the new vocabulary when the result is saved. `pattern` is how the tokenizer cuts text, if
    its files do not say it. Unless `for_model` is given, the cost of a size is that of `model`.
    With `residues`, only tokens go that the text makes, but never shows.

    >>> import volt
    >>> found = volt.refit(tokenizer.vocabulary, [["low flow blow"] * 30], size=272)
    >>> len(tokenizer), len(found.vocabulary)
    (274, 272)
    """
    named = "for_model" in options
    settings = ChoiceSettings.take(options)
    if settings.profile in ("literal", "released"):
        raise SettingsError(
            f"`profile={settings.profile}` is for the candidates of BPE: `learn` has it, `refit` "
            "has only `profile=paper`"
        )
    if residues:
        _check_no_choice(settings)
    if settings.size is not None:
        for name in ("profile", "sizes", "criterion"):
            if getattr(settings, name) is not None:
                raise SettingsError(
                    f"`size` is the answer, so `{name}` chooses nothing: leave one of the two out"
                )
    # 1. The tokenizer, the model that uses it, the words of the text.
    subject = Subject.opened(
        tokenizer, FittingText(on, options), form, pattern, model, threads, progress
    )
    subject.messages.extend(what_stays(subject.original, subject.spoken))
    messages, pinned = subject.messages, subject.pinned
    if subject.whole and not residues:
        engine, documents, used = subject.used_words()
        messages.append(whole_words.what_is_lost(engine))
        done = subject.of_whole(
            documents, whole_words.kept_tokens(engine, used, pinned, settings.size), []
        )
        _hint_at_training(done)
        return done
    old, counts = _with_last_pairs(subject.original.vocabulary), subject.counts()
    if residues:
        left = without_residues(old, counts, pinned, subject.threads, subject.original.idle)
        messages += left.messages
        new = Changed("refit", left.vocabulary, left.id_map, {"residues": "removed"})
        done = subject.result(old, new, counts, rerouted=left.rerouted)
        if done.dropped:
            messages.append(subject.what_changed(done))
        _hint_at_extend(done)
        return done
    pinned |= _stays_spelled(old, messages)
    if subject.checkpoint is not None and settings.size is None and not named:
        settings = _for_checkpoint(settings, subject.checkpoint, messages)

    # 2. Its tokens as candidates, with frequencies measured on the text; the choice among them.
    def proposed(part: WordCounts, told: Progress) -> OwnedMerges | OwnedPieces:
        return _candidates(old, part, pinned, subject.threads, told)

    found = proposed(counts, subject.progress)
    problem = SizeProblem(
        found, settings, counts, lambda part: proposed(part, Progress()), old.unknown == "byte",
        subject.threads, subject.progress,
    )  # fmt: skip
    choice = _choose(found, problem)
    messages += choice.messages

    # 3. The vocabulary of what was chosen.
    wanted = found.always.union(found.ids[choice.chosen].tolist())
    pins = {"pin": ",".join(map(str, sorted(pinned))) or "none"}
    details = choice_fields(choice, settings) | pins
    new = Changed("refit", *restrict(old, found.kept_ids(choice.chosen), wanted), details)
    done = subject.result(old, new, counts, choice=choice)
    _hint_at_extend(done)
    _hint_at_training(done)
    return done


def _check_no_choice(settings: ChoiceSettings) -> None:
    """Nothing is chosen where only residues go."""
    default = ChoiceSettings()
    given = [f"`{name}`" for name in options_of(ChoiceSettings)
             if getattr(settings, name) != getattr(default, name)]  # fmt: skip
    if given:
        raise SettingsError(
            "`residues` takes out every residue that can go and chooses no size: leave out "
            f"{', '.join(given)}, or `residues`"
        )


def _hint_at_extend(done: RefitResult) -> None:
    """What to do if the tokenizer hardly knows the script of the text."""
    vocabulary = done.vocabulary
    partial = sum(token.frequency for token in vocabulary.tokens
                  if not _of_whole_characters(vocabulary, token))  # fmt: skip
    whole = sum(token.frequency for token in vocabulary.tokens)
    if 2 * partial > whole:
        done.messages.insert(
            0,
            f"{WARNING}{partial / whole:.0%} of the tokens of this text are parts of characters or "
            "unknown: the tokenizer hardly knows its script; extend adds tokens for it",
        )


def _hint_at_training(done: RefitResult) -> None:
    """What the choice of a size does not say: it goes by a model trained with the new tokens."""
    before, after = done.before.tokens, done.after.tokens
    if done.checkpoint is None or after < (1 + LONGER) * before:
        return
    done.messages.append(
        f"the text is cut into {after / before - 1:.0%} more tokens, and the model was not trained "
        "on text cut this way: train it on before you use it, or keep more tokens with `size`"
    )


def _of_whole_characters(vocabulary: Vocabulary, token: Token) -> bool:
    if token.kind == "byte":
        byte = byte_of(token.text)
        return byte is None or byte < 0x80
    if token.kind in ("special", "symbol"):
        return token.text != vocabulary.unknown_token
    try:
        (vocabulary.plain_text(token.text) or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _for_checkpoint(
    settings: ChoiceSettings, checkpoint: Checkpoint, messages: list[str]
) -> ChoiceSettings:
    """The cost of a size is that of the model to be cut."""
    found = checkpoint.for_model
    if found is None:
        messages.append(
            f"{checkpoint.folder}: its parameters can't be counted, so the cost is that of "
            f"`for_model={settings.for_model}`; name its size with `for_model`"
        )
        return settings
    body, _, width = found.partition(":")
    messages.append(
        f"the cost is that of {checkpoint.folder}: {int(body):,} parameters outside the "
        f"embeddings, width {int(width):,}; `for_model` names another"
    )
    return replace(settings, for_model=found)


def _with_last_pairs(vocabulary: Vocabulary) -> Vocabulary:
    """Under rule `concat` any two tokens of a lower rank will do for parents: take those that text
    merges a token from, if they are, so that a smaller vocabulary needs no others."""
    if vocabulary.merge_rule != "concat" or vocabulary.look_up is not None:
        return vocabulary
    last, ids, tokens = last_pairs(vocabulary), vocabulary.ids, vocabulary.tokens

    def token(one: Token) -> Token:
        if one.parents is None or one.text not in last:
            return one
        left, right = (ids[part] for part in last[one.text])
        lower = max(tokens[left].rank, tokens[right].rank) < one.rank
        return one._replace(parents=(left, right)) if lower else one

    return replace(vocabulary, tokens=[token(one) for one in tokens])


def _candidates(
    old: Vocabulary, counts: WordCounts, pinned: frozenset[int], threads: int, progress: Progress
) -> OwnedMerges | OwnedPieces:
    """The tokenizer's own tokens, with frequencies measured on the text."""
    if old.look_up is None:
        return own_merges(old, counts, order="use", pinned=pinned, threads=threads)
    with progress.stage("Cutting words", CURVE_SIZES, "sizes") as report:
        return own_pieces(old, counts, pinned=pinned, threads=threads, report=report)


def _choose(found: OwnedMerges | OwnedPieces, problem: SizeProblem) -> Choice:
    settings = problem.settings
    if settings.size is not None:
        least, most = (rows_of(found, chosen) for chosen in (np.zeros(0, np.int64),
                                                             found.ranking()))  # fmt: skip
        if settings.size < least:
            raise SettingsError(
                f"`size={settings.size}` has no room for the {least:,} special tokens, bytes and "
                "characters that always stay: ask for more"
            )
        if settings.size > most:
            raise SettingsError(
                f"`size={settings.size}`: special ones included, the tokenizer has only {most:,} "
                "tokens that text gives; extend adds some"
            )
        return fixed_choice(found, settings.size, settings.rank)
    if found.in_use < 2:
        droppable = len(found.vocabulary) - len(found.kept_ids(found.ranking()[:0]))
        raise InputError(
            f"of the {droppable:,} tokens that could be dropped, the text has "
            f"{found.in_use or 'none'}: too few to choose a size; is this text that the tokenizer "
            "was made for? If you give the `size` there is nothing to choose"
        )
    return choose_size(problem)


def unspelled(old: Vocabulary) -> dict[int, str]:
    """Tokens with a character that is not a token itself, and that character. Without them, text
    with that character would be unknown, unless unknown characters are spelled in bytes."""
    if old.unknown == "byte" or old.look_up is None:
        return {}
    mark = old.look_up.mark
    single = {token.text for token in old.tokens if token.kind == "character"}
    found: dict[int, str] = {}
    for number, token in enumerate(old.tokens):
        if token.kind != "piece":
            continue
        inner = old.is_inner(token.text)
        for place, character in enumerate(token.text.removeprefix(mark) if inner else token.text):
            form = mark + character if mark and (inner or place > 0) else character
            if form not in single:
                found[number] = form
    return found


def _stays_spelled(old: Vocabulary, messages: list[str]) -> frozenset[int]:
    """The tokens that can't go since they have a character that no other token spells."""
    found = unspelled(old)
    if found and old.encoding == "longest":
        number, form = next(iter(found.items()))
        text = old.tokens[number].text
        raise SettingsError(
            f"{form!r}, a part of {text!r}, is not a token of the tokenizer: without {text!r} "
            "words with it would be unknown; it can't be refitted"
        )
    if found:
        number, form = next(iter(found.items()))
        messages.append(
            f"{plural(len(found), 'token')} kept, such as {old.tokens[number].text!r}: no other "
            f"token has these characters ({form!r})"
        )
    return frozenset(found)
