"""From text to a vocabulary: the result agrees with itself, with slow twins, and with its files."""

import json
import os
import random
import re
import socket
import subprocess
import sys
from datetime import date
from itertools import pairwise, repeat
from pathlib import Path
from string import ascii_letters, digits

import numpy as np
import pytest

import volt
from volt import reference
from volt.base.errors import InputError, SettingsError, TransportError
from volt.base.manifest import MANIFEST
from volt.choosing.criteria import CRITERIA
from volt.counting.marks import BYTE_LETTERS
from volt.proposing.base import token_set
from volt.proposing.tokens import Token
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import measure
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary
from volt.tokenizing.volt_json import DOCUMENT_FORMAT, FORMAT_VERSION, load_vocabulary

PRETOKENIZERS = ["whitespace", "metaspace", "byte-level"]
ARTIFACTS = ["choices.json", "curve.csv", "signature.txt", "volt.json"]
REPORT = ["report.html", "report.json"]


def made_up_text(seed=1, lines=350):
    """Lines in two made-up languages, with a Zipf-like tail, numbers, marks and other scripts."""
    generator = random.Random(seed)
    soft = [a + b for a in "bdfgklmnprst" for b in "aeiou"] + ["ing", "er", "é"]
    hard = [a + b for a in ["k", "sch", "t", "ß", "рт", "л"] for b in ["a", "ü", "o", "и"]]
    types = [
        "".join(generator.choices(part, k=generator.randint(1, 4)))
        for part in (soft, hard)
        for _ in range(250)
    ]
    types += ["1234", "42", "日本語", "…", "don't", "👩‍🚀", "(x)"]

    def line():
        words = (types[int(len(types) * generator.random() ** 2.5)] for _ in range(7))
        return " ".join(words) + generator.choice([".", "!", " ,", "  "])

    return [line() for _ in range(lines)]


TEXT = made_up_text()
MORE_TEXT = [line for seed in range(3, 8) for line in made_up_text(seed, 300)]
FIRST = {"whitespace": 61, "metaspace": 305, "byte-level": 260}
"""Rows without merges: special tokens, bytes and the characters of the text."""
OPTIONS = {"sizes": "365:605:60", "merges": 400}


def rows(pretokenizer, *added):
    """Sizes with so many tokens besides special tokens, bytes and characters."""
    return [FIRST[pretokenizer] + number for number in added]


def learned(text=TEXT, **options):
    pretokenizer = options.get("pretokenizer", "metaspace")
    sizes = rows(pretokenizer if pretokenizer in FIRST else "metaspace", *range(60, 301, 60))
    return volt.learn([text], **(OPTIONS | {"sizes": sizes} | options))


def artifacts(folder):
    assert sorted(path.name for path in Path(folder).iterdir()) == sorted(
        [MANIFEST, *ARTIFACTS, *REPORT]
    )
    return {name: Path(folder, name).read_bytes() for name in ARTIFACTS}


def slow_frequencies(vocabulary, counts):
    """Encode every word type by the slow twin."""
    visible, found = set(vocabulary.texts), dict.fromkeys(vocabulary.texts, 0)
    for word, count in counts.items():
        nodes = reference.encode.spell_known(word, vocabulary)
        for node in reference.encode.merge_symbols(nodes, vocabulary, repeat(False)):
            for token in reference.encode.split(node, visible):
                found[token] += count
    return found


def characters_of(vocabulary, token):
    """How many characters of text a character or merged token stands for; bytes if byte-level."""
    text = vocabulary.plain_text(token.text)
    return len(text) if vocabulary.rule.pretokenizer == "byte-level" else len(text.decode())


# ---------------------------------------------------------------------- a result agrees with itself


def build_vocabulary_of(result, chosen):
    """Of other candidates, everything else as in the result."""
    old = result.vocabulary
    return build_vocabulary(
        result.candidates, chosen, merge_rule=old.merge_rule, unknown=old.unknown,
        special=old.of_kind("special"), symbols=old.of_kind("symbol"),
    )  # fmt: skip


