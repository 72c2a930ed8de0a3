"""Beam search, many sentences at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from volt.base.progress import Report
from volt.trial.data import END, OFFSET, PAD, padded
from volt.trial.models import TranslationModel
from volt.trial.presets import MOST_TOKENS, Training

SENTENCES = 64
"""Sentences translated at a time."""


@torch.inference_mode()
def translate(
    model: TranslationModel,
    sources: Sequence[NDArray[np.int32]],
    settings: Training,
    *,
    never: Sequence[int] = (),
    report: Report = lambda done: None,
) -> list[list[int]]:
    """The best hypothesis for each source, as ids of the vocabulary. `never` are ids of the model
    that must not be generated."""
    model.eval()
    found: list[list[int]] = [[] for _ in sources]
    order = sorted(range(len(sources)), key=lambda number: (len(sources[number]), number))
    # An empty line is translated as an empty line; a model would make something up.
    order = [number for number in order if len(sources[number])]
    for start in range(0, len(order), SENTENCES):
        some = order[start : start + SENTENCES]
        batch = torch.from_numpy(padded([sources[number] for number in some])).to(model.device)
        for number, ids in zip(some, _search(model, batch, settings, never), strict=True):
            found[number] = [one - OFFSET for one in ids]
        report(start + len(some))
    return found


def _search(
    model: TranslationModel, source: torch.Tensor, settings: Training, never: Sequence[int]
) -> list[list[int]]:
    """Beam search. A hypothesis is finished when it ends among the best `beam` of its sentence; a
    sentence is done when it has `beam` finished ones, or at the longest length."""
    beam, sentences = settings.beam, len(source)
    device = source.device
    longest = min(MOST_TOKENS - 1, 2 * source.shape[1] + 20)
    state = model.start(source, beam)
    tokens = torch.full((sentences * beam,), PAD, device=device)
    # At first all hypotheses of a sentence are the same: let one of them speak.
    scores = torch.full((sentences, beam), -math.inf, device=device)
    scores[:, 0] = 0
    prefixes = torch.zeros((sentences * beam, 0), dtype=torch.long, device=device)
    finished: list[list[tuple[float, list[int]]]] = [[] for _ in range(sentences)]
    alive = list(range(sentences))
    for length in range(1, longest + 1):
        logits = model.logits(model.step(tokens, state))
        logits[:, [PAD, *never]] = -math.inf
        words = logits.shape[1]
        probabilities = _only_end(logits) if length == longest else logits.log_softmax(-1)
        total = (scores.reshape(-1, 1) + probabilities).reshape(len(alive), beam * words)
        # Twice the beam, so that enough remain should all of the best be finished.
        best, places = total.topk(min(2 * beam, beam * words), 1)
        chosen: list[int] = []
        next_tokens: list[int] = []
        next_scores: list[list[float]] = []
        next_alive: list[int] = []
        for row, (values, where) in enumerate(zip(best.tolist(), places.tolist(), strict=True)):
            going: list[tuple[float, int, int]] = []
            for rank, (value, place) in enumerate(zip(values, where, strict=True)):
                parent, token = row * beam + place // words, place % words
                if value == -math.inf:
                    continue
                if token == END:
                    if rank < beam:
                        normed = value / length**settings.length_penalty
                        finished[alive[row]].append((normed, prefixes[parent].tolist()))
                elif len(going) < beam:
                    going.append((value, parent, token))
            if len(finished[alive[row]]) >= beam or not going:
                continue
            while len(going) < beam:  # a vocabulary smaller than the beam
                going.append((-math.inf, going[0][1], going[0][2]))
            next_alive.append(alive[row])
            next_scores.append([value for value, _, _ in going])
            chosen += [parent for _, parent, _ in going]
            next_tokens += [token for _, _, token in going]
        alive = next_alive
        if not alive:
            break
        rows = torch.tensor(chosen, device=device)
        tokens = torch.tensor(next_tokens, device=device)
        scores = torch.tensor(next_scores, device=device)
        prefixes = torch.cat([prefixes[rows], tokens[:, None]], 1)
        state = model.select(state, rows)
    # max keeps the first of equals: the one that was finished first.
    return [max(one, key=lambda pair: pair[0])[1] if one else [] for one in finished]


def _only_end(logits: torch.Tensor) -> torch.Tensor:
    """At the longest length a hypothesis can only end, at no cost."""
    found = torch.full_like(logits, -math.inf)
    found[:, END] = torch.where(logits[:, END] == -math.inf, -math.inf, 0.0)
    return found
