"""Candidates and Curve: equal to the slow twin, exact at every size, saved and loaded whole."""

import math
import random
import time
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import volt
from volt import reference
from volt.counting.marks import BYTE_LETTERS
from volt.proposing.candidates_file import save_candidates

PRETOKENIZERS = ["whitespace", "metaspace", "byte-level"]

# Few letters, so that ties, repeats (`aaaa`) and tokens that can be made twice are common.
few_letters = st.text("ab", min_size=1, max_size=9)
some_letters = st.text("abc ", min_size=1, max_size=12)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def native_and_slow(lines, pretokenizer, merges=40, threads=1, **options):
    counts = volt.count([lines], pretokenizer=pretokenizer, threads=1)
    found = volt.candidates(counts, merges=merges, threads=threads, **options)
    slow = reference.merges.bpe(counts.to_dict(), pretokenizer, merges, **options)
    return counts, found, slow


def slow_token(token: str, pretokenizer: str) -> str:
    """The twin spells bytes as the characters U+0000 to U+00FF."""
    return token.translate(BYTE_LETTERS) if pretokenizer == "byte-level" else token


def assert_same(found, slow, pretokenizer):
    pairs = [
        (found.tokens[a], found.tokens[b])
        for a, b in zip(found.left.tolist(), found.right.tolist(), strict=True)
    ]
    assert pairs == [
        tuple(slow_token(token, pretokenizer) for token in pair) for pair in slow.merges
    ]
    assert found.tokens[: found.alphabet_size] == [
        slow_token(symbol, pretokenizer) for symbol in slow.alphabet
    ]
    assert found.pair_counts.tolist() == slow.pair_counts
    assert found.merge_counts.tolist() == slow.merge_counts


def assert_frequencies(found, slow, counts, pretokenizer):
    frequencies = reference.merges.token_frequencies(slow.segmentation, counts.to_dict())
    named = {slow_token(token, pretokenizer): f for token, f in frequencies.items()}
    assert {t: f for t, f in zip(found.tokens, found.frequency.tolist(), strict=True) if f} == named


@given(st.lists(few_letters, max_size=12), st.sampled_from(PRETOKENIZERS))
@example([], "metaspace")
@example(["a"], "whitespace")
@example(["aaaa"], "byte-level")
@example(["aaaaaaaaa", "aaa"], "metaspace")
def test_merges_equal_the_slow_twin_on_repeats_and_ties(lines, pretokenizer):
    counts, found, slow = native_and_slow(lines, pretokenizer, min_frequency=1)
    assert_same(found, slow, pretokenizer)
    assert_frequencies(found, slow, counts, pretokenizer)


@given(
    st.lists(some_letters | any_text, max_size=20),
    st.sampled_from(PRETOKENIZERS),
    st.integers(1, 4),
    st.none() | st.integers(1, 5),
    st.sampled_from([0.3, 0.6, 0.9, 0.99, 1.0]),
)
def test_merges_equal_the_slow_twin_on_any_text(
    lines, pretokenizer, min_frequency, max_token_length, coverage
):
    options = {"min_frequency": min_frequency, "coverage": coverage}
    if pretokenizer == "byte-level":
        options["coverage"] = 1.0
    else:
        options["max_token_length"] = max_token_length
    counts, found, slow = native_and_slow(lines, pretokenizer, **options)
    assert_same(found, slow, pretokenizer)
    assert_frequencies(found, slow, counts, pretokenizer)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("letters", ["a", "ab", "abcdefgh"])
def test_long_words_among_short_ones_equal_the_slow_twin(letters, pretokenizer, threads):
    """Long words are kept in another way than short ones."""
    generator = random.Random(letters)
    words = [
        "".join(generator.choices(letters, k=length))
        for length in (1700, 700, 513, 512, 60, 9, 9, 5, 5, 4, 3, 2, 1)
    ]
    counts = volt.count([[" ".join([*words, *words[:6], words[0]])]], pretokenizer=pretokenizer,
                        max_word_length=5000)  # fmt: skip
    for options in ({}, {"min_frequency": 1, "max_token_length": 6}, {"coverage": 0.6}):
        if pretokenizer == "byte-level":
            options.pop("coverage", None)
        found = volt.candidates(counts, merges=150, threads=threads, **options)
        slow = reference.merges.bpe(counts.to_dict(), pretokenizer, 150, **options)
        assert_same(found, slow, pretokenizer)
        assert_frequencies(found, slow, counts, pretokenizer)


