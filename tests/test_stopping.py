"""Native code can be stopped while it works, on all threads of a call."""

import random
import signal
import time
from threading import Thread

import numpy as np
import pytest

import volt
from volt import _core
from volt.proposing.tokens import packed

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


WORDS = [f"{number:x}".encode() for number in range(200_000)]
TYPES = packed(WORDS)
TIMES = np.ones(len(WORDS), np.uint64)
LINES = "\n".join(TEXT).encode()
LONG_WORD = "".join(ORDER.choices("abcdefgh", k=200_000))
EVERY = 1 << 16
"""Words, lines or letters of the inputs below that may pass between two looks. The slowest of the
loops takes 0.5 microseconds for one."""


def counter(*, threads=1, max_types=0):
    return _core.Counter("whitespace", 64, threads, max_types, "line")


def counted():
    """A counter with all the words, on two threads."""
    made = counter(threads=2)
    made.feed(b"\n".join(WORDS), True, 1)
    return made


def line_encoder(threads=1):
    return _core.LineEncoder(TOKENIZER._encoder, b"", 0.0, 0, threads, "line")


def spilled(tmp_path):
    made = counted()
    return [str(tmp_path / f"run{number}") for number in range(made.spill(str(tmp_path / "run")))]


NATIVE = {
    "count": lambda _: counter().feed(LINES * 10, True, 1),
    "count on two threads": lambda _: counter(threads=2).feed(LINES * 20, True, 1),
    "add word counts": lambda _: counter().add_words(*TYPES, TIMES, 1),
    "read word counts": lambda _: counter().read_words(b"\t1\n".join(WORDS) + b"\t1\n", True, 1),
    "finish counts": lambda _: counted().finish(1),
    "limit types": lambda _: counter(threads=2, max_types=1000).feed(b"\n".join(WORDS), True, 1),
    "spill": lambda folder: counted().spill(str(folder / "run")),
    "merge runs": lambda folder: _core.merge_runs(
        spilled(folder), str(folder / "all"), 4096, lambda _: None
    ),
    "write word counts": lambda _: _core.write_words(*TYPES, TIMES),
    "write rows": lambda _: _core.write_rows(*TYPES, np.arange(len(WORDS))),
    "thin": lambda _: _core.thin(*TYPES, TIMES, 1, 1),
    "find words": lambda _: _core.find_words(*TYPES, *TYPES),
    "learn merges": lambda _: volt.candidates(COUNTS, merges=300, threads=1),
    "learn merges of a long word": lambda _: volt.candidates(
        [[LONG_WORD]], merges=300, max_word_length=10**6, threads=1
    ),
    "wordpiece": lambda _: volt.candidates(COUNTS, candidates="wordpiece:50", threads=1),
    "encode a text": lambda _: TOKENIZER.encode(" ".join(TEXT)),
    "encode a long word": lambda _: TOKENIZER.encode(LONG_WORD),
    "encode with names": lambda _: TOKENIZER.encode("<s>" * 100_000, allowed_special="all"),
    "encode lines": lambda _: line_encoder().feed(LINES, True),
    "encode a part of a line": lambda _: line_encoder().feed(" ".join(TEXT).encode(), False),
    "encode words": lambda _: TOKENIZER._encoder.encode_words(*TYPES, 1),
    "count ids": lambda _: TOKENIZER.count(" ".join(TEXT)),
}  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_a_loop_looks_often(name, tmp_path):
    """A call looks again and again whether to stop, as counted in items of its input."""
    before = _core.looks()
    NATIVE[name](tmp_path)
    assert _core.looks() - before >= 200_000 // EVERY


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
