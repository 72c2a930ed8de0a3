"""Write the study's tables into docs/study.md and its plots into docs/img.

    pip install matplotlib
    python tools/study_page.py

Reads docs/study/*.json. A table replaces what stands between `<!-- study:NAME -->` and the next
`<!-- /study -->`; all other prose is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np

DOCS = Path(__file__).parents[1] / "docs"
TITLES = {
    "de-en": "Multi30k, German to English",
    "en-de": "Multi30k, English to German",
    "fr-en": "Multi30k, French to English",
    "de-en-5k": "Little text: the first 5,000 pairs of Multi30k, German to English",
    "tr-en": "Another family: Tatoeba, Turkish to English",
    "de-en-conv": "Another model: convolutional, Multi30k, German to English",
}
GRID = (200, 500, 1000, 2000, 4000, 8000, 15000)
"""Sizes that a search would try; others were trained because a criterion chose them."""
CRITERIA = ("muv", "mdl", "frequency", "renyi", "zipf", "knee")
LABELS = {"mdl": (16, -9), "renyi": (4, -13), "knee": (-14, 6)}
"""Where a criterion's name stands beside its point: away from those that choose alike."""
DRAWS = 1000
FEWEST = 3
"""Sizes that a correlation needs."""


class Experiment:
    """One file of results: runs by vocabulary, means over seeds."""

    def __init__(self, path: Path) -> None:
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.name: str = self.data["experiment"]["name"]
        self.choices = self.data["choices"]
        self.runs: dict[str, list[dict[str, Any]]] = {}
        for run in self.data["runs"]:
            self.runs.setdefault(run["vocabulary"], []).append(run)

    def mean(self, vocabulary: str, figure: str = "bleu") -> float:
        return mean(run[figure] for run in self.runs[vocabulary])

    @property
    def sizes(self) -> list[int]:
        """BPE sizes tried."""
        return sorted(int(name[4:]) for name in self.runs if name.startswith("bpe:"))

    @property
    def grid(self) -> list[str]:
        return [f"bpe:{size}" for size in self.sizes if size in GRID]

    @property
    def bleu(self) -> list[float]:
        return [self.mean(f"bpe:{size}") for size in self.sizes]

    @property
    def noise(self) -> list[float]:
        """Standard deviation of BLEU over resampled test sentences, the mean of the seeds."""
        runs = [self.runs[f"bpe:{size}"] for size in self.sizes]
        return [mean(run.get("bleu_95", 0) for run in some) / 1.96 for some in runs]

    def scores(self, criterion: str) -> list[float]:
        return [self.data["scores"][criterion][str(size)] for size in self.sizes]

    def speed(self, vocabulary: str) -> tuple[float, float]:
        """Training pairs and translated sentences a CPU second, of the last seed: of its
        runs, all but the largest were made in a row."""
        run = self.runs[vocabulary][-1]
        timing = run["timing"]
        return (
            run["pairs"] / timing["train_cpu"],
            timing["test_sentences"] / timing["translate_cpu"],
        )

    def best(self) -> tuple[str, float]:
        """The best vocabulary tried, among those of the plain encoding."""
        names = [name for name in self.runs if not name.startswith(("merge:", "split:"))]
        best = max(names, key=self.mean)
        return best, self.mean(best)

    def p_value(self, vocabulary: str) -> float | None:
        """Paired bootstrap against the best vocabulary (`split`: against `merge`), the median over
        seeds."""
        baseline = "merge:4000" if vocabulary.startswith("split:") else self.best()[0]
        found = self.data.get("p_values", {}).get(baseline, {}).get(vocabulary)
        return median(found.values()) if found else None

    def at_choice(self, criterion: str) -> tuple[float, bool] | None:
        """BLEU of what the criterion chooses, and whether that was tried; else it lies on the line
        between its neighbours. None: it chooses nothing, or nothing near was tried."""
        if criterion == "muv":
            return (self.mean("chosen:muv"), True) if "chosen:muv" in self.runs else None
        size = self.choices[criterion]["size"]
        if size is None:
            return None
        if f"bpe:{size}" in self.runs:
            return self.mean(f"bpe:{size}"), True
        if not self.sizes[0] <= size <= self.sizes[-1]:
            return None
        return float(np.interp(np.log(size), np.log(self.sizes), self.bleu)), False


