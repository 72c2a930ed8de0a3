"""The command line: one file a command; parse, call, print. Data on stdout, words on stderr."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback


def main() -> None:
    """Run `volt`. Exit 0 done, 1 a negative answer, 2 bad usage or bad input, from 128 stopped."""
    from volt.errors import VoltError

    if hasattr(signal, "SIGPIPE"):
        # When the reader of our output has gone, end as other programs do: at once, silently.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is to be ignored
        signal.signal(signal.SIGINT, _stop)
    # A vocabulary is very many objects and no cycles: don't look through them again and again.
    gc.set_threshold(100_000, 50, 50)
    # Nothing here multiplies large matrices: don't start threads that would.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        from volt.cli.app import app_for

        app_for(arguments)(args=arguments, prog_name="volt")
    except VoltError as error:
        if debug:
            traceback.print_exc()
        print(f"volt: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if debug:
            traceback.print_exc()
        print(f"volt: cannot write stdout: {error.strerror or error}", file=sys.stderr)
        # Keep Python from trying, and failing, once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)


def _stop(number: int, frame: object) -> None:
    """Ctrl-C and a polite kill: on the way out temporary files are deleted."""
    # Not print: the signal may have come in the middle of one.
    os.write(2, b"volt: interrupted\n" if number == signal.SIGINT else b"volt: terminated\n")
    sys.exit(128 + number)
