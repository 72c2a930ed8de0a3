"""The figure for a paper, with matplotlib: entropy, M and the choices over vocabulary size.

Everything is told apart by dashes and shapes as well as by colour, so that it can be read in grey.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from volt.base.errors import InputError, SettingsError

if TYPE_CHECKING:
    from volt.report.page import Material
    from volt.result import LearnResult

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


def result_figure(result: LearnResult) -> Any:
    from volt.report.data import curve_columns

    return curve_figure(curve_columns(result), result.summary(), result.curve_name)


def material_figure(material: Material) -> Any:
    """The figure of a folder."""
    curve = (material.report or {}).get("curve")
    if not curve or material.choices is None:
        raise InputError("the folder has no curve.csv and choices.json: was it made by volt learn?")
    source = (material.report or {}).get("source") or {}
    return curve_figure(curve, material.choices, source.get("name", "BPE"))


def curve_figure(curve: dict[str, Any], choices: dict[str, Any], name: str = "BPE") -> Any:
    """Above, H of BPE, H at S after transport, a star at the choice and a line for every criterion;
    below, M at the sizes of S."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError(
            "this needs matplotlib, part of the extra `report`: pip install 'volt-vocab[report]'"
        ) from None
    steps = choices["steps"]
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.2))
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
    star = _star(curve, choices)
    upper.plot(
        *star, "*", color=STYLES[0][0], markersize=15, markeredgecolor="black", zorder=5,
        label="the choice",
    )  # fmt: skip
    bars = [(step["size"], step["muv"] * 1e6) for step in steps if step["muv"] is not None]
    chosen = max((bar for bar in bars if bar[0] == choices["size"]), default=None)
    for size, value in bars:
        decided = (size, value) == chosen
        lower.bar(
            size, value, width=size * 0.05, color="white" if decided else "0.6", edgecolor="black",
            linewidth=0.8, hatch="////" if decided else None,
        )  # fmt: skip
    lower.axhline(0, color="black", linewidth=0.8)
    upper.set(xscale="log", ylabel="H (nats)")
    lower.set(ylabel="MUV, millionths", xlabel="vocabulary size in tokens")
    figure.legend(*upper.get_legend_handles_labels(), loc="outside right upper", fontsize="small",
                  frameon=False)  # fmt: skip
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
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
