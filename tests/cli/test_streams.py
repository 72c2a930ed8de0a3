"""Streams that are closed, full, or can't show a character; names that are not UTF-8; defects."""

import csv
import io
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import volt
from volt.base.shown import csv_cell, json_text, latex_cell, shown, shown_line
from volt.cli.app import COMMANDS

VOLT = Path(sys.executable).with_name("volt")
TEXT = "low lower lowest new newer newest wide wider widest\n" * 40
SMALL = ["--sizes", "262:280:2", "--candidates", "bpe:50", "--no-report"]
ODD = os.fsdecode(b"w\xff\x1b[31m.txt")
"""A name that is not UTF-8 and turns a terminal red."""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    (folder / "text").write_text(TEXT)
    (folder / ODD).write_text(TEXT)
    volt.learn(folder / "text", sizes="262:280:2", candidates="bpe:50").save(folder / "m")
    return folder


def run(work, *words, shell="", **options):
    """Run volt; `shell` is what the shell does with its streams."""
    options = {"capture_output": True, "timeout": 60, **options}
    line = 'exec "$0" "$@" ' + shell
    return subprocess.run(["sh", "-c", line, VOLT, *words], cwd=work, **options)


PRINTING = {
    "info": ["info", "m"],
    "info --json": ["info", "m", "--json"],
    "count": ["count", "text"],
    "candidates": ["candidates", "text", "-n", "9"],
    "curve": ["curve", "text", "-n", "9", "--sizes", "265"],
    "encode": ["encode", "-m", "m", "text"],
    "compare": ["compare", "m", "--on", "text"],
    "verify": ["verify", "m", "m", "--on", "text"],
    "search": ["search", "text", "--sizes", "262:280:9"],
    "data list": ["data", "list"],
    "help": ["--help"],
    "version": ["--version"],
}
"""Commands that print data."""
QUICK = ("info", "encode", "help")


@pytest.mark.parametrize("name", PRINTING if os.environ.get("VOLT_FAULTS") == "all" else QUICK)
def test_a_command_that_prints_needs_stdout(work, name):
    for shell, why in ((">&-", "it is closed"), ("> /dev/full", "No space left on device")):
        done = run(work, *PRINTING[name], shell=shell)
        assert (done.returncode, done.stderr.decode().splitlines()[-1]) == (
            2, f"volt: cannot write stdout: {why}",
        )  # fmt: skip
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["2>&-", "2> /dev/full", "<&- 2>&- >&-"])
def test_without_stderr_the_work_is_done(work, shell):
    done = run(work, "learn", "text", *SMALL, "-o", "out", "--force", shell=shell)
    assert done.returncode == 0
    assert (work / "out" / "volt.json").exists()
    # No file got the number of a closed stream, so that a message was written into it.
    assert json.loads((work / "out" / "choices.json").read_text(encoding="utf-8"))


def test_a_command_that_prints_nothing_does_not_need_stdout(work):
    assert run(work, "count", "text", "-o", "counts", "--force", shell=">&-").returncode == 0