def correlation(scores: Sequence[float], bleu: Sequence[float]) -> float:
    """Spearman's; 0 where all scores, or all BLEU, are the same."""
    one, other = ranks(scores), ranks(bleu)
    norm = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / norm if norm else 0.0


def ranks(values: Sequence[float]) -> Any:
    """Ranks around their mean; equal values share theirs."""
    array = np.asarray(values, np.float64)
    below = (array[None] < array[:, None]).sum(1)
    same = (array[None] == array[:, None]).sum(1)
    return below + (same - len(array)) / 2


def interval(
    experiments: Sequence[Experiment], criterion: str, seed: int = 0
) -> tuple[float, float, float]:
    """Mean correlation over experiments, and its 95% interval: experiments are resampled, and in
    each its sizes (at least three different ones); BLEU is drawn from its own interval."""
    order = np.random.default_rng(seed)
    values = [
        (np.array(one.scores(criterion)), np.array(one.bleu), np.array(one.noise))
        for one in experiments
    ]
    found = mean(correlation(scores.tolist(), bleu.tolist()) for scores, bleu, _ in values)
    draws = []
    for _ in range(DRAWS):
        drawn = []
        for number in order.integers(len(values), size=len(values)).tolist():
            scores, bleu, noise = values[number]
            rows = order.integers(len(bleu), size=len(bleu))
            while len(set(rows.tolist())) < FEWEST:
                rows = order.integers(len(bleu), size=len(bleu))
            noisy = bleu + noise * order.standard_normal(len(bleu))
            drawn.append(correlation(scores[rows].tolist(), noisy[rows].tolist()))
        draws.append(mean(drawn))
    low, high = np.quantile(draws, [0.025, 0.975])
    return found, float(low), float(high)


# ------------------------------------------------------------------------------------------- tables


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def runs_table(one: Experiment) -> str:
    chosen: dict[str, list[str]] = {}
    for criterion in CRITERIA:
        size = one.choices[criterion]["size"]
        name = "chosen:muv" if criterion == "muv" else f"bpe:{size}"
        chosen.setdefault(name, []).append(criterion)
    best, _ = one.best()
    rows = []
    for name in sorted(one.runs, key=lambda name: (one.runs[name][0]["size"], name)):
        runs = one.runs[name]
        first = runs[0]
        spread = f" ± {stdev(run['bleu'] for run in runs):.1f}" if len(runs) > 1 else ""
        bleu = f"{one.mean(name):.1f}{spread}"
        p = one.p_value(name)
        training, translating = one.speed(name)
        rows.append(
            [
                "VOLT (`muv`, paper)" if name == "chosen:muv" else f"`{name}`",
                ", ".join(chosen.get(name, [])),
                f"{first['size']:,}",
                f"**{bleu}**" if name == best else bleu,
                f"{mean(run['bleu_95'] for run in runs):.1f}" if "bleu_95" in first else "",
                "" if p is None else f"{p:.3f}",
                f"{one.mean(name, 'chrf'):.1f}",
                f"{one.mean(name, 'loss_per_character'):.3f}",
                f"{training:.0f} / {translating:.0f}",
                f"{first['source_tokens']:.1f} / {first['target_tokens']:.1f}",
                f"{first['parameters'] / 1e6:.2f}M",
                str(len(runs)),
            ]
        )
    return table(
        ["vocabulary", "chosen by", "tokens", "BLEU", "± 95%", "p", "chrF",
         "nats / character", "sentences / CPU s", "tokens / sentence", "parameters", "seeds"],
        rows,
    )  # fmt: skip


def correlation_table(experiments: Sequence[Experiment]) -> str:
    rows = []
    enough = [one for one in experiments if len(one.sizes) >= FEWEST]
    for criterion in CRITERIA:
        cells = [f"{correlation(one.scores(criterion), one.bleu):+.2f}" for one in enough]
        found, low, high = interval(enough, criterion)
        rows.append([f"`{criterion}`", *cells, f"{found:+.2f}", f"{low:+.2f} .. {high:+.2f}"])
    sizes = [f"{one.name} ({len(one.sizes)})" for one in enough]
    return table(["criterion", *sizes, "mean", "95% interval"], rows)


