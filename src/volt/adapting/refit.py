"""Refit: other people's tokenizers, cut to the tokens that fit a text.

The tokens that a tokenizer has are the candidates, their frequencies are measured on the text, and
size and tokens are chosen as in `learn`. How text is cut into words stays, and the rank or score of
every token that stays; old ids are mapped to new ones.

Why every token of a refitted vocabulary is encoded as itself. A token is always merged from the
same two (volt/formats/merges.py), these from the same two again, and so on. If a vocabulary keeps
all of them, with their ranks, then the merges that were first due in the token's text are there and
still first due. So tokens are kept with all they are made from. Where tokens are looked up, taking
others away takes competitors away.

Why it encodes all text that the old one could: every character, byte token and special token stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt._version import __version__
from volt.adapting.checkpoint import Checkpoint, NewRows, open_checkpoint
from volt.adapting.measured import measure, token_frequencies, token_lengths, word_lengths
from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.output import atomic_folder
from volt.base.progress import Progress
from volt.choosing.choice import Choice, choose
from volt.choosing.criteria import curve_scores, muv
from volt.choosing.entropy import entropy_per_length
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text, find_inputs
from volt.counting.marks import UNKNOWN
from volt.counting.words import WordRule
from volt.formats import FORMATS, detect, export, import_vocabulary
from volt.formats.huggingface import rewritten
from volt.formats.merges import last_pairs
from volt.pipeline import (
    Step,
    _chosen_tokens,
    _counted,
    _drawn_entropies,
    _sizes,
    choose_all,
    draw_scores,
    find_unreachable,
    solve_steps,
)
from volt.pipeline import measure as with_measures
from volt.proposing.frequencies import SizeFrequencies, frequencies_at, rank_candidates
from volt.proposing.merges import Candidates, _resample
from volt.settings import LearnSettings
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.tokens import SPELLED, Kind, Token
from volt.tokenizing.vocabulary import LookUp, Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

CHOICE_OPTIONS = (
    "criterion", "size", "sizes", "multilingual", "rank", "length", "gamma", "epsilon",
    "threshold", "model_width", "bootstrap", "seed",
)  # fmt: skip
"""The fields of `LearnSettings` that say how to choose, not what to choose from."""
LONGEST_SPACED_WORD = 10_000
"""Where only spaces end a word, it may be long."""
MODEL_TOKENIZERS = ("tokenizer.json", "tokenizer.model")
"""Of the files in a model's folder, those that number tokens as the model does."""


@dataclass(frozen=True, eq=False)
class Original:
    """A tokenizer that exists, and the file it came from."""

    vocabulary: Vocabulary
    path: Path | None = None
    form: str | None = None
    """One of `volt.formats.FORMATS`; None for a vocabulary of volt."""
    messages: list[str] = field(default_factory=list)

    def files(self, vocabulary: Vocabulary, id_map: NDArray[np.int64], folder: Path) -> list[str]:
        """Write the new vocabulary as files of the same format; what to know about them."""
        if self.form is None or self.path is None:
            return []
        if self.form == "hf":
            for name, data in rewritten(self.path, vocabulary, id_map).items():
                (folder / name).write_bytes(data)
            return []
        name = self.path.name if self.path.is_file() and self.form != "gpt2" else ""
        return export(vocabulary, self.form, folder / name).messages


Tokenizers = str | os.PathLike[str] | Vocabulary | Tokenizer


def read_tokenizer(tokenizer: Tokenizers, form: str | None = None) -> Original:
    """A file or folder that `volt import` reads, one of volt's own, or a vocabulary at hand."""
    if isinstance(tokenizer, Vocabulary):
        return Original(tokenizer)
    if isinstance(tokenizer, Tokenizer):
        return Original(tokenizer.vocabulary)
    path = Path(tokenizer)
    if not path.exists():
        raise InputError(f"no such file or folder: {path}")
    if form is None and (path.name == "volt.json" or (path / "volt.json").exists()):
        return Original(load_vocabulary(path))
    form = form or detect(path)
    if FORMATS[form].merge_rule is None:
        raise SettingsError(
            f"{path}: a list of tokens (format {form}), without how text is cut into them; name "
            "the tokenizer's own file"
        )
    vocabulary, messages = import_vocabulary(path, form)
    return Original(vocabulary, path, form, messages)


