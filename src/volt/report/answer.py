"""choices.json -> the first lines that a person reads: the size and why it was chosen.

Terminal, page and notebook all show these lines. Parameters stand in backticks; the command line
and the page turn them into flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.lines import WARNING
from volt.choosing.splits import MANY_TYPES

CHEAPEST = "the cheapest size that costs no measurable quality"
MEASURABLE = 0.005
"""The tolerance up to which that is said."""
LITTLE = 0.1
"""How far the answers of a sample and of half of it, or of parts of the text and all of it, may be
apart, relative."""
PAPER_METHOD = {
    "pair": "the method of the VOLT paper",
    "languages": "the method of the VOLT paper, with its sizes for many languages,",
    "given": "the method of the VOLT paper, at your `sizes`,",
}
"""What is said to choose, by the sizes that it was tried at."""
LITTLE_TEXT = 10_000
"""Characters, a few hundred lines: with fewer, the answer says little of the text to come."""
SAME_BITS = 0.001
"""Bits per byte that differ by less, relative, are called the same."""
NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Answer:
    """The size, why, and a sentence for each thing that supports it."""

    size: int
    why: str
    doubt: str
    """Why not to trust it: little text, or the list of sizes decided, not the data. Empty if
    nothing says so."""
    rows: tuple[tuple[str, str], ...]
    """Name and sentence."""
    doubt_head: str = ""
    """The doubt in few words."""

    @property
    def headline(self) -> str:
        said = f"{self.size:,} tokens: {self.why}"
        return f"{said}; {self.doubt}" if self.doubt else said

    @property
    def lines(self) -> list[str]:
        """For a terminal."""
        return [self.headline, *(f"  {name:<9} {sentence}" for name, sentence in self.rows)]


def answer(found: Mapping[str, Any]) -> Answer:
    """The answer in plain data, as in choices.json."""
    rows = {
        "quality": _quality(found),
        "cost": _cost(found),
        "text": _more_text(found),
        "merges": _more_merges(found),
        "bound": bound_sentence(found),
        "mu": _entry(found),
        "held out": _beside_bpe(found),
        "sample": _sample(found),
        "repeated": _repeated(found),
        "auto": _auto(found),
        "published": _published(found),
    }
    said = tuple((name, sentence) for name, sentence in rows.items() if sentence)
    one = verdict(found, reason(found))
    doubt = one["doubts"][0] if one and one["doubts"] else ""
    little = _little_text(found)
    head = "There is little text." if little else "The data did not decide this size."
    doubted = "; ".join(filter(None, [little, doubt]))
    return Answer(found["size"], _why(found), doubted, said, head if doubted else "")


def _little_text(found: Mapping[str, Any]) -> str:
    """Why the text is too small for an answer; empty if it is not, or the size was given."""
    characters = found.get("characters", LITTLE_TEXT)
    if characters >= LITTLE_TEXT or reason(found) in ("size", "only"):
        return ""
    return f"{characters:,} characters are too little text to trust this: give some hundred lines"


def reason(found: Mapping[str, Any]) -> str:
    """What decided; files of earlier versions name only the criterion."""
    return str(found.get("reason") or found["criterion"])


def by_auto(found: Mapping[str, Any]) -> bool:
    return bool(found["criterion"] == "auto")


def verdict(found: Mapping[str, Any], criterion: str) -> dict[str, Any] | None:
    """What one criterion says."""
    return next((one for one in found["choices"] if one["criterion"] == criterion), None)


def _tolerance(found: Mapping[str, Any]) -> float:
    return float((found.get("quality") or {}).get("tolerance", MEASURABLE))


def _cheapest(found: Mapping[str, Any]) -> str:
    """What the answer is; a larger tolerance allows a loss that can be measured."""
    if (tolerance := _tolerance(found)) <= MEASURABLE:
        return CHEAPEST
    return f"the cheapest size whose quality is at most {percent(tolerance)} below the best"


def _no_loss(found: Mapping[str, Any]) -> str:
    if (tolerance := _tolerance(found)) <= MEASURABLE:
        return "at no measurable loss of quality"
    return f"with a quality at most {percent(tolerance)} below the best"


def _why(found: Mapping[str, Any]) -> str:
    decided = reason(found)
    if decided == "size":
        return "the size you gave"
    if decided == "only":
        return "the only size, for the text gives nothing to merge"
    if decided == "quality":
        if found["cost"]["lowest"] < found["size"]:
            return f"{_cheapest(found)}, the lower end of the range: from there on the cost rises"
        return f"{_cheapest(found)}, the upper end of the range: the cost still falls there"
    if decided == "merges":
        last = "could be measured" if _beyond(found) else "there is"
        return f"the largest size that {last}, {_no_loss(found)}"
    if decided == "cost":
        if not found.get("quality"):
            return "the cheapest size; no quality was measured"
        return _cheapest(found)
    one = verdict(found, decided)
    if one is None:
        return f"chosen by {decided}"
    return f"chosen by {decided}, {one['meaning']}"


# ------------------------------------------------------------------------------- quality and cost


def _quality(found: Mapping[str, Any]) -> str | None:
    quality = found.get("quality")
    if not quality or reason(found) == "only":
        return None
    (low, high), within = quality["range"], f"within {percent(quality['tolerance'])}"
    sizes = f"from {low:,} to {high:,} tokens" if low < high else f"at {low:,} tokens only"
    if quality["open_upward"]:
        sizes = f"from {low:,} tokens upward, measured up to {high:,}"
    languages = len(quality.get("languages") or ())
    mean = f", mean of {in_words(languages)} languages" if languages else ""
    once = " on one part of the text" if len(quality["splits"]) == 1 else ""
    measured = f"held-out bits per byte{once}{mean}, best at {quality['best']:,}"
    if by_auto(found):
        measured += "; smaller sizes are cheaper" if found["size"] < quality["best"] else ""
        return f"{within} of the best {sizes} ({measured})"
    loss = quality_loss(quality, found["size"])
    here = f"{percent(loss)} above the best" if loss else "the best"
    if loss is None:
        here = "not measured at this size"
    side = "inside" if low <= found["size"] <= high else "outside"
    return f"{here}, {side} the range {sizes} ({within}; {measured})"


def quality_loss(quality: Mapping[str, Any], size: int) -> float | None:
    """How far a size lies above the best score: between the measured sizes linear in log size,
    outside them None."""
    sizes, scores = quality_points(quality)
    if not sizes[0] <= size <= sizes[-1]:
        return None
    return float(np.interp(np.log(size), np.log(sizes), scores) / scores.min() - 1)


def quality_points(quality: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The sizes that have a score, and their scores."""
    scores = np.array(quality["scores"], np.float64)
    reached = ~np.isnan(scores)
    return np.array(quality["sizes"], np.int64)[reached], scores[reached]