def regret_table(experiments: Sequence[Experiment]) -> str:
    rows = []
    for criterion in CRITERIA:
        cells, losses = [], []
        for one in experiments:
            found = one.at_choice(criterion)
            size = one.choices[criterion]["size"]
            if criterion == "muv":
                size = one.choices["muv"]["vocabulary_size"]
            if found is None:
                cells.append("chooses nothing" if size is None else f"{size:,}: not tried")
                continue
            loss = one.best()[1] - found[0]
            losses.append(loss)
            cells.append(f"{size:,}: {loss:.1f}{'' if found[1] else ' ~'}")
        summary = f"{mean(losses):.1f} ({len(losses)})" if losses else "-"
        rows.append([f"`{criterion}`", *cells, summary])
    return table(["criterion", *(one.name for one in experiments), "mean (experiments)"], rows)


def wide_table(experiments: Sequence[Experiment]) -> str:
    """As the paper's Tables 1, 2 and 6: sizes in common use against VOLT's."""
    rows = []
    for one in experiments:
        if not {"chosen:muv", "bpe:1000"} <= one.runs.keys():
            continue
        names = ["bpe:1000", one.grid[-1], "chosen:muv"]
        cells = [f"{one.runs[name][0]['size']:,}: {one.mean(name):.1f}" for name in names]
        ahead = (one.mean("chosen:muv") - one.mean(name) for name in names[:2])
        differences = [f"{round(value, 1) + 0.0:+.1f}" for value in ahead]  # no -0.0
        model = one.data["model"]["model"]
        rows.append([one.name, model, *cells, *differences])
    head = ["experiment", "model", "BPE 1,000", "largest BPE", "VOLT", "VOLT - BPE 1,000",
            "VOLT - largest"]  # fmt: skip
    return table(head, rows)


def search_table(experiments: Sequence[Experiment]) -> str:
    """As the paper's Table 4: what a good size costs."""
    rows = []
    for one in experiments:
        if "chosen:muv" not in one.runs or "muv_search" not in one.data:
            continue
        by_muv = f"bpe:{one.data['muv_search']}"
        names = one.grid
        searched = max(names, key=one.mean)
        trained = sum(one.runs[name][-1]["timing"]["train_cpu"] for name in names)
        for method, name, cost in (
            ("BPE-Search", searched, f"{trained / 60:.0f} min ({len(names)} models)"),
            ("MUV-Search", by_muv, f"{one.data['muv_search_cpu']:.1f} s"),
            ("VOLT", "chosen:muv", f"{one.data['learn_cpu']:.1f} s"),
        ):
            tried = name in one.runs
            tokens = one.runs[name][0]["size"] if tried else int(name[4:])
            bleu = f"{one.mean(name):.1f}" if tried else "not trained"
            rows.append([one.name, method, f"{tokens:,}", bleu, cost])
    return table(["experiment", "method", "tokens", "BLEU", "CPU time to choose"], rows)


def speed_table(experiments: Sequence[Experiment]) -> str:
    """As the paper's paragraph on speed: sentences a second, and against VOLT's vocabulary."""
    rows = []
    for one in experiments:
        if "chosen:muv" not in one.runs:
            continue
        own = one.speed("chosen:muv")
        for number, work in enumerate(("training", "translating")):
            cells = [f"{own[number]:.0f}"]
            for size in (1000, 4000, 8000, 15000):
                name = f"bpe:{size}"
                if name in one.runs:
                    speed = one.speed(name)[number]
                    cells.append(f"{speed:.0f} ({speed / own[number]:.2f}x)")
                else:
                    cells.append("")
            rows.append([one.name, work, *cells])
    head = ["experiment", "sentences / CPU s", "VOLT", "BPE 1,000", "4,000", "8,000", "15,000"]
    return table(head, rows)


def settings_table(experiments: Sequence[Experiment]) -> str:
    rows = []
    for one in experiments:
        about, model, training = one.data["experiment"], one.data["model"], one.data["training"]
        runs = [run for listed in one.runs.values() for run in listed]
        rows.append(
            [
                one.name,
                f"{about['corpus']} {about['source']}-{about['target']}",
                f"{one.data['pairs']['train']:,}",
                f"{model['model']}, {model['encoder_layers']} + {model['decoder_layers']} layers, "
                f"width {model['width']}",
                f"{training['epochs']:g} epochs, {runs[0]['updates']:,} updates",
                str(len(runs)),
                f"{sum(run['timing']['train_cpu'] for run in runs) / 60:.0f}",
            ]
        )
    return table(
        ["experiment", "text", "pairs", "model", "training", "runs", "CPU minutes of training"],
        rows,
    )


