"""trials/report.html: one file, no network, the figures of a trial as charts and as a table."""

from __future__ import annotations

import html
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from volt.files import atomic_write
from volt.trial.results import TrialResults

WIDTH, HEIGHT = 640, 320


def write_page(results: TrialResults, path: Path) -> bool:
    """Write the page; False if the charting library is not installed."""
    try:
        vl_convert: Any = import_module("vl_convert")
    except ImportError:
        return False
    page = make_page(results, vl_convert.javascript_bundle())
    with atomic_write(path) as stream:
        stream.write(page.encode())
    return True


def make_page(results: TrialResults, script: str) -> str:
    charts = {
        "BLEU over size": bleu_over_size(results),
        "Quality against speed": quality_against(
            results, "pairs_per_second", "training pairs a second"
        ),
        "Quality against parameters": quality_against(results, "parameters", "parameters"),
        "Validation loss": learning_curves(results),
    }
    sections = "\n".join(
        f'<section><h2>{title}</h2><div class="chart" id="chart-{number}"></div></section>'
        for number, title in enumerate(charts)
    )
    specs = json.dumps(list(charts.values()), ensure_ascii=False).replace("</", "<\\/")
    return PAGE.format(
        table=_table(results), sections=sections, specs=specs, script=script, notes=_notes(results)
    )


def _values(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"values": rows}


def _base(title: str, layers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": title,
        "width": WIDTH,
        "height": HEIGHT,
        "layer": layers,
    }


def bleu_over_size(results: TrialResults) -> dict[str, Any]:
    """BLEU with an error bar of one standard deviation over seeds; the criteria as rules."""
    rows = [
        {
            **row,
            "low": row["bleu"] - (row["bleu_spread"] or 0),
            "high": row["bleu"] + (row["bleu_spread"] or 0),
            "kind": row["vocabulary"].partition(":")[0],
        }
        for row in results.rows()
    ]
    size = {
        "field": "size", "type": "quantitative", "title": "tokens in the vocabulary",
        "scale": {"type": "log"},
    }  # fmt: skip
    bleu = {"field": "bleu", "type": "quantitative", "title": "BLEU", "scale": {"zero": False}}
    kind = {"field": "kind", "type": "nominal", "title": "vocabulary"}
    tooltip = [
        {"field": name, "type": "nominal" if name == "vocabulary" else "quantitative"}
        for name in ("vocabulary", "size", "bleu", "chrf", "loss_per_character")
    ]
    # One label for criteria that choose the same.
    sizes = sorted({one["size"] for one in results.criteria if one["size"]})
    chosen = [
        {"size": chosen_size, "criterion": ", ".join(
            one["criterion"] for one in results.criteria if one["size"] == chosen_size
        )}
        for chosen_size in sizes
    ]  # fmt: skip
    return _base(
        "BLEU over vocabulary size, with what the criteria choose",
        [
            {
                "data": _values(rows),
                "mark": "rule",
                "encoding": {
                    "x": size, "y": {**bleu, "field": "low"}, "y2": {"field": "high"},
                    "color": kind,
                },
            },
            {
                "data": _values([row for row in rows if row["kind"] == "bpe"]),
                "mark": "line",
                "encoding": {"x": size, "y": bleu, "color": kind},
            },
            {
                "data": _values(rows),
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": {"x": size, "y": bleu, "color": kind, "tooltip": tooltip},
            },
            {
                "data": _values(chosen),
                "mark": {"type": "rule", "strokeDash": [4, 4], "opacity": 0.6},
                "encoding": {"x": size},
            },
            {
                "data": _values(chosen),
                "mark": {"type": "text", "angle": 270, "align": "right", "dx": -4, "dy": -6},
                "encoding": {
                    "x": size, "y": {"value": 0}, "text": {"field": "criterion", "type": "nominal"},
                },
            },
        ],
    )  # fmt: skip


def quality_against(results: TrialResults, name: str, title: str) -> dict[str, Any]:
    rows = results.rows()
    x = {"field": name, "type": "quantitative", "title": title, "scale": {"zero": False}}
    y = {"field": "bleu", "type": "quantitative", "title": "BLEU", "scale": {"zero": False}}
    text = {"field": "vocabulary", "type": "nominal"}
    return _base(
        f"BLEU against {title}",
        [
            {
                "data": _values(rows),
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": {"x": x, "y": y, "tooltip": [text, {**x}, {**y}]},
            },
            {
                "data": _values(rows),
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
        "Validation loss a character over training",
        [
            {
                "data": _values(rows),
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": {"field": "epoch", "type": "quantitative", "title": "epochs"},
                    "y": {
                        "field": "loss",
                        "type": "quantitative",
                        "title": "nats a character (validation)",
                        "scale": {"zero": False},
                    },
                    "color": {"field": "vocabulary", "type": "nominal"},
                    "detail": {"field": "run", "type": "nominal"},
                },
            }
        ],
    )


def _table(results: TrialResults) -> str:
    head = (
        "vocabulary", "tokens", "BLEU", "chrF", "nats a character", "p", "pairs/s", "parameters",
        "tokens a sentence", "minutes",
    )  # fmt: skip
    lines = ["<tr>" + "".join(f"<th>{title}</th>" for title in head) + "</tr>"]
    for row in results.rows():
        cells = (
            html.escape(row["vocabulary"]),
            f"{row['size']:,}",
            _pm(row, "bleu", 2),
            _pm(row, "chrf", 2),
            _pm(row, "loss_per_character", 4),
            "" if row["p"] is None else f"{row['p']:.3f}",
            f"{row['pairs_per_second']:.0f}",
            f"{row['parameters']:,}",
            f"{row['source_tokens']:.1f} / {row['target_tokens']:.1f}",
            f"{row['seconds'] / 60:.1f}",
        )
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return "\n".join(lines)


def _pm(row: dict[str, Any], name: str, digits: int) -> str:
    spread = row[f"{name}_spread"]
    shown = f"{row[name]:.{digits}f}"
    return shown if spread is None else f"{shown} ± {spread:.{digits}f}"


def _notes(results: TrialResults) -> str:
    about = results.settings
    model = about["model"]
    lines = [
        f"{model['model']}, width {model['width']}, {model['encoder_layers']} + "
        f"{model['decoder_layers']} layers; {about['pairs']['train']:,} training pairs; "
        f"{about['seeds']} seeds.",
        "p: sacrebleu's paired bootstrap against the first vocabulary, median over seeds.",
        *(f"{name}: {one}" for name, one in results.signatures.items()),
        *results.messages,
    ]
    return "\n".join(f"<li>{html.escape(line)}</li>" for line in lines)


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>volt trial</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1b1b; background: #fff }}
h1 {{ font-size: 1.6rem }} h2 {{ font-size: 1.2rem; margin-top: 2rem }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right }}
th:first-child, td:first-child {{ text-align: left }}
.wide, .chart {{ overflow-x: auto }}
ul {{ color: #555; font-size: .9rem }}
</style>
<h1>Trial training</h1>
<div class="wide"><table>
{table}
</table></div>
{sections}
<h2>Notes</h2>
<ul>
{notes}
</ul>
<script>{script}</script>
<script>
const specs = {specs};
specs.forEach((spec, number) => vegaEmbed("#chart-" + number, spec, {{actions: false}}));
</script>
</html>
"""
