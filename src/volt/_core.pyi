"""The native module, src/core. volt.reference has slow, readable twins."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_I64 = NDArray[np.int64]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]

class _Totals(TypedDict):
    words: int
    cut_words: int
    reserved: int
    pruned_words: int
    max_undercount: int

class _Merges(TypedDict):
    text: _U8
    offsets: _U64
    word_final: _U8
    lengths: _U32
    alphabet_counts: _U64
    unknown: int
    left_out: int
    left: _U32
    right: _U32
    pair_counts: _U64
    merge_counts: _U64
    whole_words: _U64

class _CurveSums(TypedDict):
    tokens: _U64
    types: _U64
    type_length: _U64
    f_ln_f: NDArray[np.float64]
    f_power: NDArray[np.float64]
    frequent: _U64

class _LikelihoodMerges(TypedDict):
    left: _U32
    right: _U32
    pair_counts: _U64
    merge_counts: _U64
    tokens: _U32
    offsets: _U64

unicode_version: str

def unicode_class(code_point: int) -> int: ...
def is_sign(code_point: int) -> bool: ...
def letter_case(code_point: int) -> int: ...
def find_invalid_utf8(data: bytes | bytearray | memoryview) -> int: ...
def taken_lines(
    data: bytes | bytearray | memoryview, first: int, level: int
) -> tuple[int, int, _U64, _U64, _U64]: ...
def hash_documents(
    text: bytes | bytearray | memoryview | _U8, ends: _U64, seed: int, lines: bool
) -> _U64: ...
def words_of(text: str, pretokenizer: str) -> list[str]: ...
def cuts_of(text: str, pretokenizer: str) -> list[int]: ...

class Counter:
    def __init__(
        self, pretokenizer: str, max_word_length: int, threads: int, max_types: int, reads: str
    ) -> None: ...
    def feed(
        self, data: bytes | bytearray | memoryview, last: bool, weight: int
    ) -> tuple[int, int, int]: ...
    def feed_documents(self, text: Any, ends: _U64, weight: int) -> tuple[int, int]: ...
    @property
    def between_texts(self) -> bool: ...
    def add_words(self, text: _U8, offsets: _U64, counts: _U64, weight: int) -> None: ...
    def read_words(
        self, data: bytes | bytearray | memoryview, last: bool, weight: int
    ) -> tuple[int, int, str]: ...
    @property
    def totals(self) -> _Totals: ...
    def memory(self, text_bytes: int) -> int: ...
    def spill(self, prefix: str | Path) -> int: ...
    def finish(self, min_count: int) -> tuple[_U8, _U64, _U64]: ...

def merge_runs(
    paths: list[Path], target: Path, buffer: int, progress: Callable[[int], None]
) -> None: ...
def rank_runs(
    paths: list[Path],
    prefix: Path,
    pretokenizer: str,
    min_count: int,
    memory: int,
    buffer: int,
    progress: Callable[[int], None],
) -> tuple[list[Path], _U64, _U64]: ...

class RankedLines:
    def __init__(self, paths: list[Path], limit: int, buffer: int) -> None: ...
    def next(self, bytes: int) -> bytes: ...

def write_words(text: _U8, offsets: _U64, counts: _U64) -> bytes: ...
def write_rows(text: _U8, offsets: _U64, numbers: _I64) -> bytes: ...
def write_tokens(
    text: _U8,
    offsets: _U64,
    kinds: _U8,
    parents: _I64,
    ranks: _I64,
    scaffolds: _U8,
    frequencies: _I64,
    scores: list[str],
    names: Sequence[str],
    first_id: int,
) -> bytes: ...
def cut_inside(text: _U8, offsets: _U64, pretokenizer: str) -> _U8: ...
def show_text(text: _U8, offsets: _U64) -> _U8: ...
def find_unjoined(text: _U8, offsets: _U64, parents: _I64) -> int: ...
def letter_bytes(text: _U8, offsets: _U64, spelled: _U8) -> tuple[_U8, _U64]: ...
def texts_of(text: _U8, offsets: _U64) -> list[str]: ...
def split_tokenizer_json(data: bytes) -> tuple[bytes, _U8, _U64, _I64, _I64] | None: ...
def learn_merges(
    text: _U8,
    offsets: _U64,
    counts: _U64,
    pretokenizer: str,
    merges: int,
    coverage: float,
    max_token_length: int,
    min_frequency: int,
    threads: int,
    progress: Callable[[int], None],
) -> _Merges: ...
def curve_sums(
    alphabet_counts: _U64,
    lengths: _U32,
    left: _U32,
    right: _U32,
    merge_counts: _U64,
    rows: _U64,
    often: int,
) -> _CurveSums: ...
def push_down(left: _U32, right: _U32, keep: _U8, frequency: _U64) -> None: ...
def closure(left: _U32, right: _U32, marked: _U8) -> None: ...
def zipf_fit(
    alphabet_counts: _U64, left: _U32, right: _U32, merge_counts: _U64, rows: _U64
) -> NDArray[np.float64]: ...

SMALLEST_EXPONENT: float

def total(values: NDArray[np.float64]) -> float: ...
def dot(left: NDArray[np.float64], right: NDArray[np.float64]) -> float: ...

class TransportSupport:
    def __init__(
        self, pointer: NDArray[np.int32], character: NDArray[np.int32], characters: int
    ) -> None: ...
    def half_step(
        self,
        costs: NDArray[np.float64],
        gamma: float,
        potential: NDArray[np.float64],
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        log_lower: NDArray[np.float64],
        log_upper: NDArray[np.float64],
        plan: NDArray[np.float64],
        log_sum: NDArray[np.float64],
        token_mass: NDArray[np.float64],
        character_mass: NDArray[np.float64],
    ) -> None: ...
    def couple(
        self,
        plan: NDArray[np.float64],
        weight: NDArray[np.float64],
        scale: NDArray[np.float64],
        value: NDArray[np.float64],
    ) -> None: ...
    def solve_coupled(
        self,
        value: NDArray[np.float64],
        theta: float,
        enough: float,
        right: NDArray[np.float64],
        result: NDArray[np.float64],
    ) -> None: ...
    @property
    def couplings(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def pattern_pointer(self) -> NDArray[np.int32]: ...
    @property
    def pattern_column(self) -> NDArray[np.int32]: ...

class Matching:
    def __init__(
        self,
        encoding: str,
        marks_start: bool,
        longest_word: int,
        single: bool,
        restart: bool,
        unknown_score: float,
        symbol_score: float,
        word_ends: str,
        whole_words: bool,
        adds_space: bool,
        part: int = ...,
    ) -> None: ...

def count_pieces(
    text: _U8,
    offsets: _U64,
    inside: _U8,
    scores: NDArray[np.float64],
    words: _U8,
    word_offsets: _U64,
    counts: _U64,
    matching: Matching,
    mark: str,
    bytes_only: bool,
    threads: int,
) -> _U64: ...
def cut_by_pieces(
    text: _U8,
    offsets: _U64,
    inside: _U8,
    scores: NDArray[np.float64],
    words: _U8,
    word_offsets: _U64,
    matching: Matching,
    mark: str,
    pretokenizer: str,
    unknown: int,
    byte_fallback: bool,
    threads: int,
) -> tuple[_U32, _U64]: ...
def lift_scores(
    text: _U8, offsets: _U64, inside: _U8, scores: NDArray[np.float64], bytes_only: bool
) -> NDArray[np.float64]: ...
def likelihood_merges(
    symbols: _U32,
    offsets: _U64,
    counts: _U64,
    alphabet: _U8,
    alphabet_offsets: _U64,
    marked: _U8,
    unknown: int,
    mark: str,
    merges: int,
    max_token_length: int,
    min_frequency: int,
    progress: Callable[[int], None],
) -> _LikelihoodMerges: ...
def thin(text: _U8, offsets: _U64, counts: _U64, seed: int, split: int) -> _U64: ...
def find_words(text: _U8, offsets: _U64, part_text: _U8, part_offsets: _U64) -> _I64: ...
def cut_by_merges(
    text: _U8,
    offsets: _U64,
    characters: _U32,
    ends: _U8,
    left: _U32,
    right: _U32,
    pretokenizer: str,
    unknown: int,
    byte_fallback: bool,
    threads: int,
) -> tuple[_U32, _U64]: ...
def undo_merges(
    tokens: _U32, offsets: _U64, left: _U32, right: _U32, alphabet: int, row: int
) -> tuple[_U32, _U64]: ...
def kneser_ney(
    tokens: _U32, offsets: _U64, train: _U64, held: _U64, rows: int, order: int, ends: bool
) -> tuple[float, int]: ...

class CharacterMap:
    def __init__(self, table: bytes) -> None: ...
    def map(self, text: str) -> str: ...
    def clean(self, text: str, trims: bool) -> str: ...
    def clean_all(self, texts: list[str], trims: bool) -> list[str]: ...
    def clean_lines(self, data: bytes, trims: bool) -> bytes: ...

class Encoder:
    def __init__(
        self,
        pretokenizer: str,
        merge_rule: str,
        text: _U8,
        offsets: _U64,
        kinds: _U8,
        marks: _U8,
        left: _U32,
        right: _U32,
        ranks: _U64,
        scores: NDArray[np.float64],
        visible: int,
        unknown: int,
        fuse_unknown: bool,
        matching: Matching,
        pairs: _U32,
    ) -> None: ...
    def pairs(self) -> _U32: ...
    def last_pairs(self, text: _U8, offsets: _U64, ends: _U8) -> tuple[_U32, _U32]: ...
    def split_names(self, text: str, allowed: bytes) -> list[str]: ...
    def encode(self, text: str, allowed: bytes, dropout: float, seed: int) -> list[int]: ...
    def encode_array(self, text: str, allowed: bytes) -> _U32: ...
    def count(self, text: str, allowed: bytes) -> int: ...
    def encode_batch(
        self, texts: list[str], allowed: bytes, dropout: float, seed: int, threads: int
    ) -> list[list[int]]: ...
    def encode_words(self, text: _U8, offsets: _U64, threads: int) -> tuple[_U32, _U64]: ...

def put_ends(ids: _U32, stops: NDArray[np.int64], eos: int, out: NDArray[Any]) -> None: ...

class PieceText:
    def __init__(self, text: _U8, offsets: _U64) -> None: ...
    def join(self, ids: NDArray[Any]) -> bytes | int: ...

class PrintTable:
    def __init__(self, text: _U8, offsets: _U64) -> None: ...

class LineEncoder:
    def __init__(
        self,
        encoder: Encoder,
        allowed: bytes,
        dropout: float,
        seed: int,
        threads: int,
        reads: str,
    ) -> None: ...
    def feed(self, data: bytes | bytearray | memoryview, last: bool) -> tuple[int, int, int]: ...
    def feed_documents(self, text: Any, ends: _U64) -> tuple[int, int]: ...
    @property
    def unfinished(self) -> bool: ...
    def print(self, table: PrintTable) -> bytes: ...
    def collect(self) -> None: ...
    def take(self) -> tuple[_U32, _U64]: ...

NEVER: int
PRICE_UNIT: int
SLOPE_UNIT: int
WHOLE: int

class SelectionLattice:
    @property
    def words(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def edges(self) -> int: ...

def selection_lattice(
    text: _U8,
    offsets: _U64,
    inside: _U8,
    alphabet: int,
    words: _U8,
    word_offsets: _U64,
    counts: _U64,
    unit: int,
    mark: str,
    bytes_only: bool,
    threads: int,
) -> SelectionLattice: ...
def count_uses(lattice: SelectionLattice, costs: _U32, symbol: int) -> _U64: ...
def count_places(lattice: SelectionLattice) -> _U64: ...

class SelectionSearch:
    def __init__(self, lattice: SelectionLattice, inside: _U8) -> None: ...
    @property
    def total(self) -> int: ...
    @property
    def value(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def inside(self) -> _U8: ...
    def losses(self) -> _U64: ...
    def gains(self) -> _U64: ...
    def prune(self, size: int) -> tuple[_U32, _U64]: ...
    def grow(self, size: int) -> tuple[_U32, _U64]: ...

class SelectionBound:
    def __init__(self, set: SelectionSearch, size: int) -> None: ...
    def step(self, length: float, fresh: int) -> tuple[int, int]: ...
    @property
    def prices(self) -> NDArray[np.int32]: ...

def looks() -> int: ...
def stop_all() -> None: ...
def has_room_for_thread() -> bool: ...
def begin_thread() -> None: ...
