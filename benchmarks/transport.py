"""Benchmark of the transport stage: sparse and exact in volt, dense in POT.

    python benchmarks/transport.py --text FILE... -o benchmarks/results/transport.json

The problem is that of `volt learn` at 10,000 tokens: which character of the text goes to which
token. It is made once, before the clock; every contender starts from the same file: token lengths,
frequencies, and how often which character stands in which token. The work is what follows until
the plan is there: volt builds the sparse problem and solves it, POT gets the dense cost matrix and
`ot.sinkhorn`, its fastest solver here (nothing under- or overflows: the kernel is 1 / length).

The problem is balanced (epsilon = 0), since POT has no range constraint. The tolerance is volt's:
every marginal within 1e-9 of itself. POT stops by the norm of all marginal errors, so it is run
with the largest power of ten for `stopThr` that gets there; what its default of 1e-9 takes, and how
far off that leaves the rarest token, stands beside it (`largest error`, in units of 1e-12).

Time and memory of the work alone are what is required; most of a process of a few seconds is
Python and its imports. Memory is the peak of what the work allocates (`tracemalloc`, which NumPy
reports to, and the index that volt's native part makes), in a second run, after the clock.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import measure
from measure import Contender, Measurements, Stage
from page import section

FASTER, SMALLER = 50, 20


def make_problem(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import numpy as np

    import volt
    from volt.proposing.base import token_characters, token_set

    found = volt.candidates([text], merges=100_000, threads=threads)
    inside = token_set(found, found.ranking("frequency")[:10_000])
    frequency = found.push_down(inside)
    tokens = np.flatnonzero(frequency)
    counts, _ = token_characters(found, tokens)
    with open(output, "wb") as file:  # noqa: PTH123
        np.savez(
            file, lengths=found.lengths[tokens], frequency=frequency[tokens],
            data=counts.data, indices=counts.indices, indptr=counts.indptr, shape=counts.shape,
        )  # fmt: skip
    return 0.0, {}


def volt_sparse(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    import tracemalloc

    import numpy as np
    from scipy.sparse import csr_array

    from volt._core import TransportSupport
    from volt.choosing.transport_problem import TransportProblem
    from volt.choosing.transport_solver import solve

    data = np.load(text)
    counts = csr_array((data["data"], data["indices"], data["indptr"]), shape=data["shape"])
    lengths, frequency = data["lengths"], data["frequency"]

    def work():
        problem = TransportProblem.from_tokens(lengths, frequency, counts, epsilon=0.0)
        return solve(problem, tolerance=1e-9)

    started = time.perf_counter()
    solution = work()
    seconds = time.perf_counter() - started
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    costs = solution.problem.costs  # tracemalloc does not see what the native part keeps
    peak += TransportSupport(costs.indptr, costs.indices, costs.shape[1]).nbytes
    error = max(solution.token_error, solution.character_error)
    return seconds, {
        "tokens": counts.shape[0],
        "characters": counts.shape[1],
        "iterations": solution.iterations,
        "KB of the work": round(peak / 1000),
        "e-12 largest error": round(error * 1e12),
    }


def volt_relaxed(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    import tracemalloc

    import numpy as np
    from scipy.sparse import csr_array

    from volt._core import TransportSupport
    from volt.choosing.transport_problem import TransportProblem
    from volt.choosing.transport_solver import solve

    data = np.load(text)
    counts = csr_array((data["data"], data["indices"], data["indptr"]), shape=data["shape"])
    lengths, frequency = data["lengths"], data["frequency"]

    def work():
        return solve(TransportProblem.from_tokens(lengths, frequency, counts))

    started = time.perf_counter()
    solution = work()
    seconds = time.perf_counter() - started
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    costs = solution.problem.costs  # tracemalloc does not see what the native part keeps
    peak += TransportSupport(costs.indptr, costs.indices, costs.shape[1]).nbytes
    error = max(solution.token_error, solution.character_error)
    return seconds, {
        "iterations": solution.iterations,
        "KB of the work": round(peak / 1000),
        "e-12 largest error": round(error * 1e12),
    }


def pot_dense(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    import tracemalloc

    import numpy as np
    import ot
    from scipy.sparse import csr_array

    data = np.load(text)
    counts = csr_array((data["data"], data["indices"], data["indptr"]), shape=data["shape"])
    lengths, frequency = data["lengths"].astype(float), data["frequency"].astype(float)

    def work(stop):
        asked = lengths * frequency
        tokens = asked / asked.sum()
        characters = counts.T @ frequency
        characters /= characters.sum()
        # Characters in rows: with tokens in rows an iteration took 1.7 times as long.
        costs = np.full((counts.shape[1], counts.shape[0]), 1e4)  # exp(-1e4) is 0
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        costs[counts.indices, rows] = np.log(lengths)[rows]
        plan, log = ot.sinkhorn(
            characters, tokens, costs, 1.0, method="sinkhorn", stopThr=stop, numItermax=100_000,
            log=True, warn=True,
        )  # fmt: skip
        return plan, log, characters, tokens

    def error_of(plan, log, characters, tokens):
        return max(
            np.abs(plan.sum(axis=0) / tokens - 1).max(),
            np.abs(plan.sum(axis=1) / characters - 1).max(),
        )

    facts = {}
    for stop in (1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14):
        started = time.perf_counter()
        solved = work(stop)
        seconds = time.perf_counter() - started
        error = float(error_of(*solved))
        if stop == 1e-9:
            facts["ms at stopThr 1e-9, its default"] = round(1000 * seconds)
            facts["e-12 largest error there"] = round(error * 1e12)
        if error <= 1e-9:
            break
    else:
        raise RuntimeError("POT does not reach 1e-9 of every marginal")
    facts["iterations"] = int(solved[1]["niter"])
    facts["e-12 largest error"] = round(error * 1e12)
    del solved
    tracemalloc.start()
    work(1e-9)  # as much memory as any other
    facts["KB of the work"] = round(tracemalloc.get_traced_memory()[1] / 1000)
    return seconds, facts


STAGE = Stage(
    name="transport",
    title="Transport at 10,000 tokens",
    contenders=(
        Contender(
            name="volt",
            distribution="volt-vocab",
            includes="the sparse problem, solved to 1e-9 of every marginal, epsilon 0",
            work=volt_sparse,
        ),
        Contender(
            name="volt-relaxed",
            distribution="volt-vocab",
            includes="the same with volt's default epsilon, which POT can't do",
            work=volt_relaxed,
        ),
        Contender(
            name="pot",
            distribution="pot",
            includes="`ot.sinkhorn` on the dense cost matrix, epsilon 0, with the loosest stopThr "
            "that solves every marginal to 1e-9 (after import: this solve alone)",
            work=pot_dense,
        ),
    ),
    requirements=(),
)


def main() -> int:
    """As measure.main does it, but the problem is made first, and the work alone is judged."""
    arguments = measure._parse(STAGE)
    contenders = [c for c in STAGE.contenders if c.name in (arguments.only or [c.name])]
    measured = {c.name: Measurements() for c in contenders}
    with tempfile.TemporaryDirectory(prefix="volt-bench-") as name:
        folder = Path(name)
        text = measure._prepare(arguments.text, arguments.megabytes, folder)
        facts = {
            "megabytes": text.stat().st_size / measure.MEGABYTE,
            "sha256": measure._sha256(text),
        }
        problem, report = folder / "problem.npz", folder / "report"
        maker = Contender("problem", "volt-vocab", "", make_problem)
        command = maker.command(text.resolve(), problem, arguments.threads, report)
        subprocess.run(command, check=True)
        for number in range(1, arguments.runs + 1):
            for contender in contenders:
                if contender.version() is None or measured[contender.name].error:
                    continue
                measure._run(contender, problem, arguments.threads, measured[contender.name])
                print(
                    f"run {number}/{arguments.runs} {contender.name}: "
                    f"{measure._last(measured[contender.name])}",
                    file=sys.stderr,
                )
    result = {
        "stage": STAGE.name,
        "title": STAGE.title,
        "command": measure._shown_command(STAGE, arguments),
        "machine": measure._machine(),
        "text": facts,
        "runs": arguments.runs,
        "threads": arguments.threads,
        "contenders": [measure._row(c, measured) for c in contenders],
        "requirements": judge(measured, facts["megabytes"]),
    }
    print(section(result))
    if arguments.output:
        measure._save(result, arguments.output)
    return 0


def judge(measured: Mapping[str, Measurements], megabytes: float) -> list[dict[str, Any]]:
    """Ratios of the work alone, pot to volt."""
    ours, theirs = (measured.get(name, Measurements()) for name in ("volt", "pot"))
    reason = None
    if not (ours.inner_seconds and theirs.inner_seconds):
        reason = "volt or pot not measured"
    elif megabytes * measure.MEGABYTE < measure.SMALLEST_TEXT:
        reason = f"text below {measure.SMALLEST_TEXT // measure.MEGABYTE} MB"
    ratios: dict[str, float | None] = {"wall_seconds": None, "peak_megabytes": None}
    if ours.inner_seconds and theirs.inner_seconds:
        memory = "KB of the work"
        ratios["wall_seconds"] = measure._ratio(theirs.inner_seconds, ours.inner_seconds)
        ratios["peak_megabytes"] = theirs.facts[memory] / ours.facts[memory]
    return [
        {
            "peers": ["pot (the work alone)"],
            "measure": name,
            "at_least": at_least,
            "ratio": ratios[name],
            "passed": None if reason or ratios[name] is None else ratios[name] >= at_least,
            "reason": reason,
        }
        for name, at_least in (("wall_seconds", FASTER), ("peak_megabytes", SMALLER))
    ]


if __name__ == "__main__":
    sys.exit(main())
