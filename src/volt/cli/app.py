"""The list of commands."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from volt.base.checks import did_you_mean
from volt.base.errors import SettingsError
from volt.cli.command import HELP_FLAGS, write_example

COMMANDS = {
    "learn": "learn",
    "search": "search",
    "count": "count",
    "candidates": "candidates",
    "curve": "curve",
    "encode": "encode",
    "decode": "decode",
    "export": "export",
    "import": "import_",
    "report": "report",
    "plot": "plot",
    "info": "info",
    "compare": "compare",
    "verify": "verify",
    "trial": "trial",
    "data": "data",
    "merge": "merge",
    "refit": "refit",
    "extend": "extend",
}
"""By the name of their module in this folder, and of the command, or group of commands, in it."""


class Commands(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found = getattr(import_module(f"volt.cli.{COMMANDS[name]}"), COMMANDS[name])
        assert isinstance(found, click.Command)
        return found

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not context.resilient_parsing:
            raise SettingsError(f"there is no command {name!r}{did_you_mean(name, COMMANDS)}")
        return super().resolve_command(context, args)

    def format_help(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        write_example(formatter, "volt learn train.de train.en -o out\nvolt encode -m out test.de")
        super().format_help(context, formatter)


app = Commands(
    "volt",
    help="The right subword vocabulary, its size included, without trial training.",
    no_args_is_help=True,
    context_settings=HELP_FLAGS,
    params=[click.Option(["--debug"], is_flag=True, help="Show the traceback of an error.")],
    callback=lambda debug: None,  # main() has taken it out, wherever it was
)


def _show_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from volt.cli.version import versions

    click.echo("\n".join(f"{name} {number}" for name, number in versions().items()))
    context.exit()


click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Show the versions of volt, Unicode and the libraries it can use.",
)(app)  # fmt: skip
