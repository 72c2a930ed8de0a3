"""What people see on stderr: progress bars on a terminal, a summary line by line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from volt.errors import InputError
from volt.progress import Progress, Report


class Bars(Progress):
    """One bar a stage, with rate and time left."""

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Report]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar

        amount = [DownloadColumn(), TransferSpeedColumn()] if unit == "B" else [
            MofNCompleteColumn(), TextColumn(unit)
        ]  # fmt: skip
        bar = Bar(
            TextColumn("{task.description}"), BarColumn(), *amount,
            TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True),
        )  # fmt: skip
        with bar:
            task = bar.add_task(name, total=total)
            yield lambda done: bar.update(task, completed=done)
            bar.update(task, total=bar.tasks[0].completed)


def progress_for(quiet: bool) -> Progress:
    """Bars if someone is watching, else silence."""
    return Bars() if not quiet and sys.stderr.isatty() else Progress()


def say(quiet: bool, *lines: str) -> None:
    if not quiet:
        for line in lines:
            print(line, file=sys.stderr)


def write_stdout(write: Callable[[BinaryIO], None]) -> None:
    if sys.stdout is None:
        raise InputError("cannot write stdout: it is closed")
    write(sys.stdout.buffer)
    sys.stdout.flush()


def print_json(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))
