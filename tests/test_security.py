"""What SECURITY.md promises, read off the source: no code from data, no network but for data."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import volt

PACKAGE = Path(volt.__file__).parent
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "subprocess",
                     "pty", "ctypes", "code", "codeop", "runpy"}  # fmt: skip
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv"}
NETWORK = {"urllib", "http", "socket", "ssl", "ftplib", "requests", "httpx", "aiohttp", "smtplib",
           "socketserver", "xmlrpc"}  # fmt: skip


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Calls of functions by their names, such as `os.system`; methods of values are none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_all_of_the_source_is_read():
    names = [name for name, _ in trees()]
    assert {
        "counting/counts.py",
        "cli/__init__.py",
        "formats/__init__.py",
        "trial/training.py",
    } <= {*names}


def test_no_module_that_runs_what_it_reads():
    found = {(name, module) for name, tree in trees() for module in imported(tree)}
    # ctypes calls the C library: renameat2 with paths of our own, mallopt and malloc_trim with
    # numbers. subprocess starts this Python with a module of our own, so that a chat template
    # has only so much time and memory.
    assert {one for one in found if one[1] in FORBIDDEN_MODULES} == {
        ("base/drafts.py", "ctypes"), ("trial/training.py", "ctypes"),
        ("adapting/rendering.py", "subprocess"),
    }  # fmt: skip


def test_no_call_that_runs_text():
    found = [(name, call) for name, tree in trees() for call, _ in calls(tree)]
    assert [one for one in found if one[1] in FORBIDDEN_CALLS] == []


def test_arrays_and_tensors_are_read_as_data_only():
    for name, tree in trees():
        for call, node in calls(tree):
            options = {one.arg: ast.unparse(one.value) for one in node.keywords}
            if call in ("np.load", "numpy.load"):
                assert options["allow_pickle"] == "False", name
            if call == "torch.load":
                assert options["weights_only"] == "True", name


def test_only_data_knows_the_network():
    found = {name for name, tree in trees() if NETWORK & set(imported(tree))}
    assert found == {"data/download.py"}


@pytest.mark.parametrize(
    "command", ["count text -q", "learn text --sizes 270:300:10 -o out -q", "encode --help"]
)
def test_no_socket_is_opened(tmp_path, command):
    (tmp_path / "text").write_text("low lower slow\n" * 20)
    program = (
        "import os, sys\n"
        "def hook(event, details):\n"
        "    if event.startswith('socket.'): os._exit(9)\n"
        "sys.addaudithook(hook)\n"
        "from volt.cli import main\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()], cwd=tmp_path, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
