"""Settings: what they read, what they refuse, and what is made from them."""

import inspect
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest

import volt
from volt import settings
from volt.base.errors import SettingsError
from volt.base.options import (
    GROUPS,
    Settings,
    accepts,
    anything,
    flag,
    listed,
    many,
    number,
    option,
    options_of,
    pair,
    parse_size,
    path,
    registered,
    share,
    size,
    text,
    whole,
)

CLASSES = [
    one for one in vars(settings).values()
    if isinstance(one, type) and issubclass(one, Settings) and one is not Settings
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Meal(Settings):
    """What is eaten."""

    fruit: str = option("pear", "Which fruit.", text(), group="Words")
    number: int | None = option(None, "How many.", size(), group="Size", default_words="all")


@dataclass(frozen=True, kw_only=True)
class Drink(Settings):
    litres: float = option(0.5, "How much.", number(0), group="Size")


# ------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (whole(), "12", 12),
        (whole(), np.int64(12), 12),
        (number(), "1e-3", 0.001),
        (number(), 3, 3.0),
        (share(), "1", 1.0),
        (size(), "32k", 32_000),
        (size(), "32K", 32_000),
        (size(), "32_000", 32_000),
        (size(), 32_000, 32_000),
        (path(), Path("a/b"), "a/b"),
        (listed(), "a,b,,c", ("a", "b", "c")),
        (listed(), ["a", "b,c"], ("a", "b,c")),
        (listed(), "all", "all"),
        (many(path()), "one", ("one",)),
        (many(path()), ["one", Path("two")], ("one", "two")),
        (pair(), ("a", "b"), ("a", "b")),
        (flag(), True, True),
        (anything(), 3.5, 3.5),
    ],
)
def test_values_are_read_from_python_and_from_text(kind, value, expected):
    found = kind.read(value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (whole(1), 0), (whole(1, 5), 6), (whole(), 1.5), (whole(), "1.5"), (whole(), True),
        (whole(), None), (whole(), "9" * 5000), (number(0), float("nan")), (number(), "much"),
        (number(), False), (share(), 0), (share(), 1.1), (size(), "32m"), (size(), "k"),
        (size(), "-1"), (size(), 0), (size(), "0k"), (text(), 3), (path(), 3), (pair(), "ab"),
        (pair(), ("a",)), (flag(), "yes"), (flag(), 1), (many(path()), [3]), (listed(), 3),
    ],
)  # fmt: skip
def test_what_is_not_such_a_value_is_an_error_that_names_the_parameter(kind, value):
    @dataclass(frozen=True, kw_only=True)
    class Some(Settings):
        thing: object = option(..., "A thing.", kind, group="Words")

    with pytest.raises(SettingsError, match=r"^`thing` must be "):
        Some(thing=value)


@pytest.mark.parametrize("text", ["", "1.5k", "1kk", "k1", "١k", "1e3", "1,00", "1,0000", "1,000k"])
def test_a_size_is_digits_and_perhaps_a_k(text):
    with pytest.raises(ValueError, match="is not a size such as 32000 or 32k"):
        parse_size(text)


def test_names_of_a_registry_are_those_at_the_time():
    names = registered("volt.formats", "FORMATS")
    assert "hf" in names()
    assert registered("volt.choosing.entropy", "Length")() == ("types", "occurrences")


# ----------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize("kind", CLASSES)
def test_every_field_is_an_option_with_a_help_text_and_a_group(kind):
    options = options_of(kind)
    assert list(options) == [one.name for one in fields(kind)]
    for one in options.values():
        assert one.group in GROUPS
        assert one.about()[0].isupper() and one.about().endswith("."), one
        assert "--" not in one.help
    defaults = kind()
    assert {name: getattr(defaults, name) for name in options} == {
        name: one.default for name, one in options.items()
    }


def test_settings_are_frozen_and_take_names_only():
    with pytest.raises(FrozenInstanceError):
        Meal().fruit = "apple"
    with pytest.raises(TypeError):
        Meal("apple")
    assert replace(Meal(number="2k"), fruit="apple") == Meal(number=2000, fruit="apple")


def test_take_leaves_the_options_of_others():
    options = {"fruit": "apple", "litres": 2}
    assert Meal.take(options) == Meal(fruit="apple")
    assert options == {"litres": 2}


# ---------------------------------------------------------------------------------------- functions


@accepts(Meal, Drink, gone={"spoon": "was removed. Use a fork."})
def eat(place: str, *, threads: int = 1, **options: object) -> dict[str, object]:
    """Eat something.

    And drink.
    """
    return {"place": place, "threads": threads, **options}


def test_a_function_has_the_signature_of_its_settings():
    assert str(inspect.signature(eat)) == (
        "(place: str, *, fruit: str = 'pear', number: str | int | None = None, litres: float = "
        "0.5, threads: int = 1) -> dict[str, object]"
    )


def test_its_docstring_lists_every_option_with_type_default_and_meaning():
    assert eat.__doc__ == (
        "Eat something.\n\nAnd drink.\n\n"
        "Words:\n    fruit : str, default 'pear'\n        Which fruit.\n"
        "Size:\n    number : str | int | None, default all\n        How many.\n"
        "    litres : float, default 0.5\n        How much.\n"
    )


def test_its_options_are_passed_on_as_they_are():
    assert eat("here", litres=2) == {"place": "here", "threads": 1, "litres": 2}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fruits", "there is no option `fruits`; did you mean `fruit`?"),
        ("treads", "there is no option `treads`; did you mean `threads`?"),
        ("xyz", "there is no option `xyz`"),
        ("spoon", "`spoon` was removed. Use a fork."),
    ],
)
def test_an_unknown_option_is_refused_with_a_hint(name, message):
    with pytest.raises(SettingsError) as error:
        eat("here", **{name: 1})
    assert str(error.value) == message


def test_python_is_told_what_it_may_pass_not_how_often_a_flag_is_given():
    parameters = inspect.signature(volt.learn).parameters
    assert "str" in str(parameters["size"].annotation)
    assert str(parameters["special"].annotation).startswith("str | ")
    assert "several times" not in volt.learn.__doc__
    assert volt.learn([["low lower lowest flow blow"] * 30], size="278").choice.size == 278
