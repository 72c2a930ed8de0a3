"""One model of a trial: trained, measured, and for translation scored. A run that was killed
resumes."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from volt.base.errors import InputError
from volt.base.gate import SETTINGS, read_json, read_text
from volt.base.output import make_folder, record, write_file
from volt.base.progress import Progress
from volt.base.schema import instance
from volt.base.shown import plural
from volt.trial.data import OFFSET, EncodedText, TrialText, encode_text
from volt.trial.models import TranslationModel
from volt.trial.presets import Shape, Training
from volt.trial.results import RunResult, write_json
from volt.trial.scoring import Scorer, half_interval
from volt.trial.training import CHECKPOINT, Trained, digest, line_bits, train
from volt.trial.translation import translate
from volt.trial.vocabularies import TrialVocabulary

SAME = ("updates", "epochs", "sentences", "averaged", "stopped_early")
"""What a result takes from the training as it is."""
RUN, TRANSLATION, BITS = "run.json", "test.txt", "bits.txt"


@dataclass(frozen=True)
class TrialTexts:
    """The three parts of a data set. What is held out for choosing checkpoints may be what is
    reported on: then `valid` is `test`."""

    train: TrialText
    valid: TrialText
    test: TrialText

    def digests(self) -> dict[str, str]:
        return {name: getattr(self, name).digest() for name in ("train", "valid", "test")}


@dataclass(frozen=True)
class Plan:
    """What all models of a trial have in common. Without a scorer they are language models."""

    texts: TrialTexts
    shape: Shape
    settings: Training
    device: torch.device
    scorer: Scorer | None = None

    def key(self, vocabulary: TrialVocabulary, seed: int) -> str:
        """Equal for runs that must give the same."""
        about = [
            vocabulary.name, vocabulary.size, vocabulary.digest, self.texts.digests(),
            asdict(self.shape), asdict(self.settings), seed,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class ModelRun:
    """A model's figures, its output, and what to know about them."""

    result: RunResult
    bits: NDArray[np.float64]
    """Of each line of the test text."""
    bytes: NDArray[np.int64]
    translated: list[str]
    notes: list[str]


def run_one(
    folder: Path,
    vocabulary: TrialVocabulary,
    plan: Plan,
    seed: int,
    progress: Progress | None = None,
) -> ModelRun:
    """A finished model is read from its folder, an unfinished one resumes from its checkpoint."""
    texts, settings, device, scorer = plan.texts, plan.settings, plan.device, plan.scorer
    key = plan.key(vocabulary, seed)
    short = re.sub(r"[^A-Za-z0-9]+", "-", vocabulary.name).strip("-")[-60:]
    place = folder / f"{short}-{seed}-{key[:8]}"
    train_text, valid, test = (
        encode_text(one, vocabulary) for one in (texts.train, texts.valid, texts.test)
    )
    notes = _notes(vocabulary, {"training": train_text, "validation": valid, "test": test}
                   if texts.valid is not texts.test
                   else {"training": train_text, "held-out": test})  # fmt: skip
    if (place / RUN).exists():
        found = _stored(place, test.bytes, scorer, notes)
        notes += _mostly_measured(found.result, settings)
        (place / CHECKPOINT).unlink(missing_ok=True)
        return found
    make_folder(place)
    files = (RUN, BITS, CHECKPOINT, *((TRANSLATION,) if scorer else ()))
    record(folder.parent, *(f"{place.parent.name}/{place.name}/{name}" for name in files))

    trained = train(
        plan.shape, settings, train_text, valid, vocabulary.size + OFFSET, seed=seed,
        device=device, later=int(test.bytes.sum()), folder=place, key=key, progress=progress,
        name=f"{vocabulary.name}, seed {seed}",
    )  # fmt: skip
    begun, begun_cpu = time.perf_counter(), time.process_time()
    bits = line_bits(trained.model, test, settings)
    measured = time.perf_counter()
    translated = []
    if scorer:
        model = cast(TranslationModel, trained.model)
        translated = _translated(model, vocabulary, test, plan, progress)
    ended, ended_cpu = time.perf_counter(), time.process_time()
    timing = {
        "train": trained.train_seconds,
        "train_cpu": trained.cpu_seconds,
        "total": trained.all_seconds + ended - begun,
    }
    if scorer:
        timing |= {
            "translate": ended - measured,
            "translate_cpu": ended_cpu - begun_cpu,
            "test_sentences": len(test),
        }
    result = _result(vocabulary, seed, trained, (train_text, valid, test), bits, timing)
    if scorer:
        result = scorer.scored(result, translated)
        write_lines(place / TRANSLATION, translated)
    write_lines(place / BITS, [repr(float(one)) for one in bits])
    write_json(place / RUN, asdict(result))
    (place / CHECKPOINT).unlink(missing_ok=True)
    notes += _mostly_measured(result, settings)
    return ModelRun(result, bits, test.bytes, translated, notes)