def _cost(found: Mapping[str, Any]) -> str | None:
    cost = found.get("cost")
    if not cost or reason(found) == "only":
        return None
    model, lowest = cost["model"], cost["lowest"]
    yours = "; yours? `for_model`" if model["name"] == "base" else ""
    where = f"of training, lowest at {lowest:,}"
    if lowest >= cost.get("last", np.inf):  # there may be a lower one beyond
        where = f"of training, still falling at {lowest:,}, the last size"
    if by_auto(found) and _outside(found):
        where += ", above that range" if _beyond(found) else ", below that range"
    elif by_auto(found) and found["size"] != lowest:
        where += f", rounded to {found['size']:,}"
    return f"{where}, for {model_words(model)}{yours}"


def _outside(found: Mapping[str, Any]) -> bool:
    """Is the cost lowest outside the range of quality?"""
    low, high = found.get("range") or (0, np.inf)
    return not low <= found["cost"]["lowest"] <= high


def _beyond(found: Mapping[str, Any]) -> bool:
    """Is the cost lowest above the range of quality?"""
    return bool(found.get("range")) and found["cost"]["lowest"] > found["range"][1]


def model_words(model: Mapping[str, Any]) -> str:
    """
    >>> model_words({"name": "7b", "body": 6_600_000_000, "width": 4096})
    '7b (6.6B parameters outside the embeddings, width 4,096)'
    """
    body, width = short(model["body"]), f"{model['width']:,}"
    said = f"{body} parameters outside the embeddings, width {width}"
    return f"a model of {said}" if ":" in model["name"] else f"{model['name']} ({said})"