def assert_consistent(result):
    """All that must hold between the parts of a result, whatever the settings."""
    vocabulary, found, counts = result.vocabulary, result.candidates, result.counts
    split = vocabulary.encoding == "split"

    # Tokens: unique, in the order of the docs, parents before children, closed under parents.
    texts = vocabulary.texts
    assert len(set(texts)) == len(texts)
    kinds = [token.kind for token in vocabulary.tokens]
    order = ["special", "symbol", "byte", "character", "merged"]
    assert [order.index(kind) for kind in kinds] == sorted(order.index(kind) for kind in kinds)
    pool = vocabulary.pool
    for number, token in enumerate(pool):
        if token.kind == "merged":
            assert all(split or parent < number for parent in token.parents)
            assert "".join(pool[parent].text for parent in token.parents) == token.text
    assert not (vocabulary.hidden and not split)
    assert not (vocabulary.scaffolds and split)
    ranks = [token.rank for token in vocabulary.tokens if token.kind == "merged"]
    assert all(a < b for a, b in pairwise(ranks))
    alphabet = [found.tokens[t] for t in range(found.alphabet_size) if t != found.unknown]
    assert vocabulary.of_kind("character") == alphabet

    # What was chosen: its closure and its overlap with BPE of the same size.
    chosen = {t.text for t in vocabulary.tokens if t.kind == "merged" and not t.scaffold}
    closed = {*range(found.alphabet_size), *map(found.tokens.index, chosen)}
    for token in sorted(range(found.alphabet_size, len(found)), reverse=True):
        if token in closed:
            closed |= {*found.parents[token].tolist()}
    fixed = len(vocabulary.of_kind("special", "symbol", "byte"))
    assert found.fixed_rows == fixed
    needed = len(chosen) + found.alphabet_size if split else len(closed)
    assert result.choice.size == len(vocabulary) == fixed + needed - (found.unknown is not None)
    if split:
        last = max(closed)
        assert [t.text for t in vocabulary.hidden] == [
            text for text in found.tokens[found.alphabet_size : last + 1] if text not in chosen
        ]
    else:
        assert {found.tokens[t] for t in closed - {found.unknown}} == {
            t.text for t in pool if t.kind in ("character", "merged")
        }
    bpe = set(found.tokens[found.alphabet_size : found.alphabet_size + len(chosen)])
    if chosen:
        assert result.overlap == pytest.approx(len(chosen & bpe) / len(chosen))
    else:
        assert result.overlap is None

    # Frequencies are measured: the twin encodes the words, and nothing of the text is lost.
    assert {t.text: t.frequency for t in vocabulary.tokens} == slow_frequencies(vocabulary, counts)
    spelled = [t for t in vocabulary.tokens if t.kind in ("character", "merged")]
    covered = sum(t.frequency * characters_of(vocabulary, t) for t in spelled)
    if found.unknown is None:
        assert covered == found.curve.characters
    else:
        lost = int(found.alphabet_counts[found.unknown])
        assert covered == found.curve.characters - lost

    # The same by the tokenizer, over words.
    ids, offsets = Tokenizer(vocabulary).encode_words(counts)
    weights = np.repeat(counts.counts, np.diff(offsets).astype(np.int64))
    totals = np.bincount(ids, weights.astype(np.float64), len(vocabulary))
    assert totals.tolist() == [token.frequency for token in vocabulary.tokens]

    # Steps and choices.
    assert all(solution.converged for solution in result.solutions)
    assert [choice.criterion for choice in result.choices] == list(CRITERIA)
    slow = reference.curve.muv([s.s for s in result.steps], [s.entropy for s in result.steps])
    assert [step.muv for step in result.steps[1:]] == pytest.approx(slow, rel=1e-12)
    assert result.steps[0].muv is None
    for step in result.steps:
        assert found.alphabet_size < step.s <= len(found)
        assert step.size == len(build_vocabulary_of(result, step.kept))
    muv = next(one for one in result.choices if one.criterion == "muv")
    best = max(result.steps[1:], key=lambda step: step.muv)
    assert (muv.size, muv.value) == (best.size, pytest.approx(best.muv))
    assert json.loads(json.dumps(result.summary(), allow_nan=False))["messages"] == result.messages


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("encoding", ["merge", "split"])
@pytest.mark.parametrize("criterion", ["auto", "heldout", "muv", "mdl", "renyi", "zipf", "knee"])
def test_every_criterion_encoding_and_pretokenizer(pretokenizer, encoding, criterion):
    result = learned(
        pretokenizer=pretokenizer, encoding=encoding, criterion=criterion, for_model="1M:8"
    )
    assert_consistent(result)
    vocabulary, found = result.vocabulary, result.candidates
    assert result.choice.criterion == result.choice.verdict.criterion == criterion
    assert result.choice.size == result.choice.verdict.size == len(vocabulary)
    chosen = sum(t.kind == "merged" and not t.scaffold for t in vocabulary.tokens)
    if criterion == "muv":
        # S_t tokens, less those that occur nowhere at that size.
        step = next(step for step in result.steps if step.size == result.choice.size)
        assert result.choice.step is step
        assert chosen == (step.kept >= found.alphabet_size).sum()
        assert chosen <= step.s - found.alphabet_size
        assert step.dropped == 0
        assert step.size == found.fixed_rows + found.alphabet_size + chosen + vocabulary.scaffolds
    else:
        assert chosen == result.choice.size - found.fixed_rows - found.alphabet_size
        assert vocabulary.scaffolds == len(vocabulary.hidden) == 0


def test_a_symbol_may_not_be_a_token_even_a_hidden_one():
    options = {"encoding": "split", "criterion": "muv"}
    hidden = learned(**options).vocabulary.hidden[0].text
    with pytest.raises(SettingsError, match=f"two tokens are both '{hidden}'"):
        learned(symbols=[hidden], **options)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("encoding", ["merge", "split"])
@pytest.mark.parametrize("rank", ["merge", "frequency", None])
def test_a_fixed_size_is_the_size_of_the_vocabulary(pretokenizer, encoding, rank):
    first = FIRST[pretokenizer]
    for size in (first, first + 1, first + 2, first + 137, first + 399, first + 400):
        result = learned(pretokenizer=pretokenizer, encoding=encoding, rank=rank, size=size)
        if size == first + 137:
            assert_consistent(result)
        assert (result.choice.criterion, result.choice.verdict) == ("size", None)
        assert result.choice.size == len(result.vocabulary) == size
        assert f"|size:{size}|" in result.signature
        if rank != "frequency":
            assert result.vocabulary.scaffolds == len(result.vocabulary.hidden) == 0
        elif size == first + 137:
            assert max(result.vocabulary.scaffolds, len(result.vocabulary.hidden)) > 0
    for size in (first - 1, first + 401):
        with pytest.raises((SettingsError, InputError), match=f"`size` {size:,}"):
            learned(pretokenizer=pretokenizer, encoding=encoding, rank=rank, size=size)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("encoding", ["merge", "split"])
