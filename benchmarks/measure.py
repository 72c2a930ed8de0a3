"""Run contenders side by side: each in a process of its own, in turn, on the same file.

A stage script (`count.py`, `candidates.py`) names its contenders and the ratios it has to reach
and calls `main`. What is measured for every run of every contender:

- wall time of the whole process: interpreter start, imports, reading, work, output;
- inner time: the work alone, after the imports (only for contenders called through Python);
- CPU time, user and system, of all its threads: where wall time is far above it on a contender
  that should keep its cores busy, the machine was busy with something else;
- peak memory: `ru_maxrss` of the process, as the kernel hands it over when the process ends.

Contenders take turns (A B C A B C ...), so that a busy machine disturbs all of them alike, and
the median of the runs is what counts. The text is read once before the first run, so that all
contenders find it in the page cache. A megabyte is 1,000,000 bytes.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from page import section

MEGABYTE = 1_000_000
SMALLEST_TEXT = 100 * MEGABYTE  # a requirement is judged on real text of at least this size
REFERENCE = "volt"  # the contender all ratios are against
OURS = "volt-vocab"  # the distribution of the contenders that are not peers

LIMIT = 1800.0  # seconds for a single run
GATE_BYTES = 200_000  # of the text, for the gates

Facts = Mapping[str, int]
Work = Callable[[str, str, int], tuple[float, Facts]]


@dataclass(frozen=True)
class Contender:
    """One way to do the work of a stage.

    `work` is either the arguments of an installed console script, in which `{text}`, `{output}`
    and `{threads}` are filled in, or a function of these three that imports what it needs, does
    the work and returns its inner seconds and some facts about the result. Such a function is
    sent to a fresh interpreter as source text, so it may use nothing from its module.
    """

    name: str
    distribution: str | None  # its name on PyPI; None for the standard library
    includes: str  # what the wall time covers, for the reader of the results
    work: tuple[str, ...] | Work
    read: Callable[[Path], Facts] | None = None  # facts from the output file, outside the clock
    once: bool = False  # one that takes minutes, and is far behind, is not run again

    def version(self) -> str | None:
        """The installed version, or None if this contender can't run here."""
        if self.distribution is None:
            return platform.python_version()
        try:
            version = importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None
        if isinstance(self.work, tuple) and not _script(self.work[0]).exists():
            return None
        return version

    def command(self, text: Path, output: Path, threads: int, report: Path) -> list[str]:
        if isinstance(self.work, tuple):
            fill = {"text": text, "output": output, "threads": threads}
            arguments = [argument.format(**fill) for argument in self.work[1:]]
            return [sys.executable, str(_script(self.work[0])), *arguments]
        # `from __future__` keeps annotations unevaluated; json is imported after the work.
        program = (
            f"from __future__ import annotations\n{inspect.getsource(self.work)}\n"
            f"import sys\n"
            f"report = {self.work.__name__}(sys.argv[1], sys.argv[2], int(sys.argv[3]))\n"
            f"import json\n"
            f"with open(sys.argv[4], 'w') as file:\n"
            f"    json.dump(report, file)\n"
        )
        return [sys.executable, "-c", program, str(text), str(output), str(threads), str(report)]


@dataclass(frozen=True)
class Requirement:
    """`measure` of the best of `peers`, divided by that of volt (of the contender `of`, which does
    the same work), is to be at least `at_least`."""

    peers: tuple[str, ...]
    measure: str  # "wall_seconds", "cpu_seconds" or "peak_megabytes"
    at_least: float
    smallest_text: int = SMALLEST_TEXT
    of: str = REFERENCE


@dataclass(frozen=True)
class Gate:
    """What must be so before anything is timed: a fast wrong answer is worth nothing. `check` gets
    the first lines of the text as a file and returns what is wrong, or nothing."""

    name: str
    check: Callable[[Path], str]


@dataclass(frozen=True)
class Stage:
    name: str
    title: str
    contenders: tuple[Contender, ...]
    requirements: tuple[Requirement, ...]
    gates: tuple[Gate, ...] = ()


@dataclass
class Measurements:
    """What the runs of one contender gave so far."""

    wall_seconds: list[float] = field(default_factory=list)
    inner_seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    peak_megabytes: list[float] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)
    error: str | None = None


