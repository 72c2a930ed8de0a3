"""volt report: the page of a folder, made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from volt.base.errors import SettingsError
from volt.base.output import atomic_write
from volt.cli import options
from volt.cli.console import say

Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="What volt learn wrote: the folder.", show_default=False),
]


def report(
    folder: Folder,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write here.  [default: DIR/report.html]",
            show_default=False,
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make the page of a folder: one file to look at, offline."""
    from volt.report.page import load_material, make_page

    sides = [folder / side for side in ("source", "target")]
    if not all((side / "volt.json").exists() for side in sides):
        sides = [folder]
    if output is not None and len(sides) > 1:
        raise SettingsError("two vocabularies, one page: name DIR/source or DIR/target")
    for side in sides:
        page = make_page(load_material(side))
        home = side.parent if side.name == "volt.json" else side
        path = output or home / "report.html"
        with atomic_write(path) as stream:
            stream.write(page)
        say(quiet, f"{path}: {len(page) / 1e6:.2f} MB, opens in any browser")
