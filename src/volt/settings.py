"""Every option, declared once: its name, its meaning, its default and the values it accepts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from volt.base.errors import SettingsError
from volt.choosing.criteria import CRITERIA, MODEL_WIDTH
from volt.choosing.entropy import Length
from volt.choosing.transport import EPSILON, GAMMA, THRESHOLD
from volt.counting.counts import MOST, Pretokenizer, check_at_least, check_choice
from volt.counting.inputs import Normalization, OnInvalid
from volt.proposing.sources import DEFAULT_ENCODING, Source, parse_source
from volt.tokenizing.vocabulary import (
    DEFAULT_SPECIAL,
    Encoding,
    MergeEncoding,
    MergeRule,
    Unknown,
)

MULTILINGUAL_MERGES = 300_000
BOOTSTRAP = 20

Rank = Literal["frequency", "merge"]
InputFormat = Literal["auto", "text", "counts"]
Weight = float | str | Fraction


@dataclass(frozen=True)
class CountSettings:
    """How text is read and cut into words."""

    pretokenizer: Pretokenizer | None = None
    """How lines are cut into words; metaspace unless a counts file among the inputs differs."""
    normalize: Normalization | None = None
    """Unicode normalisation; none unless a counts file among the inputs says otherwise."""
    max_word_length: int | None = None
    """Longer words are cut, in characters; 64 unless a counts file among the inputs differs."""
    on_invalid: OnInvalid = "error"
    """What to do with invalid UTF-8."""
    min_count: int = 1
    """Leave out words rarer than this."""
    max_types: int | None = None
    """Keep at most this many word types (lossy)."""
    weights: Iterable[Weight] | Weight | None = None
    """Weight of all inputs, or one per input, in order."""
    glob: str = "*"
    """Which files of a folder are read."""
    input_format: InputFormat = "auto"
    """Are the inputs text or word counts?"""

    def __post_init__(self) -> None:
        check_choice("pretokenizer", self.pretokenizer, get_args(Pretokenizer))
        check_choice("normalize", self.normalize, get_args(Normalization))
        check_choice("on_invalid", self.on_invalid, get_args(OnInvalid))
        check_choice("input_format", self.input_format, get_args(InputFormat))
        check_at_least("max_word_length", self.max_word_length, 2)
        if self.max_word_length is not None and self.max_word_length > MOST:
            raise SettingsError(
                f"max_word_length is at most {MOST:,}, not {self.max_word_length:,}"
            )
        check_at_least("min_count", self.min_count, 1)
        check_at_least("max_types", self.max_types, 1)


@dataclass(frozen=True)
class LearnSettings:
    """What can be set in `learn`, beside how text is read (`volt.count`)."""

    criterion: str = "muv"
    """Which criterion decides: muv (the paper), mdl, frequency, renyi, zipf, knee."""
    size: int | None = None
    """Instead of a criterion: how many tokens the vocabulary has in all."""
    sizes: str | Sequence[int] | None = None
    """S, where transport is solved: START:STOP:STEP or a list; the paper's by default."""
    multilingual: bool = False
    """The paper's setting for many languages: 300,000 candidates, S = 40K, 50K, ..., 160K."""
    candidates: str | None = None
    """Where candidates come from: bpe:N (the default), unigram:N, wordpiece:N, substring:N or
    file:PATH."""
    merges: int | None = None
    """Candidates to make, whatever `candidates` says; 100,000 by default."""
    rank: Rank | None = None
    """Which candidates come first; by frequency for muv and where there are no merges, by merge for
    the others."""
    length: Length = "types"
    """The mean length in H: over types (the paper) or over occurrences."""
    gamma: float = GAMMA
    epsilon: float = EPSILON
    threshold: float = THRESHOLD
    """Tokens that get less than this share of the mass they ask for are dropped."""
    model_width: int = MODEL_WIDTH
    """Parameters of one embedding, the price of a token in mdl."""
    bootstrap: int = BOOTSTRAP
    """Draws of the word counts for the intervals."""
    seed: int = 0
    coverage: float | None = None
    max_token_length: int | None = None
    min_frequency: int = 2
    encoding: Encoding | None = None
    """merge or split, for candidates with parents; longest or unigram, for all. By default merge
    for BPE, longest for WordPiece, unigram for the others."""
    merge_rule: MergeRule | None = None
    unknown: Unknown | None = None
    special: Sequence[str] = DEFAULT_SPECIAL
    symbols: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("rank", self.rank, get_args(Rank))
        check_choice("length", self.length, get_args(Length))
        check_choice("encoding", self.encoding, get_args(Encoding))
        check_at_least("size", self.size, 1)
        check_at_least("model_width", self.model_width, 1)
        check_at_least("threshold", self.threshold, 0)
        if not 0 <= self.seed < 1 << 64:
            raise SettingsError(f"seed is at least 0 and below 2^64, not {self.seed}")

    @property
    def decides(self) -> str:
        return self.criterion if self.size is None else "size"

    @property
    def source(self) -> Source:
        if self.candidates is not None:
            named = parse_source(self.candidates)
        else:
            named = parse_source(f"bpe:{MULTILINGUAL_MERGES}" if self.multilingual else "bpe")
        if self.merges is None or named.kind == "file":
            return named
        check_at_least("merges", self.merges, 0)
        return replace(named, number=self.merges)

    @property
    def encoded_by(self) -> Encoding:
        return self.encoding or DEFAULT_ENCODING[self.source.kind]

    @property
    def looked_up(self) -> bool:
        """Are tokens looked up in words, and not merged?"""
        return self.encoded_by not in get_args(MergeEncoding)

    @property
    def ranked_by(self) -> Rank:
        """For criteria that read the curve, and for fixed sizes."""
        return self.rank or ("frequency" if self.looked_up else "merge")