def main(stage: Stage) -> int:
    """1. Prepare the text. 2. Ask the gates. 3. Run all contenders in turn. 4. Judge. 5. Print and
    save."""
    arguments = _parse(stage)
    contenders = [c for c in stage.contenders if c.name in (arguments.only or [c.name])]
    with tempfile.TemporaryDirectory(prefix="volt-bench-") as name:
        folder = Path(name)
        text = _prepare(arguments.text, arguments.megabytes, folder)
        facts = {"megabytes": text.stat().st_size / MEGABYTE, "sha256": _sha256(text)}
        _write_bytecode()
        passed = _ask_gates(stage, text, folder)
        measured = {c.name: Measurements() for c in contenders}
        for number in range(1, arguments.runs + 1):
            for contender in contenders:
                if contender.version() is None or measured[contender.name].error:
                    continue
                if number > (1 if contender.once else _runs_of(contender, arguments)):
                    continue
                _run(contender, text, arguments.threads, measured[contender.name], arguments.limit)
                print(
                    f"run {number}/{arguments.runs} {contender.name}: "
                    f"{_last(measured[contender.name])}",
                    file=sys.stderr,
                )
    rows = [_row(c, measured) for c in contenders]
    result = {
        "stage": stage.name,
        "title": stage.title,
        "command": _shown_command(stage, arguments),
        "machine": _machine(),
        "text": facts,
        "runs": arguments.runs,
        "threads": arguments.threads,
        "gates": passed,
        "contenders": rows,
        "requirements": [_judge(r, rows, facts["megabytes"]) for r in stage.requirements],
    }
    print(section(result))
    if arguments.output:
        _save(result, arguments.output)
    return 0


def _ask_gates(stage: Stage, text: Path, folder: Path) -> list[str]:
    """The names of the gates. They run in a process of their own, for the memory floor explained
    in `_run`."""
    if not stage.gates:
        return []
    sample = folder / "sample"
    with text.open("rb") as file:
        sample.write_bytes(file.read(GATE_BYTES) + file.readline())
    child = os.fork()
    if child == 0:
        for gate in stage.gates:
            if wrong := gate.check(sample):
                print(f"gate: {gate.name}: {wrong}", file=sys.stderr)
                os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit(f"{stage.name}: a gate did not pass, so nothing was measured")
    return [gate.name for gate in stage.gates]


def _runs_of(contender: Contender, arguments: argparse.Namespace) -> int:
    own = contender.distribution == OURS
    return int(arguments.runs if own else min(arguments.runs, arguments.peer_runs))


def _write_bytecode() -> None:
    """Of volt, as an installer does for all of its packages: volt may be installed in place, and an
    environment with PYTHONDONTWRITEBYTECODE would have it compiled in every run (0.3 s)."""
    found = importlib.util.find_spec("volt")
    for folder in (found.submodule_search_locations or ()) if found else ():
        compileall.compile_dir(folder, quiet=2)


def _run(
    contender: Contender, text: Path, threads: int, into: Measurements, limit: float = LIMIT
) -> None:
    """Run once. The folder of the run is its working directory, and goes when it ends. One that
    takes longer than the limit is stopped, and counts as not measured."""
    with tempfile.TemporaryDirectory(prefix="volt-bench-") as name:
        folder = Path(name)
        output, report, errors = folder / "output", folder / "report.json", folder / "stderr"
        command = contender.command(text.resolve(), output, threads, report)
        with errors.open("wb") as stderr:
            started = time.perf_counter()
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=os.environ | _thread_environment(threads),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
            timer = threading.Timer(limit, process.kill)
            timer.start()
            # Not process.wait(): only wait4 tells the peak memory of this one process. Linux
            # counts the few MB of the process that started it as a floor, so this one stays small.
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if seconds >= limit:
            into.error = f"stopped after {limit:g} s"
            return
        if process.returncode != 0:
            lines = errors.read_text(errors="replace").strip().splitlines() or ["no message"]
            into.error = f"exit {process.returncode}: {lines[-1][:200]}"
            return
        into.wall_seconds.append(seconds)
        into.cpu_seconds.append(usage.ru_utime + usage.ru_stime)
        unit = 1 if sys.platform == "darwin" else 1024
        into.peak_megabytes.append(usage.ru_maxrss * unit / MEGABYTE)
        if report.exists():
            inner, facts = json.loads(report.read_text())
            into.inner_seconds.append(inner)
            into.facts.update(facts)
        if contender.read is not None:
            into.facts.update(contender.read(output))


def _thread_environment(threads: int) -> dict[str, str]:
    """How the peers without a thread argument are told."""
    return {
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true",
        "POLARS_MAX_THREADS": str(threads),
    }


def _row(contender: Contender, measured: Mapping[str, Measurements]) -> dict[str, Any]:
    own, reference = measured[contender.name], measured.get(REFERENCE, Measurements())
    version = contender.version()
    return {
        "name": contender.name,
        "version": version,
        "status": "not installed" if version is None else own.error or "measured",
        "includes": contender.includes,
        "wall_seconds": own.wall_seconds,
        "inner_seconds": own.inner_seconds,
        "cpu_seconds": own.cpu_seconds,
        "peak_megabytes": own.peak_megabytes,
        "median_wall_seconds": _median(own.wall_seconds),
        "median_cpu_seconds": _median(own.cpu_seconds),
        "median_inner_seconds": _median(own.inner_seconds),
        "median_peak_megabytes": _median(own.peak_megabytes),
        "wall_ratio": _ratio(own.wall_seconds, reference.wall_seconds),
        "cpu_ratio": _ratio(own.cpu_seconds, reference.cpu_seconds),
        "memory_ratio": _ratio(own.peak_megabytes, reference.peak_megabytes),
        "facts": own.facts,
    }


