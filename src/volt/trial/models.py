"""The two translation models, each an encoder and a decoder that share their embeddings.

Both offer the same few calls: `forward` for training (every position at once) and `start`, `step`,
`select` for translation (one position at a time). They return what comes before the output layer;
`logits` is that layer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from volt.base.errors import SettingsError
from volt.trial.data import PAD
from volt.trial.presets import MOST_TOKENS, Shape


class TrialModel(nn.Module, ABC):
    """What training asks of every model."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """The output layer."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def parameter_count(self) -> int:
        return sum(one.numel() for one in self.parameters() if one.requires_grad)


class TranslationModel(TrialModel):
    """What training and beam search ask of a model."""

    @abstractmethod
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """The decoder's last layer at every target position; `target` starts with PAD."""

    @abstractmethod
    def start(self, source: Tensor, beam: int) -> Any:
        """Encode the source, each sentence `beam` times, for `step`."""

    @abstractmethod
    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """The last layer after one more token of each hypothesis."""

    @abstractmethod
    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of some hypotheses, in this order."""


def build_model(shape: Shape, tokens: int) -> TrialModel:
    """A model with fresh weights, drawn from torch's generator, for `tokens` ids. A shape without
    an encoder is a language model."""
    from volt.trial.language_models import CausalConvolutional, DecoderTransformer

    if shape.model == "transformer":
        if shape.width % shape.heads:
            raise SettingsError(f"width {shape.width} is not a multiple of {shape.heads} heads")
        return (Transformer if shape.encoder_layers else DecoderTransformer)(shape, tokens)
    return (Convolutional if shape.encoder_layers else CausalConvolutional)(shape, tokens)


# -------------------------------------------------------------------------------------- transformer


@dataclass
class _TransformerState:
    memory: Tensor
    mask: Tensor
    cache: Any
    length: int


class Transformer(TranslationModel):
    """Marian's transformer (post-norm, sinusoidal positions, ReLU), from a configuration."""

    def __init__(self, shape: Shape, tokens: int) -> None:
        super().__init__()
        from volt.base.extras import need

        transformers = need("transformers", "trial")
        config = transformers.MarianConfig(
            vocab_size=tokens, decoder_vocab_size=tokens, d_model=shape.width,
            encoder_layers=shape.encoder_layers, decoder_layers=shape.decoder_layers,
            encoder_attention_heads=shape.heads, decoder_attention_heads=shape.heads,
            encoder_ffn_dim=shape.inner, decoder_ffn_dim=shape.inner,
            dropout=shape.dropout, attention_dropout=0.0, activation_dropout=0.0,
            activation_function="relu", scale_embedding=True, init_std=shape.width**-0.5,
            max_position_embeddings=MOST_TOKENS, share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True, pad_token_id=PAD, decoder_start_token_id=PAD,
            eos_token_id=1, forced_eos_token_id=None,
            # Torch's own attention takes twice the time for short rows in bfloat16 on a CPU.
            attn_implementation="eager",
        )  # fmt: skip
        self.body = transformers.MarianModel(config)
        # Linear layers as Glorot and Bengio (2010) draw them, as the transformer paper's code did;
        # init_std is for the embeddings.
        for module in self.body.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        # Target rows are padded at their end only: the causal mask hides what is padding from
        # every position that counts.
        found = self.body(
            input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target,
            use_cache=False,
        )  # fmt: skip
        return cast(Tensor, found.last_hidden_state)

    def logits(self, hidden: Tensor) -> Tensor:
        return functional.linear(hidden, self.body.shared.weight)

    def start(self, source: Tensor, beam: int) -> _TransformerState:
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache

        mask = (source != PAD).long()
        memory = self.body.encoder(input_ids=source, attention_mask=mask).last_hidden_state
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        return _TransformerState(
            memory.repeat_interleave(beam, 0), mask.repeat_interleave(beam, 0), cache, 0
        )

    def step(self, tokens: Tensor, state: _TransformerState) -> Tensor:
        found = self.body.decoder(
            input_ids=tokens[:, None], encoder_hidden_states=state.memory,
            encoder_attention_mask=state.mask, past_key_values=state.cache, use_cache=True,
        )  # fmt: skip
        state.cache = found.past_key_values
        state.length += 1
        return cast(Tensor, found.last_hidden_state[:, -1])

    def select(self, state: _TransformerState, rows: Tensor) -> _TransformerState:
        state.cache.reorder_cache(rows)
        return _TransformerState(state.memory[rows], state.mask[rows], state.cache, state.length)


# ------------------------------------------------------------------------------------ convolutional


@dataclass
class _ConvolutionalState:
    keys: Tensor
    values: Tensor
    mask: Tensor
    windows: list[Tensor]
    """The last kernel - 1 inputs of each decoder layer."""
    length: int