@pytest.mark.parametrize("rank", ["merge", "frequency"])
def test_a_size_may_be_written_in_thousands(pretokenizer, encoding, rank):
    options = {"pretokenizer": pretokenizer, "encoding": encoding, "rank": rank, "merges": 3000}
    counts = volt.count([MORE_TEXT], pretokenizer=options.pop("pretokenizer"))
    result = volt.learn(counts, size="2k", **options)
    assert result.choice.size == len(result.vocabulary) == 2000
    assert len(volt.learn(counts, size="2K", **options).vocabulary) == 2000
    same = volt.learn(counts, size=2000, **options).vocabulary
    assert same.to_json() == result.vocabulary.to_json()
    for size in ("1.2k", "2 thousand", "k", "-1k", 2.5):
        with pytest.raises(SettingsError, match="`size` must be a whole number such as 32000 or"):
            volt.learn(counts, size=size, **options)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize(
    ("source", "encoding"),
    [("unigram", "unigram"), ("wordpiece", "longest"), ("substring", "unigram"),
     ("substring", "longest")],
)  # fmt: skip
def test_a_fixed_size_of_tokens_that_are_looked_up(pretokenizer, source, encoding):
    options = {"pretokenizer": pretokenizer, "encoding": encoding, "candidates": f"{source}:600",
               "sizes": rows(pretokenizer, 60, 120, 180)}  # fmt: skip
    most = 0
    for added in (60, 61, 137):
        size = FIRST[pretokenizer] + added
        result = volt.learn([TEXT], size=size, **options)
        assert result.choice.size == len(result.vocabulary) == size
        most = len(result.candidates) + result.candidates.fixed_rows
    assert len(volt.learn([TEXT], size=most, **options).vocabulary) == most
    with pytest.raises(InputError, match=f"`size` {most + 1:,} is more than the candidates"):
        volt.learn([TEXT], size=most + 1, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"special": ["<unk>"], "pretokenizer": "whitespace"},
        {"special": [], "symbols": ["<2de>", "<2en>", "<2fr>"]},
        {"coverage": 0.97},
        {"coverage": 0.97, "unknown": "unk"},
        {"coverage": 0.97, "pretokenizer": "whitespace", "rank": "frequency"},
        {"coverage": 0.97, "candidates": "unigram:600", "unknown": "unk"},
    ],
)
def test_a_fixed_size_counts_special_tokens_symbols_bytes_and_characters(options):
    result = learned(size=319, **options)
    assert result.choice.size == len(result.vocabulary) == 319
    assert result.curve.size[0] == 319 - sum(
        token.kind in ("merged", "piece") for token in result.vocabulary.tokens
    )


def test_the_frequency_criterion_and_a_text_where_nothing_meets_it():
    # 62 letters at the end of a word and 6 before it. Five merges are seen often, the sixth is not:
    # all of five are enough, five of six are not.
    often = [" ".join(ascii_letters + digits), "th he an or if"] * 150 + ["xq"] * 99
    result = learned(often, sizes="73:77:1", criterion="frequency", pretokenizer="whitespace")
    assert_consistent(result)
    assert (result.candidates.alphabet_size, result.candidates.merges) == (68, 6)
    assert (result.choice.size, result.choice.verdict.value) == (4 + 68 + 5, 1.0)
    with pytest.raises(
        InputError, match=r"frequency chooses no size .*no size meets it.*give the `size`"
    ):
        learned(TEXT[:20], sizes="310:325:5", criterion="frequency")


