"""Runs `volt` in a fork for every request, with a fault somewhere. The modules are imported once.

    python fork_server.py SHIM

A request is a line of JSON on stdin: the arguments, the folder, the fault. So is the answer on
stdout. The fork goes through `volt.cli.main` and the end of the interpreter as the program does.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import mmap
import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

MOST, NAME, WIDTH = 8192, 16, 120  # as in shim.c
HEAD = 2 * ctypes.sizeof(ctypes.c_long)
STREAMS = ("stdin", "stdout", "stderr")
SECONDS = 60
"""A run that takes longer hangs."""


class Record:
    """What the shim notes: memory that this process shares with the fork."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, HEAD + MOST * (NAME + WIDTH))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def clear(self) -> None:
        self.memory[:] = bytes(len(self.memory))

    def read(self) -> tuple[list[str], bool]:
        number, hit = (ctypes.c_long * 2).from_buffer(self.memory)
        calls = []
        for call in range(min(number, MOST)):
            start = HEAD + call * (NAME + WIDTH)
            name = self.memory[start : start + NAME].split(b"\0")[0]
            path = self.memory[start + NAME : start + NAME + WIDTH].split(b"\0")[0]
            calls.append(f"{name.decode()} {os.fsdecode(path)}")
        return calls, bool(hit)


def become(request: dict[str, Any], shim: ctypes.CDLL, record: Record) -> None:
    """In the fork: everything as it is when the program starts, and the fault."""
    signal.alarm(SECONDS)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.update(request.get("environment", {}))
    for number, name in enumerate(STREAMS):
        opened = os.open(request[name], os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    for name in request.get("closed", ()):
        os.close(STREAMS.index(name))
        setattr(sys, name, None)
    words = request["arguments"]
    if request.get("encoded"):  # bytes, as JSON can carry them
        words = [os.fsdecode(word.encode("latin-1")) for word in words]
    sys.argv = ["volt", *words]
    if request.get("setup"):
        getattr(importlib.import_module("cases"), request["setup"])()
    if "modules" in request:
        before = set(sys.modules)

        def tell() -> None:
            with open(request["modules"], "w") as stream:  # noqa: PTH123
                stream.write("\n".join(name for name in sys.modules if name not in before))

        atexit.register(tell)
    if "memory" in request:
        with open("/proc/self/statm") as stream:  # noqa: PTH123
            pages = int(stream.read().split()[0])
        most = pages * resource.getpagesize() + request["memory"]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    folder = os.fsencode(request["folder"])
    mode, when, fault = request["mode"], request["when"], request["fault"]
    if shim.watch(ctypes.c_void_p(record.address), folder, mode, ctypes.c_long(when), fault):
        os._exit(99)


def end(volt: Callable[[], None]) -> None:
    """Run the command and end as the interpreter does, except that memory is not freed: with all
    modules of all commands that takes longer than the command."""
    try:
        volt()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


def main() -> None:
    from volt.cli import main as volt

    shim = ctypes.CDLL(sys.argv[1])
    record = Record()
    requests = os.fdopen(os.dup(0), "r", closefd=False)
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    for line in requests:
        request = json.loads(line)
        if "preload" in request:
            for name in request["preload"]:
                with suppress(Exception):
                    importlib.import_module(name)
            continue
        record.clear()
        gc.freeze()  # what is here is not looked at again, in no fork
        child = os.fork()
        if child == 0:
            os.close(requests.fileno())
            os.close(answers)
            become(request, shim, record)
            end(volt)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        calls, hit = record.read()
        answer = {"status": status, "hit": hit, "calls": calls}
        os.write(answers, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
