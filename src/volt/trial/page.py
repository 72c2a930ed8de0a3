"""trials/report.html: a trial's charts and table, in the style of the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from volt._version import __version__
from volt.base.output import atomic_write
from volt.report.bundle import is_installed, vega_bundle
from volt.report.page import fill_page
from volt.trial.results import HEADS, TrialResults

HEIGHT = 320
CLOSE = 1.15
"""Ratio of two sizes below which their labels overlap."""
HERE = Path(__file__).parent


def write_page(results: TrialResults, path: Path) -> bool:
    """Write the page; False if the charting library is not installed."""
    if not is_installed():
        return False
    page = make_trial_page(results)
    with atomic_write(path) as stream:
        stream.write(page)
    return True


@dataclass(frozen=True)
class Measure:
    """What the charts show: a figure of a row, and half of its 95% interval."""

    name: str
    interval: str
    title: str


MEASURES = {
    "lm": [Measure("bits_per_byte", "bits_95", "bits per byte")],
    "translation": [
        Measure("bleu", "bleu_95", "BLEU"), Measure("bits_per_byte", "bits_95", "bits per byte"),
    ],
}  # fmt: skip
"""The first is what the task is about."""


def make_trial_page(results: TrialResults) -> bytes:
    about = results.settings
    model = about["model"]
    bars = (
        "one standard deviation over seeds" if about["seeds"] > 1
        else "95% interval over test sentences"
    )  # fmt: skip
    main, *others = MEASURES[results.task]
    charts = [
        (f"{one.title} over size".capitalize() if one.title[0].islower() else
         f"{one.title} over size", f"Error bars: {bars}. Dashed: what the criteria choose.",
         over_size(results, one))
        for one in (main, *others)
    ] + [
        ("Quality against speed", "Training sentences per second of wall time.",
         quality_against(results, main, "sentences_per_second", "training sentences per second")),
        ("Quality against parameters", "All parameters, embeddings included.",
         quality_against(results, main, "parameters", "parameters")),
        ("Validation loss", "Bits per byte of the target, at every checkpoint.",
         learning_curves(results)),
    ]  # fmt: skip
    layers = f"{model['encoder_layers']} + " if model["encoder_layers"] else ""
    data = {
        "version": __version__,
        "answer": f"{results.answer()[0].upper()}{results.answer()[1:]}.",
        "lead": f"{TASKS[results.task]}: {model['model']}, width {model['width']}, {layers}"
        f"{model['decoder_layers']} layers; {about['sentences']['train']:,} training sentences; "
        f"seeds: {about['seeds']}.",
        "head": HEADS[results.task],
        "rows": results.cells(),
        "charts": [
            {"title": title, "caption": caption, "spec": spec} for title, caption, spec in charts
        ],
        "notes": [
            P_VALUES[results.task] + " ±95%: half of the 95% interval over test sentences, mean "
            "over seeds.",
            *(f"{name}: {one}" for name, one in results.signatures.items()),
            *results.messages,
        ],
    }
    scripts = ["charts.js", str(HERE / "page.js")]
    return fill_page(str(HERE / "page.html"), data, vega_bundle(), scripts)


TASKS = {"lm": "Language models", "translation": "Translation models"}
P_VALUES = {
    "lm": "p: of the difference to the first vocabulary over the same test lines, median over "
    "seeds.",
    "translation": "p: sacrebleu's paired bootstrap of BLEU against the first vocabulary, median "
    "over seeds.",
}


def _base(title: str, layers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "description": title,
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit", "contains": "padding"},
        "layer": layers,
    }


def over_size(results: TrialResults, measure: Measure) -> dict[str, Any]:
    """A figure with error bars: over seeds, or of the test text if there is one seed; the criteria
    as rules."""
    rows = []
    for row in results.rows():
        spread = row[f"{measure.name}_spread"]
        half = row[measure.interval] if spread is None else spread
        low, high = row[measure.name] - half, row[measure.name] + half
        rows.append({**row, "low": low, "high": high, "kind": row["vocabulary"].partition(":")[0]})
    size = {
        "field": "size", "type": "quantitative", "title": "tokens in the vocabulary",
        "scale": {"type": "log"},
    }  # fmt: skip
    figure = {"field": measure.name, "type": "quantitative", "title": measure.title,
              "scale": {"zero": False}}  # fmt: skip
    kind = {"field": "kind", "type": "nominal", "title": "vocabulary"}
    tooltip = [
        {"field": name, "type": "nominal" if name == "vocabulary" else "quantitative"}
        for name in ("vocabulary", "size", *(one.name for one in MEASURES[results.task]))
    ]
    chosen = _labels(results.criteria)
    return _base(
        f"{measure.title} over vocabulary size, with what the criteria choose",
        [
            {
                "data": {"values": rows},
                "mark": "rule",
                "encoding": {
                    "x": size, "y": {**figure, "field": "low"}, "y2": {"field": "high"},
                    "color": kind,
                },
            },
            {
                "data": {"values": [row for row in rows if row["kind"] == "bpe"]},
                "mark": "line",
                "encoding": {"x": size, "y": figure, "color": kind},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": {"x": size, "y": figure, "color": kind, "tooltip": tooltip},
            },
            {
                "data": {"values": chosen},
                "mark": {"type": "rule", "strokeDash": [4, 4], "opacity": 0.6},
                "encoding": {"x": size},
            },
            {
                "data": {"values": chosen},
                "mark": {"type": "text", "angle": 270, "align": "right", "dx": -4, "dy": -6},
                "encoding": {
                    "x": size, "y": {"value": 0}, "text": {"field": "criterion", "type": "nominal"},
                },
            },
        ],
    )  # fmt: skip


def _labels(criteria: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sizes that criteria choose; those whose labels would overlap share one, at the first."""
    found: list[dict[str, Any]] = []
    first: dict[str, Any] = {"size": 0, "criterion": ""}
    for one in sorted((one for one in criteria if one["size"]), key=lambda one: one["size"]):
        row = {"size": one["size"], "criterion": one["criterion"]}
        if row["size"] < CLOSE * first["size"]:
            first["criterion"] += f", {one['criterion']}"
            row["criterion"] = ""
        else:
            first = row
        found.append(row)
    return found


