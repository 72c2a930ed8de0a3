"""trials/report.html: a trial's charts and table, in the style of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from volt._version import __version__
from volt.base.output import atomic_write
from volt.report.bundle import is_installed, vega_bundle
from volt.report.page import fill_page
from volt.trial.results import TrialResults

HEIGHT = 320
HERE = Path(__file__).parent


def write_page(results: TrialResults, path: Path) -> bool:
    """Write the page; False if the charting library is not installed."""
    if not is_installed():
        return False
    page = make_trial_page(results)
    with atomic_write(path) as stream:
        stream.write(page)
    return True


def make_trial_page(results: TrialResults) -> bytes:
    about = results.settings
    model = about["model"]
    bars = (
        "one standard deviation over seeds" if about["seeds"] > 1
        else "95% interval over resampled test sentences"
    )  # fmt: skip
    charts = [
        ("BLEU over size", f"Error bars: {bars}. Dashed: what the criteria choose.",
         bleu_over_size(results)),
        ("Quality against speed", "Training pairs a second of wall time.",
         quality_against(results, "pairs_per_second", "training pairs a second")),
        ("Quality against parameters", "All parameters, embeddings included.",
         quality_against(results, "parameters", "parameters")),
        ("Validation loss", "Nats a character of the target, at every checkpoint.",
         learning_curves(results)),
    ]  # fmt: skip
    data = {
        "version": __version__,
        "lead": f"{model['model']}, width {model['width']}, {model['encoder_layers']} + "
        f"{model['decoder_layers']} layers; {about['pairs']['train']:,} training pairs; "
        f"seeds: {about['seeds']}.",
        "head": HEAD,
        "rows": [_cells(row) for row in results.rows()],
        "charts": [
            {"title": title, "caption": caption, "spec": spec} for title, caption, spec in charts
        ],
        "notes": [
            "p: sacrebleu's paired bootstrap against the first vocabulary, median over seeds. "
            "± 95%: BLEU's interval over resampled test sentences, mean over seeds.",
            *(f"{name}: {one}" for name, one in results.signatures.items()),
            *results.messages,
        ],
    }
    scripts = ["charts.js", str(HERE / "page.js")]
    return fill_page(str(HERE / "page.html"), data, vega_bundle(), scripts)


def _base(title: str, layers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "description": title,
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit", "contains": "padding"},
        "layer": layers,
    }


def bleu_over_size(results: TrialResults) -> dict[str, Any]:
    """BLEU with error bars: over seeds, or of the test text if there is one seed; the criteria as
    rules."""
    rows = []
    for row in results.rows():
        half = row["bleu_95"] if row["bleu_spread"] is None else row["bleu_spread"]
        low, high = row["bleu"] - half, row["bleu"] + half
        rows.append({**row, "low": low, "high": high, "kind": row["vocabulary"].partition(":")[0]})
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
                "data": {"values": rows},
                "mark": "rule",
                "encoding": {
                    "x": size, "y": {**bleu, "field": "low"}, "y2": {"field": "high"},
                    "color": kind,
                },
            },
            {
                "data": {"values": [row for row in rows if row["kind"] == "bpe"]},
                "mark": "line",
                "encoding": {"x": size, "y": bleu, "color": kind},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": {"x": size, "y": bleu, "color": kind, "tooltip": tooltip},
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


def quality_against(results: TrialResults, name: str, title: str) -> dict[str, Any]:
    rows = results.rows()
    scale = {"zero": False, "padding": 16}
    x = {"field": name, "type": "quantitative", "title": title, "scale": scale,
         "axis": {"tickCount": 8}}  # fmt: skip
    y = {"field": "bleu", "type": "quantitative", "title": "BLEU", "scale": scale}
    text = {"field": "vocabulary", "type": "nominal"}
    return _base(
        f"BLEU against {title}",
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
        "Validation loss a character over training",
        [
            {
                "data": {"values": rows},
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


HEAD = [
    "vocabulary", "tokens", "BLEU", "± 95%", "chrF", "nats a character", "p", "pairs/s",
    "parameters", "tokens a sentence", "minutes",
]  # fmt: skip


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["vocabulary"],
        f"{row['size']:,}",
        _pm(row, "bleu", 2),
        f"{row['bleu_95']:.2f}",
        _pm(row, "chrf", 2),
        _pm(row, "loss_per_character", 4),
        "" if row["p"] is None else f"{row['p']:.3f}",
        f"{row['pairs_per_second']:.0f}",
        f"{row['parameters']:,}",
        f"{row['source_tokens']:.1f} / {row['target_tokens']:.1f}",
        f"{row['seconds'] / 60:.1f}",
    ]


def _pm(row: dict[str, Any], name: str, digits: int) -> str:
    spread = row[f"{name}_spread"]
    shown = f"{row[name]:.{digits}f}"
    return shown if spread is None else f"{shown} ± {spread:.{digits}f}"
