"""Transport that selects: against all sets, a linear program and a slow twin; on real text; and the
vocabularies that it makes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_array

import volt
from volt import _core, reference
from volt.base.errors import InputError, SettingsError
from volt.choosing.selection import (
    LOOSE,
    Selectable,
    SelectionProblem,
    selectable,
    solve_selection,
    walk,
)
from volt.choosing.size_problem import proposed
from volt.proposing.proposal import Proposal, propose
from volt.proposing.tokens import packed
from volt.report.answer import _beside_bpe, answer, bound_sentence
from volt.settings import LearnSettings

# --- small problems ---------------------------------------------------------------------------


@dataclass
class Small:
    """Words with counts, and candidates of two symbols or more."""

    words: dict[str, int]
    candidates: list[str]

    def problem(self, threads: int = 1) -> SelectionProblem:
        alphabet = sorted(set("".join(self.words)))
        keys = packed([one.encode() for one in [*alphabet, *self.candidates]])
        text, offsets = packed([word.encode() for word in self.words])
        counts = np.array([*self.words.values()], np.uint64)
        lattice = _core.selection_lattice(
            *keys, np.ones(len(keys[1]) - 1, np.uint8), len(alphabet), text, offsets, counts, 1, "",
            False, threads,
        )  # fmt: skip
        return SelectionProblem(SimpleNamespace(unit=1, alphabet_size=0), lattice)  # type: ignore[arg-type]

    def inside(self, tokens: set[str]) -> np.ndarray[Any, Any]:
        return np.array([one in tokens for one in self.candidates], np.uint8)

    def named(self, inside: np.ndarray[Any, Any]) -> set[str]:
        return {self.candidates[i] for i in np.flatnonzero(inside)}


def random_small(seed: int, candidates: int = 8, letters: str = "abc") -> Small:
    generator = np.random.default_rng(seed)
    made = {
        "".join(generator.choice([*letters], generator.integers(1, 8))): int(
            generator.integers(1, 30)
        )
        for _ in range(generator.integers(2, 9))
    }
    parts = sorted(
        {word[i:j] for word in made for i in range(len(word)) for j in range(i + 2, len(word) + 1)}
    )
    if not parts:
        return random_small(seed + 100_000, candidates, letters)
    chosen = generator.choice(parts, min(len(parts), candidates), replace=False).tolist()
    return Small(made, chosen)


def relaxed(small: Small, size: int) -> float:
    """The linear relaxation, solved by HiGHS: flow on an edge <= y of its token, sum of y <= K."""
    paths = [
        (word, [*((i, i + 1, "") for i in range(len(word))),
                *reference.selection.edges(word, small.candidates)])
        for word in small.words
    ]  # fmt: skip
    flows = sum(len(edges) for _, edges in paths)
    tokens = len(small.candidates)
    costs = np.zeros(flows + tokens)
    nodes = sum(len(word) + 1 for word in small.words)
    balance, supply = lil_array((nodes, flows + tokens)), np.zeros(nodes)
    limit = lil_array((flows + 1, flows + tokens))
    room = np.zeros(flows + 1)
    limit[flows, flows:], room[flows] = 1, size
    edge = node = 0
    for word, edges in paths:
        supply[node], supply[node + len(word)] = 1, -1
        for begin, end, token in edges:
            costs[edge] = small.words[word]
            balance[node + begin, edge] += 1
            balance[node + end, edge] -= 1
            if token:
                limit[edge, edge] = 1
                limit[edge, flows + small.candidates.index(token)] = -1
            edge += 1
        node += len(word) + 1
    found = linprog(
        costs, A_ub=limit.tocsr(), b_ub=room, A_eq=balance.tocsr(), b_eq=supply,
        bounds=[(0, None)] * flows + [(0, 1)] * tokens, method="highs",
    )  # fmt: skip
    assert found.success
    return float(found.fun)


def test_between_the_bound_and_the_best_of_all_sets() -> None:
    best, close = 0, 0
    for seed in range(300):
        small = random_small(seed)
        size = seed % (len(small.candidates) + 1)
        problem = small.problem()
        ours = solve_selection(problem, walk(problem), size)
        optimum = reference.selection.best(small.words, small.candidates, size)
        relaxation = relaxed(small, size)
        assert ours.bound is not None
        assert ours.bound <= math.ceil(relaxation - 1e-6) <= optimum <= ours.tokens, seed
        assert ours.inside.sum() == size
        assert reference.selection.total(small.words, small.named(ours.inside)) == ours.tokens
        best += ours.tokens <= optimum * 1.05
        close += ours.bound >= relaxation * 0.97
    assert best > 270  # a search that ignored its words would not be so near so often
    assert close > 250


@pytest.mark.parametrize("seed", range(40))
def test_search_is_its_slow_twin(seed: int) -> None:
    small = random_small(seed, 10, "ab" if seed % 2 else "abcd")
    generator = np.random.default_rng(seed)
    tokens = {one for one in small.candidates if generator.random() < 0.6}
    words, candidates, twin = small.words, small.candidates, reference.selection
    search = small.problem(1 + seed % 3).search(small.inside(tokens))
    assert search.total == twin.total(words, tokens)
    assert search.value == twin.value(words, candidates, tokens)
    losses, gains = search.losses(), search.gains()
    for number, token in enumerate(candidates):
        if token in tokens:
            assert losses[number] == twin.loss(words, candidates, tokens, token)
        else:
            exact = twin.loss(words, candidates, tokens | {token}, token)
            twice = any(len(twin.edges(word, {token})) > 1 for word in words)
            assert gains[number] <= exact if twice else gains[number] == exact
    removed, values = search.prune(len(tokens) // 2)
    assert [
        (candidates[t], value) for t, value in zip(removed.tolist(), values.tolist(), strict=True)
    ] == twin.prune(words, candidates, tokens, len(tokens) // 2)
    left = small.named(search.inside)
    assert search.total == twin.total(words, left)
    added, _ = search.grow(len(candidates))
    left |= {candidates[t] for t in added.tolist()}
    assert search.value == twin.value(words, candidates, left)


@pytest.mark.parametrize("seed", range(40))
def test_bound_is_its_slow_twin(seed: int) -> None:
    """D at the prices of every step, and never above the best of all sets."""
    small = random_small(seed, 7)
    size = 1 + seed % 4
    problem = small.problem(1 + seed % 2)
    search = problem.search(small.inside(set(small.candidates[:size])))
    bound = _core.SelectionBound(search, size)
    optimum = reference.selection.best(small.words, small.candidates, size)
    places = [
        (word, edge)
        for word in small.words
        for edge in reference.selection.edges(word, small.candidates)
    ]
    for length in (0.0, 500.0, 90.0, 2000.0, 10.0):
        prices = dict(zip(places, (bound.prices / _core.PRICE_UNIT).tolist(), strict=True))
        found, _ = bound.step(length, _core.WHOLE // 3)
        exact = reference.selection.dual(small.words, prices, size)
        assert found / _core.PRICE_UNIT == pytest.approx(exact, abs=1e-9)
        assert found / _core.PRICE_UNIT <= optimum


@pytest.mark.parametrize("pretokenizer", ["whitespace", "metaspace", "byte-level"])
def test_marks_and_bytes(pretokenizer: str) -> None:
    """The networks of the words have the edges that the encoder finds: marks and bytes too."""
    counts = volt.count([["ab abab ab xab", "tätä ab tät"]], pretokenizer=pretokenizer)
    found = proposed(counts, LearnSettings(select="transport", min_frequency=1), 1)
    assert isinstance(found, Selectable)
    generator = np.random.default_rng(0)
    for _ in range(20):
        inside = generator.random(len(found)) < 0.5
        inside[: found.alphabet_size] = True
        _, offsets = found.cut_words(inside, counts, 1, False)
        tokens = int((np.diff(offsets) * counts.counts).sum())
        assert found.problem.search(inside[found.alphabet_size :]).total == tokens


def test_the_same_for_any_number_of_threads() -> None:
    found = []
    for threads in (1, 2, 5):
        small = random_small(3, 12, "abcde")
        problem = small.problem(threads)
        solution = solve_selection(problem, walk(problem), 4)
        found.append((solution.inside.tolist(), solution.tokens, solution.bound, solution.steps))
    assert found[0] == found[1] == found[2]


def test_what_is_refused() -> None:
    for options in (
        {"ladder": "100,200"},
        {"profile": "paper"},
        {"rank": "merge"},
        {"sizes": "100,200"},
        {"merge_rule": "pairs"},
        {"criterion": "muv"},
        {"encoding": "merge"},
    ):
        with pytest.raises(SettingsError, match="select='merges'"):
            LearnSettings(select="transport", **options)  # type: ignore[arg-type]
    small = random_small(1)
    problem = small.problem()
    with pytest.raises(SettingsError, match="can't be selected"):
        solve_selection(problem, walk(problem), len(small.candidates) + 1)


def test_counts_that_are_too_large() -> None:
    counts = volt.count([["ab ab abc"]])
    large = replace(counts, counts=counts.counts * np.uint64(2**45))
    with pytest.raises(InputError, match="too large"):
        proposed(large, LearnSettings(select="transport"), 1)


# --- whole runs -------------------------------------------------------------------------------

SYLLABLES = ["an", "ber", "lo", "sti", "u", "weg", "ro"]


def made_word(line: int, place: int) -> str:
    generator = np.random.default_rng((line, place))
    return "".join(generator.choice(SYLLABLES, 1 + line * place % 4))


TEXT = [" ".join(made_word(line, place) for place in range(8)) for line in range(300)]


def test_learn_selects_exactly_the_size() -> None:
    result = volt.learn([TEXT], select="transport", size=330, splits=1)
    vocabulary, bound = result.vocabulary, result.summary()["bound"]
    assert len(vocabulary) == 330
    assert vocabulary.encoding == "unigram"
    assert not vocabulary.unreachable
    assert bound["tokens"] == sum(token.frequency for token in vocabulary.tokens)
    assert bound["least"] <= bound["tokens"]
    plain = volt.learn([TEXT], size=330, splits=1)
    assert bound["tokens"] < sum(token.frequency for token in plain.vocabulary.tokens)
    assert plain.summary()["bound"] is None
    selection = result.summary()["selection"]
    assert selection["one_less"] >= selection["one_more"] >= 0
    assert selection["mu"]["sizes"] == sorted(selection["mu"]["sizes"])
    assert selection["mu"]["mu"] == sorted(selection["mu"]["mu"], reverse=True)
    heldout = selection["heldout"]
    assert heldout["fewer_tokens"] == pytest.approx(1 - heldout["tokens"] / heldout["bpe_tokens"])
    names = [name for name, _ in answer(result.summary()).rows]
    assert {"bound", "mu", "held out"} <= set(names)
    assert "|sel:transport|" in result.signature


def test_scores_are_exact_and_prefer_fewer_tokens() -> None:
    result = volt.learn([TEXT], select="transport", size=320, splits=1)
    scores = np.array(
        [one.score for one in result.vocabulary.tokens if one.kind in ("character", "piece")]
    )
    assert np.array_equal(scores * 16, np.rint(scores * 16))
    assert np.array_equal(scores, scores.astype(np.float32))
    apart = scores.max() - scores.min()
    longest = max(len(result.tokenizer.encode(line)) for line in TEXT[:50])
    assert -scores.max() > apart  # more than two tokens can differ by
    assert longest * -scores.min() < 2**20
    selected = result.choice.selected
    assert selected is not None
    assert sum(len(result.tokenizer.encode(line)) for line in TEXT) == selected.solution.tokens


def test_auto_chooses_a_size_and_fills_it() -> None:
    result = volt.learn([TEXT], select="transport")
    assert result.choice.criterion == "auto"
    assert len(result.vocabulary) == result.choice.size
    assert result.choice.quality is not None
    assert result.choice.selected is not None


def test_other_sources_and_languages() -> None:
    by_substring = volt.learn([TEXT], select="transport", size=330, candidates="substring:500")
    by_bpe = volt.learn([TEXT], select="transport", size=330)
    assert by_substring.summary()["bound"]["least"] <= by_bpe.summary()["bound"]["tokens"]
    both = volt.learn(
        {"de": [TEXT[:150]], "en": [TEXT[150:]]}, select="transport", size=330, temperature=5
    )
    assert len(both.vocabulary) == 330
    assert both.summary()["bound"]["least"] <= both.summary()["bound"]["tokens"]


def test_nothing_to_select() -> None:
    """A text whose words are single characters has no candidates: every size is the smallest."""
    result = volt.learn([["a b c"]], select="transport", size=264)
    assert len(result.vocabulary) == 264
    assert result.summary()["bound"]["least"] == result.summary()["bound"]["tokens"]
    with pytest.raises(InputError, match="more than the candidates"):
        volt.learn([["a b c"]], select="transport", size=400)


def test_a_long_word() -> None:
    """The walk ends where even a token of thousands of characters is given up."""
    result = volt.learn(
        [["ab" * 2000 + " ab" * 9]], select="transport", size=270, max_word_length=5000
    )
    assert len(result.vocabulary) == 270


def test_the_same_bytes(tmp_path: Path) -> None:
    for threads in (1, 3):
        result = volt.learn([TEXT], select="transport", size=330, threads=threads)
        result.save(tmp_path / str(threads), report=False)
    for name in ("volt.json", "choices.json", "curve.csv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()


def test_sentence() -> None:
    found = {"bound": {"tokens": 1000, "least": 994, "gap": 0.006, "tight": True, "steps": 9}}
    assert bound_sentence(found) == (
        "uses 1,000 tokens on the training text; no vocabulary of this size made of these "
        "candidates can use fewer than 994 (0.60% less)"
    )
    found["bound"] |= {"least": 900, "gap": 0.1, "tight": LOOSE >= 0.1}
    assert "too far away" in str(bound_sentence(found))
    found["bound"] |= {"least": 1000, "gap": 0.0, "tight": True}
    assert str(bound_sentence(found)).endswith("(this is the best one)")
    assert bound_sentence({"bound": None}) is None


@pytest.mark.parametrize(
    ("tokens", "bits", "said"),
    [
        (0.03, 0.002, "3.00% fewer tokens than BPE of the same size on held-out text, and 0.20% "
                      "fewer bits per byte: selection helps this text"),
        (0.03, -0.0002, "0.02% more bits per byte: selection makes this text shorter, and as easy"),
        (0.03, -0.02, "selection makes this text shorter, but harder to predict"),
        (-0.01, 0.01, "1.00% more tokens than BPE"),
    ],
)  # fmt: skip
def test_what_is_said_beside_bpe(tokens: float, bits: float, said: str) -> None:
    heldout = {"fewer_tokens": tokens, "fewer_bits": bits}
    assert said in str(_beside_bpe({"selection": {"heldout": heldout}}))
    assert _beside_bpe({"selection": {"heldout": None}}) is None
    assert _beside_bpe({}) is None


# --- real text --------------------------------------------------------------------------------


def test_bound_on_real_text(volt_data: Callable[[str], Path]) -> None:
    """At ten sizes the bound is below what this and every other set of the size needs, BPE's among
    them; and ours is near it."""
    counts = volt.count([str(volt_data("multi30k/train.en"))])
    merges = volt.candidates(counts)
    pieces = propose(Proposal.of(counts, LearnSettings(select="transport"), 2))
    found = selectable(pieces)  # type: ignore[arg-type]
    path, problem = found.walk, found.problem
    rank = {text: number for number, text in enumerate(merges.tokens)}
    order = np.array([rank[text] for text in found.tokens[found.alphabet_size :]])
    for size in (100, 200, 400, 700, 1000, 1500, 2200, 3200, 4500, 6000):
        solution = solve_selection(problem, path, size)
        assert solution.bound is not None
        first = np.sort(order)[:size]
        bpe = problem.search(np.isin(order, first).astype(np.uint8))
        others = [
            solution.tokens,
            bpe.total,
            int(merges.curve.tokens[size]),
            problem.search(np.isin(np.arange(len(order)), path.ranking[:size])).total,
        ]
        assert solution.bound <= min(others)
        assert solution.tokens == min(others)
        assert solution.tokens <= solution.bound * 1.03
    assert json.dumps(solution.summary())


def test_figures_of_real_text(volt_data: Callable[[str], Path]) -> None:
    """What docs/selection.md says: fewer tokens than BPE on held-out text, and near the bound."""

    def counted(*splits: str) -> volt.WordCounts:
        names = [f"multi30k/{split}.{code}" for split in splits for code in ("en", "de")]
        return volt.count([str(volt_data(name)) for name in names])

    counts, held = counted("train"), counted("valid", "test")
    merges = volt.candidates(counts)
    found = proposed(counts, LearnSettings(select="transport"), 2)
    assert isinstance(found, Selectable)
    for size, fewer, above in ((1000, 0.06, 0.012), (4000, 0.04, 0.006), (8000, 0.025, 0.004)):
        tokens = size - found.alphabet_size
        solution = solve_selection(found.problem, found.walk, tokens)
        assert solution.bound is not None
        assert solution.tokens <= solution.bound * (1 + above)
        inside = np.ones(len(found), bool)
        inside[found.alphabet_size :] = solution.inside
        cuts = found.cut_words(inside, held, 2, False), merges.cuts(held, 2)(tokens)
        ours, theirs = (int((np.diff(cut[1]) * held.counts).sum()) for cut in cuts)
        assert ours <= theirs * (1 - fewer), size