def _more_text(found: Mapping[str, Any]) -> str | None:
    """Where there is little text: what more of it would change."""
    if reason(found) == "only":
        return "too little to choose from; more text gives more sizes"
    if reason(found) != "quality" or not _beyond(found):
        return None
    high = found["range"][1]
    rounded = "" if found["size"] == high else f", rounded to {found['size']:,}"
    return (
        f"little for this model, so the quality bound decides ({high:,}{rounded}), not the cost; "
        f"more text raises both: {_how_to_get_more(found)}"
    )


def _how_to_get_more(found: Mapping[str, Any]) -> str:
    sample = found.get("sample")
    if sample and sample["size"] and sample["kept_bytes"] < sample["read_bytes"]:
        return "ask for a larger `sample`"
    return "add text if you have more"


def _sample(found: Mapping[str, Any]) -> str | None:
    """Was the sample large enough? Half of it would have given nearly the same."""
    half = found.get("half")
    if not half or reason(found) == "only":
        return None
    said = f"half of it chose {half['size']:,} ({percent(half['apart'] or 0)} apart)"
    if half["apart"] is None:
        said = f"{percent(half['tokens_differ'])} of the tokens are not those of half of it"
    if sample_is_large(half):
        return f"large enough: {said}"
    return f"too small: {said}; {_how_to_get_more(found)}"


def sample_is_large(half: Mapping[str, Any]) -> bool:
    """Does the other half of a sample change little?"""
    apart = half["tokens_differ"] if half["apart"] is None else half["apart"]
    return bool(apart <= LITTLE)


def _more_merges(found: Mapping[str, Any]) -> str | None:
    if reason(found) != "merges":
        return None
    if _beyond(found):
        return "parts of the text give no more of them; more text may raise the answer"
    return "all are used; more text or more `candidates` may raise the answer"


# --------------------------------------------------------------------------- tokens by transport


def bound_sentence(found: Mapping[str, Any]) -> str | None:
    """The certificate of a set that transport selected."""
    bound = found.get("bound")
    if not bound or bound["least"] is None:
        return None
    said = (
        f"uses {bound['tokens']:,.0f} tokens on the training text; no vocabulary of this size made "
        f"of these candidates can use fewer than {bound['least']:,} "
    )
    if not bound["gap"] or bound["gap"] < 0:
        return said + "(this is the best one)"
    said += f"({bound['gap']:.2%} less)"
    return said if bound["tight"] else said + "; that is too far away to say how good this one is"


def _entry(found: Mapping[str, Any]) -> str | None:
    """mu: what one more token would save, and one less cost."""
    selection = found.get("selection")
    if not selection:
        return None
    less, more = selection["one_less"], selection["one_more"]
    return f"one token less would cost {less:,.4g} tokens of text, one more would save {more:,.4g}"


def _beside_bpe(found: Mapping[str, Any]) -> str | None:
    """A selected set beside BPE of the same size, on held-out text."""
    heldout = (found.get("selection") or {}).get("heldout")
    if not heldout:
        return None
    tokens, bits = heldout["fewer_tokens"], heldout["fewer_bits"]
    said = (
        f"{_difference(tokens)} tokens than BPE of the same size on held-out text, and "
        f"{_difference(bits)} bits per byte: "
    )
    if tokens <= 0:
        return said + "selection does not help this text"
    if abs(bits) < SAME_BITS:
        return said + "selection makes this text shorter, and as easy to predict"
    return said + (
        "selection helps this text"
        if bits > 0
        else "selection makes this text shorter, but harder to predict"
    )


def _difference(fewer: float) -> str:
    return f"{abs(fewer):.2%} {'fewer' if fewer >= 0 else 'more'}"


# ----------------------------------------------------------------------------------- other answers


