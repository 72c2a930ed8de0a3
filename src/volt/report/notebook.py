"""How results, tokenizers and comparisons show themselves in a notebook. All text is escaped."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from volt.base.errors import SettingsError
from volt.base.shown import SIGNS
from volt.counting.marks import INNER
from volt.proposing.tokens import SPELLED, Token

if TYPE_CHECKING:
    from volt.comparison import Comparison
    from volt.result import LearnResult
    from volt.tokenizing.tokenizer import Tokenizer

COLORS = ("#d6e6fa", "#fbe1cb", "#d8efd9", "#eadcf5", "#f7e4e8")
SAMPLE = "The right vocabulary for your text, 1984 to 2042: naïve café, Größe, 語彙, пример."


def result_html(result: LearnResult) -> str:
    """The answer and why, quality and cost over size, the figures, the criteria."""
    from volt.report.answer import answer, criterion_rows, notes
    from volt.report.data import overview
    from volt.report.facts import facts

    data = result.summary()
    found = answer(data)
    shown = facts(result.vocabulary, data, overview(result))
    criteria = [(one.name, one.size, one.parts, one.sentence) for one in criterion_rows(data)]
    told = "".join(f"<li>{escape(note)}</li>" for note in notes(data))
    return (
        f"<div><p><b>{escape(found.headline)}</b></p>{_table(found.rows)}"
        f"<div style='background:white;display:inline-block'>{_figure(result)}</div>"
        f"{_table((one.name, one.value, one.note) for one in shown)}"
        f"{_table(criteria, ('criterion', 'size', 'parts of the text', 'what it measures'))}"
        f"{f'<ul>{told}</ul>' if told else ''}</div>"
    )


def _figure(result: LearnResult) -> str:
    from volt.report.plot import render, result_figure

    try:
        # As an image: names inside it stay apart from those of other cells.
        image = base64.b64encode(render(result_figure(result), "svg")).decode()
    except SettingsError as error:
        return f"<p>{escape(str(error))}</p>"
    return f"<img alt='quality and cost over size' src='data:image/svg+xml;base64,{image}'>"


def tokenizer_html(tokenizer: Tokenizer) -> str:
    """What it is, and a sentence cut with it."""
    return f"<div><p><b>{escape(repr(tokenizer))}</b></p>{show(tokenizer, SAMPLE)._repr_html_()}"


def comparison_html(comparison: Comparison) -> str:
    """The answer, a table of all text, one of the kinds of text, and notes."""
    from volt.comparison import tables

    notes = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes)
    shown = "".join(_table(rows, head) for head, *rows in tables(comparison))
    head = f"<p><b>{escape(comparison.headline)}</b></p>"
    return f"{head}{shown}{f'<ul>{notes}</ul>' if notes else ''}"


def _table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Words are to the left, numbers to the right; parameters stand in backticks."""

    def cell(text: str) -> str:
        side = "right" if re.match(r"[-+\d][\d,.%]*$", text) else "left"
        words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
        return f"<td style='text-align:{side}'>{words}</td>"

    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table>{f'<tr>{titles}</tr>' if titles else ''}{body}</table>"


@dataclass(frozen=True)
class ShownTokens:
    """A text cut into tokens: coloured in a notebook, between bars elsewhere."""

    text: str = field(repr=False)
    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]] = field(repr=False)

    def __str__(self) -> str:
        return "|".join(token.translate(SIGNS) for token in self.tokens)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        spans = "".join(
            f"<span title='id {i}, characters {start} to {end}' style='background:"
            f"{COLORS[place % len(COLORS)]};color:black;border-radius:3px;padding:0 2px;"
            f"margin-right:2px;white-space:pre-wrap'>{escape(token.translate(SIGNS))}</span>"
            + "<br>"
            * ("\n" in token)
            for place, (i, token, (start, end)) in enumerate(
                zip(self.ids, self.tokens, self.offsets, strict=True)
            )
        )
        return (
            f"<div style='font-family:monospace;line-height:1.9'>{spans}</div>"
            f"<small>{len(self.ids):,} tokens</small>"
        )


def show(tokenizer: Tokenizer, text: str) -> ShownTokens:
    """The tokens of a text as the text they stand for, with a space where a mark says that a word
    begins or ends. What is only a part of a character is shown as bytes: \\xc3."""
    ids, offsets = tokenizer.encode_with_offsets(text)
    marks, tokens = tokenizer.vocabulary.marks, tokenizer.vocabulary.tokens

    def shown(token: Token) -> str:
        if token.kind not in SPELLED:
            return token.text
        plain = marks.text(token.text).decode(errors="backslashreplace")
        place = marks.position(token.text)
        return " " * (marks is INNER and bool(place.starts)) + plain + " " * bool(place.ends)

    return ShownTokens(text, ids, [shown(tokens[i]) for i in ids], offsets)
