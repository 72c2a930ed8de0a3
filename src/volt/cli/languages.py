"""Languages on the command line: what the options name, and the table that is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from volt.base.errors import SettingsError
from volt.base.shown import plural
from volt.base.table import text_table
from volt.cli.console import print_json, say
from volt.counting.objects import Files

if TYPE_CHECKING:
    from volt.languages.scripts import ScriptsResult
    from volt.languages.table import Language, LanguageTable


def language_texts(lang: Iterable[str], files: list[str], glob: str) -> dict[str, Files]:
    """The files of each language: those of `--lang CODE=FILE`, and those whose name tells it."""
    from volt.languages.balance import find_languages

    texts = find_languages(files, glob=glob) if files else {}
    for text in lang:
        code, file = _pair("--lang", text, "de=train.de")
        texts.setdefault(code, []).append(file)
    return {code: Files(files) for code, files in texts.items()}


def weights_of(weights: Any) -> dict[str, str] | None:
    return dict(_pair("--weight", text, "de=2") for text in weights or ()) or None


def parallel_of(parallel: Iterable[str]) -> dict[str, str] | None:
    """Files of parallel text: `CODE=FILE`, or a folder of them."""
    from volt.languages.balance import find_languages

    found: dict[str, str] = {}
    for text in parallel:
        if Path(text).is_dir():
            named = find_languages([text])
        else:
            code, file = _pair("--parallel", text, "de=test.de")
            named = {code: [file]}
        for code, files in named.items():
            if code in found or len(files) > 1:
                raise SettingsError(f"--parallel: more than one file for {code}; name one")
            found[code] = files[0]
    return found or None


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    code, equals, value = text.partition("=")
    if not equals or not code.strip() or not value:
        raise SettingsError(f"{option} is CODE=..., such as {option} {example}, not {text!r}")
    return code.strip(), value


def table_lines(table: LanguageTable | None) -> list[str]:
    """A line for each language."""
    if table is None:
        return []
    wide = max(8, *(len(row.code) for row in table.rows))
    measured = any(row.best_size is not None for row in table.rows)
    weighted = any(row.weight != "1" for row in table.rows)
    unknown = any(row.unknown_characters for row in table.rows)
    columns: list[tuple[str, str, Callable[[Language], Any]]] = [
        ("language", f"<{wide}", lambda row: row.code),
        ("lines", ">9,", lambda row: row.lines),
        *([("weight", ">6", _weight)] if weighted else []),
        ("share", ">6.1%", lambda row: row.share),
        ("tok/word", ">8.3f", lambda row: row.tokens_per_word),
        ("tok/line", ">8.2f", lambda row: row.tokens_per_sentence),
        ("whole", ">6.1%", lambda row: row.single_token_words),
        *([("unknown", ">7,", lambda row: row.unknown_characters)] if unknown else []),
        ("parity", ">6.3f", lambda row: row.parity),
        *([("best", ">7,", lambda row: row.best_size)] if measured else []),
        *([("loss", ">5.1%", lambda row: row.quality_loss)] if measured else []),
        *([("cost", ">+7.2%", lambda row: row.cost or 0)] if table.min_share is not None else []),
    ]
    heads = [(name, form) for name, form, _ in columns]
    rows = ([value(row) for _, _, value in columns] for row in table.rows)
    lines = ["", *text_table(heads, rows)]
    where = "the parallel text" if table.parallel else (
        "the texts, if they are translations"
    )  # fmt: skip
    lines.append("tok/word: words as the pre-tokenizer cuts them; whole: those that are one token")
    lines.append(f"parity: tokens for each token of {table.reference}, on {where}")
    if measured:
        lines.append("best: its own best size; loss: held-out bits per byte above that")
    return lines


def _weight(row: Language) -> str:
    return f"{float(Fraction(row.weight)):.3f}".rstrip("0").rstrip(".")


def tell_scripts(result: ScriptsResult, folder: Path, quiet: bool, json: bool) -> None:
    """What `--separate-scripts` found."""
    if json:
        print_json(result.summary())
    columns = [("script", "<12"), ("words", ">12,"), ("types", ">9,"), ("chose", ">8,"),
               ("tokens", ">8,")]  # fmt: skip
    rows = (
        (name, one.counts.totals.words // one.counts.unit, len(one.counts), one.choice.size,
         len(one.vocabulary))
        for name, one in result.scripts.items()
    )  # fmt: skip
    say(quiet, "", *text_table(columns, rows))
    say(quiet, "", *joined_lines(result.joined.summary()), *table_lines(result.languages), "")
    say(quiet, *(f"note: {message}" for message in result.messages))
    say(quiet, f"written to {folder}: volt.json, choices.json, signature.txt, id maps, scripts/")


def joined_lines(summary: dict[str, Any]) -> list[str]:
    parts = ", ".join(f"{size:,}" for size in summary["parts"])
    lines = [
        f"joint vocabulary: {summary['vocabulary_size']:,} tokens, of vocabularies of {parts}, "
        f"which share {summary['shared']:,} (special tokens, symbols and bytes not counted)",
    ]
    if summary["moved"]:
        lines.append(
            f"torn apart by merges of another vocabulary: {plural(summary['moved'], 'token')}, "
            f"merged after all others; that took {plural(summary['added'], 'new scaffold')}"
        )
    if summary["unreachable"]:
        lines.append(f"unreachable: {plural(summary['unreachable'], 'token')} (see volt.json)")
    return lines