def test_special_tokens_symbols_coverage_and_unknown_characters():
    for options in (
        {"coverage": 0.97},
        {"coverage": 0.97, "unknown": "unk"},
        {"coverage": 0.97, "pretokenizer": "whitespace", "special": ["<unk>"]},
        {"special": [], "symbols": ["<2de>", "<2en>"]},
    ):
        result = learned(**options)
        assert_consistent(result)
        vocabulary = result.vocabulary
        special = options.get("special", ["<pad>", "<s>", "</s>", "<unk>"])
        assert vocabulary.texts[: len(special)] == special
        if "coverage" in options:
            assert result.candidates.left_out > 0
        if vocabulary.unknown == "unk":
            lost = result.candidates.alphabet_counts[result.candidates.unknown]
            assert vocabulary.tokens[vocabulary.unknown_id].frequency == lost
    assert vocabulary.of_kind("symbol") == ["<2de>", "<2en>"]
    assert len(vocabulary.of_kind("byte")) == 256


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"special": ["<|endoftext|>"]}, "`eos='<|endoftext|>'`"),
        ({"special": ["<pad>"]}, "`eos`"),
        ({"special": ["<|endoftext|>"], "eos": "<|endoftext|>"}, None),
        ({"special": []}, None),
        ({}, None),
        ({"special": ["<|endoftext|>"], "pretokenizer": "metaspace"}, None),
    ],
)
def test_a_language_model_without_eos_is_told(options, named):
    """`volt encode --as bin` needs one, hours later."""
    result = volt.learn([TEXT], size=320, splits=1, **{"pretokenizer": "byte-level"} | options)
    told = [one for one in result.messages if one.startswith("no eos")]
    said = "no eos: token files have one after each document; name it with "
    assert told == ([said + named] if named else [])


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("length", ["types", "occurrences"])
def test_entropy_of_a_step_is_that_of_its_mass(epsilon, length):
    """Eq. 2 over the kept tokens. At epsilon 0 the mass is what push-down says."""
    result = learned(epsilon=epsilon, length=length)
    found = result.candidates
    ranking = found.ranking("frequency")
    for step in result.steps:
        frequency = found.push_down(token_set(found, ranking[: step.s - found.alphabet_size]))
        assert np.array_equal(step.tokens, np.flatnonzero(frequency))
        asked = frequency[step.tokens] * found.lengths[step.tokens]
        mass = step.solution.token_mass
        off = np.abs(mass * asked.sum() / asked - 1)
        assert off.max() <= epsilon + 1e-8
        assert (off.max() > 1e-3) == (epsilon > 0)
        assert step.solution.moved == pytest.approx((off * asked).sum() / asked.sum() / 2, abs=1e-8)
        weights = dict(enumerate((mass / found.lengths[step.tokens]).tolist()))
        lengths = dict(enumerate(found.lengths[step.tokens].tolist()))
        slow = reference.curve.entropy_per_length(weights, lengths, length)
        assert step.entropy == pytest.approx(slow, rel=1e-9)


def test_a_threshold_that_drops_tokens_says_how_many():
    result = learned(epsilon=0.4, threshold=0.7, gamma=0.05)
    assert_consistent(result)
    step = max(result.steps, key=lambda step: step.dropped)
    assert step.dropped > 0
    assert len(step.kept) + step.dropped == len(step.tokens)
    asked = step.solution.problem.token_marginal
    below = step.solution.token_mass < 0.7 * asked * (1 - 1e-6)
    assert step.dropped >= below.sum() > 0
    rows = result.summary()["steps"]
    assert [row["dropped"] for row in rows] == [step.dropped for step in result.steps]


def test_split_under_the_pairs_rule_has_the_frequencies_of_push_down():
    for pretokenizer in PRETOKENIZERS:
        result = learned(
            pretokenizer=pretokenizer, encoding="split", merge_rule="pairs", criterion="muv"
        )
        found = result.candidates
        ranking = found.ranking("frequency")
        allowed = result.choice.step.s - found.alphabet_size
        expected = found.push_down(token_set(found, ranking[:allowed]))
        named = {t: f for t, f in zip(found.tokens, expected.tolist(), strict=True) if f}
        measured = {t.text: t.frequency for t in result.vocabulary.tokens if t.frequency}
        assert measured == named


def test_plain_bpe_has_the_frequencies_of_the_curve():
    result = learned(criterion="knee", pretokenizer="whitespace")
    row = result.curve.at_size(result.choice.size)
    assert result.curve.size[row] == result.choice.size
    frequencies = [token.frequency for token in result.vocabulary.tokens]
    assert sum(frequencies) == result.curve.tokens[row]
    assert sum(f > 0 for f in frequencies) == result.curve.types[row]
    assert result.overlap == 1.0


def slow_unreachable(vocabulary):
    pool, visible = vocabulary.pool, set(vocabulary.texts)

    def leaves(number):
        token = pool[number]
        if token.parents is None:
            return [reference.encode.Node(token.text)]
        return leaves(token.parents[0]) + leaves(token.parents[1])

    found = []
    for number, token in enumerate(vocabulary.tokens):
        if token.kind in ("character", "merged"):
            nodes = reference.encode.merge_symbols(leaves(number), vocabulary, repeat(False))
            if [t for node in nodes for t in reference.encode.split(node, visible)] != [token.text]:
                found.append(number)
    return found


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("merge_rule", ["pairs", "concat"])
def test_what_is_learned_is_reachable(pretokenizer, merge_rule):
    # Few letters, so that a token can be reached by other splits than its own.
    generator = random.Random(5)
    words = ["".join(generator.choices("aab", k=generator.randint(1, 9))) for _ in range(200)]
    text = [
        " ".join(words[int(200 * generator.random() ** 2)] for _ in range(8)) for _ in range(60)
    ]
    first = volt.candidates([text], pretokenizer=pretokenizer, merges=0).curve.size[0]
    sizes = range(first + 20, first + 81, 20)
    result = learned(text, pretokenizer=pretokenizer, merge_rule=merge_rule, sizes=sizes)
    assert_consistent(result)
    assert result.vocabulary.unreachable == slow_unreachable(result.vocabulary) == []


