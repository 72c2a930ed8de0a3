"""Train one model: updates, checkpoints, the best of them or the average of the last ones.

Everything that decides the next update is in the `_State`: a run that is killed resumes from its
last checkpoint and gives the same model, bit for bit on one CPU with the same number of threads.
With a budget in minutes, the clock decides the number of updates and nothing else.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from volt.base.errors import InputError
from volt.base.output import write_file
from volt.base.progress import Progress, Report
from volt.trial.data import PAD, EncodedText, batches, padded
from volt.trial.models import TrialModel, build_model
from volt.trial.presets import Shape, Training

CHECKPOINT = "checkpoint.pt"

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class CheckpointRecord:
    """What was measured at a checkpoint."""

    update: int
    epoch: float
    train_loss: float
    """Nats per token since the last checkpoint, label smoothing included."""
    bits_per_byte: float
    """Validation: bits per byte of the target, line ends included, no smoothing."""


@dataclass(frozen=True)
class Trained:
    """A model and how it was trained."""

    model: TrialModel = field(repr=False)
    history: list[CheckpointRecord]
    updates: int
    epochs: float
    sentences: int
    """Training lines or pairs seen, in all."""
    bits_per_byte: float
    """On the validation text."""
    averaged: int
    """Checkpoints that the model is the average of; 1: it is the best checkpoint."""
    stopped_early: bool
    train_seconds: float
    """Wall time of the updates alone."""
    cpu_seconds: float
    """Processor time of the updates alone: what a busy machine does not change."""
    all_seconds: float
    """Wall time with validation and checkpoints, of all processes that trained it."""


@dataclass
class _State:
    """Where training stands. Plain data and tensors, so that loading runs no code."""

    model: TrialModel
    optimizer: torch.optim.Optimizer
    update: int = 0
    epoch: int = 0
    batch: int = 0
    """Batches of this epoch that are done."""
    sentences: int = 0
    bytes: int = 0
    """Target bytes trained on."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    all_seconds: float = 0.0
    measured: float = 0.0
    """Seconds of the longest measurement of the validation loss."""
    loss_sum: float = 0.0
    loss_tokens: int = 0
    history: list[CheckpointRecord] = field(default_factory=list)
    last: list[Weights] = field(default_factory=list)
    """The models of the last checkpoints, oldest first."""
    best: Weights = field(default_factory=dict)
    """The model of the best checkpoint."""
    done: bool = False

    def save(self, path: Path, key: str) -> None:
        plain = {
            name: value for name, value in vars(self).items()
            if name not in ("model", "optimizer", "history")
        }  # fmt: skip
        plain["history"] = [list(vars(one).values()) for one in self.history]
        data = io.BytesIO()  # torch makes errors of its own of those of a disk
        torch.save(
            {
                "key": key, "plain": plain, "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(), "random": random_state(),
            },
            data,
        )  # fmt: skip
        write_file(path, data.getbuffer())

    def load(self, path: Path, key: str, device: torch.device) -> None:
        try:
            stored = torch.load(path, map_location=device, weights_only=True)
            if stored["key"] != key:
                raise InputError(f"{path} belongs to another trial: remove it")
            self.model.load_state_dict(stored["model"])
            self.optimizer.load_state_dict(stored["optimizer"])
            for name, value in stored["plain"].items():
                setattr(self, name, value)
            self.history = [CheckpointRecord(*one) for one in stored["plain"]["history"]]
            set_random_state(stored["random"])
        except InputError:
            raise
        except Exception as error:  # a damaged file makes torch raise anything
            raise InputError(f"{path} can't be read ({error}): remove it") from error