def quality_against(
    results: TrialResults, measure: Measure, name: str, title: str
) -> dict[str, Any]:
    rows = results.rows()
    scale = {"zero": False, "padding": 16}
    x = {"field": name, "type": "quantitative", "title": title, "scale": scale,
         "axis": {"tickCount": 8}}  # fmt: skip
    y = {"field": measure.name, "type": "quantitative", "title": measure.title, "scale": scale}
    text = {"field": "vocabulary", "type": "nominal"}
    return _base(
        f"{measure.title} against {title}",
        [
            {
                "data": {"values": rows},
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": {"x": x, "y": y, "tooltip": [text, {**x}, {**y}]},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "text", "align": "left", "dx": 7},
                "encoding": {"x": x, "y": y, "text": text},
            },
        ],
    )


def learning_curves(results: TrialResults) -> dict[str, Any]:
    rows = [
        {"vocabulary": run.vocabulary, "run": f"{run.vocabulary} {run.seed}", "epoch": one[1],
         "loss": one[3]}
        for run in results.runs for one in run.history
    ]  # fmt: skip
    return _base(
        "Validation loss over training",
        [
            {
                "data": {"values": rows},
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": {"field": "epoch", "type": "quantitative", "title": "epochs"},
                    "y": {
                        "field": "loss",
                        "type": "quantitative",
                        "title": "bits per byte (validation)",
                        "scale": {"zero": False},
                    },
                    "color": {"field": "vocabulary", "type": "nominal"},
                    "detail": {"field": "run", "type": "nominal"},
                },
            }
        ],
    )
