"""The list of commands."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from volt._version import __version__

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
    "trial": "trial",
    "data": "data",
    "merge": "merge",
    "refit": "refit",
    "extend": "extend",
}
"""By the name of their module in this folder, and of the function, or group of commands, in it."""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The program: with the one command that is asked for, or, to list them, with all. A command
    takes a hundredth of a second to build, and some that long to import."""
    app = typer.Typer(
        name="volt",
        help="The right subword vocabulary, its size included, without trial training.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    asked = arguments[0] if arguments else ""
    for name in [asked] if asked in COMMANDS else COMMANDS:
        module = import_module(f"volt.cli.{COMMANDS[name]}")
        command = getattr(module, COMMANDS[name])
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _version(asked: bool) -> None:
    if asked:
        print(f"volt {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False,
) -> None:
    """The right subword vocabulary, its size included, without trial training."""