@pytest.mark.parametrize(
    ("pretokenizer", "final"),
    [("whitespace", ""), ("whitespace", "</w>"), ("metaspace", ""), ("byte-level", "")],
)
@pytest.mark.parametrize("merge_rule", ["pairs", "concat"])
def test_a_token_that_its_own_merges_do_not_reach_is_listed(pretokenizer, merge_rule, final):
    """`b c` merges first, and nothing is made of `a bc d`: `abcd` is never reached. No text teaches
    such merges; other people's vocabularies may have them."""
    letters = (
        [chr(c) for c in sorted(BYTE_LETTERS.values())] if pretokenizer == "byte-level" else []
    )
    letters = letters or ["a", "b", "c", "d" + final]
    tokens = [Token("<unk>", "special"), *(Token(letter, "character") for letter in letters)]

    def merge(left, right):
        ids = {token.text: number for number, token in enumerate(tokens)}
        rank = len(tokens) - len(letters)
        tokens.append(Token(left + right, "merged", (ids[left], ids[right]), rank))

    for left, right in (("b", "c"), ("a", "b"), ("c", "d" + final), ("ab", "cd" + final)):
        merge(left, right)
    vocabulary = Vocabulary(
        volt.WordRule(pretokenizer), tokens, merge_rule=merge_rule,
        unknown="byte" if pretokenizer == "byte-level" else "unk",
    )  # fmt: skip
    counts = volt.count([["abcd"]], pretokenizer=pretokenizer)
    measured = measure(vocabulary, counts, 1).vocabulary
    assert [tokens[number].text for number in measured.unreachable] == ["abcd" + final]
    assert slow_unreachable(measured) == measured.unreachable


# -------------------------------------------------------------------------------- on disk, and back


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("encoding", ["merge", "split"])
def test_saved_and_loaded_it_is_the_same_and_passes_its_own_test(tmp_path, pretokenizer, encoding):
    result = learned(pretokenizer=pretokenizer, encoding=encoding, symbols=["<2de>"])
    result.save(tmp_path / "out")
    loaded = load_vocabulary(tmp_path / "out")
    saved = result.vocabulary
    for name in Vocabulary.__dataclass_fields__:
        assert getattr(loaded, name) == getattr(saved, name), name
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "out" / "volt.json").read_bytes()

    assert len(loaded.self_test) >= 24
    tokenizer = Tokenizer(loaded)
    assert [tokenizer.encode(text) for text, _ in loaded.self_test] == [
        ids for _, ids in loaded.self_test
    ]
    written = (tmp_path / "out" / "volt.json").read_text(encoding="utf-8")
    whole = pretokenizer.startswith("byte-level")  # it reads documents
    assert json.loads(written)["format"] == (DOCUMENT_FORMAT if whole else FORMAT_VERSION)
    assert len(written.splitlines()) > len(saved), "a token a line"


def test_the_folder_holds_the_curve_the_choices_and_the_signature(tmp_path):
    result = learned()
    result.save(tmp_path / "out")
    files = artifacts(tmp_path / "out")
    assert json.loads(files["choices.json"]) == json.loads(json.dumps(result.summary()))
    assert files["signature.txt"].decode() == result.signature + "\n"
    rows = files["curve.csv"].decode().splitlines()
    sizes = [int(row.split(",")[0]) for row in rows[1:]]
    assert sizes == sorted(set(sizes))
    wanted = {step.size for step in result.steps}
    wanted |= {c.size for c in result.choices if c.size is not None}
    assert wanted <= set(sizes)
    assert {sizes[0], sizes[-1]} == {result.curve.size[0], result.curve.size[-1]}


def test_the_curve_file_has_every_size_that_was_tried_or_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr(volt.result, "CURVE_ROWS", 4)
    result = learned()
    rows = volt.result.curve_rows(result.curve, result.choices, result.steps)
    result.curve.save(tmp_path / "curve.csv", rows)
    rows = (tmp_path / "curve.csv").read_text().splitlines()[1:]
    sizes = {int(row.split(",")[0]) for row in rows}
    assert len(sizes) < 20
    assert {step.size for step in result.steps} <= sizes
    assert {c.size for c in result.choices if c.size is not None} <= sizes


def test_the_signature_names_the_settings():
    result = learned(criterion="mdl", gamma=0.5, merges=300, rank="merge")
    assert re.fullmatch(r"volt(\|[a-z]+:[^|\s]+)+", result.signature)
    parts = dict(part.split(":", 1) for part in result.signature.split("|")[1:])
    expected = {
        "cand": "bpe-300",
        "crit": "mdl",
        "gamma": "0.5",
        "rank": "merge",
        "s": "105:345:60",
        "size": str(len(result.vocabulary)),
        "corpus": result.counts.digest(),
        "v": volt.__version__,
    }
    assert {name: parts[name] for name in expected} == expected


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_the_bytes_are_the_same_for_any_number_of_threads(tmp_path, pretokenizer):
    for threads in (1, 2, 5):
        result = learned(threads=threads, pretokenizer=pretokenizer)
        result.save(tmp_path / str(threads))
    assert artifacts(tmp_path / "1") == artifacts(tmp_path / "2") == artifacts(tmp_path / "5")


def write_parts(folder, lines, seed, parts):
    generator = random.Random(seed)
    lines = generator.sample(lines, len(lines))
    cuts = sorted(generator.sample(range(len(lines)), parts - 1))
    paths = []
    for number, (a, b) in enumerate(pairwise([0, *cuts, len(lines)])):
        paths.append(folder / f"peculiar-name-{seed}-{number}.text")
        paths[-1].write_text("".join(f"{line}\n" for line in lines[a:b]), encoding="utf-8")
    return paths