@dataclass(frozen=True)
class Fit:
    """How a vocabulary cuts the text."""

    size: int
    tokens: float
    tokens_per_line: float | None
    """A line counts as often as its words do. None where counts do not tell of lines."""
    entropy_per_character: float
    """Nats: token entropy times tokens over characters."""
    unknown: float
    """Characters that the vocabulary lacks, as `<unk>` or spelled in bytes, over tokens."""


@dataclass(frozen=True, eq=False)
class RefitResult:
    """The new vocabulary, and what became of the old one."""

    original: Original = field(repr=False)
    vocabulary: Vocabulary
    id_map: NDArray[np.int64] = field(repr=False)
    """Old id to new id; -1 for a token that was dropped."""
    before: Fit
    after: Fit
    messages: list[str]
    criterion: str = ""
    chosen_size: int = 0
    choices: list[Choice] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list, repr=False)
    parts: list[list[int]] = field(default_factory=list, repr=False)
    """Of every token that was added, the old tokens it is made of."""
    checkpoint: Checkpoint | None = field(default=None, repr=False)

    @property
    def dropped(self) -> int:
        return int((self.id_map < 0).sum())

    def summary(self) -> dict[str, Any]:
        """What refit.json holds: plain data, the same for the same input."""
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
            **({"criterion": self.criterion, "chosen_size": self.chosen_size,
                "choices": [asdict(choice) for choice in self.choices]} if self.criterion else {}),
            "messages": self.messages,
        }  # fmt: skip

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[str]:
        """Write volt.json, id_map.npy, refit.json, signature.txt, the tokenizer in the format it
        came in, and below model/ the checkpoint; all or nothing. What to know about the files."""
        with atomic_folder(folder, force=force) as temporary:
            self.vocabulary.save(temporary / "volt.json")
            np.save(temporary / "id_map.npy", self.id_map)
            signature = self.vocabulary.signature + "\n"
            (temporary / "signature.txt").write_text(signature, encoding="utf-8")
            if self.parts:
                first = len(self.vocabulary) - len(self.parts)
                rows = (f'"{first + i}": {parts}' for i, parts in enumerate(self.parts))
                text = "{\n" + ",\n".join(rows) + "\n}\n"
                (temporary / "parts.json").write_text(text, encoding="utf-8")
            messages = self.original.files(self.vocabulary, self.id_map, temporary)
            if self.checkpoint is not None:
                files = {}
                if self.original.form == "hf" and self.original.path is not None:
                    files = rewritten(self.original.path, self.vocabulary, self.id_map)
                new = NewRows(self.id_map, self.parts)
                messages += self.checkpoint.write(temporary / "model", self.vocabulary, new, files)
            told = {**self.summary(), "messages": [*self.messages, *messages]}
            summary = json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False)
            (temporary / "refit.json").write_text(summary + "\n", encoding="utf-8")
        return messages


# -------------------------------------------------------------------------------------------- refit


