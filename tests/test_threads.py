"""Several Python threads on one tokenizer, and a fork: the ids of one thread alone."""

import copy
import os
import pickle
import random
import signal
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier, Event, Thread

import numpy as np
import pytest

import volt
from volt.tokenizing.build import build_vocabulary

THREADS = 8
LINES = ["the low lower lowest newest", "the newer the lower: é ß 日本", "wide  spaces, 1984"] * 4
TEXTS = [f"{line} {number} x{number * 7919}" for number in range(300) for line in LINES[:3]]


@pytest.fixture(scope="module")
def tokenizer():
    found = volt.candidates([LINES], merges=60)
    return volt.Tokenizer(build_vocabulary(found, range(len(found))), threads=2)


def on_threads(work):
    """What `work(number)` gives on each of many threads that start together."""
    start = Barrier(THREADS)

    def wait_and_work(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(wait_and_work, range(THREADS)))


def test_encode(tokenizer):
    long_text = " ".join(TEXTS)  # long enough to be encoded without the interpreter's lock
    expected = [tokenizer.encode(text) for text in [*TEXTS, long_text]]
    for found in on_threads(lambda _: [tokenizer.encode(text) for text in [*TEXTS, long_text]]):
        assert found == expected


def test_encode_batch_each_with_dropout_of_its_own(tokenizer):
    def work(number):
        return tokenizer.encode_batch(TEXTS, dropout=0.1 * (number % 4), seed=number)

    expected = [work(number) for number in range(THREADS)]
    assert on_threads(work) == expected


def test_encode_file(tokenizer, tmp_path):
    file = tmp_path / "text"
    file.write_text("\n".join(TEXTS * 20))
    ids, offsets = tokenizer.encode_file(file)
    for found_ids, found_offsets in on_threads(lambda _: tokenizer.encode_file(file)):
        assert np.array_equal(found_ids, ids)
        assert np.array_equal(found_offsets, offsets)


def test_decode(tokenizer):
    rows = [tokenizer.encode(text) for text in TEXTS]
    for found in on_threads(lambda _: [tokenizer.decode(row) for row in rows]):
        assert found == TEXTS


def test_what_is_made_when_first_asked_for(tokenizer):
    """Cached properties and masks, on a tokenizer that has none yet."""
    expected = tokenizer.encode_with_offsets("the <s>low 日本", allowed_special="all")
    for _ in range(20):
        fresh = volt.Tokenizer(tokenizer.vocabulary, threads=1)
        for found in on_threads(
            lambda _, fresh=fresh: (
                fresh.encode_with_offsets("the <s>low 日本", allowed_special="all"),
                fresh.tokens,
                fresh.printed,
            )
        ):
            assert found == (expected, tokenizer.tokens, tokenizer.printed)


def test_counting_and_learning(tmp_path):
    expected = volt.count([TEXTS], threads=1).digest()
    merges = volt.candidates([TEXTS], merges=200, threads=1)
    assert set(on_threads(lambda _: volt.count([TEXTS], threads=2).digest())) == {expected}
    for found in on_threads(lambda _: volt.candidates([TEXTS], merges=200, threads=2)):
        assert np.array_equal(found.left, merges.left)
        assert np.array_equal(found.right, merges.right)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_copies_while_other_threads_use_it(tokenizer, copied):
    """Nothing that a thread adds to a tokenizer disturbs one that copies it."""
    expected = tokenizer.encode(TEXTS[0])

    def work(number, fresh):
        if number % 2:
            names = [f"<{i}>" for i in range(number)]  # not special tokens: an error every time
            with suppress(volt.SettingsError):
                fresh.encode(TEXTS[0], allowed_special=names)
            fresh.encode_with_offsets(TEXTS[0], allowed_special={"<s>", "</s>"})
            fresh.decode_stream().push(4)
            return fresh.tokens, fresh.printed, fresh.decode(fresh.encode(TEXTS[0]))
        return [copied(one).encode(TEXTS[0]) for one in [fresh, fresh] for _ in range(5)]

    for _ in range(5):
        fresh = volt.Tokenizer(replace(tokenizer.vocabulary), threads=1)
        for found in on_threads(lambda number, fresh=fresh: work(number, fresh))[::2]:
            assert found == [expected] * 10
        assert copied(fresh.vocabulary).to_bytes() == tokenizer.vocabulary.to_bytes()