def test_the_bytes_are_the_same_however_the_text_is_split_into_files(tmp_path):
    saved = []
    for seed, parts in enumerate((1, 2, 7)):
        result = volt.learn(write_parts(tmp_path, TEXT, seed, parts), **OPTIONS)
        result.save(tmp_path / f"out{seed}")
        saved.append(artifacts(tmp_path / f"out{seed}"))
    learned().save(tmp_path / "lines")
    volt.learn(volt.count([TEXT]), **OPTIONS).save(tmp_path / "counted")
    assert saved[0] == saved[1] == saved[2]
    assert saved[0] == artifacts(tmp_path / "lines") == artifacts(tmp_path / "counted")


def test_the_bytes_do_not_depend_on_the_hash_seed_and_tell_nothing_of_where_they_were_made(
    tmp_path,
):
    (path,) = write_parts(tmp_path, TEXT, 0, 1)
    saved = []
    for seed in ("0", "4321"):
        script = (
            "import sys, volt; volt.learn([sys.argv[1]], sizes='365:605:60', "
            "merges=400).save(sys.argv[2])"
        )
        subprocess.run(
            [sys.executable, "-c", script, path, tmp_path / f"out{seed}"],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
        )
        saved.append(artifacts(tmp_path / f"out{seed}"))
    assert saved[0] == saved[1]
    told = [str(tmp_path), tmp_path.name, path.name, path.stem, str(Path.home()), str(Path.cwd())]
    told += [date.today().isoformat()] + [n for n in [socket.gethostname()] if len(n) > 3]
    for name, data in saved[0].items():
        text = data.decode()
        assert [secret for secret in told if len(secret) > 3 and secret in text] == [], name
        assert not re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", text), name


def test_an_existing_folder_is_refused_without_force(tmp_path):
    first, second = learned(), learned(criterion="knee")
    out = tmp_path / "out"
    first.save(out)
    before = artifacts(out)
    with pytest.raises(SettingsError, match=r"out exists; use `force=True`"):
        second.save(out)
    assert artifacts(out) == before
    second.save(out, force=True)
    assert artifacts(out) != before
    second.save(tmp_path / "new" / "and" / "deep")
    assert artifacts(tmp_path / "new" / "and" / "deep") == artifacts(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "out"]


def test_an_empty_folder_is_used_and_a_foreign_one_never_replaced(tmp_path):
    result = learned()
    (tmp_path / "empty").mkdir()
    result.save(tmp_path / "empty")
    artifacts(tmp_path / "empty")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    for force in (False, True):
        with pytest.raises(SettingsError):
            result.save(foreign, force=force)
    with pytest.raises(SettingsError, match="is a file; name a folder"):
        result.save(foreign / "thesis.tex", force=True)
    with pytest.raises(InputError, match=r"cannot write .*thesis.tex/out"):
        result.save(foreign / "thesis.tex" / "out")
    assert (foreign / "thesis.tex").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "foreign"]


@pytest.mark.parametrize("name", [".", "", ".."])
def test_the_folder_one_is_in_is_refused(tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(SettingsError, match="the folder you are in"):
        learned().save(name, force=True)


def test_names_of_any_length_and_links(tmp_path):
    result = learned()
    result.save(tmp_path / ("x" * 250))
    with pytest.raises(InputError, match="File name too long"):
        result.save(tmp_path / ("x" * 300))
    (tmp_path / "link").symlink_to(tmp_path / "there")
    for force in (False, True):
        result.save(tmp_path / "link", force=force)
    assert (tmp_path / "link").is_symlink()
    artifacts(tmp_path / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "there", "x" * 250]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt(), ValueError()])
def test_a_failure_while_writing_leaves_the_old_folder_as_it_was(tmp_path, monkeypatch, error):
    result = learned()
    out = tmp_path / "out"
    result.save(out)
    before = artifacts(out)

    def fail(*arguments):
        raise error

    monkeypatch.setattr(volt.Curve, "save", fail)
    expected = InputError if isinstance(error, OSError) else type(error)
    for folder in (out, tmp_path / "new"):
        with pytest.raises(expected):
            result.save(folder, force=True)
    assert artifacts(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# --------------------------------------------------------------------------------- degenerate input


def word_counts(words, pretokenizer="whitespace"):
    data = [word.encode() for word in words]
    return volt.WordCounts(
        rule=volt.WordRule(pretokenizer),
        text=np.frombuffer(b"".join(data), np.uint8),
        offsets=np.cumsum([0, *map(len, data)]).astype(np.uint64),
        counts=np.array(list(words.values()), np.uint64),
    )


@pytest.mark.parametrize("lines", [[], [""], ["", "  ", "\t"]])
def test_no_word_at_all_is_said(lines):
    with pytest.raises(InputError, match="the input has no words"):
        volt.learn([lines], pretokenizer="whitespace")


@pytest.mark.parametrize("lines", [["a"] * 9, ["hello"], ["a b c d e f"]])
def test_nothing_to_merge_is_said(lines):
    with pytest.raises(InputError, match=r"gives 0 candidates, too few for two sizes"):
        volt.learn([lines], pretokenizer="whitespace", profile="paper")
    result = volt.learn([lines], pretokenizer="whitespace")
    assert {token.kind for token in result.vocabulary.tokens} == {"special", "character"}
    told = "the paper's transport was not solved: the text gives 0 candidates, too few for two"
    assert any(message.startswith(told) for message in result.summary()["paper_notes"])
    assert result.messages == [] or not result.messages[0].startswith(told)


@pytest.mark.parametrize(
    "words",
    [
        {"hello": 10},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 3},
        {"abab": 2, "cdcd": 2, "efef": 2},
        {f"w{n}": 1 for n in range(300)},
        {"lowest": 10**12, "lower": 10**9, "newest": 10**6, "new": 1000, "wide": 2, "wider": 1},
        {"ab" * 20: 10**12, "ba" * 20: 1, "b": 10**12},
    ],
    ids=["one word", "one letter", "equal counts", "all once", "1 to 1e12", "huge and rare"],
)
@pytest.mark.parametrize("encoding", ["merge", "split"])
def test_degenerate_words_give_a_sound_vocabulary(words, encoding):
    result = volt.learn(word_counts(words), encoding=encoding, min_frequency=1)
    assert_consistent(result)
    told = "transport is solved at sizes from"
    assert any(told in message for message in result.choice.paper_notes)
    # Only where the paper decides is it a note of its own.
    assert not any(told in message for message in result.messages)
    paper = volt.learn(word_counts(words), encoding=encoding, min_frequency=1, profile="paper")
    assert any(told in message for message in paper.messages)
    assert paper.choice.paper_notes == ()


