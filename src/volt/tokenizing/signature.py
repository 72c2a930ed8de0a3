"""The signature: one line that tells how a vocabulary was made. Equal lines, equal vocabularies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from volt._version import __version__
from volt.choosing.choice import Choice
from volt.choosing.sizes import listed_s
from volt.counting.counts import WordCounts
from volt.settings import ChoiceSettings, LearnSettings
from volt.tokenizing.roles import Roles
from volt.tokenizing.vocabulary import Vocabulary

HEAD = "volt"


def sign(fields: Mapping[str, Any]) -> str:
    """`volt|name:value|name:value|...|v:VERSION`."""
    values = {**fields, "v": __version__}
    return "|".join([HEAD, *(f"{name}:{value}" for name, value in values.items())])


def changed(signature: str, fields: Mapping[str, Any]) -> str:
    """The signature with some fields changed, and those it does not have yet before the version."""
    parts = signature.split("|")
    names = [part.partition(":")[0] for part in parts]
    for name, value in fields.items():
        if name in names:
            parts[names.index(name)] = f"{name}:{value}"
        else:
            parts.insert(-1, f"{name}:{value}")
            names.insert(-1, name)
    return "|".join(parts)


def words_fields(vocabulary: Vocabulary) -> dict[str, Any]:
    """How text becomes words, and words tokens."""
    rule = vocabulary.rule
    return {
        "pre": rule.pretokenizer,
        "norm": vocabulary.normalizer.summary if vocabulary.normalizer else rule.normalize,
        "enc": vocabulary.encoding,
        "rule": vocabulary.merge_rule,
        "unk": vocabulary.unknown,
    }


def choice_fields(choice: Choice, settings: ChoiceSettings) -> dict[str, Any]:
    """How the size and the tokens were chosen."""
    return {
        "crit": choice.criterion,
        "s": listed_s([step.s for step in choice.steps]),
        "rank": settings.rank or "auto",
        "len": settings.length,
        "gamma": f"{settings.gamma:g}",
        "eps": "auto" if settings.epsilon is None else f"{settings.epsilon:g}",
        "thr": f"{settings.threshold:g}",
        "profile": settings.profile or "none",
        "model": f"{choice.model.body}:{choice.model.width}",
        "tol": f"{settings.tolerance:g}",
        "order": settings.order,
        "splits": 0 if choice.quality is None else len(choice.quality.split_scores),
        "seed": settings.seed,
        "mult": settings.multiple_of or "auto",
    }


def short_digest(names: Iterable[str]) -> str:
    """Enough of a hash to tell lists of names apart."""
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:8]


def _roles(vocabulary: Vocabulary) -> list[str]:
    """What was said about roles; nothing if they are as usual."""
    usual, own = asdict(Roles()), asdict(vocabulary.roles)
    said = [f"{name}={own[name]}" for name in own if own[name] != usual[name]]
    return ["", *said] if said else []


def learn_signature(
    source: str,
    counts: WordCounts,
    vocabulary: Vocabulary,
    choice: Choice,
    settings: LearnSettings,
) -> str:
    """How `learn` made a vocabulary from candidates of a source."""
    rule = counts.rule
    return sign({
        "cand": source,
        "min": settings.min_frequency,
        "cov": "auto" if settings.coverage is None else f"{settings.coverage:g}",
        "long": settings.max_token_length or "any",
        "cut": rule.max_word_length,
        "uni": rule.unicode,
        **choice_fields(choice, settings),
        **({"sel": settings.select} if settings.selects else {}),
        **words_fields(vocabulary),
        "names": short_digest([*settings.special, "", *settings.symbols, *_roles(vocabulary)]),
        "size": len(vocabulary),
        "unit": counts.unit,
        "corpus": counts.digest(),
    })  # fmt: skip
