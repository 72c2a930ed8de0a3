"""What the library says: parameters in backticks, never flags. The command line translates."""

import ast
import re
from pathlib import Path

import pytest

import volt

SOURCE = Path(volt.__file__).parent
SPEAK_OF_FLAGS = ("cli/", "report/", "settings/")
FLAG = re.compile(r"(?<![\w-])--[a-z]")


def modules() -> list[str]:
    found = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return [name for name in found if not name.startswith(SPEAK_OF_FLAGS)]


def strings(source: str) -> list[tuple[int, str]]:
    nodes = ast.walk(ast.parse(source))
    return [(node.lineno, node.value) for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)]  # fmt: skip


@pytest.mark.parametrize("name", modules())
def test_a_module_of_the_library_does_not_speak_of_flags(name):
    found = strings((SOURCE / name).read_text(encoding="utf-8"))
    assert not [(line, text) for line, text in found if FLAG.search(text)]


def test_strings_are_found():
    assert strings('f"use --size {n}"')[0][1] == "use --size "
    assert FLAG.search("use --size ") and not FLAG.search("a -- b, ---x")
