"""Other candidates: unigram, wordpiece, substring, file; and the encodings for them."""

import json
import math
import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import rows_with

import volt
import volt.foreign.source  # registers file:
from volt import reference
from volt.base.errors import InputError, SettingsError
from volt.counting.marks import BYTE_LETTERS
from volt.proposing.base import token_set
from volt.proposing.candidates_file import save_candidates
from volt.proposing.pieces import (
    PENALTY,
    ROUNDS,
    STEPS,
    UNSEEN,
    PieceCandidates,
)
from volt.proposing.proposal import SOURCES, Proposal, SourceChoice, parse_source, propose
from volt.proposing.sources.substring import substrings
from volt.proposing.sources.wordpiece import likelihood_merges
from volt.proposing.spelling import piece_candidates, spell
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import find_unreachable, measure
from volt.tokenizing.tokenizer import Tokenizer

PRETOKENIZERS = ["metaspace", "whitespace", "byte-level"]
MARKS = [("metaspace", ""), ("whitespace", "##"), ("whitespace", "</w>"), ("byte-level", "")]
WORDS = st.lists(st.text("aab#é</w>", min_size=1, max_size=8), min_size=1, max_size=12)

# Our own sentences: every script goes through every source, and comes back byte for byte.
SCRIPTS = {
    "Chinese": "猫坐在窗台上看雨。雨停了,猫还坐在窗台上。",
    "Japanese": "ねこは窓辺にすわって雨をながめています。雨がやんでも、ねこはすわっています。",
    "Korean": "고양이가 창가에 앉아 비를 봅니다. 비가 그쳐도 고양이는 앉아 있습니다.",
    "Thai": "แมวนั่งมองฝนที่หน้าต่าง ฝนหยุดแล้วแมวก็ยังนั่งอยู่",
    "Arabic": "القطة تجلس عند النافذة وتنظر إلى المطر. توقف المطر والقطة ما زالت تجلس.",
    "Hebrew": "החתול יושב ליד החלון ומביט בגשם. הגשם פסק והחתול עדיין יושב.",
    "Hindi": "बिल्ली खिड़की पर बैठकर बारिश देखती है। बारिश रुक गई और बिल्ली बैठी है।",
    "emoji": "🐈 sits 🪟 and looks at 🌧️. 👩‍🚀👨‍👩‍👧 wave 🏳️‍🌈 at the 🐈 🐈 🐈!",
}
ENGLISH = "the cat sits at the window, and looks at the rain; the rain stops, the cat still sits."


def proposal(counts, mark, number=0, **options):
    """For tokens that are looked up, with these marks."""
    source = SourceChoice("substring", number)
    return Proposal(counts, source, "longest" if mark == "##" else "unigram", **options)


def counted(texts, pretokenizer):
    return volt.count([[" ".join(texts)]], pretokenizer=pretokenizer)


def spelled_words(counts, mark):
    """The twin of `spell`: word to symbols, word to count."""
    pretokenizer = counts.rule.pretokenizer
    found, numbers = {}, {}
    for word, number in counts.items():
        text = word
        if pretokenizer == "byte-level":
            text = word.encode().decode("latin-1").translate(BYTE_LETTERS)
        symbols = list(text)
        if mark == "##":
            symbols[1:] = ["##" + letter for letter in symbols[1:]]
        elif mark == "</w>":
            symbols[-1] += mark
        found[text], numbers[text] = symbols, number
    return found, numbers


# ------------------------------------------------------------------------------------------ sources


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("bpe:500", SourceChoice("bpe", 500)),
        ("500", SourceChoice("bpe", 500)),
        ("unigram:30", SourceChoice("unigram", 30)),
        ("wordpiece", SourceChoice("wordpiece", 30_000)),
        ("substring:7", SourceChoice("substring", 7)),
        ("file:a:b.json", SourceChoice("file", path="a:b.json")),
    ],
)
def test_sources_are_named(text, source):
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text", ["", "file", "file:", "trigram:5", "bpe:x", "bpe:-1", "unigram:1e5"]
)
def test_other_names_are_refused(text):
    with pytest.raises(SettingsError, match=r"^`candidates` is bpe:N, unigram:N"):
        parse_source(text)


