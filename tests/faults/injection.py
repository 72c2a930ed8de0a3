"""A fault at every file-system call of every command, and what must be true after it.

python tests/faults/injection.py            everything; `make faults`
python tests/faults/injection.py learn      the cases whose names begin like this
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import CASES, Case, prepare_folder, served  # noqa: E402

from volt.base.manifest import TEMPORARY  # noqa: E402

ONCE, FULL_DISK, READ_ONLY, NO_THREADS = range(4)  # as in shim.c
FAULTS = {
    "SIGTERM": -signal.SIGTERM,
    "SIGINT": -signal.SIGINT,
    "SIGKILL": -signal.SIGKILL,
    "ENOSPC": 28,
    "EIO": 5,
    "EMFILE": 24,
}
"""One fault at one call. For the shim signals are below zero."""
STOPPED = {
    "SIGTERM": (143, "volt: terminated\n"),
    "SIGINT": (130, "volt: interrupted\n"),
    "SIGKILL": (-signal.SIGKILL, ""),
}
LASTING = {
    "full disk": (FULL_DISK, 28),
    "read-only disk": (READ_ONLY, 30),
    "no threads": (NO_THREADS, 0),
    "little memory": (ONCE, 0),
}
"""A fault that stays, from one call on. With little memory: the kilobytes that are left."""
MEMORY = (64, 256, 1024, 4096, 8192, 12288, 16384, 32768, 65536)
"""Kilobytes. The stack of a thread takes 8192."""

RUST_ABORTED = re.compile(
    r"^memory allocation of \d+ bytes failed\n((note: run with|skipping backtrace) .*\n)*\Z", re.M
)
THREAD_ABORTED = re.compile(r"^cannot allocate memory for thread-local data: ABORT\n\Z", re.M)
"""The last words of a library that got no memory."""

ODD = "\udcff\x1b[31m\n;"
"""The beginning of a file name: not UTF-8, and nothing for a terminal."""
SLOT = re.compile(r"newfstatat .*\.volt-[0-9a-f]+-[2-7]\.(old|tmp)")

Tree = dict[str, bytes | str | None]
"""Files with their bytes, links with where they lead, folders."""


# --------------------------------------------------------------------------------------- one run


@dataclass
class Result:
    status: int
    out: bytes
    told: str
    calls: list[str]
    hit: bool


class Server:
    """A process that runs `volt` in forks of itself."""

    def __init__(self, shim: Path, scratch: Path) -> None:
        self.scratch = scratch
        self.process = subprocess.Popen(
            [sys.executable, HERE / "fork_server.py", shim],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                 "TOKENIZERS_PARALLELISM": "false", "RUST_BACKTRACE": "0"},
        )  # fmt: skip

    def run(self, folder: Path, arguments: list[str], fault: int = 0, when: int = 0,
            mode: int = ONCE, **more: Any) -> Result:  # fmt: skip
        out, told = self.scratch / "stdout", self.scratch / "stderr"
        for path in (out, told):
            path.write_bytes(b"")
        request = {
            "folder": str(folder), "arguments": arguments, "fault": fault, "when": when,
            "mode": mode, "stdin": os.devnull, "stdout": str(out), "stderr": str(told), **more,
        }  # fmt: skip
        answer = self.ask(request)
        if answer["status"] == 99:
            raise OSError("the system lets no process filter its system calls")
        text = told.read_bytes().decode(errors="replace")
        return Result(answer["status"], out.read_bytes(), text, answer["calls"], answer["hit"])

    def ask(self, request: dict[str, Any]) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        if "preload" in request:
            return None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


def compile_shim(folder: Path) -> Path:
    """The shim as a library. Raises OSError where it can't be made."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        raise OSError("needs Linux and a C compiler")
    made = folder / "shim.so"
    command = [compiler, "-O1", "-shared", "-fPIC", HERE / "shim.c", "-o", made]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"the shim can't be compiled: {done.stderr}")
    return made


@dataclass
class Report:
    """Of one case."""

    name: str
    calls: int = 0
    injected: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


# ----------------------------------------------------------------------------------------- folders


