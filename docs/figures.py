"""Make the pictures of docs/method.md anew, from text that every machine with Python has.

    pip install matplotlib
    python docs/figures.py

The text is the documentation of Python itself (tools/demo_text.py), so the figures differ a little
from one version of Python to the next. They hold numbers only, no text of the corpus.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

import volt

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

DOCS = Path(__file__).parent
IMAGES = DOCS / "img"
COLORS = {
    "auto": "k",
    "heldout": "C6",
    "muv": "C3",
    "mdl": "C0",
    "frequency": "C5",
    "renyi": "C2",
    "zipf": "C4",
    "knee": "C1",
}

# Text stays text, and equal input gives equal bytes.
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "volt", "font.size": 9})


def demo_result() -> volt.LearnResult:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "python-docs.txt"
        script = DOCS.parent / "tools" / "demo_text.py"
        subprocess.run([sys.executable, script, text], check=True)
        return volt.learn([text])


def curve_figure(result: volt.LearnResult) -> Figure:
    """H of BPE at every size, H after transport at the sizes of S, and what each criterion chose.

    Sizes are rows of the embedding table.
    """
    curve = result.curve
    rows = np.unique(np.geomspace(1, len(curve), 200).astype(int) - 1)
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    axes.plot(curve.size[rows], curve.entropy_types[rows], "k-", label="BPE, by type length")
    axes.plot(
        curve.size[rows], curve.entropy_occurrences[rows], "k--", label="BPE, nats per character"
    )
    axes.plot(
        [step.size for step in result.steps],
        [step.entropy for step in result.steps],
        ".",
        color=COLORS["muv"],
        label="S, ranked by frequency, after transport",
    )
    for choice in result.choices:
        if choice.size is None:
            continue
        size = choice.size
        axes.axvline(size, color=COLORS[choice.criterion], linewidth=1)
        axes.text(
            size, 1.01, choice.criterion, rotation=45, transform=axes.get_xaxis_transform(),
            color=COLORS[choice.criterion],
        )  # fmt: skip
    axes.set(xscale="log", xlabel="rows of the vocabulary", ylabel="H (nats)")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower left", frameon=False)
    return figure


def muv_figure(result: volt.LearnResult) -> Figure:
    """M at the sizes of S, for both rankings: one falls, the other changes its sign."""
    plain = volt.learn(result.counts, rank="merge", profile="paper")
    sizes = np.array([step.size for step in result.steps])
    figure, panels = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
    titles = ("ranked by merge (BPE)", "ranked by frequency (paper)")
    for axes, steps, title in zip(panels, (plain.steps, result.steps), titles, strict=True):
        values = np.array([step.muv * 1e6 for step in steps[1:]])
        bars = axes.bar(sizes[1:], values, width=600, color="0.7")
        bars[int(values.argmax())].set_color(COLORS["muv"])
        axes.axhline(0, color="k", linewidth=0.8)
        axes.set(title=title, xlabel="S", ylabel="MUV, millionths")
    return figure


def main() -> None:
    result = demo_result()
    IMAGES.mkdir(exist_ok=True)
    for name, make in (("curve", curve_figure), ("muv", muv_figure)):
        path = IMAGES / f"{name}.svg"
        figure = make(result)
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
