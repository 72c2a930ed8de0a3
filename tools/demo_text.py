"""Write English text that every machine with Python has: the documentation of its own library.

    python tools/demo_text.py OUTPUT

One paragraph line a line: the docstrings of the standard library's modules, classes and functions,
read from their source without importing them, and pydoc's topics.
"""

import ast
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def docstrings(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if {"site-packages", "test", "tests", "idle_test"} & set(path.relative_to(folder).parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield ast.get_docstring(node) or ""


def topics() -> Iterator[str]:
    from pydoc_data.topics import topics

    yield from topics.values()


def library_lines() -> list[str]:
    texts = [*docstrings(Path(sysconfig.get_path("stdlib"))), *topics()]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [line for line in lines if line]


def main() -> None:
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("".join(f"{line}\n" for line in library_lines()), encoding="utf-8")
    print(f"{output}: {output.stat().st_size / 1e6:.1f} MB of Python's own documentation")


if __name__ == "__main__":
    main()
