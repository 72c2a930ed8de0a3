"""The study: which size is best, by models trained to convergence.

    python tools/study.py --data DIR        (or: make study DATA=DIR)

Trains the experiments of `study_plan.py` one model at a time and writes docs/study/NAME.json after
each. A model whose record is there is never trained again; one that was stopped goes on from its
checkpoint in --work. DIR contains NAME/SPLIT.LANGUAGE or the same as .xz.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from demo_text import library_lines
from study_plan import EXPERIMENTS, SHAPE, STEPS, Experiment
from volt.base.errors import InputError, SettingsError
from volt.choosing.choice import Verdict
from volt.pipeline import learn
from volt.result import LearnResult
from volt.searching import search
from volt.settings import TrialSettings
from volt.trial.data import TrialText, read_parallel, read_sentences, without_empty
from volt.trial.one_model import Plan, TrialTexts, run_one
from volt.trial.presets import from_preset
from volt.trial.results import write_json
from volt.trial.scoring import Scorer
from volt.trial.vocabularies import TrialVocabulary, bpe, from_tokenizer, make_vocabulary

RESULTS = Path(__file__).parents[1] / "docs" / "study"
ORDERS = (2, 3, 4)
"""Of the model that measures quality: the curves are kept for all of them."""
MOST_ROWS = 32_000
CLOSE = 0.005
"""Sizes within this of the best get a second seed."""
VALID_BYTES, TEST_BYTES = 60_000, 250_000
"""Held-out text in use, at most: measuring should be a small part of the time."""


class Study:
    """One experiment: its text, and its file of results."""

    def __init__(self, experiment: Experiment, data: Path, work: Path) -> None:
        self.experiment = experiment
        self.work = work / experiment.name
        self.path = RESULTS / f"{experiment.name}.json"
        self.texts = read_texts(experiment, data)
        settings = TrialSettings(
            task=experiment.task, model=experiment.model, precision=precision_for(experiment),
            **experiment.settings,
        )  # fmt: skip
        shape, self.settings = from_preset(settings)
        own = {**SHAPE, **experiment.shape}
        if experiment.task == "translation":
            own["encoder_layers"] = own["decoder_layers"]
        if experiment.model == "conv":
            own = {}
        self.shape = replace(shape, **own)

    @cached_property
    def learned(self) -> LearnResult:
        return learn([self.texts.train.lines()], for_model="base", threads=1)

    def vocabulary(self, spec: str) -> TrialVocabulary:
        kind, _, number = spec.partition(":")
        counts, curve = self.learned.counts, self.learned.curve
        lines, auto = self.texts.train.lines(), int(self.learned.choice.size)
        if kind in ("bpe", "auto", "grid"):
            first, last = int(curve.size[0]), int(curve.size[-1])
            if kind == "grid":
                ends = np.log([first, min(last, MOST_ROWS)])
                size = round(float(np.exp(np.linspace(*ends, STEPS)[int(number) - 1])))
            else:
                size = auto if kind == "auto" else int(number)
            size = min(max(size, first), last)
            return bpe(f"bpe:{size}", counts, size, threads=1)
        if kind == "unigram":
            return make_vocabulary(f"spm-unigram:{auto}", lines, threads=1)
        if kind == "wordpiece":
            return make_vocabulary(f"wordpiece:{auto}", lines, threads=1)
        options = {"profile": "paper"} if kind == "paper" else {"select": "transport", "size": auto}
        made = learn(counts, threads=1, **options)
        return from_tokenizer(f"{kind}:{len(made.vocabulary)}", made.tokenizer)

    def run(self, spec: str, seed: int) -> str:
        """Train the model if its record is not there."""
        stored = self.load()
        try:
            vocabulary = self.vocabulary(spec)
        except (InputError, SettingsError) as error:
            return f"left out: {error}"
        roles = stored["roles"].setdefault(vocabulary.name, [])
        if spec not in roles:
            roles.append(spec)
            write_json(self.path, stored)
        if any((one["vocabulary"], one["seed"]) == (vocabulary.name, seed)
               for one in stored["records"]):  # fmt: skip
            return "there already"
        plan = Plan(self.texts, self.shape, self.settings, torch.device("cpu"), self.scorer)
        found = run_one(self.work, vocabulary, plan, seed).result
        record = {"experiment": self.experiment.name, **asdict(found)}
        record["history"] = [[round(value, 5) for value in row] for row in record["history"]]
        record["timing"] = {name: round(one, 1) for name, one in record["timing"].items()}
        stored["records"] = sorted(
            [*stored["records"], record],
            key=lambda one: (one["size"], one["vocabulary"], one["seed"]),
        )
        write_json(self.path, stored)
        return f"{found.told()}, {found.timing['train_cpu'] / 60:.1f} minutes"

    @cached_property
    def scorer(self) -> Scorer | None:
        return Scorer(self.texts.test.target) if self.experiment.task == "translation" else None

    def close(self) -> list[str]:
        """BPE sizes that one seed can't tell from the best."""
        records = [one for one in self.load()["records"] if one["seed"] == 0]
        records = [one for one in records if one["vocabulary"].startswith("bpe:")]
        best = min((one["bits_per_byte"] for one in records), default=0.0)
        near = [one["vocabulary"] for one in records if one["bits_per_byte"] < best * (1 + CLOSE)]
        return near if len(near) > 1 else []

    def load(self) -> dict[str, Any]:
        """The file, or what a new one begins with."""
        about = json.loads(json.dumps({
            "model": asdict(self.shape), "training": asdict(self.settings),
            "data": self.texts.digests(),
        }))  # fmt: skip
        if not self.path.exists():
            return {
                "experiment": asdict(self.experiment), **about, "corpus": self.corpus(),
                "roles": {}, "records": [],
            }  # fmt: skip
        stored: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        for name, value in about.items():
            if stored[name] != value:
                raise OtherSettings(f"{self.path.name} was made with another {name}")
        return stored

    def corpus(self) -> dict[str, Any]:
        """The text, what every criterion chooses on it, and its quality curves."""
        train = self.texts.train
        learned, lines = self.learned, train.lines()
        quality = {}
        for order in ORDERS:
            found = search(learned.counts, by="heldout", order=order, threads=1).quality
            if found is None:
                raise SystemExit(f"{self.experiment.name}: no text is held out")
            quality[str(order)] = {
                "sizes": found.sizes.tolist(),
                "scores": [None if np.isnan(one) else round(float(one), 6) for one in found.scores],
                "range": list(found.range), "best": found.best,
            }  # fmt: skip
        tokens = {str(size): int(learned.curve.tokens[learned.curve.at_size(size)])
                  for size in quality["3"]["sizes"]}  # fmt: skip
        return {
            "sentences": {name: len(getattr(self.texts, name)) for name in self.texts.digests()},
            "bytes": sum(len(line.encode()) + 1 for line in lines),
            "characters_per_line": round(sum(map(len, lines)) / len(lines), 1),
            "word_types": len(learned.counts),
            "smallest": int(learned.curve.size[0]), "largest": int(learned.curve.size[-1]),
            "choices": {one.criterion: _plain(one) for one in learned.choices},
            "reason": learned.choice.reason,
            "quality": quality, "tokens": tokens,
        }  # fmt: skip


