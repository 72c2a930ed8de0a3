"""How commands are made from settings: help, completion, errors in flags."""

import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from volt.base.errors import InputError, SettingsError
from volt.base.options import GROUPS, Settings, flag, many, one_of, option, path, size, whole
from volt.choosing.sizes import parse_sizes
from volt.cli.app import COMMANDS as SUMMARIES
from volt.cli.app import app
from volt.cli.command import Command, Given, command, in_flags
from volt.ladder import ladder_sizes
from volt.settings import read_source

VOLT = Path(sys.executable).with_name("volt")


def every_command() -> dict[str, Command]:
    context = click.Context(app)
    found = {}
    for name in app.list_commands(context):
        one = app.get_command(context, name)
        inside = getattr(one, "commands", None)
        found |= {f"{name} {sub}": two for sub, two in inside.items()} if inside else {name: one}
    return found


COMMANDS = every_command()
NAMES = ["pear", "apple"]


@dataclass(frozen=True, kw_only=True)
class Fruit(Settings):
    kind: str = option("pear", "Which fruit", one_of(lambda: NAMES), group="Words", short="-k")
    number: int = option(..., "How many.", size(1), group="Size")
    baskets: tuple = option((), "Where to.", many(path()), group="Output", flag="basket")
    ripe: bool = option(True, "Ripe ones.", flag(), group="Words")


@dataclass(frozen=True, kw_only=True)
class Other(Settings):
    min_count: int = option(1, "With `number`.", whole(1), group="Words")


# ------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_and_then_groups_in_order(name):
    done = CliRunner().invoke(app, [*name.split(), "--help"])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == "Example:"
    assert lines[1].startswith(f"  volt {name} ") or lines[1] == f"  volt {name}"
    shown = [line[:-1] for line in lines if line[:-1] in GROUPS and line.endswith(":")]
    assert shown == [group for group in GROUPS if group in shown]
    assert {one.group for one in COMMANDS[name].options.values()} | {"Output"} == {*shown}


def test_the_list_of_commands_says_what_their_help_says():
    context = click.Context(app)
    for name, summary in SUMMARIES.items():
        assert app.get_command(context, name).get_short_help_str(limit=1000) == summary


def test_learn_has_the_five_groups():
    done = CliRunner().invoke(app, ["learn", "--help"])
    places = [done.output.index(f"\n{group}:\n") for group in
              ("Input", "Words", "Size", "Tokens", "Output")]  # fmt: skip
    assert places == sorted(places)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_is_a_command_that_can_be_read(name):
    one = COMMANDS[name]
    for line in one.example.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        assert words[: 1 + len(name.split())] == ["volt", *name.split()]
        context = one.make_context(name, words[1 + len(name.split()) :])
        assert one.settings(context)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_have_different_flags_and_help_texts_are_sentences(name):
    options = COMMANDS[name].options.values()
    flags = Counter(flag for one in options for flag in (one.flag, one.short) if flag)
    assert not [flag for flag, times in flags.items() if times > 1]
    for one in options:
        assert one.about()[0].isupper() or one.about().startswith("tokenizer.json"), one
        assert one.about().endswith("."), one


def test_no_command_has_more_than_eight_parameters():
    assert max(len(one.parts) for one in COMMANDS.values()) <= 8


# ------------------------------------------------------------------------------- options and values


def run(*words: str) -> list:
    """What a command of fruit is called with."""
    called = []

    @command("volt fruit")
    def fruit(fruit: Fruit, other: Other, given: Given) -> None:
        """Buy fruit."""
        called.extend([fruit, other, given])

    fruit.main(list(words), standalone_mode=False)
    return called


def test_a_command_gets_settings_read_and_checked():
    fruit, other, given = run("-k", "apple", "--number", "32k", "--basket", "a", "--basket", "b")
    assert fruit == Fruit(kind="apple", number=32_000, baskets=("a", "b"))
    assert other == Other()
    assert given == {"kind", "number", "baskets"}