def test_one_character_with_mass_alone():
    result = volt.learn(word_counts({"aaaa": 5, "aa": 3}, "metaspace"), min_frequency=1)
    assert_consistent(result)
    for step in result.steps:
        assert np.isfinite(step.entropy)


def test_sizes_beyond_the_candidates_are_left_out_or_scaled_down():
    result = learned(sizes="300:1000:100")
    # 260 rows are special tokens and bytes; S has the 45 characters and 400 candidates.
    assert [step.s for step in result.steps] == [140, 240, 340, 440]
    assert (
        "transport is solved at sizes from 400 to 700: the text has 45 characters and gives 400 "
        "other candidates" in result.messages
    )
    result = learned(sizes="1305:10305:1000")
    assert [step.s for step in result.steps] == list(range(85, 446, 40))
    assert (
        "transport is solved at sizes from 345 to 705, not 1,305 to 10,305: the text gives 400 "
        "candidates" in result.messages
    )
    result = learned(sizes=[600, 400, 500, 400])
    assert [step.s for step in result.steps] == [140, 240, 340]
    assert "|s:140:340:100|" in result.signature
    assert not any("S" in message.split() for message in result.messages[:-1])
    assert "|s:90,120,340|" in learned(sizes="350,380,600").signature
    # The paper's S counts the alphabet, and no special tokens or bytes.
    result = learned(sizes=None)
    paper = range(2000, 10001, 1000)  # the first multiple of 1,000 above 45 + 1,000
    assert [step.s for step in result.steps] == [45 + (s - 45) * 400 // (10000 - 45) for s in paper]


def test_sizes_are_those_of_the_paper_and_do_not_limit_the_answer():
    def notes(**options):
        return [one for one in learned(**options).messages if "`ladder`" in one]

    assert ["do not limit the answer" in one for one in notes(criterion="auto")] == [True]
    assert notes(criterion="muv") == notes(sizes=None, criterion="auto") == []


def test_two_languages_are_a_pair_in_the_papers_setting():
    """Named by language, two files gave another answer 'as published' than without a name."""
    texts = {code: [TEXT] for code in ("de", "en", "fr")}
    pair = volt.learn({code: texts[code] for code in ("de", "en")})
    assert pair.summary()["paper_sizes"] == "pair"
    assert volt.learn(texts).summary()["paper_sizes"] == "languages"
    both = volt.learn({code: texts[code] for code in ("de", "en")}, multilingual=True)
    assert both.summary()["paper_sizes"] == "languages"


def test_fewer_candidates_than_asked_for_are_said():
    result = volt.learn([TEXT], sizes="365:605:60", candidates="bpe:90k")
    assert f"the text gives {result.candidates.merges:,} merges, not 90,000" in result.messages
    assert not any("merges, not" in message for message in learned().messages)
    # That there are fewer than the default is no news.
    assert not any("merges, not" in message for message in volt.learn([TEXT]).messages)


def test_a_choice_at_the_edge_is_said_in_words():
    result = learned(sizes=rows("whitespace", 10, 300), pretokenizer="whitespace", criterion="muv")
    assert result.choice.verdict.doubts
    assert result.messages[-1] == f"{result.choice.size:,}: {result.choice.verdict.doubts[-1]}"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"criterion": "bleu"}, SettingsError, "`criterion` must be one of auto, heldout, muv"),
        ({"rank": "size"}, SettingsError, "`rank` must be one of frequency, merge, not 'size'"),
        ({"length": "words"}, SettingsError, "`length` must be one of types, occurrences"),
        ({"encoding": "greedy"}, SettingsError, "`encoding` must be one of merge, split"),
        ({"merge_rule": "any"}, SettingsError, "`merge_rule` must be one of pairs, concat"),
        ({"unknown": "drop"}, SettingsError, "`unknown` must be one of byte, unk"),
        ({"pretokenizer": "words"}, SettingsError, "`pretokenizer` must be one of"),
        ({"size": 0}, SettingsError, "`size` must be a whole number .* at least 1, not 0"),
        ({"size": 100}, SettingsError, "no room for the .* special tokens, bytes and characters"),
        ({"size": 10**6}, InputError, "is more than the candidates .* use at most 705"),
        ({"sizes": "100"}, SettingsError, "`sizes` are two or more, not '100'"),
        ({"sizes": []}, SettingsError, "START:STOP:STEP"),
        ({"sizes": [0, 10]}, SettingsError, "START:STOP:STEP"),
        ({"sizes": ["few", "many"]}, SettingsError, "START:STOP:STEP or a list .* 'few,many'"),
        ({"merges": -1}, SettingsError, "`merges` must be .* from 0 to"),
        ({"bootstrap": 3}, SettingsError, "`bootstrap` was removed: use `splits`"),
        ({"model_width": 64}, SettingsError, "`model_width` was removed: use `for_model`, such as"),
        ({"for_model": "huge"}, SettingsError, "`for_model` .* or PARAMS:WIDTH"),
        ({"tolerance": -1}, SettingsError, "`tolerance` must be"),
        ({"multiple_of": 0}, SettingsError, "`multiple_of` must be .* at least 1"),
        ({"order": 7}, SettingsError, "`order` must be .* from 1 to 6"),
        ({"splits": 0}, SettingsError, "`splits` must be .* from 1 to 100"),
        ({"seed": -1}, SettingsError, "`seed` must be .* from 0 to"),
        ({"profile": "paper", "criterion": "mdl"}, SettingsError, "`profile` chooses by muv"),
        ({"threshold": -0.1}, SettingsError, "`threshold` must be a number of at least 0"),
        ({"threshold": 2.0}, SettingsError, "threshold 2 drops every token at 105"),
        ({"gamma": 0.0}, TransportError, "gamma must be a number above 0"),
        ({"epsilon": -1.0}, TransportError, "epsilon must be a number of at least 0"),
        ({"coverage": 0.0}, SettingsError, "`coverage` must be above 0"),
        ({"threads": 0}, SettingsError, "`threads` must be at least 1"),
        ({"special": ["<s>", "<s>"]}, SettingsError, "two tokens are both '<s>'"),
        ({"special": [""]}, SettingsError, "is empty"),
        ({"special": ["\ud800"]}, SettingsError, "lone surrogate"),
        ({"symbols": ["a"]}, SettingsError, "two tokens are both 'a'"),
        ({"unknown": "unk", "special": []}, SettingsError, "needs <unk> among the special tokens"),
        ({"unknown": "byte", "pretokenizer": "whitespace"}, SettingsError, "byte tokens need"),
        ({"unknown": "unk", "pretokenizer": "byte-level"}, SettingsError, "knows every character"),
        ({"colour": "red"}, SettingsError, "there is no option `colour`"),
    ],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused_in_words(options, error, words):
    with pytest.raises(error, match=words):
        learned(**options)


