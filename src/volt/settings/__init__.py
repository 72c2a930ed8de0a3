"""Every option, declared once: its name, its meaning, its default and the values it accepts.

The command line, `help(volt.learn)` and the tables of docs/cli.md are made from these classes. The
options of samples, special tokens and training are in files of their own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

from volt.base.errors import SettingsError
from volt.base.options import (
    Option,
    Settings,
    anything,
    chance,
    choice,
    form_of,
    late,
    listed,
    many,
    number,
    one_of,
    option,
    options_of,
    registered,
    share,
    size,
    text,
    whole,
)
from volt.settings.roles import RoleSettings
from volt.settings.samples import SampleSettings
from volt.settings.trial import TrialSettings as TrialSettings

if TYPE_CHECKING:
    from volt.choosing.entropy import Length
    from volt.counting.decoding import OnInvalid
    from volt.counting.words import MergeRule, Normalization, Unit, Unknown
    from volt.proposing.base import Encoding
    from volt.proposing.proposal import SourceChoice
else:  # names, which the stages of the pipeline know; nothing here imports these
    Encoding = Length = MergeRule = Normalization = OnInvalid = Unit = Unknown = str

MOST = 10**9
"""The most characters of a word or token, and the most candidates."""
TRAINED = ("loss", "bleu")
"""What `volt search` can compare sizes by if it trains a model at each."""
MULTILINGUAL_MERGES = 300_000
LARGE_MODEL_MERGES = 200_000

InputFormat = Literal[
    "auto", "text", "counts", "jsonl", "json", "parquet", "csv", "tsv", "arrow", "pairs"
]
TextForm = Literal["tokens", "ids", "subword-nmt"]
Rank = Literal["frequency", "merge"]
PaperSizes = Literal["pair", "languages", "given"]
"""At which sizes the paper's method is tried: the paper's for a pair of languages or for many, or
the user's own."""
ProfileName = Literal["paper", "literal", "released"]
Select = Literal["merges", "transport"]
Weight = float | str | Fraction

criteria = registered("volt.choosing.criteria", "CRITERIA")
pretokenizer_forms = late("volt.counting.words", "pretokenizer_forms")
read_pretokenizer = late("volt.counting.words", "read_pretokenizer")
units = registered("volt.counting.words", "Unit")
normalizations = registered("volt.counting.words", "Normalization")
on_invalids = registered("volt.counting.decoding", "OnInvalid")
encodings = registered("volt.proposing.base", "Encoding")
merge_rules = registered("volt.counting.words", "MergeRule")
unknowns = registered("volt.counting.words", "Unknown")
lengths = registered("volt.choosing.entropy", "Length")
model_forms = late("volt.choosing.cost", "model_forms")
read_model = late("volt.choosing.cost", "parse_model")


def source_forms() -> list[str]:
    """What `candidates` may say."""
    import volt.foreign.source  # registers the last of them  # noqa: F401
    from volt.proposing.proposal import source_forms

    return source_forms()


def read_source(text: str) -> SourceChoice:
    """`bpe:100000` and its like."""
    import volt.foreign.source  # registers the last of them  # noqa: F401
    from volt.proposing.proposal import parse_source

    return parse_source(text)


PARAMETER = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")
"""How messages of the library write a parameter."""
GONE = {
    "bootstrap": "was removed: use `splits`, the number of parts of the text to repeat it on.",
    "model_width": "was removed: use `for_model`, such as 44M:512.",
}
"""Options of earlier versions, and what to do instead."""


# ------------------------------------------------------------------------------------ text to words


