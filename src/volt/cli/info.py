"""volt info: what a vocabulary is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from volt.base.options import Settings, flag, option
from volt.cli.arguments import Learned
from volt.cli.command import command
from volt.cli.console import print_json

if TYPE_CHECKING:
    from volt.report.page import Material


@dataclass(frozen=True, kw_only=True)
class InfoCommand(Settings):
    json: bool = option(False, "Print it as JSON.", flag(), group="Output")


@command("volt info out")
def info(learned: Learned, shown: InfoCommand) -> None:
    """Print what a vocabulary is, its signature and its diagnostics."""
    from volt.report.page import load_material

    facts = diagnostics(load_material(Path(learned.folder)))
    if shown.json:
        print_json(facts)
        return
    for name, value in facts.items():
        if value is None:
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{one:,} {kind}" for kind, one in value.items())
        elif isinstance(value, list):
            value = f"\n{'':<22}".join(map(str, value)) or "none"
        elif isinstance(value, float):
            value = f"{value:.4g}"
        elif isinstance(value, int):
            value = f"{value:,}"
        print(f"{name.replace('_', ' '):<21} {value}")


def diagnostics(material: Material) -> dict[str, Any]:
    """Plain data; None where the folder does not tell."""
    from volt.foreign.residues import find_residues
    from volt.proposing.tokens import SPELLED, Kind
    from volt.report.answer import bound_sentence

    vocabulary, choices = material.vocabulary, material.choices
    if choices is not None and "choices" not in choices:  # of a vocabulary that was joined
        choices = None
    corpus = (material.report or {}).get("corpus")
    kinds: tuple[Kind, ...] = get_args(Kind)
    counted = {kind: len(vocabulary.of_kind(kind)) for kind in kinds}
    texts = [token for token in vocabulary.tokens if token.kind in SPELLED]
    seen = any(token.frequency for token in vocabulary.tokens)
    shown = np.array([token.frequency for token in vocabulary.tokens], np.int64)
    residues = find_residues(vocabulary, shown) if seen else None
    decided = None
    if choices is not None:
        decided = next((one for one in choices["choices"]
                        if one["criterion"] == choices["criterion"]), None)  # fmt: skip
    return {
        "size": len(vocabulary),
        "tokens": {kind: count for kind, count in counted.items() if count},
        "scaffolds": vocabulary.scaffolds,
        "hidden": len(vocabulary.hidden),
        "unreachable": len(vocabulary.unreachable),
        "never_used": sum(not token.frequency for token in texts) if seen else None,
        "residues": len(residues) if residues is not None else None,
        "longest_token": max((len(token.text) for token in texts), default=0),
        "pretokenizer": vocabulary.rule.pretokenizer,
        "reads": f"{vocabulary.rule.reads}s",
        "normalize": vocabulary.rule.normalize,
        "normalizer": vocabulary.normalizer and vocabulary.normalizer.summary,
        "unicode": vocabulary.rule.unicode,
        "encoding": vocabulary.encoding,
        "merge_rule": vocabulary.merge_rule,
        "unknown": vocabulary.unknown,
        "criterion": choices and choices["criterion"],
        "doubts": decided and decided["doubts"],
        "bound": choices and bound_sentence(choices),
        "tokens_per_word": corpus and corpus["tokens"] / corpus["spaced_words"],
        "bytes_per_token": corpus and corpus["bytes"] / corpus["tokens"],
        "unknown_characters": corpus and corpus["unknown_characters"] / corpus["characters"],
        "signature": vocabulary.signature or None,
    }
