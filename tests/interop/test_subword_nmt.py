"""BPE merges equal those of subword-nmt 0.3.8, up to the order of ties."""

import io
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import reference

learn_bpe = pytest.importorskip("subword_nmt.learn_bpe")

Merge = tuple[int, tuple[str, str]]


def peer_merges(words: dict[str, int], merges: int) -> list[Merge]:
    """subword-nmt's merges, each with how often the pair occurs when its turn comes."""
    codes = io.StringIO()
    dictionary = [f"{word} {count}" for word, count in words.items()]
    learn_bpe.learn_bpe(dictionary, codes, merges, min_frequency=2, is_dict=True)
    segmentation = {word: reference.merges.spell(word, "whitespace") for word in words}
    found: list[Merge] = []
    for line in codes.getvalue().splitlines()[1:]:
        left, right = line.split(" ")
        count = sum(
            words[word] * sum(pair == (left, right) for pair in pairwise(tokens))
            for word, tokens in segmentation.items()
        )
        found.append((count, (left, right)))
        segmentation = {w: reference.merges.join(t, (left, right)) for w, t in segmentation.items()}
    return found


def our_merges(words: dict[str, int], merges: int, folder) -> list[Merge]:
    path = folder / "counts.tsv"
    path.write_text("".join(f"{word}\t{count}\n" for word, count in words.items()))
    counts = volt.count(path, pretokenizer="whitespace", input_format="counts")
    found = volt.candidates(counts, merges=merges)
    pairs = zip(found.left.tolist(), found.right.tolist(), strict=True)
    return [
        (count, (found.tokens[a], found.tokens[b]))
        for count, (a, b) in zip(found.pair_counts.tolist(), pairs, strict=True)
    ]


def equal_up_to_ties(ours: list[Merge], theirs: list[Merge]) -> int:
    """How many merges are equal before the two part at a tie; they may part nowhere else."""
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        assert mine[0] == other[0]
        if mine[1] != other[1]:
            return number
    assert len(ours) == len(theirs)
    return len(ours)


@given(st.dictionaries(st.text("abcde", min_size=2, max_size=8), st.integers(1, 50), min_size=1))
def test_small_corpora(tmp_path_factory, words):
    ours = our_merges(words, 50, tmp_path_factory.getbasetemp())
    equal_up_to_ties(ours, peer_merges(words, 50))


def test_where_counts_are_unique_all_merges_are_the_same(tmp_path):
    generator = random.Random(11)
    words: dict[str, int] = {}
    while len(words) < 400:
        word = "".join(generator.choices("abcdefghijkl", k=generator.randint(2, 9)))
        words[word] = generator.randint(1, 10**9)
    ours, theirs = our_merges(words, 150, tmp_path), peer_merges(words, 150)
    unique = equal_up_to_ties(ours, theirs)
    assert unique >= 120
    assert len({count for count, _ in ours[:unique]}) == unique


def test_real_text(volt_data, tmp_path):
    counts = volt.count(volt_data("multi30k/valid.de"), pretokenizer="whitespace")
    words = counts.to_dict()
    ours, theirs = our_merges(words, 2000, tmp_path), peer_merges(words, 2000)
    assert equal_up_to_ties(ours, theirs) > 30
    # Past the first tie the roads part, but not far: together the merges count for the same.
    totals = [sum(count for count, _ in merges) for merges in (ours, theirs)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-3)