def refit(
    tokenizer: Tokenizers,
    on: WordCounts | Text | Iterable[Text],
    *,
    model: str | os.PathLike[str] | None = None,
    form: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RefitResult:
    """The smaller vocabulary, of a tokenizer's own tokens, that fits a text.

    `options` are those of `learn` that say how to choose (`CHOICE_OPTIONS`) and, for text, those of
    `volt.count` that say how to read. `model` is the folder of a Hugging Face checkpoint that uses
    this tokenizer: its matrices are cut to the new vocabulary when the result is saved.
    """
    settings = LearnSettings(**{name: options.pop(name) for name in CHOICE_OPTIONS
                                if name in options})  # fmt: skip
    threads = thread_count(threads)
    progress = progress or Progress()

    # 1. The tokenizer, the model that uses it, the words of the text.
    original = readable(tokenizer, form)
    old = _with_last_pairs(original.vocabulary)
    messages = list(original.messages)
    checkpoint = None if model is None else open_model(model, old, messages)
    counts = count_for(old, on, options, threads, progress)

    # 2. Its tokens as candidates, with frequencies measured on the text; the choice among them.
    pinned = checkpoint.special_ids if checkpoint is not None else set()
    choose_from = _choose_merged if old.look_up is None else _choose_looked_up
    chosen = choose_from(old, counts, settings, pinned, threads, progress, messages)

    # 3. The vocabulary of what was chosen, measured by encoding every word type with it.
    vocabulary, id_map = restrict(old, chosen.kept, chosen.wanted)
    vocabulary = replace(vocabulary, unit=counts.unit)
    vocabulary = with_measures(vocabulary, counts, threads).vocabulary
    sizes = settings.sizes or "paper"
    details = {"crit": settings.decides, "chose": chosen.size, "rank": settings.rank or "auto",
               "sizes": sizes if isinstance(sizes, str) else ",".join(map(str, sizes)),
               "pin": ",".join(map(str, sorted(pinned))) or "none",
               "len": settings.length, "gamma": f"{settings.gamma:g}",
               "eps": f"{settings.epsilon:g}", "thr": f"{settings.threshold:g}",
               "boot": f"{settings.bootstrap}-{settings.seed}"}  # fmt: skip
    vocabulary = signed(vocabulary, "refit", old, counts, details)
    return RefitResult(
        original=original,
        vocabulary=vocabulary,
        id_map=id_map,
        before=fit(old, counts, threads),
        after=fit(vocabulary, counts, threads),
        messages=messages,
        criterion=settings.decides,
        chosen_size=chosen.size,
        choices=chosen.choices,
        steps=chosen.steps,
        checkpoint=checkpoint,
    )


def readable(tokenizer: Tokenizers, form: str | None) -> Original:
    original = read_tokenizer(tokenizer, form)
    if original.vocabulary.hidden:
        raise SettingsError(
            f"the tokenizer has {len(original.vocabulary.hidden):,} hidden tokens (encoding split) "
            "that text only passes through: refit and extend take tokenizers without"
        )
    return original


def open_model(
    model: str | os.PathLike[str], vocabulary: Vocabulary, messages: list[str]
) -> Checkpoint:
    """The checkpoint, if the tokenizer in its folder has the tokens of this one."""
    checkpoint = open_checkpoint(model, len(vocabulary))
    file = next((checkpoint.folder / name for name in MODEL_TOKENIZERS
                 if (checkpoint.folder / name).exists()), None)  # fmt: skip
    if file is None:
        messages.append(
            f"{checkpoint.folder}: no {' or '.join(MODEL_TOKENIZERS)}; that the tokenizer is the "
            "model's was not checked"
        )
        return checkpoint
    try:
        theirs = import_vocabulary(file)[0].texts
    except VoltError as error:
        messages.append(f"that the tokenizer is the model's was not checked: {error}")
        return checkpoint
    mine = vocabulary.texts
    if file.name == "tokenizer.model":  # tokens that were added later are in other files
        mine = mine[: len(theirs)]
    for i, (one, other) in enumerate(zip_longest(theirs, mine)):
        if one != other:
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


def count_for(
    vocabulary: Vocabulary,
    on: WordCounts | Text | Iterable[Text],
    options: dict[str, Any],
    threads: int,
    progress: Progress,
) -> WordCounts:
    """The words of the text, cut as the vocabulary cuts them."""
    rule = vocabulary.rule
    if isinstance(on, WordCounts):
        return _counted(on, options, threads, progress)
    # Tokens that are looked up may reach over all but spaces, and some that are merged.
    reaching = vocabulary.look_up is not None or vocabulary.word_ends == "spaces"
    spaced = reaching and rule.pretokenizer == "metaspace"
    fixed = {
        "pretokenizer": "whitespace" if spaced else rule.pretokenizer,
        "normalize": rule.normalize,
        "max_word_length": LONGEST_SPACED_WORD if spaced else rule.max_word_length,
    }
    if clash := fixed.keys() & options.keys():
        raise SettingsError(f"the tokenizer decides about {', '.join(sorted(clash))}")
    options = {**fixed, **options}
    if vocabulary.normalizer is not None:
        where = {name: options.pop(name) for name in ("glob", "weights") if name in options}
        found = find_inputs(on, **where)
        on = [replace(source, normalizer=vocabulary.normalizer) for source in found]
    counts = _counted(on, options, threads, progress)
    return _after_spaces(counts, rule) if spaced else counts


def _after_spaces(counts: WordCounts, rule: WordRule) -> WordCounts:
    """Words between spaces as metaspace words: with a `▁` before them. A `▁` that is text is in no
    token, and left out, as in metaspace counts."""
    words = [b"\xe2\x96\x81" + word.replace("▁", "").encode() for word in counts.words]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.uint64)
    text = np.frombuffer(b"".join(words), np.uint8)
    return replace(counts, rule=rule, text=text, offsets=offsets)


