"""What the study trains: experiments as data. `tools/study.py` trains them in this order.

An experiment is a text, a model and a schedule; its vocabularies are listed by name:

bpe:N       BPE of N rows, or of as few or as many as the text gives
grid:K      the K-th of six BPE sizes at equal ratios, from the smallest that the text gives to the
            largest, at most 32,000
auto        BPE of the size that `auto` chooses (`--for-model base`)
paper       what `--profile paper` learns
select      `--select transport` at auto's size
unigram     SentencePiece Unigram at auto's size
wordpiece   WordPiece at auto's size
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

STEPS = 6
LM = ("auto", *(f"grid:{step}" for step in range(1, STEPS + 1)))
TRANSLATION = (
    "auto", "bpe:500", "bpe:2000", "bpe:6000", "bpe:12000", "bpe:32000", "paper", "unigram",
)  # fmt: skip

SHAPE: dict[str, Any] = {"width": 128, "inner": 512, "heads": 4, "decoder_layers": 2}
TRAINING: dict[str, Any] = {
    "batch": 2400, "checkpoints": 20, "average": 5, "patience": 5, "dropout": 0.1,
    "learning_rate": 3e-3, "warmup": 300,
}  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    name: str
    corpus: str
    """A folder with SPLIT.LANGUAGE files; `python` is the documentation of Python's library."""
    languages: tuple[str, ...]
    """The language; source and target; or several sources and `en`, for many to English."""
    updates: int
    specs: tuple[str, ...] = LM
    lines: int | None = None
    """Only so many training lines, the first."""
    longest: int | None = None
    """Only lines up to so many characters."""
    model: str = "transformer"
    shape: dict[str, Any] = field(default_factory=dict)
    """What differs from SHAPE."""
    training: dict[str, Any] = field(default_factory=dict)
    """What differs from TRAINING."""
    question: str = "size"
    """`size`; `schedule`: the same with another length; `capacity`: with a larger model; `length`:
    shorter sentences."""
    of: str = ""
    """The experiment that this one is compared with."""

    @property
    def task(self) -> str:
        return "translation" if len(self.languages) > 1 else "lm"

    @property
    def settings(self) -> dict[str, Any]:
        """How it is trained."""
        translation = _TRANSLATION if self.task == "translation" else {}
        return {**TRAINING, **translation, **self.training, "updates": self.updates}


_LITTLE = {"batch": 1200}
_TRANSLATION = {"learning_rate": 2e-3, "warmup": 400, "label_smoothing": 0.0}
"""Of three settings tried on Turkish to English at `auto`'s size, the best on validation text when
they were stopped: 1.36 bits per byte after 1,950 updates. The first plan (3e-3, batches of 1,200
characters, smoothing 0.1) ended at 1.62. Which of the changes did it was not tried."""
_EUROPARL = ("auto", "bpe:1000", "bpe:4000", "bpe:12000", "bpe:19000")

EXPERIMENTS = (
    # 1. The text on which the first probes disagreed with `auto`.
    Experiment("lm-europarl-de-10k", "europarl-de-en", ("de",), 3400, _EUROPARL, lines=10_000),
    # 2. Little text, then more.
    Experiment("lm-tatoeba-de-5k", "tatoeba-de-en", ("de",), 2000, lines=5000, training=_LITTLE),
    Experiment("lm-tatoeba-tr", "tatoeba-tr-en", ("tr",), 4000, training=_LITTLE),
    Experiment("lm-multi30k-de", "multi30k", ("de",), 5000),
    Experiment("lm-multi30k-en", "multi30k", ("en",), 5000),
    Experiment("lm-multi30k-fr", "multi30k", ("fr",), 5000),
    Experiment("lm-libreoffice-fi", "libreoffice20", ("fi",), 5000),
    Experiment("lm-libreoffice-zh", "libreoffice20", ("zh",), 5000),
    Experiment("lm-python", "python", ("en",), 5000, lines=20_000),
    Experiment("lm-tatoeba-ja", "tatoeba-ja-en", ("ja",), 5000),
    Experiment("lm-tatoeba-de", "tatoeba-de-en", ("de",), 6000, lines=60_000),
    Experiment("lm-europarl-de", "europarl-de-en", ("de",), 6000, lines=20_000),
    # 3. Why did they? Too few updates, long sentences, or the constants?
    Experiment("lm-europarl-de-10k-half", "europarl-de-en", ("de",), 1700, _EUROPARL,
               lines=10_000, question="schedule", of="lm-europarl-de-10k"),
    Experiment("lm-europarl-de-10k-double", "europarl-de-en", ("de",), 6800, _EUROPARL,
               lines=10_000, question="schedule", of="lm-europarl-de-10k"),
    Experiment("lm-europarl-de-short", "europarl-de-en", ("de",), 3400, _EUROPARL,
               lines=20_000, longest=90, question="length", of="lm-europarl-de-10k"),
    # 4. Is twice as long the same ranking?
    Experiment("lm-multi30k-de-double", "multi30k", ("de",), 10_000, question="schedule",
               of="lm-multi30k-de"),
    # 5. Does a larger model prefer another size?
    Experiment("lm-multi30k-de-large", "multi30k", ("de",), 5000, question="capacity",
               of="lm-multi30k-de", shape={"width": 256, "inner": 1024, "decoder_layers": 4},
               training={"learning_rate": 1.5e-3}),
    # 6. Translation.
    Experiment("mt-de-en", "multi30k", ("de", "en"), 6000,
               (*TRANSLATION, "bpe:1000", "wordpiece", "select")),
    Experiment("mt-tr-en", "tatoeba-tr-en", ("tr", "en"), 4000, TRANSLATION),
    Experiment("mt-en-fr", "multi30k", ("en", "fr"), 6000, TRANSLATION),
    Experiment("mt-ja-en", "tatoeba-ja-en", ("ja", "en"), 6000, TRANSLATION),
    Experiment("mt-de-en-conv", "multi30k", ("de", "en"), 6000,
               ("auto", "bpe:500", "bpe:2000", "bpe:12000", "bpe:32000", "paper"), model="conv"),
    Experiment("mt-many-en", "libreoffice20", ("fi", "hu", "tr", "ru", "id", "en"), 8000,
               ("auto", "bpe:4000", "bpe:16000", "bpe:60000", "paper"), lines=20_000),
)  # fmt: skip
