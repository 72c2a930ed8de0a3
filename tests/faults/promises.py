"""What must be true after a fault: the exit code, what is said, the files, and the next run."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cases import Case
from forks import FULL_DISK, NO_THREADS, ONCE, READ_ONLY, Result, Server
from trees import Tree, changes, is_temporary, moved, restore, tree

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
        linked = {moved(one, name, "real"): data for one, data in self.before.items()}
        linked[name] = "real"
        restore(self.folder, linked)
        result = self.run(self.arguments)
        found = tree(self.folder)
        made = {moved(one, "real", name): data for one, data in found.items() if one != name}
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


def spread(number: int, most: int) -> list[int]:
    """At most so many of the numbers below another, spread evenly."""
    most = min(number, most)
    return sorted({round(one * (number - 1) / max(most - 1, 1)) for one in range(most)})
