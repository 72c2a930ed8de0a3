"""Options: one declaration each, from which checks, the command line and `help()` are made.

A settings class is a frozen dataclass whose fields are made by `option()`:

    @dataclass(frozen=True, kw_only=True)
    class CountSettings(Settings, group="Words"):
        min_count: int = option(1, "Leave out words rarer than this.", whole(1))

The class says in which group of the help text its options are; an option can name another.

Messages write parameters in backticks, `min_count` or `on_invalid='replace'`. That is how they
are spelled in Python; the command line turns them into its flags.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache, wraps
from importlib import import_module
from itertools import chain
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from volt.base.arguments import PYTHONS_OWN, check_arguments, names_arguments
from volt.base.checks import canonical, did_you_mean
from volt.base.errors import SettingsError

GROUPS = ("Input", "Words", "Size", "Tokens", "Training", "Output")
"""In the order in which help texts show them."""
Group = Literal["Input", "Words", "Size", "Tokens", "Training", "Output"]

REPEATED = "; may be given several times"
"""What help texts say of options that take several values; in Python these are a sequence."""
SIZE = re.compile(r"\s*([0-9](?:_?[0-9]){0,11})([kK]?)\s*")
THOUSANDS = re.compile(r"\s*[0-9]{1,3}(?:,[0-9]{3}){1,3}\s*")
"""A number as volt prints it: 9,920."""


# ----------------------------------------------------------------------------------- kinds of value


@dataclass(frozen=True)
class ValueKind:
    """A kind of value: how it is read, from Python or from the command line."""

    read: Callable[[Any], Any]
    """Raises ValueError or TypeError for what is not a value of this kind."""
    meaning: str = ""
    """What a value must be, as messages say it: "a whole number of at least 1"."""
    metavar: str = "TEXT"
    names: Callable[[], tuple[str, ...]] | None = None
    """What there is to choose from, asked for when it is needed."""
    closed: bool = True
    """Is everything that is not among `names` refused?"""
    values: int | None = 1
    """How many words of the command line make one value; None: as often as the option is given."""
    flag: bool = False
    convert: Callable[[str], Any] = str
    """What the command line makes of each word before all are read together."""
    from_text: bool = False
    """Does Python take text too, where the type of the setting does not say so?"""

    def must_be(self) -> str:
        return f"one of {', '.join(self.names())}" if self.names and self.closed else self.meaning


def text(metavar: str = "TEXT") -> ValueKind:
    return ValueKind(_text, "text", metavar)


def path(metavar: str = "FILE") -> ValueKind:
    return ValueKind(_text, "a path", metavar)


def flag() -> ValueKind:
    return ValueKind(_truth, "True or False", "", flag=True)


def whole(least: int | None = None, most: int | None = None) -> ValueKind:
    """A whole number between two bounds."""
    return ValueKind(_bounded(_whole, least, most), _range("a whole number", least, most), "N")


def number(least: float | None = None, most: float | None = None) -> ValueKind:
    return ValueKind(_bounded(_number, least, most), _range("a number", least, most), "X")


def share() -> ValueKind:
    """A part of a whole."""
    return _number_if(lambda found: 0 < found <= 1, "above 0 and at most 1")


def chance() -> ValueKind:
    """A probability that is not certainty."""
    return _number_if(lambda found: 0 <= found < 1, "at least 0 and below 1")


def positive() -> ValueKind:
    return _number_if(lambda found: 0 < found < float("inf"), "a number above 0")


def _number_if(fits: Callable[[float], bool], meaning: str) -> ValueKind:
    def read(value: Any) -> float:
        found = _number(value)
        if not fits(found):
            raise ValueError
        return found

    return ValueKind(read, meaning, "X")


def size(least: int = 1, most: int | None = None) -> ValueKind:
    """A size of a vocabulary, or a number of tokens: 32000, 32k, 32K."""
    meaning = _range("a whole number such as 32000 or 32k", least, most)
    return ValueKind(_bounded(parse_size, least, most), meaning, "N", from_text=True)


def choice(*names: str) -> ValueKind:
    """One of a fixed list of names."""
    return one_of(lambda: names)


def one_of(
    names: Callable[[], Iterable[str]],
    check: Callable[[str], Any] | None = None,
    *,
    aliases: bool = False,
) -> ValueKind:
    """One of the names that a registry has when it is asked, or of its forms if `check` knows.
    `aliases`: in any case, and as other toolkits call it."""

    def read(value: Any) -> str:
        if aliases:
            value = canonical(value, names())
        if check is not None:
            check(value)
        elif value not in names():
            raise ValueError
        return cast(str, value)

    return ValueKind(read, "", "NAME", lambda: tuple(names()))


def form_of(names: Callable[[], Iterable[str]], check: Callable[[str], Any]) -> ValueKind:
    """Text of one of some forms, such as `bpe:N`."""

    def read(value: Any) -> str:
        check(_text(value))
        return _text(value)

    return ValueKind(read, "text", "TEXT", lambda: tuple(names()), closed=False)


def listed() -> ValueKind:
    """Several names: separated by commas, or a sequence; `all` stands for itself."""

    def read(value: Any) -> Any:
        if value == "all":
            return value
        if isinstance(value, str):
            return _split(value)
        return tuple(map(_text, value))

    return ValueKind(read, "names separated by commas", "NAME,...")


def many_lists() -> ValueKind:
    """Several names: as often as the option is given, each time one or several with commas between;
    in Python a sequence, or text with commas."""

    def read(value: Any) -> tuple[str, ...]:
        if isinstance(value, str):
            return _split(value)
        lists = [one if isinstance(one, tuple) else (_text(one),) for one in value]
        return tuple(map(_text, chain.from_iterable(lists)))

    return ValueKind(
        read, "names separated by commas", "NAME,...", values=None, convert=_split, from_text=True
    )


def _split(names: str) -> tuple[str, ...]:
    return tuple(name for name in names.split(",") if name)


def many(kind: ValueKind) -> ValueKind:
    """Several values, as often as the option is given; one is fine too."""

    def read(value: Any) -> tuple[Any, ...]:
        single = isinstance(value, (str, os.PathLike))
        return tuple(map(kind.read, [value] if single else value))

    return ValueKind(read, f"one or more values, each {kind.meaning}", kind.metavar, values=None)


def file_list(metavar: str = "FILE") -> ValueKind:
    """Names of files. Other strings may be text, these never."""

    def read(value: Any) -> Any:
        single = isinstance(value, (str, os.PathLike))
        return late("volt.counting.objects", "Files")(map(_text, [value] if single else value))

    return ValueKind(read, "one or more paths", metavar, values=None)


def anything(metavar: str = "TEXT", *, many: bool = False) -> ValueKind:
    """A value that is checked where it is used."""
    return ValueKind(lambda value: value, "", metavar, values=None if many else 1)


def pair(metavar: str = "SOURCE TARGET") -> ValueKind:
    """Two values, one per side."""

    def read(value: Any) -> tuple[str, str]:
        if isinstance(value, str):
            raise TypeError
        first, second = value
        return _text(first), _text(second)

    return ValueKind(read, "two files, one per side", metavar, values=2)


def registered(module: str, name: str) -> Callable[[], tuple[str, ...]]:
    """The names in a registry, or in a table or Literal, of a module.

    The module is imported when the names are asked for: it may itself import the settings.
    """

    def names() -> tuple[str, ...]:
        table = getattr(import_module(module), name)
        return tuple(table) if isinstance(table, Collection) else get_args(table)

    return names


def late(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when the function is called."""
    return lambda *args: getattr(import_module(module), name)(*args)