def test_stdin_that_is_closed_is_not_an_empty_text(work):
    done = run(work, "count", "-", shell="<&-")
    assert (done.returncode, done.stderr) == (
        2,
        b"volt: stdin is closed: there is nothing to read\n",
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_lacks_a_character_gets_an_escape(work, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    environment.pop("HOME", None)
    done = run(work, "learn", "text", "-o", "out", "--force", env=environment)
    assert done.returncode == 0, done.stderr
    done = run(work, "compare", "m", "--on", "text", "--json", env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode(encoding))["rows"]
    shutil.copytree(work / "m", work / "Rényi", dirs_exist_ok=True)
    done = run(work, "compare", "Rényi", "--on", "text", env=environment)
    assert done.returncode == 0
    name = {"ascii": "R\\xe9nyi"}.get(encoding, "Rényi")
    assert name in done.stdout.decode(encoding)


def test_a_name_that_is_not_utf_8_works_everywhere(work):
    out = os.fsdecode(b"out\xfe")
    done = run(work, "learn", ODD, *SMALL[:-1], "--json", "-o", out, "--force")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"][0].endswith("volt.json")
    for words in (
        ("info", out), ("report", out), ("encode", "-m", out, ODD, "-o", os.fsdecode(b"t\xfd")),
        ("decode", "-m", out, os.fsdecode(b"t\xfd"), "-o", "back", "--force"),
        ("compare", out, "m", "--on", ODD, "-o", "c.csv", "--force"),
        ("compare", out, "--on", ODD, "-o", "c.html", "--force"),
        ("export", "-m", out, "--to", "hf", "-o", os.fsdecode(b"hf\xfc")),
        ("plot", out, "-o", os.fsdecode(b"p\xfb.svg")),
    ):  # fmt: skip
        done = run(work, *words)
        assert done.returncode == 0, (words, done.stderr)
        assert b"\x1b" not in done.stdout + done.stderr
    assert (work / "back").read_text() == TEXT
    assert "out\\xfe" in (work / "c.csv").read_text(encoding="utf-8")


def test_no_raw_escape_sequence_reaches_a_terminal(work):
    """The text, a special token and the names of folders try to control the terminal."""
    red = "\x1b[31mred\x9b"
    (work / "red").write_text(f"{red} low\n" * 20, encoding="utf-8")
    done = run(work, "learn", "red", *SMALL, "-o", "r\x1b[5m", "--force", "--special", "<\x1b[1m>")
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stderr
    for words in (["info", "r\x1b[5m"], ["encode", "-q", "-m", "r\x1b[5m", "red"],
                  ["info", "n\x1b[5m"],
                  ["verify", "r\x1b[5m", "m", "--on", "red"]):  # fmt: skip
        ours, theirs = pty.openpty()
        with subprocess.Popen([VOLT, *words], cwd=work, stdout=theirs, stderr=theirs):
            os.close(theirs)
            seen = b""
            try:
                while block := os.read(ours, 1 << 16):
                    seen += block
            except OSError:  # the other side is closed
                pass
        os.close(ours)
        assert seen
        assert b"\x1b[31mr" not in seen and b"\x1b[5m" not in seen and b"\x1b[1m>" not in seen, (
            words
        )
        assert "\x9b".encode() not in seen


DEFECT = """
import sys
import volt.counting.inputs as inputs
from volt.cli import main
def broken(*_, **__): raise ZeroDivisionError("nobody thought of this\\nsecond line")
inputs.find_inputs = broken
import volt.counting.count
volt.counting.count.find_inputs = broken
main()
"""


@pytest.mark.parametrize("debug", ["", "0", "1"])
def test_a_defect_is_one_line_with_a_hint_how_to_report_it(work, debug):
    environment = {**os.environ, "VOLT_DEBUG": debug}
    words = [sys.executable, "-c", DEFECT, "count", "text", "-o", "never"]
    done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert done.returncode == 2
    assert lines[-1].startswith("volt: this is a defect of volt (ZeroDivisionError: nobody thought")
    assert "report it" in lines[-1] and "VOLT_DEBUG=1" in lines[-1]
    assert ("Traceback" in done.stderr) == (debug == "1")
    assert debug == "1" or len(lines) == 1
    assert not (work / "never").exists()


def test_a_panic_of_a_library_is_one_line(work):
    """Rust's `PanicException` is not an `Exception`."""
    panic = "class PanicException(BaseException): pass\n"
    program = panic + DEFECT.replace("ZeroDivisionError", "PanicException")
    words = [sys.executable, "-c", program, "count", "text", "-o", "never"]
    done = subprocess.run(words, cwd=work, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "(PanicException: nobody thought of this)" in done.stderr
    words[2] = program.replace("nobody thought of this", "PyObject pointer is null")
    done = subprocess.run(words, cwd=work, capture_output=True, text=True)
    assert done.stderr.startswith("volt: out of memory; ")


@pytest.mark.parametrize("debug", ["", "1"])
def test_what_a_library_ignores_is_not_shown(work, debug):
    program = (
        "class Callback:\n    def __del__(self): raise MemoryError\n"
        "import volt.cli\nrun = volt.cli._run\n"
        "def ignoring(words):\n    Callback()\n    run(words)\n"
        "volt.cli._run = ignoring\nvolt.cli.main()"
    )
    words = [sys.executable, "-c", program, "count", "text", "-q", "-o", "counted", "--force"]
    environment = {**os.environ, "VOLT_DEBUG": debug}
    done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True)
    assert (done.returncode, "MemoryError" in done.stderr) == (0, debug == "1")


def test_every_command_takes_the_same_way_in():
    """So that all of this holds for each of them: none prints before or beside `main`."""
    source = Path(volt.__file__).parent / "cli"
    for name in COMMANDS:
        path = source / f"{name}.py"
        text = (path if path.exists() else source / f"{name}_.py").read_text(encoding="utf-8")
        assert "sys.stdout" not in text and "sys.stderr" not in text, name


# ---------------------------------------------------------------------------------- destinations


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain ▁ 日本 é", "plain ▁ 日本 é"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\udcff \ud800", "\\xff \\ud800"),
        ("tab\tline\n", "tab\tline\n"),
    ],
)
def test_text_for_a_terminal(text, seen):
    assert shown(text) == seen
    assert "\n" not in shown_line(text) and "\t" not in shown_line(text)
    json_text(text).encode()
    assert not set(json_text(text)) & set("\x1b\x9b\u202e")
    back = json.loads(json_text(text))
    assert back == text or "\ud800" in text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\r=1", '=HYPERLINK("x")'])
def test_a_cell_starts_no_formula(text):
    out = io.StringIO()
    csv.writer(out).writerow([csv_cell(text), csv_cell(-1.5)])
    (row,) = csv.reader(io.StringIO(out.getvalue()))
    assert not row[0].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert row[1] == "-1.5"


def test_latex_gets_no_command_from_a_name():
    assert latex_cell("a_b\\input{x}\x1b") == (r"a\_b\textbackslash{}input\{x\}\textbackslash{}x1b")


def test_progress_in_a_pipe_is_a_plain_line_every_ten_seconds(capsys):
    from volt.cli.console import Steady

    now = 0.0
    with Steady(lambda: now).stage("Reading", 40_000_000, "B") as report:
        report(1_000_000, "too early")
        now = 10.0
        report(20_000_000, "5 documents")
        now = 12.0
        report(21_000_000)
        now = 20.0
        report(40_000_000)
    with Steady(lambda: now).stage("Merging", None, "merges") as report:
        now = 31.0
        report(22_000)
    with Steady(lambda: now).stage("Quality", 3, "part") as report:
        now = 41.0
        report(1)
        now = 61.0
        report(3)  # a stage that is done says nothing
    assert capsys.readouterr().err.splitlines() == [
        "Reading: 20.0 MB of 40.0 MB, 2.0 MB/s, 10 s left, 5 documents",
        "Merging: 22,000 merges, 2,000 merges/s",
        "Quality: part 1 of 3 done, 20 s left",
    ]
