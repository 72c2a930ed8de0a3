"""From the tokens of another toolkit's file to a Vocabulary. Such a file is not trusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.errors import InputError
from volt.base.schema import brief
from volt.base.shown import plural
from volt.counting.marks import (
    INNER,
    LETTER_BYTES,
    SPACE,
    SPACE_MARK,
    UNKNOWN,
    WORD_END,
    Marks,
    marks_used,
)
from volt.counting.normalizers import Normalizer
from volt.counting.words import (
    PRETOKENIZERS,
    MergeRule,
    Normalization,
    Pretokenizer,
    Unknown,
    WordRule,
)
from volt.proposing.tokens import KINDS, NO_TOKEN, Kind, Token, Tokens
from volt.tokenizing.merge_pairs import Pair, last_pair, last_two, pairs_for
from volt.tokenizing.roles import Roles
from volt.tokenizing.schemas import MOST_TOKENS
from volt.tokenizing.signature import sign, words_fields
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import LookUp, Vocabulary, WordEnds, is_text
from volt.tokenizing.volt_json import check_vocabulary

LONGEST_TOKEN = 1024
"""Characters. A token is cut at every place to see what it is made from."""
MOST_UNUSED = 1000
"""Ids among the special tokens that no token has, at most."""


@dataclass
class Parsed:
    """What a file says. Tokens are texts; `pairs` are the merges in order. If the file has none,
    `ranked` are the merged tokens in order."""

    name: str
    """The file, for messages."""
    form: str
    pretokenizer: str
    texts: list[str]
    """By id."""
    packed: tuple[NDArray[np.uint8], NDArray[np.uint64]] | None = None
    """The texts, packed, if it is known that none is empty, there twice, too long or not valid."""
    kinds: dict[str, Kind] = field(default_factory=dict)
    """The kinds of special tokens and symbols; `assemble` finds those of the others."""
    pairs: list[Pair] | None = None
    joins: NDArray[np.int64] | None = None
    """In place of `pairs`: left, right and what they make, per merge, as ids; NO_TOKEN for none."""
    ranked: list[str] | None = None
    hidden: list[str] = field(default_factory=list)
    unknown: Unknown = "unk"
    unknown_token: str = UNKNOWN
    fuse_unknown: bool = False
    whole_words: bool = False
    """Is a word that is a token encoded as it, without merges?"""
    encoding: Literal["longest", "unigram"] | None = None
    """None: tokens are merged."""
    look_up: LookUp = field(default_factory=LookUp)
    scores: dict[str, float] = field(default_factory=dict)
    normalize: Normalization = "none"
    normalizer: Normalizer | None = None
    space_first: bool = True
    """Metaspace text: is a space understood before the text?"""
    runs: bool = False
    """Metaspace text: do runs of spaces stay whole, so that tokens may have several?"""
    roles: Roles = field(default_factory=Roles)
    frequencies: dict[str, int] = field(default_factory=dict)
    one_pair_at_a_time: bool = False
    """Does the toolkit merge all places of a pair before it looks for the next pair?"""
    messages: list[str] = field(default_factory=list)

    @property
    def mode(self) -> Pretokenizer:
        return PRETOKENIZERS[self.pretokenizer]

    @property
    def marks(self) -> Marks:
        """How its tokens are marked."""
        return INNER if self.look_up.mark else self.mode.marks

    def fail(self, problem: str) -> InputError:
        return InputError(f"{self.name}: {problem}")

    def by_number(self, number_of: dict[str, int]) -> list[str]:
        """The tokens by id. Ids are 0, 1, 2, ... without a gap, except among the special tokens
        after all others (GPT-4 has some): what is missing there is filled with names."""
        if "" in number_of:  # Whisper has such a token
            name = f"<|unused-{number_of['']}|>"
            number_of = {name if text == "" else text: i for text, i in number_of.items()}
            self.kinds[name] = "special"
            self.messages.append(f"token {number_of[name]} has no text: it is called {name} here")
        own = [number for text, number in number_of.items() if text not in self.kinds]
        last = max(number_of.values(), default=-1)
        if own and len(number_of) <= last < len(number_of) + MOST_UNUSED:
            taken = set(number_of.values())
            unused = {f"<|unused-{i}|>": i for i in range(max(own) + 1, last) if i not in taken}
            self.kinds |= dict.fromkeys(unused, "special")
            self.messages.append(
                f"{len(unused):,} ids, such as {min(unused.values(), default=0)}, have no token: "
                "they are special tokens here, which text never gives"
            )
            number_of = {**unused, **number_of}
        texts = sorted(number_of, key=lambda text: number_of[text])
        for number, text in enumerate(texts):
            if number_of[text] != number:
                raise self.fail(f"the ids are not 0, 1, 2, ...: {number} is missing or there twice")
        return texts


def assemble(parsed: Parsed) -> Vocabulary:
    """Find the kind, the rank and the parents of every token."""
    if parsed.encoding is not None:
        return _assemble_look_up(parsed)
    listed = [*parsed.texts, *parsed.hidden]
    _check_texts(parsed, listed)
    named = _kinds(parsed, listed)
    number = {kind: place for place, kind in enumerate(KINDS)}
    numbers = {text: number[kind] for text, kind in named.items()}
    kinds = np.fromiter(map(numbers.get, listed, repeat(NO_TOKEN)), np.int64, len(listed))
    rule, ranks, parents = _merged(parsed, listed, kinds)
    kinds[ranks >= 0] = number["merged"]
    lost = np.flatnonzero(kinds == NO_TOKEN)
    if parsed.whole_words:
        whole = [i for i in lost.tolist() if parsed.marks.is_spelled(listed[i])]
        kinds[whole] = number["piece"]
        lost = np.flatnonzero(kinds == NO_TOKEN)
    if len(lost):
        _take_for_special(parsed, listed, lost)
        kinds[lost] = number["special"]

    size = len(parsed.texts)
    counted = [parsed.frequencies.get(text, 0) for text in listed] if parsed.frequencies else 0
    frequencies = np.full(len(listed), counted, np.int64)

    def columns(part: slice) -> Tokens:
        texts = listed[part]
        plain = np.zeros(len(texts), bool), frequencies[part], np.zeros(len(texts))
        return Tokens(texts, kinds[part].astype(np.uint8), parents[part], ranks[part], *plain)

    tokens = columns(slice(size))
    if parsed.packed is not None:
        tokens.know_packed(parsed.packed)
    return _checked(
        parsed,
        compress(listed, (ranks >= 0).tolist()),
        tokens=tokens,
        hidden=columns(slice(size, None)),
        encoding="split" if parsed.hidden else "merge",
        merge_rule=rule,
        whole_words=parsed.whole_words,
    )


def _take_for_special(parsed: Parsed, listed: list[str], lost: NDArray[np.int64]) -> None:
    if lost[-1] >= len(parsed.texts):
        first = listed[next(i for i in lost.tolist() if i >= len(parsed.texts))]
        raise parsed.fail(f"no two tokens make {brief(first)}")
    shown = ", ".join(brief(listed[i]) for i in lost[:5]) + (", ..." if len(lost) > 5 else "")
    parsed.messages.append(
        f"no two tokens make {shown} ({len(lost):,}): taken for special tokens, "
        "which text never gives"
    )


def _assemble_look_up(parsed: Parsed) -> Vocabulary:
    """Tokens that are looked up: only their kinds have to be found."""
    _check_texts(parsed, parsed.texts)
    kinds = _kinds(parsed, parsed.texts)
    tokens = [
        Token(text, kinds.get(text, "piece"), score=parsed.scores.get(text, 0.0))
        for text in parsed.texts
    ]
    return _checked(
        parsed, parsed.texts, tokens=tokens, encoding=parsed.encoding, look_up=parsed.look_up
    )


def _checked(parsed: Parsed, texts: Iterable[str], **own: Any) -> Vocabulary:
    """The vocabulary with what both kinds have in common; `texts` are those that text gives."""
    vocabulary = Vocabulary(
        rule=WordRule(parsed.pretokenizer, parsed.normalize),
        unknown=parsed.unknown,
        unknown_token=parsed.unknown_token,
        fuse_unknown=parsed.fuse_unknown and parsed.unknown == "unk",
        word_ends=_word_ends(parsed, texts),
        space_first=parsed.space_first,
        normalizer=parsed.normalizer,
        roles=parsed.roles,
        **own,
    )
    check_vocabulary(vocabulary, parsed.name)
    return _measured(vocabulary, parsed)


def _word_ends(parsed: Parsed, texts: Iterable[str]) -> WordEnds:
    """SentencePiece and Hugging Face merge up to the next `▁`, or over runs of them. If no token
    spans what volt cuts into two words, that makes no difference."""
    if not parsed.mode.space_before:
        return "kinds"
    texts = [text for text in texts if text not in parsed.kinds]
    if parsed.runs and any(text.startswith(2 * SPACE_MARK) for text in texts):
        return "runs"
    if parsed.encoding is not None:
        return "kinds"
    spaced = (text for text in texts if SPACE_MARK not in text[1:])
    return "spaces" if any(map(parsed.mode.cuts_inside, spaced)) else "kinds"


def _check_texts(parsed: Parsed, listed: list[str]) -> None:
    if len(listed) > MOST_TOKENS:
        raise parsed.fail(f"more than {MOST_TOKENS:,} tokens")
    if (parsed.packed is not None and not parsed.hidden) or (
        all(listed)
        and len(set(listed)) == len(listed)
        and max(map(len, listed), default=0) <= LONGEST_TOKEN
        and is_text("".join(listed))
    ):
        return
    seen: set[str] = set()
    for number, text in enumerate(listed):
        if not text:
            raise parsed.fail(f"token {number} is empty")
        if text in seen:
            raise parsed.fail(f"token {number}, {brief(text)}, is there twice")
        seen.add(text)
        if len(text) > LONGEST_TOKEN:
            raise parsed.fail(f"token {number} has more than {LONGEST_TOKEN:,} characters")
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise parsed.fail(f"token {number}: a lone surrogate is not text")


def _kinds(parsed: Parsed, listed: list[str]) -> dict[str, Kind]:
    """The kinds of all tokens except those that must be merged."""
    kinds = dict(parsed.kinds)
    kinds |= dict.fromkeys(parsed.mode.byte_tokens(parsed.unknown), "byte")
    if parsed.unknown == "unk":
        kinds.setdefault(parsed.unknown_token, "special")
    is_character, longest = parsed.marks.is_character, parsed.marks.longest_character
    found = "character" in kinds.values()
    for text in [text for text in listed if len(text) <= longest]:
        if text not in kinds and is_character(text):
            kinds[text] = "character"
            found = True
    if parsed.encoding is None and not found:
        raise parsed.fail("no token is a character")
    return kinds


MergeColumns = tuple[MergeRule, NDArray[np.int64], NDArray[np.int64]]
"""The rule, and the ranks and parents of all tokens; NO_TOKEN for those that are not merged."""
Made = tuple[MergeRule, dict[str, int], dict[str, Pair]]
"""The same by texts, of merged tokens only."""


def _merged(parsed: Parsed, listed: list[str], kinds: NDArray[np.int64]) -> MergeColumns:
    """How tokens are merged. `kinds` are numbers of KINDS, NO_TOKEN for what must be merged."""
    number_of: dict[str, int] = {}
    if parsed.joins is None or parsed.hidden:
        number_of = {text: number for number, text in enumerate(listed)}
    joins = parsed.joins
    if joins is None and parsed.pairs:
        joins = _joins(parsed.pairs, number_of)
    if joins is not None and (found := _in_order(joins, kinds)):
        return found
    number_of = number_of or {text: number for number, text in enumerate(listed)}
    pairs = parsed.pairs
    if parsed.joins is not None:
        pairs = [(listed[left], listed[right]) for left, right, _ in parsed.joins.tolist()]
    unnamed = {*compress(listed, (kinds == NO_TOKEN).tolist())}
    characters = {*compress(listed, (kinds == KINDS.index("character")).tolist())}
    rule, rank_of, parents_of = (
        _from_ranked(parsed, characters, unnamed) if pairs is None
        else _from_pairs(parsed, pairs, characters, unnamed)
    )  # fmt: skip
    ranks = np.full(len(listed), NO_TOKEN, np.int64)
    parents = np.full((len(listed), 2), NO_TOKEN, np.int64)
    for text, rank in rank_of.items():
        ranks[number_of[text]] = rank
        parents[number_of[text]] = [number_of[part] for part in parents_of[text]]
    return rule, ranks, parents


def _joins(pairs: list[Pair], number_of: dict[str, int]) -> NDArray[np.int64]:
    """Pairs and what they make, as numbers; NO_TOKEN for what is not a token."""
    parts = (*zip(*pairs, strict=True), list(map("".join, pairs)))
    columns = [np.fromiter(map(number_of.get, part, repeat(NO_TOKEN)), np.int64) for part in parts]
    return np.stack(columns, axis=1)


def _in_order(joins: NDArray[np.int64], kinds: NDArray[np.int64]) -> MergeColumns | None:
    """The usual file: one pair for every token, after the pairs of its parts. None for others."""
    size, order = len(kinds), np.arange(len(joins))
    left, right, made = np.ascontiguousarray(joins.T)
    if joins.min(initial=0) < 0 or not (kinds[made] == NO_TOKEN).all():
        return None
    known_at = np.full(size, len(joins))
    known_at[kinds == KINDS.index("character")] = NO_TOKEN
    known_at[made] = order
    twice = (known_at[made] != order).any()
    if twice or (known_at[left] >= order).any() or (known_at[right] >= order).any():
        return None
    ranks = np.full(size, NO_TOKEN, np.int64)
    parents = np.full((size, 2), NO_TOKEN, np.int64)
    ranks[made], parents[made] = order, joins[:, :2]
    return "pairs", ranks, parents


def _from_pairs(parsed: Parsed, pairs: list[Pair], characters: set[str], unnamed: set[str]) -> Made:
    """A list with one pair per token is rule `pairs`. One with several is rule `concat`, or else
    each token gets the one pair that it is ever merged from (volt/tokenizing/merge_pairs.py)."""
    place_of: dict[Pair, int] = {}
    ways: dict[str, list[Pair]] = {}
    made = _makeable(pairs, characters)
    for number, (left, right) in enumerate(pairs):
        text = left + right
        for one in (left, right, text):
            if one not in characters and one not in unnamed and one not in parsed.kinds:
                raise parsed.fail(f"merge {number}: {brief(one)} is not in the vocabulary")
        # Names are found in the text first, and what is never made merges with nothing.
        usable = text in unnamed and left in made and right in made
        if usable and place_of.setdefault((left, right), number) == number:
            ways.setdefault(text, []).append((left, right))
    several = any(len(found) > 1 for found in ways.values())
    ranks = {text: rank for rank, text in enumerate(ways)}
    first = {text: _lowest(found, ranks) for text, found in ways.items()}
    late = next((text for text, pair in first.items()
                 if any(ranks.get(part, -1) > ranks[text] for part in pair)), None)  # fmt: skip
    if late is not None and parsed.one_pair_at_a_time:
        raise parsed.fail(f"{brief(late)} is merged before what it is made from")
    if not several or _is_concat(ranks, characters, place_of, parsed.marks):
        return "concat" if several else "pairs", ranks, first
    if parsed.one_pair_at_a_time:
        raise parsed.fail(
            "tokens are merged in more than one way, but not in all, or they stand apart; volt "
            "knows one way (rule pairs) or all ways (rule concat)"
        )
    parents = {
        text: found[0] if len(found) == 1
        else last_two(parsed.marks.symbols(text), lambda a, b: place_of.get((a, b))) or found[0]
        for text, found in ways.items()
    }  # fmt: skip
    ordered = sorted(parents, key=lambda text: place_of[parents[text]])
    return "pairs", {text: rank for rank, text in enumerate(ordered)}, parents


def _makeable(pairs: list[Pair], characters: set[str]) -> set[str]:
    """What the merges make from characters. A file may have tokens that no merges make, and merges
    of them, which are never used."""
    made = set(characters)
    for left, right in sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1])):
        if left in made and right in made:
            made.add(left + right)
    return made


def _lowest(ways: list[Pair], ranks: dict[str, int]) -> Pair:
    """The first pair whose parts both have a lower rank, or the first."""
    own = ranks["".join(ways[0])]
    return next((pair for pair in ways if all(ranks.get(part, -1) < own for part in pair)), ways[0])


def _is_concat(
    ranks: dict[str, int], characters: set[str], place_of: dict[Pair, int], marks: Marks
) -> bool:
    """A list with several pairs for a token works like rule `concat` if it contains the last pair
    of every token, in the same order."""
    known = ranks | dict.fromkeys(characters, -1)
    before = -1
    for text in ranks:
        pair = last_pair(text, known, marks)
        if pair is not None:
            place = place_of.get(pair, -1)
            if place < before:
                return False
            before = place
    return True


def _from_ranked(parsed: Parsed, characters: set[str], unnamed: set[str]) -> Made:
    """Rule `concat` does not care which pair the parents are: the first is taken whose parts have a
    lower rank, or else the first."""
    ranked = [text for text in parsed.ranked or [] if text in unnamed]
    parents: dict[str, Pair] = {}
    known = set(characters)
    for texts in (ranked, sorted(ranked, key=len)):
        for text in texts:
            if text in parents:
                continue
            pair = next(iter(pairs_for(text, known, parsed.marks)), None)
            if pair is not None:
                parents[text] = pair
                known.add(text)
    made = [text for text in ranked if text in parents]
    return "concat", {text: rank for rank, text in enumerate(made)}, parents


def _measured(vocabulary: Vocabulary, parsed: Parsed) -> Vocabulary:
    from volt.tokenizing.check import find_unreachable, self_test_texts

    if vocabulary.whole_words and not vocabulary.of_kind("piece"):
        merging = replace(vocabulary, whole_words=False)
        if not find_unreachable(Tokenizer(merging)):
            vocabulary = merging  # no difference
    tokenizer = Tokenizer(vocabulary)
    unreachable = set(find_unreachable(tokenizer))
    ends = vocabulary.word_ends
    if vocabulary.look_up is not None and ends == "kinds":
        ends = "spaces"
    crossing = _crossing(vocabulary, ends)
    if crossing:
        example = vocabulary.texts[crossing[0]]
        parsed.messages.append(
            f"{plural(len(crossing), 'token')} across two words, such as {brief(example)}: no "
            "text gives such a token"
            + ("" if parsed.mode.byte_level else " in volt: text with it is cut otherwise")
        )
    fields = {"from": parsed.form, **words_fields(vocabulary), "size": len(vocabulary)}
    return vocabulary.noted(
        unreachable=sorted(unreachable | set(crossing)),
        self_test=[(text, tokenizer.encode(text)) for text in self_test_texts(vocabulary)],
        signature=sign(fields),
    )


def _crossing(vocabulary: Vocabulary, ends: WordEnds) -> list[int]:
    """The tokens that the pre-tokenizer cuts inside."""
    mode, longer = vocabulary.rule.mode, vocabulary.columns.are("merged", "piece")
    if mode.byte_level and not mode.custom:
        native = vocabulary.native
        cut = _core.cut_inside(native.text, native.offsets, mode.native)[: len(vocabulary)]
        return [int(number) for number in np.flatnonzero(longer & (cut > 0))]
    texts = vocabulary.texts
    return [
        number
        for number in np.flatnonzero(longer).tolist()
        if mode.cuts_inside(texts[number], ends)
    ]


def guess_pretokenizer(name: str, texts: Sequence[str]) -> str:
    """For files that do not name it: by the marks on the tokens."""
    if set(texts).issuperset(map(chr, LETTER_BYTES)):
        return "byte-level"
    used = marks_used(texts)
    if used[SPACE] or used[WORD_END]:
        return "metaspace" if used[SPACE] > used[WORD_END] else "whitespace"
    if looks_like_text(texts):
        raise InputError(
            f"{name}: this looks like text, not a tokenizer; `on` is for text, once per text; "
            "or learn from it (volt learn)"
        )
    raise InputError(
        f"{name}: if this is a text, name it with `on`, once per text, or learn from it (volt "
        "learn). As a list of tokens it is not known to volt: no token has a mark (`▁`, `</w>`), "
        "and not all 256 byte letters are there"
    )


def looks_like_text(lines: Sequence[str]) -> bool:
    """Do most lines have spaces inside? Tokens in a list have none."""
    some = lines[:100]
    return sum(" " in line.strip() for line in some) > len(some) / 2
