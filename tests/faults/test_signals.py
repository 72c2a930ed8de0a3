"""Ctrl-C, a polite kill, a reader that leaves: the exit code as documented, nothing left behind."""

import contextlib
import signal
import subprocess

import pytest
from commands import COMMANDS, VOLT, names

STOPPED = {
    signal.SIGINT: (130, b"volt: interrupted\n"),
    signal.SIGTERM: (143, b"volt: terminated\n"),
    signal.SIGHUP: (129, b"volt: hung up\n"),
}


def heed_signals():
    """A shell's background jobs and `nohup` ignore signals, and pass that on."""
    for number in STOPPED:
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("command", "number"),
    [(command, signal.SIGINT) for command in ("count", "spill", "learn", "encode", "npy")]
    + [("learn", signal.SIGTERM), ("encode", signal.SIGTERM), ("encode", signal.SIGHUP)],
)
def test_stopped_while_it_works(work, command, number):
    """The text comes through a pipe and does not end before the command does. More than a pipe
    contains was read when the signal is sent: the command is at work. Then the text goes on, since
    a signal that comes right before a read is not seen until the read returns."""
    before = names(work)
    arguments = ["-" if word == "text" else word for word in COMMANDS[command]]
    with subprocess.Popen(
        [VOLT, *arguments],
        cwd=work,
        bufsize=0,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_signals,
    ) as process:
        process.stdin.write(b"some words\n" * 20_000)
        process.send_signal(number)
        with contextlib.suppress(BrokenPipeError):
            for _ in range(1000):
                process.stdin.write(b"some words\n" * 20_000)
        process.stdin.close()
        error = process.stderr.read()
    assert (process.returncode, error) == STOPPED[number]
    assert names(work) == before


def test_a_second_ctrl_c_does_not_cut_short_the_cleaning_up(work):
    """It comes while the temporary folder is deleted."""
    program = (
        "import os, shutil, signal; from volt.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # it may be ignored
        "remove = shutil.rmtree\n"
        "def slowly(*arguments, **options):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    remove(*arguments, **options)\n"
        "shutil.rmtree = slowly\n"
        "import volt.result\n"
        "volt.result.curve_rows = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "main()"
    )
    before = names(work)
    done = subprocess.run(
        [VOLT.with_name("python"), "-c", program, *COMMANDS["learn"]], cwd=work, capture_output=True
    )
    assert (done.returncode, done.stderr) == STOPPED[signal.SIGINT]
    assert names(work) == before


def test_what_is_to_be_ignored_stays_ignored(work):
    """As `nohup` does it: the terminal may go, the work goes on."""
    with subprocess.Popen(
        [VOLT, "count", "-", "-o", "out", "-q"],
        cwd=work,
        stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    ) as process:
        process.stdin.write(b"some words\n" * 20_000)
        process.stdin.flush()
        process.send_signal(signal.SIGHUP)
        process.stdin.close()
    assert process.returncode == 0
    assert "out" in names(work)


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
