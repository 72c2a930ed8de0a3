"""The examples of the documentation print what it shows, and every command in it can be read."""

import difflib
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from volt.base.errors import VoltError
from volt.cli.app import app

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import doc_examples  # noqa: E402

TEXTS = {
    path.name: path.read_text(encoding="utf-8")
    for path in (*doc_examples.PAGES, ROOT / "CONTRIBUTING.md")
}


@pytest.mark.parametrize(
    "name", [name for name, text in TEXTS.items() if doc_examples.has_examples(text)]
)
def test_examples_print_what_is_shown(name, monkeypatch, volt_data):
    """`make docs-examples` writes what they print now."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    for corpus in re.findall("<!-- needs: (.*) -->", TEXTS[name]):
        volt_data(f"{corpus}/train.en")  # skips where it is not there
    new = doc_examples.written(TEXTS[name], name)
    assert new == TEXTS[name], "".join(
        difflib.unified_diff(TEXTS[name].splitlines(True), new.splitlines(True), "page", "now")
    )


def shown_commands(text: str) -> list[str]:
    """Every `volt` command in a block of code, run or not."""
    text = text.replace("\\\n", " ")
    fenced = "".join(body for body in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S))
    indented = "".join(re.findall(r"^(?: {4}.*\n)+", text, re.M))
    tables = re.findall(r"^\|.* \| `(volt [a-z][^`]*)` \|$", text, re.M)
    return re.findall(r"^ *(?:\$ )?(volt [a-z].*)$", fenced + indented, re.M) + tables


OUTLINE = re.compile(r"\[-|(?<![\w$.'=-])[A-Z]+(?![\w.=:])")
"""A command with places to fill: DIR, N, [-o FILE]."""


@pytest.mark.parametrize("name", sorted(set(TEXTS) - {"CONTRIBUTING.md", "cli.md"}))
def test_every_command_shown_is_run_or_says_why_not(name):
    """In blocks of `console`, which are run; indented blocks only outline commands. In cli.md an
    indented line is the synopsis of a command, and the examples below it are run."""
    text = TEXTS[name].replace("\\\n", " ")
    loose = re.findall(r"^ {4,}(?:\$ )?(volt [a-z].*)$", text, re.M)
    assert not [line for line in loose if not OUTLINE.search(line)]
    fenced = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.M | re.S)
    assert not [body for kind, body in fenced if kind != "console" and "$ volt " in body]


def parsed(line: str) -> None:
    """Read a command with all its options; nothing is run."""
    words = shlex.split(re.split(r" [|>] ?|; ", line)[0], comments=True)[1:]
    command: click.Command | None = app
    context = click.Context(app)
    while isinstance(command, click.Group):
        command = command.get_command(context, words.pop(0))
    assert command is not None
    if "--help" not in words:
        command.settings(command.make_context("volt", words))


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_shown_can_be_read(name):
    wrong = []
    for line in shown_commands(TEXTS[name]):
        if OUTLINE.search(line):
            continue
        try:
            parsed(line)
        except (VoltError, click.ClickException, AssertionError, IndexError) as error:
            wrong.append(f"{line}: {error}")
    assert not wrong


# ------------------------------------------------------------------------------------------- links


def places(text: str) -> set[str]:
    """The anchors of a page, as forges and the site name them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


LINKED = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
LINKED += sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """`make docs` asks more: it builds the site."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    dead = []
    for file, place in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)", text):
        target = page.parent / file if file else page
        if not target.exists():
            dead.append(file)
        elif place and place not in places(target.read_text(encoding="utf-8")):
            dead.append(f"{file}#{place}")
    assert not dead


def test_the_site_has_every_page():
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"([\w-]+\.md)\s*$", config, re.M))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= named
