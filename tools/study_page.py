"""Write the study's tables into docs/study.md and its plots into docs/img.

    pip install matplotlib
    python tools/study_page.py

Reads docs/study/*.json and docs/published.json. A table replaces what stands between
`<!-- study:NAME -->` and the next `<!-- /study -->`; all other prose is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np

import study_verdict
from study_plan import EXPERIMENTS

DOCS = Path(__file__).parents[1] / "docs"
CRITERIA = ("auto", "heldout", "muv", "mdl", "frequency", "renyi", "zipf", "knee")
FEWEST = 3
"""BPE sizes that a regret or a correlation needs."""
UNITS = {"bits_per_byte": "%", "bleu": "BLEU"}
"""Of regret, by the figure that it is about."""
NOT_YET = "not trained yet"


class Results:
    """One file of results: means over seeds, by vocabulary."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        about = data["experiment"]
        self.name: str = about["name"]
        self.question: str = about["question"]
        self.of: str = about["of"]
        self.translates = len(about["languages"]) > 1
        self.text = f"{about['corpus']} {'-'.join(about['languages'])}"
        self.records: dict[str, list[dict[str, Any]]] = {}
        for one in data["records"]:
            self.records.setdefault(one["vocabulary"], []).append(one)
        names = [name for name in self.records if name.startswith("bpe:")]
        self.bpe: list[str] = sorted(names, key=self.size)
        """Vocabularies of plain BPE, by size."""

    def size(self, vocabulary: str) -> int:
        return int(self.records[vocabulary][0]["size"])

    def mean(self, vocabulary: str, figure: str) -> float:
        return mean(one[figure] for one in self.records[vocabulary])

    @property
    def sizes(self) -> list[int]:
        return [self.size(name) for name in self.bpe]

    def values(self, figure: str) -> list[float]:
        return [self.mean(name, figure) for name in self.bpe]

    def at(self, size: float, figure: str) -> float | None:
        """A figure of BPE at a size, on the line between its neighbours on a logarithmic axis; None
        beyond the sizes trained, or if there are too few."""
        if not self.judged or not self.sizes[0] <= size <= self.sizes[-1]:
            return None
        return float(np.interp(np.log(size), np.log(self.sizes), self.values(figure)))

    def best(self, figure: str) -> float:
        return max(self.values(figure)) if figure == "bleu" else min(self.values(figure))

    def regret(self, size: float | None, figure: str) -> float | None:
        """What a size loses against the best: in BLEU, or in per cent of bits per byte."""
        value = None if size is None else self.at(size, figure)
        if value is None:
            return None
        best = self.best(figure)
        return best - value if figure == "bleu" else 100 * (value / best - 1)

    @property
    def judged(self) -> bool:
        """Are enough sizes trained for a regret?"""
        return len(self.bpe) >= FEWEST

    def choice(self, criterion: str) -> int | None:
        found = self.data["corpus"]["choices"].get(criterion)
        return None if found is None else found["size"]

    @property
    def range(self) -> tuple[int, int] | None:
        found = self.data["corpus"].get("quality")
        return tuple(found["3"]["range"]) if found else None

    def correlation(self) -> float | None:
        """Spearman's, of the quality score with bits per byte over the BPE sizes trained."""
        found = self.data["corpus"].get("quality")
        if not found or not self.judged:
            return None
        points = [(size, score) for size, score in zip(found["3"]["sizes"], found["3"]["scores"],
                                                       strict=True) if score]  # fmt: skip
        scores = np.interp(np.log(self.sizes), np.log([size for size, _ in points]),
                           [score for _, score in points])  # fmt: skip
        return correlation(scores.tolist(), self.values("bits_per_byte"))


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's; 0 where all of one side are the same."""
    first, second = _ranks(one), _ranks(other)
    norm = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / norm if norm else 0.0


def _ranks(values: Sequence[float]) -> np.ndarray[Any, Any]:
    """Centred; equal values have the mean of their ranks."""
    found = np.array(values, float)
    places = np.array([(found < one).sum() + ((found == one).sum() - 1) / 2 for one in found])
    return places - places.mean()