def tree(folder: Path) -> Tree:
    found: Tree = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            key = os.fsdecode(os.path.relpath(path, folder))
            if path.is_symlink():
                found[key] = os.readlink(path)  # noqa: PTH115
            else:
                found[key] = None if path.is_dir() else path.read_bytes()
    return found


def restore(folder: Path, wanted: Tree, now: Tree | None = None) -> None:
    """Make a folder what it was. `now` is what it is, if that is known."""
    now = tree(folder) if now is None else dict(now)
    for name in sorted(now, reverse=True):
        if name not in wanted or type(now[name]) is not type(wanted[name]):
            path = folder / name
            path.rmdir() if now[name] is None else path.unlink()
            del now[name]
    for name in sorted(wanted):
        data = wanted[name]
        if name in now and now[name] == data:
            continue
        path = folder / name
        if data is None:
            path.mkdir()
        elif isinstance(data, str):
            path.unlink(missing_ok=True)
            path.symlink_to(data)
        else:
            path.write_bytes(data)


# ------------------------------------------------------------------------------------------ checks


@dataclass
class Try:
    """A case, with or without an output that is there before."""

    case: Case
    replaces: bool
    folder: Path
    server: Server
    before: Tree = field(default_factory=dict)
    after: Tree = field(default_factory=dict)
    told: bytes = b""
    calls: list[str] = field(default_factory=list)
    now: Tree | None = None
    """What is in the folder, if that is known."""
    repaired: set[int] = field(default_factory=set)
    """States of the folder that the next run was tried on."""

    def __str__(self) -> str:
        return f"{self.case.name}{' (replaces)' if self.replaces else ''}"

    @property
    def arguments(self) -> list[str]:
        return [*self.case.arguments, *(["--force"] if self.replaces and self.case.force else [])]

    def run(self, arguments: list[str], *fault: int, **more: Any) -> Result:
        words = [word.replace("FOLDER", str(self.folder)) for word in arguments]
        return self.server.run(self.folder, words, *fault, setup=self.case.setup, **more)

    def preload(self) -> None:
        """Have the server import once what the command imports."""
        names = self.server.scratch / "modules"
        self.run(self.case.arguments, modules=str(names))
        if names.exists():
            self.server.ask({"preload": names.read_text().split("\n")})
            names.unlink()

    def begin(self, template: Tree) -> None:
        """Run the command twice without a fault: it is to give the same again."""
        restore(self.folder, template)
        self.preload()
        if not self.replaces:
            restore(self.folder, template)
        elif self.case.old:
            restore(self.folder, template)
            done = self.run(self.case.old)
            assert done.status == 0, f"{self}: {done.told}"
        self.before = tree(self.folder)
        for _ in range(2):
            restore(self.folder, self.before)
            done = self.run(self.arguments)
            assert done.status == self.case.status, f"{self}: {done.status} {done.told}"
            found = tree(self.folder)
            same = not self.calls or self.case.same(self.after) == self.case.same(found)
            assert same, f"{self}: {changes(self.case.same(self.after), self.case.same(found))}"
            self.after, self.told, self.calls = tree(self.folder), done.out, done.calls
        assert not [name for name in self.after if is_temporary(name)], str(self)
        inputs = self.inputs(self.before), self.inputs(self.after)
        assert inputs[0] == inputs[1], f"{self}: {changes(*inputs)}"

    def inject(self, fault: str, when: int) -> tuple[list[str], bool]:
        """What is wrong after a fault, and whether it happened."""
        restore(self.folder, self.before, self.now)
        self.now = None
        mode, what = LASTING.get(fault, (ONCE, FAULTS.get(fault, 0)))
        little = fault == "little memory"
        limit = {"memory": when << 10} if little else {}
        result = self.run(self.arguments, what, 0 if little else when, mode, **limit)
        found = self.now = tree(self.folder)
        wrong = [*self.bad_end(fault, result), *self.bad_files(fault, result, found)]
        if not wrong:
            wrong = self.bad_rerun(found)
        call = result.calls[when] if when < len(result.calls) and not little else ""
        end = f"exit {result.status}: {result.told[-400:]!r}"
        return [f"{self}: {fault} at {when}, {call}: {one} [{end}]" for one in wrong], (
            result.hit or little
        )

    # What must be true

    def bad_end(self, fault: str, result: Result) -> Iterator[str]:
        """The exit code, and what is said."""
        if fault == "little memory" and self.aborted(result):
            return
        if "Traceback" in result.told or "Exception ignored" in result.told:
            yield "a traceback"
        if result.status == self.case.status:
            if result.out != self.told and not self.case.grows:  # whose table has times
                yield "stdout is not complete, though it says that all went well"
        elif fault in STOPPED:
            status, told = STOPPED[fault]
            if result.status != status or not result.told.endswith(told):
                yield "another end than the signal's"
        elif result.status != 2:
            yield "another exit code than 0 or 2"
        elif not result.told.splitlines()[-1:] or not result.told.splitlines()[-1].startswith(
            "volt: "
        ):
            yield "no message"
        if "defect of volt" in result.told:
            yield "it is called a defect"

    def aborted(self, result: Result) -> bool:
        """Libraries in Rust end the process where they get no memory, as `kill -9` would, and the
        C library does so where one of them starts a thread. Never while volt's own code works."""
        ends = {-signal.SIGABRT: RUST_ABORTED, 127: THREAD_ABORTED}
        told = ends.get(result.status)
        return self.case.in_library and told is not None and bool(told.search(result.told))

    def bad_files(self, fault: str, result: Result, found: Tree) -> Iterator[str]:
        killed = fault == "SIGKILL" or (fault == "little memory" and self.aborted(result))
        if self.inputs(found) != self.inputs(self.before):
            what = changes(self.inputs(self.before), self.inputs(found))
            yield f"what is not an output changed: {what}"
        old, new, now = map(self.outputs, (self.before, self.after, found))
        if result.status == self.case.status and now != new:
            yield f"the output is not there, though all went well: {changes(new, now)}"
        if self.case.grows or (killed and self.case.several):
            if any(
                now.get(name, "-") not in (old.get(name, "-"), new.get(name, "-"))
                for name in {*now, *old, *new}
            ):
                yield f"a file is not complete: {changes(old, now)}"
        elif now not in (old, new):
            yield f"neither the old output nor the new one: {changes(old, now)}"
        if not killed and any(is_temporary(name) for name in found):
            yield "temporary files stay"

    def bad_rerun(self, found: Tree) -> list[str]:
        """The next run repairs everything."""
        state = hash(frozenset(found.items()))
        if state in self.repaired or found == self.before:
            return []
        self.repaired.add(state)
        self.now = None
        again = self.run(self.case.rerun(self.replaces or bool(self.outputs(found))))
        if again.status != self.case.status:
            return [f"the next run fails: {again.told}"]
        now = self.now = tree(self.folder)
        if self.case.same(now) != self.case.same(self.after):
            return [f"the next run leaves something else: {changes(self.after, now)}"]
        return []

    def lasting(self, most: int) -> Iterator[tuple[str, int]]:
        """Faults that stay, and from which call on."""
        yield "no threads", 0
        yield "read-only disk", 0
        for left in (MEMORY[number] for number in spread(len(MEMORY), most)):
            yield "little memory", left
        restore(self.folder, self.before)
        self.now = None
        calls = self.run(self.arguments, 0, 0, FULL_DISK).calls
        for when in spread(len(calls), most):
            yield "full disk", when

    def surroundings(self) -> Iterator[str]:
        """Closed streams, a name with odd bytes, an output that is a link."""
        for name in ("stdin", "stdout", "stderr"):
            restore(self.folder, self.before)
            result = self.run(self.arguments, closed=[name])
            prints = name == "stdout" and self.told
            if result.status != (2 if prints else self.case.status) or "Traceback" in result.told:
                yield f"{self}: without {name}: exit {result.status}: {result.told[-300:]}"
                continue
            allowed = [self.outputs(self.after), *([self.outputs(self.before)] if prints else [])]
            if self.outputs(tree(self.folder)) not in allowed:
                yield f"{self}: without {name} the output is another"
        if not self.case.writes_ or not any(word.startswith("out") for word in self.arguments):
            return
        yield from self.bad_link()
        restore(
            self.folder, {n: data for n, data in self.before.items() if not self.case.writes(n)}
        )
        odd = [ODD + word if word.startswith("out") else word for word in self.case.arguments]
        result = self.run([os.fsencode(word).decode("latin-1") for word in odd], encoded=True)
        made = {
            n.removeprefix(ODD): data for n, data in tree(self.folder).items() if n.startswith(ODD)
        }
        made |= {n: data for n, data in tree(self.folder).items() if self.case.writes(n)}
        if result.status != self.case.status or self.outputs(made) != self.outputs(self.after):
            what = changes(self.outputs(self.after), self.outputs(made))
            yield f"{self}: with an odd name: exit {result.status}: {result.told[-300:]} {what}"
        if "\x1b" in result.told:
            yield f"{self}: an escape sequence is written"

    def bad_link(self) -> Iterator[str]:
        """The output is a link. It stays one, and the output is where it leads; or it is refused,
        and all is as it was."""
        name = next(word for word in self.arguments if word.startswith("out"))
        if name not in self.before or not self.replaces:
            return
        linked = {_moved(one, name, "real"): data for one, data in self.before.items()}
        linked[name] = "real"
        restore(self.folder, linked)
        result = self.run(self.arguments)
        found = tree(self.folder)
        made = {_moved(one, "real", name): data for one, data in found.items() if one != name}
        if found.get(name) != "real":
            yield f"{self}: a link as output is no link any more: {changes(linked, found)}"
        elif result.status == self.case.status:
            if self.outputs(made) != self.outputs(self.after):
                what = changes(self.outputs(self.after), self.outputs(made))
                yield f"{self}: the output is not where the link leads: {what}"
        elif result.status != 2 or not result.told.startswith("volt: ") or found != linked:
            yield f"{self}: a link as output: exit {result.status}: {result.told[-300:]}"

    def outputs(self, found: Tree) -> Tree:
        return self.case.same(
            {
                name: data for name, data in found.items()
                if self.case.writes(name) and not self.case.keeps(name) and not is_temporary(name)
            }
        )  # fmt: skip

    def inputs(self, found: Tree) -> Tree:
        return {
            name: data for name, data in found.items()
            if not self.case.writes(name) and not self.case.keeps(name) and not is_temporary(name)
        }  # fmt: skip


