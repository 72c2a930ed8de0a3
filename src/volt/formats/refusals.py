"""What a format can't express is refused, with the reason."""

from __future__ import annotations

from volt.base.errors import SettingsError
from volt.tokenizing.vocabulary import Vocabulary

UNKNOWN_PENALTY = 10.0
"""Of an unknown character, below the lowest score: in SentencePiece and in Hugging Face."""


def need_pretokenizer(vocabulary: Vocabulary, toolkit: str, needed: str) -> None:
    found = vocabulary.rule.pretokenizer
    if found != needed:
        raise SettingsError(
            f"{toolkit} has no {found} text, only {needed}; learn with --pretokenizer {needed}"
        )


def need_no_normalization(vocabulary: Vocabulary, toolkit: str) -> None:
    if vocabulary.normalizer is not None:
        raise SettingsError(
            f"a {toolkit} file can't say what is done to the text first "
            f"({vocabulary.normalizer.summary}); export to the format it was imported from"
        )
    form = vocabulary.rule.normalize
    if form != "none":
        raise SettingsError(
            f"a {toolkit} file can't say that text is normalised first ({form}); "
            "learn with --normalize none, or export to hf"
        )


def need_no_hidden(vocabulary: Vocabulary, toolkit: str) -> None:
    if vocabulary.hidden:
        raise SettingsError(
            f"{toolkit} can't express the split encoding: it has no tokens that are merged but "
            f"never come out ({len(vocabulary.hidden):,} here); learn with --encoding merge, or "
            "export to sentencepiece or subword-nmt"
        )


def need_merges(vocabulary: Vocabulary, toolkit: str) -> None:
    if vocabulary.look_up is not None:
        raise SettingsError(
            f"{toolkit} merges characters, the encoding {vocabulary.encoding} looks tokens up; "
            "export to hf" + (" or sentencepiece" if vocabulary.encoding == "unigram" else "")
        )


def need_no_whole_words(vocabulary: Vocabulary, toolkit: str) -> None:
    if vocabulary.whole_words:
        raise SettingsError(
            f"{toolkit} merges only, and this vocabulary has tokens that no merges lead to, for "
            "words that are just that; export to hf or tiktoken"
        )


def need_unknown_score(vocabulary: Vocabulary, toolkit: str, lowest: float) -> None:
    found = vocabulary.look_up.unknown_score if vocabulary.look_up is not None else 0.0
    if abs(found - (lowest - UNKNOWN_PENALTY)) > 1e-5:  # in 32 bits it is rounded
        raise SettingsError(
            f"in {toolkit} the score of an unknown character is {UNKNOWN_PENALTY:g} below the "
            f"lowest ({lowest:g}), here it is {found:g}"
        )


def need_no_symbols(vocabulary: Vocabulary, toolkit: str) -> None:
    symbols = vocabulary.of_kind("symbol")
    if symbols:
        raise SettingsError(
            f"a {toolkit} file has no place for symbols that are never split ({symbols[0]!r}); "
            "export to hf, or learn without --symbol"
        )


def need_space_mark(vocabulary: Vocabulary, toolkit: str) -> None:
    if "▁" not in vocabulary.ids:
        raise SettingsError(
            f"the vocabulary has no `▁`, which {toolkit} writes for a space; give it more text, "
            "or more --coverage"
        )
    for name in [*vocabulary.of_kind("special"), *vocabulary.of_kind("symbol")]:
        if "▁" in name or name.startswith(" "):
            raise SettingsError(
                f"{toolkit} would take the space in {name!r} for that before a word; "
                "choose another name"
            )
