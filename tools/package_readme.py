"""The README that the package index shows: README.md with links that work there.

In the repository links name files, so that they work in a checkout and on every forge. The index
has no files, so links go to the documentation site. pyproject.toml names this module; it is called
while a package is built, when nothing but the standard library is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

SITE = "https://volt-vocab.readthedocs.io/en/latest"
ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?://|#)(?P<file>[^)#]+)(?P<place>#[^)]*)?\)")
PAGES = {"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "CITATION.cff"}
"""Files beside README.md that the site has as pages."""


def address(file: str, place: str = "") -> str:
    """Where the site has a file of the repository."""
    if file in PAGES:
        return f"{SITE}/{Path(file).stem.lower()}/{place}"
    if not file.startswith("docs/"):
        raise ValueError(f"README.md links to {file}, which is not on the documentation site")
    page = file.removeprefix("docs/")
    if not page.endswith(".md"):
        return f"{SITE}/{page}"
    page = page.removesuffix(".md").removesuffix("index")
    return f"{SITE}/{page.rstrip('/')}/{place}" if page else f"{SITE}/{place}"


def absolute(text: str) -> str:
    """Markdown with links to the site where it had links to files."""
    return LINK.sub(lambda link: f"]({address(link['file'], link['place'] or '')})", text)


def dynamic_metadata(
    field: str, settings: Mapping[str, object], project: Mapping[str, object] | None = None
) -> dict[str, str]:
    """What scikit-build-core asks a metadata provider for."""
    text = absolute((ROOT / "README.md").read_text(encoding="utf-8"))
    return {"content-type": "text/markdown", "text": text}