# -------------------------------------------------------------------------------------------- plots


def drawing() -> Any:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "volt", "font.size": 9})
    return pyplot


def panels(experiments: Sequence[Experiment]) -> tuple[Any, list[tuple[Any, Experiment]]]:
    """A figure with a small plot for each experiment."""
    plt = drawing()
    rows = (len(experiments) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(8, 2.5 * rows), layout="constrained")
    for place in axes.flat[len(experiments) :]:
        place.set_visible(False)
    places = list(zip(axes.flat, experiments, strict=False))
    for place, one in places:
        place.set(xscale="log", title=one.name, xlim=(160, 32000))
        place.set_xticks(GRID, [f"{size // 1000}K" if size >= 1000 else size for size in GRID])
        place.minorticks_off()
    return figure, places


def bleu_plot(experiments: Sequence[Experiment]) -> None:
    """BLEU over size, with the interval of the test set and what the criteria choose."""
    figure, places = panels(experiments)
    for axes, one in places:
        half = [1.96 * noise for noise in one.noise]
        axes.errorbar(one.sizes, one.bleu, yerr=half, marker=".", color="C0", capsize=2)
        if "chosen:muv" in one.runs:
            size = one.runs["chosen:muv"][0]["size"]
            axes.plot(size, one.mean("chosen:muv"), "*", color="C3", markersize=10, zorder=3)
        for criterion in CRITERIA:
            found = one.at_choice(criterion)
            if found is not None and criterion != "muv":
                size = one.choices[criterion]["size"]
                axes.plot(size, found[0], "o", color="C1", markersize=4, zorder=3)
                place = LABELS.get(criterion, (0, 8))
                axes.annotate(criterion, (size, found[0]), place, fontsize=7,
                              textcoords="offset points", ha="center")  # fmt: skip
        axes.set(ylabel="BLEU")
    save(figure, "study-bleu")


def score_plot(experiments: Sequence[Experiment]) -> None:
    """Each criterion's score, scaled to 0..1, beside BLEU: who follows it?"""
    figure, places = panels(experiments)
    for axes, one in places:
        axes.plot(one.sizes, scaled(one.bleu), "k.-", linewidth=2, label="BLEU")
        for number, criterion in enumerate(CRITERIA):
            scores = scaled(one.scores(criterion))
            axes.plot(one.sizes, scores, ".--", color=f"C{number}", label=criterion, linewidth=1)
        axes.set(yticks=[0, 1])
    handles, labels = places[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=7, loc="outside lower center")
    save(figure, "study-scores")


def scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / ((high - low) or 1) for value in values]


def save(figure: Any, name: str) -> None:
    figure.savefig(DOCS / "img" / f"{name}.svg", metadata={"Date": None, "Creator": None})


def sections(experiments: Sequence[Experiment]) -> Iterator[tuple[str, str]]:
    yield "settings", settings_table(experiments)
    runs = [f"### {TITLES[one.name]} (`{one.name}`)\n\n{runs_table(one)}" for one in experiments]
    yield "runs", "\n\n".join(runs)
    yield "wide", wide_table(experiments)
    yield "search", search_table(experiments)
    yield "speed", speed_table(experiments)
    yield "correlation", correlation_table(experiments)
    yield "regret", regret_table(experiments)


def main() -> None:
    experiments = read_results()
    path = DOCS / "study.md"
    path.write_text(filled(path.read_text(encoding="utf-8"), experiments), encoding="utf-8")
    bleu_plot(experiments)
    score_plot(experiments)


def read_results() -> list[Experiment]:
    files = {path.stem: path for path in (DOCS / "study").glob("*.json")}
    return [Experiment(files[name]) for name in TITLES if name in files]


def filled(page: str, experiments: Sequence[Experiment]) -> str:
    """The page with its tables anew."""
    for name, text in sections(experiments):
        pattern = rf"(<!-- study:{re.escape(name)} -->\n).*?(<!-- /study -->)"
        kept = re.split(pattern, page, flags=re.S)
        if len(kept) == 4:
            page = f"{kept[0]}{kept[1]}\n{text}\n\n{kept[2]}{kept[3]}"
        else:
            print(f"docs/study.md has no place for {name}")
    return page


if __name__ == "__main__":
    main()
