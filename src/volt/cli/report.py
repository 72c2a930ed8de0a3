"""volt report: the page of a folder, made again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from volt.base.errors import SettingsError
from volt.base.options import option, path
from volt.cli.arguments import File, Learned, Quiet
from volt.cli.command import command
from volt.cli.console import say

PAGE = "report.html"


@dataclass(frozen=True, kw_only=True)
class ReportCommand(Learned, File, group="Output"):
    output: str | None = option(
        None, "Write here.", path("FILE"), short="-o", default_words="DIR/report.html"
    )


@command("volt report out")
def report(asked: ReportCommand, shown: Quiet) -> None:
    """Make the page of a folder: of what learn, refit or extend wrote, one file, offline."""
    from volt.base.manifest import result_files
    from volt.base.output import claim, record, write_file
    from volt.report.page import load_material, make_page

    folder = Path(asked.folder)
    sides = [folder / side for side in ("source", "target")]
    if not all((side / "volt.json").exists() for side in sides):
        sides = [folder]
    if asked.output is not None and len(sides) > 1:
        raise SettingsError("two vocabularies, one page: name DIR/source or DIR/target")
    asked.claim(asked.files)
    homes = [side.parent if side.name == "volt.json" else side for side in sides]
    materials = [load_material(side) for side in sides]
    for home in homes if asked.output is None else []:
        claim(home / PAGE, force=asked.force or PAGE in result_files(home))
    for material, home in zip(materials, homes, strict=True):
        page = make_page(material)
        target = asked.output or home / PAGE
        if asked.output is None:
            record(home, PAGE)  # first: a page that is not on the list would be somebody else's
        write_file(target, page)
        say(shown.quiet, f"{target}: {len(page) / 1e6:.2f} MB, opens in any browser")
