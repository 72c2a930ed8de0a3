"""Work side by side in threads. Where no thread can be started, the caller does the work itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from volt import _core

Item = TypeVar("Item")
Result = TypeVar("Result")


def begin(task: Callable[[], Result]) -> Future[Result]:
    """Run a task in a thread of its own."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    try:
        Thread(target=run, daemon=True).start()
    except RuntimeError:  # no thread can be started
        run()
    return future


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

    others = [Thread(target=work, args=(todo.pop,), daemon=True) for _ in range(threads - 1)]
    started = []
    for thread in others:
        with suppress(RuntimeError):  # no thread can be started: the others do it
            thread.start()
            started.append(thread)
    try:
        work(todo.popleft)
        _stop_if(errors)
        for thread in started:
            thread.join()
    except BaseException:  # a signal while they are waited for
        todo.clear()
        _core.stop_all()
        for thread in started:
            thread.join()
        raise
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(results))]
