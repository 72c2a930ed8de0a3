"""Commands made from settings: a function whose parameters are settings classes is a command.

    @command("volt count train.txt -o counts.tsv")
    def count(files: Inputs, settings: CountSettings, run: Run) -> None: ...

Every field of these classes is an option, with the help text, group and check it was declared
with. The function gets the settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import Any, get_type_hints

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from volt.base.checks import did_you_mean
from volt.base.errors import SettingsError, VoltError
from volt.base.options import GROUPS, Option, Settings, options_of
from volt.settings import GONE, in_flags

HELP_FLAGS = {"help_option_names": ["-h", "--help"]}
BARE = ("m", "model", "train", "i", "input")
"""Options of other commands and programs for what a command takes without one."""
ALIKE = {"text": "on", "corpus": "on", "size": "add"}
"""What an option of other commands is called here: named in the error about an unknown one."""
PATHS = ("FILE", "PATH", "DIR", "TOKENIZER", "VOCABULARY")
"""Metavars of options whose values are completed as names of files."""


class Given(frozenset[str]):
    """The names of the options on the command line, even with the value that is the default."""


def command(example: str, name: str = "") -> Callable[[Callable[..., None]], Command]:
    """Make a function a command. Its help shows the example first."""
    return lambda function: Command(name or function.__name__.rstrip("_"), function, example)


class Command(click.Command):
    """A click command whose options come from settings classes."""

    def __init__(self, name: str, function: Callable[..., None], example: str) -> None:
        self.function = function
        self.example = example
        hints = get_type_hints(function)
        self.parts = {part: hints[part] for part in hints if part != "return"}
        kinds = [kind for kind in self.parts.values() if issubclass(kind, Settings)]
        self.options = options_of(*kinds)
        super().__init__(
            name,
            help=function.__doc__,
            callback=self.call,
            params=[_parameter(one) for one in self.options.values()],
            context_settings={**HELP_FLAGS, "allow_extra_args": True},  # _refuse_extra() names them
        )

    def call(self, **values: Any) -> None:
        self.function(**self.settings(click.get_current_context()))

    def settings(self, context: click.Context) -> dict[str, Any]:
        """What the function is called with."""
        given = Given(
            name for name, value in context.params.items()
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and value != ()
        )  # fmt: skip
        self._check_swallowed(context.params)
        for one in self.options.values():
            if one.required and one.name not in given:
                self._check_bare(one, context)
                flag = one.metavar if one.argument else f"{one.short or one.flag} {one.metavar}"
                about = one.about()[0].lower() + one.about()[1:]
                raise SettingsError(f"{self.name} needs {flag}: {about}")
        return {part: _made(kind, context.params, given) for part, kind in self.parts.items()}

    def _check_bare(self, lacking: Option, context: click.Context) -> None:
        """A vocabulary among the files, where -m is to name it."""
        words = context.params.get("files")
        if lacking.short == "-m" and isinstance(words, tuple):
            for word in words:
                if (Path(word) / "volt.json").exists() or Path(word).name == "volt.json":
                    raise SettingsError(
                        f"name the vocabulary with -m: {context.command_path} -m {quote(word)} ..."
                    )

    def _check_swallowed(self, values: Mapping[str, Any]) -> None:
        """An option that was taken for the value of the one before it, which lacks a value."""
        named = [one for one in self.options.values() if not one.argument]
        flags = {flag for one in named for flag in (one.flag, one.short) if flag}
        for one in named:
            value = values.get(one.name)
            words = value if isinstance(value, tuple) else (value,)
            found = next((word for word in words if isinstance(word, str) and word in flags), None)
            if found is not None:
                raise SettingsError(f"{one.flag} needs {one.metavar}, and {found} is an option")

    def _refuse_extra(self, context: click.Context) -> None:
        """Of a word that no option is before."""
        word = quote(context.args[0])
        for one in self.options.values():
            if one.required and one.short == "-m" and context.params.get(one.name) is None:
                raise SettingsError(
                    f"name the vocabulary with -m: {context.command_path} -m {word} ..."
                )
        raise SettingsError(f"{self.name} does not take {word}: see {context.command_path} --help")

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(context, args)
            if context.args and not context.resilient_parsing:
                self._refuse_extra(context)
            return rest
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            if name in GONE:
                raise SettingsError(f"`{name}` {GONE[name]}") from None
            flags = [one.flag for one in self.options.values() if not one.argument]
            bare = [one for one in self.options.values() if one.argument]
            if bare and name in BARE:
                one, example = bare[0].metavar.strip("[]"), self.example.splitlines()[0]
                hint = f"; {one} goes without an option: {example}"
            elif (alike := self.options.get(ALIKE.get(name, ""))) is not None:
                hint = f"; {alike.flag} {alike.metavar}: {alike.about().partition(';')[0]}"
            else:
                hint = did_you_mean(error.option_name, flags, "")
            message = f"{self.name} has no option {error.option_name}{hint}"
            raise SettingsError(message) from None
        except click.BadOptionUsage as error:
            for known in self.options.values():
                if error.option_name in (known.flag, known.short, known.name):
                    raise SettingsError(f"{known.flag} needs {known.metavar}") from None
            raise

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with errors_in_flags(self.options):
            return super().make_context(*args, **more)

    def invoke(self, context: click.Context) -> Any:
        with errors_in_flags(self.options):
            return super().invoke(context)

    def format_help(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """An example, what the command does, and its options group by group."""
        write_example(formatter, self.example)
        self.format_usage(context, formatter)
        self.format_help_text(context, formatter)
        for group in GROUPS:
            rows = [(left(one), right(one, self.options))
                    for one in self.options.values() if one.group == group]  # fmt: skip
            if group == "Output":
                rows.append(("-h, --help", "Show this message and exit."))
            if rows:
                formatter.write(f"\n{group}:\n" + _table(rows, formatter.width))

    def get_short_help_str(self, limit: int = 45) -> str:
        """For the list of commands: the first sentence, whole."""
        return re.split(r"[.;:]\s|\.$", " ".join((self.help or "").split()))[0] + "."


def write_example(formatter: click.HelpFormatter, example: str) -> None:
    lines = "".join(f"  {line}\n" for line in example.splitlines())
    formatter.write(f"Example:\n{lines}\n")


def _table(rows: list[tuple[str, str]], width: int) -> str:
    """Two columns. Names with hyphens stay whole."""
    margin = min(max(len(name) for name, _ in rows), 24) + 4
    text = ""
    for name, meaning in rows:
        lines = wrap(meaning, width - margin, break_on_hyphens=False)
        first = "" if len(name) > margin - 4 else lines.pop(0)
        text += f"  {name:<{margin - 2}}{first}".rstrip() + "\n"
        text += "".join(f"{'':{margin}}{line}\n" for line in lines)
    return text


def _made(kind: type, values: Mapping[str, Any], given: Given) -> Any:
    if kind is Given:
        return given
    return kind(**{name: values[name] for name in options_of(kind) if name in given})


def left(one: Option) -> str:
    """An option as help texts show it: `-o, --output DIR`."""
    if one.argument:
        return one.metavar
    flags = f"{one.flag} / --no-{one.flag[2:]}" if one.default is True else one.flag
    return f"{one.short + ', ' if one.short else ''}{flags} {one.metavar}".rstrip()


def right(one: Option, options: Mapping[str, Option]) -> str:
    """What it means, and its default."""
    said = one.shown_default()
    default = "required" if one.required or said == "required" else said and f"default: {said}"
    return in_flags(one.about(), options) + (f"  [{default}]" if default else "")


def _parameter(one: Option) -> click.Parameter:
    values = one.kind.values
    if one.argument:
        return click.Argument(
            [one.name], nargs=-1 if values is None else values, required=False,
            metavar=one.metavar, type=Value(one),
        )  # fmt: skip
    flag = f"{one.flag}/--no-{one.flag[2:]}" if one.default is True else one.flag
    names = [one.name, flag, *([one.short] if one.short else [])]
    if one.kind.flag:
        return click.Option(names, is_flag=True, default=None)
    return click.Option(names, multiple=values is None, nargs=values or 1, type=Value(one))


class Value(click.ParamType):  # type: ignore[type-arg]
    """Text, which the settings class reads; what there is to choose from is completed."""

    name = "value"

    def __init__(self, option: Option) -> None:
        self.option = option

    def convert(self, value: Any, *about: Any) -> Any:
        return self.option.kind.convert(value) if isinstance(value, str) else value

    def shell_complete(self, *asked: Any) -> list[CompletionItem]:
        incomplete = asked[-1]
        if self.option.kind.names:
            names = self.option.kind.names()
            if not self.option.kind.closed:  # bpe:N: the number is the user's
                names = tuple(name.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for name in names)
            return [CompletionItem(name) for name in names if name.startswith(incomplete)]
        path = self.option.metavar.strip("[].").endswith(PATHS)
        return [CompletionItem(incomplete, type="file")] if path else []


# ---------------------------------------------------------------------------- parameters into flags


def current_options() -> Mapping[str, Option]:
    """Those of the command that runs."""
    context = click.get_current_context(silent=True)
    return context.command.options if context and isinstance(context.command, Command) else {}


@contextmanager
def errors_in_flags(options: Mapping[str, Option]) -> Iterator[None]:
    try:
        yield
    except VoltError as error:
        error.args = (in_flags(str(error), options),)
        raise
