"""The command line: one file per command; parse, call, print. Data on stdout, words on stderr."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any

STOPPING = {"SIGINT": b"interrupted", "SIGTERM": b"terminated", "SIGHUP": b"hung up"}
"""Ctrl-C, a polite kill, a terminal that is closed; not all systems have all."""

OUT_OF_MEMORY = re.compile("out of memory|can't allocate memory|not enough memory|bad_alloc")


def main() -> None:
    """Run `volt`. Exit 0 done, 1 a negative answer, 2 bad usage or bad input, from 128 stopped."""
    from volt.base.errors import VoltError

    if hasattr(signal, "SIGPIPE"):
        # When the reader of our output has gone, end as other programs do: at once, silently.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in STOPPING:
        # What our caller has chosen to ignore (`nohup`, a background job) stays ignored.
        if (number := getattr(signal, name, None)) and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    # A vocabulary is very many objects and no cycles: don't look through them again and again.
    gc.set_threshold(100_000, 50, 50)
    _show_warnings(quiet=bool({"-q", "--quiet"} & {*sys.argv[1:]}))
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        from volt.cli.app import app

        app(args=arguments, prog_name="volt")
    except VoltError as error:
        if debug:
            traceback.print_exc()
        print(f"volt: {error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        if debug:
            traceback.print_exc()
        print(
            "volt: out of memory; count with --memory first, leave out rare words (--min-count) or "
            "learn fewer candidates",
            file=sys.stderr,
        )
        sys.exit(2)
    except RuntimeError as error:
        words = _limit(error)
        if words is None:
            raise
        if debug:
            traceback.print_exc()
        print(f"volt: {words}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if debug:
            traceback.print_exc()
        where = error.filename or "cannot write stdout"
        print(f"volt: {where}: {error.strerror or error}", file=sys.stderr)
        # Keep Python from trying, and failing, once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)


def _show_warnings(*, quiet: bool) -> None:
    """Print what the library warns of as a note."""
    from volt.base.errors import VoltWarning

    show = warnings.showwarning

    def note(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, VoltWarning):
            show(message, category, *where, **more)
        elif not quiet:
            print(f"note: {message}", file=sys.stderr)

    warnings.showwarning = note


def _limit(error: RuntimeError) -> str | None:
    """What the machine has too little of, if that is what the error is about."""
    if "can't start new thread" in str(error):
        return "no thread can be started: the limit of processes is reached"
    # PyTorch has a class for some devices, and for the others words; it is not imported for this.
    if type(error).__name__ == "OutOfMemoryError" or OUT_OF_MEMORY.search(str(error)):
        return (
            "out of memory; train with a lower --batch (and a higher --accumulate) or a smaller "
            "--preset, translate with a lower --beam"
        )
    return None


def _stop(number: int, frame: object) -> None:
    """On the way out temporary files are deleted."""
    for name in STOPPING:  # which no second Ctrl-C is to cut short
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # Not print: the signal may have come in the middle of one. The terminal may be gone.
    with suppress(OSError):
        os.write(2, b"volt: " + STOPPING[signal.Signals(number).name] + b"\n")
    sys.exit(128 + number)
