"""Candidates: the tokens a vocabulary is chosen from, and the Curve of every size on the way.

They come from one BPE run over word counts. Other sources give the same type: tokens with
frequencies and, where they have them, parents.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt._version import __version__
from volt.base.checks import check_at_least, thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_write
from volt.base.progress import Progress
from volt.counting.count import count
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.marks import BYTE_LETTERS as BYTE_LETTERS
from volt.counting.marks import END_MARK
from volt.counting.marks import UNKNOWN as UNKNOWN
from volt.counting.words import WordRule
from volt.tokenizing.tokens import packed

FORMAT = 1
HEAD = "# volt candidates "
WORD_FINAL = END_MARK
DEFAULT_MERGES = 100_000
FREQUENT = 100
"""A type seen this often counts as frequent (Gowda & May 2020)."""
COLUMNS = ["id", "token", "left", "right", "pairs", "count", "frequency", "length"]


@dataclass(frozen=True, eq=False)
class Curve:
    """The corpus at every size. Under BPE row m is the state after m merges; candidates without
    parents are measured at some sizes only.

    `frequent` counts the types seen at least 100 times, `f_power` is the sum of f^2.5; criteria
    read them.
    """

    size: NDArray[np.int64]
    """Tokens in the vocabulary: the alphabet and what the merges made."""
    tokens: NDArray[np.int64]
    """Tokens in the corpus."""
    types: NDArray[np.int64]
    """Tokens of the vocabulary that occur."""
    type_length: NDArray[np.int64]
    """Sum of their lengths."""
    characters: int
    """Characters in the corpus: the sum of frequency times length, the same at every size."""
    f_ln_f: NDArray[np.float64] = field(repr=False)
    f_power: NDArray[np.float64] = field(repr=False)
    frequent: NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def entropy(self) -> NDArray[np.float64]:
        """Token entropy in nats, -sum P ln P = ln n - (sum f ln f) / n."""
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.log(self.tokens) - self.f_ln_f / self.tokens
        return np.where(self.tokens > 0, np.maximum(entropy, 0.0), 0.0)

    @cached_property
    def entropy_types(self) -> NDArray[np.float64]:
        """H of Eq. 2: entropy over the mean length of the types in use."""
        return _ratio(self.entropy * self.types, self.type_length)

    @cached_property
    def entropy_occurrences(self) -> NDArray[np.float64]:
        """Entropy over the mean length of the tokens in the corpus: nats per character."""
        return _ratio(self.entropy * self.tokens, np.full(len(self), self.characters))

    def entropy_by(self, length: str) -> NDArray[np.float64]:
        if length not in ("types", "occurrences"):
            raise SettingsError(f"length is types or occurrences, not {length!r}")
        return self.entropy_types if length == "types" else self.entropy_occurrences

    def muv(self, length: str = "types") -> NDArray[np.float64]:
        """M of Eq. 1 at every size, against the size before; the first has none (NaN)."""
        entropy = self.entropy_by(length)
        return np.concatenate([[np.nan], -np.diff(entropy) / np.diff(self.size)])

    def at_size(self, size: int) -> int:
        """The last row with at most `size` tokens in the vocabulary; the first if there is none."""
        return max(0, int(np.searchsorted(self.size, size, side="right")) - 1)

    def spread(self, rows: int) -> NDArray[np.int64]:
        """About this many rows, evenly spaced on a logarithmic axis of size, ends included."""
        spaced = np.rint(np.geomspace(self.size[0], self.size[-1], rows))
        found = np.searchsorted(self.size, spaced, side="right") - 1
        return np.unique(np.clip(found, 0, len(self) - 1))

    def rows(self, indices: Iterable[int] | None = None) -> list[dict[str, float | int]]:
        """The table as dictionaries, of all rows or of some."""
        columns: dict[str, NDArray[Any]] = {
            "size": self.size,
            "merges": self.size - self.size[:1],
            "tokens": self.tokens,
            "types": self.types,
            "entropy": self.entropy,
            "entropy_types": self.entropy_types,
            "entropy_occurrences": self.entropy_occurrences,
            "muv_types": self.muv("types"),
            "muv_occurrences": self.muv("occurrences"),
        }
        chosen = list(range(len(self)) if indices is None else indices)
        lists = [column[chosen].tolist() for column in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, if pandas is installed."""
        try:
            import pandas
        except ImportError:
            raise SettingsError("to_frame needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.rows())

    def save(self, path: str | os.PathLike[str], indices: Iterable[int] | None = None) -> None:
        """Write the table as CSV; an undefined MUV is an empty cell."""
        with atomic_write(path) as stream:
            self.write_csv(stream, indices)

    def write_csv(self, stream: BinaryIO, indices: Iterable[int] | None = None) -> None:
        rows = self.rows(indices)
        lines = _LineWriter(stream)
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(rows[0] if rows else [])
        writer.writerows(
            ["" if value != value else repr(value) for value in row.values()] for row in rows
        )


class _LineWriter:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, line: str) -> int:
        return self._stream.write(line.encode())