def train(
    shape: Shape,
    settings: Training,
    text: EncodedText,
    valid: EncodedText,
    tokens: int,
    *,
    seed: int,
    device: torch.device,
    later: int = 0,
    folder: Path | None = None,
    key: str = "",
    progress: Progress | None = None,
    name: str = "training",
) -> Trained:
    """Train a model with `tokens` ids. `folder` keeps the checkpoint; `key` identifies the run that
    it belongs to.

    A budget in minutes leaves time for measuring `later` bytes after the training.
    """
    # 1. How many updates.
    per_epoch = math.ceil(
        sum(1 for _ in _epoch_batches(text, settings, seed, 0)) / settings.accumulate
    )
    # What is measured after the last update: the last checkpoint, the average, and `later`.
    after = 2 * int(valid.bytes.sum()) + later
    budget = _Budget(settings, per_epoch, after / max(1, int(valid.bytes.sum())))

    # 2. A fresh model, or where the last run stopped.
    torch.manual_seed(seed)
    model = build_model(shape, tokens).to(device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=settings.learning_rate, betas=settings.adam_betas, eps=1e-9,
        fused=device.type in ("cpu", "cuda"),
    )  # fmt: skip
    state = _State(model, optimizer)
    path = folder / CHECKPOINT if folder else None
    if path and path.exists():
        state.load(path, key, device)

    def save() -> None:
        if path:
            state.save(path, key)

    # 3. Updates, until the budget is spent.
    stage = (progress or Progress()).stage(name, budget.total, budget.unit)
    with keep_freed_memory(), stage as report:
        _run(state, settings, text, valid, seed, budget, save, report)
    ended = time.perf_counter()

    # 4. The average of the last checkpoints, or the best one if it does better.
    averaged, loss = _take_best(state, valid, settings)
    return Trained(
        model=model,
        history=state.history,
        updates=state.update,
        epochs=state.update / per_epoch,
        sentences=state.sentences,
        bits_per_byte=loss,
        averaged=averaged,
        stopped_early=not budget.spent(state),
        train_seconds=state.seconds,
        cpu_seconds=state.cpu_seconds,
        all_seconds=state.all_seconds + time.perf_counter() - ended,
    )


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
MALLOC_DEFAULT = 128 * 1024


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Have glibc keep large blocks that are freed.

    An update makes and frees arrays of tens of megabytes, the logits. By default each gets new
    pages from the system, which clears them. That is more than half of the time of the output layer
    on a CPU (500 tokens, 32,000 rows, forward and backward: 131 ms by default, 53 ms with this).
    """
    try:
        library = ctypes.CDLL(None)
        change, trim = library.mallopt, library.malloc_trim
    except (OSError, TypeError, AttributeError):  # another C library
        yield
        return
    for option in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
        change(option, 2**31 - 1)
    try:
        yield
    finally:
        for option in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
            change(option, MALLOC_DEFAULT)
        trim(0)


def _take_best(state: _State, valid: EncodedText, settings: Training) -> tuple[int, float]:
    """Give the model its last weights; of how many checkpoints they are the average, and their
    loss."""
    best = min(one.bits_per_byte for one in state.history)
    averaged, loss = 1, best
    if len(state.last) > 1:
        state.model.load_state_dict(average(state.last))
        loss = mean_bits(state.model, valid, settings)
        averaged = len(state.last)
    if not loss < best:
        state.model.load_state_dict(state.best)
        averaged, loss = 1, best
    if not math.isfinite(loss):
        raise _diverged(state.update, loss)
    return averaged, loss


class _Budget:
    """When to stop, and when to save a checkpoint.

    A budget in minutes counts the wall time of updates, validation and checkpoints. It ends early
    enough for what is measured after it: `after` validation texts.
    """

    def __init__(self, settings: Training, per_epoch: int, after: float) -> None:
        self.seconds = None if settings.minutes is None else settings.minutes * 60
        self.updates = settings.updates
        self.after = after
        if settings.epochs is not None:
            self.updates = max(1, round(settings.epochs * per_epoch))
        whole = self.seconds if self.updates is None else self.updates
        self.whole = float(whole or 0)
        self.step = self.whole / settings.checkpoints
        self.total = int(self.whole)
        self.unit = "s" if self.updates is None else "updates"

    def position(self, state: _State) -> float:
        return state.all_seconds if self.updates is None else state.update

    def part(self, state: _State) -> float:
        """How much of the budget is spent, from 0 to 1."""
        return min(1.0, (self.position(state) + self._reserved(state)) / self.whole)

    def spent(self, state: _State) -> bool:
        return self.part(state) >= 1

    def checkpoint_due(self, state: _State) -> bool:
        # Measuring takes no more than a quarter of the time.
        step = self.step if self.updates is not None else max(self.step, 4 * state.measured)
        return self.spent(state) or self.position(state) >= (len(state.history) + 1) * step

    def _reserved(self, state: _State) -> float:
        """Seconds needed after the next update; measured, or else as if it were training."""
        if self.updates is not None:
            return 0.0
        return self.after * state.measured + 2 * state.seconds / max(1, state.update)


def _run(
    state: _State,
    settings: Training,
    text: EncodedText,
    valid: EncodedText,
    seed: int,
    budget: _Budget,
    save: Callable[[], None],
    report: Report,
) -> None:
    begun = time.perf_counter() - state.all_seconds
    valid_bytes = int(valid.bytes.sum())
    while not state.done:
        epoch = _epoch_batches(text, settings, seed, state.epoch)
        for _ in islice(epoch, state.batch):
            pass
        while group := list(islice(epoch, settings.accumulate)):
            started, started_cpu = time.perf_counter(), time.process_time()
            rate = learning_rate(settings, state.update + 1, budget.part(state))
            loss = _update(state, settings, text, group, rate)
            state.seconds += time.perf_counter() - started
            state.cpu_seconds += time.process_time() - started_cpu
            state.all_seconds = time.perf_counter() - begun
            if not state.history:  # a guess, until it is known; training is slower than measuring
                state.measured = state.seconds * valid_bytes / max(1, state.bytes)
            speed = state.sentences / max(state.seconds, 1e-9)
            report(int(budget.position(state)), f"loss {loss:.3f}, {speed:.0f} sentences/s")
            if budget.checkpoint_due(state):
                measuring = time.perf_counter()
                _checkpoint(state, settings, valid, len(text))
                seconds = time.perf_counter() - measuring
                state.measured = max(state.measured if len(state.history) > 1 else 0, seconds)
                state.all_seconds = time.perf_counter() - begun
                state.done = budget.spent(state) or _no_better(state.history, settings.patience)
                save()
                if state.done:
                    return
        state.epoch += 1
        state.batch = 0


def _epoch_batches(
    text: EncodedText, settings: Training, seed: int, epoch: int
) -> Iterator[NDArray[np.int64]]:
    order = np.random.default_rng([seed, epoch])
    return batches(text, settings.batch, settings.batch_unit, order)


def _update(
    state: _State,
    settings: Training,
    text: EncodedText,
    group: list[NDArray[np.int64]],
    rate: float,
) -> float:
    """One step of Adam over a group of batches; returns nats per token."""
    model = state.model
    model.train()
    state.update += 1
    for parameters in state.optimizer.param_groups:
        parameters["lr"] = rate
    count = sum(len(text.target[i]) + 1 for batch in group for i in batch.tolist())
    total = 0.0
    state.optimizer.zero_grad(set_to_none=True)
    faster = torch.autocast(model.device.type, torch.bfloat16, settings.precision == "bfloat16")
    for batch in group:
        with faster:
            loss = _losses(model, text, batch, settings.label_smoothing).sum()
        (loss / count).backward()
        total += loss.item()
        state.sentences += len(batch)
        state.bytes += int(text.bytes[batch].sum())
        state.batch += 1
    if not math.isfinite(total):
        raise _diverged(state.update, total)
    if settings.clip_norm:
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
    state.optimizer.step()
    state.loss_sum += total
    state.loss_tokens += count
    return total / count


def _diverged(update: int, loss: float) -> InputError:
    return InputError(
        f"training diverged at update {update} (the loss is {loss}): "
        "lower `learning_rate` or raise `warmup`"
    )


def learning_rate(settings: Training, update: int, part: float) -> float:
    """Rises in a line over the warm-up, then falls: to zero along a cosine of the part of the
    budget that is spent, or with the inverse square root of the updates. Of a cosine the warm-up
    takes a fifth at most."""
    warmup = max(1, settings.warmup)
    if settings.schedule == "inverse-sqrt":
        return settings.learning_rate * min(update / warmup, math.sqrt(warmup / update))
    rise = min(1.0, max(update / warmup, 5 * part))
    return settings.learning_rate * rise * (1 + math.cos(math.pi * part)) / 2


def _losses(
    model: TrialModel, text: EncodedText, batch: NDArray[np.int64], smoothing: float = 0.0
) -> Tensor:
    """Nats of every target token of a batch, sentence by sentence."""
    numbers, device = batch.tolist(), model.device
    target = torch.from_numpy(padded([text.target[i] for i in numbers])).to(device)
    given = functional.pad(target[:, :-1], (1, 0), value=PAD)
    if text.source is None:
        hidden = model(given)
    else:
        source = torch.from_numpy(padded([text.source[i] for i in numbers])).to(device)
        hidden = model(source, given)
    real = target != PAD
    # The output layer is most of the work: spare it the padding.
    return functional.cross_entropy(
        model.logits(hidden[real]), target[real], reduction="none", label_smoothing=smoothing
    )


def _checkpoint(state: _State, settings: Training, valid: EncodedText, sentences: int) -> None:
    random = random_state()
    record = CheckpointRecord(
        state.update, state.sentences / sentences, state.loss_sum / max(1, state.loss_tokens),
        mean_bits(state.model, valid, settings),
    )  # fmt: skip
    set_random_state(random)
    weights = {name: one.detach().clone() for name, one in state.model.state_dict().items()}
    if not any(one.bits_per_byte <= record.bits_per_byte for one in state.history):
        state.best = weights
    state.history.append(record)
    state.loss_sum, state.loss_tokens = 0.0, 0
    state.last = [*state.last, weights][-settings.average :]


@torch.inference_mode()
def line_bits(model: TrialModel, text: EncodedText, settings: Training) -> NDArray[np.float64]:
    """The bits that a model needs for each target line, its end included."""
    model.eval()
    found = np.zeros(len(text))
    for batch in batches(text, settings.batch, settings.batch_unit):
        losses = _losses(model, text, batch).double().cpu().numpy()
        lengths = [len(text.target[i]) + 1 for i in batch.tolist()]
        found[batch] = np.add.reduceat(losses, np.cumsum([0, *lengths[:-1]]))
    return found / math.log(2)


def mean_bits(model: TrialModel, text: EncodedText, settings: Training) -> float:
    """Bits per byte of the target, its line ends included: comparable across vocabularies."""
    return float(line_bits(model, text, settings).sum() / text.bytes.sum())


def _no_better(history: list[CheckpointRecord], patience: int) -> bool:
    losses = [one.bits_per_byte for one in history]
    return bool(patience) and len(losses) - 1 - int(np.argmin(losses)) >= patience


def average(models: list[Weights]) -> Weights:
    """The mean of each weight; what is not a floating point number is that of the last."""
    return {
        name: torch.stack([one[name] for one in models]).mean(0) if value.is_floating_point()
        else value
        for name, value in models[-1].items()
    }  # fmt: skip


def random_state() -> dict[str, Any]:
    """Of every generator that dropout may draw from."""
    found: dict[str, Any] = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state_all()
    if torch.backends.mps.is_available():
        found["mps"] = torch.mps.get_rng_state()
    return found


def set_random_state(found: dict[str, Any]) -> None:
    torch.set_rng_state(found["cpu"].cpu())
    if "cuda" in found and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([one.cpu() for one in found["cuda"]])
    if "mps" in found and torch.backends.mps.is_available():
        torch.mps.set_rng_state(found["mps"].cpu())


def digest(model: TrialModel) -> str:
    """Tells whether two models are the same, bit for bit."""
    whole = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        whole.update(name.encode())
        whole.update(value.detach().cpu().contiguous().numpy().tobytes())
    return whole.hexdigest()
