"""Work side by side in threads. Where no thread can be started, the caller does the work itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from typing import TypeVar

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


def side_by_side(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> list[Result]:
    """The function of every item, in their order. The first error ends the work."""
    todo, lock = iter(enumerate(items)), Lock()
    results: dict[int, Result] = {}
    errors: list[BaseException] = []

    def work() -> None:
        while not errors:
            with lock:
                place, item = next(todo, (None, None))
            if place is None:
                return
            try:
                results[place] = function(item)  # type: ignore[arg-type]
            except BaseException as error:
                errors.append(error)

    others = [Thread(target=work, daemon=True) for _ in range(threads - 1)]
    started = []
    for thread in others:
        with suppress(RuntimeError):  # no thread can be started: the others do it
            thread.start()
            started.append(thread)
    try:
        work()
    finally:
        for thread in started:
            thread.join()
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(results))]