def _ratio(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    out = np.zeros(len(a), np.float64)
    np.divide(a, b, out=out, where=b != 0)
    return out


@dataclass(frozen=True, eq=False)
class Candidates:
    """The result of one BPE run.

    Tokens are numbered: the alphabet, then `<unk>` if characters were left out of it, then what the
    merges made: merge m joins `left[m]` and `right[m]` into token `alphabet_size + m`. No two
    merges make the same text (src/core/proposing/merge.cpp says why): it has one pair of parents.
    """

    rule: WordRule
    tokens: list[str] = field(repr=False)
    """With marks: `▁` for a space, `</w>` at the end of a word, GPT-2's letters for bytes."""
    lengths: NDArray[np.uint32] = field(repr=False)
    """Characters of text in each token (bytes in byte-level mode); marks that are no text are 0."""
    alphabet_counts: NDArray[np.uint64] = field(repr=False)
    left: NDArray[np.uint32] = field(repr=False)
    right: NDArray[np.uint32] = field(repr=False)
    pair_counts: NDArray[np.uint64] = field(repr=False)
    """How often the pair stood side by side when it was chosen: what BPE ranks by."""
    merge_counts: NDArray[np.uint64] = field(repr=False)
    """How often it was merged: less than `pair_counts` only where pairs overlap, as in `aaa`."""
    unknown: int | None = None
    """The id of `<unk>`, which stands for all characters left out, if there are any."""
    left_out: int = 0
    """How many different characters were left out of the alphabet."""
    unit: int = 1
    """Counts are whole numbers of 1/unit, as in the word counts."""
    alphabet_draws: NDArray[np.uint64] | None = field(default=None, repr=False)
    """`alphabet_counts` of every bootstrap draw, a column a draw; not saved."""
    merge_draws: NDArray[np.uint64] | None = field(default=None, repr=False)
    """`merge_counts` likewise."""
    whole_words: NDArray[np.uint64] | None = field(default=None, repr=False)
    """How many of the running words are this token and nothing else; not saved."""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def merges(self) -> int:
        return len(self.left)

    @property
    def alphabet_size(self) -> int:
        """Symbols before the first merge, `<unk>` included."""
        return len(self.alphabet_counts)

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        """How often each token occurs in the corpus segmented by all candidates."""
        frequency = np.concatenate([self.alphabet_counts, self.merge_counts]).astype(np.int64)
        for parents in (self.left, self.right):
            np.subtract.at(frequency, parents, self.merge_counts.astype(np.int64))
        return frequency

    @property
    def rank(self) -> NDArray[np.int64]:
        """The merge that made each token; negative for the alphabet."""
        return np.arange(len(self)) - self.alphabet_size

    @cached_property
    def parents(self) -> NDArray[np.int64]:
        """The two tokens each token was made from; -1 -1 for the alphabet."""
        parents = np.full((len(self), 2), -1, np.int64)
        parents[self.alphabet_size :, 0] = self.left
        parents[self.alphabet_size :, 1] = self.right
        return parents

    @cached_property
    def curve(self) -> Curve:
        """Entropy, sequence length and MUV of BPE at every size."""
        return self.curve_at(np.arange(self.merges + 1))

    def curve_at(self, rows: NDArray[np.int64]) -> Curve:
        """The curve at some rows only: after so many merges, rising."""
        sums = _core.curve_sums(
            self.alphabet_counts, self.lengths, self.left, self.right, self.merge_counts,
            rows.astype(np.uint64), FREQUENT * self.unit,
        )  # fmt: skip
        lengths = self.lengths[: self.alphabet_size].astype(np.uint64)
        return Curve(
            size=self.alphabet_size + rows,
            tokens=sums["tokens"].astype(np.int64),
            types=sums["types"].astype(np.int64),
            type_length=sums["type_length"].astype(np.int64),
            characters=int((self.alphabet_counts * lengths).sum()),
            f_ln_f=sums["f_ln_f"],
            f_power=sums["f_power"],
            frequent=sums["frequent"].astype(np.int64),
        )

    def zipf_fit(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Sizes at some rows of the curve, and R^2 of the line of ln frequency on ln rank there."""
        values = _core.zipf_fit(
            self.alphabet_counts, self.left, self.right, self.merge_counts, rows.astype(np.uint64)
        )
        return self.alphabet_size + rows, values

    @property
    def draws(self) -> int:
        """How many bootstrap draws of the word counts went along with the merges."""
        return 0 if self.merge_draws is None else int(self.merge_draws.shape[1])

    def draw(self, number: int) -> Candidates:
        """The same merges with the counts of one bootstrap draw. The merges are not re-drawn: they
        are those that the real counts chose."""
        if self.alphabet_draws is None or self.merge_draws is None:
            raise SettingsError("these candidates were made without bootstrap draws")
        return replace(
            self,
            alphabet_counts=np.ascontiguousarray(self.alphabet_draws[:, number]),
            merge_counts=np.ascontiguousarray(self.merge_draws[:, number]),
            alphabet_draws=None,
            merge_draws=None,
        )

    # ------------------------------------------------------------------------------ save and load

    @property
    def extra_header(self) -> dict[str, Any]:
        return {}

    @property
    def count_columns(self) -> list[NDArray[np.uint64]]:
        """How often each token was a pair, and how often it was merged."""
        return [np.concatenate([self.alphabet_counts, column])
                for column in (self.pair_counts, self.merge_counts)]  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """A row for each symbol of the alphabet, then one for each merge, in order."""
        with atomic_write(path) as stream:
            self.write(stream)

    def write(self, stream: BinaryIO) -> None:
        header = {"format": FORMAT, "volt": __version__, **asdict(self.rule), "unit": self.unit,
                  "alphabet": self.alphabet_size, "merges": self.merges,
                  "unknown": self.unknown, "left_out": self.left_out,
                  **self.extra_header}  # fmt: skip
        stream.write(f"{HEAD}{json.dumps(header)}\n".encode())
        stream.write(("\t".join(COLUMNS) + "\n").encode())
        texts = packed([token.encode() for token in self.tokens])
        numbers = np.column_stack([self.parents, *self.count_columns, self.frequency, self.lengths])
        stream.write(_core.write_rows(*texts, numbers.astype(np.int64).ravel()))


def load_candidates(path: str | os.PathLike[str]) -> Candidates:
    """Read what `Candidates.save` wrote; anything inconsistent is an error that names the line."""
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
            lines = stream.read().split("\n")
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte offset {error.start}: invalid UTF-8") from None
    if not lines[0].startswith(HEAD):
        raise InputError(f"{name}: not a candidates file (its first line starts with {HEAD!r})")
    try:
        header = json.loads(lines[0][len(HEAD) :])
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r}; this volt reads {FORMAT}")
        if "encoding" in header:
            raise InputError(
                f"{name}: these candidates have no parents, and without the text they can't be "
                "measured; name the text instead, with --candidates"
            )
        rule = WordRule(**{one.name: header[one.name] for one in fields(WordRule)})
        alphabet, merges, unit = header["alphabet"], header["merges"], header["unit"]
        unknown, left_out = header["unknown"], header["left_out"]
        if not all(type(n) is int and n >= 0 for n in (alphabet, merges, unit, left_out)):
            raise ValueError("a count is no count")
        if unknown is not None and (type(unknown) is not int or unknown != alphabet - 1):
            raise ValueError("unknown is not the last symbol")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{name}, line 1: a damaged header ({error})") from None
    if (
        lines[1:2] != ["\t".join(COLUMNS)]
        or lines[-1] != ""
        or (len(lines) != alphabet + merges + 3)
    ):
        raise InputError(
            f"{name}: {len(lines) - 3} rows where the header says {alphabet + merges}; "
            "the file is cut short or edited"
        )
    tokens: list[str] = []
    lengths: list[int] = []
    alphabet_counts: list[int] = []
    columns: list[list[int]] = [[], [], [], []]
    for number, line in enumerate(lines[2:-1], 3):
        try:
            identifier, text, *numbers = line.split("\t")
            text = _unescape(text)
            a, b, pairs, k, _frequency, length = map(int, numbers)
            if int(identifier) != len(tokens):
                raise ValueError(f"id {identifier} where {len(tokens)} comes next")
            if not (0 <= k < 1 << 63 and 0 <= pairs < 1 << 63 and 0 < length < 1 << 31):
                raise ValueError("a number out of range")
            if len(tokens) < alphabet:
                if (a, b) != (-1, -1):
                    raise ValueError("a symbol of the alphabet with parents")
                alphabet_counts.append(k)
            else:
                if not (0 <= a < len(tokens) and 0 <= b < len(tokens)):
                    raise ValueError("a merge of tokens that do not exist yet")
                if length != lengths[a] + lengths[b] or tokens[a] + tokens[b] != text:
                    raise ValueError("a token that is not its two parents joined")
                for column, value in zip(columns, (a, b, pairs, k), strict=True):
                    column.append(value)
            tokens.append(text)
            lengths.append(length)
        except ValueError as error:
            raise InputError(f"{name}, line {number}: {error}") from None
    left, right = (np.array(column, np.uint32) for column in columns[:2])
    pair_counts, merge_counts = (np.array(column, np.uint64) for column in columns[2:])
    return Candidates(
        rule, tokens, np.array(lengths, np.uint32), np.array(alphabet_counts, np.uint64),
        left, right, pair_counts, merge_counts, unknown, left_out, unit,
    )  # fmt: skip


def candidates(
    inputs: WordCounts | Text | Iterable[Text],
    *,
    merges: int = DEFAULT_MERGES,
    coverage: float | None = None,
    max_token_length: int | None = None,
    min_frequency: int = 2,
    bootstrap: int = 0,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **count_options: Any,
) -> Candidates:
    """One BPE run over word counts, or over text, which is counted first (`count`'s options).

    The pair with the highest count is merged; among equals the one whose left, then right, token
    has the lower id. Pairs rarer than `min_frequency` are not merged, nor those that make a token
    of more than `max_token_length` characters. `coverage` is the share of the text's characters
    that the alphabet must hold (default 1, or 0.9995 from 5,000 different characters on).
    `bootstrap` draws of the word counts are carried along (`Candidates.draw`).
    """
    check_at_least("merges", merges, 0)
    check_at_least("bootstrap", bootstrap, 0)
    check_at_least("seed", seed, 0)
    check_at_least("min_frequency", min_frequency, 1)
    check_at_least("max_token_length", max_token_length, 1)
    if coverage is not None and not 0 < coverage <= 1:
        raise SettingsError(f"coverage is above 0 and at most 1, not {coverage}")
    threads = thread_count(threads)
    progress = progress or Progress()
    if isinstance(inputs, WordCounts):
        if count_options:
            raise SettingsError(f"the words are counted already: {', '.join(count_options)}")
        counts = inputs
    else:
        counts = count(inputs, threads=threads, progress=progress, **count_options)
    with (
        ThreadPoolExecutor(1) as pool,
        progress.stage("Merging", merges, "merges") as report,
    ):
        # The draws are needed when the merges are made: most of these leave a core idle.
        columns = pool.submit(_resample, counts, bootstrap, seed, max(1, threads - 1))
        if threads == 1:
            columns.result()
        found = _core.learn_merges(
            counts.text, counts.offsets, counts.counts, columns.result,
            counts.rule.mode.native, merges, coverage or 0.0, max_token_length or 0,
            min_frequency * counts.unit, threads, report,
        )  # fmt: skip
    unknown = found["unknown"] if found["unknown"] >= 0 else None
    return Candidates(
        rule=counts.rule,
        tokens=_token_texts(counts.rule, found, unknown),
        lengths=found["lengths"],
        alphabet_counts=found["alphabet_counts"],
        left=found["left"],
        right=found["right"],
        pair_counts=found["pair_counts"],
        merge_counts=found["merge_counts"],
        unknown=unknown,
        left_out=found["left_out"],
        unit=counts.unit,
        alphabet_draws=found["alphabet_columns"].reshape(-1, bootstrap) if bootstrap else None,
        merge_draws=found["merge_columns"].reshape(-1, bootstrap) if bootstrap else None,
        whole_words=found["whole_words"],
    )


def _resample(counts: WordCounts, draws: int, seed: int, threads: int) -> NDArray[np.uint64]:
    """Multinomial draws of the words, a column a draw."""
    if counts.unit == 1:
        columns = _core.resample(counts.counts, draws, seed, threads)
        return columns.reshape(len(counts), draws)
    # Counts are in fractions of a word: draw whole words, as many as there are.
    shares = counts.counts / max(1, counts.counts.sum())
    words = int(counts.counts.sum()) // counts.unit
    drawn = np.random.default_rng(seed).multinomial(words, shares, size=draws)
    return np.ascontiguousarray(drawn.T.astype(np.uint64) * np.uint64(counts.unit))


def _token_texts(rule: WordRule, found: _core._Merges, unknown: int | None) -> list[str]:
    data = found["text"].tobytes()
    bounds = found["offsets"].tolist()
    pieces = [data[a:b] for a, b in pairwise(bounds)]
    if rule.mode.byte_level:
        return [piece.decode("latin-1").translate(BYTE_LETTERS) for piece in pieces]
    marks = [WORD_FINAL if final else "" for final in found["word_final"].tolist()]
    texts = [piece.decode() + mark for piece, mark in zip(pieces, marks, strict=True)]
    if unknown is not None:
        texts[unknown] = UNKNOWN
    return texts


_UNESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    characters = iter(text)
    for c in characters:
        if c != "\\":
            out.append(c)
            continue
        escaped = next(characters, "")
        if escaped not in _UNESCAPES:
            raise ValueError("a backslash that is no escape")
        out.append(_UNESCAPES[escaped])
    return "".join(out)
