"""Ctrl-C, a polite kill, a reader that leaves: the exit code as documented, nothing left behind."""

import signal
import subprocess
import time

import pytest
from commands import COMMANDS, VOLT, names

STOPPED = {
    signal.SIGINT: (130, b"volt: interrupted\n"),
    signal.SIGTERM: (143, b"volt: terminated\n"),
}


@pytest.mark.parametrize(
    ("command", "number"),
    [(command, signal.SIGINT) for command in ("count", "spill", "learn", "encode", "npy")]
    + [("learn", signal.SIGTERM), ("encode", signal.SIGTERM)],
)
def test_stopped_while_it_works(work, command, number):
    """The text comes through a pipe that does not end: the command is sure to be at work."""
    before = names(work)
    arguments = ["-" if word == "text" else word for word in COMMANDS[command]]
    with subprocess.Popen(
        [VOLT, *arguments],
        cwd=work,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background jobs ignore interrupts, and hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        process.stdin.write(b"some words\n" * 20_000)  # more than a pipe holds: it is being read
        process.stdin.flush()
        time.sleep(0.2)
        process.send_signal(number)
        process.stdin.close()
        error = process.stderr.read()
        process.wait(60)
    assert (process.returncode, error) == STOPPED[number]
    assert names(work) == before


def test_a_reader_that_leaves_ends_it_silently(work):
    with subprocess.Popen(
        [VOLT, "encode", "-m", "model", "text", "text", "text"],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE
