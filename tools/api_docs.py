"""Write docs/api.md from the docstrings of the public names. Run by `make docs-tables`.

python tools/api_docs.py          write the page
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import volt
from volt.base.options import Settings

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """# Python

Everything that `import volt` gives, from the docstrings. `tokenizer` is what `volt.load` returns.
Options of `volt.learn` and the other functions are those of the [command line](cli.md), by the same
names.
"""
FIRST = ("load", "Tokenizer", "learn", "encode_to_files", "export", "import_vocabulary")
MORE = ("volt.compat.tiktoken", "volt.compat.tokenizers")


def page() -> str:
    names = [*FIRST, *sorted(set(volt.__all__) - {*FIRST, "__version__", "formats"})]
    parts = [HEAD, *(entry(f"volt.{name}", getattr(volt, name)) for name in names)]
    for name in MORE:
        module = import_module(name)
        parts.append(f"## {name}\n\n{text_of(module)}\n")
        for own in vars(module).values():
            if inspect.isclass(own) and own.__module__ == name:
                parts.append(entry(own.__name__, own, "###"))
    return "\n".join(parts)


def entry(name: str, what: Any, mark: str = "##") -> str:
    lines = [
        f"{mark} {name}",
        "",
        f"    {signature(name.rpartition('.')[2], what)}",
        "",
        text_of(what),
    ]
    if inspect.isclass(what):
        for member, own in members(what).items():
            if member.startswith("_") and member != "__call__":
                continue
            if found := about(member, own):
                lines += ["", found]
        lines += fields_of(what)
    return "\n".join(lines).rstrip() + "\n"


def members(what: type) -> dict[str, Any]:
    """Its own, and those of the classes of volt that it is made of."""
    kinds = [kind for kind in reversed(what.__mro__) if kind.__module__.startswith("volt")]
    return {name: own for kind in kinds for name, own in vars(kind).items()}


def about(member: str, own: Any) -> str:
    """A method or property, with what it does."""
    if isinstance(own, cached_property):
        own = property(own.func)
    own = own.__func__ if isinstance(own, staticmethod | classmethod) else own
    if isinstance(own, property):
        return described(f"**{member}**", text_of(own.fget)) if own.fget else ""
    if not inspect.isfunction(own):
        return ""
    if not own.__doc__:
        return f"**{signature(member, own)}**"
    return described(f"**{signature(member, own)}**", text_of(own))


def described(head: str, text: str) -> str:
    return f"{head}\n\n{text}" if text else head


def fields_of(what: Any) -> list[str]:
    if not dataclasses.is_dataclass(what) or issubclass(what, Exception | Settings):
        return []
    shown = [one.name for one in dataclasses.fields(what) if not one.name.startswith("_")]
    return ["", "Fields: " + ", ".join(f"`{name}`" for name in shown) + "."] if shown else []


def signature(name: str, what: Any) -> str:
    try:
        found = inspect.signature(what)
    except (TypeError, ValueError):
        return name
    names = []
    marked = False
    for one in found.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not marked:
            names.append("*")
            marked = True
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        marked = marked or one.kind is one.VAR_POSITIONAL
        default = "" if one.default is one.empty else f"={one.default!r}"
        names.append(f"{star}{one.name}{default}" if len(default) < 30 else f"{one.name}=...")
    if inspect.isclass(what) and issubclass(what, Settings):
        names = ["..."]
    if len(names) > 10:  # options, which are on the page of commands
        names = [*names[:2], "..."]
    return f"{name}({', '.join(names)})"


def text_of(what: Any) -> str:
    """A docstring as Markdown: examples are code. Lists of options are on the page of commands."""
    doc = inspect.cleandoc(what.__doc__ or "") if isinstance(what.__doc__, str) else ""
    if doc.startswith((f"{getattr(what, '__name__', '')}(", "str(object")):
        return ""  # what dataclasses write
    doc = re.split(r"\n(?:Input|Words|Size|Tokens|Training|Output):\n", doc)[0].rstrip()
    lines: list[str] = []
    code = False
    for line in doc.split("\n"):
        starts = line.startswith(">>> ")
        if starts and not code:
            lines += ["```python"]
            code = True
        elif code and not line.strip():
            lines += ["```"]
            code = False
        lines.append(re.sub(r"  # doctest: \+SKIP", "", line))
    return "\n".join([*lines, "```"] if code else lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
