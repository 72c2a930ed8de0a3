"""What a JSON value must look like: small checks that are put together.

>>> point = table({"x": number(), "y": number()}, {"name": text()})
>>> check(point, {"x": 1, "y": 2.5}, "points.json")
>>> check(point, {"x": 1, "y": "2"}, "points.json")
Traceback (most recent call last):
    ...
volt.base.errors.InputError: points.json: y: '2' is not a number
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from volt.base.errors import InputError

Schema = Callable[[str, Any], None]
"""Called with the place of a value, such as `curve.size[3]`, and the value; raises `Wrong`."""

MOST = 10_000_000
"""Entries of a list, unless another number is given."""
LARGEST = (1 << 63) - 1


class Wrong(Exception):
    """Where something is wrong, and what."""


def check(schema: Schema, value: Any, name: str) -> None:
    """Refuse a value that is not as the schema says; `name` is the file."""
    try:
        schema("", value)
    except Wrong as error:
        where, problem = error.args
        raise InputError(f"{name}: {where or 'the file'}: {problem}") from None


def anything() -> Schema:
    return lambda where, value: None


def table(
    needed: Mapping[str, Schema],
    optional: Mapping[str, Schema] | None = None,
    others: Schema | None = None,
) -> Schema:
    """An object. Fields that are not named are ignored or, with `others`, checked."""
    optional = optional or {}

    def look(where: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise Wrong(where, f"{brief(value)} is not a table")
        for key in needed:
            if key not in value:
                raise Wrong(_at(where, key), "missing")
        for key, one in value.items():
            schema = needed.get(key) or optional.get(key) or others
            if schema is not None:
                schema(_at(where, key), one)

    return look


def rows(item: Schema, most: int = MOST, least: int = 0) -> Schema:
    """A list."""

    def look(where: str, value: Any) -> None:
        if not isinstance(value, list):
            raise Wrong(where, f"{brief(value)} is not a list")
        if not least <= len(value) <= most:
            raise Wrong(where, f"{len(value):,} entries; {least:,} to {most:,} are allowed")
        for i, one in enumerate(value):
            item(f"{where}[{i}]", one)

    return look


def fixed(*items: Schema) -> Schema:
    """A list of so many entries, each with its own schema."""

    def look(where: str, value: Any) -> None:
        if not isinstance(value, list) or len(value) != len(items):
            raise Wrong(where, f"{brief(value)} is not a list of {len(items)}")
        for i, (item, one) in enumerate(zip(items, value, strict=True)):
            item(f"{where}[{i}]", one)

    return look


def whole(least: int = 0, most: int = LARGEST) -> Schema:
    """A whole number."""

    def look(where: str, value: Any) -> None:
        if type(value) is not int or not least <= value <= most:
            raise Wrong(where, f"{brief(value)} is not a whole number from {least} to {most}")

    return look


def number(least: float = -1e300, most: float = 1e300) -> Schema:
    """Any number that is finite."""

    def look(where: str, value: Any) -> None:
        if type(value) not in (int, float):
            raise Wrong(where, f"{brief(value)} is not a number")
        if not least <= value <= most:
            raise Wrong(where, f"{brief(value)} is not between {least:g} and {most:g}")

    return look


def text() -> Schema:
    return _kind(str, "text")


def flag() -> Schema:
    return _kind(bool, "true or false")


def one_of(*values: Any) -> Schema:
    def look(where: str, value: Any) -> None:
        if not any(type(value) is type(one) and value == one for one in values):
            raise Wrong(where, f"{brief(value)} is not one of {', '.join(map(str, values))}")

    return look


def optional(schema: Schema) -> Schema:
    """Or null."""

    def look(where: str, value: Any) -> None:
        if value is not None:
            schema(where, value)

    return look


def instance(kind: type, *, complete: bool = False) -> Schema:
    """An object with the fields of a dataclass, and no others, so that it can be made from it.
    `complete`: are fields that have a default needed, too?"""
    hints = get_type_hints(kind)
    known = {one.name: _of_type(hints[one.name]) for one in fields(kind)}
    needed = {
        one.name: known[one.name] for one in fields(kind)
        if complete or (one.default is MISSING and one.default_factory is MISSING)
    }  # fmt: skip

    def unknown(where: str, value: Any) -> None:
        raise Wrong(where, "not a field")

    return table(needed, known, unknown)


def _of_type(hint: Any) -> Schema:
    arguments = get_args(hint)
    if NoneType in arguments:
        (other,) = (one for one in arguments if one is not NoneType)
        return optional(_of_type(other))
    origin = get_origin(hint)
    if origin is Literal:
        return one_of(*arguments)
    if origin is list:
        return rows(_of_type(arguments[0]))
    if origin is dict:
        return table({}, others=_of_type(arguments[1]))
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return instance(hint)
    # Bytes are written in base64.
    return {int: whole(), float: number(), str: text(), bytes: text(), bool: flag()}[hint]


def brief(value: Any) -> str:
    """A value for a message. Long ones are cut before they are written out."""
    if isinstance(value, (list, dict)) and len(value) > 8:
        return f"a {'list' if isinstance(value, list) else 'table'} of {len(value):,} entries"
    if isinstance(value, str):
        value = value[:60]
    if isinstance(value, int) and abs(value) >= 1 << 200:
        return "a number of very many digits"
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _kind(kind: type, said: str) -> Schema:
    def look(where: str, value: Any) -> None:
        if type(value) is not kind:
            raise Wrong(where, f"{brief(value)} is not {said}")

    return look


def _at(where: str, key: str) -> str:
    key = key if len(key) <= 60 else key[:57] + "..."
    return f"{where}.{key}" if where else key
