"""Arguments of the wrong type: the error names the parameter.

Nothing is checked before a call, which would cost time. A call that fails with Python's own error
is looked at afterwards: if an argument is not of the type that the signature asks for, the error
says so.
"""

from __future__ import annotations

import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Real
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from volt.base.errors import ArgumentTypeError, SettingsError, VoltError

F = TypeVar("F", bound=Callable[..., Any])
PYTHONS_OWN = (TypeError, AttributeError, UnicodeEncodeError, OverflowError)
"""What Python raises when it gets an argument that it can't use."""


def names_arguments(function: F) -> F:
    """A function whose errors name the argument that is of the wrong type."""

    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        try:
            return function(*args, **given)
        except PYTHONS_OWN as error:
            try:
                bound = inspect.signature(function).bind(*args, **given).arguments
            except TypeError:  # no such parameter, or one too few
                raise error from None
            check_arguments(function, bound, error)
            raise

    return cast(F, call)


def check_arguments(
    function: Callable[..., Any], given: Mapping[str, Any], error: Exception
) -> None:
    """After `error`: raise one that names the first argument of the wrong type, if there is one."""
    if isinstance(error, VoltError):
        return
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given or parameter.kind is parameter.VAR_KEYWORD:
            continue
        value = given[name]
        if isinstance(error, UnicodeEncodeError) and value == error.object:
            raise SettingsError(f"`{name}` contains a lone surrogate: {value[:60]!r}") from None
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise SettingsError(f"`{name}` does not fit into 64 bits: {value}") from None
        if not fits(value, _hint(function, parameter.annotation)):
            raise wrong_type(name, _shown(parameter.annotation), value) from None


def wrong_type(name: str, wanted: str, value: Any) -> ArgumentTypeError:
    """The error of a parameter that got a value of another type."""
    return ArgumentTypeError(f"`{name}` must be {wanted}, not {type(value).__name__}")


def _shown(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _hint(function: Callable[..., Any], annotation: Any) -> Any:
    """The type that an annotation means; its text if it names a class that is not imported."""
    if not isinstance(annotation, str):
        return annotation
    names = vars(sys.modules[function.__module__])
    try:
        one = types.SimpleNamespace(__annotations__={"hint": annotation})
        return get_type_hints(one, dict(names))["hint"]
    except NameError:
        return annotation


def fits(value: Any, hint: Any) -> bool:
    """Is the value of this type, as far as that can be seen without reading all of it?"""
    if isinstance(hint, str):  # the name of a class
        return any(kind.__name__ == hint for kind in type(value).__mro__) or not hint.isidentifier()
    if hint in (Any, inspect.Parameter.empty):
        return True
    if hint is None:
        return value is None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str)  # which one is checked by the function
    if origin is not None:
        return _fits_generic(value, origin, inner)
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if hint is int:
        return hasattr(value, "__index__") and not isinstance(value, bool)
    if not isinstance(hint, type):
        return True
    try:
        return isinstance(value, hint)
    except TypeError:  # a protocol that can't be asked for
        return True


def _fits_generic(value: Any, origin: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(origin, type) or not isinstance(value, origin):
        return False
    if isinstance(value, str | bytes | os.PathLike):
        return str in inner and isinstance(value, str)  # a text is a sequence of texts
    if not inner or issubclass(origin, Mapping):
        return True
    if isinstance(value, list | tuple | set | frozenset | dict):
        return all(fits(one, inner[0]) for one in value)
    return True
