"""Write the tables of options in docs/cli.md, which come from the settings: make docs-tables.

In every section of a command the first table is replaced. Everything else is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from volt.base.options import GROUPS, Option
from volt.cli.app import app
from volt.cli.command import Command
from volt.settings import in_flags

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
SECTION = re.compile(r"^## volt (?P<name>[a-z ]+)\n(?P<text>(?:(?!## ).*\n?)*)", re.M)
TABLE = re.compile(r"^\| option \|.*\n(?:\|.*\n)+", re.M)


def commands() -> dict[str, Command]:
    """Every command by its name, those of groups too: `data get`."""
    found: dict[str, Command] = {}
    context = click.Context(app)
    for name in app.list_commands(context):
        one = app.get_command(context, name)
        inside = {f"{name} {part}": sub for part, sub in getattr(one, "commands", {}).items()}
        found |= inside or {name: one}
    return found


def table(command: Command) -> str:
    """A row per option, group by group."""
    rows = ["| option | default | |", "|---|---|---|"]
    for group in GROUPS:
        here = [one for one in command.options.values() if one.group == group and not one.argument]
        rows += [f"| **{group}** | | |"] if here else []
        rows += [_row(one, command) for one in here]
    return "\n".join(rows) + "\n"


def _row(one: Option, command: Command) -> str:
    flags = [one.flag, *([f"--no-{one.flag[2:]}"] if one.default is True else [])]
    flags += [one.short] if one.short else []
    default = "required" if one.required else one.shown_default()
    if default and not one.default_words and not one.required:
        default = f"`{default}`"
    names = ", ".join(f"`{flag}`" for flag in flags)
    about = in_flags(one.about(), command.options, "`")
    return f"| {names} {one.metavar}".rstrip() + f" | {default} | {about} |"


def written(page: str) -> str:
    """The page with all tables as they should be."""
    known = commands()

    def section(match: re.Match[str]) -> str:
        return TABLE.sub(lambda _: table(known[match["name"]]), match[0], count=1)

    return SECTION.sub(section, page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