@dataclass(frozen=True, eq=False)
class _Chosen:
    kept: set[int]
    """Old ids of the tokens that stay, with all they are made from."""
    wanted: set[int]
    """Those that were chosen themselves; the others are scaffolds."""
    size: int
    choices: list[Choice] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def _choose_merged(
    old: Vocabulary,
    counts: WordCounts,
    settings: LearnSettings,
    pinned: set[int],
    threads: int,
    progress: Progress,
    messages: list[str],
) -> _Chosen:
    """As in `learn`, with the tokens in the order of their use on the text."""
    measured = measure(
        old, counts, order="use", bootstrap=settings.bootstrap, seed=settings.seed, threads=threads
    )
    found, ids = measured.candidates, measured.ids
    # Mostly these are the parents that text merges a token from; where not, keep both.
    parents = [set(token.parents or ()) for token in old.tokens]
    for merge, both in enumerate(zip(found.left, found.right, strict=True), found.alphabet_size):
        parents[ids[merge]].update(ids[list(both)].tolist())
    always = pinned | {i for i, token in enumerate(old.tokens) if token.kind != "merged"}

    def close(wanted: Iterable[int]) -> set[int]:
        closed: set[int] = set()
        waiting = [*always, *wanted]
        while waiting:
            i = waiting.pop()
            if i not in closed:
                closed.add(i)
                waiting += parents[i]
        return closed

    if settings.size is not None:
        ranking = ids[rank_candidates(found, settings.rank or "merge")]
        wanted = _fill(settings.size, ranking.tolist(), close, "volt extend adds some")
        return _Chosen(close(wanted), always | wanted, settings.size)
    used = int(np.count_nonzero(found.merge_counts))
    _need_two(used, len(old) - len(always))
    sizes = _sizes(settings, used, messages)
    draws = [found.draw(number) for number in range(found.draws)]
    ranking = rank_candidates(found, settings.rank or "frequency")
    frequencies = frequencies_at(found, ranking, sizes, draws)
    scores = curve_scores(found, settings.model_width)
    with progress.stage("Transport", len(sizes), "sizes") as report:
        steps = solve_steps(found, frequencies, settings, report)
    drawn = list(map(draw_scores(found, scores, settings), draws))
    choices = choose_all(found, frequencies, steps, scores, drawn, settings)
    chosen, size = _chosen_tokens(found, steps, choices, settings)
    _tell_doubts(choices, settings, size, messages)
    wanted = {i for i in ids[chosen].tolist() if i >= 0}
    return _Chosen(close(wanted), always | wanted, size, choices, steps)


def _need_two(used: int, droppable: int) -> None:
    if used < 2:
        raise InputError(
            f"of the {droppable:,} tokens that could be dropped, the text has {used or 'none'}: "
            "too few to choose a size; is this text that the tokenizer was made for? --size "
            "needs no choice"
        )


def _fill(
    size: int, ranking: list[int], close: Callable[[Iterable[int]], set[int]], way_out: str
) -> set[int]:
    """As many of the best tokens as make a vocabulary of this size, or just below it where
    scaffolds come in twos."""
    least = len(close(()))
    if size < least:
        raise SettingsError(
            f"--size {size:,} has no room for the {least:,} special tokens, bytes and characters "
            "that always stay; ask for more"
        )
    most = len(close(ranking))
    if size > most:
        raise SettingsError(
            f"--size {size:,}: the tokenizer has {most:,} tokens that text gives; {way_out}"
        )
    low, high = 0, len(ranking)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(close(ranking[:middle])) <= size else (low, middle - 1)
    return set(ranking[:low])


def _tell_doubts(
    choices: list[Choice], settings: LearnSettings, size: int, messages: list[str]
) -> None:
    decided = next(one for one in choices if one.criterion == settings.criterion)
    messages += [f"{size:,}: {doubt}" for doubt in decided.doubts]