@pytest.mark.parametrize(("pretokenizer", "mark"), MARKS)
@given(texts=WORDS)
def test_words_are_spelled(pretokenizer, mark, texts):
    counts = counted(texts, pretokenizer)
    spelled = spell(proposal(counts, mark))
    words, numbers = spelled_words(counts, mark)
    bounds = spelled.offsets.tolist()
    for i, word in enumerate(words):
        symbols = spelled.symbols[bounds[i] : bounds[i + 1]].tolist()
        assert [spelled.alphabet.tokens[symbol] for symbol in symbols] == words[word]
    frequency = Counter()
    for word, symbols in words.items():
        for symbol in symbols:
            frequency[symbol] += numbers[word]
    found = dict(
        zip(spelled.alphabet.tokens, spelled.alphabet.alphabet_counts.tolist(), strict=True)
    )
    assert {symbol: n for symbol, n in found.items() if n} == frequency


@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace"])
def test_the_alphabet_is_that_of_bpe(pretokenizer):
    counts = counted([ENGLISH, SCRIPTS["Chinese"]], pretokenizer)
    mark = "</w>" if pretokenizer == "whitespace" else ""
    for coverage in (None, 0.9):
        mine = spell(proposal(counts, mark, coverage=coverage)).alphabet
        theirs = volt.candidates(counts, merges=0, coverage=coverage)
        assert mine.tokens == theirs.tokens
        assert mine.unknown == theirs.unknown
        assert mine.alphabet_counts.tolist() == theirs.alphabet_counts.tolist()


@pytest.mark.parametrize(("pretokenizer", "mark"), MARKS)
@given(texts=WORDS, longest=st.sampled_from([None, 3]))
@settings(max_examples=40)
def test_likelihood_merges_equal_the_slow_twin(pretokenizer, mark, texts, longest):
    counts = counted(texts + texts[:3], pretokenizer)
    asked = proposal(counts, mark, 30, max_token_length=longest)
    spelled = spell(asked)
    made = likelihood_merges(spelled, asked)
    words, numbers = spelled_words(counts, mark)
    pairs = reference.merges.wordpiece(
        numbers, words, spelled.alphabet.tokens, 30, mark=mark, max_token_length=longest
    )
    texts_of = [*spelled.alphabet.tokens, *made.texts]
    both = zip(made.found["left"].tolist(), made.found["right"].tolist(), strict=True)
    assert [(texts_of[left], texts_of[right]) for left, right in both] == pairs
    assert len(set(texts_of)) == len(texts_of)


@given(WORDS)
@settings(max_examples=30)
def test_likelihood_candidates_are_counted_like_bpe(texts):
    """With parents: the frequencies are those of the words after all merges."""
    counts = counted(texts * 2, "whitespace")
    found = volt.candidates(counts, candidates="wordpiece:20", encoding="merge")
    words, numbers = spelled_words(counts, "</w>")
    pairs = reference.merges.wordpiece(
        numbers, words, found.tokens[: found.alphabet_size], 20, mark="</w>"
    )
    for pair in pairs:
        words = {word: reference.merges.join(tokens, pair) for word, tokens in words.items()}
    expected = reference.merges.token_frequencies(words, numbers)
    frequency = dict(zip(found.tokens, found.frequency.tolist(), strict=True))
    assert {token: f for token, f in frequency.items() if f} == expected
    assert found.merges == len(pairs)
    assert (found.frequency >= 0).all()
    assert found.merge_counts.dtype == np.uint64
    assert found.whole_words.sum() == sum(
        numbers[word] for word, tokens in words.items() if len(tokens) == 1
    )


