"""Training: the schedule, determinism, going on after a stop, the loss per character."""

import math
import platform
import resource
from dataclasses import replace

import numpy as np
import pytest
from cipher import encipher, sentences

from volt.base.errors import InputError
from volt.base.progress import Progress

pytest.importorskip("torch", reason="needs torch: make large")
import torch

from volt.settings import TrialSettings
from volt.trial.data import OFFSET, TrialText, encode_text
from volt.trial.models import build_model
from volt.trial.presets import from_preset
from volt.trial.training import (
    CHECKPOINT,
    _State,
    _update,
    average,
    digest,
    keep_freed_memory,
    learning_rate,
    line_bits,
    mean_bits,
    train,
)
from volt.trial.vocabularies import make_vocabulary

LINES = sentences(200, 0)
TEXT = TrialText(LINES, [encipher(line) for line in LINES])
VALID = TrialText(LINES[:20], TEXT.target[:20])
CPU = torch.device("cpu")
torch.set_num_threads(1)  # small models; more threads only wait for each other
VOCABULARY = make_vocabulary("bpe:320", LINES)
SHAPE = replace(from_preset(TrialSettings())[0], width=16, inner=32, dropout=0.2)


def settings(**changes):
    given = {"updates": 12, "checkpoints": 4, "batch": 100, "warmup": 5, **changes}
    if changes.get("task") != "lm" and "batch" not in changes:
        given["batch_unit"] = "tokens"
    return from_preset(TrialSettings(**given))[1]


def run(training, *, seed=0, folder=None, progress=None, key="k", shape=SHAPE, text=TEXT):
    valid = VALID if text is TEXT else TrialText(None, VALID.target)
    return train(
        shape, training, encode_text(text, VOCABULARY), encode_text(valid, VOCABULARY),
        VOCABULARY.size + OFFSET, seed=seed, device=CPU, folder=folder, key=key, progress=progress,
    )  # fmt: skip


def of_task(task="translation", model="transformer", **_):
    """A small model for a task, and its text."""
    shape, _ = from_preset(TrialSettings(task=task, model=model))
    small = replace(shape, width=16, inner=32, dropout=0.2)
    return {"shape": small, "text": TEXT if task == "translation" else TrialText(None, TEXT.target)}


class Stop(Exception):
    pass


class StopAt(Progress):
    """Ends the program in the middle of an update, as a signal would."""

    def __init__(self, update):
        self.update = update

    def stage(self, name, total=None, unit=""):
        from contextlib import contextmanager

        @contextmanager
        def stage():
            def report(done, note=""):
                assert "loss" in note
                if done == self.update:
                    raise Stop

            yield report

        return stage()


def test_the_rate_rises_and_falls():
    training = settings(learning_rate=2e-3, warmup=100, schedule="inverse-sqrt")
    assert learning_rate(training, 50, 0.05) == pytest.approx(1e-3)
    assert learning_rate(training, 100, 0.1) == pytest.approx(2e-3)
    assert learning_rate(training, 400, 0.4) == pytest.approx(1e-3)


def test_precision_is_of_training_alone():
    exact, rounded = (run(settings(precision=one)) for one in ("float32", "bfloat16"))
    assert digest(exact.model) != digest(rounded.model)
    assert all(one.dtype == torch.float32 for one in rounded.model.parameters())
    valid = encode_text(VALID, VOCABULARY)
    measured = mean_bits(rounded.model, valid, settings())
    assert rounded.bits_per_byte == measured
    assert measured == pytest.approx(exact.bits_per_byte, rel=0.01)


