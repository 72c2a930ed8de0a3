"""The commands that the faults are tried on, and what they leave behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

VOLT = Path(sys.executable).with_name("volt")
TEXT = "".join(f"the cat{n % 7} sat on mat{n % 5} w{n % 400}\n" for n in range(3000))
LEARN = ["learn", "text", "--sizes", "301:341:20", "--candidates", "bpe:200"]
SELECT = ["learn", "text", "--select", "transport", "--size", "340", "--candidates", "bpe:200"]
COMMANDS = {
    "count": ["count", "text", "-o", "out", "-q"],
    "spill": ["count", "text", "--memory", "256M", "-o", "out", "-q"],
    "learn": [*LEARN, "-o", "out", "-q"],
    "select": [*SELECT, "-o", "out", "-q"],
    "encode": ["encode", "-m", "model", "text", "-o", "out", "-q"],
    "npy": ["encode", "-m", "model", "text", "--as", "npy", "-o", "out.npy", "-q"],
    "export": ["export", "-m", "model", "--to", "hf", "-o", "out", "-q"],
}
"""All write `out...` in the working directory, from `text` and `model`, which `prepare` makes."""


def run(*arguments: object, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([VOLT, *map(str, arguments)], capture_output=True, timeout=600, **options)


def prepare(folder: Path) -> Path:
    (folder / "text").write_text(TEXT)
    result = run(*LEARN, "-o", "model", "-q", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


def outputs(folder: Path) -> dict[str, bytes]:
    """All files of the outputs. What a killed process was working on is hidden, or is a folder of
    runs to go on with."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for found in folder.glob("out*")
        if found.suffix != ".spill"
        for path in [found, *found.rglob("*")]
        if path.is_file() and not path.name.startswith(".volt-")
    }


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