@pytest.mark.parametrize(("pretokenizer", "mark"), MARKS)
@given(texts=WORDS, number=st.integers(1, 12), longest=st.sampled_from([None, 2, 3]))
@settings(max_examples=40)
def test_the_most_frequent_substrings(pretokenizer, mark, texts, number, longest):
    counts = counted(texts, pretokenizer)
    asked = proposal(counts, mark, number, max_token_length=longest)
    words, numbers = spelled_words(counts, mark)
    every = reference.pieces.substrings(words, numbers)

    def text(symbols):
        first, *rest = symbols
        return first + "".join(s.removeprefix("##") if mark == "##" else s for s in rest)

    ranked = sorted(
        (-count, len(symbols), text(symbols))
        for symbols, count in every.items()
        if count >= 2 and len(symbols) <= (longest or 99)
    )
    expected = [text for _, _, text in ranked[:number]]
    assert substrings(spell(asked), asked) == expected


def test_substrings_do_not_go_through_unknown_characters():
    counts = counted(["abXab"] * 3, "whitespace")
    asked = proposal(counts, "</w>", 99, coverage=0.6)
    spelled = spell(asked)
    assert spelled.alphabet.unknown is not None
    found = substrings(spelled, asked)
    assert found
    assert not any("X" in text or "<unk>" in text for text in found)


# --------------------------------------------------------------------------- frequencies and scores


@st.composite
def pieces(draw):
    """Words, and candidates that are some of their substrings."""
    pretokenizer, mark = draw(st.sampled_from(MARKS))
    encoding = "longest" if mark == "##" else draw(st.sampled_from(["longest", "unigram"]))
    if mark == "</w>":
        encoding = "unigram"
    counts = counted(draw(WORDS), pretokenizer)
    return counts, mark, encoding, draw(st.integers(0, 30)), draw(st.integers(0, 1 << 16))


def make(counts, encoding, number, **options):
    return volt.candidates(
        counts, candidates=f"substring:{number}", encoding=encoding, min_frequency=1,
        **{"threads": 1} | options,
    )  # fmt: skip


@given(pieces())
@settings(max_examples=60)
def test_frequencies_equal_the_slow_twin(case):
    counts, mark, encoding, number, seed = case
    found = make(counts, encoding, number)
    words, numbers = spelled_words(counts, mark)
    inside = np.random.default_rng(seed).random(len(found)) < 0.6
    inside[: found.alphabet_size] = True
    cut, scores = found.cut_scored(inside)
    assert cut.tolist() == found.cut(inside).tolist()
    tokens = [tuple(found.marks.symbols(text)) for text in found.tokens]
    chosen = [tokens[i] for i in np.flatnonzero(inside)]
    slow = dict.fromkeys(chosen, -1.0)

    def count(scores):
        lowest = min(0.0, *scores.values())
        return reference.pieces.count_pieces(words, numbers, scores, encoding, lowest - PENALTY)

    for _ in range(ROUNDS if encoding == "unigram" else 0):
        frequency = count(slow)
        total = sum(frequency.values())
        logs = {
            token: round(math.log(max(frequency[token], UNSEEN) / total) * STEPS) / STEPS
            for token in chosen
        }
        slow = reference.pieces.lift_scores(logs)
    frequency = count(slow)
    got = {tokens[i]: int(cut[i]) for i in np.flatnonzero(cut)}
    assert got == {token: n for token, n in frequency.items() if n}
    if encoding == "unigram":
        assert {tokens[i]: scores[i] for i in np.flatnonzero(inside)} == slow
    # Characters are conserved.
    characters = sum(len(symbols) * numbers[word] for word, symbols in words.items())
    assert found.lengths.astype(np.uint64) @ cut == characters


@given(pieces(), st.integers(1, 3))
@settings(max_examples=30)
def test_threads_change_nothing(case, threads):
    counts, _, encoding, number, _ = case
    one = make(counts, encoding, number)
    other = make(counts, encoding, number, threads=threads)
    assert one.tokens == other.tokens
    assert one.frequency.tolist() == other.frequency.tolist()
    assert one.curve.f_ln_f.tolist() == other.curve.f_ln_f.tolist()


