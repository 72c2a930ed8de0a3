"""The study: does a criterion's score predict BLEU?  python tools/study.py --data DIR

Runs the plan below, a model at a time, and writes docs/study/EXPERIMENT.json after each. What is
there already is not run again; a run that was stopped goes on from its checkpoint in --work. Two
processes may work side by side on different experiments.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

from volt.base.errors import InputError
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria.base import Evidence
from volt.choosing.criteria.frequency import ENOUGH
from volt.pipeline import learn
from volt.result import LearnResult
from volt.searching import search
from volt.tokenizing.tokenizer import Tokenizer
from volt.trial.data import Parallel, read_parallel, without_empty, without_long
from volt.trial.presets import Shape, Training, from_preset
from volt.trial.results import write_json
from volt.trial.run import TRANSLATION, Texts, run_key, run_one
from volt.trial.scoring import Scorer
from volt.trial.vocabularies import TrialVocabulary, bpe, from_tokenizer, make_vocabulary

RESULTS = Path(__file__).parents[1] / "docs" / "study"
SIZES = (200, 500, 1000, 2000, 4000, 8000, 15000)
CHOSEN = ("muv", "mdl", "renyi", "knee", "zipf", "frequency")
SEEDS = (0, 1)
MUV_SEARCH = (*range(1000, 10001, 1000), 20000)
"""The paper's list, for its MUV-Search."""

TRAINING: dict[str, Any] = {
    "batch": 2400, "batch_unit": "characters", "dropout": 0.0, "label_smoothing": 0.0,
    "checkpoints": 16, "beam": 4,
}  # fmt: skip
"""In characters, so that all vocabularies train on the same sentences in the same updates. So few
epochs leave nothing to regularise."""


@dataclass(frozen=True)
class Experiment:
    name: str
    corpus: str
    source: str
    target: str
    epochs: float
    pairs: int | None = None
    """Only so many training pairs, the first."""
    model: str = "transformer"


EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment("de-en", "multi30k", "de", "en", 2),
        Experiment("en-de", "multi30k", "en", "de", 2),
        Experiment("fr-en", "multi30k", "fr", "en", 2),
        Experiment("de-en-5k", "multi30k", "de", "en", 8, pairs=5000),
        Experiment("tr-en", "tatoeba-tr-en", "tr", "en", 3),
        Experiment("de-en-conv", "multi30k", "de", "en", 2, model="conv"),
    )
}


def plan() -> Iterator[tuple[str, str, int]]:
    """Experiment, vocabulary and seed of every run. `chosen:X` is what criterion X chooses."""
    every = [*(f"bpe:{size}" for size in SIZES), *(f"chosen:{name}" for name in CHOSEN)]
    for seed in SEEDS:
        for name in ("de-en", "en-de", "fr-en", "de-en-5k", "tr-en"):
            for spec in every:
                # The largest vocabulary there is, and the longest run: once is enough to see.
                if spec != "chosen:zipf" or seed == SEEDS[0]:
                    yield name, spec, seed
        for spec in ("merge:4000", "split:4000"):
            yield "de-en", spec, seed
        for spec in ("bpe:200", "bpe:1000", "bpe:4000", "bpe:8000", "bpe:15000", "chosen:muv"):
            yield "de-en-conv", spec, seed


