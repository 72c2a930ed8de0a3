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

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.adapting import whole_words
from volt.adapting.checkpoint import (
    TOKENIZER_FILES,
    Checkpoint,
    NewRows,
    RowMaker,
    open_checkpoint,
)
from volt.adapting.conversation import template_tokens
from volt.adapting.own_candidates import (
    OwnedMerges,
    OwnedPieces,
    own_merges,
    own_pieces,
    restrict,
)
from volt.adapting.residues import without_residues
from volt.adapting.words import (
    Fit,
    FittingText,
    count_for,
    fit,
    fit_engine,
    fitting_documents,
    used_words,
)
from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError, UnreadableError, VoltError
from volt.base.options import accepts, options_of
from volt.base.output import atomic_folder, write_array
from volt.base.progress import Progress
from volt.base.shown import json_text, plural
from volt.choosing.choice import Choice, choose_size, fixed_choice
from volt.choosing.size_problem import SizeProblem
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.marks import byte_of
from volt.foreign.base import Added, Change, Engine
from volt.foreign.engine_choice import open_engine
from volt.foreign.original import AnyTokenizer, Original, open_original
from volt.proposing.base import rows_of
from volt.proposing.pieces import CURVE_SIZES
from volt.proposing.tokens import Kind, Token
from volt.settings import GONE, ChoiceSettings, CountSettings
from volt.tokenizing.check import measure
from volt.tokenizing.merge_pairs import last_pairs
from volt.tokenizing.signature import choice_fields, sign, words_fields
from volt.tokenizing.vocabulary import Vocabulary

MODEL_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
"""Of the files in a model's folder, those that number tokens as the model does."""


@dataclass(frozen=True, eq=False)
class RefitResult:
    """The new vocabulary, and what became of the old one.

    >>> import volt
    >>> found = volt.refit(tokenizer.vocabulary, [["low flow blow"] * 30], size=272)
    >>> len(found.vocabulary), found.dropped
    (272, 2)
    """

    original: Original = field(repr=False)
    vocabulary: Vocabulary
    id_map: NDArray[np.int64] = field(repr=False)
    """Old id to new id; -1 for a token that was dropped."""
    before: Fit
    after: Fit
    messages: list[str]
    choice: Choice | None = field(default=None, repr=False)
    """How the size was chosen; None where tokens were only added."""
    parts: list[list[int]] = field(default_factory=list, repr=False)
    """Of every token that was added, the old tokens it is made of."""
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    added: list[Added] = field(default_factory=list, repr=False)
    """The tokens that were added, for the tokenizer's own file."""
    rerouted: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict, repr=False)
    init: RowMaker | None = field(default=None, repr=False)
    """How the rows of added tokens are made; None: as the mean of their parts."""

    @property
    def change(self) -> Change:
        """What is done to the tokenizer's own file."""
        return Change(self.id_map, self.added, self.rerouted)

    @property
    def dropped(self) -> int:
        return int((self.id_map < 0).sum())

    def summary(self) -> dict[str, Any]:
        """What refit.json contains: plain data, the same for the same input."""
        vocabulary = self.vocabulary
        kinds: tuple[Kind, ...] = ("special", "symbol", "byte", "character")
        return {
            "signature": vocabulary.signature,
            "vocabulary_size": len(vocabulary),
            "dropped": self.dropped,
            "added": len(self.parts),
            "scaffolds": vocabulary.scaffolds,
            "unreachable": len(vocabulary.unreachable),
            "always_kept": {kind: len(vocabulary.of_kind(kind)) for kind in kinds},
            "before": asdict(self.before),
            "after": asdict(self.after),
            **({} if self.choice is None else self.choice.summary()),
            "messages": self.messages,
        }  # fmt: skip

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[str]:
        """Write id_map.npy, refit.json, signature.txt, the tokenizer in the format it came in,
        volt.json if volt encodes as it does, and below model/ the checkpoint; all or nothing. What
        to know about the files."""
        with atomic_folder(folder, force=force) as temporary:
            if self.original.exact:
                self.vocabulary.save(temporary / "volt.json")
            with (temporary / "id_map.npy").open("wb") as stream:
                write_array(stream, self.id_map)
            signature = self.vocabulary.signature + "\n"
            (temporary / "signature.txt").write_text(signature, encoding="utf-8")
            if self.parts:
                first = len(self.vocabulary) - len(self.parts)
                rows = (f'"{first + i}": {parts}' for i, parts in enumerate(self.parts))
                text = "{\n" + ",\n".join(rows) + "\n}\n"
                (temporary / "parts.json").write_text(text, encoding="utf-8")
            messages = self.original.files(self.vocabulary, self.change, temporary)
            messages = [*messages, *self._other_forms(temporary)]
            if self.checkpoint is not None:
                files = {}
                if self.original.form == "hf" or not self.original.exact:
                    files = self.original.rewritten(self.vocabulary, self.change)
                new = NewRows(self.id_map, self.parts, self.init)
                told = self.checkpoint.write(temporary / "model", self.vocabulary, new, files)
                messages = [*dict.fromkeys([*messages, *told])]  # both may have the same settings
            summary = {**self.summary(), "messages": [*self.messages, *messages]}
            text = json_text(summary, indent=2) + "\n"
            (temporary / "refit.json").write_text(text, encoding="utf-8")
        return messages

    def _other_forms(self, folder: Path) -> list[str]:
        """What is not written though the folder of the tokenizer has it, with the old tokens."""
        path = self.original.path
        if path is None or not path.is_dir():
            return []
        left = [name for name in TOKENIZER_FILES
                if (path / name).exists() and not (folder / name).exists()]  # fmt: skip
        return [f"not written: {', '.join(left)}, which {path} has besides"] if left else []