@dataclass(frozen=True, kw_only=True)
class WordSettings(Settings, group="Words"):
    """How text is cut into words. By default as counts files among the inputs say."""

    pretokenizer: str | None = option(
        None, "How text is cut into words", one_of(pretokenizer_forms, read_pretokenizer),
        default_words="metaspace",
    )  # fmt: skip
    unit: Unit | None = option(
        None, "What is cut: lines, or whole documents with their line ends", one_of(units),
        default_words="document for byte-level text, else line",
    )  # fmt: skip
    normalize: Normalization | None = option(
        None, "Unicode normalization", one_of(normalizations), default_words="none"
    )
    max_word_length: int | None = option(
        None, "Cut words that are longer than this, in characters.", whole(2, MOST),
        default_words="64",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class InputSettings(Settings, group="Input"):
    """Which files are read, and what is text in them."""

    glob: str = option("*", "Which files of a folder to read.", text("PATTERN"))
    input_format: InputFormat = option(
        "auto", "What inputs are; pairs are lines word<TAB>count", choice(*get_args(InputFormat)),
        default_words="auto, by the names of files and how they begin",
    )  # fmt: skip
    field: Sequence[str] = option(
        (), "Field of a record that is text, such as text or translation.de; may be given several "
        "times.", many(text("NAME")), metavar="NAME", default_words="text, content or sentence",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TextSettings(InputSettings, group="Input"):
    """Which files are read, and what is done with what is not text in them."""

    on_invalid: OnInvalid = option(
        "error", "What to do with invalid UTF-8 (replace is for this alone) and with records that "
        "can't be read; skip-line leaves out such lines and records",
        one_of(on_invalids),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReadSettings(TextSettings, group="Input"):
    """How inputs are read to be counted."""

    weights: Iterable[Weight] | Weight | None = option(
        None, "Weight of all files, or once per file, in order.", anything("W", many=True),
        flag="weight", default_words="1",
    )  # fmt: skip
    min_count: int = option(1, "Leave out words rarer than this.", whole(1), group="Words")


@dataclass(frozen=True, kw_only=True)
class CountSettings(SampleSettings, ReadSettings, WordSettings, group="Words"):
    """How text becomes word counts."""

    max_types: int | None = option(
        None, "Keep at most this many different words (lossy).", whole(1)
    )

    def of_everything(self) -> CountSettings:
        """The same, with all documents of the inputs."""
        return replace(self, weights=None, sample=None, document_cap=None, mix=None, shard=None)


@dataclass(frozen=True, kw_only=True)
class SpillSettings(Settings, group="Words"):
    """How to count more words than fit into memory."""

    memory: str | int | None = option(
        None, "Count within this much memory, such as 4G; needs `output`.", anything("SIZE")
    )
    spill: str | None = option(
        None, "Folder for what does not fit into memory.", text("DIR"), default_words="OUTPUT.spill"
    )
    resume: bool = option(False, "Go on with a count that was killed.")


# ------------------------------------------------------------------------------ words to candidates


@dataclass(frozen=True, kw_only=True)
class AlphabetSettings(Settings, group="Tokens"):
    """Which characters and pairs of tokens are taken."""

    coverage: float | None = option(
        None, "Share of the text's characters that the alphabet covers.", share(),
        default_words="1, or 0.9995 from 5,000 different characters on",
    )  # fmt: skip
    max_token_length: int | None = option(
        None, "Length of the longest token, in characters.", whole(1, MOST), default_words="any"
    )
    min_frequency: int = option(2, "Do not merge pairs rarer than this.", whole(1, MOST))


@dataclass(frozen=True, kw_only=True)
class MergeSettings(AlphabetSettings, group="Tokens"):
    """How far BPE goes."""

    merges: int | None = option(
        None, "Number of merges, or of candidates from another source.", size(0, MOST), short="-n",
        default_words="100000",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CandidateSettings(MergeSettings, group="Tokens"):
    """Where candidates come from."""

    candidates: str | None = option(
        None, "Where candidates come from", form_of(source_forms, read_source), metavar="SOURCE",
        default_words="bpe:100000; twice as many from 1B parameters on",
    )  # fmt: skip
    encoding: Encoding | None = option(
        None, "How text is encoded with the vocabulary", one_of(encodings),
        default_words="merge for bpe, longest for wordpiece, else unigram",
    )  # fmt: skip

    @property
    def default_source(self) -> str:
        return "bpe"

    @property
    def asks_for_candidates(self) -> bool:
        """Was a source or a number of candidates named?"""
        return self.candidates is not None or self.merges is not None

    @property
    def source(self) -> SourceChoice:
        named = read_source(self.candidates or self.default_source)
        if self.merges is None or named.path:
            return named
        return replace(named, number=self.merges)


# ----------------------------------------------------------------------------- candidates to a size


@dataclass(frozen=True, kw_only=True)
class SizeSettings(Settings, group="Size"):
    """What decides the size, and the constants of the paper's transport."""

    criterion: str | None = option(
        None, "What decides the size", one_of(criteria), default_words="auto, or muv with a profile"
    )
    size: int | None = option(
        None, "Fix the size of the vocabulary, everything included: 32000 or 32k.", size(),
        default_words="the criterion decides",
    )  # fmt: skip
    profile: ProfileName | None = option(
        None, "Choose as the paper does; literal and released are for comparison only",
        choice("paper", "literal", "released"),
    )  # fmt: skip
    multiple_of: int | None = option(
        None, "Round the size that auto chooses to a multiple of this.", whole(1),
        default_words="64, below 4,096 rows 8",
    )  # fmt: skip
    sizes: str | Sequence[int] | None = option(
        None, "Sizes at which the paper's method is tried; they do not limit the other criteria: "
        "START:STOP:STEP or a list.", anything("SIZES"),
        default_words="1000:10000:1000; 40000:160000:10000 for many languages",
    )  # fmt: skip
    rank: Rank | None = option(
        None, "Which candidates come first", choice("frequency", "merge"),
        default_words="frequency for muv and for candidates without merges, else merge",
    )  # fmt: skip
    gamma: float = option(1.0, "Weight of the transport plan's entropy.", number())
    epsilon: float | None = option(
        None, "Tolerance of each token's mass, relative; absolute with profile=literal.", number(),
        default_words="0.01; 0.00001 with profile=literal",
    )  # fmt: skip
    threshold: float = option(
        0.001, "Drop tokens that get less than this share of the mass they ask for.", number(0)
    )
    multilingual: bool = option(
        False, "The paper's setting for many languages: 300,000 candidates and sizes of "
        "40000:160000:10000. On the command line, files are languages by name.",
    )  # fmt: skip

    def _check(self) -> None:
        if self.profile is not None and self.criterion not in (None, "muv"):
            raise SettingsError(
                f"`profile` chooses by muv, not by {self.criterion}: leave one of the two out"
            )

    @property
    def paper_sizes(self) -> PaperSizes:
        """Where the sizes of the paper's method come from."""
        if self.sizes is not None:
            return "given"
        return "languages" if self.multilingual else "pair"

    @property
    def decided_by(self) -> str:
        """The criterion that decides unless the size is given."""
        return self.criterion or ("auto" if self.profile is None else "muv")


@dataclass(frozen=True, kw_only=True)
class QualitySettings(Settings, group="Size"):
    """How the quality and the cost of a size are measured."""

    for_model: str = option(
        "base", "Model that the vocabulary is for: parameters outside the embeddings of input and "
        "output, and embedding width; from 1B on 200,000 candidates are looked at, not 100,000. "
        "refit takes that of the model it cuts, if there is one",
        form_of(model_forms, read_model), metavar="MODEL",
    )  # fmt: skip
    tolerance: float = option(
        0.005, "Loss of held-out quality that does not count, relative.", chance()
    )
    order: int = option(3, "Order of the language model that measures quality.", whole(1, 6))
    splits: int | None = option(
        None, "Number of random parts of the text that every criterion is repeated on.",
        whole(1, 100), default_words="5, 3 or 1, by the number of different words",
    )  # fmt: skip
    seed: int = option(0, "Random seed for the splits and the sample.", whole(0, 2**63 - 1))
    length: Length = option(
        "types", "What the mean token length in the entropy is taken over", one_of(lengths)
    )


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings(QualitySettings, SizeSettings):
    """How a size is chosen."""


# --------------------------------------------------------------------------- a size to a vocabulary


@dataclass(frozen=True, kw_only=True)
class VocabularySettings(RoleSettings, group="Tokens"):
    """What a vocabulary has besides the chosen tokens."""

    merge_rule: MergeRule | None = option(
        None, "Which tokens may merge", one_of(merge_rules),
        default_words="concat for metaspace, else pairs",
    )  # fmt: skip
    unknown: Unknown | None = option(
        None, "What becomes of characters outside the vocabulary", one_of(unknowns),
        default_words="unk for whitespace, else byte",
    )  # fmt: skip
    symbols: Sequence[str] = option(
        (), "A symbol that is never split; may be given several times.", many(text()), flag="symbol"
    )


@dataclass(frozen=True, kw_only=True)
class LearnSettings(VocabularySettings, CandidateSettings, ChoiceSettings, group="Size"):
    """What can be set in `learn`, besides how text is read."""

    ladder: str | Sequence[int] | None = option(
        None, "Several sizes from one run, each contained in the next, such as 8k,16k,32k.",
        anything("SIZES"),
    )  # fmt: skip
    select: Select = option(
        "merges", "How the tokens of a size are selected: in the order of the candidates, or by "
        "transport, for the fewest tokens of text, with a proven bound",
        choice("merges", "transport"),
    )  # fmt: skip

    def _check(self) -> None:
        super()._check()
        self._check_select()
        if self.ladder is None:
            return
        for name in ("profile", "size", "sizes", "criterion"):
            if getattr(self, name) is not None:
                raise SettingsError(f"`ladder` does not go with `{name}`: leave one of the two out")
        if self.rank == "frequency" or self.looked_up:
            raise SettingsError(
                "`ladder` needs vocabularies that contain each other: those of BPE, in the order "
                "of its merges"
            )

    def _check_select(self) -> None:
        if not self.selects:
            return
        for name in ("ladder", "profile", "sizes", "rank", "merge_rule"):
            if getattr(self, name) is not None:
                why = "selected sets do not contain each other" if name == "ladder" else ""
                raise SettingsError(
                    f"`{name}` is for `select='merges'`, not for `select='transport'`"
                    + (f": {why}" if why else ": leave one of the two out")
                )
        if self.criterion == "muv":
            raise SettingsError(
                "`criterion='muv'` selects tokens of its own: use another with "
                "`select='transport'`, or `select='merges'`"
            )
        if self.encoding not in (None, "unigram"):
            raise SettingsError(
                "`select='transport'` needs an encoding that finds the fewest tokens: leave "
                f"`encoding='{self.encoding}'` out, or use `select='merges'`"
            )

    @property
    def selects(self) -> bool:
        """Does transport select the tokens?"""
        return self.select == "transport"

    @property
    def encoded_by(self) -> Encoding | None:
        return "unigram" if self.selects else self.encoding

    @property
    def default_source(self) -> str:
        from volt.choosing.cost import LARGE_BODY, parse_model

        if self.multilingual:
            return f"bpe:{MULTILINGUAL_MERGES}"
        large = parse_model(self.for_model).body >= LARGE_BODY
        return f"bpe:{LARGE_MODEL_MERGES}" if large else "bpe"

    def completed(self) -> LearnSettings:
        """With what follows from others unless it was asked for: the merge rule of the profile, and
        a single split for a ladder, whose sizes are given."""
        rules: dict[str, MergeRule] = {"literal": "concat", "released": "pairs"}
        return replace(
            self, merge_rule=self.merge_rule or rules.get(self.profile or ""),
            splits=self.splits or (None if self.ladder is None else 1),
        )  # fmt: skip

    @property
    def looked_up(self) -> bool:
        """Are tokens looked up in words, and not merged?"""
        from volt.proposing.proposal import SOURCES

        encoding = self.encoded_by or SOURCES[self.source.name].encodings[0]
        return encoding in ("longest", "unigram")


@dataclass(frozen=True, kw_only=True)
class LanguageSettings(Settings, group="Input"):
    """How languages are balanced and compared."""

    temperature: Weight | None = option(
        None, "Balance languages by p ~ n^(1/T), n their lines; such as 5 or inf.", anything("T")
    )
    min_share: float | None = option(
        None, "Least share of the vocabulary for each language.", number(), group="Size"
    )
    reference: str | None = option(
        None, "Language that parity is measured against.", text("CODE"), group="Output",
        default_words="en",
    )  # fmt: skip
    parallel: Mapping[str, str] | None = option(
        None, "Parallel text to measure parity on: CODE=FILE, or a folder; may be given several "
        "times.", anything("CODE=FILE", many=True),
    )  # fmt: skip


# ----------------------------------------------------------------------------------- other commands


@dataclass(frozen=True, kw_only=True)
class ComparedSizes(Settings, group="Size"):
    """Which sizes are compared, and by what."""

    by: str = option(
        "auto", "What to compare the sizes by", one_of(lambda: (*criteria(), *TRAINED))
    )
    sizes: str | Sequence[int] | None = option(
        None, "BPE sizes: START:STOP:STEP or a list.", anything("SIZES"),
        default_words="those at which quality is measured; 1000:10000:1000,20000,30000 for others",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SearchSettings(QualitySettings, ComparedSizes):
    """How sizes are compared."""


@dataclass(frozen=True, kw_only=True)
class EncodeSettings(TextSettings, group="Tokens"):
    """How text is encoded."""

    unit: Unit | None = option(
        None, "What is encoded by itself: lines, or whole documents with their line ends",
        one_of(units), group="Input", default_words="as the vocabulary reads text",
    )  # fmt: skip
    allowed_special: Literal["all"] | Collection[str] = option(
        (), 'Special tokens that may occur in the text, or "all".', listed()
    )
    dropout: float = option(0.0, "Skip merges with this probability (BPE-dropout).", number(0, 1))
    seed: int = option(0, "Random seed for dropout.", whole(0))


# ---------------------------------------------------------------------------- parameters into flags


def in_flags(message: str, options: Mapping[str, Option] = {}, quote: str = "") -> str:
    """A message of the library with its parameters spelled as flags."""

    def spelled(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        one = options.get(name) or _every_option().get(name)
        if one is None:
            return f"--{name.replace('_', '-')}" if name in (*GONE, "on") else match[0]
        flag = one.metavar.strip("[]") if one.argument else one.flag
        if value == "False" and one.default is True:
            flag, value = f"--no-{flag[2:]}", None
        words = [flag] if value in (None, "True") else [flag, shlex.quote(value.strip("'"))]
        return quote + " ".join(words) + quote

    return PARAMETER.sub(spelled, message)


def _every_option() -> dict[str, Option]:
    """For messages that speak of another command's options."""
    kinds = [kind for kind in globals().values() if isinstance(kind, type)]
    return options_of(*(kind for kind in kinds if issubclass(kind, Settings)))
