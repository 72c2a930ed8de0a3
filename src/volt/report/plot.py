"""Figures for a paper, with matplotlib: quality and cost over vocabulary size with the choice where
they meet; entropy and MUV, as in the paper.

Dashes and shapes differ as well as colours, so figures can be read in grey.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from volt.base.errors import InputError, SettingsError
from volt.base.extras import need
from volt.choosing.cost import Model, cost
from volt.report.answer import (
    model_words,
    paper_sizes,
    percent,
    quality_loss,
    quality_points,
    verdict,
)

if TYPE_CHECKING:
    from volt.report.page import Material
    from volt.result import LearnResult

Shows = Literal["answer", "paper"]
FORMATS = ("svg", "png", "pdf")
STYLES: tuple[tuple[str, Any], ...] = (
    ("#b3450b", "-"),
    ("#0b5cad", (0, (5, 2))),
    ("#6b5b00", (0, (1, 1))),
    ("#1d7a3a", (0, (5, 2, 1, 2))),
    ("#7a3f9d", (0, (1, 3))),
    ("#9c2f5f", (0, (9, 3))),
    ("#00696b", (0, (4, 2, 1, 2, 1, 2))),
    ("#4d4d4d", (0, (10, 2, 2, 2))),
)
"""For the criteria, in the order in which they are listed."""
CHOICE, QUALITY, COST = "#b3450b", "#0b5cad", "#6b5b00"
HEADROOM = 10
"""Tolerances of quality that the figure shows; sizes that lose more are off it."""


def result_figure(result: LearnResult, shows: Shows = "answer") -> Any:
    from volt.report.data import curve_columns

    return figure_of(curve_columns(result), result.summary(), result.curve_name, shows)


def material_figure(material: Material, shows: Shows = "answer") -> Any:
    """The figure of a folder."""
    curve = (material.report or {}).get("curve")
    if not curve or material.choices is None or "steps" not in material.choices:
        raise InputError("the folder has no curve.csv and choices.json: was it made by volt learn?")
    source = (material.report or {}).get("source") or {}
    return figure_of(curve, material.choices, source.get("name", "BPE"), shows)


def figure_of(curve: dict[str, Any], choices: dict[str, Any], name: str, shows: Shows) -> Any:
    """Quality and cost; for results without them, the paper's curve."""
    if shows == "answer" and choices.get("cost"):
        return answer_figure(curve, choices)
    return paper_figure(curve, choices, name)


