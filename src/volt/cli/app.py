"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from volt._version import __version__
from volt.cli.candidates import candidates
from volt.cli.count import count
from volt.cli.curve import curve
from volt.cli.decode import decode
from volt.cli.encode import encode
from volt.cli.export import export
from volt.cli.import_ import import_
from volt.cli.learn import learn
from volt.cli.search import search

app = typer.Typer(
    name="volt",
    help="The right subword vocabulary, its size included, without trial training.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"volt {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False,
) -> None:
    """The right subword vocabulary, its size included, without trial training."""


app.command()(learn)
app.command()(search)
app.command()(count)
app.command()(candidates)
app.command()(curve)
app.command()(encode)
app.command()(decode)
app.command()(export)
app.command("import")(import_)