class OtherSettings(Exception):
    pass


def _plain(one: Verdict) -> dict[str, Any]:
    return {"size": one.size, "splits": list(one.splits), "doubts": list(one.doubts)}


def precision_for(experiment: Experiment) -> str:
    """What its models, or those of the experiment it is compared with, were begun with; else what
    is fastest here. Without instructions for it, bfloat16 took 3.4 times as long as float32."""
    for name in filter(None, (experiment.name, experiment.of)):
        begun = RESULTS / f"{name}.json"
        if begun.exists():
            return str(json.loads(begun.read_text(encoding="utf-8"))["training"]["precision"])
    able = torch.cpu.get_capabilities()
    return "bfloat16" if able.get("amx_bf16") or able.get("avx512_bf16") else "float32"


# --------------------------------------------------------------------------------------------- text


def read_texts(experiment: Experiment, data: Path) -> TrialTexts:
    if experiment.corpus == "python":
        lines = list(dict.fromkeys(library_lines()))[: experiment.lines]
        # Every 40th line is for choosing checkpoints, another for measuring.
        parts = [[n for n in range(len(lines)) if n % 40 == rest] for rest in (19, 39)]
        held_out = {n for part in parts for n in part}
        whole = TrialText(None, lines)
        train = whole.some(n for n in range(len(lines)) if n not in held_out)
        return TrialTexts(train, *(whole.some(part) for part in parts))
    read = {split: read_split(experiment, data, split) for split in ("train", "valid", "test")}
    valid, test = up_to(read["valid"], VALID_BYTES), up_to(read["test"], TEST_BYTES)
    return TrialTexts(read["train"], valid, test)


def read_split(experiment: Experiment, data: Path, split: str) -> TrialText:
    def find(language: str) -> Path:
        path = data / experiment.corpus / f"{split}.{language}"
        packed = path.with_name(path.name + ".xz")
        return packed if packed.exists() else path

    *sources, target = experiment.languages
    parts = [read_parallel(find(one), find(target)) for one in sources] or [
        read_sentences(find(target))
    ]
    parts = [without_empty(part)[0] for part in parts]
    if experiment.longest:
        most = experiment.longest
        parts = [part.some(n for n, line in enumerate(part.target) if len(line) <= most)
                 for part in parts]  # fmt: skip
    if split == "train" and experiment.lines:
        parts = [part.some(range(min(experiment.lines, len(part)))) for part in parts]
    # Of several languages: line by line, one of each.
    rows = [(n, part) for part in range(len(parts)) for n in range(len(parts[part]))]
    rows.sort()
    target_lines = [parts[part].target[n] for n, part in rows]
    if not sources:
        return TrialText(None, target_lines)
    return TrialText([(parts[part].source or [])[n] for n, part in rows], target_lines)


def up_to(text: TrialText, limit: int) -> TrialText:
    """The first lines, up to so many bytes of the target."""
    ends = np.cumsum([len(line.encode()) + 1 for line in text.target])
    return text.some(range(max(1, int(np.searchsorted(ends, limit, side="right")))))


# --------------------------------------------------------------------------------------------- main


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="NAME/SPLIT.LANGUAGE or .xz below")
    parser.add_argument("--work", type=Path, default=Path("study-work"), help="checkpoints")
    parser.add_argument("--only", action="append", help="names of experiments")
    parser.add_argument("--most", type=int, help="stop after so many models")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.work.mkdir(parents=True, exist_ok=True)
    trained = 0
    for second in (False, True):
        for experiment in EXPERIMENTS:
            if asked.only and experiment.name not in asked.only:
                continue
            study = Study(experiment, asked.data, asked.work)
            try:
                specs = study.close() if second else experiment.specs
                for spec in specs:
                    said = study.run(spec, int(second))
                    now = time.strftime("%H:%M", time.gmtime())
                    print(f"{now} {experiment.name} {spec} seed {int(second)}: {said}",
                          file=sys.stderr, flush=True)  # fmt: skip
                    trained += "bits per byte" in said
                    if asked.most and trained >= asked.most:
                        return
            except OtherSettings as error:
                print(f"{experiment.name} is left as it is: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