def test_the_cosine_ends_at_zero():
    training = settings(learning_rate=2e-3, warmup=100)
    assert training.schedule == "cosine"
    assert learning_rate(training, 50, 0.0) == pytest.approx(1e-3)
    assert learning_rate(training, 500, 0.5) == pytest.approx(1e-3)
    assert learning_rate(training, 999, 1.0) == pytest.approx(0, abs=1e-12)
    # A fifth of a short budget is enough for the warm-up.
    full = learning_rate(replace(training, warmup=1), 4, 0.2)
    assert learning_rate(training, 4, 0.2) == pytest.approx(full)
    assert learning_rate(training, 2, 0.1) == pytest.approx(
        learning_rate(replace(training, warmup=1), 2, 0.1) / 2
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"accumulate": 3}, {"epochs": 1.5, "batch": 800}, {"task": "lm"},
     {"task": "lm", "model": "conv"}],
)  # fmt: skip
def test_a_stopped_run_goes_on_to_the_same_model(tmp_path, changes):
    if "epochs" in changes:
        changes = {**changes, "updates": None}
    training = settings(**changes)
    how = of_task(**changes)
    whole = run(training, **how)
    for stop in (2, 5, 8):
        with pytest.raises(Stop):
            run(training, folder=tmp_path, progress=StopAt(stop), **how)
    resumed = run(training, folder=tmp_path, **how)
    assert digest(resumed.model) == digest(whole.model)
    assert resumed.history == whole.history
    assert (resumed.updates, resumed.sentences) == (whole.updates, whole.sentences)
    assert resumed.bits_per_byte == whole.bits_per_byte


def test_the_time_of_an_earlier_process_counts(tmp_path):
    with pytest.raises(Stop):
        run(settings(), folder=tmp_path, progress=StopAt(5))
    stored = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    assert stored["plain"]["all_seconds"] > 0
    stored["plain"]["all_seconds"] = 1000.0
    torch.save(stored, tmp_path / CHECKPOINT)
    assert 1000 < run(settings(), folder=tmp_path).all_seconds < 2000


def test_a_seed_gives_one_model_and_another_seed_another():
    first, second, other = (run(settings(updates=4), seed=seed) for seed in (0, 0, 1))
    assert digest(first.model) == digest(second.model) != digest(other.model)


def test_measuring_does_not_change_training():
    """Validation must not move the generator that dropout draws from."""
    often, seldom = (run(settings(checkpoints=one, average=1, patience=0)) for one in (12, 2))
    assert often.history[5] == replace(seldom.history[0], train_loss=often.history[5].train_loss)
    assert often.history[-1].bits_per_byte == seldom.history[-1].bits_per_byte


def test_accumulated_batches_are_one_large_batch():
    """Without dropout the step over two batches is that over both together."""
    text = encode_text(TEXT, VOCABULARY)
    weights = []
    for group in ([np.arange(7), np.arange(7, 30)], [np.arange(30)]):
        torch.manual_seed(0)
        model = build_model(replace(SHAPE, dropout=0.0), VOCABULARY.size + OFFSET)
        state = _State(model, torch.optim.SGD(model.parameters(), lr=1.0))
        _update(state, settings(), text, group, 1.0)
        weights.append(torch.cat([one.flatten() for one in model.parameters()]))
    torch.testing.assert_close(*weights, rtol=1e-4, atol=1e-5)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    with pytest.raises(Stop):
        run(settings(), folder=tmp_path, progress=StopAt(8))
    with pytest.raises(InputError, match="another trial"):
        run(settings(), folder=tmp_path, key="other")
    (tmp_path / CHECKPOINT).write_bytes(b"spoilt")
    with pytest.raises(InputError, match="remove it"):
        run(settings(), folder=tmp_path)


def test_it_stops_when_nothing_gets_better():
    # A rate far too high: the loss goes up at once.
    training = settings(updates=200, checkpoints=50, patience=2, learning_rate=1.0, warmup=1)
    trained = run(training)
    losses = [one.bits_per_byte for one in trained.history]
    assert trained.stopped_early
    assert losses.index(min(losses)) == len(losses) - 3
    assert trained.updates < 200
    assert not run(settings(patience=0)).stopped_early


class Clock:
    """Time that passes by work alone: a second per update, four per measurement."""

    now = 0.0

    def perf_counter(self):
        return self.now

    process_time = perf_counter


@pytest.fixture
def clock(monkeypatch):
    import volt.trial.training as training

    clock = Clock()
    monkeypatch.setattr(training, "time", clock)
    for name, seconds in (("_update", 1.0), ("mean_bits", 4.0)):
        work = getattr(training, name)

        def timed(*given, work=work, seconds=seconds):
            clock.now += seconds
            return work(*given)

        monkeypatch.setattr(training, name, timed)
    return clock