class Study:
    """One experiment's data, and its file of results."""

    def __init__(self, experiment: Experiment, data: Path, work: Path) -> None:
        self.experiment = experiment
        self.work = work / experiment.name
        self.path = RESULTS / f"{experiment.name}.json"
        self.texts = read_texts(experiment, data)
        self.lines = [*self.texts.train.source, *self.texts.train.target]
        self.shape, self.settings = settings_of(experiment)
        self.scorer = Scorer(self.texts.test.target)
        started = time.process_time()
        self.learned = learn(
            [self.lines], criterion="muv", for_model=f"44M:{self.shape.width}", threads=1
        )
        self.learn_seconds = time.process_time() - started
        started = time.process_time()
        self.muv_search = search([self.lines], by="muv", sizes=MUV_SEARCH, threads=1)
        self.muv_search_seconds = time.process_time() - started
        self.chosen = {one.criterion: one.size for one in self.learned.choices}

    def vocabulary(self, spec: str) -> TrialVocabulary | None:
        """None if the criterion chooses nothing."""
        kind, _, which = spec.partition(":")
        counts = self.learned.counts
        if spec == "chosen:muv":
            return from_tokenizer("chosen:muv", Tokenizer(self.learned.vocabulary, threads=1))
        if kind == "chosen":
            size = self.chosen[which]
            return None if size is None else bpe(f"bpe:{size}", counts, size, threads=1)
        if kind in ("merge", "split"):
            made = learn(
                counts, size=int(which), rank="frequency", encoding=kind, unknown="unk",
                threads=1,
            )  # fmt: skip
            return from_tokenizer(spec, Tokenizer(made.vocabulary, threads=1))
        return make_vocabulary(spec, self.lines, threads=1)

    def run(self, spec: str, seed: int) -> str:
        try:
            vocabulary = self.vocabulary(spec)
        except InputError as error:
            return str(error)
        if vocabulary is None:
            return "chooses no size"
        if without_long(self.texts.train, [vocabulary], self.settings.max_tokens)[1]:
            raise SystemExit(f"{spec}: pairs that are too long for it; all must see the same ones")
        key = run_key(vocabulary, self.texts, self.shape, self.settings, seed)
        stored = self.load()
        if any(run["key"] == key for run in stored["runs"]):
            self.save(stored)
            return "done before"
        result, _, _ = run_one(
            self.work, vocabulary, self.texts, self.shape, self.settings, seed,
            torch.device("cpu"), self.scorer,
        )  # fmt: skip
        stored = self.load()
        plain = {"key": key, **asdict(result)}
        plain["history"] = [[round(value, 5) for value in row] for row in plain["history"]]
        others = [
            run
            for run in stored["runs"]
            if (run["vocabulary"], run["seed"]) != (plain["vocabulary"], seed)
        ]
        stored["runs"] = sorted(
            [*others, plain], key=lambda run: (run["size"], run["vocabulary"], run["seed"])
        )
        self.save(stored)
        return f"BLEU {result.bleu:.2f}, {result.timing['train_cpu']:.0f} s"

    def compare(self) -> None:
        """Paired bootstrap, for each seed whose translations are still in --work: every vocabulary
        against the best one, and `merge` against `split`."""
        stored = self.load()
        bleu: dict[str, list[float]] = {}
        for run in stored["runs"]:
            bleu.setdefault(run["vocabulary"], []).append(run["bleu"])
        plain = [name for name in bleu if not name.startswith(("merge:", "split:"))]
        if not plain:
            return
        best = max(plain, key=lambda name: mean(bleu[name]))
        for seed in SEEDS:
            lines = {}
            for run in stored["runs"]:
                for path in self.work.glob(f"*-{seed}-{run['key'][:8]}/{TRANSLATION}"):
                    lines[run["vocabulary"]] = path.read_text(encoding="utf-8").split("\n")[:-1]
            for baseline, others in ((best, plain), ("merge:4000", ["split:4000"])):
                systems = {name: lines[name] for name in [baseline, *others] if name in lines}
                if baseline in lines:
                    found = stored["p_values"].setdefault(baseline, {})
                    for name, p in self.scorer.p_values(systems).items():
                        found.setdefault(name, {})[str(seed)] = round(p, 4)
        self.save(stored)

    def save(self, stored: dict[str, Any]) -> None:
        stored["scores"] = self.scores({run["vocabulary"] for run in stored["runs"]})
        write_json(self.path, stored)

    def load(self) -> dict[str, Any]:
        about = {
            "experiment": asdict(self.experiment),
            "model": asdict(self.shape),
            "training": asdict(self.settings),
            "pairs": {name: len(getattr(self.texts, name)) for name in ("train", "valid", "test")},
            "data": self.texts.digests(),
            "choices": choices(self.learned),
            "learn_cpu": round(self.learn_seconds, 2),
            "muv_search": self.muv_search.choice.size,
            "muv_search_cpu": round(self.muv_search_seconds, 2),
        }
        stored: dict[str, Any] = {"scores": {}, "p_values": {}, "runs": []}
        if self.path.exists():
            stored |= json.loads(self.path.read_text(encoding="utf-8"))
            # Runs of other settings are of no use beside these.
            if any(stored[name] != json.loads(json.dumps(about[name])) for name in
                   ("model", "training", "data")):  # fmt: skip
                raise SystemExit(f"{self.path} has runs of other settings: move it away")
            # Measured once: times differ from call to call.
            timed = ("learn_cpu", "muv_search_cpu")
            about |= {name: stored[name] for name in timed if name in stored}
        return {**stored, **about}

    def scores(self, names: set[str]) -> dict[str, dict[str, float]]:
        """Every criterion's score at the BPE sizes tried, higher is better."""
        sizes = sorted(int(name.partition(":")[2]) for name in names if name.startswith("bpe:"))
        curve = self.learned.curve
        rows = np.array([curve.at_size(size) for size in sizes], np.int64)
        found = self.learned.candidates
        everywhere = Evidence(found, model=self.learned.choice.model)
        values = {name: CRITERIA[name].score(everywhere).values[rows]
                  for name in ("mdl", "frequency", "renyi", "knee")}  # fmt: skip
        zipf = CRITERIA["zipf"].score(Evidence(found, rows=rows)).values
        # MUV against half the size: one interval for all sizes, as in the paper's Appendix A, would
        # be noise at the large ones or reach below the alphabet at the small ones.
        before = np.maximum(curve.size[rows] // 2 - curve.size[0], 0)
        table = {
            "muv": -(curve.entropy_types[rows] - curve.entropy_types[before]) / (rows - before),
            "mdl": -values["mdl"],
            "frequency": -np.abs(values["frequency"] - ENOUGH),
            "renyi": values["renyi"],
            "zipf": zipf,
            "knee": values["knee"],
        }
        return {
            name: {str(size): float(value) for size, value in zip(sizes, column, strict=True)}
            for name, column in table.items()
        }


def settings_of(experiment: Experiment) -> tuple[Shape, Training]:
    shape, settings = from_preset("tiny", experiment.model, **TRAINING)
    return shape, replace(settings, epochs=experiment.epochs)


def read_texts(experiment: Experiment, data: Path) -> Texts:
    def read(split: str) -> Parallel:
        names = [f"{split}.{language}" for language in (experiment.source, experiment.target)]
        files = [find(data / experiment.corpus / name) for name in names]
        return read_parallel(*files)

    train, _ = without_empty(read("train"))
    if experiment.pairs is not None:
        train = Parallel(train.source[: experiment.pairs], train.target[: experiment.pairs])
    return Texts(train, read("valid"), read("test"))


def find(path: Path) -> Path:
    packed = path.with_name(path.name + ".xz")
    return packed if packed.exists() else path


def choices(learned: LearnResult) -> dict[str, Any]:
    found: dict[str, Any] = {
        one.criterion: {"size": one.size, "doubts": list(one.doubts)} for one in learned.choices
    }
    found["muv"]["vocabulary_size"] = len(learned.vocabulary)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="NAME/SPLIT.LANG or .xz below it")
    parser.add_argument("--work", type=Path, default=Path("study-work"), help="checkpoints")
    parser.add_argument("--only", help="one experiment")
    parser.add_argument("--seed", type=int, help="one seed")
    parser.add_argument("--most", type=int, help="stop after so many runs")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    studies: dict[str, Study] = {}
    runs = 0
    for name, spec, seed in plan():
        if asked.only not in (None, name) or asked.seed not in (None, seed):
            continue
        if name not in studies:
            studies[name] = Study(EXPERIMENTS[name], asked.data, asked.work)
        said = studies[name].run(spec, seed)
        print(f"{name} {spec} seed {seed}: {said}", file=sys.stderr, flush=True)
        runs += said.startswith("BLEU")
        if asked.most and runs >= asked.most:
            break
    for study in studies.values():
        study.compare()


if __name__ == "__main__":
    main()
