"""A fault at every file-system call of every command, and what must be true after it.

python tests/faults/injection.py            everything; `make faults`
python tests/faults/injection.py learn      the cases whose names begin like this
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

from cases import CASES, Case
from forks import Server, workshop
from promises import FAULTS, LASTING, Try, spread
from trees import Tree

SLOT = re.compile(r"newfstatat .*\.volt-[0-9a-f]+-[2-7]\.(old|tmp)")


def places(calls: list[str]) -> list[int]:
    """The calls that faults are tried at: all, except that of the eight temporary names of an
    output, which are looked up one after the other, two are enough."""
    return [number for number, call in enumerate(calls) if not SLOT.fullmatch(call)]


@dataclass(frozen=True)
class Task:
    """Some faults at all calls of a case."""

    case: Case
    replaces: bool
    faults: tuple[str, ...]
    """All of them at each call, or in turn if the case is not the first of its command."""
    first: bool

    def __str__(self) -> str:
        return f"{self.case.name}{' (replaces)' if self.replaces else ''}: {', '.join(self.faults)}"


def tasks(cases: list[Case]) -> Iterator[Task]:
    """The first case of a command gets every fault at every call, with an output that is there
    before. Without one, and in the other cases, there is one fault per call, in turn."""
    seen: set[str] = set()
    for case in cases:
        can_replace = bool(case.writes_) and (bool(case.old) or not case.force)
        if case.command not in seen:
            for replaces in [True, False] if can_replace else [False]:
                for fault in FAULTS if replaces == can_replace else ():
                    yield Task(case, replaces, (fault,), True)
                if replaces != can_replace:
                    yield Task(case, replaces, tuple(FAULTS), False)
        else:
            yield Task(case, can_replace, tuple(FAULTS), False)
        yield Task(case, can_replace, tuple(LASTING), case.command not in seen)
        seen.add(case.command)


@dataclass
class Report:
    """Of one case."""

    name: str
    calls: int = 0
    injected: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def work(task: Task, server: Server, template: Tree, most: int | None = None) -> Report:
    """Everything of one task; at most so many calls of it."""
    folder = server.scratch / "work"
    folder.mkdir(exist_ok=True)
    one = Try(task.case, task.replaces, folder, server)
    report = Report(str(task))
    started = time.monotonic()

    def inject(fault: str, when: int) -> None:
        wrong, hit = one.inject(fault, when)
        report.wrong += wrong
        report.injected += hit

    try:
        one.begin(template)
        if task.faults[0] in LASTING:
            for fault, when in one.lasting(most or (40 if task.first else 8)):
                inject(fault, when)
            report.wrong += one.surroundings()
        else:
            chosen = places(one.calls)
            for number in spread(len(chosen), most or len(chosen)):
                for fault in (
                    task.faults if task.first else [task.faults[number % len(task.faults)]]
                ):
                    inject(fault, chosen[number])
    except Exception as error:
        report.wrong.append(f"{one}: {type(error).__name__}: {error}")
    report.calls = len(one.calls)
    report.seconds = time.monotonic() - started
    return report


def main() -> int:
    """Everything, with two processes side by side. Prints what is wrong, and how much was tried."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases whose names begin like this")
    parser.add_argument("--calls", type=int, help="at most so many calls of each case")
    asked = parser.parse_args()
    wanted = asked.names
    cases = [
        one for one in CASES if not wanted or any(one.name.startswith(name) for name in wanted)
    ]
    for one in cases:
        if missing := [name for name in one.needs if not find_spec(name)]:
            print(f"{one.name}: left out, {missing[0]} is not installed")
    cases = [one for one in cases if all(find_spec(name) for name in one.needs)]
    disk = Path("/dev/shm")
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(dir=disk if disk.is_dir() else None) as place,
        workshop(Path(place)) as (start, template),
        ThreadPoolExecutor(2) as threads,
    ):
        free: dict[str, SimpleQueue[Server]] = {}
        for kind in {heavy(one) for one in cases}:
            free[kind] = SimpleQueue()
            for _ in range(2):
                free[kind].put(start())

        def do(task: Task) -> Report:
            servers = free[heavy(task.case)]
            server = servers.get()
            try:
                report = work(task, server, template, asked.calls)
            finally:
                servers.put(server)
            print(
                f"{report.name}: {report.injected} injections, {report.calls} calls, "
                f"{report.seconds:.0f} s", *report.wrong, sep="\n    ", flush=True,
            )  # fmt: skip
            return report

        reports = list(threads.map(do, tasks(cases)))
    wrong = sum(len(one.wrong) for one in reports)
    print(
        f"{sum(one.injected for one in reports):,} injections into "
        f"{len({one.command for one in cases})} commands ({len(cases)} cases), "
        f"{time.monotonic() - started:.0f} s: {wrong or 'nothing'} wrong"
    )
    return 1 if wrong else 0


def heavy(case: Case) -> str:
    """Large libraries have servers of their own: a fork takes the longer the more is loaded."""
    return "".join(name for name in case.needs if name in ("torch", "vl_convert", "pyarrow"))


if __name__ == "__main__":
    sys.exit(main())
