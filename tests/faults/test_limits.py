"""Too little memory, too few threads: a message or, where it can be, the same result."""

import os
import resource
import subprocess
from pathlib import Path

import pytest
from commands import COMMANDS, VOLT, names, outputs, run

NOT_LINUX = not Path("/proc/self/statm").exists()


@pytest.mark.skipif(NOT_LINUX, reason="needs Linux's /proc and limits")
@pytest.mark.parametrize("command", ["count", "learn", "encode"])
def test_too_little_memory_is_an_error_and_nothing_stays(work, command):
    """Room for what is there when the work begins, and little more."""
    program = (
        "import resource, sys, volt; from volt.cli import main, app\n"
        "app.app.get_command(None, sys.argv[1])\n"
        "every = [getattr(volt, name) for name in volt.__all__]\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "most = pages * resource.getpagesize() + (1 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "main()"
    )
    before = names(work)
    done = subprocess.run(
        [VOLT.with_name("python"), "-c", program, *COMMANDS[command]], cwd=work, capture_output=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"volt: out of memory; ")
    assert names(work) == before


def with_room_for(stacks: float):
    """A limit of memory so that only so many threads find room for their stacks of 1 GiB."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (int((stacks + 0.9) * (1 << 30)),) * 2)

    return {"preexec_fn": limit, "env": {**os.environ, "OPENBLAS_NUM_THREADS": "1"}}


@pytest.mark.skipif(
    NOT_LINUX or resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY,
    reason="the size of stacks can't be set here",
)
@pytest.mark.parametrize(
    ("command", "stacks"),
    [("count", 0), ("count", 2), ("spill", 2), ("encode", 0), ("encode", 2), ("learn", 0)],
)
def test_threads_that_cannot_be_started_are_done_without(work, command, stacks):
    arguments = [*COMMANDS[command], "--threads", "4"]
    assert run(*arguments, cwd=work).returncode == 0
    expected = outputs(work)
    subprocess.run(["rm", "-r", *(path.name for path in work.glob("out*"))], cwd=work, check=True)
    result = run(*arguments, cwd=work, **with_room_for(stacks))
    assert (result.returncode, result.stderr) == (0, b"")
    assert outputs(work) == expected


@pytest.mark.parametrize("command", ["count", "learn", "encode"])
def test_a_thread_that_never_begins_is_not_waited_for(work, command):
    """The system has started it, but it had no memory for its first step: `Thread.start` would
    wait for ever."""
    program = (
        "import _thread, threading\n"
        "threading._start_new_thread = _thread.start_new_thread = lambda *_, **__: 1\n"
        "threading._start_joinable_thread = lambda *_, **__: 1\n"
        "import volt.base.workers; volt.base.workers.PATIENCE = 0.05\n"
        "from volt.cli import main; main()"
    )
    assert run(*COMMANDS[command], cwd=work).returncode == 0
    expected = outputs(work)
    done = subprocess.run(
        [VOLT.with_name("python"), "-c", program, *COMMANDS[command], "--force"],
        cwd=work, capture_output=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert outputs(work) == expected
