"""Vocabularies and texts to compare volt with other toolkits on."""

import random
import unicodedata
from functools import lru_cache

import numpy as np
from hypothesis import strategies as st

import volt
from volt import WordRule
from volt.counting.marks import BYTE_LETTERS
from volt.proposing.tokens import SPELLED, Token
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import FIXED_TEXTS, measure
from volt.tokenizing.vocabulary import LookUp, Vocabulary

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
SPACES = " \t\n\r\u00a0\u2003\u3000\u200b\u0085\u2028\ufeff\0"

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
spaces = st.text(SPACES + "ab1.é'", max_size=16)
letters = st.text("abc d1.", max_size=24)

# First assigned in Unicode 14, by range.
_NEW = """
61D-61D 870-88E 890-891 898-89F 8B5-8B5 8C8-8D2 C3C-C3C C5D-C5D CDD-CDD 170D-170D 1715-1715
171F-171F 180F-180F 1AC1-1ACE 1B4C-1B4C 1B7D-1B7E 1DFA-1DFA 20C0-20C0 2C2F-2C2F 2C5F-2C5F
2E53-2E5D 9FFD-9FFF A7C0-A7C1 A7D0-A7D1 A7D3-A7D3 A7D5-A7D9 A7F2-A7F4 FBC2-FBC2 FD40-FD4F
FDCF-FDCF FDFE-FDFF 10570-1057A 1057C-1058A 1058C-10592 10594-10595 10597-105A1 105A3-105B1
105B3-105B9 105BB-105BC 10780-10785 10787-107B0 107B2-107BA 10F70-10F89 11070-11075 110C2-110C2
116B9-116B9 11740-11746 11AB0-11ABF 12F90-12FF2 16A70-16ABE 16AC0-16AC9 1AFF0-1AFF3 1AFF5-1AFFB
1AFFD-1AFFE 1B11F-1B122 1CF00-1CF2D 1CF30-1CF46 1CF50-1CFC3 1D1E9-1D1EA 1DF00-1DF1E 1E290-1E2AE
1E7E0-1E7E6 1E7E8-1E7EB 1E7ED-1E7EE 1E7F0-1E7FE 1F6DD-1F6DF 1F7F0-1F7F0 1F979-1F979 1F9CC-1F9CC
1FA7B-1FA7C 1FAA9-1FAAC 1FAB7-1FABA 1FAC3-1FAC5 1FAD7-1FAD9 1FAE0-1FAE7 1FAF0-1FAF6 2A6DE-2A6DF
2B735-2B738
"""
_new = {
    code
    for one in _NEW.split()
    for code in range(int(one.split("-")[0], 16), int(one.split("-")[1], 16) + 1)
}


def assigned_in_13(character: str) -> bool:
    """Where Python knows a later Unicode than 14, what Unicode 3.2 had is sure to be in 13."""
    if unicodedata.unidata_version in ("13.0.0", "14.0.0"):
        return unicodedata.category(character) not in ("Cn", "Cs") and ord(character) not in _new
    return unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs")


text_of_13 = st.text(
    st.characters(exclude_categories=["Cs", "Cn"]).filter(assigned_in_13), max_size=20
)


def any_text_for(pretokenizer: str):
    """Text of all of Unicode. The tables of byte-level toolkits differ beyond Unicode 13. In
    metaspace mode a literal `▁` is the one thing that the peers can't tell from a space."""
    texts = (text_of_13 if pretokenizer == "byte-level" else any_text) | spaces | letters
    return texts.map(lambda text: text.replace("▁", "_")) if pretokenizer == "metaspace" else texts


def token_texts(vocabulary: Vocabulary):
    """Tokens of the vocabulary strung together."""
    parts = [
        vocabulary.plain_text(token.text).decode(errors="ignore")
        for token in vocabulary.tokens
        if token.kind in SPELLED
    ]
    return st.lists(st.sampled_from(parts), max_size=12).map("".join)


def sample_lines() -> list[str]:
    generator = random.Random(3)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"] + ["sch", "ing", "ß", "日", "дом"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 6))) for _ in range(900)]
    types += ["3.14", "don't", "we'll", "1984", "e\u0301", "—", "(a)", "x\u00a0y", "👩‍🚀"]
    lines = [
        " ".join(types[int(len(types) * generator.random() ** 3)] for _ in range(9))
        for _ in range(700)
    ]
    texts = [text.replace("▁", "").replace("</w>", "").replace("@@", "") for text in FIXED_TEXTS]
    return [*lines, *texts, "  two  spaces ", "\ttabs\tand\u3000more"]


@lru_cache
def learned(
    pretokenizer: str,
    merge_rule: str | None = None,
    encoding: str = "merge",
    unknown: str | None = None,
    symbols: tuple[str, ...] = (),
    normalize: str = "none",
) -> Vocabulary:
    """The most frequent tokens of some BPE candidates, with frequencies."""
    counts = volt.count([sample_lines()], pretokenizer=pretokenizer, normalize=normalize)
    found = volt.candidates(counts, merges=1200, encoding=encoding)
    by_frequency = np.argsort(-found.frequency[found.alphabet_size :], kind="stable")[:400]
    vocabulary = build_vocabulary(
        found,
        (by_frequency + found.alphabet_size).tolist(),
        merge_rule=merge_rule,
        unknown=unknown,
        symbols=symbols,
    )
    return measure(vocabulary, counts, 1).vocabulary


