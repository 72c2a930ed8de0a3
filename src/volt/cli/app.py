"""The list of commands."""

from __future__ import annotations

import keyword
from importlib import import_module
from typing import Any

import click

from volt.base.checks import did_you_mean
from volt.base.errors import SettingsError
from volt.cli.command import HELP_FLAGS, write_example

COMMANDS = {
    "learn": "Learn a vocabulary, its size included, and write it to a folder.",
    "search": "Score BPE at a list of sizes, from one run.",
    "count": "Count the words of text, or add up counts files.",
    "candidates": "Learn candidates.",
    "curve": "Show entropy, sequence length and MUV of BPE at chosen sizes.",
    "encode": "Encode text with a vocabulary, line by line or into token files for training.",
    "decode": "Decode what `volt encode` wrote as tokens, ids or NumPy files.",
    "export": "Write a vocabulary for another toolkit, which then gives the same tokens.",
    "import": "Read the vocabulary of another toolkit into a folder that volt can use.",
    "report": "Make the page of a folder.",
    "plot": "Draw quality and cost over size with the choice, or the paper's curve.",
    "info": "Print what a vocabulary is, its signature and its diagnostics.",
    "compare": "Compare vocabularies, of any toolkit, on a text.",
    "verify": "Tell whether two tokenizers, of any toolkit, give the same ids.",
    "trial": "Train a small model for every vocabulary and compare them.",
    "data": "Fetch corpora; clean parallel text.",
    "merge": "Join vocabularies into one that is closed, with a map of the ids of each.",
    "refit": "Shrink a tokenizer to the tokens that fit a text, and a model with it.",
    "extend": "Add tokens for a text to a tokenizer, and rows to a model.",
}
"""The first sentence of each command's help. `volt --help` prints these without importing the
commands, which would take 0.12 s of its 0.19 s. A module of this folder is named like its command;
a name that Python reserves has an underscore."""

MEANT = {
    "shrink": "refit", "prune": "refit", "trim": "refit", "expand": "extend", "train": "learn",
    "tokenize": "encode", "detokenize": "decode",
}  # fmt: skip
"""What else people call a command."""


class Commands(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = name + "_" * keyword.iskeyword(name)
        found = getattr(import_module(f"volt.cli.{module}"), module)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not context.resilient_parsing:
            meant = f"; did you mean {MEANT[name]!r}?" if name in MEANT else ""
            hint = meant or did_you_mean(name, COMMANDS) or ": see volt --help"
            raise SettingsError(f"there is no command {name!r}{hint}")
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
