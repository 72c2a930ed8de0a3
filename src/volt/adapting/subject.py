"""What refit and extend share: the tokenizer with its text and its model, and the result, which
writes the files."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.adapting.checkpoint import (
    TOKENIZER_FILES,
    Checkpoint,
    NewRows,
    RowMaker,
    open_checkpoint,
)
from volt.adapting.conversation import template_tokens
from volt.adapting.own_candidates import restrict
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
from volt.base.output import atomic_folder, write_array
from volt.base.progress import Progress
from volt.base.shown import json_text
from volt.choosing.choice import Choice
from volt.counting.counts import WordCounts
from volt.foreign.base import Added, Change, Engine
from volt.foreign.engine_choice import open_engine
from volt.foreign.original import AnyTokenizer, Original, open_original
from volt.formats.detect import REFITTED
from volt.formats.exchange import check_pattern
from volt.formats.huggingface.folder import names_after, renumbering_class
from volt.proposing.curve import CURVE_ROWS
from volt.proposing.tokens import Kind, Token
from volt.tokenizing.check import measure
from volt.tokenizing.signature import sign, words_fields
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

    def __repr__(self) -> str:
        return f"<RefitResult: {self.before.size:,} tokens -> {self.after.size:,}>"

    @property
    def change(self) -> Change:
        """What is done to the tokenizer's own file."""
        return Change(self.id_map, self.added, self.rerouted)

    @property
    def dropped(self) -> int:
        return int((self.id_map < 0).sum())

    @property
    def changes_model(self) -> bool:
        """Is there a model, and does it get other rows? One that does not is not copied."""
        return self.checkpoint is not None and bool(self.dropped or self.parts)

    def summary(self) -> dict[str, Any]:
        """What refit.json contains: plain data, the same for the same input."""
        vocabulary = self.vocabulary
        kinds: tuple[Kind, ...] = ("special", "symbol", "byte", "character")
        counted = vocabulary.kind_counts
        return {
            "signature": vocabulary.signature,
            "vocabulary_size": len(vocabulary),
            "dropped": self.dropped,
            "added": len(self.parts),
            "scaffolds": vocabulary.scaffolds,
            "unreachable": len(vocabulary.unreachable),
            "always_kept": {kind: counted.get(kind, 0) for kind in kinds},
            "before": asdict(self.before),
            "after": asdict(self.after),
            **({} if self.choice is None else self.choice.summary()),
            "messages": self.messages,
        }  # fmt: skip

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[str]:
        """Write id_map.npy, refit.json, signature.txt, curve.csv if quality chose the size, the
        tokenizer in the format it came in, volt.json if volt encodes as it does, and below model/
        the checkpoint, if tokens came or went; all or nothing. What to know about the files."""
        with atomic_folder(folder, force=force) as temporary:
            if self.original.exact:
                self.vocabulary.save(temporary / "volt.json")
            with (temporary / "id_map.npy").open("wb") as stream:
                write_array(stream, self.id_map)
            signature = self.vocabulary.signature + "\n"
            (temporary / "signature.txt").write_text(signature, encoding="utf-8")
            if self.choice is not None and self.choice.quality is not None:  # for the page
                curve = self.choice.candidates.curve
                rows = {*curve.spread(CURVE_ROWS).tolist(), curve.at_size(self.choice.size)}
                curve.save(temporary / "curve.csv", sorted(rows))
            if self.parts:
                first = len(self.vocabulary) - len(self.parts)
                lines = (f'"{first + i}": {parts}' for i, parts in enumerate(self.parts))
                text = "{\n" + ",\n".join(lines) + "\n}\n"
                (temporary / "parts.json").write_text(text, encoding="utf-8")
            messages = self.original.files(self.vocabulary, self.change, temporary)
            messages = [*messages, *self._other_forms(temporary)]
            if self.checkpoint is not None and not self.changes_model:
                messages.append(
                    f"no token came or went, so the model was not copied: {self.checkpoint.folder} "
                    "stays as it is"
                )
            elif self.checkpoint is not None:
                old = self.checkpoint.folder
                files = self.original.model_files(self.vocabulary, self.change, old)
                new = NewRows(self.id_map, self.parts, self.init)
                told = self.checkpoint.write(temporary / "model", self.vocabulary, new, files)
                messages = [*dict.fromkeys([*messages, *told])]  # both may have the same settings
            summary = {**self.summary(), "messages": [*self.messages, *messages]}
            text = json_text(summary, indent=2) + "\n"
            (temporary / REFITTED).write_text(text, encoding="utf-8")
        return messages

    def _other_forms(self, folder: Path) -> list[str]:
        """What is not written though the folder of the tokenizer has it, with the old tokens."""
        path = self.original.path
        if path is None or not path.is_dir():
            return []
        left = [name for name in TOKENIZER_FILES
                if (path / name).exists() and not (folder / name).exists()]  # fmt: skip
        return [f"not written: {', '.join(left)}, which {path} has besides"] if left else []


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
        if isinstance(tokenizer, (str, os.PathLike)):
            check_pattern(pattern, [tokenizer], form)
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


def open_model(
    model: str | os.PathLike[str], original: Original, messages: list[str]
) -> Checkpoint:
    """The checkpoint, if the tokenizer in its folder has the tokens of this one."""
    vocabulary = original.vocabulary
    checkpoint = open_checkpoint(model, len(vocabulary))
    if original.form == "sentencepiece" and original.path is not None:
        _check_numbers(original, checkpoint.folder)
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


def _check_numbers(original: Original, model: Path) -> None:
    """An error if the model does not number its rows as the SentencePiece model its pieces."""
    folder = original.folder
    kind = renumbering_class(folder) or renumbering_class(model)
    if kind is not None:
        raise InputError(
            f"{original.path}: {kind} of transformers numbers its pieces in another way, and so "
            "does the model. Name a tokenizer.json instead, which transformers writes: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(new)"
        )
    if original.path != folder and original.engine is not None:
        later = names_after(folder, [name or "" for name in original.engine.names])
        if later and folder.resolve() == model.resolve():
            raise InputError(
                f"{original.path}: files beside it add tokens after its pieces: name the folder, "
                f"{folder}"
            )


def _quoted(text: str | None) -> str:
    return "none" if text is None else repr(text[:60])


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
