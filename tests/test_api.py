"""The public API: one table, imported on demand."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import volt

SOURCE = Path(volt.__file__).read_text(encoding="utf-8")


def imported_for_types() -> dict[str, str]:
    """The names that type checkers see, with the modules they come from."""
    block = next(node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    return {name.name: node.module for node in block.body for name in node.names}


def test_every_public_name_is_there_once_for_users_and_for_type_checkers():
    homes = {name: f"volt.{home}" for name, home in volt._HOME_OF.items()}
    assert sorted(homes) == sorted(name for names in volt._HOMES.values() for name in names)
    assert imported_for_types() == {**homes, "formats": "volt"}
    assert volt.__all__ == sorted([*homes, "formats", "__version__"])
    assert {*volt.__all__} <= {*dir(volt)}


@pytest.mark.parametrize("name", volt.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(volt, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'volt' has no attribute 'lern'"):
        volt.lern  # noqa: B018


def test_no_module_has_the_name_of_something_public():
    modules = {module.name for module in pkgutil.iter_modules(volt.__path__)}
    assert modules & {*volt.__all__} == {"formats"}  # which is the module itself


def test_importing_volt_imports_nothing_large():
    large = {"numpy", "scipy", "click", "volt._core"}
    code = f"import sys, volt; print(sorted({large} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
