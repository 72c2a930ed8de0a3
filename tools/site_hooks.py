"""What MkDocs does for us: files beside docs/ become pages, and links to them lead there.

In the repository a page links to `../CONTRIBUTING.md`, and CONTRIBUTING.md to `docs/method.md`, so
that both work in a checkout. mkdocs.yml names this module.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "license.md": "LICENSE",
    "citation.md": "CITATION.cff",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    for page, name in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        if not name.endswith(".md"):
            text = f"# {Path(name).stem.title()}\n\n```text\n{text}\n```\n"
        files.append(File.generated(config, page, content=text))
    records = sorted(path.name for path in (ROOT / "docs" / "study").glob("*.json"))
    listed = "".join(f"- [{name}]({name})\n" for name in records)
    files.append(
        File.generated(config, "study/index.md", content=f"# Records of the study\n\n{listed}")
    )
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to pages of the site, wherever their file lies."""
    for there, name in PAGES.items():
        markdown = re.sub(
            rf"\]\((?:\.\./)?{re.escape(name)}(#[^)]*)?\)", rf"]({there}\1)", markdown
        )
    markdown = markdown.replace("](study/)", "](study/index.md)")
    if page.file.src_path in PAGES:
        markdown = markdown.replace("](docs/", "](")
    return markdown