def new_figure(rows: int, heights: tuple[float, ...]) -> tuple[Any, Any]:
    need("matplotlib.figure", "report")
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    class Shown(Figure):
        """A notebook shows it, whether pyplot was imported or not."""

        def _repr_svg_(self) -> str:
            return render(self, "svg").decode()

    figure = Shown(figsize=(7.2, 4.4), layout="constrained")
    panels = figure.subplots(rows, 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set(xscale="log")
    panels[-1].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panels[-1].xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    panels[-1].xaxis.set_minor_formatter(NullFormatter())
    panels[-1].set(xlabel="vocabulary size in tokens")
    return figure, panels


# -------------------------------------------------------------------------------- quality and cost


def answer_figure(curve: dict[str, Any], choices: dict[str, Any]) -> Any:
    """Above, held-out bits per byte with the range around the best; below, the cost. A line through
    both marks the choice, ticks what parts of the text chose."""
    quality = choices.get("quality")
    sizes = np.array(curve["size"], np.int64)
    model = Model(**choices["cost"]["model"])
    price = cost(np.array(curve["tokens"], np.float64), sizes, model)
    extra = 100 * (price / price.min() - 1)
    figure, panels = new_figure(2, (1.2, 1)) if quality else new_figure(1, (1,))
    inside = np.full(len(sizes), True)
    if quality:
        low, high = quality["range"]
        inside = (sizes >= low) & (sizes <= high)
        _draw_quality(panels[0], quality, choices)
    lower, size = panels[-1], choices["size"]
    label = f"cost for {model_words(choices['cost']['model'])}"
    lower.plot(sizes, extra, color=COST, linestyle=(0, (7, 3)), linewidth=1.6, label=label)
    lowest = choices["cost"]["lowest"]
    lower.plot([lowest], [0], "o", color=COST, markersize=5, label=f"lowest cost {lowest:,}")
    lower.set(ylabel="extra cost, %", ylim=_room(1.15 * max(10, *extra[inside])))
    paper = verdict(choices, "muv")
    for axes in panels:
        if quality:
            axes.axvspan(low, high, color=QUALITY, alpha=0.13, linewidth=0)
        axes.axvline(size, color=CHOICE, linewidth=1.3)
        if paper and paper["size"]:
            axes.axvline(paper["size"], color="0.35", linestyle=(0, (2, 3)), linewidth=1.2)
    star(lower, size, np.interp(np.log(size), np.log(sizes), extra))
    _answer_legend(figure, panels, choices)
    return figure


def _draw_quality(axes: Any, quality: dict[str, Any], choices: dict[str, Any]) -> None:
    grid, scores = quality_points(quality)
    best, size = scores.min(), choices["size"]
    for one in quality["splits"]:
        values = np.array(one, np.float64)
        loss = 100 * (values / np.nanmin(values) - 1)  # levels differ with what was held out
        axes.plot(quality["sizes"], loss, color=QUALITY, linewidth=0.6, alpha=0.5)
    loss = 100 * (scores / best - 1)
    axes.plot(grid, loss, color=QUALITY, linewidth=1.8, label="held-out bits per byte")
    parts = [one for one in choices.get("splits") or [] if one is not None]
    if len(parts) > 1:
        axes.plot(
            parts, np.ones(len(parts)), "|", color=CHOICE, markersize=11, markeredgewidth=1.5,
            transform=axes.get_xaxis_transform(), clip_on=False, label="parts of the text",
        )  # fmt: skip
    here = quality_loss(quality, size)
    star(axes, size, np.nan if here is None else 100 * here, f"the choice {size:,}")
    most = 100 * HEADROOM * quality["tolerance"]
    axes.set(ylabel="above the best, %", ylim=_room(min(most, 1.05 * loss.max())))


def star(axes: Any, size: float, value: float, label: str | None = None) -> None:
    """Mark what was chosen."""
    axes.plot(
        [size], [value], "*", color=CHOICE, markersize=14, markeredgecolor="black", zorder=5,
        clip_on=False, label=label,
    )  # fmt: skip


def _room(top: float) -> tuple[float, float]:
    """From a little below zero, so that points there can be seen."""
    return -0.05 * top, top


def _answer_legend(figure: Any, panels: Any, choices: dict[str, Any]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    if quality := choices.get("quality"):
        label = f"within {percent(quality['tolerance'])} of the best"
        found[label] = Patch(color=QUALITY, alpha=0.13)
    paper = verdict(choices, "muv")
    if paper and paper["size"]:
        own = paper_sizes(choices) == "given"
        label = f"{'the VOLT paper, your sizes' if own else 'the VOLT paper'} {paper['size']:,}"
        found[label] = Line2D([], [], color="0.35", linestyle=(0, (2, 3)), linewidth=1.2)
    figure.legend(
        found.values(), found.keys(), loc="outside lower center", ncols=2, fontsize="small",
        frameon=False,
    )  # fmt: skip


# --------------------------------------------------------------------------------------- the paper


def paper_figure(curve: dict[str, Any], choices: dict[str, Any], name: str = "BPE") -> Any:
    """Above, H of BPE, H at S after transport, a star at the choice and a line for every criterion;
    below, M at the sizes of S."""
    steps = choices["steps"]
    figure, (upper, lower) = new_figure(2, (3, 1.2))
    upper.plot(curve["size"], curve["entropy"], "-", color="black", linewidth=1.4, label=name)
    sizes = [step["size"] for step in steps]
    upper.plot(
        sizes, [step["entropy"] for step in steps], "o", color="0.35", markersize=4,
        label="S, after transport",
    )  # fmt: skip
    for place, one in enumerate(choices["choices"]):
        if one["size"] is None:
            continue
        color, dashes = STYLES[place % len(STYLES)]
        upper.axvline(
            one["size"], color=color, linestyle=dashes, linewidth=1.3,
            label=f"{one['criterion']} {one['size']:,}",
        )  # fmt: skip
    star(upper, *_star(curve, choices), "the choice")
    bars = [(step["size"], step["muv"] * 1e6) for step in steps if step["muv"] is not None]
    paper = verdict(choices, "muv")
    chosen = max((bar for bar in bars if paper and bar[0] == paper["size"]), default=None)
    for size, value in bars:
        decided = (size, value) == chosen
        lower.bar(
            size, value, width=size * 0.05, color="white" if decided else "0.6", edgecolor="black",
            linewidth=0.8, hatch="////" if decided else None,
        )  # fmt: skip
    lower.axhline(0, color="black", linewidth=0.8)
    upper.set(ylabel="H (nats)")
    lower.set(ylabel="MUV, millionths")
    figure.legend(*upper.get_legend_handles_labels(), loc="outside right upper", fontsize="small",
                  frameon=False)  # fmt: skip
    return figure


def _star(curve: dict[str, Any], choices: dict[str, Any]) -> tuple[float, float]:
    """On the step that was chosen, else on the curve."""
    for step in choices["steps"]:
        if step["size"] == choices["size"]:
            return step["size"], step["entropy"]
    row = min(range(len(curve["size"])), key=lambda i: abs(curve["size"][i] - choices["size"]))
    return curve["size"][row], curve["entropy"][row]


def render(figure: Any, form: str) -> bytes:
    """The same figure gives the same bytes: no dates, no random names."""
    import matplotlib

    metadata: dict[str, Any] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }[form]
    # Text stays text, and names inside an SVG do not depend on chance.
    settings: Any = {"svg.hashsalt": "volt", "svg.fonttype": "none", "pdf.fonttype": 42}
    with matplotlib.rc_context(settings):
        stream = io.BytesIO()
        figure.savefig(stream, format=form, metadata=metadata, dpi=200)
    return stream.getvalue()


def check_form(path: Path) -> str:
    """The kind of figure that a file's name asks for."""
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise SettingsError(f"{path}: a figure ends in {', '.join(f'.{one}' for one in FORMATS)}")
    return form
