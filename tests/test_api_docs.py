"""docs/api.md is what the docstrings say; every method of the tokenizer has an example."""

import inspect
import sys
from pathlib import Path

import pytest

import volt

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import api_docs


def test_the_page_is_up_to_date():
    assert api_docs.PAGE.read_text(encoding="utf-8") == api_docs.page(), "run: make docs-tables"


def test_the_page_has_every_public_name():
    page = api_docs.page()
    for name in set(volt.__all__) - {"__version__", "formats"}:
        assert f"\n## volt.{name}\n" in page


METHODS = [
    name
    for name, own in api_docs.members(volt.Tokenizer).items()
    if not name.startswith("_") and (inspect.isfunction(own) or hasattr(own, "func"))
]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_typed_and_has_an_example(name):
    own = inspect.getattr_static(volt.Tokenizer, name)
    function = getattr(own, "func", own)
    assert ">>> " in (function.__doc__ or ""), f"Tokenizer.{name} has no example"
    hints = function.__annotations__
    asked = [one for one in inspect.signature(function).parameters if one != "self"]
    assert {*asked, "return"} <= hints.keys()


FUNCTIONS = [name for name in volt.__all__ if inspect.isfunction(getattr(volt, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example(name):
    assert ">>> " in (getattr(volt, name).__doc__ or ""), f"volt.{name} has no example"