def test_counted_words_take_no_options_of_counting():
    counts = volt.count([TEXT])
    with pytest.raises(SettingsError, match="counted already: pretokenizer"):
        volt.learn(counts, pretokenizer="whitespace")
    with pytest.raises(InputError, match="no such file"):
        volt.learn("/nowhere/text")


# ------------------------------------------------------------------------------------------- search


def test_search_scores_bpe_at_the_sizes_asked_for():
    counts = volt.count([TEXT])
    for by in CRITERIA:
        result = volt.search(counts, by=by, sizes=[350, 400, 500, 600, 700])
        curve = result.candidates.curve
        rows = result.rows()
        assert [row["size"] for row in rows] == [350, 400, 500, 600, 700]
        assert [row["tokens"] for row in rows] == [
            curve.tokens[curve.at_size(row["size"])] for row in rows
        ]
        assert result.choice.criterion == by
        assert by in rows[0]
        if by == "muv":
            slow = reference.curve.muv(
                [row["size"] for row in rows], [row["entropy_types"] for row in rows]
            )
            assert [row["muv"] for row in rows[1:]] == pytest.approx(slow)
            assert result.choice.size == rows[1 + int(np.argmax(slow))]["size"]
        elif by == "auto":
            low, high = result.quality.range
            inside = [row for row in rows if low <= row["size"] <= high]
            assert result.choice.size == min(inside, key=lambda row: row[by])["size"]
        elif by != "frequency":
            best = min if by in ("mdl", "heldout") else max
            assert result.choice.size == best(rows, key=lambda row: row[by])["size"]


def test_search_reports_sizes_that_are_not_reached():
    result = volt.search([TEXT], sizes="400,500,1k,5", merges=300)
    assert result.left_out == [5, 1000]
    with pytest.raises(InputError, match=r"the text gives sizes .* name at least two"):
        volt.search([TEXT[:3]], sizes="1000:10000:1000")
    with pytest.raises(SettingsError, match="criterion must be one of"):
        volt.search([TEXT], by="bleu")
    with pytest.raises(SettingsError, match="START:STOP:STEP"):
        volt.search([TEXT], sizes=["few"])
