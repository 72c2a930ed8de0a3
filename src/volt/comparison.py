"""Tokenizers of any toolkit side by side on whole documents."""

from __future__ import annotations

import math
import os
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import InputError, SettingsError, UnreadableError, VoltError
from volt.base.lines import WIDTH, Line
from volt.base.options import accepts
from volt.base.shown import csv_cell, latex_cell, plural
from volt.base.table import wrapped
from volt.counting.marks import BYTES, SPACE, Marks
from volt.counting.reading import lines_of
from volt.counting.spaces import spaced
from volt.foreign.base import Engine
from volt.foreign.documents import Groups, On, read_groups
from volt.foreign.engine_choice import Opened, open_engine
from volt.formats.exchange import check_pattern
from volt.settings import TextSettings
from volt.tokenizing.residues import find_residues

RENYI_ORDER = 2.5
"""Of the Rényi efficiency (Zouhar et al. 2023), as in the criterion `renyi`."""
MODEL_ORDER = 3
"""Of the language model, as in `volt learn`."""
MOST_NAMED = 3
"""Others that the answer names."""
HELD_OUT = 10
"""One line in this many is held out."""
BITS_NOTE = (
    "bits per byte: a small model learns from nine tenths of these {lines} and nothing else. With "
    "little text it favours large vocabularies, so choose a size by the quality that volt learn "
    "prints. Compare figures within this table only: volt learn measures word by word"
)
KINDS_NOTE = (
    ". Those of a kind of text are under a model of that kind alone, so those of all kinds "
    "together can lie above each of them"
)


@dataclass(frozen=True)
class KindRow:
    """One tokenizer on one kind of text."""

    name: str
    tokens: int
    bytes_per_token: float
    bits_per_byte: float | None
    unknown: float
    in_bytes: float | None
    partial: float
    parity: float | None
    """Tokens against those of the first kind, which says the same line by line."""


