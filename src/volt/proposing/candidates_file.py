"""The candidates file, a table that people can read: write and load."""

from __future__ import annotations

import json
import os
import re
from typing import Any, BinaryIO

import numpy as np

from volt import _core
from volt._version import __version__
from volt.base.arguments import names_arguments
from volt.base.errors import InputError
from volt.base.gate import named, parse_json, read_text
from volt.base.output import atomic_write
from volt.base.schema import check, one_of, optional, table, whole
from volt.counting.words import READS, RULE, read_rule
from volt.proposing.base import Candidates, fixed_rows
from volt.proposing.merges import MergeCandidates
from volt.proposing.tokens import packed

FORMAT_VERSION = 1
HEAD = "# volt candidates "
HEADER = table({"format": whole()})
FIELDS = table(
    {**RULE, "alphabet": whole(), "merges": whole(), "left_out": whole(), "unit": whole(),
     "unknown": optional(whole())},
    {**READS, "encoding": one_of("merge", "split"), "fixed_rows": whole()},
)  # fmt: skip
COLUMNS = ["id", "token", "left", "right", "pairs", "count", "frequency", "length"]


def save_candidates(candidates: Candidates, path: str | os.PathLike[str]) -> None:
    with atomic_write(path) as stream:
        write_candidates(candidates, stream)


def write_candidates(candidates: Candidates, stream: BinaryIO) -> None:
    """A row per symbol of the alphabet, then one per merge or piece, in order."""
    others = len(candidates) - candidates.alphabet_size
    header: dict[str, Any] = {
        "format": FORMAT_VERSION, "volt": __version__, **candidates.rule.to_data(),
        "unit": candidates.unit, "alphabet": candidates.alphabet_size, "merges": others,
        "unknown": candidates.unknown, "left_out": candidates.left_out,
        "fixed_rows": candidates.fixed_rows,
    }  # fmt: skip
    if candidates.encoding != "merge":
        header["encoding"] = candidates.encoding
    stream.write(f"{HEAD}{json.dumps(header)}\n".encode())
    stream.write(("\t".join(COLUMNS) + "\n").encode())
    texts = packed([token.encode() for token in candidates.tokens])
    numbers = np.column_stack([
        candidates.parents, *candidates.count_columns, candidates.frequency, candidates.lengths
    ])  # fmt: skip
    stream.write(_core.write_rows(*texts, numbers.astype(np.int64).ravel()))


@names_arguments
def load_candidates(path: str | os.PathLike[str]) -> MergeCandidates:
    """Read a candidates file; anything inconsistent is an error that names the line.

    >>> import tempfile, volt
    >>> found = volt.candidates([["low lower lowest flow blow"] * 30], merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_candidates(found, f"{folder}/candidates.tsv")
    ...     len(volt.load_candidates(f"{folder}/candidates.tsv")) == len(found)
    True
    """
    name = os.fspath(path)
    lines = read_text(named(path)).split("\n")
    alphabet, merges, fields = _read_header(name, lines[0])
    rows = alphabet + merges
    if lines[1:2] != ["\t".join(COLUMNS)] or lines[-1] != "" or len(lines) != rows + 3:
        raise InputError(
            f"{name}: {len(lines) - 3} rows where the header says {rows}; the file is cut short or "
            "edited"
        )
    return _read_rows(name, alphabet, lines[2:-1], fields)


def _read_header(name: str, line: str) -> tuple[int, int, dict[str, Any]]:
    """The number of symbols and of merges, and the other fields of the candidates."""
    if not line.startswith(HEAD):
        raise InputError(f"{name}: not a candidates file (its first line starts with {HEAD!r})")
    header = f"{name}, line 1: the header"
    data = parse_json(header, line[len(HEAD) :], HEADER)
    if data["format"] != FORMAT_VERSION:
        raise InputError(f"{header}: format {data['format']}; this volt reads {FORMAT_VERSION}")
    if data.get("encoding") in ("longest", "unigram"):
        raise InputError(
            f"{name}: these candidates have no parents, and without the text they can't be "
            "measured; name the text instead"
        )
    check(FIELDS, data, header)
    if data["unknown"] not in (None, data["alphabet"] - 1):
        raise InputError(f"{header}: unknown: not the last symbol")
    own = {
        "rule": read_rule(header, data), "encoding": data.get("encoding", "merge"),
        "fixed_rows": data.get("fixed_rows", fixed_rows(data["pretokenizer"])),
        **{key: data[key] for key in ("unknown", "left_out", "unit")},
    }  # fmt: skip
    return data["alphabet"], data["merges"], own


def _read_rows(
    name: str, alphabet: int, lines: list[str], fields: dict[str, Any]
) -> MergeCandidates:
    tokens: list[str] = []
    lengths: list[int] = []
    alphabet_counts: list[int] = []
    columns: list[list[int]] = [[], [], [], []]
    for number, line in enumerate(lines, 3):
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
    return MergeCandidates(
        tokens=tokens, lengths=np.array(lengths, np.uint32),
        alphabet_counts=np.array(alphabet_counts, np.uint64), left=left, right=right,
        pair_counts=pair_counts, merge_counts=merge_counts, **fields,
    )  # fmt: skip


_UNESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def _unescape(text: str) -> str:
    try:
        return re.sub(r"\\(.?)", lambda found: _UNESCAPES[found[1]], text, flags=re.DOTALL)
    except KeyError:
        raise ValueError("an unknown escape after a backslash") from None
