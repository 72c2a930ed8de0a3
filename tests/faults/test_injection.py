"""A selection of `make faults`: a few calls of every command, and the faults that were found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from cases import CASES, commands
from forks import Server, workshop
from injection import Task, places, work
from promises import FAULTS, LASTING, Try
from trees import Tree

FIRST = {case.command: case for case in reversed(CASES)}
QUICK = [
    name for name, case in FIRST.items() if not case.slow and all(find_spec(m) for m in case.needs)
]
CALLS = 6
"""Calls of each command that a fault is tried at."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Iterator[tuple[Server, Tree]]:
    try:
        with workshop(tmp_path_factory.mktemp("injection")) as (start, template):
            yield start(), template
    except OSError as error:
        pytest.skip(f"no faults can be injected here: {error}")


def test_every_command_has_a_case():
    assert {case.command for case in CASES} == set(commands())


@pytest.mark.parametrize("command", sorted(QUICK))
def test_a_fault_at_a_few_calls(shop, command):
    case = FIRST[command]
    report = work(Task(case, bool(case.old), tuple(FAULTS), False), *shop, CALLS)
    assert report.wrong == []
    assert report.injected >= min(CALLS, report.calls)


@pytest.mark.parametrize("command", sorted(QUICK))
def test_surroundings(shop, command):
    """Threads, memory, disks, streams, names and links, a few of each."""
    case = FIRST[command]
    assert work(Task(case, bool(case.old), tuple(LASTING), False), *shop, 3).wrong == []


@pytest.mark.parametrize("command", ["learn", "count", "encode"])
def test_little_memory_never_ends_the_process_in_our_own_threads(shop, command):
    """The C library did so where a thread began, and SciPy crashed in one."""
    server, template = shop
    folder = server.scratch / "work"
    folder.mkdir(exist_ok=True)
    one = Try(FIRST[command], True, folder, server)
    one.begin(template)
    assert not one.case.in_library
    steps = range(15_000, 17_000, 100)  # room for a stack and little more
    assert [wrong for left in steps for wrong in one.inject("little memory", left)[0]] == []


def tried(shop: tuple[Server, Tree], name: str, fault: str, like: str) -> list[str]:
    """What is wrong after a fault at all calls that look like this."""
    server, template = shop
    folder = server.scratch / "work"
    folder.mkdir(exist_ok=True)
    (case,) = [one for one in CASES if one.name == name]
    one = Try(case, bool(case.old), folder, server)
    one.begin(template)
    found = [number for number in places(one.calls) if re.search(like, one.calls[number])]
    assert found
    return [wrong for number in found for wrong in one.inject(fault, number)[0]]


@pytest.mark.parametrize(
    ("name", "fault", "call"),
    [
        # NumPy writes through a stream of C's, whose last error is lost.
        pytest.param("merge", "ENOSPC", r"write .*id_map", id="an array that the disk refuses"),
        pytest.param("refit", "EIO", r"write .*id_map", id="an array that can't be written"),
        pytest.param("learn", "SIGTERM", r"mkdir .*\.tmp$", id="a signal when the draft is made"),
        pytest.param("count", "SIGINT", r"flock .*\.tmp$", id="a signal when the draft is locked"),
        pytest.param("count", "EIO", r"newfstatat .*-0\.tmp$", id="a draft without a status"),
        pytest.param("learn", "EIO", r"unlink.* .*\.tmp/", id="an old file that can't be deleted"),
        pytest.param("learn", "SIGTERM", r"unlink.* .*\.tmp/", id="a signal in the clean-up"),
        pytest.param("info", "SIGINT", r"(newfstatat|lseek) .*std", id="Ctrl-C at the beginning"),
        pytest.param("info", "EIO", r"lseek .*stderr", id="stderr that can't tell where it is"),
        pytest.param("data get", "SIGKILL", r"mkdir .*", id="what was unpacked is cleaned up"),
        pytest.param("data get", "SIGTERM", r"rename .*part", id="the mark of a download"),
        pytest.param("refit", "EIO", r"newfstatat text$", id="a text without a status"),
        pytest.param("compare", "EIO", r"read .*config\.json", id="settings that can't be read"),
    ],
)
def test_what_went_wrong_once(shop, name, fault, call):
    assert tried(shop, name, fault, call) == []