def is_temporary(name: str) -> bool:
    return TEMPORARY.fullmatch(name) is not None


def _moved(path: str, place: str, to: str) -> str:
    """A path at or below a place, after the place was renamed."""
    return to + path.removeprefix(place) if path == place or path.startswith(f"{place}/") else path


def changes(one: Tree, other: Tree) -> str:
    names = sorted(name for name in {*one, *other} if one.get(name, "-") != other.get(name, "-"))

    def size(data: object) -> str:
        return f"{len(data)} bytes" if isinstance(data, bytes) else str(data)

    return "; ".join(
        f"{name}: {size(one.get(name, 'absent'))} -> {size(other.get(name, 'absent'))}"
        for name in names[:6]
    )


# --------------------------------------------------------------------------------------------- all


class Pages(BaseHTTPRequestHandler):
    """The server of `volt data get`."""

    def do_GET(self) -> None:
        data = served(self.path)
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.send_header("ETag", '"one"')
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def workshop(folder: Path) -> Iterator[tuple[Callable[[], Server], Tree]]:
    """What the cases need: a way to start servers, and the folder that they begin with."""
    shim = compile_shim(folder)
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, args=(0.05,), daemon=True).start()
    os.environ["VOLT_FAULTS_PORT"] = str(pages.server_port)
    servers: list[Server] = []

    def start() -> Server:
        scratch = folder / f"scratch{len(servers)}"
        scratch.mkdir()
        servers.append(Server(shim, scratch))
        return servers[-1]

    try:
        first = start()
        template = folder / "template"
        template.mkdir()

        def run(arguments: list[str]) -> None:
            done = first.run(template, arguments)
            assert done.status == 0, f"{arguments}: {done.told}"

        prepare_folder(template, run)
        yield start, tree(template)
    finally:
        for server in servers:
            server.close()
        pages.shutdown()
        pages.server_close()


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


def spread(number: int, most: int) -> list[int]:
    """At most so many of the numbers below another, spread evenly."""
    most = min(number, most)
    return sorted({round(one * (number - 1) / max(most - 1, 1)) for one in range(most)})


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
