"""Benchmark of the first stage: text to word counts, words split at whitespace.

    python benchmarks/count.py --text FILE... -o benchmarks/results/count.json

Only `volt` writes its counts to a file within its time; the peers just build the table in
memory, which is in their favour.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from measure import Contender, Gate, Requirement, Stage, main


def python_text(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    from collections import Counter
    from itertools import chain
    from pathlib import Path

    started = time.perf_counter()
    # Counter over one chained iterator runs its loop in C. An update per line and a generator
    # were no different within the noise (5.2 to 5.5 s on 100 MB); joining lines to larger pieces
    # before the split was slower (6.2 s).
    with Path(text).open(encoding="utf-8") as lines:
        counts = Counter(chain.from_iterable(map(str.split, lines)))
    seconds = time.perf_counter() - started
    return seconds, {"types": len(counts), "words": sum(counts.values())}


def python_bytes(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time
    from collections import Counter
    from itertools import chain
    from pathlib import Path

    started = time.perf_counter()
    with Path(text).open("rb") as lines:
        counts = Counter(chain.from_iterable(map(bytes.split, lines)))
    seconds = time.perf_counter() - started
    return seconds, {"types": len(counts), "words": sum(counts.values())}


def polars_streaming(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import polars

    started = time.perf_counter()
    # The fastest of the ways tried, 100 MB: splitting at a regular expression took 2.9 s,
    # extract_all 2.3 s, read_lines without streaming 4.3 s, this and group_by 0.7 to 1.4 s.
    # It splits at single spaces only, so a text with tabs gives it other words; the facts tell.
    words = polars.col("line").str.split(" ").explode().alias("word")
    counts = (
        polars.scan_lines(text)
        .select(words.value_counts())
        .unnest("word")
        .filter(polars.col("word") != "")
        .collect(engine="streaming")
    )
    seconds = time.perf_counter() - started
    return seconds, {"types": counts.height, "words": counts["count"].sum()}


def volt_function(text: str, output: str, threads: int) -> tuple[float, Mapping[str, int]]:
    import time

    import volt

    started = time.perf_counter()
    counts = volt.count([text], pretokenizer="whitespace", threads=threads)
    counts.save(output)
    return time.perf_counter() - started, {}


def read_counts(path: Path) -> Mapping[str, int]:
    """Types and words of a counts file: what the peers' tables must agree with."""
    types = words = 0
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if line.startswith("# "):  # no word holds a space, so this is a comment
                continue
            types += 1
            words += int(line.rpartition("\t")[2])
    return {"types": types, "words": words}


def same_counts(sample: Path) -> str:
    """`Counter` splits at more kinds of white space, so the words are joined by plain ones."""
    from collections import Counter

    import volt

    plain = sample.with_name("plain")
    words = sample.read_text(encoding="utf-8").split()
    plain.write_text(" ".join(words), encoding="utf-8")
    counts = volt.count([plain], pretokenizer="whitespace", threads=2)
    found = dict(zip(counts.words, counts.counts.tolist(), strict=True))
    return "" if found == Counter(words) else "volt and `Counter` count different words"


STAGE = Stage(
    name="count",
    title="Counting words",
    contenders=(
        Contender(
            name="volt",
            distribution="volt-vocab",
            includes="the command `volt count`: start, imports, UTF-8 check, counting, sorting, "
            "the counts file written",
            work=(
                "volt",
                *("count", "{text}", "--pretokenizer", "whitespace"),
                *("--threads", "{threads}", "-o", "{output}"),
            ),
            read=read_counts,
        ),
        Contender(
            name="volt-api",
            distribution="volt-vocab",
            includes="the same from Python: `volt.count(...)` and `save`",
            work=volt_function,
            read=read_counts,
        ),
        Contender(
            name="python",
            distribution=None,
            includes="`Counter` over `line.split()` of the text as `str`; nothing written",
            work=python_text,
        ),
        Contender(
            name="python-bytes",
            distribution=None,
            includes="`Counter` over `line.split()` of the raw bytes, not decoded; nothing written",
            work=python_bytes,
        ),
        Contender(
            name="polars",
            distribution="polars",
            includes="`scan_lines`, `str.split`, `explode`, `value_counts` with the streaming "
            "engine; nothing sorted or written",
            work=polars_streaming,
        ),
    ),
    requirements=(
        Requirement(peers=("python", "python-bytes"), measure="wall_seconds", at_least=8),
        Requirement(peers=("polars",), measure="wall_seconds", at_least=1.5),
    ),
    gates=(Gate("volt counts the words that Python's `Counter` counts", same_counts),),
)

if __name__ == "__main__":
    sys.exit(main(STAGE))
