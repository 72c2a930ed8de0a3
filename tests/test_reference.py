"""The examples in the docstrings of the slow twins. Their results are compared with the native code
in the tests of each stage."""

import doctest
import importlib
import pkgutil

import pytest

from volt import reference

MODULES = ["volt.reference"] + [
    f"volt.reference.{module.name}" for module in pkgutil.iter_modules(reference.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_module_is_in_the_reading_order():
    assert {f"volt.reference.{name}" for name in reference.__all__} == set(MODULES[1:])
    assert all(f"`{name}`" in reference.__doc__ for name in reference.__all__)
