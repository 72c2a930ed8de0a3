"""Bars on a terminal: one line, and no message is drawn over."""

import os
import sys

import pytest

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")

SCRIPT = """
import signal, sys, time
import volt.cli as cli
from volt.cli.console import Bars
for one in ("SIGINT", "SIGTERM"):
    signal.signal(getattr(signal, one), cli._stop)
try:
    with Bars().stage(sys.argv[1], 222_800_000, sys.argv[2]) as report:
        report(99_400_000, "1,234,567,890 lines of text")
        time.sleep(0.3)
        signal.raise_signal(signal.SIGTERM)
except cli._Signal:
    print("kept in x.partial", file=sys.stderr)
"""


def drawn(columns, *arguments):
    """What a terminal is sent."""
    child, leader = pty.fork()
    if not child:
        os.environ |= {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "40"}
        os.execv(sys.executable, [sys.executable, "-c", SCRIPT, *arguments])
    found = b""
    while True:
        try:
            more = os.read(leader, 65536)
        except OSError:
            break
        if not more:
            break
        found += more
    os.waitpid(child, 0)
    return found.decode()


@pytest.mark.parametrize("unit", ["B", "lines"])
@pytest.mark.parametrize("columns", [80, 100])
def test_a_bar_is_one_line_and_gives_way_to_messages(columns, unit):
    shown = drawn(columns, "Reading a file with a name that is long", unit)
    assert "Reading" in shown
    assert "\x1b[1A" not in shown.partition("volt: terminated")[0]  # no second line of a bar
    assert "\r\x1b[2Kvolt: terminated\r\n" in shown
    last = shown.rpartition("\x1b[2K")[2]
    assert last.replace("\x1b[?25h", "") == "kept in x.partial\r\n"
