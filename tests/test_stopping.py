"""Native code can be stopped while it works, on all threads of a call."""

import random
import signal
import time
from threading import Thread

import pytest

import volt
from volt import _core

ORDER = random.Random(1)
TEXT = ["".join(ORDER.choices("abcdefgh", k=60)) for _ in range(20_000)]
TOKENIZER = volt.learn([TEXT[:200]], size=400).tokenizer
COUNTS = volt.count([TEXT])

CALLS = {
    "candidates": lambda: volt.candidates(COUNTS, merges=2000, threads=1),
    "candidates on two threads": lambda: volt.candidates(COUNTS, merges=2000, threads=2),
    "candidates of one long word": lambda: volt.candidates(
        [["ab" * 300_000]], merges=2000, max_word_length=10**6, threads=1
    ),
    "learn": lambda: volt.learn(COUNTS, merges=2000, threads=1),
    "learn on two threads": lambda: volt.learn(COUNTS, merges=2000, threads=2),
    "encode on two threads": lambda: volt.Tokenizer(TOKENIZER.vocabulary, threads=2).encode_batch(
        TEXT * 5
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_ends_when_it_is_told_to(name):
    """Only a loop that asks whether to stop can raise this; another one returns its result."""
    ended = []

    def work():
        try:
            ended.append(CALLS[name]())
        except KeyboardInterrupt as stopped:
            ended.append(str(stopped))

    thread = Thread(target=work)
    thread.start()
    while thread.is_alive():
        _core.stop_all()
        time.sleep(0.001)
    assert ended == ["stopped"]


class Enough(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer that sends signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_signals_are_seen_inside_of_a_call(threads, monkeypatch):
    """Signals that come during a call that does not look are one signal when it has returned."""
    native = _core.learn_merges
    seen = []

    def handle(*_):
        seen.append(1)
        if len(seen) == 3:
            raise Enough

    def watched(*arguments, **options):
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        try:
            return native(*arguments, **options)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    monkeypatch.setattr(_core, "learn_merges", watched)
    before = signal.signal(signal.SIGALRM, handle)
    try:
        with pytest.raises(Enough):
            volt.candidates(COUNTS, merges=2000, threads=threads)
    finally:
        signal.signal(signal.SIGALRM, before)