def read_results() -> list[Results]:
    """In the order of the plan; those that it does not list at the end."""
    order = [one.name for one in EXPERIMENTS]
    found = [
        Results(json.loads(path.read_text(encoding="utf-8")))
        for path in sorted((DOCS / "study").glob("*.json"))
    ]
    return sorted(found, key=lambda one: order.index(one.name) if one.name in order else 99)


# ------------------------------------------------------------------------------------------- tables


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value: float | None, digits: int, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.{digits}f}"


def plain_size(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def status_table(results: Sequence[Results]) -> str:
    """How much of the plan is trained."""
    there = {one.name: one for one in results}
    rows = []
    for one in EXPERIMENTS:
        found = there.get(one.name)
        done = len({r["vocabulary"] for r in found.data["records"]}) if found else 0
        lines = f"{one.lines:,} lines" if one.lines else "all lines"
        minutes = sum(r["timing"]["train_cpu"] for r in found.data["records"]) / 60 if found else 0
        rows.append([
            f"`{one.name}`", f"{one.corpus} {'-'.join(one.languages)}, {lines}",
            f"{one.updates:,}", f"{done} of {len(one.specs)}", f"{minutes:.0f}",
        ])  # fmt: skip
    head = ["experiment", "text", "updates", "vocabularies trained", "core minutes"]
    return table(head, rows)


def answer_table(results: Sequence[Results]) -> str:
    """Per corpus: the best size trained, what `auto` chose, and what that loses."""
    rows = []
    for one in results:
        if one.question != "size" or not one.judged:
            continue
        low, high = one.range or (None, None)
        figure = "bits_per_byte"
        best = min(one.bpe, key=lambda name: one.mean(name, figure))
        rows.append([
            f"`{one.name}`", plain_size(one.size(best)), number(one.best(figure), 4),
            plain_size(one.choice("auto")), f"{plain_size(low)} to {plain_size(high)}",
            number(one.regret(one.choice("auto"), figure), 2), number(one.regret(low, figure), 2),
            number(one.regret(high, figure), 2), number(one.correlation(), 2),
        ])  # fmt: skip
    if not rows:
        return f"Language and translation models: {NOT_YET} at {FEWEST} sizes of any corpus."
    head = ["experiment", "best size", "bits per byte there", "`auto`", "its range",
            "regret of `auto`, %", "at low end, %", "at high end, %", "Spearman"]  # fmt: skip
    return table(head, rows)


def regret_table(results: Sequence[Results], figure: str) -> str:
    """Per criterion: mean and worst regret over the corpora where it can be read off."""
    rows = []
    for criterion in CRITERIA:
        found = [
            one.regret(one.choice(criterion), figure)
            for one in results
            if one.question == "size" and (figure != "bleu" or one.translates)
        ]
        known = [value for value in found if value is not None]
        if known:
            rows.append([f"`{criterion}`", number(mean(known), 2), number(max(known), 2),
                         f"{len(known)} of {len(found)}"])  # fmt: skip
    if not rows:
        return f"Nothing to compare: {NOT_YET}."
    unit = UNITS[figure]
    head = ["criterion", f"mean regret, {unit}", f"worst, {unit}", "corpora where it is known"]
    return table(head, rows)


def verdict(results: Sequence[Results], figure: str) -> str:
    """Constants fixed on one half of the experiments, every criterion judged on the other."""
    first, second = study_verdict.halves(results, figure)
    if len(second) < 2:
        return f"{NOT_YET[0].upper()}{NOT_YET[1:]} on enough texts."
    best, means = study_verdict.fixed(first, figure)
    tolerances = [f"{100 * one:g}%" for one in study_verdict.TOLERANCES]
    grid = table(
        ["", *tolerances],
        [[f"order {order}", *(number(means[study_verdict.Constants(order, one)], 2)
                              for one in study_verdict.TOLERANCES)]
         for order in study_verdict.ORDERS],
    )  # fmt: skip
    sizes = {f"`{name}`": [one.choice(name) for one in second] for name in CRITERIA}
    sizes = {f"`auto` with {best}": [study_verdict.chosen(one, best) for one in second], **sizes}
    rows = []
    for name, some in sizes.items():
        if found := study_verdict.regrets(second, some, figure):
            low, high = study_verdict.interval(found)
            rows.append([name, number(mean(found), 2), f"{low:.2f} to {high:.2f}",
                         number(max(found), 2), f"{len(found)} of {len(second)}"])  # fmt: skip
    unit = UNITS[figure]
    judged = table(["", f"mean regret, {unit}", "95% interval", f"worst, {unit}", "known"], rows)
    names = [", ".join(f"`{one.name}`" for one in half) for half in (first, second)]
    return (
        f"Mean regret of `auto`, {unit}, by order and tolerance, on the first half ({names[0]}):"
        f"\n\n{grid}\n\nLowest there: {best}. On the second half ({names[1]}):\n\n{judged}"
    )


def compared_table(results: Sequence[Results], questions: Sequence[str]) -> str:
    """Experiments that ask the same of another schedule, length or model, beside the one they are
    compared with: bits per byte at each size, relative to the best, in per cent."""
    rows = []
    for other in results:
        if other.question not in questions:
            continue
        first = next((one for one in results if one.name == other.of), None)
        for one in (first, other):
            if one is None or not one.bpe:
                continue
            best = one.best("bits_per_byte")
            losses = ", ".join(
                f"{one.size(name):,}: +{100 * (one.mean(name, 'bits_per_byte') / best - 1):.2f}%"
                for name in one.bpe
            )
            updates = one.records[one.bpe[0]][0]["updates"]
            row = [f"`{one.name}`", f"{updates:,}", f"{best:.4f}", losses]
            if row not in rows:
                rows.append(row)
    if not rows:
        return f"{NOT_YET[0].upper()}{NOT_YET[1:]}."
    return table(["experiment", "updates", "lowest bits per byte", "size: above it"], rows)


def runs_tables(results: Sequence[Results]) -> str:
    """Every model."""
    parts = []
    for one in results:
        scores = ["BLEU", "chrF"] if one.translates else []
        head = ["vocabulary", "rows", "bits per byte", *scores, "updates", "averaged", "minutes",
                "seeds"]  # fmt: skip
        rows = []
        for name in sorted(one.records, key=one.size):
            some = one.records[name]
            cells = [_spread(some, "bits_per_byte", 4)]
            cells += [_spread(some, score, 1) for score in ("bleu", "chrf")] if scores else []
            minutes = mean(record["timing"]["train_cpu"] for record in some) / 60
            rows.append([
                f"`{name}`", f"{one.size(name):,}", *cells, f"{some[0]['updates']:,}",
                some[0].get("averaged", 5), f"{minutes:.1f}", len(some),
            ])  # fmt: skip
        parts.append(f"### `{one.name}`: {one.text}\n\n{table(head, rows)}")
    return "\n\n".join(parts) or f"{NOT_YET[0].upper()}{NOT_YET[1:]}."


def _spread(some: Sequence[dict[str, Any]], figure: str, digits: int) -> str:
    values = [one[figure] for one in some]
    shown = f"{mean(values):.{digits}f}"
    return shown if len(values) == 1 else f"{shown} ± {stdev(values):.{digits}f}"


def wide_table(results: Sequence[Results]) -> str:
    """The paper's Tables 1, 2 and 6: its method beside BPE of 1,000 rows and the largest."""
    rows = []
    for one in results:
        if not one.translates or not one.bpe:
            continue
        near = min(one.bpe, key=lambda name: abs(np.log(one.size(name) / 1000)))
        paper = next((name for name in one.records if name.startswith("paper")), None)
        cells = [f"{one.size(name):,}: {one.mean(name, 'bleu'):.1f}" if name else "-"
                 for name in (near, one.bpe[-1], paper)]  # fmt: skip
        auto = one.choice("auto")
        bleu = None if auto is None else one.at(auto, "bleu")
        rows.append([f"`{one.name}`", *cells, "-" if bleu is None else f"{auto:,}: {bleu:.1f}"])
    if not rows:
        return f"{NOT_YET[0].upper()}{NOT_YET[1:]}."
    return table(["experiment", "BPE near 1,000", "largest BPE", "paper's VOLT", "`auto`"], rows)


def search_table(results: Sequence[Results]) -> str:
    """The paper's Table 4: what a search by training costs."""
    rows = []
    for one in results:
        if not one.translates or not one.judged:
            continue
        best = max(one.bpe, key=lambda name: one.mean(name, "bleu"))
        seconds = sum(one.records[name][0]["timing"]["train_cpu"] for name in one.bpe)
        rows.append([f"`{one.name}`", plain_size(one.size(best)), number(one.best("bleu"), 1),
                     f"{len(one.bpe)} models, {seconds / 60:.0f} core minutes"])  # fmt: skip
    if not rows:
        return f"{NOT_YET[0].upper()}{NOT_YET[1:]}."
    return table(["experiment", "BPE-Search chooses", "BLEU", "cost"], rows)


def published_table() -> str:
    published = json.loads((DOCS / "published.json").read_text(encoding="utf-8"))
    rows = [
        [one["text"], one["model"], one["finding"], one["source"]] for one in published["searches"]
    ]
    found = table(["text", "model", "sizes and scores", "source"], rows)
    head = ["text", "`auto` for base", "its range", "`auto` for big", "decided by"]
    here = [
        [one["text"], plain_size(one["base"]), range_of(one), plain_size(one["big"]), one["reason"]]
        for one in published["auto"]
    ]  # fmt: skip
    like = f"What `auto` says on text of similar kind and amount:\n\n{table(head, here)}"
    return f"{found}\n\n{like}\n\n{curves_table(published['curves'])}"


def curves_table(curves: Sequence[dict[str, Any]]) -> str:
    """BLEU over sizes as others published it, and what `auto`'s sizes would have lost there."""
    head = ["text", "BLEU by size", "best", "`auto` on", "its sizes", "BLEU it loses",
            "at the best quality", "source"]  # fmt: skip
    rows = []
    for one in curves:
        sizes, bleu = one["sizes"], one["bleu"]
        auto = one.get("auto")
        lost = ["-", "-"]
        if auto:
            lost = [
                f"{max(bleu) - between(sizes, bleu, auto[key]):.1f}" for key in ("sizes", "best")
            ]
        rows.append([
            f"{one['text']} ({one['model']})",
            ", ".join(f"{size:,} {value:g}" for size, value in zip(sizes, bleu, strict=True)),
            plain_size(sizes[int(np.argmax(bleu))]), auto["on"] if auto else "-",
            " and ".join(map(plain_size, auto["sizes"])) if auto else "-", *lost, one["source"],
        ])  # fmt: skip
    return table(head, rows)


def range_of(answer: dict[str, Any]) -> str:
    low, high = answer["range"]
    if answer["open_upward"]:
        return f"{low:,} upward, measured up to {high:,}"
    return f"{low:,} to {high:,}"


def between(sizes: Sequence[int], bleu: Sequence[float], chosen: Sequence[int]) -> float:
    """BLEU at the geometric mean of the sizes of both sides, on a line over log size."""
    return float(np.interp(np.mean(np.log(chosen)), np.log(sizes), bleu))


def plotted(results: Sequence[Results], name: str) -> list[Results]:
    """What a plot shows."""
    translates = name == "study-bleu"
    return [one for one in results if one.translates == translates and one.judged]


def _plot_line(results: Sequence[Results], name: str, title: str) -> str:
    if not plotted(results, name):
        return f"Plot: {NOT_YET} at {FEWEST} sizes of any text."
    return (
        f"![{title}](img/{name}.svg)\n\n"
        "A panel per experiment. The line is `auto`'s choice, its range is shaded."
    )


def sections(results: Sequence[Results]) -> Iterator[tuple[str, str]]:
    new = [one for one in results if one.question != "one-layer"]
    trained = sum(len(one.data["records"]) for one in new)
    planned = sum(len(one.specs) for one in EXPERIMENTS)
    yield (
        "state",
        (
            f"**{trained} of {planned} planned models are trained.** Figures appear as models are "
            "finished; `make study DATA=folder` goes on with the next."
        ),
    )
    yield "answer", answer_table(new)
    correlations = [one.correlation() for one in new if one.question == "size"]
    known = [value for value in correlations if value is not None]
    yield "spearman", (
        f"Spearman's correlation of quality score and bits per byte: median {median(known):.2f} "
        f"over {len(known)} corpora." if known else f"Correlations: {NOT_YET}."
    )  # fmt: skip
    yield "plot-lm", _plot_line(new, "study-lm", "What a size loses: language models")
    yield "plot-bleu", _plot_line(results, "study-bleu", "BLEU that a size loses")
    yield "regret", regret_table(new, "bits_per_byte")
    yield "regret-bleu", regret_table(new, "bleu")
    yield "verdict", verdict(new, "bits_per_byte")
    yield "verdict-bleu", verdict(new, "bleu")
    yield (
        "europarl",
        compared_table([one for one in new if "europarl" in one.name], ("schedule", "length")),
    )
    yield (
        "schedule",
        compared_table([one for one in new if "europarl" not in one.name], ("schedule",)),
    )
    yield "capacity", compared_table(new, ("capacity",))
    yield "wide", wide_table(results)
    yield "search", search_table(results)
    yield "published", published_table()
    yield "status", status_table(results)
    yield "runs", runs_tables(results)


# -------------------------------------------------------------------------------------------- plots


def size_plot(results: Sequence[Results], name: str) -> None:
    """A panel per experiment: what a size loses, with auto's choice and range."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = plotted(results, name)
    figure = "bleu" if name == "study-bleu" else "bits_per_byte"
    path = DOCS / "img" / f"{name}.svg"
    if not shown:
        path.unlink(missing_ok=True)
        return
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    drawn, axes = pyplot.subplots(
        rows, columns, figsize=(3.4 * columns, 2.5 * rows), squeeze=False, layout="constrained"
    )
    for panel in axes.flat[len(shown) :]:
        panel.axis("off")
    for one, panel in zip(shown, axes.flat, strict=False):
        losses = [one.regret(size, figure) or 0.0 for size in one.sizes]
        if one.range:
            panel.axvspan(*one.range, color="#0b5cad", alpha=0.13, linewidth=0)
        panel.plot(one.sizes, losses, "o-", color="#0b5cad", markersize=4)
        if (auto := one.choice("auto")) is not None:
            panel.axvline(auto, color="#b3450b", linewidth=1.3)
        panel.set(xscale="log", title=one.name)
        panel.set_ylabel("BLEU lost" if figure == "bleu" else "above the best, %")
        panel.title.set_fontsize(9)
    for panel in axes[-1]:
        panel.set_xlabel("rows")
    with matplotlib.rc_context({"svg.hashsalt": "volt", "svg.fonttype": "none"}):
        drawn.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(drawn)


def main() -> None:
    results = read_results()
    path = DOCS / "study.md"
    page = path.read_text(encoding="utf-8")
    for name, text in sections(results):
        pattern = rf"(<!-- study:{re.escape(name)} -->\n).*?(<!-- /study -->)"
        page, times = re.subn(
            pattern, lambda m, text=text: f"{m[1]}\n{text}\n\n{m[2]}", page, flags=re.S
        )
        if times != 1:
            raise SystemExit(f"docs/study.md has {times} places for {name}, not one")
    path.write_text(page, encoding="utf-8")
    for name in ("study-lm", "study-bleu"):
        size_plot(results, name)


if __name__ == "__main__":
    main()
