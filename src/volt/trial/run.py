"""A trial: one model a vocabulary and seed, the same data, order and budget for all."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.options import accepts
from volt.base.output import (
    atomic_write,
    check_growing,
    grow_folder,
    make_folder,
    record,
)
from volt.base.progress import Progress
from volt.settings import TrialSettings
from volt.trial.data import (
    OFFSET,
    Encoded,
    Parallel,
    encode_pairs,
    read_parallel,
    without_empty,
    without_long,
)
from volt.trial.page import write_page
from volt.trial.presets import Shape, Training, from_preset
from volt.trial.results import RunResult, TrialResults, write_json
from volt.trial.scoring import Scorer
from volt.trial.training import CHECKPOINT, digest, train
from volt.trial.translation import translate
from volt.trial.vocabularies import TrialVocabulary, make_vocabulary

Say = Callable[[str], None]
RUN, TRANSLATION = "run.json", "test.txt"
REFERENCE, RESULTS, PAGE = "reference.txt", "results.json", "report.html"


@dataclass(frozen=True)
class Texts:
    """The three parts of a data set."""

    train: Parallel
    valid: Parallel
    test: Parallel

    def digests(self) -> dict[str, str]:
        return {name: getattr(self, name).digest() for name in ("train", "valid", "test")}


@accepts(TrialSettings, gone={"size": "is `preset` now."})
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
    """Train a model for every vocabulary and seed, translate the test text, and score it.

    `output` is a folder; what is in it already of the same trial is not done again.
    """
    # 1. What is asked for; refused before anything is trained.
    check_output(output, [source, target, *valid, *test, *vocabularies])
    asked = TrialSettings.take(options)
    shape, settings = from_preset(asked)
    if not vocabularies:
        raise SettingsError("name at least one vocabulary in `vocabularies`")
    where = find_device(asked.device)
    if threads is not None:
        torch.set_num_threads(threads)
    train_text, empty = without_empty(read_parallel(source, target))
    if not len(train_text):
        raise InputError(f"{source} and {target}: not one pair has text on both sides")
    texts = Texts(train_text, read_parallel(*valid), read_parallel(*test))
    messages = [f"{empty:,} training pairs with an empty side left out"] if empty else []
    lines = [*texts.train.source, *texts.train.target]
    made = make_vocabularies(vocabularies, lines, threads)
    texts, message = without_too_long(texts, made, settings.max_tokens)
    messages += message
    scorer = Scorer(texts.test.target, asked.bleu_tokenize)

    # 2. Train, translate, score.
    folder = grow_folder(output, REFERENCE, RESULTS, PAGE)
    write_lines(folder / REFERENCE, texts.test.target)
    runs: list[RunResult] = []
    translations: dict[tuple[str, int], list[str]] = {}
    for vocabulary in made:
        for seed in range(asked.seeds):
            result, translated, notes = run_one(
                folder / "runs", vocabulary, texts, shape, settings, seed, where, scorer, progress
            )
            runs.append(result)
            translations[vocabulary.name, seed] = translated
            messages += [note for note in notes if note not in messages]
            say(
                f"{vocabulary.name}, seed {seed}: BLEU {result.bleu:.2f}, chrF {result.chrf:.2f}, "
                f"{result.loss_per_character:.4f} nats a character"
            )

    # 3. Compare.
    p_values: dict[str, list[float]] = {}
    for seed in range(asked.seeds):
        systems = {one.name: translations[one.name, seed] for one in made}
        for name, p in scorer.p_values(systems).items():
            p_values.setdefault(name, []).append(p)
    results = TrialResults(
        settings={
            "model": asdict(shape), "training": asdict(settings), "seeds": asked.seeds,
            "pairs": {name: len(getattr(texts, name)) for name in ("train", "valid", "test")},
            "data": texts.digests(),
        },
        signatures=scorer.signatures(next(iter(translations.values()))),
        runs=runs,
        p_values=p_values,
        criteria=criteria_choices(lines, shape.width, threads),
        messages=messages,
    )  # fmt: skip
    results.save(folder / RESULTS)
    if not write_page(results, folder / PAGE):
        (folder / PAGE).unlink(missing_ok=True)  # of an earlier trial
        messages.append(f"no {PAGE}: it needs pip install 'volt-vocab[report]'")
    return results


def check_output(output: str | Path, inputs: Sequence[str]) -> None:
    """Refuse a folder that is an input, or whose files are not those of a trial."""
    check_growing(output, REFERENCE, RESULTS, PAGE, inputs=list(inputs))


def without_too_long(
    texts: Texts, vocabularies: Sequence[TrialVocabulary], max_tokens: int
) -> tuple[Texts, list[str]]:
    """Texts on which all models train alike, and what to know about them."""
    kept, too_long = without_long(texts.train, vocabularies, max_tokens)
    if not len(kept):
        raise InputError(f"every training pair has {max_tokens} tokens or more: raise `max_tokens`")
    if not too_long:
        return texts, []
    of = "" if len(vocabularies) == 1 else " in one of the vocabularies"
    return replace(texts, train=kept), [
        f"{too_long:,} training pairs of {max_tokens} tokens or more{of} left out"
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


def run_one(
    folder: Path,
    vocabulary: TrialVocabulary,
    texts: Texts,
    shape: Shape,
    settings: Training,
    seed: int,
    device: torch.device,
    scorer: Scorer,
    progress: Progress | None = None,
) -> tuple[RunResult, list[str], list[str]]:
    """One model: its result, its translations, and what to know about them. A finished one is read
    from its folder, an unfinished one goes on from its checkpoint."""
    key = run_key(vocabulary, texts, shape, settings, seed)
    short = re.sub(r"[^A-Za-z0-9]+", "-", vocabulary.name).strip("-")[-60:]
    place = folder / f"{short}-{seed}-{key[:8]}"
    encoded = {
        name: encode_pairs(getattr(texts, name), vocabulary) for name in ("train", "valid", "test")
    }
    notes = _notes(vocabulary, encoded)
    if (place / RUN).exists():
        try:
            stored = json.loads((place / RUN).read_text(encoding="utf-8"))
            text = (place / TRANSLATION).read_text(encoding="utf-8")
            translated = text.removesuffix("\n").split("\n")
            if len(translated) != len(texts.test):
                raise ValueError(f"{len(translated):,} translations of {len(texts.test):,} lines")
            # Perhaps it was scored with another tokenizer.
            result = RunResult(**{**stored, **asdict(scorer.score(translated))})
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{place} can't be read ({error}): remove it") from error
        (place / CHECKPOINT).unlink(missing_ok=True)
        return result, translated, notes
    make_folder(place)
    names = [f"{place.parent.name}/{place.name}/{name}" for name in (RUN, TRANSLATION, CHECKPOINT)]
    record(folder.parent, *names)

    trained = train(
        shape, settings, encoded["train"], encoded["valid"], vocabulary.size + OFFSET, seed=seed,
        device=device, folder=place, key=key, progress=progress,
        name=f"{vocabulary.name}, seed {seed}",
    )  # fmt: skip
    begun, begun_cpu = time.perf_counter(), time.process_time()
    never = [] if vocabulary.unknown is None else [vocabulary.unknown + OFFSET]
    sources = encoded["test"].source
    with (progress or Progress()).stage("translating", len(sources), "lines") as report:
        ids = translate(trained.model, sources, settings, never=never, device=device, report=report)
    # A line is a line: what the model may write into one must not end it.
    translated = [" ".join(vocabulary.decode(one).splitlines()) for one in ids]
    ended, ended_cpu = time.perf_counter(), time.process_time()
    scores = scorer.score(translated)
    source_tokens, target_tokens = encoded["train"].tokens_per_sentence
    result = RunResult(
        vocabulary=vocabulary.name,
        seed=seed,
        size=vocabulary.size,
        **asdict(scores),
        loss_per_character=trained.loss_per_character,
        parameters=trained.model.parameter_count(),
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        unknown=sum(one.unknown for one in encoded.values()),
        updates=trained.updates,
        epochs=trained.epochs,
        pairs=trained.pairs,
        device=device.type,
        stopped_early=trained.stopped_early,
        model_digest=digest(trained.model),
        history=[list(vars(one).values()) for one in trained.history],
        timing={
            "train": trained.train_seconds,
            "train_cpu": trained.cpu_seconds,
            "translate": ended - begun,
            "translate_cpu": ended_cpu - begun_cpu,
            "test_sentences": len(sources),
            "total": trained.all_seconds + ended - begun,
        },
    )
    write_lines(place / TRANSLATION, translated)
    write_json(place / RUN, asdict(result))
    (place / CHECKPOINT).unlink(missing_ok=True)
    return result, translated, notes


def run_key(
    vocabulary: TrialVocabulary, texts: Texts, shape: Shape, settings: Training, seed: int
) -> str:
    """Equal for runs that must give the same."""
    about = [
        vocabulary.name, vocabulary.size, vocabulary.digest, texts.digests(), asdict(shape),
        asdict(settings), seed,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _notes(vocabulary: TrialVocabulary, encoded: dict[str, Encoded]) -> list[str]:
    notes = []
    for name, text in encoded.items():
        if text.unknown:
            notes.append(
                f"{vocabulary.name}: {text.unknown:,} unknown tokens in the {name} text; they are "
                "never generated, and make the loss per character look better than it is"
            )
        if text.cut:
            notes.append(
                f"{vocabulary.name}: {text.cut:,} lines of the {name} text are too long and cut"
            )
    return notes


def find_device(name: str) -> torch.device:
    """`auto`: CUDA if there is one, else MPS, else the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.ones(1, device=name)
        found.item()  # "meta" holds no numbers
        return found.device
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f"there is no `device` {name!r}: {error}") from error


def criteria_choices(
    lines: Sequence[str], width: int, threads: int | None = None
) -> list[dict[str, Any]]:
    """What each criterion chooses on the training text; nothing if there is too little of it."""
    from volt.pipeline import learn

    try:
        learned = learn([list(lines)], for_model=f"44M:{width}", threads=threads)
    except VoltError:
        return []
    return [{"criterion": one.criterion, "size": one.size} for one in learned.choices]


def write_lines(path: Path, lines: Sequence[str]) -> None:
    with atomic_write(path) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