@pytest.mark.parametrize("letters", ["ab", "abcdefghijklmnopqrstuvwxyz"])
def test_eight_times_the_word_does_not_take_64_times_as_long(letters):
    """Merges of one word of n letters take n log n."""

    def seconds(length: int) -> float:
        word = "".join(random.Random(1).choices(letters, k=length))
        started = time.process_time()
        volt.candidates([[word]], merges=500, max_word_length=10**7, threads=1)
        return time.process_time() - started

    once = min(seconds(100_000) for _ in range(3))
    assert min(seconds(800_000) for _ in range(2)) < 24 * once


def test_no_two_merges_make_the_same_token():
    """Tokens have one pair of parents, whatever the words; native ids rest on it."""
    generator = random.Random(7)
    for _ in range(200):
        lines = ["".join(generator.choices("abc", k=generator.randint(1, 12))) for _ in range(40)]
        counts = reference.words.count_words(lines, "whitespace")
        slow = reference.merges.bpe(counts, "whitespace", merges=80, min_frequency=1)
        made = ["".join(pair) for pair in slow.merges]
        assert len(set(made)) == len(made)


def test_text_that_reads_like_a_mark_is_no_token():
    lines = ["a</w>b a</w> <unk>x <unk>y z"] * 5 + ["q"]
    found = volt.candidates([lines], pretokenizer="whitespace", coverage=0.98)
    assert found.unknown is not None
    assert len(set(found.tokens)) == len(found.tokens)
    assert "a</w></w>" in found.tokens


@pytest.fixture(scope="module")
def sample():
    """Some thousand made-up words with a Zipf-like tail, and their candidates."""
    generator = random.Random(1)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"] + ["sch", "ing", "ß", "日", "😀"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 5))) for _ in range(3000)]
    lines = [
        " ".join(types[int(3000 * generator.random() ** 3)] for _ in range(9)) for _ in range(2500)
    ]
    return volt.count([lines])


@pytest.fixture(scope="module")
def found(sample):
    return volt.candidates(sample, merges=2000)


