"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import volt
from volt.tokenizing.build import build_vocabulary

SOURCE = Path(volt.__file__).parent
MODULES = [
    ".".join(["volt", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.fixture(scope="module")
def tokenizer() -> volt.Tokenizer:
    """The one that examples speak of."""
    found = volt.candidates([["low lower lowest flow blow"] * 3], min_frequency=4)
    return volt.Tokenizer(build_vocabulary(found, range(len(found))))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tokenizer):
    failed, tried = doctest.testmod(import_module(name), extraglobs={"tokenizer": tokenizer})
    assert tried and not failed