@dataclass(frozen=True)
class Compared:
    """One row of the table. Docs: docs/cli.md."""

    name: str
    encoded_by: str
    """`volt`, or the library that had to do it."""
    size: int
    tokens: int
    tokens_per_word: float | None
    """None where the text has no spaces between words."""
    bytes_per_token: float | None
    bits_per_byte: float | None
    """Of held-out lines, under an interpolated Kneser-Ney model over the tokens of a line."""
    renyi_efficiency: float | None
    entropy_per_character: float | None
    """Nats: token entropy times tokens over characters."""
    single_token_words: float | None
    unknown: float | None
    """Share of the tokens that are `<unk>`: their text is lost."""
    in_bytes: float | None
    """Share of the tokens that are single bytes, line ends apart: they spell characters that have
    no token of their own, and no text is lost. None without byte fallback."""
    partial: float | None
    """Share of the tokens that are part of a character."""
    unused: float | None
    """Share of its tokens, special and byte tokens apart, that the text does not have."""
    residues: int | None
    """Tokens that the text makes, but never shows, since they always merge on."""
    overlap: float | None
    """Share of its tokens that the first vocabulary has too."""
    parity: float | None
    """Of the kinds of text that say the same line by line, the most tokens over the fewest."""
    gini: float | None
    """How unevenly tokens per line are spread over the kinds of text: 0 for equal."""
    kinds: list[KindRow] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Comparison:
    rows: list[Compared]
    documents: int
    lines: int
    words: int
    characters: int
    bytes: int
    messages: list[str] = field(default_factory=list)

    @property
    def headline(self) -> str:
        """Which makes the fewest tokens, and by how much."""
        return _headline(self)

    @property
    def bits_note(self) -> str:
        """What to know about bits per byte; empty where there are none."""
        if all(row.bits_per_byte is None for row in self.rows):
            return ""
        note = BITS_NOTE.format(lines=plural(self.lines, "line"))
        return note + (KINDS_NOTE if self.rows[0].kinds else "")

    @property
    def notes(self) -> list[str]:
        """What to know about the tables."""
        of_rows = [f"{row.name}: {message}" for row in self.rows for message in row.messages]
        return [*self.messages, *filter(None, [self.bits_note]), *of_rows]

    def summary(self) -> dict[str, Any]:
        return {"headline": self.headline, **asdict(self), "bits_note": self.bits_note}

    def __repr__(self) -> str:
        return f"<Comparison: {self.headline}>"

    def __str__(self) -> str:
        """The answer, tables and notes, as the terminal shows them."""
        return "\n".join([*as_text(self), *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """In a notebook: the tables and notes."""
        from volt.report.notebook import comparison_html

        return comparison_html(self)


@accepts(TextSettings)
def compare(
    vocabularies: Sequence[str | os.PathLike[str]],
    on: On,
    *,
    pattern: str | None = None,
    **options: Any,
) -> Comparison:
    """Encode the documents `on` with each tokenizer, of any toolkit.

    `on` may name kinds of text: `{"code": ["a.py"], "en": ["a.txt"]}`. Over those with the same
    number of lines, line by line the same in other languages, parity and Gini are measured.
    If one of the tokenizers reads lines, all are given lines, so that their figures compare.
    `pattern` is for files that do not say how they cut text.

    >>> import tempfile, volt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokenizer.vocabulary.save(f"{folder}/volt.json")
    ...     found = volt.compare([f"{folder}/volt.json"], [["low slow", "low"]])
    >>> [(row.size, row.tokens) for row in found.rows]
    [(274, 5)]
    """
    if not vocabularies:
        raise SettingsError("name at least one vocabulary")
    check_pattern(pattern, vocabularies)
    groups = read_groups(on, TextSettings(**options))
    documents = [*chain(*groups.values())]
    lines = {kind: len(one) for kind, one in _lines(groups).items()}
    has_words = spaced("".join(documents).encode())
    words = Counter(word for document in documents for word in document.split() if has_words)
    opened = [open_engine(path, pattern=pattern, texts=documents) for path in vocabularies]
    names = _names(vocabularies)
    reading = [name for name, one in zip(names, opened, strict=True) if one.engine.by_lines]
    rows = [
        compared(name, one, opened[0].engine, groups, words, by_lines=bool(reading))
        for name, one in zip(names, opened, strict=True)
    ]
    return Comparison(
        rows, len(documents), sum(lines.values()), words.total(), sum(map(len, documents)),
        sum(len(one.encode()) for one in documents),
        [*_without_line_ends(reading, names), *_without_parity(lines)],
    )  # fmt: skip


def _without_line_ends(reading: Sequence[str], names: Sequence[str]) -> list[str]:
    """Why tokenizers that read whole documents are given lines."""
    if len(reading) in (0, len(names)):
        return []
    which = f"{', '.join(reading)} {'reads' if len(reading) == 1 else 'read'} lines"
    return [f"{which}, so all are given lines: line ends are not among the tokens of any"]


def _names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The last part of each path, or as much of it as tells them apart."""
    parts = [Path(path).parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = [str(Path(*part[-length:])) for part in parts]
        if len(set(names)) == len(names) and "model" not in names:  # which says nothing
            return names
    return [os.fspath(path) for path in paths]


def _lines(groups: Groups) -> dict[str, list[str]]:
    return {name: [line for document in documents for line in lines_of(document)]
            for name, documents in groups.items()}  # fmt: skip


def _parallel(lines: Mapping[str, int]) -> list[str]:
    """The kinds of text that parity is measured over: the most that have the same number of lines,
    of as many those of the first kind."""
    number = max(lines.values(), key=[*lines.values()].count)
    found = [kind for kind, one in lines.items() if one == number]
    return found if len(found) > 1 else []


def _without_parity(lines: Mapping[str, int]) -> list[str]:
    """Which kinds of text have no parity, and why."""
    parallel = _parallel(lines)
    if len(lines) == len(parallel) or len(lines) < 2:
        return []
    left = ", ".join(f"{kind} {plural(number, 'line')}" for kind, number in lines.items()
                     if kind not in parallel)  # fmt: skip
    if not parallel:
        return [f"no parity and Gini: no two kinds of text have as many lines: {left}"]
    number = plural(lines[parallel[0]], "line")
    return [f"parity and Gini are over {', '.join(parallel)}, of {number} each; others have {left}"]


def compared(
    name: str, opened: Opened, first: Engine, groups: Groups, words: Counter[str], *,
    by_lines: bool = False,
) -> Compared:  # fmt: skip
    """The row of one tokenizer; `first` is that of the first row."""
    subject = opened.engine
    lines = _lines(groups)
    given = {kind: [*filter(None, some)] for kind, some in lines.items()} if by_lines else groups
    found = {kind: np.array([*chain(*subject.encode_batch(texts))], np.int64)
             for kind, texts in given.items()}  # fmt: skip
    ids = np.concatenate(list(found.values()))
    tokens = len(ids)
    if not tokens:
        raise InputError(f"{name} makes no tokens of the text")
    counts = np.bincount(ids, minlength=subject.size)
    shares = counts[counts > 0] / tokens
    entropy = float(-(shares * np.log(shares)).sum())
    documents = [*chain(*groups.values())]
    alone = subject.encode_batch([subject.before_word + word for word in words])
    single = sum(count for count, cut in zip(words.values(), alone, strict=True) if len(cut) == 1)
    renyi = None
    if subject.size > 1:
        power = float((shares**RENYI_ORDER).sum())
        renyi = math.log(power) / (1 - RENYI_ORDER) / math.log(subject.size)
    rows = _kind_rows(subject, found, groups, lines)
    alike = [row.tokens for row in rows if row.parity is not None]
    fewest = min(alike, default=0)
    whole = rows[0] if len(rows) == 1 else None
    bits = whole.bits_per_byte if whole else bits_per_byte(subject, [*chain(*lines.values())])
    spelled = [i for i, data in enumerate(subject.plain)
               if data is not None and i not in subject.byte_ids]  # fmt: skip
    return Compared(
        name=name,
        encoded_by=subject.library,
        size=subject.size,
        tokens=tokens,
        tokens_per_word=tokens / words.total() if words else None,
        bytes_per_token=sum(len(one.encode()) for one in documents) / tokens,
        bits_per_byte=bits,
        renyi_efficiency=renyi,
        entropy_per_character=entropy * tokens / sum(map(len, documents)),
        single_token_words=single / words.total() if words else None,
        **_spelled(ids, subject),
        unused=float((counts[spelled] == 0).mean()) if spelled else None,
        residues=_residues(subject, counts),
        overlap=overlap(first, subject),
        parity=max(alike) / fewest if fewest else None,
        gini=_gini(alike) if alike else None,
        kinds=rows if len(rows) > 1 else [],
        messages=opened.messages,
    )


def _spelled(ids: NDArray[np.int64], subject: Engine) -> dict[str, Any]:
    """Shares of the tokens that are not the text, or less than a character of it."""
    unknown = frozenset() if subject.unknown_id is None else frozenset({subject.unknown_id})
    in_bytes = subject.unknown_ids - unknown
    return {
        "unknown": _share(ids, unknown, subject.size),
        "in_bytes": _share(ids, in_bytes, subject.size) if subject.byte_ids else None,
        "partial": _share(ids, subject.partial_ids, subject.size),
    }


def _share(ids: NDArray[np.int64], wanted: frozenset[int], size: int) -> float:
    mask = np.zeros(size, bool)
    mask[sorted(wanted)] = True
    return float(mask[ids].mean()) if len(ids) else 0.0


def _kind_rows(
    subject: Engine, found: dict[str, NDArray[np.int64]], groups: Groups,
    lines: dict[str, list[str]],
) -> list[KindRow]:  # fmt: skip
    parallel = _parallel({kind: len(one) for kind, one in lines.items()})
    reference = len(found[parallel[0]]) if parallel else 0
    return [
        KindRow(
            name=kind,
            tokens=len(ids),
            bytes_per_token=sum(len(one.encode()) for one in groups[kind]) / max(1, len(ids)),
            bits_per_byte=bits_per_byte(subject, lines[kind]),
            **_spelled(ids, subject),
            parity=len(ids) / reference if kind in parallel and reference else None,
        )
        for kind, ids in found.items()
    ]


def _gini(values: Sequence[int]) -> float:
    """The Gini coefficient: the mean difference of two values over twice their mean."""
    ordered = sorted(values)
    number, total = len(ordered), sum(ordered)
    ranked = sum(rank * value for rank, value in enumerate(ordered, 1))
    return 2 * ranked / (number * total) - (number + 1) / number if total else 0.0


def bits_per_byte(subject: Engine, lines: Sequence[str]) -> float | None:
    """Of the held-out tenth of the lines, after learning from the others: the quality model over
    the tokens of a line. Equal lines are on the same side. None if one side is empty."""
    counts = Counter(line for line in lines if line)
    held_out = {line for line in counts if zlib.crc32(line.encode()) % HELD_OUT == 0}
    if not held_out or len(held_out) == len(counts):
        return None
    types = list(counts)
    ids = subject.encode_batch(types)
    offsets = np.cumsum([0, *map(len, ids)]).astype(np.uint64)
    number = np.array([counts[line] for line in types], np.uint64)
    is_held = np.array([line in held_out for line in types])
    nats, _ = _core.kneser_ney(
        np.array([*chain(*ids)], np.uint32), offsets, np.where(is_held, np.uint64(0), number),
        np.where(is_held, number, np.uint64(0)), subject.size, MODEL_ORDER, True,
    )  # fmt: skip
    size = sum(len(line.encode()) * counts[line] for line in held_out)
    return nats / math.log(2) / size


def _residues(subject: Engine, counts: NDArray[np.int64]) -> int | None:
    try:
        found = find_residues(subject.inner().vocabulary, counts)
    except UnreadableError:
        raise
    except VoltError:
        return None
    return None if found is None else len(found)


def overlap(first: Engine, other: Engine) -> float | None:
    """Share of the tokens of `other` that `first` has too, with the marks of words if both have the
    same, else without."""
    mine, theirs = first.texts, other.texts
    if _shown(first.marks) != _shown(other.marks):
        mine, theirs = ({text.strip(b" \0") for text in texts} for texts in (mine, theirs))
    return len(mine & theirs) / len(theirs) if theirs else None


def _shown(marks: Marks) -> Marks:
    """What tokens tell about words: a space before one is the same however it is written."""
    return SPACE if marks is BYTES else marks


# --------------------------------------------------------------------------------------- as a table


@dataclass(frozen=True)
class Column:
    """One column of the tables."""

    key: str
    title: str
    form: str
    name: str
    """The title where there is room for it."""
    meaning: str
    first: bool = False
    """Is it in a terminal's table?"""
    alarm: bool = False
    """Is it there only where it is not 0?"""


COLUMNS = (
    Column("size", "size", ",d", "size", "Rows of the embedding table.", first=True),
    Column("tokens", "tokens", ",d", "tokens", "Tokens of the whole text.", first=True),
    Column(
        "tokens_per_word", "tok/word", ".3f", "tokens per word",
        "Words are what stands between spaces.", first=True,
    ),
    Column(
        "bytes_per_token", "bytes/tok", ".3f", "bytes per token",
        "UTF-8 bytes of the text over its tokens. With more, the same text is fewer tokens.",
        first=True,
    ),
    Column(
        "bits_per_byte", "bits/byte", ".4f", "bits per byte",
        "How well a language model of order 3, learned from nine tenths of the lines, predicts the "
        "others. Less is better.", first=True,
    ),
    Column(
        "renyi_efficiency", "Rényi", ".4f", "Rényi efficiency",
        "How evenly the tokens are used, from 0 to 1 (order 2.5).",
    ),
    Column(
        "entropy_per_character", "H/char", ".4f", "entropy per character",
        "Nats per character if every token is predicted by its frequency alone.",
    ),
    Column(
        "single_token_words", "one-token", ".1%", "words that are one token",
        "Share of the words between spaces that are one token by themselves.",
    ),
    Column(
        "unknown", "unknown", ".3%", "unknown",
        "Share of the tokens that are unknown: their text is lost.", alarm=True,
    ),
    Column(
        "in_bytes", "in bytes", ".3%", "in bytes",
        "Share of the tokens that are single bytes of characters that have no token; no text is "
        "lost.", alarm=True,
    ),
    Column(
        "partial", "part char", ".3%", "parts of a character",
        "Share of the tokens that are only a part of a character.", alarm=True,
    ),
    Column(
        "unused", "unused here", ".1%", "unused on this text",
        "Share of the vocabulary that the text does not use; special and byte tokens apart.",
    ),
    Column(
        "residues", "residues here", ",d", "residues on this text",
        "Tokens that the text makes and always merges on, so that it never shows them. The smaller "
        "the text, the more there are.",
    ),
    Column(
        "overlap", "overlap", ".1%", "overlap with the first",
        "Share of its tokens that the first vocabulary has, too.",
    ),
    Column(
        "parity", "parity", ".3f", "parity",
        "Of kinds of text that say the same line by line, the most tokens over the fewest; of one "
        "kind, its tokens over those of the first.", first=True,
    ),
    Column(
        "gini", "Gini", ".4f", "Gini",
        "How unevenly the kinds of text are cut: 0 if the same lines take as many tokens in each.",
    ),
)  # fmt: skip
KIND_COLUMNS = tuple(one for one in COLUMNS if one.key in KindRow.__dataclass_fields__)


def tables(comparison: Comparison, *, short: bool = False) -> list[list[list[str]]]:
    """The tables to show as cells, the heads first: of all text, and of each kind of text. Columns
    without a figure are left out, and if `short` all but the first ones to look at."""
    found = [_cells(COLUMNS, [(row.name, row) for row in comparison.rows], short)]
    kinds = [
        (f"{kind.name}: {row.name}", row.kinds[place])
        for place, kind in enumerate(comparison.rows[0].kinds)
        for row in comparison.rows
    ]
    return [*found, _cells(KIND_COLUMNS, kinds, short)] if kinds else found


def _cells(
    columns: Sequence[Column], rows: Sequence[tuple[str, Any]], short: bool
) -> list[list[str]]:
    used = [one for one in columns if any(getattr(row, one.key) is not None for _, row in rows)]
    if short:
        used = [
            one
            for one in used
            if one.first or (one.alarm and any(getattr(row, one.key) for _, row in rows))
        ]
    heads = ["vocabulary", *(one.title for one in used)]
    return [heads, *([name, *(_figure(row, one) for one in used)] for name, row in rows)]


def _headline(comparison: Comparison) -> str:
    """The answer: tokens of the whole text, and which is best on which kind of it."""
    ordered = sorted(comparison.rows, key=lambda row: row.tokens)
    best, *others = ordered
    length = f"{best.bytes_per_token:.3f} bytes per token"
    said = f"{best.name} makes {plural(best.tokens, 'token')} ({length})"
    if others:
        said = (
            f"{best.name} makes the fewest tokens, {best.tokens:,} ({length}), with {best.size:,} "
            f"rows; {_others(best, others)}"
        )
    if best.unknown:
        said += f"; {best.unknown:.3%} of its tokens are unknown, their text is lost"
    winners = {
        kind.name: min(ordered, key=lambda row: row.kinds[place].tokens).name
        for place, kind in enumerate(best.kinds)
    }
    if others and {*winners.values()} - {best.name}:
        said += "; the fewest on " + ", ".join(f"{kind}: {one}" for kind, one in winners.items())
    return said


def _others(best: Compared, others: Sequence[Compared]) -> str:
    """How much more the others make."""
    if len(others) > MOST_NAMED:
        low, high = (_more(best, row) for row in (others[0], others[-1]))
        return f"the {len(others)} others make {low} to {high} more"
    return ", ".join(
        f"{row.name} makes {_more(best, row)} more with {row.size:,}"
        if row.tokens > best.tokens else f"{row.name} makes as many with {row.size:,}"
        for row in others
    )  # fmt: skip


def _more(best: Compared, row: Compared) -> str:
    return f"{row.tokens / best.tokens - 1:.1%}"


def _figure(row: Any, column: Column) -> str:
    value = getattr(row, column.key)
    return "-" if value is None else format(value, column.form)


def as_text(comparison: Comparison, width: int = WIDTH) -> list[str]:
    """Lines for a terminal: the answer, and the figures to look at first. A table that is too wide
    goes on below, with the names again."""
    lines = [*Line(comparison.headline, indent=2).wrapped(width), ""]
    together, *kinds = tables(comparison, short=True)
    for title, cells in [
        ("all kinds together:", together),
        *(("each kind:", one) for one in kinds),
    ]:
        lines += [*([title] if kinds else []), *wrapped(cells, width), ""]
    return lines[:-1]


def as_csv(comparison: Comparison) -> bytes:
    """A row per tokenizer and kind of text, with the figures as they are."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = [one.key for one in COLUMNS]
    writer.writerow(["vocabulary", "encoded_by", "text", *keys])
    for row in comparison.rows:
        for kind, part in [("", row), *((one.name, one) for one in row.kinds)]:
            figures = [getattr(part, key, None) for key in keys]
            shown = ["" if value is None else value for value in figures]
            writer.writerow([csv_cell(one) for one in (row.name, row.encoded_by, kind, *shown)])
    return out.getvalue().encode()


def as_latex(comparison: Comparison) -> bytes:
    """A tabular per table, for `\\usepackage{booktabs}`."""
    parts: list[str] = []
    for cells in tables(comparison):
        head, *body = [" & ".join(map(latex_cell, line)) + r" \\" for line in cells]
        parts.append("\n".join([
            rf"\begin{{tabular}}{{l{'r' * (len(cells[0]) - 1)}}}", r"\toprule", head, r"\midrule",
            *body, r"\bottomrule", r"\end{tabular}", "",
        ]))  # fmt: skip
    return "\n".join(parts).encode()