# -------------------------------------------------------------------- what is refitted or extended


@dataclass(frozen=True, eq=False)
class Changed:
    """A vocabulary that was made from another."""

    how: str
    """`refit` or `extend`."""
    vocabulary: Vocabulary
    id_map: NDArray[np.int64]
    details: dict[str, Any]
    """Fields of its signature."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A tokenizer that is refitted or extended, its text, and the model that uses it."""

    original: Original
    text: FittingText
    checkpoint: Checkpoint | None
    spoken: frozenset[int]
    """The tokens that the chat template is encoded as."""
    messages: list[str]
    """What the user should know; grows."""
    threads: int
    progress: Progress

    @classmethod
    def opened(
        cls,
        tokenizer: AnyTokenizer,
        text: FittingText,
        form: str | None,
        pattern: str | None,
        model: str | os.PathLike[str] | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Subject:
        """Whether volt encodes as the tokenizer does is checked on the text, too; what can't be
        read twice is kept."""
        original = open_original(tokenizer, form, pattern, text.look)
        if not original.exact:
            text.keep()
        if original.vocabulary.hidden:
            raise SettingsError(
                f"the tokenizer has {len(original.vocabulary.hidden):,} hidden tokens (encoding "
                "split) that text only passes through: refit and extend take tokenizers without"
            )
        messages = list(original.messages)
        checkpoint = None if model is None else open_model(model, original, messages)
        spoken = template_tokens(original, model, messages)
        progress = progress or Progress()
        return cls(original, text, checkpoint, spoken, messages, thread_count(threads), progress)

    @property
    def pinned(self) -> frozenset[int]:
        """The added tokens, those that the settings of the model name and those of the chat
        template."""
        named = frozenset(() if self.checkpoint is None else self.checkpoint.special_ids)
        return self.original.added | named | self.spoken

    @property
    def whole(self) -> bool:
        """Is it a model of words or characters?"""
        return self.original.engine is not None and self.original.engine.whole

    def counts(self) -> WordCounts:
        """The words of the text, cut as the tokenizer cuts them."""
        text = self.text
        return count_for(self.original, text.on, text.options, self.threads, self.progress)

    def used_words(self) -> tuple[Engine, list[str], Counter[str]]:
        """The engine, the documents, and the words that its model sees in them."""
        assert self.original.engine is not None
        documents = fitting_documents(self.text.on, self.text.options)
        least = self.text.options.get("min_count") or 1
        return self.original.engine, documents, used_words(self.original.engine, documents, least)

    def of_whole(self, documents: list[str], kept: set[int], added: list[Added]) -> RefitResult:
        """A model of words or characters with other tokens."""
        old = self.original.vocabulary
        vocabulary, id_map = restrict(old, kept)
        signature = sign({
            "extend" if added else "refit": hashlib.sha256(old.to_bytes()).hexdigest(),
            "size": len(vocabulary) + len(added),
            "corpus": hashlib.sha256("".join(documents).encode()).hexdigest(),
        })  # fmt: skip
        new = [Token(one.text, "piece") for one in added]
        tokens = [*vocabulary.tokens, *new]
        before, after = self._fit_by_library(documents, Change(id_map, added))
        return RefitResult(
            original=self.original, id_map=id_map, before=before, after=after,
            vocabulary=replace(vocabulary, tokens=tokens, signature=signature),
            messages=self.messages, parts=[list(one.parts) for one in added],
            checkpoint=self.checkpoint, added=added,
        )  # fmt: skip

    def result(self, old: Vocabulary, new: Changed, counts: WordCounts, **more: Any) -> RefitResult:
        """Measured by encoding every word type with it, or by the tokenizer's own library and its
        rewritten file where volt does not encode as the tokenizer does."""
        found = replace(measure(new.vocabulary, counts, self.threads).vocabulary, unit=counts.unit)
        vocabulary = signed(found, new.how, old, counts, new.details)
        done = RefitResult(
            original=self.original, vocabulary=vocabulary, id_map=new.id_map,
            before=fit(old, counts, self.threads), after=fit(vocabulary, counts, self.threads),
            messages=self.messages, checkpoint=self.checkpoint, **more,
        )  # fmt: skip
        if self.original.exact or self.original.engine is None:
            return done
        documents = fitting_documents(self.text.on, self.text.options)
        before, after = self._fit_by_library(documents, done.change)
        return replace(done, before=before, after=after)

    def what_changed(self, done: RefitResult) -> str:
        """How much of the text is encoded differently: of the words that were counted, nothing."""
        what, number = "counted words", 0
        if (
            not isinstance(self.text.on, WordCounts)
            and (self.text.options.get("min_count") or 1) < 2
        ):
            what = "lines of the text"
            if not self.original.exact and self.original.engine is not None:
                documents = fitting_documents(self.text.on, self.text.options)
                lines = [line for one in documents for line in one.splitlines(keepends=True)]
                before = self.original.engine.encode_batch(lines)
                after = self.original.changed(done.change).encode_batch(lines)
                number = sum(done.id_map[one].tolist() != other
                             for one, other in zip(before, after, strict=True))  # fmt: skip
        return (
            f"{what} that are encoded differently: {number:,}; other text is encoded as before, "
            "too, unless it had one of the tokens that were taken out"
        )

    def _fit_by_library(self, documents: list[str], change: Change) -> tuple[Fit, Fit]:
        """How the tokenizer cuts the documents, before and after."""
        assert self.original.engine is not None
        changed = self.original.changed(change)
        return fit_engine(self.original.engine, documents), fit_engine(changed, documents)


# -------------------------------------------------------------------------------------------- refit


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
    # 1. The tokenizer, the model that uses it, the words of the text.
    subject = Subject.opened(
        tokenizer, FittingText(on, options), form, pattern, model, threads, progress
    )
    messages, pinned = subject.messages, subject.pinned
    if subject.whole and not residues:
        engine, documents, used = subject.used_words()
        messages.append(whole_words.what_is_lost(engine))
        return subject.of_whole(
            documents, whole_words.kept_tokens(engine, used, pinned, settings.size), []
        )
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
        done.messages.append(
            f"{partial / whole:.0%} of the tokens of this text are parts of characters or unknown: "
            "the tokenizer hardly knows its script; extend adds tokens for it"
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


def open_model(
    model: str | os.PathLike[str], original: Original, messages: list[str]
) -> Checkpoint:
    """The checkpoint, if the tokenizer in its folder has the tokens of this one."""
    vocabulary = original.vocabulary
    checkpoint = open_checkpoint(model, len(vocabulary))
    file = next((checkpoint.folder / name for name in MODEL_TOKENIZERS
                 if (checkpoint.folder / name).exists()), None)  # fmt: skip
    if file is None:
        messages.append(
            f"{checkpoint.folder}: no {' or '.join(MODEL_TOKENIZERS[:2])}; that the tokenizer is "
            "the model's was not checked"
        )
        return checkpoint
    try:
        theirs = open_engine(file, native=False).engine.names
    except UnreadableError:
        raise
    except VoltError as error:
        messages.append(f"that the tokenizer is the model's was not checked: {error}")
        return checkpoint
    mine = vocabulary.texts if original.engine is None else original.engine.names
    if file.name == "tokenizer.model":  # tokens that were added later are in other files
        mine = mine[: len(theirs)]
    for i, (one, other) in enumerate(zip_longest(theirs, mine)):
        if one != other and not (one is None and file.name == "tokenizer.model"):
            raise InputError(
                f"{file}: token {i} is {_quoted(one)} here, but {_quoted(other)} in the tokenizer "
                "given: it is not the tokenizer of this model"
            )
    return checkpoint


def _quoted(text: str | None) -> str:
    return "none" if text is None else repr(text[:60])


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
                f"`size={settings.size}`: the tokenizer has {most:,} special tokens and tokens "
                "that text gives; extend adds some"
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


def signed(
    vocabulary: Vocabulary,
    how: str,
    old: Vocabulary,
    counts: WordCounts,
    details: dict[str, Any],
) -> Vocabulary:
    """With its signature, which names the old vocabulary by its content."""
    plain = replace(old.with_frequencies([0] * len(old)), signature="", unit=1)
    line = sign({
        how: hashlib.sha256(plain.to_bytes()).hexdigest()[:16],
        **words_fields(vocabulary),
        "cut": counts.rule.max_word_length,
        **details,
        "size": len(vocabulary),
        "unit": counts.unit,
        "corpus": counts.digest(),
    })  # fmt: skip
    return replace(vocabulary, signature=line)
