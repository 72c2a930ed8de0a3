"""Two language models: a decoder-only Transformer and gated causal convolutions.

Both predict every token of a sentence from those before it. The table of embeddings is the output
layer too, so that a row of the vocabulary costs the same in both.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from volt.trial.data import PAD
from volt.trial.models import HALF, Stack, TrialModel
from volt.trial.presets import MOST_TOKENS, Shape


class LanguageModel(TrialModel):
    """What training asks of a model that reads one side only."""

    def __init__(self, shape: Shape, tokens: int) -> None:
        super().__init__()
        self.dropout = shape.dropout
        self.embedding = nn.Embedding(tokens, shape.width, padding_idx=PAD)

    def forward(self, given: Tensor) -> Tensor:
        """The last layer at every position; `given` starts with PAD."""
        raise NotImplementedError

    def logits(self, hidden: Tensor) -> Tensor:
        return functional.linear(hidden, self.embedding.weight)

    def drop(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout, self.training)


class DecoderTransformer(LanguageModel):
    """Pre-norm (Radford et al. 2019), fixed sinusoidal positions, GELU."""

    def __init__(self, shape: Shape, tokens: int) -> None:
        super().__init__(shape, tokens)
        nn.init.normal_(self.embedding.weight, 0, shape.width**-0.5)
        with torch.no_grad():
            self.embedding.weight[PAD] = 0
        self.scale = math.sqrt(shape.width)
        self.register_buffer("positions", _sinusoids(shape.width), persistent=False)
        self.blocks = nn.ModuleList(_Block(shape) for _ in range(shape.decoder_layers))
        self.norm = nn.LayerNorm(shape.width)

    def forward(self, given: Tensor) -> Tensor:
        places = cast(Tensor, self.positions)[: given.shape[1]]
        hidden = self.drop(self.embedding(given) * self.scale + places)
        for block in self.blocks:
            hidden = block(hidden)
        return cast(Tensor, self.norm(hidden))


class _Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, inner = shape.width, shape.inner
        self.heads, self.dropout = shape.heads, shape.dropout
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.leave = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, inner), nn.Linear(inner, width)
        for layer in (self.attend, self.leave, self.widen, self.narrow):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        # The sum over layers keeps its variance (Radford et al. 2019).
        with torch.no_grad():
            for layer in (self.leave, self.narrow):
                layer.weight /= math.sqrt(2 * shape.decoder_layers)

    def forward(self, hidden: Tensor) -> Tensor:
        rows, length, width = hidden.shape
        parts = self.attend(self.first(hidden)).view(rows, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        # Rows are padded at their end: the causal mask hides padding from what counts. Written out,
        # because torch's own attention takes twice the time for short rows in bfloat16 on a CPU.
        later = torch.ones(length, length, dtype=torch.bool, device=hidden.device).triu(1)
        scores = (query @ key.transpose(-1, -2)).div(math.sqrt(query.shape[-1]))
        read = scores.masked_fill(later, -math.inf).softmax(-1) @ value
        read = self.leave(read.transpose(1, 2).reshape(rows, length, width))
        hidden = hidden + functional.dropout(read, self.dropout, self.training)
        found = self.narrow(functional.gelu(self.widen(self.second(hidden))))
        return hidden + functional.dropout(found, self.dropout, self.training)


class CausalConvolutional(LanguageModel):
    """The decoder of Gehring et al. (2017) without an encoder: gated convolutions over what came
    before, residuals scaled by sqrt(0.5), learned positions."""

    def __init__(self, shape: Shape, tokens: int) -> None:
        super().__init__(shape, tokens)
        self.places = nn.Embedding(MOST_TOKENS + 1, shape.width)
        for table in (self.embedding, self.places):
            nn.init.normal_(table.weight, 0, 0.1)
        with torch.no_grad():
            self.embedding.weight[PAD] = 0
        self.stack = Stack(shape.width, shape.decoder_convolutions, shape.dropout)

    def forward(self, given: Tensor) -> Tensor:
        places = torch.arange(given.shape[1], device=given.device)
        embedded = self.drop(self.embedding(given) + self.places(places))
        hidden = self.stack.enter(embedded)
        for number, layer in enumerate(self.stack.layers):
            windowed = functional.pad(hidden, (0, 0, self.stack.kernels[number] - 1, 0))
            convolved = functional.glu(layer(self.drop(windowed).transpose(1, 2)), 1)
            carried = self.stack.carry(number, hidden)
            hidden = (convolved.transpose(1, 2) + carried) * HALF
        return self.drop(self.stack.leave(hidden))


def _sinusoids(width: int) -> Tensor:
    """Positions as in Vaswani et al. (2017): a row per position, sines first."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(MOST_TOKENS + 1)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)[:, :width]
