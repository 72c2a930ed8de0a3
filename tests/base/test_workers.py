"""Work side by side in threads."""

import threading

import pytest

from volt.base import workers
from volt.base.workers import begin, side_by_side


def refused(*_):
    raise RuntimeError("can't start new thread")


def never_begins(*_):
    """A thread that the system has started and that has no memory for its first step."""
    return 1


STARTS = [workers._thread.start_new_thread, refused, never_begins]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("starts", STARTS)
def test_results_come_in_the_order_of_the_items(monkeypatch, threads, starts):
    monkeypatch.setattr(workers._thread, "start_new_thread", starts)
    monkeypatch.setattr(workers, "PATIENCE", 0.01 if starts is never_begins else 60)
    assert side_by_side(lambda n: n * n, range(100), threads) == [n * n for n in range(100)]
    assert side_by_side(str, [], threads) == []


def test_two_items_are_worked_on_at_the_same_time():
    both = threading.Barrier(2, timeout=60)
    side_by_side(lambda _: both.wait(), range(2), 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_the_work(threads):
    done = []

    def fail(n):
        done.append(n)
        raise KeyError(n)

    with pytest.raises(KeyError):
        side_by_side(fail, range(100), threads)
    assert len(done) <= threads


@pytest.mark.parametrize("starts", STARTS)
def test_a_task_begins_and_its_result_or_error_can_be_asked_for(monkeypatch, starts):
    monkeypatch.setattr(workers._thread, "start_new_thread", starts)
    monkeypatch.setattr(workers, "PATIENCE", 0.01 if starts is never_begins else 60)
    assert begin(lambda: 5).result() == 5
    with pytest.raises(ZeroDivisionError):
        begin(lambda: 1 // 0).result()