def _repeated(found: Mapping[str, Any]) -> str | None:
    """What the splits chose, if there are several."""
    quality, types = found.get("quality"), found.get("types") or 0
    if by_auto(found) and quality and len(quality["splits"]) == 1 and types > MANY_TYPES:
        return f"no: more than {MANY_TYPES:,} different words"
    splits = found.get("splits") or []
    chose = [size for size in splits if size is not None]
    if len(splits) < 2 or reason(found) in ("size", "only"):
        return None
    parts = f"{in_words(len(splits))} parts of the text"
    if not chose:
        return f"none of {parts} chose a size"
    if len(chose) < len(splits):
        parts = f"{in_words(len(chose))} of {parts}"
    low, high = min(chose), max(chose)
    every = f"all {parts}" if len(chose) == len(splits) > 2 else parts
    said = f"{parts} chose {low:,} to {high:,}" if low < high else f"{every} chose {low:,}"
    if low <= found["size"] <= high:
        return said
    side, nearest = ("below", low) if found["size"] < low else ("above", high)
    apart = abs(found["size"] / nearest - 1)
    much = "close" if apart <= LITTLE else "more text would bring them together"
    return f"{said}; the answer from the whole text lies {percent(apart)} {side}: {much}"


def _auto(found: Mapping[str, Any]) -> str | None:
    """What `auto` would choose, if something else decided."""
    one = None if by_auto(found) else verdict(found, "auto")
    if one is None or one["size"] is None:
        return None
    quality = found.get("quality")
    if reason(found) == "size" and quality and len(quality["splits"]) == 1:
        # Where the size is given, quality is measured on one split only.
        return (
            f"would choose about {one['size']:,}: with no size given, several parts of the text "
            "are held out, which moves range and answer a little"
        )
    return f"would choose {one['size']:,}: {_cheapest(found)}"


def _published(found: Mapping[str, Any]) -> str | None:
    one = None if reason(found) == "muv" else verdict(found, "muv")
    if one is None or one["size"] is None:
        return None
    said = f"{PAPER_METHOD[paper_sizes(found)]} chooses {one['size']:,} (`profile=paper`)"
    return f"{said}: {one['doubts'][0]}" if one["doubts"] else said


def paper_sizes(found: Mapping[str, Any]) -> str:
    """Which sizes the paper's method was tried at; earlier versions do not say."""
    told = str(found.get("paper_sizes", "pair"))
    return told if told in PAPER_METHOD else "pair"


def notes(found: Mapping[str, Any]) -> list[str]:
    """What else the user should know: not the doubts that the first line has already."""
    head = answer(found).headline
    told = [one for one in found.get("messages") or () if not _in(one, found["size"], head)]
    return [one if one.startswith(WARNING) else f"note: {one}" for one in told]


def _in(message: str, size: int, head: str) -> bool:
    return message.removeprefix(f"{size:,}: ") in head


def doubts(found: Mapping[str, Any]) -> list[str]:
    """Why not to trust the answer: those of the criterion that decided, and of the sample."""
    one, half = verdict(found, found["criterion"]), found.get("half")
    doubted = list(one["doubts"]) if one else []
    return [*doubted, *([f"sample {_sample(found)}"] if half and not sample_is_large(half) else [])]


# --------------------------------------------------------------------------------------- criteria


@dataclass(frozen=True)
class CriterionRow:
    """What one criterion says, in words."""

    name: str
    size: str
    parts: str
    """What parts of the text chose, if there are several."""
    measures: str
    doubts: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return f"{self.measures} ({self.doubts[0]})" if self.doubts else self.measures


def criterion_rows(found: Mapping[str, Any]) -> list[CriterionRow]:
    return [
        CriterionRow(
            one["criterion"],
            "-" if one["size"] is None else f"{one['size']:,}",
            _parts(one.get("splits") or []),
            one.get("measures") or one["meaning"],
            tuple(one["doubts"]),
        )
        for one in found["choices"]
    ]


def _parts(splits: Sequence[int | None]) -> str:
    sizes = [size for size in splits if size is not None]
    if len(sizes) < 2:
        return ""
    low, high = min(sizes), max(sizes)
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"


# ------------------------------------------------------------------------------------------ numbers


def in_words(number: int) -> str:
    """
    >>> in_words(5), in_words(24)
    ('five', '24')
    """
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def short(number: float) -> str:
    """
    >>> short(44_000_000), short(6_600_000_000), short(900)
    ('44M', '6.6B', '900')
    """
    for unit, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if number >= unit:
            return f"{number / unit:.4g}{letter}"
    return f"{number:g}"


def percent(value: float) -> str:
    """
    >>> percent(0.005), percent(0.0213), percent(0.12)
    ('0.5%', '2.1%', '12%')
    """
    return f"{value * 100:.2g}%" if value < 1 else f"{value * 100:,.0f}%"
