"""The command line: one file per command, which parses, calls the library and prints. Data go to
stdout, messages to stderr."""

from __future__ import annotations

import errno
import gc
import os
import re
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any

CLEAR_LINE = b"\r\x1b[2K"
STOPPING = {"SIGINT": b"interrupted", "SIGTERM": b"terminated", "SIGHUP": b"hung up"}
"""Ctrl-C, `kill`, a closed terminal. Not every system has all of them."""

OUT_OF_MEMORY = re.compile("out of memory|can't allocate memory|not enough memory|bad_alloc")
PANIC = "PanicException"
"""What libraries in Rust raise. It is not an `Exception`, and its class can't be imported."""
NULL = "pointer is null"
"""What it says where Python had no memory for an object."""


def main() -> None:
    """Run `volt`. Exit code 0: done; 1: a negative answer; 2: bad usage or bad input; 128 and
    above: stopped by a signal."""
    from volt.cli.streams import StdoutError, prepare, silence

    if hasattr(signal, "SIGPIPE"):
        # If the reader of our output is gone, end at once and silently, as other programs do.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in STOPPING:
        # What our caller has chosen to ignore (`nohup`, a background job) stays ignored.
        if (number := getattr(signal, name, None)) and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    # A vocabulary has very many objects and no cycles, so collecting garbage often is a waste.
    gc.set_threshold(100_000, 50, 50)
    _show_warnings(quiet=bool({"-q", "--quiet"} & {*sys.argv[1:]}))
    debug = "--debug" in sys.argv[1:] or os.environ.get("VOLT_DEBUG", "") not in ("", "0")
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if not debug:  # what a library ignores in a callback, such as too little memory
        sys.unraisablehook = lambda _: None
    try:
        prepare()
        _run(arguments)
        sys.stdout.flush()
    except _Signal as stopped:
        # Everything is cleaned up. To free all memory, object by object, would take its time.
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(int(stopped.code))
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        if _Signal.stopped:  # a library made another error of it
            os._exit(_Signal.stopped)
        if debug:
            traceback.print_exc()
        print(f"volt: {_explained(error)}", file=sys.stderr)
        if isinstance(error, StdoutError):
            silence()
        sys.exit(2)
    sys.exit(0)


def _run(arguments: list[str]) -> None:
    """Run a command. Where it ends well, what it printed may not be out yet."""
    from volt.cli.app import app

    try:
        app(args=arguments, prog_name="volt")
    except _Signal:
        raise
    except SystemExit as end:
        if end.code:
            sys.stdout.flush()
            raise


def _explained(error: BaseException) -> str:
    """What to tell about an error."""
    from volt.base.errors import VoltError

    text = str(error)
    if isinstance(error, VoltError):
        return text
    if isinstance(error, OSError):
        full = error.errno in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
        where = error.filename or ("cannot write the output" if full else "")
        return f"{where}: {error.strerror or error}" if where else f"{error.strerror or error}"
    if isinstance(error, MemoryError) or (type(error).__name__ == PANIC and NULL in text):
        return (
            "out of memory; count with --memory first, leave out rare words (--min-count) or "
            "learn fewer candidates"
        )
    if "can't start new thread" in text:
        return "no thread can be started: the limit of processes is reached"
    # PyTorch has an error class for some devices only, and it is not imported for this.
    if type(error).__name__ == "OutOfMemoryError" or OUT_OF_MEMORY.search(text):
        return (
            "out of memory; train with a lower --batch (and a higher --accumulate) or a smaller "
            "--preset, translate with a lower --beam"
        )
    kind = type(error).__name__
    said = f"{kind}: {text.splitlines()[0][:300]}" if text.strip() else kind
    return (
        f"this is a defect of volt ({said}). Please report it, with the "
        "command, the version (volt --version) and what VOLT_DEBUG=1 shows"
    )


def _show_warnings(*, quiet: bool) -> None:
    """Print warnings of the library as notes."""
    from volt.base.errors import VoltWarning
    from volt.cli.streams import SHOWN

    show = warnings.showwarning

    def note(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, VoltWarning):
            show(message, category, *where, **more)
        elif not quiet:
            SHOWN.add(f"note: {message}")
            print(f"note: {message}", file=sys.stderr)

    warnings.showwarning = note


def _stop(number: int, frame: object) -> None:
    """Exit, which deletes temporary files; a second Ctrl-C must not interrupt that."""
    for name in STOPPING:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    from volt.cli.streams import Drawing

    # Not print: the signal may have come in the middle of one. The terminal may be gone.
    with suppress(OSError):
        os.write(
            2, CLEAR_LINE * Drawing.now + b"volt: " + STOPPING[signal.Signals(number).name] + b"\n"
        )
    _Signal.stopped = 128 + number
    raise _Signal(128 + number)


class _Signal(SystemExit):
    """The program was stopped."""

    code: int
    stopped = 0
    """The exit code, once there was a signal."""