def test_every_call_at_once(tokenizer):
    """Many threads, each with its own order of all calls, on one tokenizer."""
    text = TEXTS[7]
    ids = tokenizer.encode(text)
    counts = volt.count([LINES])
    calls = {
        "encode": lambda one: one.encode(text),
        "array": lambda one: one.encode_array(text).tolist(),
        "count": lambda one: one.count(text),
        "truncate": lambda one: one.truncate(text, 3),
        "offsets": lambda one: one.encode_with_offsets(text, allowed_special="all"),
        "call": lambda one: one([text, "low"], padding=True),
        "decode": lambda one: one.decode(ids),
        "stream": lambda one: "".join(map(one.decode_stream().push, ids)),
        "losses": lambda one: one.decode_with_losses(ids),
        "special": lambda one: one.encode("<s>low", allowed_special={"<s>"}),
        "usage": lambda one: one.usage(counts)[1].tolist(),
        "printed": lambda one: one.printed,
        "lines": lambda one: b"".join(one.encode_to_text([LINES])),
    }
    expected = {name: call(tokenizer) for name, call in calls.items()}

    def work(number, fresh):
        order = random.Random(number)
        names = [name for _ in range(5) for name in order.sample([*calls], len(calls))]
        return all(calls[name](fresh) == expected[name] for name in names)

    for _ in range(3):
        fresh = volt.Tokenizer(replace(tokenizer.vocabulary), threads=2)
        assert all(on_threads(lambda number, fresh=fresh: work(number, fresh)))


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded"
)
def test_a_free_threaded_interpreter_stays_without_its_lock():
    program = "import sys, volt; volt.learn([['low lower'] * 5]); print(sys._is_gil_enabled())"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout.strip() == b"False"


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import volt
try:
    print(interpreters.run_string(interpreters.create(), "import volt"))
except Exception as error:
    print(error)
"""


def test_a_subinterpreter_gets_an_error():
    """Native code of volt and NumPy hangs there."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SUBINTERPRETER],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert b"volt does not run in a subinterpreter" in found.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_while_other_threads_encode(tokenizer):
    expected = tokenizer.encode_batch(TEXTS)
    stop = Event()

    def work():
        while not stop.is_set():
            tokenizer.encode_batch(TEXTS)
            volt.Tokenizer(tokenizer.vocabulary, threads=1).encode_with_offsets(TEXTS[0])

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    statuses = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(600)
                status = 0 if tokenizer.encode_batch(TEXTS) == expected else 1
            finally:
                os._exit(status)
        statuses.append(os.waitpid(child, 0)[1])
    stop.set()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_a_fork_a_child_encodes_and_learns(tokenizer):
    """Native threads end with the call that started them: a child finds none missing."""
    expected = tokenizer.encode_batch(TEXTS)
    volt.count([TEXTS], threads=2)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(600)  # a child that hangs is a failure
            same = tokenizer.encode_batch(TEXTS) == expected
            learned = volt.candidates([TEXTS], merges=50, threads=2)
            status = 0 if same and len(learned) > 50 else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert tokenizer.encode_batch(TEXTS) == expected


LEARN = """
import sys, volt
threads = int(sys.argv[3])
result = volt.learn([sys.argv[1]], merges=15_000, splits=2, sizes="8k:14k:3k", threads=threads)
result.save(sys.argv[2], report=False)
"""


def test_choices_are_the_same_bytes_however_many_threads_add_them_up(tmp_path):
    """Libraries that add by several threads do so from some ten thousand numbers on."""
    order = random.Random(0)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(order.choices(syllables, k=order.randint(2, 5))) for _ in range(14_000)]
    (tmp_path / "text").write_text("\n".join(words * 2 + words[:5000]))
    found = set()
    for threads, libraries, seed in ((1, 1, 0), (2, 2, 4321), (3, 8, 7)):
        out = tmp_path / str(threads)
        limits = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], str(libraries))
        subprocess.run(
            [sys.executable, "-c", LEARN, tmp_path / "text", out, str(threads)],
            env=os.environ | limits | {"PYTHONHASHSEED": str(seed)},
            check=True,
        )
        found.add((out / "choices.json").read_bytes() + (out / "volt.json").read_bytes())
    assert len(found) == 1
