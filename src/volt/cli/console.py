"""What people see on stderr: progress bars and summaries; and JSON on stdout."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TextIO, cast

from volt.base.errors import SettingsError
from volt.base.lines import WARNING, WIDTH, Line, note_lines
from volt.base.progress import Progress, Report
from volt.base.shown import json_text, shown, shown_line
from volt.cli.command import Given, current_options
from volt.cli.streams import SHOWN, Drawing, Styled
from volt.settings import in_flags


class Bars(Progress):
    """One bar per stage, with rate and time left."""

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Report]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            ProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar
        from rich.text import Text

        class Rate(ProgressColumn):
            """The mean over the whole stage: some are too short for a current rate."""

            def render(self, task: Any) -> Text:
                speed = task.completed / task.elapsed if task.elapsed else 0.0
                return Text(f"{speed:,.{0 if speed >= 10 else 1}f} {unit}/s")

        class Part(ProgressColumn):
            """Which of a few long parts is under way: their rate says nothing."""

            def render(self, task: Any) -> Text:
                return Text(f"{unit} {min(task.completed + 1, total or 1)} of {total}")

        def words(form: str) -> TextColumn:
            """Without markup: the name of a folder may contain brackets."""
            return TextColumn(form, markup=False)

        amount: list[ProgressColumn]
        if unit == "B":
            amount = [DownloadColumn(), TransferSpeedColumn()]
        elif unit == "part":
            amount = [Part()]
        else:  # a budget in seconds has no rate
            amount = [MofNCompleteColumn(), words("s") if unit == "s" else Rate()]
        console = Console(file=cast(TextIO, Styled()))
        name, width, room = _widths(shown_line(name), total, unit, console.width)
        bar = Bar(
            words("{task.description}"), BarColumn(width), *amount,
            TimeElapsedColumn(), TimeRemainingColumn(), words("{task.fields[note]}"),
            console=console,
        )  # fmt: skip
        with _drawn(bar):
            task = bar.add_task(name, total=total, note="")

            def report(done: int, note: str = "") -> None:
                # Threads may report out of order.
                most = max(done, bar.tasks[0].completed)
                bar.update(task, completed=most, note=shown_line(note)[:room])

            yield report
            bar.update(task, total=bar.tasks[0].completed)


@contextmanager
def _drawn(bar: Any) -> Iterator[None]:
    """The bar of a stage that fails is cleared: a message follows."""
    with bar:
        Drawing.now = True
        try:
            yield
        except BaseException:
            bar.live.transient = True
            raise
        finally:
            Drawing.now = False


def _widths(name: str, total: int | None, unit: str, columns: int) -> tuple[str, int, int]:
    """The name of a stage, how wide its bar is, and room for a note: all in one line. A line that
    wraps is drawn over what was said before."""
    if unit == "B":
        figures = len("999.9/999.9 GB 999.9 MB/s")
    else:
        figures = 2 * len(f"{total or 10**9:,}") + len("/ 999,999,999 /s") + len(unit)
    left = columns - figures - len(" 0:00:00 -:--:--") - 4  # spaces
    name = name[: max(8, left - 4)]
    left -= len(name)
    width = min(max(left - 20, 4), 40)  # the bar gives way to the figures
    return name, width, max(0, left - width)


class Lines(Progress):
    """A plain line at the start and per tenth of a stage: for logs of work that takes hours."""

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Report]:
        told, begun = 0, time.monotonic()
        print(f"{name}: 0 of {total or 0:,} {unit}", file=sys.stderr, flush=True)

        def report(done: int, note: str = "") -> None:
            nonlocal told
            tenth = 10 * done // total if total else 0
            if tenth > told:
                told = tenth
                seconds = (time.monotonic() - begun) * max(0, (total or 0) / done - 1)
                after = (f", {note}" if note else "") + _left(seconds)
                line = f"{name}: {min(done, total or 0):,} of {total:,} {unit}{after}"
                print(line, file=sys.stderr, flush=True)

        yield report


class Steady(Progress):
    """A plain line every ten seconds, with rate and time left: for logs of everything else. A stage
    that is done needs none."""

    SECONDS = 10.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Report]:
        begun = told = self._clock()

        def report(done: int, note: str = "") -> None:
            nonlocal told
            now = self._clock()
            if now - told < self.SECONDS or not done or done >= (total or math.inf):
                return
            told = now
            rate = done / (now - begun)
            parts = [_amount(done, unit) + (f" of {_amount(total, unit)}" if total else "")]
            if unit == "part":
                parts = [f"part {done} of {total} done"]
            parts += [] if unit in ("s", "part") else [f"{_amount(rate, unit)}/s"]
            line = f"{name}: {', '.join(parts)}{_left((total - done) / rate) if total else ''}"
            print(shown_line(line + (f", {note}" if note else "")), file=sys.stderr, flush=True)

        yield report


def _left(seconds: float) -> str:
    return f", {seconds:,.0f} s left" if seconds >= 0.5 else ""


def _amount(number: float, unit: str) -> str:
    """As people read it: 12.3 MB, 1,234 lines."""
    return f"{number / 1e6:,.1f} MB" if unit == "B" else f"{number:,.0f} {unit}".rstrip()


def progress_for(quiet: bool, *, lines: bool = False) -> Progress:
    """Bars on a terminal; elsewhere a plain line every ten seconds or, with `lines`, per tenth."""
    if quiet:
        return Progress()
    return Bars() if sys.stderr.isatty() else Lines() if lines else Steady()


def say(quiet: bool, *lines: str) -> None:
    """Lines for people, wrapped; parameters in notes of the library become flags. Warnings are
    said even where nothing else is."""
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else WIDTH
    for text in lines:
        if (quiet and not text.startswith(WARNING)) or text in SHOWN:
            continue
        for part in in_flags(text, current_options()).split("\n"):
            print(*note_lines(part, width), sep="\n", file=sys.stderr)


def say_lines(quiet: bool, lines: Iterable[Line]) -> None:
    """Lines with their styles on a terminal; plain, and 80 columns wide, elsewhere. Of a quiet
    command only the warnings."""
    lines = [line for line in lines if not quiet or line.text.startswith(WARNING)]
    lines = [line for line in lines if line.text not in SHOWN]
    if not lines:
        return
    if not sys.stderr.isatty():
        for line in lines:
            text = in_flags(line.text, current_options())
            print(*replace(line, text=text).wrapped(WIDTH), sep="\n", file=sys.stderr)
        return
    from rich.console import Console

    console = Console(
        file=cast(TextIO, Styled()), highlight=False, markup=False, emoji=False, soft_wrap=True
    )
    for line in lines:
        text = shown(in_flags(line.text, current_options()))
        for part in replace(line, text=text).wrapped(console.width):
            console.print(part, style=line.style or None)


def can_draw() -> bool:
    """Whether stderr can show more than ASCII."""
    return (getattr(sys.stderr, "encoding", None) or "ascii").lower().startswith("utf")


def refuse(given: Given, names: Iterable[str], by: str) -> None:
    """An error for options that do not go with another one: they are not ignored silently."""
    for name in names:
        if name in given:
            raise SettingsError(f"`{name}` does not go with {by}: leave it out")


def print_json(data: Any) -> None:
    print(json_text(_without_nan(data), indent=2))


def _without_nan(data: Any) -> Any:
    """JSON has no NaN: null stands for it."""
    if isinstance(data, dict):
        return {key: _without_nan(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_without_nan(value) for value in data]
    return None if data != data else data
