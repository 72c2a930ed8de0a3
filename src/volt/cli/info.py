"""volt info: what a vocabulary, or a tokenizer of any toolkit, is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import volt
from volt.base.lines import WIDTH
from volt.base.options import argument, file_list, option, path
from volt.base.shown import plural
from volt.cli.arguments import Pattern
from volt.cli.command import Given, command
from volt.cli.console import print_json, refuse
from volt.settings import TextSettings, in_flags

if TYPE_CHECKING:
    from volt.report.page import Material


ON_TEXT = {
    "tokens": "tokens_of_the_text", "tokens_per_word": "tokens_per_word",
    "bytes_per_token": "bytes_per_token", "bits_per_byte": "bits_per_byte",
    "unknown": "share_unknown", "in_bytes": "share_in_bytes",
    "partial": "share_part_of_a_character", "unused": "share_unused",
    "residues": "residues",
}  # fmt: skip
"""The figures of `compare` that are about one vocabulary, and what they are called here."""
COUNTED_ON = {
    "share_unused": "share unused on this text", "residues": "residues on this text",
}  # fmt: skip
"""What depends on the text, which people may take for the same figure of another one."""
OWN_TEXT = {"never_used": "never used on its own text", "residues": "residues on its own text"}
"""The same, counted when it was learned."""
RARE = ("scaffolds", "hidden", "ids_without_token")
"""Left out of the list for people where there are none."""

USUAL_NAMES = {"merge": "BPE", "longest": "WordPiece"}
"""Of encodings, where the field calls them otherwise."""
MOST_NAMES = 12
"""Special tokens that are listed for people."""


RESIDUES = (
    "residues, tokens that always merge on, are counted on a text: --on FILE; certain without one "
    "are only those that begin or end inside a character and merge with all that can stand there"
)
"""Of somebody's tokenizer without a text. Where the text of a token stands alone, it is not merged
on, and what is not text alone is all there is to count before there is a text."""


@dataclass(frozen=True, kw_only=True)
class InfoCommand(Pattern, group="Input"):
    tokenizer: str = argument(
        ..., "What volt learn wrote, or a tokenizer of any toolkit: file or folder.", path(),
        metavar="TOKENIZER",
    )  # fmt: skip
    on: Sequence[str] = option(
        (), "Text to measure it on; may be given several times.", file_list()
    )
    json: bool = option(False, "Print it as JSON.", group="Output")


@command("volt info out")
def info(asked: InfoCommand, reading: TextSettings, given: Given) -> None:
    """Print what a vocabulary is, its signature and its diagnostics."""
    if not asked.on:
        refuse(given, vars(reading), "a vocabulary without --on")
    facts = found_facts(Path(asked.tokenizer), asked.pattern)
    if asked.on:
        texts = volt.Files(asked.on)
        row = volt.compare([asked.tokenizer], texts, pattern=asked.pattern, **vars(reading)).rows[0]
        facts |= {shown: getattr(row, name) for name, shown in ON_TEXT.items()}
    elif facts.get("merges"):
        facts["notes"].append(RESIDUES)
    if asked.json:
        print_json(facts)
        return
    labels = {**OWN_TEXT, **COUNTED_ON} if asked.on else OWN_TEXT
    for name, value in facts.items():
        if value is None or name == "merges" or (value == 0 and name in RARE):
            continue
        if name == "longest_token":
            spelled = facts["tokens"].keys() & {"character", "other"}  # the last: somebody's
            value = plural(value, "character" if spelled else "byte")
        if name == "signature":  # has no spaces, and a part of 70 columns
            print(name, *_filled(value.replace("|", "|\n").split("\n"), 2), sep="\n")
        else:
            head, *rest = _filled(re.split(r"(?<= )|(?<=\n)", _shown(name, value)), 28)
            label = labels.get(name, name.replace("_", " "))
            print(f"{label:<27} {head.lstrip()}", *rest, sep="\n")


def _shown(name: str, value: Any) -> str:
    """A fact for people; figures as `compare` shows them."""
    from volt.comparison import COLUMNS
    from volt.formats.detect import FILE_KINDS

    forms = {ON_TEXT.get(one.key): one.form for one in COLUMNS}
    if name == "kind":
        return FILE_KINDS[value].said if value in FILE_KINDS else str(value)
    if name == "special_tokens":
        more = [f"and {len(value) - MOST_NAMES:,} more"] if len(value) > MOST_NAMES else []
        return ", ".join([*value[:MOST_NAMES], *more]) or "none"
    if name == "encoding" and value in USUAL_NAMES:
        return f"{value}, as {USUAL_NAMES[value]} does"
    if isinstance(value, dict):
        return ", ".join(f"{one:,} {kind.replace('_', ' ')}" for kind, one in value.items())
    if isinstance(value, list):
        return "\n".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format(value, ".3%" if name == "unknown_characters" else forms.get(name, ".4g"))
    counted = " tokens" if name == "part_of_a_character" else ""
    return f"{value:,}{counted}" if isinstance(value, int) else str(value)


def _filled(parts: Sequence[str], indent: int) -> list[str]:
    """Parts one after the other in lines of at most 80 columns."""
    found = [""]
    for part in parts:
        if found[-1].endswith("\n") or len(found[-1] + part.rstrip()) > WIDTH - indent:
            found.append("")
        found[-1] += part
    return [f"{'':{indent}}{line.rstrip()}" for line in found]


def found_facts(path: Path, pattern: str | None) -> dict[str, Any]:
    """Of what volt wrote, or of somebody's tokenizer."""
    from volt.formats.exchange import check_pattern

    check_pattern(pattern, [path])
    if path.name == "volt.json" or (path / "volt.json").exists():
        from volt.report.page import load_material

        return diagnostics(load_material(path))
    from volt.foreign.facts import tokenizer_facts

    return tokenizer_facts(path, pattern)


def diagnostics(material: Material) -> dict[str, Any]:
    """Plain data; None where the folder does not tell."""
    from volt.foreign.facts import vocabulary_facts
    from volt.proposing.tokens import SPELLED
    from volt.report.answer import bound_sentence, doubts
    from volt.report.facts import never_used
    from volt.tokenizing.residues import find_residues

    vocabulary, choices = material.vocabulary, material.choices
    if choices is not None and "choices" not in choices:  # of a vocabulary that was joined
        choices = None
    corpus = (material.report or {}).get("corpus")
    texts = [token for token in vocabulary.tokens if token.kind in SPELLED]
    residues = find_residues(vocabulary)
    return {
        "size": len(vocabulary),
        "tokens": vocabulary.kind_counts,
        "scaffolds": vocabulary.scaffolds,
        "hidden": len(vocabulary.hidden),
        "unreachable": len(vocabulary.unreachable),
        "never_used": never_used(vocabulary),
        "residues": len(residues) if residues is not None else None,
        "longest_token": max((len(token.text) for token in texts), default=0),
        **vocabulary_facts(vocabulary),
        "criterion": choices and choices["criterion"],
        "doubts": choices and [in_flags(one) for one in doubts(choices)],
        "bound": choices and bound_sentence(choices),
        "tokens_per_word": _share(corpus, "tokens", "spaced_words"),
        "bytes_per_token": _share(corpus, "bytes", "tokens"),
        "unknown_characters": _share(corpus, "unknown_characters", "characters"),
        "signature": vocabulary.signature or None,
    }


def _share(corpus: dict[str, Any] | None, part: str, whole: str) -> float | None:
    """None where there is nothing to divide by."""
    return corpus[part] / corpus[whole] if corpus and corpus[whole] else None
