"""Small vocabularies that several test files build."""

import random
from dataclasses import replace

from hypothesis import strategies as st

import volt
from volt import WordRule
from volt.counting.normalizers import Bert, Cut, Normalizer
from volt.proposing.tokens import Token
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import measure
from volt.tokenizing.vocabulary import LookUp, Vocabulary


def made(words: list[str], seed: int, **options: object) -> Vocabulary:
    """A vocabulary of some of the candidates of a text."""
    pretokenizer = options.pop("pretokenizer", "metaspace")
    found = volt.candidates([[" ".join(words)]], pretokenizer=pretokenizer, min_frequency=1)
    merged = range(found.alphabet_size, len(found))
    chosen = random.Random(seed).sample(merged, (len(merged) + 1) // 2)
    encoding = options.pop("encoding", "merge")
    return build_vocabulary(replace(found, encoding=encoding), chosen, **options)


def scored(words: list[str], seed: int, pretokenizer: str, unknown: str | None) -> Vocabulary:
    """A unigram vocabulary of some of the substrings of a text."""
    counts = volt.count([[" ".join(words)]], pretokenizer=pretokenizer)
    found = volt.candidates(counts, candidates="substring:40", encoding="unigram", min_frequency=1)
    others = range(found.alphabet_size, len(found))
    chosen = random.Random(seed).sample(others, (len(others) + 1) // 2)
    vocabulary = build_vocabulary(found, chosen, unknown=unknown)
    return measure(vocabulary, counts, 1).vocabulary


def bert_vocabulary() -> Vocabulary:
    tokens = [Token("[UNK]", "special"), Token("[X]", "special")]
    tokens += [Token("a", "character"), Token("##a", "character")]
    return Vocabulary(
        WordRule("whitespace"), tokens, encoding="longest", unknown="unk", unknown_token="[UNK]",
        look_up=LookUp(mark="##"), normalizer=Normalizer((Bert(), Cut("bert"))),
    )  # fmt: skip


modes = st.sampled_from(
    [("metaspace", "concat"), ("whitespace", "concat"), ("byte-level", "concat"),
     ("metaspace", "pairs"), ("whitespace", "pairs"), ("byte-level", "pairs")]
)  # fmt: skip


unigram_modes = st.sampled_from(
    [("metaspace", "byte"), ("metaspace", "unk"), ("byte-level", None), ("whitespace", None)]
)


def small_sizes(old: Vocabulary, *, more: tuple[int, ...] = (40, 80, 120, 160)) -> list[int]:
    """Rows to refit a vocabulary to: what always stays, and a few tokens more."""
    always = len(old) - len(old.of_kind("merged", "piece"))
    return [always + number for number in more]
