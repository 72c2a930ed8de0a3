"""Counting within a set amount of memory: sorted runs on disk, merged at the end.

When the table of words would outgrow the memory, it is written to a folder as a sorted run and
emptied. At the end the runs are merged, the counts of each word are added up, and the words are
sorted once more, by count. The file is byte for byte what `WordCounts.save` would write.

The folder contains the runs and `checkpoint.json`, which names them and says how much of the inputs
they cover. A checkpoint appears whole, after its runs are on disk. So the folder always describes a
state from which counting can go on, whenever the process is killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from volt import _core
from volt._version import __version__
from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.gate import SETTINGS, read_json
from volt.base.options import accepts
from volt.base.output import atomic_write, claim, make_folder, write_file
from volt.base.progress import Progress
from volt.base.schema import anything, instance, table, text
from volt.counting.count import CountPlan, plan_count
from volt.counting.counts import CountsHeader, CountTotals
from volt.counting.inputs import Text
from volt.counting.reading import BlockEnd, ReadingProgress
from volt.counting.sampling import parse_bytes
from volt.counting.words import WordRule
from volt.settings import CountSettings, SpillSettings

DEFAULT_MEMORY = "4G"
LEAST_MEMORY = 256 << 20
RESERVED = 128 << 20
"""Bytes for the interpreter, its libraries and the block that is being read."""
LISTED = 600
"""Bytes per input in the list of inputs: there may be a million."""
CHECKPOINT_EVERY = 1 << 30
"""Bytes of text after which there is a checkpoint, even if the table is not full."""
FAN_IN = 128
"""How many runs are merged at once; if there are more, they are first merged into fewer."""
CHECKPOINT = "checkpoint.json"
LOCK = "lock"
OURS = re.compile(
    rf"{re.escape(CHECKPOINT)}|{LOCK}|run-[0-9]+(-[0-9]+)?|ranked-[0-9]+|\.volt-[0-9a-f-]+\.(tmp|old)"
)
"""Names of files in the folder; if there are others, nothing is deleted."""
FORMAT_VERSION = 1


@dataclass(frozen=True)
class CountedFile:
    """A counts file whose words were never in memory all at once."""

    path: Path
    rule: WordRule
    types: int
    totals: CountTotals
    unit: int

    def __len__(self) -> int:
        return self.types


@accepts(CountSettings, SpillSettings)
def count_to_file(
    inputs: Text | Iterable[Text],
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> CountedFile:
    """Count words as `count` does, within `memory`, into a counts file.

    Runs go to the folder `spill`, which is removed at the end. With `resume`, an unfinished count
    in that folder is continued, if there is one. Counts are exact: `max_types` leaves out the
    rarest types at the end, none on the way. A file that exists is replaced only with `force`.

    >>> import tempfile, volt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = volt.count_to_file([["low slow low"]], f"{folder}/counts.tsv", memory="1G")
    >>> found.types, found.totals.words
    (2, 3)
    """
    spilling = SpillSettings.take(options)
    settings = CountSettings(**options)
    memory = DEFAULT_MEMORY if spilling.memory is None else spilling.memory
    whole_memory = memory_bytes(memory)
    threads = thread_count(threads)
    progress = progress or Progress()
    output = Path(output)
    folder = Path(spilling.spill or output.with_name(output.name + ".spill"))
    claim(output, inputs=inputs, force=force, glob=settings.glob)
    claim(folder / CHECKPOINT, inputs=inputs, force=True, parents=True, glob=settings.glob)

    # 1. Which inputs are there, and how much of them was counted before?
    plan = plan_count(inputs, settings, progress)
    table_memory = whole_memory - RESERVED - LISTED * len(plan.inputs)
    if table_memory < (least := (LEAST_MEMORY - RESERVED) // 2):
        needed = (whole_memory - table_memory + least >> 20) + 1
        raise SettingsError(
            f"`memory` must be at least {needed}M for a list of {len(plan.inputs):,} files, "
            f"not {memory}"
        )
    # Small blocks: how much the table may grow in one must be a small part of the memory.
    plan = replace(plan, block=min(plan.block, max(table_memory // 256, 64)))
    with _Spill.opened(folder, plan, spilling.resume) as spilled:
        # 2. Count into runs.
        _count_runs(spilled, plan, table_memory, threads, progress)

        # 3. Merge runs until they are few enough to be merged at once.
        while len(spilled.state.runs) > FAN_IN:
            _merge_runs(spilled, table_memory, progress)

        # 4. Add up, and sort by count.
        ranked, counts, types = _rank_runs(
            spilled, plan, settings.min_count, table_memory, progress
        )

        # 5. Write the most frequent words.
        kept, words = _most_frequent(counts, types, settings.max_types)
        totals = spilled.state.totals
        totals = replace(
            totals, words=words, pruned_words=totals.pruned_words + totals.words - words
        )
        totals.check()
        header = CountsHeader(plan.rule, plan.unit, kept, totals)
        lines = _core.RankedLines(ranked, kept, _buffer(table_memory, len(ranked)))
        _write_counts(output, header, lines, progress)
        spilled.remove()
    return CountedFile(output, plan.rule, kept, totals, plan.unit)


def _write_counts(
    output: Path, header: CountsHeader, lines: _core.RankedLines, progress: Progress
) -> None:
    with (
        progress.stage("Writing counts", header.types, "types") as report,
        atomic_write(output) as stream,
    ):
        stream.write(header.line())
        written = 0
        while block := lines.next(1 << 22):
            stream.write(block)
            report(written := written + block.count(b"\n"))


def memory_bytes(memory: int | str) -> int:
    """Bytes, from a number or a number followed by K, M, G or T (powers of 1024)."""
    try:
        size = parse_bytes(memory, kilo=1024)
    except ValueError:
        raise SettingsError(f"`memory` is a size such as 4G or 512M, not {memory!r}") from None
    if size < LEAST_MEMORY:
        raise SettingsError(f"`memory` must be at least {LEAST_MEMORY >> 20}M, not {memory}")
    return size


# ------------------------------------------------------------------------------------------- stages


def _count_runs(
    spilled: _Spill, plan: CountPlan, memory: int, threads: int, progress: Progress
) -> None:
    """Count what is not yet in runs."""
    counting = _RunCounter(spilled, plan, memory, threads)
    start = spilled.state
    done = sum(one.size or 0 for one in plan.inputs[: start.inputs_done])
    with progress.stage("Counting words", plan.size(), "B") as report:
        told = ReadingProgress(report, plan.rule.reads, done)
        for one in plan.inputs[start.inputs_done :]:

            def after_block(end: BlockEnd, size: int | None = one.size) -> None:
                told.block(end, size)
                counting.after_block(end)

            read, _ = plan.read(one, counting.counter, after_block, start=counting.end)
            counting.after_input(read, one.size or 0)
            told.input(one.size, read)
    counting.checkpoint()


class _RunCounter:
    """A counter whose table goes to disk when it is full, with a checkpoint wherever possible."""

    def __init__(self, spilled: _Spill, plan: CountPlan, memory: int, threads: int) -> None:
        self.counter = plan.rule.counter(threads)
        self.end = spilled.state.position
        self._inputs_done = spilled.state.inputs_done
        self._totals = spilled.state.totals  # without what the counter knows
        self._runs = spilled.state.runs
        self._unsaved = 0  # bytes counted since the last checkpoint
        self._spilled, self._block, self._memory = spilled, plan.block, memory

    def after_block(self, end: BlockEnd) -> None:
        self._unsaved += end.offset - self.end.offset
        self.end = end
        # Counting can't be resumed inside a line: what is spilled there becomes part of the next
        # checkpoint.
        if end.in_line and self._full():
            self._spill()
        elif not end.in_line and (self._full() or self._unsaved >= CHECKPOINT_EVERY):
            self.checkpoint()

    def after_input(self, read: CountTotals, size: int) -> None:
        """The last block of an input is done (the only one, if the file is small)."""
        self._unsaved += max(size - self.end.offset, 0)
        self._inputs_done += 1
        self._totals += read
        self.end = BlockEnd()
        if self._full() or self._unsaved >= CHECKPOINT_EVERY:
            self.checkpoint()

    def _full(self) -> bool:
        """Might another block need more memory than there is?"""
        return self.counter.memory(self._block) > self._memory

    def checkpoint(self) -> None:
        self._spill()
        totals = self._totals + CountTotals.of(self.counter)
        totals.check()
        self._spilled.save(
            replace(
                self._spilled.state,
                inputs_done=self._inputs_done,
                position=self.end,
                totals=totals,
                runs=self._runs,
            )
        )
        self._unsaved = 0

    def _spill(self) -> None:
        self._runs = [*self._runs, *self._spilled.write(self.counter)]


def _merge_runs(spilled: _Spill, memory: int, progress: Progress) -> None:
    """Merge the first runs into one, which goes to the end of the list: so all runs stay about
    equally long."""
    first, rest = spilled.state.runs[:FAN_IN], spilled.state.runs[FAN_IN:]
    target = spilled.new_name()
    with progress.stage("Merging runs", None, "types") as report, spilled.errors():
        _core.merge_runs(
            [spilled.path(name) for name in first], spilled.path(target),
            _buffer(memory, FAN_IN), report,
        )  # fmt: skip
    spilled.save(replace(spilled.state, runs=[*rest, target]))
    spilled.tidy()


def _rank_runs(
    spilled: _Spill, plan: CountPlan, min_count: int, memory: int, progress: Progress
) -> tuple[list[Path], list[int], list[int]]:
    """Runs sorted by count, and how many types have each count, highest first."""
    runs = [spilled.path(name) for name in spilled.state.runs]
    with progress.stage("Merging runs", None, "types") as report, spilled.errors():
        ranked, counts, types = _core.rank_runs(
            runs, spilled.path("ranked-"), plan.rule.mode.native, plan.least(min_count),
            memory // 2, _buffer(memory, len(runs)), report,
        )  # fmt: skip
    return ranked, counts.tolist(), types.tolist()


def _most_frequent(counts: list[int], types: list[int], max_types: int | None) -> tuple[int, int]:
    """How many types are kept, and the sum of their counts."""
    kept = words = 0
    for count, number in zip(counts, types, strict=True):
        number = number if max_types is None else min(number, max_types - kept)
        kept += number
        words += number * count
    return kept, words


def _buffer(memory: int, runs: int) -> int:
    """How many bytes are read at a time from each run."""
    return min(max(memory // 4 // max(runs, 1), 1 << 12), 1 << 20)


# -------------------------------------------------------------------------------------- checkpoints


@dataclass(frozen=True)
class _State:
    """How far a count is: `runs` contain all of the first `inputs_done` inputs, and of the next one
    what is before `position`."""

    inputs_done: int = 0
    position: BlockEnd = field(default_factory=BlockEnd)
    totals: CountTotals = field(default_factory=CountTotals)
    runs: list[str] = field(default_factory=list)
    named: int = 0
    """How many names of runs were used; no name is used twice."""


CHECKPOINT_FILE = table(
    {"format": anything(), "volt": text(), "settings": table({}), "state": instance(_State)}
)


class _Spill:
    """The folder of runs, and the state in its checkpoint."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.state = _State()
        self._settings = settings

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, plan: CountPlan, resume: bool) -> Iterator[_Spill]:
        """A new folder or, to resume, the existing one. After an error it is kept only if the count
        can be resumed, and the message says so."""
        if resume and any(one.input.size() is None for one in plan.inputs):
            raise SettingsError("`resume` needs files that can be read again, not a pipe or stdin")
        spilled = cls(folder, _settings(plan))
        unfinished = (folder / CHECKPOINT).exists()
        if unfinished and not resume:
            raise SettingsError(
                f"{folder} contains an unfinished count; continue it with `resume`, or delete "
                "the folder"
            )
        for file in make_folder(folder).iterdir():
            if not OURS.fullmatch(file.name):
                raise SettingsError(
                    f"{folder} contains other files ({file.name}); name another folder (`spill`)"
                )
        with _locked(folder):
            if unfinished:
                spilled._load()
            spilled.tidy()
            try:
                yield spilled
            except BaseException as error:
                if not spilled.state.runs:
                    spilled.remove()
                    raise
                spilled.tidy()
                if isinstance(error, VoltError):
                    raise type(error)(
                        f"{error}; what was counted is kept in {folder}; continue with `resume`"
                    ) from error
                raise

    def path(self, name: str) -> Path:
        return self.folder / name

    def new_name(self) -> str:
        """A name that no run had before."""
        self.state = replace(self.state, named=self.state.named + 1)
        return f"run-{self.state.named}"

    def write(self, counter: _core.Counter) -> list[str]:
        """Spill the counter; the names of the runs."""
        name = self.new_name()
        with self.errors():
            number = counter.spill(self.path(f"{name}-"))
        return [f"{name}-{part}" for part in range(number)]

    def save(self, state: _State) -> None:
        """From here on the count can be resumed from this state."""
        content = {"format": FORMAT_VERSION, "volt": __version__, "settings": self._settings,
                   "state": asdict(state)}  # fmt: skip
        write_file(self.folder / CHECKPOINT, json.dumps(content, indent=1).encode() + b"\n")
        self.state = state

    def _load(self) -> None:
        path = self.folder / CHECKPOINT
        try:
            content = read_json(path, CHECKPOINT_FILE, SETTINGS)
            made_by = content["format"], content["volt"]
            settings, state = content["settings"], content["state"]
            self.state = _State(
                state["inputs_done"],
                BlockEnd(**state["position"]),
                CountTotals(**state["totals"]),
                state["runs"],
                state["named"],
            )
            if not all(OURS.fullmatch(name) for name in self.state.runs):
                raise ValueError("not the name of a run")
            missing = [name for name in self.state.runs if not (self.folder / name).is_file()]
        except (InputError, ValueError) as error:
            raise InputError(
                f"{path}: a damaged checkpoint ({error}); delete {self.folder}"
            ) from None
        if made_by != (FORMAT_VERSION, __version__):
            raise SettingsError(
                f"{path} was written by volt {made_by[1]}; delete {self.folder} and count again"
            )
        for name, value in self._settings.items():
            if settings.get(name) != value:
                raise SettingsError(
                    f"{self.folder} contains an unfinished count with other {name}; use the same "
                    "options and unchanged files, or delete the folder"
                )
        if missing:
            raise InputError(f"{path} names {missing[0]}, which is gone; delete {self.folder}")

    def tidy(self) -> None:
        """Delete what the checkpoint does not name: runs of a killed process, or merged ones."""
        for file in list(self.folder.iterdir()):
            if file.name not in (*self.state.runs, CHECKPOINT, LOCK):
                file.unlink()

    def remove(self) -> None:
        """Delete the folder, the checkpoint first: without it the rest is useless."""
        (self.folder / CHECKPOINT).unlink(missing_ok=True)
        self.state = replace(self.state, runs=[])
        self.tidy()
        (self.folder / LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # if a disk is mounted there
            self.folder.rmdir()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what goes wrong with the runs into our errors."""
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write {error.filename}: {error.strerror}") from error
        except RuntimeError as error:
            raise InputError(f"{error}: delete {self.folder} and count again") from error


def _settings(plan: CountPlan) -> dict[str, Any]:
    """What must be the same when a count is resumed. The inputs as a digest: they may be many."""
    digest = hashlib.sha256()
    for one in plan.inputs:
        status = one.input.path.stat() if one.input.path else None
        described = [one.name, str(one.input.weight), one.is_counts]
        described += [status.st_size, status.st_mtime_ns] if status else []
        digest.update(json.dumps(described).encode() + b"\n")
    return {**asdict(plan.rule), "unit": plan.unit, "on_invalid": plan.on_invalid,
            "inputs": digest.hexdigest()}  # fmt: skip


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two processes must not count into one folder. The lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # Windows has no such module
        yield
        return
    with (folder / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingsError(f"{folder}: another volt is counting into it") from None
        yield