def _choose_looked_up(
    old: Vocabulary,
    counts: WordCounts,
    settings: LearnSettings,
    pinned: set[int],
    threads: int,
    progress: Progress,
    messages: list[str],
) -> _Chosen:
    """Tokens that are looked up have no parents. At every size of S the words are encoded with the
    tokens of that size: the frequencies are exact, and no push-down is needed."""
    _need_characters(old)
    never = set(find_unreachable(Tokenizer(old, threads=threads))) - pinned
    always = pinned | {i for i, token in enumerate(old.tokens) if token.kind != "piece"}
    draws = _resample(counts, settings.bootstrap, settings.seed, threads)

    def table_of(kept: set[int]) -> NDArray[np.uint64]:
        """Frequencies by old id, and in a last row unknown characters."""
        smaller, id_map = restrict(old, kept, kept)
        found = token_frequencies(Tokenizer(smaller, threads=threads), counts, draws)
        table = np.zeros((len(old) + 1, found.shape[1]), np.uint64)
        table[:-1][id_map >= 0] = found
        spelled = lengths[:-1].astype(np.uint64) @ table[:-1]
        table[-1] = characters - np.minimum(spelled, characters)
        return table

    lengths = np.append(token_lengths(old, old.tokens), 1)
    characters = word_lengths(counts) @ np.column_stack([counts.counts, draws])
    frequency = table_of(set(range(len(old))))[:-1, 0]
    pieces = [i for i, token in enumerate(old.tokens) if i not in always and i not in never]
    ranking = sorted(pieces, key=lambda i: -int(frequency[i]))  # stable: lower ids first
    if settings.size is not None:
        close = always.union
        wanted = _fill(settings.size, ranking, close, "ask for no more")
        return _Chosen(always | wanted, always | wanted, settings.size)
    if settings.criterion != "muv" or settings.rank == "merge":
        raise SettingsError(
            f"--criterion {settings.criterion} and --rank merge read the curve of merges; "
            f"{old.encoding} tokens have none: use muv, or --size"
        )
    used = sum(int(frequency[i]) > 0 for i in ranking)
    _need_two(used, len(old) - len(always))
    sizes = _sizes(settings, used, messages)
    frequencies = []
    for size in sizes.tolist():
        table = table_of(always.union(ranking[:size]))
        table[:-1][lengths[:-1] == 0] = 0  # bytes and `<unk>` are in the last row
        tokens = np.flatnonzero(table[:, 0])
        frequencies.append(SizeFrequencies(size, tokens, table[tokens, 0], table[tokens, 1:]))
    found = _as_alphabet(old, counts, lengths)
    with progress.stage("Transport", len(sizes), "sizes") as report:
        steps = solve_steps(found, frequencies, settings, report)
    choice = _choose_muv(found, frequencies, steps, settings)
    size = int(choice.size or 0)
    _tell_doubts([choice], settings, size, messages)
    kept = next(step.kept for step in steps if step.size == size)
    wanted = {i for i in kept.tolist() if i < len(old)} | always
    return _Chosen(wanted, wanted, size, [choice], steps)


def _choose_muv(
    found: Candidates,
    frequencies: list[SizeFrequencies],
    steps: list[Step],
    settings: LearnSettings,
) -> Choice:
    """By MUV alone: the other criteria read the curve of merges."""
    sizes = np.array([step.size for step in steps])
    drawn = np.array([
        _drawn_entropies(step, at.draws, found.lengths, settings)
        for step, at in zip(steps, frequencies, strict=True)
    ])  # fmt: skip
    score = muv(sizes, np.array([step.entropy for step in steps]))
    return choose(score, [muv(sizes, column) for column in drawn.T])


def _need_characters(old: Vocabulary) -> None:
    """Where an unknown character is lost, each one needs a token of its own: then nothing that is
    dropped can make text unknown."""
    if old.unknown == "byte":
        return
    mark = old.look_up.mark if old.look_up is not None else ""
    single = {token.text for token in old.tokens if token.kind == "character"}
    for token in old.tokens:
        if token.kind != "piece":
            continue
        inner = old.is_inner(token.text)
        for place, character in enumerate(token.text.removeprefix(mark) if inner else token.text):
            form = mark + character if mark and (inner or place > 0) else character
            if form not in single:
                raise SettingsError(
                    f"{form!r}, a part of {token.text!r}, is no token of the tokenizer: without "
                    f"{token.text!r} words with it would be unknown; it can't be refitted"
                )


