"""Write the tables of the docs that come from registries: make docs-tables.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. Everything else on a page is
written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import volt.pipeline  # noqa: F401, registers every source
from volt.choosing.criteria import CRITERIA
from volt.counting.normalizers import NORMALIZERS
from volt.counting.words import PRETOKENIZERS, Pretokenizer
from volt.formats import FORMATS, Format
from volt.formats.patterns import LLAMA_CPP, LLAMA_CPP_DIFFERS
from volt.proposing.proposal import SOURCES, Source

DOCS = Path(__file__).parents[1] / "docs"


def table(*rows: Iterable[str]) -> str:
    """Rows of cells, the first of which is the head."""
    head, *others = (f"| {' | '.join(row)} |\n" for row in rows)
    return head + "|" + "---|" * (head.count("|") - 1) + "\n" + "".join(others)


def pretokenizers() -> str:
    def row(entry: Pretokenizer) -> list[str]:
        return [f"`{entry.name}`", entry.description, entry.merge_rule,
                " or ".join(entry.unknown) if not entry.byte_level else "none"]  # fmt: skip

    return table(
        ["`--pretokenizer`", "text", "merge rule", "`--unknown`"], *map(row, PRETOKENIZERS.values())
    )


def sources() -> str:
    def row(entry: Source) -> list[str]:
        form = "PATH" if entry.default_number is None else "N"
        number = "" if entry.default_number is None else f"{entry.default_number:,}"
        return [f"`{entry.name}:{form}`", entry.meaning, number,
                ", ".join(f"`{encoding}`" for encoding in entry.encodings)]  # fmt: skip

    return table(
        ["`--candidates`", "tokens", "default N", "`--encoding`, the default first"],
        *map(row, SOURCES.values()),
    )


def criteria() -> str:
    return table(
        ["`--criterion`", "the size it chooses"],
        *([f"`{entry.name}`", entry.meaning] for entry in CRITERIA.values()),
    )


def formats() -> str:
    def row(entry: Format) -> list[str]:
        taken = [f"`{mode.name}`" for mode in PRETOKENIZERS.values() if entry.takes(mode)]
        text = "all" if len(taken) == len(PRETOKENIZERS) else ", ".join(taken)
        how = ", ".join(entry.encodings) if entry.merge_rule else "tokens only"
        return [f"`{entry.name}`", entry.description, entry.writes, text, how,
                entry.merge_rule or ""]  # fmt: skip

    return table(
        ["`--to`", "for", "files", "text", "encodings", "rule"], *map(row, FORMATS.values())
    )


def patterns() -> str:
    def row(entry: Pretokenizer) -> list[str]:
        name = f"`{LLAMA_CPP[entry.name]}`" if entry.name in LLAMA_CPP else "none"
        return [f"`{entry.name}`", name, LLAMA_CPP_DIFFERS.get(entry.name, ""), "yes"]

    shown = [entry for entry in PRETOKENIZERS.values() if entry.byte_level]
    return table(
        [
            "`--pretokenizer`",
            "`tokenizer.ggml.pre` of llama.cpp",
            "differences",
            "transformers, vLLM",
        ],
        *map(row, shown),
        ["`custom:REGEX`", "none", "", "yes"],
    )


def normalizer_steps() -> str:
    return table(
        ["step", "is"], *([f"`{step.name}`", step.description] for step in NORMALIZERS.values())
    )


TABLES: dict[str, Callable[[], str]] = {
    "criteria": criteria,
    "formats": formats,
    "normalizer steps": normalizer_steps,
    "patterns": patterns,
    "pre-tokenizers": pretokenizers,
    "sources": sources,
}
PAGES = ("candidates.md", "formats.md", "method.md", "words.md")


def written(page: str) -> str:
    """The page with its tables as they should be."""
    return re.sub(
        r"(<!-- table: (.+) -->\n)(?:.*\n)*?(<!-- end -->\n)",
        lambda match: match[1] + TABLES[match[2]]() + match[3],
        page,
    )


if __name__ == "__main__":
    for name in PAGES:
        text = (DOCS / name).read_text(encoding="utf-8")
        (DOCS / name).write_text(written(text), encoding="utf-8")
