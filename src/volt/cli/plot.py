"""volt plot: the curve as a figure for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from volt.base.output import atomic_write
from volt.cli import options
from volt.cli.console import say
from volt.cli.report import Folder


def plot(
    folder: Folder,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A name that ends in .svg, .png or .pdf.",
            show_default=False,
        ),
    ],
    quiet: options.Quiet = False,
) -> None:
    """Draw entropy, MUV and what the criteria chose; readable in grey."""
    from volt.report.page import load_material
    from volt.report.plot import check_form, material_figure, render

    form = check_form(output)
    data = render(material_figure(load_material(folder)), form)
    with atomic_write(output) as stream:
        stream.write(data)
    say(quiet, f"{output}: {len(data) / 1000:.0f} kB")