def looked_up(pretokenizer, encoding, unknown, exact=True):
    """All parts of the words of the sample that occur often."""
    counts = volt.count([sample_lines()], pretokenizer=pretokenizer)
    found = volt.candidates(counts, merges=700)
    generator = random.Random(9)
    mark = "##" if pretokenizer == "whitespace" else ""
    texts = [text.removesuffix("</w>") for text in found.tokens if text != "<unk>"]
    if mark:
        texts += [mark + text for text in texts]
    texts = list(dict.fromkeys(texts))
    score = {text: -generator.uniform(2, 14) for text in texts}
    if exact:
        score = {text: round(value * 64) / 64 for text, value in score.items()}
    tokens = [Token(name, "special") for name in SPECIAL]
    if unknown == "byte" and pretokenizer == "metaspace":
        tokens += [Token(f"<0x{byte:02X}>", "byte") for byte in range(256)]
    tokens += [
        Token(
            text,
            "character" if len(text.removeprefix(mark)) == 1 else "piece",
            score=score[text] if encoding == "unigram" else 0.0,
        )
        for text in texts
    ]
    lowest = min(score.values()) if encoding == "unigram" else 10.0
    vocabulary = Vocabulary(
        WordRule(pretokenizer),
        tokens,
        encoding=encoding,
        unknown=unknown,
        fuse_unknown=encoding == "unigram" and unknown == "unk",
        look_up=LookUp(mark=mark, unknown_score=lowest - 10.0),
    )
    return measure(vocabulary, counts, 1).vocabulary


@lru_cache
def made_up(pretokenizer: str, merge_rule: str, seed: int, hidden: bool = False) -> Vocabulary:
    """A vocabulary that no BPE would learn: two letters, and merges of any two tokens in any
    order. Many tokens can be made in several ways, some can't be reached."""
    generator = random.Random(seed)
    final = "</w>" if pretokenizer == "whitespace" else ""
    special = [Token(name, "special") for name in SPECIAL]
    characters = ["a", "b"] + ["▁"] * (pretokenizer == "metaspace")
    characters += ["a</w>", "b</w>"] if final else []
    if pretokenizer == "byte-level":
        characters = [chr(letter) for letter in BYTE_LETTERS.values()]
    if pretokenizer == "metaspace":
        special += [Token(f"<0x{byte:02X}>", "byte") for byte in range(256)]
    tokens = [*special, *(Token(text, "character") for text in characters)]
    parts = [i for i, t in enumerate(tokens) if t.kind == "character" and t.text[0] in "ab▁Ġ"]
    pairs: list[tuple[str, tuple[int, int]]] = []
    texts = [token.text for token in tokens]
    while len(pairs) < 24:
        left, right = generator.choice(parts), generator.choice(parts)
        text = texts[left] + texts[right]
        if (
            text in texts
            or texts[right][0] in "▁Ġ"
            or (final and texts[left].endswith(final))
            or len(text) > 12
        ):
            continue
        texts.append(text)
        parts.append(len(texts) - 1)
        pairs.append((text, (left, right)))
    merged = [Token(text, "merged", pair, rank) for rank, (text, pair) in enumerate(pairs)]
    if not hidden:
        return Vocabulary(
            WordRule(pretokenizer), tokens + merged, merge_rule=merge_rule,
            unknown="unk" if pretokenizer == "whitespace" else "byte",
        )  # fmt: skip
    # Hide every third token, numbered on from the last that is not hidden.
    kept = [i for i in range(len(texts)) if i < len(tokens) or i % 3]
    order = kept + [i for i in range(len(texts)) if i not in set(kept)]
    number = {old: new for new, old in enumerate(order)}
    pool = [
        Token(t.text, t.kind, t.parents and (number[t.parents[0]], number[t.parents[1]]), t.rank)
        for t in ((tokens + merged)[i] for i in order)
    ]
    return Vocabulary(
        WordRule(pretokenizer), pool[: len(kept)], pool[len(kept) :], encoding="split",
        merge_rule=merge_rule, unknown="unk" if pretokenizer == "whitespace" else "byte",
    )  # fmt: skip


def letter_texts(seed: int, number: int = 60, letters: str = "ab") -> list[str]:
    generator = random.Random(seed)
    return [
        " ".join(
            "".join(generator.choices(letters, k=generator.randint(1, 24)))
            for _ in range(generator.randint(1, 3))
        )
        for _ in range(number)
    ]


@lru_cache
def tokenizer_of(vocabulary: Vocabulary) -> volt.Tokenizer:
    return volt.Tokenizer(vocabulary, threads=1)


LONG = ("a" * 3000, "ab" * 1500, "".join(random.Random(5).choices("abcde", k=3000)))
