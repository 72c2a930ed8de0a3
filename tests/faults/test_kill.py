"""kill -9 at any moment: an output is whole or not there, and a rerun gives the same bytes."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import COMMANDS, VOLT, outputs, run

from volt.cli import main

MOMENTS = int(os.environ.get("VOLT_KILLS", "4"))
"""Random moments of `kill -9`, over all commands. 50 and more for a long run."""

TOUCHES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
"""Events of the interpreter, each before it touches the disk."""


RESUMED = [*COMMANDS["npy"], "text", "text", "--resume"]
"""Several files: there is a journal of what is done."""


def rerun(command: str) -> list[str]:
    return [*COMMANDS[command], *(["--resume"] if command == "spill" else [])]


def whole_or_absent(found: dict[str, bytes], expected: dict[str, bytes], command: str) -> None:
    assert all(expected[name] == data for name, data in found.items())
    if command not in ("npy", "export"):  # several files, which appear one after the other
        assert found in ({}, expected)


def remove_outputs() -> None:
    for path in Path().glob("out*"):
        if path.is_file():
            path.unlink()
        elif path.suffix != ".spill":
            shutil.rmtree(path)


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_killed_at_a_random_moment(work, moment):
    command = ["spill", "learn", "encode", "select"][moment % 4]
    started = time.monotonic()
    assert run(*COMMANDS[command], cwd=work).returncode == 0
    seconds = time.monotonic() - started
    expected = outputs(work)
    remove_outputs()

    process = subprocess.Popen([VOLT, *COMMANDS[command]], cwd=work, stderr=subprocess.DEVNULL)
    time.sleep(seconds * random.Random(moment).uniform(0.1, 1.0))
    process.kill()
    process.wait()
    whole_or_absent(outputs(work), expected, command)
    if outputs(work) != expected:
        result = run(*rerun(command), cwd=work)
        assert result.returncode == 0, result.stderr
    assert outputs(work) == expected


def dies(arguments: list[str], moment: int, folder: str) -> bool:
    """Run a command in a child that is gone when it touches the folder for the n-th time; False if
    it came to its end before."""
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9)
        return status == 9
    left = moment

    def hook(event: str, details: tuple) -> None:
        nonlocal left
        if event in TOUCHES and str(details[0]).startswith((folder, "out", ".volt")):
            left -= 1
            if left < 0:
                os._exit(9)

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.argv = ["volt", *arguments]
    sys.addaudithook(hook)
    try:
        main()
    except SystemExit as exit:
        os._exit(exit.code or 0)
    os._exit(1)


def test_killed_with_a_journal_the_next_run_goes_on(work):
    """Whatever stays of the run that was killed: the folder to go on with is the only one."""
    assert run(*RESUMED, cwd=work).returncode == 0
    expected = outputs(work)
    moment = kept = 0
    while True:
        remove_outputs()
        died = dies(RESUMED, moment, str(work))
        partial = work / "out.npy.partial"
        kept += (partial / "journal.json").is_file()
        found = {n: d for n, d in outputs(work).items() if not n.startswith(partial.name)}
        assert all(expected[name] == data for name, data in found.items())
        for name in found:
            (work / name).unlink()
        assert not dies(RESUMED, 1 << 30, str(work))  # it comes to its end
        assert outputs(work) == expected
        assert not partial.exists()
        if not died:
            break
        moment += 1
    assert kept > 5


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_whenever_it_touches_the_disk(work, command):
    assert run(*COMMANDS[command], cwd=work).returncode == 0
    expected = outputs(work)
    assert expected
    # Learning takes longest: not every moment of it, but in a long run.
    stride = 7 if command == "learn" and MOMENTS < 50 else 1
    moment = deaths = 0
    while True:
        remove_outputs()
        died = dies(rerun(command), moment, str(work))
        whole_or_absent(outputs(work), expected, command)
        if not died:
            break
        deaths += 1
        moment += stride
    assert deaths >= 2
    assert outputs(work) == expected
