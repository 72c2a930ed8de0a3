"""LearnResult -> report.json: figures that need the counts, the candidates or the plan, which are
gone when the folder is all that is left. docs/report.md describes the file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from volt._version import __version__
from volt.base.errors import InputError
from volt.base.gate import REPORT, read_json
from volt.base.output import write_file
from volt.base.schema import check, table, whole
from volt.base.shown import json_text
from volt.counting.counts import WordCounts
from volt.counting.excerpts import Excerpt
from volt.counting.marks import SPACE_MARK
from volt.counting.reading import lines_of
from volt.counting.spaces import has_spaces, spaced, unspaced_places
from volt.proposing.base import Candidates
from volt.proposing.curve import Curve
from volt.proposing.merges import MergeCandidates
from volt.proposing.tokens import SPELLED
from volt.report.schemas import report_schema
from volt.tokenizing.residues import find_residues
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

if TYPE_CHECKING:
    from volt.choosing.paper_sizes import Step
    from volt.result import LearnResult

FORMAT = 3
SHOWN_FORMATS = (2, 3)
"""Format 2 has no `tokens`: its page shows no choice for another model."""
EXCERPT_BYTES = 1 << 20
"""Text that is encoded for the figures of all files together."""
SHOWN_TOKENS = 48
SHOWN_CHARACTERS = 28
SHOWN_DROPPED = 200
TYPICAL_FILES, TYPICAL_TOKENS = 8, 24
TINY_RATE = 1e-6
"""Added to rates that are compared: a token that one text has once tells nothing."""


def collect(result: LearnResult) -> dict[str, Any]:
    """Plain data, the same for the same text and file names."""
    return {
        "format": FORMAT,
        "volt": __version__,
        "signature": result.signature,
        "length": result.choice.length,
        "source": {"name": result.curve_name, "exact": result.exact},
        **overview(result),
        "curve": curve_columns(result),
        "tokens": every_token_count(result.curve),
        "transport": transport_excerpt(result),
        "bpe": (
            bpe_sizes(result.candidates, result.vocabulary)
            if result.source == "bpe" and isinstance(result.candidates, MergeCandidates)
            else None
        ),
        "files": file_figures(result.counts, result.tokenizer, result.part_names),
        "typical": typical_tokens(result),
    }


def overview(result: LearnResult) -> dict[str, Any]:
    """What the terminal shows, too."""
    return {
        "corpus": corpus_figures(result.counts, result.candidates, result.vocabulary),
        "residues": residue_count(result.vocabulary),
    }


def residue_count(vocabulary: Vocabulary) -> int | None:
    """Tokens that the text makes, but never shows; None where tokens do not merge."""
    found = find_residues(vocabulary)
    return None if found is None else len(found)


def save_report(report: dict[str, Any], path: str | os.PathLike[str]) -> None:
    lines = [
        f"{json_text(name)}: {json_text(value, separators=(',', ':'))}"
        for name, value in report.items()
    ]
    write_file(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def load_report(path: Path) -> dict[str, Any]:
    """Read report.json. What is in it is shown, never run."""
    report: dict[str, Any] = read_json(path, table({"format": whole()}), REPORT)
    version = report["format"]
    if version not in SHOWN_FORMATS:
        hint = "learn again" if version < FORMAT else "use the version of volt that wrote it"
        raise InputError(f"{path}: report format {version!r}, this volt reads {FORMAT}: {hint}")
    check(report_schema(SHOWN_FORMATS), report, str(path))
    return report


# ------------------------------------------------------------------------------------------ corpus


def corpus_figures(
    counts: WordCounts, candidates: Candidates, vocabulary: Vocabulary
) -> dict[str, Any]:
    """The whole corpus under the vocabulary. Tokens and unknown characters were measured by
    encoding every word type."""
    unit = counts.unit
    frequencies = vocabulary.columns.frequencies.tolist()
    unknown = sum(frequencies[number] for number in vocabulary.unknown_starts)
    weights = counts.counts.astype(np.int64)
    offsets = counts.offsets.astype(np.int64)
    sizes = np.diff(offsets)
    marked_words = weights
    if counts.rule.pretokenizer == "metaspace":
        # `▁` is three bytes and stands for one; it only ever starts a word.
        marked = _starts_with(counts, SPACE_MARK.encode())
        marked_words = weights * (marked & (sizes > 3))
        sizes = sizes - 2 * marked
    elif counts.rule.mode.byte_level:
        # A word after a space; the first of a line has none before it.
        marked_words = weights * (_starts_with(counts, b" ") & (sizes > 1))
    words = int(marked_words.sum())
    if counts.rule.mode.byte_level:
        words += counts.totals.lines * unit
    size = int((weights * sizes).sum())
    word_of = np.searchsorted(offsets, unspaced_places(counts.text), side="right") - 1
    if not has_spaces(int(weights[word_of].sum()), size):
        words = 0
    return {
        "lines": counts.totals.lines,
        "words": _number(int(weights.sum()), unit),
        "types": len(counts),
        "spaced_words": _number(words, unit),
        "characters": _number(candidates.curve.characters, unit),
        "bytes": _number(size, unit),
        "tokens": _number(sum(frequencies), unit),
        "unknown_characters": _number(unknown, unit),
        "alphabet": candidates.alphabet_size,
        "merges": candidates.merges,
    }


def _starts_with(counts: WordCounts, start: bytes) -> NDArray[np.bool_]:
    offsets = counts.offsets.astype(np.int64)
    found = np.diff(offsets) >= len(start)
    for i, byte in enumerate(start):
        places = np.minimum(offsets[:-1] + i, len(counts.text) - 1)
        found &= counts.text[places] == byte
    return found


def _number(value: int, unit: int) -> float | int:
    return value if unit == 1 else _rounded(value / unit)


def _rounded(value: float) -> float:
    """Six digits: enough to read, and not the last bits, which another machine may compute
    otherwise."""
    return float(f"{value:.6g}")


def _column(values: NDArray[Any]) -> list[Any]:
    if values.dtype.kind == "f":
        return [_rounded(value) for value in values.tolist()]
    return list(values.tolist())


# ------------------------------------------------------------------------------------------- curve


def curve_columns(result: LearnResult) -> dict[str, Any]:
    """Figures over sizes, at the rows of curve.csv and at the size of the vocabulary."""
    from volt.result import curve_rows

    listed = curve_rows(result.curve, result.choices, result.steps)
    rows = np.unique([*listed, result.curve.at_size(result.choice.size)])
    curve = result.candidates.curve_at(rows)
    columns = {
        "size": curve.size,
        "tokens": curve.tokens,
        "types": curve.types,
        "frequent": curve.frequent,
        "entropy": curve.entropy_by(result.choice.length),
    }
    single = result.candidates.one_token_words(int(result.counts.counts.sum()))
    if single is not None:
        columns["one_token_words"] = single[rows]
    return {name: _column(values) for name, values in columns.items()}


def every_token_count(curve: Curve) -> dict[str, Any]:
    """Tokens of the corpus at every size of the curve, where the page finds the cheapest size for a
    model: those of the first size, and runs of [tokens that each further size saves, sizes]. If
    only some sizes were measured, these."""
    if int(curve.size[-1] - curve.size[0]) + 1 > len(curve):
        return {"sizes": curve.size.tolist(), "tokens": curve.tokens.tolist()}
    saved = -np.diff(curve.tokens)
    starts = np.flatnonzero(np.diff(saved, prepend=saved[:1] - 1))
    lengths = np.diff(starts, append=len(saved))
    runs = np.stack([saved[starts], lengths], axis=1).tolist()
    return {"size": int(curve.size[0]), "tokens": int(curve.tokens[0]), "runs": runs}


# --------------------------------------------------------------------------------------- transport


def transport_excerpt(result: LearnResult) -> dict[str, Any] | None:
    """The plan between the most frequent characters and tokens, at the size of S that the paper
    chooses, and the tokens that were dropped; None if transport was not solved."""
    step = max(result.steps, key=lambda one: -np.inf if one.muv is None else one.muv, default=None)
    if step is None:
        return None
    solution, problem = step.solution, step.solution.problem
    asked = problem.token_marginal
    tokens = np.argsort(-asked, kind="stable")[:SHOWN_TOKENS]
    characters = np.argsort(-problem.character_marginal, kind="stable")[:SHOWN_CHARACTERS]
    column_of = {character: i for i, character in enumerate(characters.tolist())}
    plan = solution.plan
    cells = [
        [row, column_of[character], _rounded(mass)]
        for row, token in enumerate(tokens.tolist())
        for character, mass in zip(
            plan.indices[plan.indptr[token] : plan.indptr[token + 1]].tolist(),
            plan.data[plan.indptr[token] : plan.indptr[token + 1]].tolist(),
            strict=True,
        )
        if character in column_of
    ]
    dropped = np.flatnonzero(~step.enough)
    dropped = dropped[np.argsort(-asked[dropped], kind="stable")][:SHOWN_DROPPED]
    names = problem.character_names or [str(i) for i in range(len(problem.character_marginal))]
    return {
        "size": step.size,
        "s": step.s,
        "tokens_in_use": len(step.tokens),
        "dropped": step.dropped,
        "moved": _rounded(solution.moved),
        "epsilon": problem.epsilon,
        "gamma": problem.gamma,
        "iterations": solution.iterations,
        "characters": [
            {"text": names[i], "mass": _rounded(float(problem.character_marginal[i]))}
            for i in characters.tolist()
        ],
        "tokens": _token_rows(result.candidates, step, tokens),
        "plan": cells,
        "dropped_tokens": _token_rows(result.candidates, step, dropped),
    }


def _token_rows(
    candidates: Candidates, step: Step, rows: NDArray[np.int64]
) -> list[dict[str, Any]]:
    asked, got = step.solution.problem.token_marginal, step.solution.token_mass
    return [
        {
            "text": candidates.tokens[int(step.tokens[row])],
            "asked": _rounded(float(asked[row])),
            "got": _rounded(float(got[row])),
        }
        for row in rows.tolist()
    ]


# ------------------------------------------------------------------------------------- plain BPE


def bpe_sizes(candidates: MergeCandidates, vocabulary: Vocabulary) -> dict[str, Any]:
    """Plain BPE with as many merges as the vocabulary has, with half and with twice as many: the
    first merges of the candidates."""
    same = len(vocabulary.of_kind("merged"))
    merges = min(2 * same, candidates.merges)
    return {
        "same": same,
        "sizes": sorted({(same + 1) // 2, merges}),
        "alphabet": candidates.tokens[: candidates.alphabet_size],
        "unknown": candidates.unknown,
        "left": candidates.left[:merges].tolist(),
        "right": candidates.right[:merges].tolist(),
        "shared": sum(0 <= rank < same for rank in vocabulary.columns.ranks.tolist()),
    }


# ------------------------------------------------------------------------------------------- files


def file_figures(
    counts: WordCounts, tokenizer: Tokenizer, part_names: Mapping[str, str] = {}
) -> list[dict[str, Any]]:
    """Figures of each text, measured on its excerpt. Parity is tokens against those of the first
    file on the same lines; None if the files differ in their number of lines."""
    texts = [
        (name, lines, excerpt)
        for (name, lines), excerpt in zip(counts.lines_of, counts.excerpts, strict=False)
        if excerpt.lines
    ]
    if not texts:
        return []
    # Lines of a sample are chosen in each file by itself.
    parallel = len({lines for _, lines, _ in texts}) == 1 and counts.sample is None
    excerpts = [excerpt for _, _, excerpt in texts]
    if not parallel or len(texts) == 1:
        excerpts = [one.runs() for one in excerpts]
    levels = [excerpt.level(_room(texts)) for excerpt in excerpts]
    if parallel:
        levels = [max(levels)] * len(texts)
    excerpts = [one.at(level) for one, level in zip(excerpts, levels, strict=True)]
    if parallel:
        common = reduce(np.intersect1d, (one.numbers for one in excerpts))
        excerpts = [one.where(np.isin(one.numbers, common)) for one in excerpts]
    sampled = [_lines_of(one) or [""] for one in excerpts]
    figures: list[dict[str, Any]] = []
    for (name, all_lines, _), lines in zip(texts, sampled, strict=True):
        shown = part_names.get(name, PurePath(name).name)
        about = {"name": shown, "lines": all_lines, "parallel": parallel}
        figures.append(about | text_figures(lines, tokenizer))
    tokens = figures[0]["tokens"]
    for one in figures:
        one["parity"] = _rounded(one["tokens"] / tokens) if parallel and tokens else None
    return figures


def _room(texts: Sequence[object]) -> int:
    """Bytes of each text that are encoded."""
    return max(EXCERPT_BYTES // max(1, len(texts)), 1 << 14)


def _lines_of(excerpt: Excerpt) -> list[str]:
    return lines_of(excerpt.text.decode(errors="replace").removeprefix("\ufeff"))


def typical_tokens(result: LearnResult) -> dict[str, list[int]]:
    """The tokens that a language has far more often than the others, or a file if no languages were
    named: those whose occurrences tell most about where they come from."""
    counts, tokenizer = result.counts, result.tokenizer
    used: dict[str, NDArray[np.int64]] = {}
    for part in counts.parts:
        if part.language is not None:
            found = tokenizer.usage(part.counts)[0]
            used[part.language] = used.get(part.language, 0) + found
    if not used:
        texts = zip(counts.lines_of, counts.excerpts, strict=False)
        names = result.part_names
        shown = [
            (names.get(name, PurePath(name).name), one) for (name, _), one in texts if one.lines
        ]
        for name, excerpt in shown if len(shown) <= TYPICAL_FILES else []:
            runs = excerpt.runs()
            lines = _lines_of(runs.at(runs.level(_room(shown))))
            ids = tokenizer.encode_batch(lines)
            used[name] = np.bincount(
                np.fromiter(chain.from_iterable(ids), np.int64), minlength=len(tokenizer)
            )
    if len(used) < 2:
        return {}
    rates = np.stack([row / max(1, row.sum()) for row in used.values()])
    rest = (rates.sum(axis=0) - rates) / (len(used) - 1)
    spelled = result.vocabulary.columns.are(*SPELLED)
    told = rates * np.log((rates + TINY_RATE) / (rest + TINY_RATE)) * spelled
    order = np.argsort(-np.round(told, 12), axis=1, kind="stable")[:, :TYPICAL_TOKENS]
    return {
        name: [int(i) for i in row if values[i] > 0]
        for name, row, values in zip(used, order, told, strict=True)
    }


def text_figures(lines: list[str], tokenizer: Tokenizer) -> dict[str, Any]:
    """Lines, words between spaces, tokens, and how many words are one token. Where documents are
    read, line ends are text and in tokens."""
    texts = lines
    if tokenizer.vocabulary.rule.reads == "document":
        texts = ["".join(line + "\n" for line in lines)]
    has_words = spaced("\n".join(lines).encode())
    words = Counter(word for line in lines for word in line.split() if has_words)
    prefix = " " if tokenizer.vocabulary.rule.mode.byte_level else ""
    alone = tokenizer.encode_batch([prefix + word for word in words])
    single = sum(count for count, ids in zip(words.values(), alone, strict=True) if len(ids) == 1)
    return {
        "sampled_lines": len(lines),
        "words": words.total(),
        "characters": sum(map(len, texts)),
        "bytes": sum(len(text.encode()) for text in texts),
        "tokens": sum(map(len, tokenizer.encode_batch(texts))),
        "single_token_words": single,
    }
