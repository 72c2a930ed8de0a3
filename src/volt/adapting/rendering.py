"""Renders a chat template: a program of its own, for which time and memory are limited.

Templates come with other people's models. A loop in one may never end, and one expression may ask
for all memory; neither can be seen in the text. Reads a JSON object from stdin and writes a list of
texts, one per conversation that the template has a place for.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2]
"""Where `volt` is: Python looks for modules in the working folder first, and must not find somebody
else's there."""
SECONDS = 10
MEMORY = 1 << 30
MOST_TEXT = 1 << 20
"""Bytes of what a template may make."""


def render(template: str, calls: Sequence[dict[str, Any]]) -> list[str]:
    """The text of every call that succeeds, as transformers renders it; nothing if that takes too
    much time or memory."""
    asked = json.dumps({"template": template, "calls": list(calls)})
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__], cwd=HERE, input=asked.encode(), timeout=SECONDS,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    except (subprocess.SubprocessError, OSError):
        return []
    return list(json.loads(done.stdout))


def _rendered(template: str, calls: Sequence[dict[str, Any]]) -> list[str]:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise ValueError(message)

    place = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    place.globals |= {"raise_exception": refuse, "strftime_now": lambda form: "2"}
    found = []
    for one in calls:
        try:
            text = place.from_string(template).render(**one)
        except Exception:  # whatever a template may raise
            continue
        if len(text) <= MOST_TEXT:
            found.append(text)
    return found


def main() -> None:
    try:
        import resource
    except ImportError:  # Windows: the time is limited alone
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    asked = json.load(sys.stdin.buffer)
    sys.stdout.buffer.write(json.dumps(_rendered(asked["template"], asked["calls"])).encode())


if __name__ == "__main__":
    main()
