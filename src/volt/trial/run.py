"""A trial: one model per vocabulary and seed, the same data, order and budget for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.options import accepts
from volt.base.output import check_growing, grow_folder
from volt.base.progress import Progress
from volt.base.shown import plural
from volt.settings import InputSettings, TrialSettings
from volt.trial.data import (
    OFFSET,
    TrialText,
    hold_out,
    read_parallel,
    read_sentences,
    without_empty,
    without_long,
)
from volt.trial.one_model import ModelRun, Plan, TrialTexts, run_one, write_lines
from volt.trial.page import write_page
from volt.trial.presets import from_preset
from volt.trial.results import TrialResults
from volt.trial.scoring import Scorer, paired_p
from volt.trial.vocabularies import TrialVocabulary, make_vocabulary

Say = Callable[[str], None]
REFERENCE, RESULTS, PAGE, PLOT = "reference.txt", "results.json", "report.html", "plot.svg"
GONE = {"size": "is `preset` now."}


@accepts(InputSettings, TrialSettings, gone=GONE)
def trial(
    source: str,
    target: str,
    *,
    valid: tuple[str, str],
    test: tuple[str, str],
    vocabularies: Sequence[str],
    output: str | Path,
    threads: int | None = None,
    progress: Progress | None = None,
    say: Say = lambda line: None,
    **options: Any,
) -> TrialResults:
    """Train a translation model for every vocabulary and seed, translate the test text, score it.

    `output` is a folder; what is in it already of the same trial is not done again.
    """
    check_output(output, [source, target, *valid, *test, *vocabularies])
    asked = _asked("translation", options)
    reading = read_as(options)
    text, messages = training_pairs(source, target, reading)
    texts = TrialTexts(text, *(read_parallel(*pair, reading) for pair in (valid, test)))
    return _trial(asked, texts, messages, vocabularies, output, threads, progress, say)


@accepts(InputSettings, TrialSettings, gone=GONE)
def lm_trial(
    text: str | Sequence[str],
    *,
    heldout: str | None = None,
    vocabularies: Sequence[str],
    output: str | Path,
    threads: int | None = None,
    progress: Progress | None = None,
    say: Say = lambda line: None,
    **options: Any,
) -> TrialResults:
    """Train a language model for every vocabulary and seed; measure bits per byte of held-out text.

    `text` is one or more files; each line is a sentence of its own. Without `heldout`, every 20th
    line is held out. `output` is a folder; what is in it already of the same trial is not done
    again.
    """
    files = [text] if isinstance(text, (str, Path)) else list(text)
    check_output(output, [*files, *([heldout] if heldout else []), *vocabularies])
    asked = _asked("lm", options)
    train_text, held_out, messages = training_lines(files, heldout, read_as(options))
    texts = TrialTexts(train_text, held_out, held_out)
    return _trial(asked, texts, messages, vocabularies, output, threads, progress, say)


def read_as(options: Mapping[str, Any]) -> InputSettings:
    """What options say about how texts are read."""
    reading = InputSettings(**InputSettings.given_in(options))
    if reading.input_format in ("counts", "pairs"):
        raise SettingsError("a trial has to see the text itself: word counts are not enough")
    return reading


def training_pairs(source: str, target: str, reading: InputSettings) -> tuple[TrialText, list[str]]:
    """What translation models are trained on, and what to know about it."""
    text, empty = without_empty(read_parallel(source, target, reading))
    if not len(text):
        raise InputError(f"{source} and {target}: no pair has text on both sides")
    return text, [f"{empty:,} training pairs with an empty side left out"] if empty else []


def training_lines(
    files: Sequence[str], heldout: str | None, reading: InputSettings
) -> tuple[TrialText, TrialText, list[str]]:
    """What language models are trained on, what is held out, and what to know about it."""
    text, empty = without_empty(read_sentences(*files, reading=reading))
    if not len(text):
        raise InputError(f"{', '.join(map(str, files))}: the text has no lines")
    messages = [f"{plural(empty, 'empty training line')} left out"] if empty else []
    if heldout is None:
        text, held_out = hold_out(text)
        return (
            text,
            held_out,
            [*messages, f"every 20th line is held out: {plural(len(held_out), 'line')}"],
        )
    held_out, _ = without_empty(read_sentences(heldout, reading=reading))
    if not len(held_out):
        raise InputError(f"{heldout}: the text has no lines")
    return text, held_out, messages


def _asked(task: str, options: dict[str, Any]) -> TrialSettings:
    if options.setdefault("task", task) != task:
        raise SettingsError(f"`task` is {task!r} here, not {options['task']!r}")
    return TrialSettings.take(options)


def _trial(
    asked: TrialSettings,
    texts: TrialTexts,
    messages: list[str],
    vocabularies: Sequence[str],
    output: str | Path,
    threads: int | None,
    progress: Progress | None,
    say: Say,
) -> TrialResults:
    # 1. What is asked for; refused before anything is trained.
    if not vocabularies:
        raise SettingsError("name at least one vocabulary in `vocabularies`")
    shape, settings = from_preset(asked)
    where = find_device(asked.device)
    if threads is not None:
        torch.set_num_threads(threads)
    lines = texts.train.lines()
    made = make_vocabularies(vocabularies, lines, threads)
    texts, message = without_too_long(texts, made, settings.max_tokens)
    messages = [*messages, *message]
    translates = asked.task == "translation"
    scorer = Scorer(texts.test.target, asked.bleu_tokenize) if translates else None
    plan = Plan(texts, shape, settings, where, scorer)

    # 2. Train, measure, translate.
    folder = grow_folder(output, REFERENCE, RESULTS, PAGE, PLOT)
    if scorer:
        write_lines(folder / REFERENCE, texts.test.target)
    runs: dict[tuple[str, int], ModelRun] = {}
    for vocabulary in made:
        for seed in range(asked.seeds):
            run = run_one(folder / "runs", vocabulary, plan, seed, progress)
            runs[vocabulary.name, seed] = run
            messages += [note for note in run.notes if note not in messages]
            say(f"{vocabulary.name}, seed {seed}: {run.result.told()}")

    # 3. Compare.
    by_seed = [[runs[one.name, seed] for one in made] for seed in range(asked.seeds)]
    found = next(iter(runs.values())).result
    body = found.parameters - (found.size + OFFSET) * shape.width
    results = TrialResults(
        task=asked.task,
        settings={
            "model": {**asdict(shape), "body": body}, "training": asdict(settings),
            "seeds": asked.seeds,
            "sentences": {name: len(getattr(texts, name)) for name in ("train", "valid", "test")},
            "data": texts.digests(),
        },
        signatures=scorer.signatures(next(iter(runs.values())).translated) if scorer else {},
        runs=[run.result for run in runs.values()],
        p_values=_p_values(by_seed, scorer),
        p_values_of_bits=_p_values(by_seed, None) if scorer else {},
        criteria=criteria_choices(lines, f"{body}:{shape.width}", threads),
        messages=messages,
    )  # fmt: skip
    results.save(folder / RESULTS)
    if not write_page(results, folder / PAGE):
        (folder / PAGE).unlink(missing_ok=True)  # of an earlier trial
        messages.append(f"no {PAGE}: it needs pip install 'volt-vocab[report]'")
    return results


def _p_values(by_seed: list[list[ModelRun]], scorer: Scorer | None) -> dict[str, list[float]]:
    """Of the difference to the first: of BLEU, or of the bits of the same lines; one per seed."""
    found: dict[str, list[float]] = {}
    for runs in by_seed:
        if scorer:
            ps = scorer.p_values({run.result.vocabulary: run.translated for run in runs})
        else:
            ps = {run.result.vocabulary: paired_p(run.bits - runs[0].bits) for run in runs[1:]}
        for name, p in ps.items():
            found.setdefault(name, []).append(p)
    return found


def check_output(output: str | Path, inputs: Sequence[str | Path]) -> None:
    """Refuse a folder that is an input, or whose files are not those of a trial."""
    check_growing(output, REFERENCE, RESULTS, PAGE, PLOT, inputs=list(inputs))


def without_too_long(
    texts: TrialTexts, vocabularies: Sequence[TrialVocabulary], max_tokens: int
) -> tuple[TrialTexts, list[str]]:
    """Texts on which all models train alike, and what to know about them."""
    kept, too_long = without_long(texts.train, vocabularies, max_tokens)
    what = "lines" if texts.train.source is None else "pairs"
    if not len(kept):
        raise InputError(
            f"every one of the training {what} has {max_tokens} tokens or more: raise `max_tokens`"
        )
    if not too_long:
        return texts, []
    of = "" if len(vocabularies) == 1 else " in one of the vocabularies"
    return replace(texts, train=kept), [
        f"{too_long:,} training {what} of {max_tokens} tokens or more{of} left out"
    ]


def make_vocabularies(
    specs: Sequence[str], lines: Sequence[str], threads: int | None = None
) -> list[TrialVocabulary]:
    """Each once, under a name of its own: two folders may be called the same."""
    made: list[TrialVocabulary] = []
    for spec in dict.fromkeys(specs):
        one = make_vocabulary(spec, lines, threads=threads)
        names = {other.name for other in made}
        numbered = (f"{one.name} ({number})" for number in count(2))
        name = one.name if one.name not in names else next(n for n in numbered if n not in names)
        made.append(replace(one, name=name))
    return made


def find_device(name: str) -> torch.device:
    """`auto`: CUDA if there is one, else MPS, else the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.ones(1, device=name)
        found.item()  # "meta" tensors contain no numbers
        return found.device
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f"there is no `device` {name!r}: {error}") from error


def criteria_choices(
    lines: Sequence[str], model: str, threads: int | None = None
) -> list[dict[str, Any]]:
    """What each criterion chooses on the training text for a model; nothing if there is too little
    of it."""
    from volt.pipeline import learn

    try:
        learned = learn([list(lines)], for_model=model, threads=threads)
    except VoltError:
        return []
    return [{"criterion": one.criterion, "size": one.size} for one in learned.choices]
