"""How a result and a tokenizer show themselves in a notebook. All text is escaped."""

from __future__ import annotations

import base64
import re
from html import escape
from typing import TYPE_CHECKING

from volt.base.errors import SettingsError

if TYPE_CHECKING:
    from volt.result import LearnResult
    from volt.tokenizing.tokenizer import Tokenizer

COLORS = ("#d6e6fa", "#fbe1cb", "#d8efd9", "#eadcf5", "#f7e4e8")
SAMPLE = "The right vocabulary for your text, 1984 to 2042: naïve café, Größe, 語彙, пример."


def result_html(result: LearnResult) -> str:
    """The answer and why, the criteria, quality and cost over size."""
    from volt.report.answer import answer, criterion_rows
    from volt.report.plot import render, result_figure
    from volt.report.terminal import vocabulary_lines

    data = result.summary()
    found = answer(data)
    reasons = "".join(f"<tr>{_left(name)}{_left(sentence)}</tr>" for name, sentence in found.rows)
    rows = "".join(
        f"<tr>{_left(one.name)}<td>{one.size}</td>"
        f"<td style='white-space:nowrap'>{one.parts}</td>{_left(one.sentence)}</tr>"
        for one in criterion_rows(data)
    )
    notes = "".join(f"<li>{escape(message)}</li>" for message in result.messages)
    try:
        # As an image: names inside it stay apart from those of other cells.
        image = base64.b64encode(render(result_figure(result), "svg")).decode()
        figure = f"<img alt='quality and cost over size' src='data:image/svg+xml;base64,{image}'>"
    except SettingsError as error:
        figure = f"<p>{escape(str(error))}</p>"
    return (
        f"<div><p><b>{escape(found.headline)}</b></p><table>{reasons}</table>"
        f"<div style='background:white;display:inline-block'>{figure}</div>"
        f"<p>{'<br>'.join(map(escape, vocabulary_lines(result)))}</p>"
        "<table><tr><th>criterion</th><th>size</th><th>parts of the text</th>"
        f"<th>what it measures</th></tr>{rows}</table>{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def _left(sentence: str) -> str:
    """A cell of words; parameters stand in backticks."""
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence))
    return f"<td style='text-align:left'>{words}</td>"


def tokenizer_html(tokenizer: Tokenizer) -> str:
    """What it is, and a sentence cut with it."""
    return f"<div><p><b>{escape(repr(tokenizer))}</b></p>{colored_tokens(tokenizer, SAMPLE)}</div>"


def colored_tokens(tokenizer: Tokenizer, text: str) -> str:
    """The tokens of a text, each in a colour, with its id where the pointer is."""
    spans = []
    for number, i in enumerate(tokenizer.encode(text)):
        shown = escape(tokenizer.tokens[i])
        color = COLORS[number % len(COLORS)]
        spans.append(
            f"<span title='{i}' style='background:{color};color:black;border-radius:3px;"
            f"padding:0 2px;margin-right:2px;white-space:pre-wrap'>{shown}</span>"
        )
    return f"<div style='font-family:monospace;line-height:1.9'>{''.join(spans)}</div>"
