"""trials/report.html: a trial's charts and table, in the style of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from volt._version import __version__
from volt.base.output import write_file
from volt.report.answer import short
from volt.report.bundle import is_installed, vega_bundle
from volt.report.page import fill_page
from volt.trial.results import HEADS, MEASURES, Measure, TrialResults

HEIGHT = 320
CLOSE = 1.15
"""Ratio of two sizes below which their labels overlap."""
HERE = Path(__file__).parent


def write_page(results: TrialResults, path: Path) -> bool:
    """Write the page; False if the charting library is not installed."""
    if not is_installed():
        return False
    page = make_trial_page(results)
    write_file(path, page)
    return True


def make_trial_page(results: TrialResults) -> bytes:
    about = results.settings
    model = about["model"]
    bars = (
        "one standard deviation over seeds" if about["seeds"] > 1
        else "95% interval over test sentences"
    )  # fmt: skip
    main, *others = MEASURES[results.task]
    charts = [
        (f"{one.title[0].upper()}{one.title[1:]} over size",
         f"Error bars: {bars}. Dashed: the sizes that the criteria choose. \"auto for this model\" "
         f"is the cheapest size for the model trained here, with {short(model['body'])} parameters "
         f"outside the embeddings and width {model['width']}. Rows of the embedding table cost "
         "such a small model more than the one that you chose a vocabulary for, so it takes fewer.",
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


def _chart(title: str, *layers: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": title,
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit", "contains": "padding"},
        "layer": list(layers),
    }


def _layer(rows: list[dict[str, Any]], mark: Any, **encoding: Any) -> dict[str, Any]:
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _axis(field: str, title: str, **scale: Any) -> dict[str, Any]:
    found = {"field": field, "type": "quantitative", "title": title}
    return {**found, "scale": scale} if scale else found


def _name(field: str) -> dict[str, Any]:
    return {"field": field, "type": "nominal"}


POINTS = {"type": "point", "filled": True, "size": 70}


def over_size(results: TrialResults, measure: Measure) -> dict[str, Any]:
    """A figure with error bars: over seeds, or of the test text if there is one seed; the criteria
    as rules."""
    rows = []
    for row in results.rows():
        spread = row[f"{measure.name}_spread"]
        half = row[measure.interval] if spread is None else spread
        low, high = row[measure.name] - half, row[measure.name] + half
        rows.append({**row, "low": low, "high": high, "kind": row["vocabulary"].partition(":")[0]})
    size = _axis("size", "tokens in the vocabulary", type="log")
    figure = _axis(measure.name, measure.title, zero=False)
    kind = {**_name("kind"), "title": "vocabulary"}
    tooltip = [
        {"field": name, "type": "nominal" if name == "vocabulary" else "quantitative"}
        for name in ("vocabulary", "size", *(one.name for one in MEASURES[results.task]))
    ]
    labels = _labels(results.criteria)
    dashed = {"type": "rule", "strokeDash": [4, 4], "opacity": 0.6}
    upright = {"type": "text", "angle": 270, "align": "right", "dx": -4, "dy": -6}
    bars = {"y": {**figure, "field": "low"}, "y2": {"field": "high"}}
    return _chart(
        f"{measure.title} over vocabulary size, with what the criteria choose",
        _layer(rows, "rule", x=size, **bars, color=kind),
        _layer([row for row in rows if row["kind"] == "bpe"], "line", x=size, y=figure, color=kind),
        _layer(rows, POINTS, x=size, y=figure, color=kind, tooltip=tooltip),
        _layer(labels, dashed, x=size),
        _layer(labels, upright, x=size, y={"value": 0}, text=_name("criterion")),
    )


def _labels(criteria: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sizes that criteria choose; those whose labels would overlap share one, at the first."""
    found: list[dict[str, Any]] = []
    first: dict[str, Any] = {"size": 0, "criterion": ""}
    for one in sorted((one for one in criteria if one["size"]), key=lambda one: one["size"]):
        name = "auto for this model" if one["criterion"] == "auto" else one["criterion"]
        row = {"size": one["size"], "criterion": name}
        if row["size"] < CLOSE * first["size"]:
            first["criterion"] += f", {name}"
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
    x = {**_axis(name, title, **scale), "axis": {"tickCount": 8}}
    y, text = _axis(measure.name, measure.title, **scale), _name("vocabulary")
    return _chart(
        f"{measure.title} against {title}",
        _layer(rows, POINTS, x=x, y=y, tooltip=[text, x, y]),
        _layer(rows, {"type": "text", "align": "left", "dx": 7}, x=x, y=y, text=text),
    )


def learning_curves(results: TrialResults) -> dict[str, Any]:
    rows = [
        {"vocabulary": run.vocabulary, "run": f"{run.vocabulary} {run.seed}", "epoch": one[1],
         "loss": one[3]}
        for run in results.runs for one in run.history
    ]  # fmt: skip
    loss = _axis("loss", "bits per byte (validation)", zero=False)
    return _chart(
        "Validation loss over training",
        _layer(rows, {"type": "line", "point": True}, x=_axis("epoch", "epochs"), y=loss,
               color=_name("vocabulary"), detail=_name("run")),
    )  # fmt: skip