@given(pieces())
@settings(max_examples=60)
def test_every_token_is_reached_and_frequencies_are_those_of_the_vocabulary(case):
    counts, _, encoding, number, seed = case
    found = make(counts, encoding, number)
    some = np.flatnonzero(np.random.default_rng(seed).random(len(found)) < 0.5)
    vocabulary = build_vocabulary(found, some[some >= found.alphabet_size])
    measured = measure(vocabulary, counts, 1).vocabulary
    assert measured.unreachable == []
    cut = found.cut(token_set(found, some))
    expected = dict(zip(found.tokens, cut.tolist(), strict=True))
    got = {t.text: t.frequency for t in measured.tokens if t.kind in ("character", "piece")}
    # A word that starts with `##` may start with an inner token: only there volt cuts otherwise.
    if not any(word.startswith("##") for word, _ in counts.items()):
        assert got == {text: expected[text] for text in got}


def test_scores_are_raised_to_the_best_cut():
    """`abc` is never used by itself, and is reached nevertheless."""
    counts = volt.count([["ab c ab c ab c abcd abcd abcd abcd"]], pretokenizer="whitespace")
    texts = ["ab</w>", "abc", "abcd</w>", "ab"]
    found = piece_candidates(proposal(counts, "</w>"), lambda spelled: texts)
    assert set(found.tokens[found.alphabet_size :]) <= set(texts)
    vocabulary = build_vocabulary(found, range(found.alphabet_size, len(found)))
    assert not find_unreachable(Tokenizer(vocabulary))


