"""Examples of how to read what was exported: a line of Python is complete."""

import ast
import builtins
import re
from pathlib import Path

import pytest

from volt.formats.registry import FORMATS

DOCS = Path(__file__).parents[2] / "docs" / "formats.md"
LINES = [form.example[1] for form in FORMATS.values() if "(" in form.example[1]]
BLOCKS = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)


@pytest.mark.parametrize("code", [*LINES, *BLOCKS])
def test_every_name_is_imported(code):
    nodes = list(ast.walk(ast.parse(code.replace(">>> ", ""))))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    known = {(one.asname or one.name).partition(".")[0] for node in imports for one in node.names}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known |= {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    assert imports
    assert {node.id for node in names} <= known


def test_there_are_some():
    assert len(LINES) >= 4
    assert BLOCKS
