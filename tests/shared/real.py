"""Real text, packed or not."""

from pathlib import Path

from volt.counting.inputs import find_inputs


def real_text(path: Path) -> str:
    with find_inputs(path)[0].open() as stream:
        return stream.read().decode()
