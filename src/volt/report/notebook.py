"""How a result and a tokenizer show themselves in a notebook. All text is escaped."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from volt.base.errors import SettingsError

if TYPE_CHECKING:
    from volt.result import LearnResult
    from volt.tokenizing.tokenizer import Tokenizer

COLORS = ("#d6e6fa", "#fbe1cb", "#d8efd9", "#eadcf5", "#f7e4e8")
SAMPLE = "The right vocabulary for your text, 1984 to 2042: naïve café, Größe, 語彙, пример."


def result_html(result: LearnResult) -> str:
    """The choice, the criteria and the curve."""
    from volt.report.plot import render, result_figure
    from volt.report.terminal import chosen, vocabulary_lines

    rows = "".join(
        f"<tr><td>{escape(one.criterion)}</td>"
        f"<td>{'-' if one.size is None else f'{one.size:,}'}</td>"
        f"<td style='text-align:left'>{escape(one.meaning)}{' (in doubt)' if one.doubts else ''}"
        "</td></tr>"
        for one in result.choices
    )
    notes = "".join(f"<li>{escape(message)}</li>" for message in result.messages)
    try:
        # As an image: names inside it stay apart from those of other cells.
        data = base64.b64encode(render(result_figure(result), "svg")).decode()
        figure = f"<img alt='entropy over size' src='data:image/svg+xml;base64,{data}'>"
    except SettingsError as error:
        figure = f"<p>{escape(str(error))}</p>"
    return (
        f"<div><p><b>{escape(chosen(result))}</b><br>"
        f"{'<br>'.join(map(escape, vocabulary_lines(result)))}</p>"
        "<table><tr><th>criterion</th><th>size</th><th>meaning</th></tr>"
        f"{rows}</table>{f'<ul>{notes}</ul>' if notes else ''}"
        f"<div style='background:white;display:inline-block'>{figure}</div></div>"
    )


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