def _judge(
    requirement: Requirement, rows: Sequence[Mapping[str, Any]], megabytes: float
) -> dict[str, Any]:
    """The ratio against the best peer. Passed is None, with the reason, where nobody can tell."""
    taken = {row["name"]: row[f"median_{requirement.measure}"] for row in rows}
    # Of several peers those that can be installed and end in time are compared with.
    peers = [name for name in requirement.peers if taken.get(name)]
    own = taken.get(requirement.of)
    ratios = [taken[name] / own for name in peers] if own else []
    if not ratios:
        missing = [name for name in (requirement.of, *requirement.peers) if not taken.get(name)]
        ratio, reason = None, f"{', '.join(missing)} not measured"
    elif megabytes * MEGABYTE < requirement.smallest_text:
        ratio, reason = min(ratios), f"text below {requirement.smallest_text // MEGABYTE} MB"
    else:
        ratio, reason = min(ratios), None
    return {
        "of": requirement.of,
        "peers": peers or list(requirement.peers),
        "measure": requirement.measure,
        "at_least": requirement.at_least,
        "ratio": ratio,
        "passed": None if ratio is None or reason else ratio >= requirement.at_least,
        "reason": reason,
    }


def _prepare(paths: Sequence[Path], megabytes: float | None, folder: Path) -> Path:
    """One file for all contenders: the texts one after the other, each cut to its share.

    The cut is at a line end. Copied piece by piece, for the memory floor explained in `_run`.
    """
    if len(paths) == 1 and megabytes is None:
        return paths[0]
    sizes = [path.stat().st_size for path in paths]
    share = 1.0 if megabytes is None else min(1.0, megabytes * MEGABYTE / sum(sizes))
    text = folder / "text"
    with text.open("wb") as target:
        for path, size in zip(paths, sizes, strict=True):
            with path.open("rb") as source:
                left, piece = int(size * share), b""
                while left > 0 and (piece := source.read(min(left, MEGABYTE))):
                    target.write(piece)
                    left -= len(piece)
                if not piece.endswith(b"\n"):
                    target.write(source.readline().removesuffix(b"\n") + b"\n")
    return text


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(MEGABYTE):
            digest.update(piece)
    return digest.hexdigest()


def _machine() -> dict[str, Any]:
    """What a reader needs to judge the figures, and nothing that tells whose machine it is."""
    cpu = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "cpu": cpu,
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _parse(stage: Stage) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=stage.title)
    parser.add_argument("--text", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--megabytes", type=float, help="use only the first N MB of the text")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-runs", type=int, default=1 << 30, help="at most, of each peer")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a single run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--only",
        action="append",
        choices=[contender.name for contender in stage.contenders],
        help="measure only this contender (may be repeated)",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write JSON there")
    arguments = parser.parse_args()
    for path in arguments.text:
        if not path.is_file():
            parser.error(f"{path}: no such file; --text takes plain text files")
    if arguments.runs < 1 or arguments.threads < 1:
        parser.error("--runs and --threads are at least 1")
    return arguments


def _shown_command(stage: Stage, arguments: argparse.Namespace) -> str:
    """The command to repeat this run, with file names but no folders of this machine."""
    words = ["python", f"benchmarks/{stage.name}.py", "--text"]
    words += [path.name for path in arguments.text]
    if arguments.megabytes is not None:
        words += ["--megabytes", f"{arguments.megabytes:g}"]
    words += ["--runs", str(arguments.runs)]
    if arguments.peer_runs < arguments.runs:
        words += ["--peer-runs", str(arguments.peer_runs)]
    words += ["--threads", str(arguments.threads)]
    for name in arguments.only or []:
        words += ["--only", name]
    return " ".join([*words, "-o", f"benchmarks/results/{stage.name}.json"])


def _save(result: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def _script(name: str) -> Path:
    return Path(sysconfig.get_path("scripts")) / name


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _ratio(own: Sequence[float], reference: Sequence[float]) -> float | None:
    if not own or not reference:
        return None
    return statistics.median(own) / statistics.median(reference)


def _last(measured: Measurements) -> str:
    if measured.error:
        return f"failed, {measured.error}"
    return (
        f"{measured.wall_seconds[-1]:.2f} s, {measured.cpu_seconds[-1]:.2f} s of CPU, "
        f"{measured.peak_megabytes[-1]:.0f} MB"
    )