def test_the_curve_equals_counting_from_scratch_at_ten_sizes(sample, found):
    counts = sample.to_dict()
    length_of = dict(zip(found.tokens, found.lengths.tolist(), strict=True))
    segmentation = {word: reference.merges.spell(word, "metaspace") for word in counts}
    rows = {0, *range(0, found.merges + 1, found.merges // 9)}
    curve = found.curve
    checked = 0
    for m in range(found.merges + 1):
        if m in rows:
            frequencies = reference.merges.token_frequencies(segmentation, counts)
            assert curve.tokens[m] == sum(frequencies.values())
            assert curve.types[m] == len(frequencies)
            assert curve.size[m] == 4 + 256 + found.alphabet_size + m
            assert curve.learned[m] == found.alphabet_size + m
            assert curve.merges[m] == m
            assert curve.type_length[m] == sum(length_of[t] for t in frequencies)
            assert curve.characters == sum(f * length_of[t] for t, f in frequencies.items())
            for by in ("types", "occurrences"):
                slow = reference.curve.entropy_per_length(frequencies, length_of, by)
                assert curve.entropy_by(by)[m] == pytest.approx(slow, rel=1e-9, abs=1e-300)
            assert curve.f_power[m] == pytest.approx(
                math.fsum(f**2.5 for f in frequencies.values()), rel=1e-9
            )
            alphabet = set(found.tokens[: found.alphabet_size])
            assert curve.frequent[m] == sum(
                f >= 100 for token, f in frequencies.items() if token not in alphabet
            )
            checked += 1
        if m < found.merges:
            pair = found.tokens[found.left[m]], found.tokens[found.right[m]]
            for word, tokens in segmentation.items():
                if pair[0] in tokens and pair[1] in tokens:
                    segmentation[word] = reference.merges.join(tokens, pair)
    assert checked >= 10


def test_muv_is_the_entropy_lost_per_token_added(found):
    curve = found.curve
    for by in ("types", "occurrences"):
        entropy, muv = curve.entropy_by(by), curve.muv(by)
        assert np.isnan(muv[0])
        for m in (1, 17, 1999):
            assert muv[m] == -(entropy[m] - entropy[m - 1]) / (curve.size[m] - curve.size[m - 1])


def test_entropy_per_character_of_bpe_falls_and_is_convex_at_large(found):
    """METHOD 3: over steps of equal size the first has the largest MUV."""
    curve = found.curve
    rows = [curve.at_size(size) for size in range(460, 2261, 300)]
    steps = np.diff(curve.entropy_occurrences[rows])
    assert (steps < 0).all()
    assert np.argmax(-steps) == 0


def test_a_token_knows_its_parents_rank_and_length(found):
    for token in (found.alphabet_size, found.alphabet_size + 100, len(found) - 1):
        left, right = found.parents[token]
        assert found.tokens[token] == found.tokens[left] + found.tokens[right]
        assert found.lengths[token] == found.lengths[left] + found.lengths[right]
        assert found.rank[token] == token - found.alphabet_size
    assert (found.parents[: found.alphabet_size] == -1).all()
    assert (found.rank[: found.alphabet_size] < 0).all()
    assert found.lengths[: found.alphabet_size].tolist() == [1] * found.alphabet_size


def test_characters_are_conserved(sample, found):
    characters = sum(len(word) * count for word, count in sample.items())
    assert (found.frequency * found.lengths).sum() == characters == found.curve.characters


def test_marks_that_are_no_text_have_no_length():
    found = volt.candidates([["low low low"]], pretokenizer="whitespace")
    assert found.lengths[found.tokens.index("low</w>")] == 3
    found = volt.candidates([["low low low"]], pretokenizer="metaspace")
    assert found.lengths[found.tokens.index("▁low")] == 4


def test_byte_level_counts_bytes_and_has_all_of_them():
    found = volt.candidates([["öö öö"]], pretokenizer="byte-level")
    assert found.alphabet_size == 256
    assert found.lengths[found.tokens.index("Ã¶")] == 2
    assert found.tokens[ord(" ")] == "Ġ"


def test_default_coverage_leaves_rare_characters_out_of_large_alphabets_only():
    common = [chr(0x4E00 + i) for i in range(5200)]
    small = volt.candidates([common[:4000]], merges=10)
    assert small.unknown is None
    assert small.left_out == 0
    large = volt.candidates([common * 50 + ["\U0001f600"]], merges=10)
    assert large.unknown is not None
    assert large.tokens[large.unknown] == "<unk>"
    assert large.left_out > 0
    whole = volt.candidates([common * 50 + ["\U0001f600"]], merges=10, coverage=1.0)
    assert whole.unknown is None


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_threads_change_nothing(pretokenizer, tmp_path):
    generator = random.Random(3)
    # Enough words that the threads really share the larger merges.
    lines = ["".join(generator.choices("abcdefgh", k=10)) for _ in range(30000)]
    saved = []
    for threads in (1, 2, 5):
        found = volt.candidates([lines], pretokenizer=pretokenizer, merges=300, threads=threads)
        save_candidates(found, tmp_path / "candidates.tsv")
        saved.append((tmp_path / "candidates.tsv").read_bytes())
    assert saved[0] == saved[1] == saved[2]


def test_a_large_alphabet_takes_the_hashed_path_to_the_same_merges():
    generator = random.Random(5)
    letters = [chr(0x4E00 + i) for i in range(1500)]
    lines = ["".join(letters[int(generator.paretovariate(0.6)) % 1500] for _ in range(6))
             for _ in range(900)]  # fmt: skip
    lines += letters
    counts, found, slow = native_and_slow(lines, "metaspace", merges=30, coverage=1.0)
    assert found.alphabet_size > 1024
    assert_same(found, slow, "metaspace")
    assert_frequencies(found, slow, counts, "metaspace")


def test_weights_scale_merges_without_changing_them(tmp_path):
    (tmp_path / "a.txt").write_text("low lower lowest\n" * 3)
    plain = volt.candidates([tmp_path / "a.txt"])
    doubled = volt.candidates([tmp_path / "a.txt"], weights="2")
    halved = volt.candidates([tmp_path / "a.txt"], weights="0.5", min_frequency=1)
    assert doubled.tokens == plain.tokens
    assert (doubled.merge_counts == 2 * plain.merge_counts).all()
    assert halved.unit == 2
    assert halved.tokens == plain.tokens


# ------------------------------------------------------------------------------------ save and load


@given(
    st.lists(any_text, max_size=10),
    st.sampled_from(PRETOKENIZERS),
    st.sampled_from(["merge", "split"]),
)
def test_saved_candidates_load_to_the_same(tmp_path_factory, lines, pretokenizer, encoding):
    path = tmp_path_factory.getbasetemp() / "saved.tsv"
    found = volt.candidates(
        [lines], pretokenizer=pretokenizer, min_frequency=1, coverage=0.9, encoding=encoding
    )
    save_candidates(found, path)
    loaded = volt.load_candidates(path)
    assert loaded.tokens == found.tokens
    assert (loaded.rule, loaded.encoding) == (found.rule, encoding)
    assert (loaded.unknown, loaded.left_out, loaded.unit) == (found.unknown, found.left_out, 1)
    assert loaded.fixed_rows == found.fixed_rows
    assert loaded.curve.size.tolist() == found.curve.size.tolist()
    for name in ("lengths", "alphabet_counts", "left", "right", "pair_counts",
                 "merge_counts", "frequency"):  # fmt: skip
        assert getattr(loaded, name).tolist() == getattr(found, name).tolist()
    assert loaded.curve.entropy.tolist() == found.curve.entropy.tolist()


DAMAGE = {
    "another file": lambda lines: ["hello\n"],
    "no rows": lambda lines: lines[:2],
    "a row short": lambda lines: lines[:-1],
    "a cut line": lambda lines: [*lines[:-1], lines[-1][:5]],
    "a parent from the future": lambda lines: [
        *lines[:-1],
        lines[-1].replace("\t97\t97\t", "\t97\t256\t"),
    ],
    "a wrong text": lambda lines: [*lines[:-1], lines[-1].replace("aa", "ba")],
    "a negative count": lambda lines: [*lines[:-1], lines[-1].replace("\t2\t", "\t-2\t")],
    "a header that is not JSON": lambda lines: ["# volt candidates {\n", *lines[1:]],
    "a pre-tokenizer that is not there": lambda lines: [
        lines[0].replace('"byte-level"', '"bytes"'),
        *lines[1:],
    ],
    "an encoding that is not there": lambda lines: [
        lines[0].replace('"fixed_rows"', '"encoding": "x", "fixed_rows"'),
        *lines[1:],
    ],
    "another format": lambda lines: [lines[0].replace('"format": 1', '"format": 9'), *lines[1:]],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_refused_in_words(tmp_path, damage):
    path = tmp_path / "candidates.tsv"
    save_candidates(volt.candidates([["aa", "aa"]], pretokenizer="byte-level"), path)
    lines = path.read_text().splitlines(keepends=True)
    assert lines[-1].split("\t")[1] == "aa"
    path.write_text("".join(damage(lines)))
    with pytest.raises(volt.InputError, match=str(path)):
        volt.load_candidates(path)


@pytest.mark.parametrize(
    "options",
    [{"merges": -1}, {"coverage": 0.0}, {"coverage": 1.5}, {"min_frequency": 0},
     {"max_token_length": 0}, {"threads": 0}],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(volt.SettingsError):
        volt.candidates([["a"]], **options)


def test_curve_rows_csv_and_frame(found, tmp_path):
    curve = found.curve
    curve.save(tmp_path / "curve.csv")
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert len(lines) == len(curve) + 1
    header, first, last = (line.split(",") for line in (lines[0], lines[1], lines[-1]))
    assert first[header.index("muv_types")] == ""
    assert float(last[header.index("entropy_types")]) == curve.entropy_types[-1]
    frame = curve.to_frame()
    assert frame["size"].tolist() == curve.size.tolist()
    assert curve.at_size(int(curve.size[10])) == 10
    assert curve.at_size(0) == 0
    assert curve.at_size(10**9) == len(curve) - 1


def test_totals_of_the_curve_never_grow(found):
    tokens = found.curve.tokens.tolist()
    assert tokens == list(accumulate(tokens, min))