def test_the_curve_is_measured():
    counts = counted([ENGLISH] * 3, "metaspace")
    found = volt.candidates(counts, candidates="substring:200", encoding="unigram")
    assert isinstance(found, PieceCandidates)
    curve = found.curve
    assert curve.learned[0] == found.alphabet_size
    assert curve.learned[-1] == len(found)
    assert (curve.size - curve.learned == 4 + 256).all()
    for row in (0, len(curve) // 2, len(curve) - 1):
        best = found.ranking()[: curve.merges[row]]
        frequency = found.cut(token_set(found, best))
        used = frequency[frequency > 0].tolist()
        assert curve.tokens[row] == sum(used)
        assert curve.types[row] == len(used)
        assert curve.entropy[row] == pytest.approx(reference.curve.entropy(used))
        assert curve.f_power[row] == pytest.approx(sum(f**2.5 for f in used))
        fits = found.zipf_fit(np.array([row]))
        assert fits.tolist() == [pytest.approx(reference.curve.zipf(used))]
        assert found.curve_at(np.array([row])).entropy.tolist() == [curve.entropy[row]]
    with pytest.raises(SettingsError, match="no order of merges"):
        found.ranking("merge")
    with pytest.raises(SettingsError, match="curve of merges"):
        volt.search(found, by="muv", sizes="290,300")


# -------------------------------------------------------------------------------------------- learn

TEXTS = [ENGLISH, *SCRIPTS.values()]


def fast(lines, pretokenizer="metaspace"):
    """As the paper chooses, among few sizes; one thread."""
    sizes = rows_with(lines, 10, 20, 40, 60, pretokenizer=pretokenizer)
    return {"criterion": "muv", "sizes": sizes, "threads": 1, "pretokenizer": pretokenizer}


CASES = [
    ("bpe:200", "unigram"), ("bpe:200", "longest"),
    ("wordpiece:200", "merge"), ("wordpiece:200", "split"), ("wordpiece:200", "longest"),
    ("unigram:200", "unigram"), ("unigram:200", "longest"),
    ("substring:200", "unigram"), ("substring:200", "longest"),
    ("file", "unigram"), ("file", "longest"),
]  # fmt: skip


@pytest.fixture(scope="module")
def vocabulary_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("file") / "bpe"
    volt.learn([TEXTS * 2], candidates="bpe:200", **fast(TEXTS)).save(folder, report=False)
    return folder


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize(("source", "encoding"), CASES)
def test_every_source_is_lossless_for_every_script(
    source, encoding, pretokenizer, vocabulary_file, tmp_path
):
    texts = TEXTS
    named = f"file:{vocabulary_file}" if source == "file" else source
    options = {"candidates": named, "encoding": encoding, **fast(texts, pretokenizer)}
    result = volt.learn([texts * 2], **options)
    vocabulary = result.vocabulary
    assert vocabulary.encoding == encoding
    assert vocabulary.unreachable == []
    assert len(vocabulary.of_kind("piece")) + len(vocabulary.of_kind("merged")) >= 10
    result.save(tmp_path / "out", report=False)
    tokenizer = volt.load(tmp_path / "out")
    for text in [*texts, "Unseen: ツ Ω \U0001f9ff\0 x", "  two  spaces "]:
        ids = tokenizer.encode(text)
        if pretokenizer != "whitespace":
            assert tokenizer.decode(ids) == text
        elif text in texts:
            assert tokenizer.decode(ids) == " ".join(text.split())
    # What was measured on words is what comes out of lines, where only spaces cut.
    found = Counter(i for text in texts for i in tokenizer.encode(text))
    assert {i: 2 * n for i, n in found.items()} == {
        i: token.frequency for i, token in enumerate(vocabulary.tokens) if token.frequency
    }
    choices = json.loads((tmp_path / "out" / "choices.json").read_text())
    assert choices["source"] == source.partition(":")[0]
    assert (choices["overlap_with_bpe"] is None) or (source.startswith("bpe"))
    again = volt.learn([texts * 2], **options | {"threads": 2})
    assert again.vocabulary.to_json() == vocabulary.to_json()


@pytest.mark.parametrize("criterion", ["mdl", "frequency", "renyi", "zipf", "knee"])
def test_every_criterion_chooses_among_what_was_measured(criterion):
    options = fast([ENGLISH]) | {"criterion": criterion}
    result = volt.learn([[ENGLISH] * 300], candidates="substring:200", **options)
    assert result.choice.size in result.curve.size.tolist()
    assert result.vocabulary.unreachable == []
    assert not result.exact


def test_more_candidates_are_advised_only_where_there_are_more():
    with pytest.raises(InputError, match=r"Leave out `size`, .* use at most [\d,]+$"):
        volt.learn([TEXTS], size=100_000)
    with pytest.raises(InputError, match=r"or ask for more `candidates`$"):
        volt.learn([TEXTS], size=100_000, candidates="bpe:10")


@pytest.mark.parametrize("source", ["substring:300", "unigram:300", "bpe:300"])
@pytest.mark.parametrize("encoding", ["longest", "unigram"])
def test_a_fixed_size_is_kept(source, encoding):
    """From the largest size that the source can give, which the error names, downwards."""
    options = {"candidates": source, "encoding": encoding, **fast(TEXTS)}
    with pytest.raises(InputError, match=r"use at most ([\d,]+)") as refused:
        volt.learn([TEXTS * 2], size=100_000, **options)
    most = int(re.search(r"most ([\d,]+)", str(refused.value))[1].replace(",", ""))
    for size in (most, most - 10):
        result = volt.learn([TEXTS * 2], size=size, **options)
        assert len(result.vocabulary) == result.choice.size == size
        assert result.vocabulary.unreachable == []


def test_frequencies_of_a_step_are_those_of_its_vocabulary():
    result = volt.learn([[ENGLISH] * 3], candidates="substring:200", **fast([ENGLISH]))
    step = next(one for one in result.steps if one.size == result.choice.size)
    assert step is result.choice.step
    assert step.enough.all()
    found = result.candidates
    ids = result.vocabulary.ids
    for token, mass in zip(
        step.tokens.tolist(), step.solution.problem.token_marginal.tolist(), strict=True
    ):
        frequency = result.vocabulary.tokens[ids[found.tokens[token]]].frequency
        characters = found.curve.characters
        assert mass == pytest.approx(frequency * int(found.lengths[token]) / characters)


def test_frequencies_are_measured_not_taken_from_the_file(vocabulary_file):
    text = ["cat window"] * 5
    result = volt.learn([text], candidates=f"file:{vocabulary_file}")
    told = " ".join(result.messages)
    assert "left out" in told
    assert {t.frequency for t in result.vocabulary.tokens if t.kind == "piece"} == {5}


def test_tokens_of_another_rule_are_found(vocabulary_file, tmp_path):
    """A metaspace file for bytes and for marked words."""
    for pretokenizer, encoding in (("byte-level", "unigram"), ("whitespace", "longest")):
        result = volt.learn(
            [[ENGLISH] * 3], candidates=f"file:{vocabulary_file}", encoding=encoding,
            **fast([ENGLISH], pretokenizer),
        )  # fmt: skip
        texts = {t.text for t in result.vocabulary.tokens if t.kind == "piece"}
        assert ("Ġcat" if pretokenizer == "byte-level" else "cat") in texts


# ------------------------------------------------------------------------------------ what can't be


@pytest.mark.parametrize("source", ["unigram:50", "substring:50"])
def test_tokens_without_parents_do_not_merge(source):
    with pytest.raises(SettingsError, match="no parents"):
        volt.learn([[ENGLISH]], candidates=source, encoding="merge", **fast([ENGLISH]))


def test_merge_settings_are_refused():
    with pytest.raises(SettingsError, match=r"^`merge_rule` is for tokens that are merged"):
        volt.learn([[ENGLISH]], candidates="substring:90", merge_rule="pairs", **fast([ENGLISH]))
    with pytest.raises(SettingsError, match="no order of merges"):
        volt.learn([[ENGLISH]], candidates="substring:90", rank="merge", **fast([ENGLISH]))


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        volt.learn([[ENGLISH]], candidates=f"file:{tmp_path / 'none.json'}", **fast([ENGLISH]))


def test_without_sentencepiece(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(SettingsError, match=r"volt-vocab\[sentencepiece\]"):
        volt.learn([[ENGLISH]], candidates="unigram:50", **fast([ENGLISH]))


def test_min_share_says_what_it_needs():
    texts = {"en": [[ENGLISH] * 3], "he": [[SCRIPTS["Hebrew"]] * 3]}
    with pytest.raises(SettingsError, match=r"^`min_share` exchanges tokens that are merged"):
        volt.learn_languages(texts, candidates="substring:90", min_share=0.2, **fast([ENGLISH]))


def test_scripts_apart_by_scores():
    """No letter is in both: in the mixture each script is cut as it was alone."""
    latin = [" ".join(a + b + c for c in "aeiou") for a in "bdfgkl" for b in "mnrst"]
    russian = [line.translate(str.maketrans("abdfgklmnrsteiou", "абдфгклмнрстеиоу"))
               for line in latin]  # fmt: skip
    result = volt.learn_scripts([latin, russian], candidates="substring:300", **fast(latin))
    joint = result.joined.vocabulary
    assert joint.encoding == "unigram" and joint.unreachable == []
    both = volt.Tokenizer(joint)
    assert sorted(result.scripts) == ["Cyrillic", "Latin"]
    for name, lines in (("Latin", latin), ("Cyrillic", russian)):
        alone = volt.Tokenizer(result.scripts[name].vocabulary)
        for line in lines:
            assert both.decode(both.encode(line)) == line
            assert len(both.encode(line)) <= len(alone.encode(line))


@pytest.mark.parametrize("source", ["substring:200", "wordpiece:200"])
def test_many_languages(source):
    texts = {"en": [[ENGLISH] * 3], "he": [[SCRIPTS["Hebrew"]] * 3]}
    sizes = fast([ENGLISH, SCRIPTS["Hebrew"]])
    result = volt.learn_languages(texts, candidates=source, temperature=5, **sizes)
    assert [row.code for row in result.languages.rows] == ["en", "he"]
    assert result.vocabulary.unreachable == []


def test_scripts_by_the_longest_token():
    draw = random.Random(1)
    words = ["".join(draw.choices(letters, k=4)) for letters in ("abcdef", "אבגדהו") * 200]
    both = [[ENGLISH, SCRIPTS["Hebrew"], *words] * 2]
    sizes = fast([ENGLISH])
    result = volt.learn_scripts(both, candidates="substring:300", encoding="longest", **sizes)
    assert result.vocabulary.encoding == "longest"
    assert result.vocabulary.unreachable == []
    tokenizer = Tokenizer(result.vocabulary)
    for text in (ENGLISH, SCRIPTS["Hebrew"]):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_candidates_without_parents_are_saved_but_not_loaded(tmp_path):
    found = volt.candidates(counted([ENGLISH], "metaspace"), candidates="substring:50")
    save_candidates(found, tmp_path / "candidates.tsv")
    lines = (tmp_path / "candidates.tsv").read_text().splitlines()
    assert len(lines) == len(found) + 2
    assert lines[-1].split("\t")[2:4] == ["-1", "-1"]
    with pytest.raises(InputError, match="no parents"):
        volt.load_candidates(tmp_path / "candidates.tsv")


# ------------------------------------------------------------------------------------- the registry


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_every_registered_source_proposes_for_each_of_its_encodings(
    name, pretokenizer, vocabulary_file
):
    source = SOURCES[name]
    assert source.name == name
    assert source.title
    assert source.meaning.endswith(".")
    counts = counted(TEXTS * 2, pretokenizer)
    choice = parse_source(f"{name}:80" if source.default_number else f"{name}:{vocabulary_file}")
    assert str(choice).startswith(f"{name}:")
    for encoding in source.encodings:
        found = propose(Proposal(counts, choice, encoding))
        assert found.encoding == encoding
        assert found.exact == (encoding in ("merge", "split"))
        assert found.rule == counts.rule
        assert len(found.tokens) == len(set(found.tokens)) == found.alphabet_size + found.merges
        assert found.merges >= 10
        assert found.frequency @ found.lengths == found.curve.characters
        assert sorted(found.ranking().tolist()) == list(range(found.alphabet_size, len(found)))
    default = propose(Proposal(counts, choice))
    assert default.encoding == source.encodings[0]
    for encoding in {"merge", "split", "longest", "unigram"} - {*source.encodings}:
        with pytest.raises(SettingsError, match=f"tokens of {name} have no parents"):
            propose(Proposal(counts, choice, encoding))


def test_the_registered_sources_can_be_named():
    assert list(SOURCES) == ["bpe", "unigram", "wordpiece", "substring", "file"]
    for name, source in SOURCES.items():
        if source.default_number is not None:
            assert parse_source(name) == SourceChoice(name, source.default_number)


def test_a_registered_source_is_used_without_further_ado():
    """A new file under sources/ is all that a new source needs."""

    def words(asked):
        return piece_candidates(
            asked, lambda spelled: sorted(asked.counts.words)[: asked.number], ("in order",)
        )

    SOURCES.register(replace(SOURCES["substring"], name="words", propose=words))
    try:
        (size,) = rows_with([ENGLISH], 4)
        result = volt.learn([[ENGLISH] * 3], candidates="words:8", size=size)
    finally:
        del SOURCES["words"]
    pieces = [token.text for token in result.vocabulary.tokens if token.kind == "piece"]
    assert len(pieces) == 4
    assert set(pieces) <= set(sorted(volt.count([[ENGLISH]]).words)[:8])
    assert (result.source, result.messages[0]) == ("words", "in order")
    with pytest.raises(SettingsError, match=r"^`candidates` is bpe:N"):
        parse_source("words:8")