def test_a_budget_of_minutes_is_spent_and_not_exceeded(clock):
    trained = run(settings(updates=None, minutes=1, checkpoints=2, patience=0))
    # The last checkpoint and the average, 4 s each, are measured within the minute.
    assert 55 <= clock.now <= 60
    assert trained.all_seconds == clock.now
    assert trained.train_seconds == trained.updates
    assert not trained.stopped_early
    # A checkpoint every second would be all measuring: a quarter of the time is.
    clock.now = 0.0
    often = run(settings(updates=None, minutes=1, checkpoints=60, patience=0))
    assert 50 <= clock.now <= 60
    assert 2 <= len(often.history) <= 5


def test_time_for_what_follows_is_kept_back(clock):
    lines = encode_text(TrialText(None, LINES), VOCABULARY)
    how = of_task("lm")
    train(
        how["shape"], settings(task="lm", updates=None, minutes=1), lines, lines,
        VOCABULARY.size + OFFSET, seed=0, device=CPU, later=int(lines.bytes.sum()),
    )  # fmt: skip
    assert 50 <= clock.now <= 60 - 4  # one more measurement fits


def test_the_model_is_the_best_checkpoint_or_the_average():
    high = run(settings(updates=30, checkpoints=10, patience=2, learning_rate=1.0, warmup=1))
    assert high.bits_per_byte <= min(one.bits_per_byte for one in high.history)
    text = encode_text(VALID, VOCABULARY)
    assert mean_bits(high.model, text, settings()) == pytest.approx(high.bits_per_byte)
    low = run(settings(learning_rate=1e-3, schedule="inverse-sqrt", average=1))
    assert low.averaged == 1


def test_divergence_is_told_in_words():
    for updates in (12, 1):  # in the midst, and in the last update, when only measuring tells
        with pytest.raises(InputError, match="lower `learning_rate`"):
            run(settings(learning_rate=1e38, warmup=1, updates=updates, checkpoints=1))


@pytest.mark.parametrize("task", ["translation", "lm"])
@pytest.mark.parametrize("model", ["transformer", "conv"])
def test_bits_per_byte_is_the_same_sum_for_every_vocabulary(task, model):
    """A model that knows nothing spends log2 V on every token: that is known exactly."""
    shape = of_task(task, model)["shape"]
    target = [f"{line} é語" for line in VALID.target]
    for spec in ("char", "bpe:320"):
        vocabulary = make_vocabulary(spec, [*LINES, "é語"])
        text = encode_text(TrialText(VALID.source if task == "translation" else None, target),
                           vocabulary)  # fmt: skip
        tokens = vocabulary.size + OFFSET
        made = build_model(shape, tokens)
        with torch.no_grad():
            for one in made.parameters():
                if len(one) == tokens:  # the output layer
                    one.zero_()
        lines = math.log2(tokens) * np.array([len(ids) + 1 for ids in text.target])
        found = line_bits(made, text, settings())
        np.testing.assert_allclose(found, lines, rtol=1e-4)
        expected = lines.sum() / sum(len(line.encode()) + 1 for line in target)
        assert mean_bits(made, text, settings()) == pytest.approx(expected, rel=1e-4)


def test_average_is_the_mean_of_floats():
    mean = average([
        {"a": torch.tensor([1.0, 2.0]), "n": torch.tensor(1)},
        {"a": torch.tensor([3.0, 6.0]), "n": torch.tensor(2)},
    ])  # fmt: skip
    assert mean["a"].tolist() == [2.0, 4.0]
    assert mean["n"].item() == 2


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it tells glibc what to do")
def test_freed_memory_is_kept_while_training_and_given_back_after_it():
    def new_pages():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(4):
            torch.ones(16 * 2**20)  # 64 MB, as large as logits are
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    pages = 4 * 64 * 2**20 // resource.getpagesize()
    with keep_freed_memory():
        new_pages()
        kept = new_pages()
    assert kept < pages / 100
    assert new_pages() > pages / 2