def parse_size(value: Any) -> int:
    """A size as people write it: 32000, `32_000`, `32,000`, `32k` or `32K`, which mean the same.

    >>> [parse_size(size) for size in (8000, "8000", "9,920", "32k", "32K")]
    [8000, 8000, 9920, 32000, 32000]
    """
    if not isinstance(value, str):
        return _whole(value)
    match = SIZE.fullmatch(value.replace(",", "") if THOUSANDS.fullmatch(value) else value)
    if not match:
        raise ValueError(f"{value!r} is not a size such as 32000 or 32k")
    return int(match[1]) * (1000 if match[2] else 1)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else os.fspath(value)


def _truth(value: Any) -> bool:
    if value is not True and value is not False:
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return int(value) if isinstance(value, str) else value.__index__()


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _bounded(
    read: Callable[[Any], Any], least: float | None, most: float | None
) -> Callable[[Any], Any]:
    def bounded(value: Any) -> Any:
        found = read(value)
        # So that what is not a number (nan) is refused too.
        if (least is not None and not found >= least) or (most is not None and not found <= most):
            raise ValueError
        return found

    return bounded


def _range(what: str, least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f"{what} from {least:,} to {most:,}"
    if least is not None:
        return f"{what} of at least {least:,}"
    return what if most is None else f"{what} of at most {most:,}"


# ------------------------------------------------------------------------------------------ options


@dataclass(frozen=True)
class Option:
    """What a field of a settings class says about itself."""

    name: str
    help: str
    kind: ValueKind
    group: Group
    default: Any = None
    required: bool = False
    argument: bool = False
    """Is it a word of the command line by its position?"""
    flag: str = ""
    short: str = ""
    metavar: str = ""
    default_words: str = ""
    """What the default is, where it depends on other things."""

    def read(self, value: Any) -> Any:
        """The value; what it can't be is an error that names the parameter."""
        if value is None and not self.required and self.default is None:
            return None
        try:
            return self.kind.read(value)
        except SettingsError:
            raise
        except (TypeError, ValueError, AttributeError, OverflowError):
            names = self.kind.names() if self.kind.names else ()
            message = f"`{self.name}` must be {self.kind.must_be()}, not {value!r}"
            raise SettingsError(message + did_you_mean(str(value), names)) from None

    def about(self) -> str:
        """The help text with what there is to choose from."""
        names = self.kind.names() if self.kind.names else ()
        if not names:
            return self.help
        listed = f"{', '.join(names[:-1])} or {names[-1]}" if names[1:] else names[0]
        return f"{self.help.removesuffix('.')}: {listed}."

    def shown_default(self) -> str:
        """The default as help texts show it."""
        if self.default_words or self.required or self.default is None or self.default is False:
            return self.default_words
        if self.default is True:
            return "yes"
        if isinstance(self.default, tuple):
            return ",".join(self.default)
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


def option(default: Any, help: str, kind: ValueKind | None = None, **more: Any) -> Any:
    """A field of a settings class; `default` is `...` where there is none. Without a kind, it is
    a flag.

    `more`: `flag`, where it is not the name with dashes; `short`; `metavar`; `default_words`;
    `group`, where it is not that of the class.
    """
    about = {"help": help, "kind": kind or flag(), **more}
    return field(default=MISSING if default is ... else default, metadata={"option": about})


def argument(default: Any, help: str, kind: ValueKind, *, metavar: str) -> Any:
    """A field that is given by its position on the command line."""
    return option(default, help, kind, group="Input", metavar=metavar, argument=True)


S = TypeVar("S", bound="Settings")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all settings: every value is read and checked when one is made."""

    group: ClassVar[Group]

    def __init_subclass__(cls, group: Group | None = None) -> None:
        if group:
            cls.group = group

    def __post_init__(self) -> None:
        for name, one in options_of(type(self)).items():
            value = getattr(self, name)
            if one.required or value is not one.default:
                object.__setattr__(self, name, one.read(value))
        self._check()

    def _check(self) -> None:
        """Override it to check what concerns several options."""

    @classmethod
    def values_in(cls, settings: Settings) -> dict[str, Any]:
        """The values of these options in larger settings."""
        return {name: getattr(settings, name) for name in options_of(cls)}

    @classmethod
    def given_in(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that are theirs."""
        return {name: options[name] for name in options_of(cls) if name in options}

    @classmethod
    def take(cls: type[S], options: dict[str, Any]) -> S:
        """Settings from those of the options that are theirs, which are taken out."""
        return cls(**{name: options.pop(name) for name in options_of(cls) if name in options})


def options_of(*kinds: type[Settings]) -> dict[str, Option]:
    """Every option of some settings classes, by name."""
    return {one.name: one for kind in kinds for one in _options(cast(Any, kind))}


@cache
def _options(kind: Any) -> list[Option]:
    return [_option(one, kind) for one in fields(kind) if "option" in one.metadata]


def _option(one: Field[Any], kind: Any) -> Option:
    about = dict(one.metadata["option"])
    if "group" not in about:
        bases = [base for base in reversed(kind.__mro__) if issubclass(base, Settings)]
        owner = next(base for base in bases if base.__dataclass_fields__.get(one.name) is one)
        about["group"] = owner.group
    required = one.default is MISSING
    about["flag"] = "--" + (about.get("flag") or one.name.replace("_", "-"))
    about["metavar"] = about.get("metavar") or about["kind"].metavar
    return Option(name=one.name, default=None if required else one.default, required=required,
                  **about)  # fmt: skip


# --------------------------------------------------------------------------------- Python functions


def _one_of_types(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def accepts(*kinds: type[Settings], gone: Mapping[str, str] = {}) -> Callable[[F], F]:
    """Give a function with `**options` the signature and docstring of these settings.

    Names that are none of them are refused before the function is called; `gone` says what became
    of some.
    """

    def decorate(function: F) -> F:
        own = inspect.signature(function).parameters
        first = [one for one in own.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        last = [one for one in own.values() if one.kind is one.KEYWORD_ONLY]
        known = {name: one for name, one in options_of(*kinds).items() if name not in own}

        checked = names_arguments(function)

        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for name in given.keys() - own.keys() - known.keys():
                raise SettingsError(unknown_option(name, [*known, *own], gone))
            try:
                return checked(*args, **given)
            except PYTHONS_OWN as error:
                check_arguments(call, given, error)
                raise

        hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
        hints |= {
            name: str | hints[name]
            for name, one in known.items()
            if one.kind.from_text and str not in _one_of_types(hints[name])
        }
        middle = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[name],
                default=inspect.Parameter.empty if one.required else one.default,
            )
            for name, one in known.items()
        ]  # fmt: skip
        signature = inspect.signature(function, eval_str=False)
        call.__signature__ = signature.replace(parameters=[*first, *middle, *last])  # type: ignore[attr-defined]
        call.__annotations__ = {**function.__annotations__, **{name: hints[name] for name in known}}
        call.__doc__ = _documented(function.__doc__ or "", known, hints)
        return cast(F, call)

    return decorate


def _documented(doc: str, known: Mapping[str, Option], hints: Mapping[str, Any]) -> str:
    lines = [inspect.cleandoc(doc), ""]
    for group in GROUPS:
        here = [one for one in known.values() if one.group == group]
        lines += [f"{group}:"] if here else []
        for one in here:
            default = one.default_words or ("" if one.required else repr(one.default))
            hint = inspect.formatannotation(hints[one.name])
            lines += [f"    {one.name} : {hint}{default and f', default {default}'}"]
            lines += [f"        {one.about().replace(REPEATED, '')}"]
    return "\n".join(lines) + "\n"


def unknown_option(name: str, known: Iterable[str], gone: Mapping[str, str]) -> str:
    """What to say about an option that is not there."""
    if name in gone:
        return f"`{name}` {gone[name]}"
    return f"there is no option `{name}`{did_you_mean(name, known, '`')}"
