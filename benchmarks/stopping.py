"""How long commands go on after a signal: SIGTERM at random moments of every command.

    python benchmarks/stopping.py --text FILE... --megabytes 100 -o benchmarks/results/stopping.json

Each command runs once to its end, then `--runs` times with a signal at a moment drawn from its
running time, counted in processor time so that other work on the machine does not shift it. Two
delays are measured from the signal to the end of the process: wall time, and the processor time
that the process still used, which other programs do not lengthen. No file may remain in the folder
of the output.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import _machine, _save, _script

SEED = 1
VOLT = [str(_script("volt"))]
STARTED = 0.1
"""Seconds of processor time until the command has begun; before, a signal simply ends Python."""
TICK = os.sysconf("SC_CLK_TCK")


def commands(text: Path, model: Path, other: Path, long_word: Path) -> dict[str, list[str]]:
    """Name -> arguments; the output is added."""
    word = ["--max-word-length", "100000000"]
    return {
        "count": ["count", text, "--threads", "2"],
        "count, one thread": ["count", text, "--threads", "1"],
        "count in little memory": ["count", text, "--memory", "256M"],
        "candidates": ["candidates", text],
        "candidates of a long word": ["candidates", long_word, *word, "-n", "2000"],
        "learn": ["learn", text, "--threads", "2"],
        "learn, one thread": ["learn", text, "--threads", "1"],
        "learn, transport": ["learn", text, "--select", "transport", "--size", "16000"],
        "learn, unigram": ["learn", text, "--candidates", "unigram:20000", "--size", "8000"],
        "learn, wordpiece": ["learn", text, "--candidates", "wordpiece:9000", "--size", "8000"],
        "search": ["search", text],
        "curve": ["curve", text],
        "encode": ["encode", text, "-m", model, "--threads", "2"],
        "encode, one thread": ["encode", text, "-m", model, "--threads", "1"],
        "encode to npy": ["encode", text, "-m", model, "--as", "npy"],
        "encode to bin": ["encode", text, "-m", model, "--as", "bin"],
        "encode a long word": ["encode", long_word, "-m", model],
        "decode": ["decode", text.with_suffix(".ids"), "-m", model, "--as", "ids"],
        "compare": ["compare", model, other, "--on", text],
        "verify": ["verify", model, other, "--on", text],
        "refit": ["refit", other, text, "--size", "4000"],
        "extend": ["extend", other, text, "--add", "500"],
        "report": ["report", model],
    }  # fmt: skip


def used(pid: int) -> float:
    """Processor time of a process so far, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def run(arguments: Sequence[str], after: float | None, number: int) -> dict[str, Any]:
    """Run a command, and stop it when it has used so much processor time. What it used in all, and
    if it was stopped, the delays."""
    with tempfile.TemporaryDirectory() as folder:
        output = [] if arguments[0] in ("compare", "verify", "search") else ["-o", f"{folder}/out"]
        process = subprocess.Popen(
            [*VOLT, *map(str, arguments), *output], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        before = sent = 0.0
        while after is not None and sent == 0:
            try:
                before = used(process.pid)
            except (OSError, IndexError):
                break
            if before >= after:
                sent = time.perf_counter()
                process.send_signal(number)
            else:
                time.sleep(0.005)
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
        assert process.stderr is not None
        said = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.perf_counter()
        code = process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        left = [one for one in Path(folder).iterdir() if one.suffix != ".spill"]  # to go on with
    if code != 128 + number:  # it was faster than the signal, or was not to be stopped
        if after is None and code > 1:
            raise SystemExit(f"{' '.join(map(str, arguments))}: exit code {code}: {said}")
        return {"cpu": cpu}
    if left:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {left} remained")
    return {"cpu": cpu, "wall_delay": ended - sent, "cpu_delay": cpu - before, "at": before}


def prepare(paths: Sequence[Path], megabytes: float, folder: Path) -> tuple[Path, ...]:
    """The text, two models, and a word of a twentieth of the text's size."""
    text, long_word = folder / "text.txt", folder / "word.txt"
    size = int(megabytes * 1e6)
    with text.open("wb") as stream:
        for path in paths:
            with path.open("rb") as source:
                stream.writelines(source.readlines(size // len(paths)))
    letters = random.Random(SEED).choices("abcdefgh", k=size // 20)
    long_word.write_text("".join(letters) + "\n")
    for name, count in (("model", 8000), ("other", 6000)):
        subprocess.run(
            [
                *VOLT,
                "learn",
                text,
                "-o",
                folder / name,
                "--size",
                str(count),
                "--sample",
                "5M",
                "-q",
            ],
            check=True,
        )
    with (folder / "text.ids").open("wb") as stream:
        subprocess.run(
            [*VOLT, "encode", text, "-m", folder / "model", "--as", "ids"],
            stdout=stream,
            check=True,
        )
    return text, folder / "model", folder / "other", long_word


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", nargs="+", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    draw = random.Random(SEED)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = prepare(given.text, given.megabytes, Path(folder))
        for name, arguments in commands(*files).items():
            if given.only and name not in given.only:
                continue
            whole = run(arguments, None, signal.SIGTERM)["cpu"]
            stops = []
            for _ in range(given.runs):
                moment = draw.uniform(STARTED, max(STARTED, whole))
                one = run(arguments, moment, draw.choice([signal.SIGTERM, signal.SIGINT]))
                stops += [one] if "at" in one else []
            worst = max(stops, key=lambda one: one["cpu_delay"], default=None)
            found[name] = {
                "cpu": whole,
                "stopped": len(stops),
                "worst_cpu_delay": max((one["cpu_delay"] for one in stops), default=None),
                "worst_wall_delay": max((one["wall_delay"] for one in stops), default=None),
                "worst_at": worst and worst["at"],
            }
            print(name, found[name], flush=True)
    if given.output:
        _save(
            {"machine": _machine(), "megabytes": given.megabytes, "commands": found}, given.output
        )


if __name__ == "__main__":
    main()