def _stored(
    place: Path, bytes_: NDArray[np.int64], scorer: Scorer | None, notes: list[str]
) -> ModelRun:
    try:
        result = RunResult(**read_json(place / RUN, instance(RunResult), SETTINGS))
        bits = np.array([float(line) for line in _lines(place / BITS, len(bytes_))])
        translated = _lines(place / TRANSLATION, len(bytes_)) if scorer else []
        if scorer:  # perhaps it was scored with another tokenizer
            result = scorer.scored(result, translated)
    except (InputError, ValueError) as error:
        raise InputError(f"{place} can't be read ({error}): remove it") from error
    return ModelRun(result, bits, bytes_, translated, notes)


def _lines(path: Path, expected: int) -> list[str]:
    lines = read_text(path).removesuffix("\n").split("\n")
    if len(lines) != expected:
        raise ValueError(f"{path.name}: {len(lines):,} lines for {expected:,}")
    return lines


def _translated(
    model: TranslationModel,
    vocabulary: TrialVocabulary,
    test: EncodedText,
    plan: Plan,
    progress: Progress | None,
) -> list[str]:
    never = [] if vocabulary.unknown is None else [vocabulary.unknown + OFFSET]
    sources, name = test.source or [], f"{vocabulary.name}, translating"
    with (progress or Progress()).stage(name, len(sources), "lines") as report:
        ids = translate(model, sources, plan.settings, never=never, report=report)
    # A line is a line: what the model may write into one must not end it.
    return [" ".join(vocabulary.decode(one).splitlines()) for one in ids]


def _result(
    vocabulary: TrialVocabulary,
    seed: int,
    trained: Trained,
    texts: Sequence[EncodedText],
    bits: NDArray[np.float64],
    timing: dict[str, Any],
) -> RunResult:
    """`texts` are those of training, validation and test."""
    text, _, test = texts
    source_tokens, target_tokens = text.tokens_per_sentence
    return RunResult(
        vocabulary=vocabulary.name,
        seed=seed,
        size=vocabulary.size,
        bits_per_byte=float(bits.sum() / test.bytes.sum()),
        bits_95=half_interval(bits, test.bytes),
        valid_bits_per_byte=trained.bits_per_byte,
        parameters=trained.model.parameter_count(),
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        unknown=sum(one.unknown for one in texts),
        device=trained.model.device.type,
        **{name: getattr(trained, name) for name in SAME},
        model_digest=digest(trained.model),
        history=[list(vars(one).values()) for one in trained.history],
        timing=timing,
    )


def _notes(vocabulary: TrialVocabulary, encoded: dict[str, EncodedText]) -> list[str]:
    notes = []
    for name, text in encoded.items():
        if text.unknown:
            notes.append(
                f"{vocabulary.name}: {plural(text.unknown, 'unknown token')} in the {name} text, "
                "never generated: they make the bits per byte look better than they are"
            )
        if text.cut:
            notes.append(
                f"{vocabulary.name}: too long in the {name} text, cut: {plural(text.cut, 'line')}"
            )
    return notes


def _mostly_measured(result: RunResult, settings: Training) -> list[str]:
    """A warning if measuring took most of a budget in minutes."""
    spent = result.timing["total"] - result.timing.get("translate", 0.0)
    if settings.minutes is None or result.timing["train"] >= spent / 2:
        return []
    return [
        f"{result.vocabulary}: measuring losses took most of the time, training "
        f"{result.timing['train']:,.0f} of {spent:,.0f} s ({plural(result.updates, 'update')}): "
        "give fewer validation and test lines, or more `minutes`"
    ]


def write_lines(path: Path, lines: Sequence[str]) -> None:
    write_file(path, "".join(line + "\n" for line in lines).encode())