def test_a_default_on_the_command_line_is_given_all_the_same():
    assert run("--number", "1", "--min-count", "1")[2] == {"number", "min_count"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "fruit needs --number N: how many."),
        (["--number", "few"], "--number must be a whole number such as 32000 or 32k of at least 1, "
                              "not 'few'"),
        (["--number", "1", "--kind", "aple"], "--kind must be one of pear, apple, not 'aple'; did "
                                              "you mean 'apple'?"),
        (["--number", "1", "--min-count", "0"], "--min-count must be a whole number of at least 1, "
                                                "not '0'"),
        (["--nmber", "1"], "fruit has no option --nmber; did you mean --number?"),
        (["--bootstrap", "9"], "--bootstrap was removed: use --splits, the number of parts of the "
                               "text to repeat it on."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_flags(words, message):
    with pytest.raises(SettingsError) as error:
        run(*words)
    assert str(error.value) == message


def test_choices_are_read_when_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "NAMES", ["plum"])
    assert run("--number", "1", "--kind", "plum")[0].kind == "plum"


def test_an_error_of_the_library_is_turned_into_flags():
    @command("volt fruit")
    def fruit(fruit: Fruit) -> None:
        """Buy fruit."""
        raise InputError("`number=3` is too many; use `kind='pear'`, `ripe=True` or `baskets`")

    with pytest.raises(InputError) as error:
        fruit.main(["--number", "3"], standalone_mode=False)
    assert str(error.value) == "--number 3 is too many; use --kind pear, --ripe or --basket"


def test_flags_of_other_commands_are_known_and_other_words_are_left_alone():
    assert in_flags("learn with `unknown='byte'`; see `volt info` and `x`", {}) == (
        "learn with --unknown byte; see `volt info` and `x`"
    )


def test_values_in_flags_can_be_pasted_into_a_shell():
    assert in_flags("name it with `eos='<|end|>'`") == "name it with --eos '<|end|>'"


# --------------------------------------------------------------------------- programs around volt


def test_python_m_volt_is_volt():
    done = subprocess.run([sys.executable, "-m", "volt", "--version"], capture_output=True)
    assert done.stdout == subprocess.run([VOLT, "--version"], capture_output=True).stdout


def completed(*words: str) -> list[str]:
    """What bash shows for these words, the last one unfinished."""
    script = (
        'eval "$(_VOLT_COMPLETE=bash_source volt)"\n'
        f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
        '_volt_completion volt; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True,
        env={"PATH": f"{VOLT.parent}:/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_choices():
    assert completed("volt", "le") == ["learn"]
    assert completed("volt", "learn", "--pret") == ["--pretokenizer"]
    assert completed("volt", "learn", "--normalize", "n") == ["none", "nfc", "nfkc"]
    assert completed("volt", "learn", "--candidates", "u") == ["unigram:"]
    assert completed("volt", "export", "--to", "sub") == ["subword-nmt"]


def test_32k_is_a_size_wherever_a_command_takes_one():
    """Every option of every command whose name or metavar says that it is a size or a number of
    tokens."""
    found = set()
    for name, one in COMMANDS.items():
        for asked in one.options.values():
            if asked.metavar == "SIZES" or asked.name in ("size", "merges", "add"):
                found.add((name, asked.name))
                for text in ("32k", "32K", "32000", "32_000"):
                    value = asked.read(text)
                    sizes = [value] if isinstance(value, int) else parse_sizes(value)
                    assert sizes == [32_000], (name, asked.name, text)
    assert found >= {
        ("learn", "size"), ("learn", "sizes"), ("learn", "merges"), ("learn", "ladder"),
        ("candidates", "merges"), ("curve", "merges"), ("curve", "sizes"), ("search", "sizes"),
        ("refit", "size"), ("refit", "sizes"), ("extend", "add"),
    }  # fmt: skip
    for text in ("bpe:32k", "unigram:32K", "32k"):
        assert read_source(text).number == 32_000
    assert ladder_sizes("8k,16K") == {8000: "8k", 16_000: "16K"}


@pytest.mark.parametrize("words", [["learn", "text", "--size"], ["learn", "text", "-o"]])
def test_an_option_without_its_value_is_told_in_our_words(words):
    with pytest.raises(SettingsError) as told:
        app(args=words, prog_name="volt", standalone_mode=False)
    assert str(told.value) == {"--size": "--size needs N", "-o": "--output needs DIR"}[words[-1]]
