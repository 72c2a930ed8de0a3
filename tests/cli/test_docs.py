"""The documentation says what is true: its options exist, its examples give what they show."""

import doctest
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
VOLT = Path(sys.executable).with_name("volt")

PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (volt.*)\n((?:(?!## ).*\n?)*)", PAGE, re.M))


@functools.cache
def shown_by_help(*command: str) -> str:
    done = subprocess.run([VOLT, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def options_of_help(text: str) -> set[str]:
    lines = re.findall(r"^ {2}((?:-\w, )?--[a-z-]+(?: / --[a-z-]+)?)", text, re.M)
    return {option for line in lines for option in re.findall(r"--?[a-z-]+", line)}


def commands(*group: str) -> list[str]:
    """All commands; of a group, those in it: `data get`."""
    _, _, listed = shown_by_help(*group).partition("Commands:\n")
    names = [" ".join([*group, name]) for name in re.findall(r"^ {2}([a-z-]+) ", listed, re.M)]
    return [one for name in names for one in commands(*name.split()) or [name]]


def options_of_docs(section: str) -> set[str]:
    tables = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    return {
        option
        for code in re.findall(r"`([^`]+)`", tables)
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", code)
    }


def test_every_command_is_documented_and_no_other():
    assert sorted(SECTIONS) == sorted(["volt", *(f"volt {name}" for name in commands())])


@pytest.mark.parametrize("title", SECTIONS)
def test_every_option_is_documented_and_no_other(title):
    shown = options_of_help(shown_by_help(*title.split()[1:]))
    assert shown
    if title != "volt":
        shown -= {"-h", "--help"}  # documented once, for all
    assert options_of_docs(SECTIONS[title]) == shown


def test_the_tables_of_options_are_those_of_the_settings():
    """`make docs-tables` writes them."""
    sys.path.append(str(DOCS.parent / "tools"))
    from cli_docs import written

    assert written(PAGE) == PAGE


def test_no_option_is_mentioned_anywhere_that_no_command_has():
    known = options_of_help(shown_by_help()).union(
        *(options_of_help(shown_by_help(*name.split())) for name in commands())
    )
    mentioned = {
        (name, option)
        for name in ("cli.md", "words.md", "candidates.md", "method.md", "paper.md")
        for option in re.findall(r"`(--[a-z-]+)", (DOCS / name).read_text(encoding="utf-8"))
    }
    assert not {(name, option) for name, option in mentioned if option not in known}


@pytest.mark.parametrize("name", ["words.md", "candidates.md"])
def test_examples_in_python(name):
    failed, tried = doctest.testfile(str(DOCS / name), module_relative=False, encoding="utf-8")
    assert tried > 3
    assert not failed
