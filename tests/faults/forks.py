"""Runs of `volt` in forks of one process, each with a fault somewhere, and what they need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cases import prepare_folder, served
from trees import Tree, tree

HERE = Path(__file__).parent
ONCE, FULL_DISK, READ_ONLY, NO_THREADS = range(4)  # as in shim.c


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
