"""What the package says about itself: one version, typed, links that work without a checkout."""

import re
import sys
from importlib.metadata import metadata
from pathlib import Path

import volt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import package_readme  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_version_has_one_place():
    about = metadata("volt-vocab")
    assert about["Version"] == volt.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == volt.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## ([0-9.]+)", changes, re.M)[1] == volt.__version__


def test_the_package_is_typed():
    assert Path(volt.__file__).with_name("py.typed").is_file()


def test_links_of_the_readme_are_files_here_and_words_elsewhere():
    files = [link["file"] for link in package_readme.LINK.finditer(README)]
    assert len(files) > 10
    assert not [file for file in files if not (ROOT / file).exists()]
    there = package_readme.without_files(README)
    links = re.findall(r"\]\(([^)]*)\)", there)
    assert links
    assert not [link for link in links if not link.startswith(("https://", "#"))]
    assert "docs/img" not in there
    assert "start here (`docs/start-lm.md`)" in there


def test_the_readme_is_short():
    assert README.count("\n") < 120


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())
    listed = set(re.findall(r"^# make ([\w-]+)", makefile, re.M))
    parts = {"help", "peers", "$(READERS:%=fuzz-%)", "$(FUZZERS:%=fuzz-%)"}  # of bench, fuzz
    assert targets - parts == listed
