"""What people look at: the page report.html, the terminal summary, figures, notebooks.

`report.json` contains what the page needs besides the other files of a folder. So `volt report` can
make the page from the folder alone (docs/report.md describes it).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volt.result import LearnResult


def write_report(result: LearnResult, folder: Path) -> None:
    """Add report.json to a result's folder and, if its libraries are installed, report.html."""
    from volt.report.bundle import is_installed
    from volt.report.data import collect, save_report
    from volt.report.page import Material, make_page

    report = collect(result)
    save_report(report, folder / "report.json")
    if is_installed():
        page = make_page(Material(result.vocabulary, result.summary(), report))
        (folder / "report.html").write_bytes(page)
