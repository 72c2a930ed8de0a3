"""volt plot: the curve as a figure for a paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from volt.base.options import choice, option, path
from volt.cli.arguments import File, Learned, Quiet
from volt.cli.command import command
from volt.cli.console import say


@dataclass(frozen=True, kw_only=True)
class PlotCommand(Learned, File, group="Output"):
    output: str = option(..., "A name that ends in .svg, .png or .pdf.", path("FILE"), short="-o")
    figure: Literal["answer", "paper"] = option(
        "answer", "Quality and cost, or the paper's entropy and MUV", choice("answer", "paper")
    )


@command("volt plot out -o curve.svg")
def plot(asked: PlotCommand, shown: Quiet) -> None:
    """Draw quality and cost over size with the choice, or the paper's curve; readable in grey."""
    from volt.report.page import load_material
    from volt.report.plot import check_form, material_figure, render

    asked.claim(asked.files)
    form = check_form(Path(asked.output))
    data = render(material_figure(load_material(Path(asked.folder)), asked.figure), form)
    asked.write(lambda stream: stream.write(data))
    say(shown.quiet, f"{asked.output}: {len(data) / 1000:.0f} kB")
