"""Work side by side in threads. Where no thread can be started, the caller does the work itself."""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Lock
from typing import TypeVar

from volt import _core

Item = TypeVar("Item")
Result = TypeVar("Result")


PATIENCE = 5.0
"""Seconds in which a thread has to begin."""


def import_ahead(name: str) -> None:
    """Begin to import a large library, which is needed later, while something else is done."""

    def run() -> None:
        with suppress(Exception):  # told where it is needed
            import_module(name)

    start(run)


def start(function: Callable[[], object]) -> Callable[[], None] | None:
    """Run a function in a thread of its own. Returns how to wait for its end; None if there is no
    such thread: the system refuses it, or it has no memory to begin with. For that one
    `threading.Thread.start` would wait for ever."""
    claim, begun, ended = Lock(), Lock(), Lock()
    begun.acquire()
    ended.acquire()

    def run() -> None:
        if claim.acquire(blocking=False):
            begun.release()
            try:
                _core.begin_thread()
                function()
            finally:
                ended.release()

    def wait() -> None:
        with ended:
            pass

    if not _core.has_room_for_thread():
        return None
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        return None
    if not begun.acquire(timeout=PATIENCE) and claim.acquire(blocking=False):
        return None
    return wait


def begin(task: Callable[[], Result]) -> Future[Result]:
    """Run a task in a thread of its own."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    if start(run) is None:
        run()
    return future


@contextmanager
def meanwhile(task: Callable[[], Result]) -> Iterator[Future[Result]]:
    """Run a task beside a block of code. After an error in the block its end is waited for, and a
    signal stops it: no work goes on once the block is left."""
    future = begin(task)
    try:
        yield future
    except BaseException as error:
        _stop_if([error])
        with suppress(BaseException):
            future.exception()
        raise


def _stop_if(errors: list[BaseException]) -> None:
    """After a signal the others are not waited for: their native code stops soon."""
    if errors and not isinstance(errors[0], Exception):
        _core.stop_all()


def side_by_side(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> list[Result]:
    """The function of every item, in their order. The first error ends the work.

    One thread begins with the first item, the others with the last. So where items grow or shrink,
    the largest are not all worked on, and in memory, at once.
    """
    todo = deque(enumerate(items))
    number = len(todo)
    results: dict[int, Result] = {}
    errors: list[BaseException] = []

    def work(take: Callable[[], tuple[int, Item]]) -> None:
        while not errors:
            try:
                place, item = take()
            except IndexError:  # nothing is left
                return
            try:
                results[place] = function(item)
            except BaseException as error:
                errors.append(error)

    waits: list[Callable[[], None]] = []
    for _ in range(min(threads, number) - 1):
        if (wait := start(lambda: work(todo.pop))) is None:
            break  # those that are there do it
        waits.append(wait)
    try:
        work(todo.popleft)
        _stop_if(errors)
        for wait in waits:
            wait()
    except BaseException:  # a signal while they are waited for
        todo.clear()
        _core.stop_all()
        for wait in waits:
            wait()
        raise
    if errors:
        raise errors[0]
    if len(results) < number:
        raise MemoryError("a thread had no memory to say what went wrong")
    return [results[place] for place in range(number)]