class Convolutional(TranslationModel):
    """Gehring et al. (2017): gated convolutions, residuals scaled by sqrt(0.5), attention after
    every decoder layer, learned positions."""

    def __init__(self, shape: Shape, tokens: int) -> None:
        super().__init__()
        width = shape.width
        self.dropout = shape.dropout
        self.embedding = nn.Embedding(tokens, width, padding_idx=PAD)
        self.source_positions = nn.Embedding(MOST_TOKENS, width)
        self.target_positions = nn.Embedding(MOST_TOKENS + 1, width)
        for table in (self.embedding, self.source_positions, self.target_positions):
            nn.init.normal_(table.weight, 0, 0.1)
        with torch.no_grad():
            self.embedding.weight[PAD] = 0
        self.encoder = Stack(width, shape.encoder_convolutions, shape.dropout)
        self.decoder = Stack(width, shape.decoder_convolutions, shape.dropout)
        channels = [out for out, _ in shape.decoder_convolutions]
        self.queries = nn.ModuleList(_linear(one, width) for one in channels)
        self.attended = nn.ModuleList(_linear(width, one) for one in channels)
        # From here on every layer of the encoder gets the gradients of all attentions; the paper
        # divides them by their number.
        self.attentions = len(channels)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        keys, values = self._encode(source)
        mask = source == PAD
        embedded = self._embed(target, self.target_positions, 0)
        hidden = self.decoder.enter(embedded)
        for number, layer in enumerate(self.decoder.layers):
            kernel = self.decoder.kernels[number]
            windowed = functional.pad(hidden, (0, 0, kernel - 1, 0))
            hidden = self._layer(number, layer, hidden, windowed, embedded, keys, values, mask)
        return self._drop(self.decoder.leave(hidden))

    def logits(self, hidden: Tensor) -> Tensor:
        return functional.linear(hidden, self.embedding.weight)

    def start(self, source: Tensor, beam: int) -> _ConvolutionalState:
        keys, values = self._encode(source)
        rows = len(source) * beam
        windows = [
            keys.new_zeros(rows, kernel - 1, channels)
            for channels, kernel in zip(self.decoder.inputs, self.decoder.kernels, strict=True)
        ]
        return _ConvolutionalState(
            keys.repeat_interleave(beam, 0), values.repeat_interleave(beam, 0),
            (source == PAD).repeat_interleave(beam, 0), windows, 0,
        )  # fmt: skip

    def step(self, tokens: Tensor, state: _ConvolutionalState) -> Tensor:
        embedded = self._embed(tokens[:, None], self.target_positions, state.length)
        hidden = self.decoder.enter(embedded)
        for number, layer in enumerate(self.decoder.layers):
            windowed = torch.cat([state.windows[number], hidden], 1)
            state.windows[number] = windowed[:, 1:]
            hidden = self._layer(
                number, layer, hidden, windowed, embedded, state.keys, state.values, state.mask
            )
        state.length += 1
        return cast(Tensor, self.decoder.leave(hidden)[:, -1])

    def select(self, state: _ConvolutionalState, rows: Tensor) -> _ConvolutionalState:
        return _ConvolutionalState(
            state.keys[rows], state.values[rows], state.mask[rows],
            [window[rows] for window in state.windows], state.length,
        )  # fmt: skip

    def _embed(self, tokens: Tensor, positions: nn.Embedding, first: int) -> Tensor:
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        return self._drop(self.embedding(tokens) + positions(places))

    def _encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """What the decoder attends to, and what it reads there."""
        outside = (source == PAD)[..., None]
        embedded = self._embed(source, self.source_positions, 0)
        hidden = self.encoder.enter(embedded)
        for number, layer in enumerate(self.encoder.layers):
            kernel = self.encoder.kernels[number]
            inside = hidden.masked_fill(outside, 0)
            windowed = functional.pad(inside, (0, 0, (kernel - 1) // 2, kernel // 2))
            convolved = functional.glu(layer(self._drop(windowed).transpose(1, 2)), 1)
            hidden = (convolved.transpose(1, 2) + self.encoder.carry(number, hidden)) * HALF
        keys = self.encoder.leave(hidden)
        if keys.requires_grad:
            keys.register_hook(lambda gradient: gradient / self.attentions)
        return keys, (keys + embedded) * HALF

    def _layer(
        self,
        number: int,
        layer: nn.Module,
        hidden: Tensor,
        windowed: Tensor,
        embedded: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
    ) -> Tensor:
        convolved = functional.glu(layer(self._drop(windowed).transpose(1, 2)), 1).transpose(1, 2)
        query = (self.queries[number](convolved) + embedded) * HALF
        scores = (query @ keys.transpose(1, 2)).masked_fill(mask[:, None], -math.inf)
        read = scores.softmax(-1) @ values
        lengths = (~mask).sum(1)[:, None, None]
        read = self.attended[number](read * lengths.sqrt())
        found = ((convolved + read) * HALF + self.decoder.carry(number, hidden)) * HALF
        return cast(Tensor, found)

    def _drop(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout, self.training)


class Stack(nn.Module):
    """Convolutions with gates, and the linear maps into, out of and around them."""

    def __init__(
        self, width: int, convolutions: tuple[tuple[int, int], ...], dropout: float
    ) -> None:
        super().__init__()
        outputs = [channels for channels, _ in convolutions]
        self.inputs = [outputs[0], *outputs[:-1]]
        self.kernels = [kernel for _, kernel in convolutions]
        self.enter = _linear(width, outputs[0])
        self.layers = nn.ModuleList()
        self.carries = nn.ModuleList()
        for before, (channels, kernel) in zip(self.inputs, convolutions, strict=True):
            layer = nn.Conv1d(before, 2 * channels, kernel)
            # Keeps the variance of the input, given that GLU halves it and dropout raises it.
            nn.init.normal_(layer.weight, 0, math.sqrt(4 * (1 - dropout) / (kernel * before)))
            nn.init.zeros_(cast(Tensor, layer.bias))
            self.layers.append(nn.utils.parametrizations.weight_norm(layer, dim=0))
            self.carries.append(nn.Identity() if before == channels else _linear(before, channels))
        self.leave = _linear(outputs[-1], width)

    def carry(self, number: int, hidden: Tensor) -> Tensor:
        return cast(Tensor, self.carries[number](hidden))


HALF = math.sqrt(0.5)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, 0, math.sqrt(1 / inputs))
    nn.init.zeros_(layer.bias)
    return layer