def _as_alphabet(old: Vocabulary, counts: WordCounts, lengths: NDArray[np.int64]) -> Candidates:
    """The tokens by their old ids, then `<unk>`, all without parents: what transport asks for."""
    mark = old.look_up.mark if old.look_up is not None else ""
    texts = [
        (t.text.removeprefix(mark) if old.is_inner(t.text) else t.text)
        if t.kind in SPELLED
        else "?"
        for t in old.tokens
    ]
    none = np.array([], np.uint64)
    return Candidates(
        rule=counts.rule, tokens=[*texts, UNKNOWN], lengths=lengths.astype(np.uint32),
        alphabet_counts=np.zeros(len(lengths), np.uint64), left=none.astype(np.uint32),
        right=none.astype(np.uint32), pair_counts=none, merge_counts=none, unknown=len(old),
        unit=counts.unit,
    )  # fmt: skip


def restrict(
    old: Vocabulary, kept: set[int], wanted: set[int]
) -> tuple[Vocabulary, NDArray[np.int64]]:
    """The vocabulary with the kept tokens only, in the order they had, and the map of its ids."""
    id_map = np.full(len(old), -1, np.int64)
    order = sorted(kept)
    id_map[order] = np.arange(len(order))

    def token(i: int) -> Token:
        one = old.tokens[i]
        if one.parents is None:
            return one
        left, right = id_map[list(one.parents)].tolist()
        return one._replace(parents=(left, right), scaffold=i not in wanted)

    tokens = [token(i) for i in order]
    return replace(
        old, tokens=tokens, look_up=look_up_for(tokens, old), unreachable=[], self_test=[],
        signature="",
    ), id_map  # fmt: skip


def look_up_for(tokens: Sequence[Token], old: Vocabulary) -> LookUp | None:
    """How other tokens are looked up. An unknown character costs more than any token: in
    SentencePiece and Hugging Face by a fixed amount below the lowest score of all."""
    look_up = old.look_up
    if look_up is None or old.encoding != "unigram":
        return look_up
    drop = look_up.unknown_score - _lowest_score(old.tokens)
    return replace(look_up, unknown_score=_lowest_score(tokens) + drop)


def _lowest_score(tokens: Sequence[Token]) -> float:
    return min((token.score for token in tokens if token.kind in SPELLED), default=0.0)


# ------------------------------------------------------------------------------------- what is told


def fit(vocabulary: Vocabulary, counts: WordCounts, threads: int) -> Fit:
    """How the vocabulary cuts the text: every word type is encoded with it."""
    no_draws = np.zeros((len(counts), 0), np.uint64)
    frequency = token_frequencies(Tokenizer(vocabulary, threads=threads), counts, no_draws)[:, 0]
    tokens = int(frequency.sum()) / counts.unit
    lines = counts.weighted_lines
    characters = int(word_lengths(counts) @ counts.counts)
    nats = entropy_per_length(frequency, np.ones(len(frequency)), "occurrences")
    return Fit(
        size=len(vocabulary),
        tokens=tokens,
        tokens_per_line=tokens / float(lines) if lines else None,
        entropy_per_character=nats * float(frequency.sum()) / max(1, characters),
        unknown=float(frequency[vocabulary.unknown_starts].sum()) / max(1, int(frequency.sum())),
    )


def signed(
    vocabulary: Vocabulary,
    how: str,
    old: Vocabulary,
    counts: WordCounts,
    details: dict[str, Any],
) -> Vocabulary:
    """With one line that tells how it was made; equal lines, equal vocabularies."""
    plain = replace(old.with_frequencies([0] * len(old)), signature="", unit=1)
    values: dict[str, Any] = {
        how: hashlib.sha256(plain.to_bytes()).hexdigest()[:16],
        "pre": vocabulary.rule.pretokenizer,
        "norm": vocabulary.rule.normalize,
        "cut": counts.rule.max_word_length,
        "enc": vocabulary.encoding,
        "rule": vocabulary.merge_rule,
        "unk": vocabulary.unknown,
        **details,
        "size": len(vocabulary),
        "unit": counts.unit,
        "corpus": counts.digest(),
        "v": __version__,
    }
    line = "volt|" + "|".join(f"{name}:{value}" for name, value in values.items())
    return replace(vocabulary, signature=line)
