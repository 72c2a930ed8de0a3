"""The README that the package index shows: README.md with the names of files instead of links.

In the repository links name files, so that they work in a checkout and on every forge. The index
has no files, so there a link becomes its words and the file's name; the picture goes. It is called
by pyproject.toml while a package is built, when nothing but the standard library is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = r"\]\((?!https?://|#)(?P<file>[^)#]+)(?P<place>#[^)]*)?\)"
LINK = re.compile(FILE)
PICTURE = re.compile(
    rf"\[!\[[^\]]*{FILE.replace('file', 'image').replace('place', 'part')}{FILE}\n\n"
)
WORDS = re.compile(rf"\[(?P<words>[^\[\]]*){FILE}")


def without_files(text: str) -> str:
    """Markdown whose links all lead somewhere, wherever it is read."""

    def named(link: re.Match[str]) -> str:
        words, file = link["words"], link["file"]
        return file if words == file else f"{words} (`{file}`)"

    return WORDS.sub(named, PICTURE.sub("", text)) + "\nFiles are those of the source package.\n"


def dynamic_metadata(
    field: str, settings: Mapping[str, object], project: Mapping[str, object] | None = None
) -> dict[str, str]:
    """What scikit-build-core asks a metadata provider for."""
    text = without_files((ROOT / "README.md").read_text(encoding="utf-8"))
    return {"content-type": "text/markdown", "text": text}
