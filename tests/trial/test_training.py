"""Training: the schedule, determinism, going on after a stop, the loss per character."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cipher import encipher, sentences

from volt.base.errors import InputError
from volt.base.progress import Progress

pytest.importorskip("torch", reason="needs torch: make large")
import torch

from volt.settings import TrialSettings
from volt.trial.data import OFFSET, Parallel, encode_pairs
from volt.trial.models import build_model
from volt.trial.presets import from_preset
from volt.trial.training import (
    CHECKPOINT,
    _State,
    _update,
    average,
    digest,
    learning_rate,
    loss_per_character,
    train,
)
from volt.trial.vocabularies import make_vocabulary

LINES = sentences(200, 0)
TEXT = Parallel(LINES, [encipher(line) for line in LINES])
VALID = Parallel(LINES[:20], TEXT.target[:20])
CPU = torch.device("cpu")
VOCABULARY = make_vocabulary("bpe:320", LINES)
SHAPE = replace(from_preset(TrialSettings())[0], width=16, inner=32, dropout=0.2)


def settings(**changes):
    given = {"updates": 12, "checkpoints": 4, "batch": 100, "warmup": 5, **changes}
    return from_preset(TrialSettings(**given))[1]


def run(training, *, seed=0, folder=None, progress=None, key="k", shape=SHAPE):
    return train(
        shape, training, encode_pairs(TEXT, VOCABULARY), encode_pairs(VALID, VOCABULARY),
        VOCABULARY.size + OFFSET, seed=seed, device=CPU, folder=folder, key=key, progress=progress,
    )  # fmt: skip


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
    training = settings(learning_rate=2e-3, warmup=100)
    assert learning_rate(training, 50) == pytest.approx(1e-3)
    assert learning_rate(training, 100) == pytest.approx(2e-3)
    assert learning_rate(training, 400) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "changes", [{}, {"accumulate": 3}, {"epochs": 1.5, "batch_unit": "characters"}]
)
def test_a_stopped_run_goes_on_to_the_same_model(tmp_path, changes):
    if "epochs" in changes:
        changes = {**changes, "updates": None}
    training = settings(**changes)
    whole = run(training)
    for stop in (2, 5, 8):
        with pytest.raises(Stop):
            run(training, folder=tmp_path, progress=StopAt(stop))
    resumed = run(training, folder=tmp_path)
    assert digest(resumed.model) == digest(whole.model)
    assert resumed.history == whole.history
    assert (resumed.updates, resumed.pairs) == (whole.updates, whole.pairs)
    assert resumed.loss_per_character == whole.loss_per_character


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
    often, seldom = (run(settings(checkpoints=one, average=1)) for one in (12, 2))
    assert digest(often.model) == digest(seldom.model)


def test_accumulated_batches_are_one_large_batch():
    """Without dropout the step over two batches is that over both together."""
    text = encode_pairs(TEXT, VOCABULARY)
    weights = []
    for group in ([np.arange(7), np.arange(7, 30)], [np.arange(30)]):
        torch.manual_seed(0)
        model = build_model(replace(SHAPE, dropout=0.0), VOCABULARY.size + OFFSET)
        state = _State(model, torch.optim.SGD(model.parameters(), lr=1.0))
        _update(state, settings(learning_rate=1.0, warmup=1), text, group, CPU)
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
    losses = [one.loss_per_character for one in trained.history]
    assert trained.stopped_early
    assert losses.index(min(losses)) == len(losses) - 3
    assert trained.updates < 200
    assert not run(settings()).stopped_early


def test_a_budget_of_minutes_is_spent():
    trained = run(settings(updates=None, minutes=0.01, checkpoints=2))
    assert trained.train_seconds >= 0.6
    assert trained.all_seconds > trained.train_seconds
    assert 1 <= len(trained.history) <= 2  # one where the first half takes all of the time


def test_divergence_is_told_in_words():
    for updates in (12, 1):  # in the midst, and in the last update, when only measuring tells
        with pytest.raises(InputError, match="lower `learning_rate`"):
            run(settings(learning_rate=1e38, warmup=1, updates=updates, checkpoints=1))


def test_loss_per_character_is_the_same_sum_for_every_vocabulary():
    """A model that knows nothing spends ln V on every token: that is known exactly."""
    for spec in ("char", "bpe:320"):
        vocabulary = make_vocabulary(spec, LINES)
        text = encode_pairs(VALID, vocabulary)
        tokens = vocabulary.size + OFFSET
        model = build_model(SHAPE, tokens)
        with torch.no_grad():
            for one in model.parameters():
                one.zero_()
        expected = math.log(tokens) * sum(len(ids) + 1 for ids in text.target)
        expected /= sum(len(line) + 1 for line in VALID.target)
        assert loss_per_character(model, text, settings(), CPU) == pytest.approx(expected, rel=1e-4)


def test_average_is_the_mean_of_floats():
    mean = average([
        {"a": torch.tensor([1.0, 2.0]), "n": torch.tensor(1)},
        {"a": torch.tensor([3.0, 6.0]), "n": torch.tensor(2)},
    ])  # fmt: skip
    assert mean["a"].tolist() == [2.0, 4.0]
    assert mean["n"].item() == 2
