"""The worked example, docs/example.md: every number there, written out and derived by hand.

Twelve words: low 5, lower 4, slow 3. In metaspace mode each starts with `▁`, so the text has
5*4 + 4*6 + 3*5 = 59 characters: ▁ 12, l 12, o 12, w 12, e 4, r 4, s 3.
"""

from math import log

import numpy as np
import pytest
from scipy.sparse import csr_array

import volt
from volt.choosing.transport_problem import TransportProblem
from volt.choosing.transport_solver import solve
from volt.proposing.base import token_set

TEXT = "low low low low low lower lower lower lower slow slow slow"
CHARACTERS = "elorsw▁"
TOTAL = 59

# H of Eq. 2 with 1, 2, 3 candidates (S = 8, 9, 10); -sum P ln P over the mean length of the types.
# 1: 9/32 ln(32/9) + 2 * 4/32 ln(32/4) + 5 * 3/32 ln(32/3) = 1.986218, over (7*1 + 4)/8 = 11/8
# 2: 5 * 3/24 ln(24/3) + 5/24 ln(24/5) + 4/24 ln(24/4)     = 1.925073, over (5*1 + 4 + 6)/7 = 15/7
# 3: 5/12 ln(12/5) + 4/12 ln(12/4) + 3/12 ln(12/3)         = 1.077556, over (4 + 6 + 5)/3 = 5
H = {1: 1.444522, 2: 0.898367, 3: 0.215511}

# In rows: 4 special tokens, 256 bytes, 7 characters, and 1 to 4 of the candidates.
SIZES = [268, 269, 270, 271]


@pytest.fixture(scope="module")
def counts():
    return volt.count([[TEXT]])


@pytest.fixture(scope="module")
def found(counts):
    return volt.candidates(counts)


def frequencies(found, size):
    """Tokens in use at a size, with their frequencies."""
    inside = token_set(found, found.ranking("frequency")[:size])
    pushed = found.push_down(inside).tolist()
    return {text: f for text, f in zip(found.tokens, pushed, strict=True) if f}


def transport(found, size, epsilon):
    """The plan in characters (59 times P), by token and character, and the solution."""
    inside = token_set(found, found.ranking("frequency")[:size])
    spelled = csr_array([[token.count(c) for c in CHARACTERS] for token in found.tokens])
    problem = TransportProblem.from_tokens(
        found.lengths, found.push_down(inside), spelled, epsilon=epsilon
    )
    solution = solve(problem)
    table = solution.plan.toarray() * TOTAL
    plan = {
        found.tokens[token]: {c: x for c, x in zip(CHARACTERS, row, strict=True) if x}
        for token, row in zip(problem.token_ids.tolist(), table.tolist(), strict=True)
    }
    return plan, solution


def test_counts(counts):
    assert counts.to_dict() == {"▁low": 5, "▁lower": 4, "▁slow": 3}
    assert (counts.totals.lines, counts.totals.words) == (1, 12)


def test_candidates(found):
    # Symbols by code point: `▁` is U+2581 and comes last.
    assert found.tokens[:7] == ["e", "l", "o", "r", "s", "w", "▁"]
    assert found.alphabet_counts.tolist() == [4, 12, 12, 4, 3, 12, 12]
    merges = [
        (found.tokens[a], found.tokens[b], k)
        for a, b, k in zip(found.left, found.right, found.merge_counts.tolist(), strict=True)
    ]
    assert merges == [
        ("l", "o", 12),  # as frequent as `o w`; the left token l has the lower id
        ("lo", "w", 12),
        ("▁", "low", 9),  # slow has no ▁ before its l
        ("e", "r", 4),  # as frequent as `▁low e`; e has the lower id
        ("▁low", "er", 4),
        ("s", "low", 3),  # as frequent as `▁ s`; s has the lower id
        ("▁", "slow", 3),
    ]
    # Segmented by all candidates every word is one token, and nothing else occurs.
    used = {t: f for t, f in zip(found.tokens, found.frequency.tolist(), strict=True) if f}
    assert used == {"▁low": 5, "▁lower": 4, "▁slow": 3}


def test_the_curve(found):
    # After the first merge lo (12 times): 59 - 12 = 47 tokens; e 4, r 4, s 3, w 12, ▁ 12, lo 12.
    # Rows: 4 special tokens, 256 bytes, 7 characters, and the merges.
    assert found.curve.size.tolist() == [267, 268, 269, 270, 271, 272, 273, 274]
    assert found.curve.learned.tolist() == [7, 8, 9, 10, 11, 12, 13, 14]
    assert found.curve.tokens.tolist() == [59, 47, 35, 26, 22, 18, 15, 12]
    assert found.curve.types.tolist() == [7, 6, 5, 6, 5, 5, 4, 3]
    # 2 * 4/47 ln(47/4) + 3/47 ln(47/3) + 3 * 12/47 ln(47/12) = 1.640726; six types, 7 characters
    assert found.curve.entropy[1] == pytest.approx(1.640726, abs=1e-6)
    assert found.curve.entropy_types[1] == pytest.approx(1.640726 * 6 / 7, abs=1e-6)
    assert found.curve.entropy_occurrences[1] == pytest.approx(1.640726 * 47 / 59, abs=1e-6)


def test_ranking(found):
    ranking = found.ranking("frequency")
    # Those that do not occur follow in the order of their merges.
    expected = ["▁low", "▁lower", "▁slow", "lo", "low", "er", "slow"]
    assert [found.tokens[token] for token in ranking] == expected


def test_push_down(found):
    # S = 8 keeps ▁low. From the last merge to the first: ▁slow (3) gives 3 to ▁ and slow, slow to s
    # and low, ▁lower (4) to ▁low and er, er to e and r, low (3) to lo and w, lo to l and o.
    one = {"e": 4, "l": 3, "o": 3, "r": 4, "s": 3, "w": 3, "▁": 3, "▁low": 9}
    assert frequencies(found, 1) == one
    assert TOTAL == 4 + 3 + 3 + 4 + 3 + 3 + 3 + 9 * 4
    two = {"l": 3, "o": 3, "s": 3, "w": 3, "▁": 3, "▁low": 5, "▁lower": 4}
    assert frequencies(found, 2) == two
    assert TOTAL == 5 * 3 + 5 * 4 + 4 * 6
    # S = 10 keeps all three words; the fourth candidate, lo, does not occur.
    assert frequencies(found, 3) == {"▁low": 5, "▁lower": 4, "▁slow": 3}
    assert frequencies(found, 4) == frequencies(found, 3)


def test_marginals_and_costs(found):
    _, solution = transport(found, 2, epsilon=0)
    problem = solution.problem
    # a: e 4, l 12, o 12, r 4, s 3, w 12, ▁ 12, of 59
    assert problem.character_marginal * 59 == pytest.approx([4, 12, 12, 4, 3, 12, 12])
    # b: frequency times length. l o s w ▁ 3 each, ▁low 5 * 4, ▁lower 4 * 6
    assert problem.token_marginal * 59 == pytest.approx([3, 3, 3, 3, 3, 20, 24])
    # D: the logarithm of the length, on the characters of each token alone
    assert problem.costs.nnz == 5 * 1 + 4 + 6
    assert problem.costs.toarray().sum() == pytest.approx(5 * 0 + 4 * log(4) + 6 * log(6))


def test_the_plan_at_epsilon_0(found):
    # S = 8: one merged token, so each character's plan is what its own token leaves over.
    plan, solution = transport(found, 1, epsilon=0)
    assert plan == {
        "e": {"e": pytest.approx(4)},
        "l": {"l": pytest.approx(3)},
        "o": {"o": pytest.approx(3)},
        "r": {"r": pytest.approx(4)},
        "s": {"s": pytest.approx(3)},
        "w": {"w": pytest.approx(3)},
        "▁": {"▁": pytest.approx(3)},
        "▁low": {c: pytest.approx(9) for c in "low▁"},
    }
    # <P, D> = 36/59 ln 4. H(P): four entries of 9/59, two of 4/59, five of 3/59.
    assert solution.cost == pytest.approx(0.845875, abs=1e-6)
    assert solution.objective == pytest.approx(0.845875 - 2.269578, abs=1e-6)
    # S = 9: ▁ l o w have 12 each, 3 stay alone, 9 go to ▁low and ▁lower. The four are alike, and
    # ▁low asks for 20: 5 each.
    plan, _ = transport(found, 2, epsilon=0)
    assert plan["▁low"] == {c: pytest.approx(5) for c in "low▁"}
    assert plan["▁lower"] == {c: pytest.approx(4) for c in "elorw▁"}
    plan, _ = transport(found, 3, epsilon=0)
    assert plan["▁slow"] == {c: pytest.approx(3) for c in "losw▁"}


def test_the_plan_at_epsilon_1_percent(found):
    # S = 8. Left alone, l would put x into the token l and 12 - x into ▁low where
    # ln x = ln(12 - x) + ln 4, that is x = 9.6. It may go to 3 * 1.01 = 3.03. So do o, w and ▁.
    # ▁low gets 4 * (12 - 3.03) = 35.88, above its least of 36 * 0.99 = 35.64.
    plan, solution = transport(found, 1, epsilon=0.01)
    assert [plan[c][c] for c in "low▁"] == pytest.approx([3.03] * 4)
    assert plan["▁low"] == {c: pytest.approx(8.97) for c in "low▁"}
    assert solution.moved == pytest.approx(0.12 / 59)
    # S = 9. The single ones again 3.03. ▁lower would fall to 8 + 4 * 5.03 * 4/6 = 21.4, it stops at
    # 24 * 0.99 = 23.76. ▁low takes the rest, 59 - 3 - 4 * 3.03 - 23.76 = 20.12, below 20.2.
    plan, _ = transport(found, 2, epsilon=0.01)
    assert sum(plan["▁lower"].values()) == pytest.approx(23.76)
    assert sum(plan["▁low"].values()) == pytest.approx(20.12)
    # S = 10. ▁lower stops at 23.76 again, ▁slow at 15 * 1.01 = 15.15, ▁low takes 20.09.
    plan, solution = transport(found, 3, epsilon=0.01)
    assert [sum(row.values()) for row in plan.values()] == pytest.approx([20.09, 23.76, 15.15])
    assert solution.moved == pytest.approx((0.09 + 0.24 + 0.15) / 2 / 59)
    assert solution.kept().all()


def test_entropy_muv_and_choice(counts):
    result = volt.learn(counts, criterion="muv", sizes=SIZES, epsilon=0)
    assert [step.s for step in result.steps] == [8, 9, 10, 11]
    # ▁low needs lo and low; ▁lower needs er; ▁slow needs slow. The fourth, lo, does not occur.
    assert [step.size for step in result.steps] == [270, 272, 274, 274]
    entropies = [step.entropy for step in result.steps]
    assert entropies == pytest.approx([H[1], H[2], H[3], H[3]], abs=1e-6)
    # M_t = H_t-1 - H_t, as S rises by 1; the first size has none
    utilities = [step.muv for step in result.steps]
    assert utilities[0] is None
    assert utilities[1:] == pytest.approx([0.546155, 0.682856, 0.0], abs=1e-6)
    choice = result.choice.verdict
    assert (choice.criterion, choice.size, choice.doubts) == ("muv", 274, ())
    assert choice.value == pytest.approx(0.682856, abs=1e-6)


def test_entropy_muv_and_choice_with_the_default_play(counts):
    result = volt.learn(counts, criterion="muv", sizes=SIZES)
    # P proportional to mass / length: 4 4 3 and four of 3.03, 8.97; then four of 3.03, 3, 5.03,
    # 3.96; then 5.0225, 3.96, 3.03.
    entropies = [step.entropy for step in result.steps]
    assert entropies == pytest.approx([1.446035, 0.898610, 0.215569, 0.215569], abs=1e-6)
    assert result.choice.size == 274
    assert result.choice.step.s == 10


def test_the_vocabulary(counts):
    result = volt.learn(counts, criterion="muv", sizes=SIZES)
    merged = [token for token in result.vocabulary.tokens if token.kind == "merged"]
    assert [(token.text, token.frequency) for token in merged if not token.scaffold] == [
        ("▁low", 5),
        ("▁lower", 4),
        ("▁slow", 3),
    ]
    assert [token.text for token in merged if token.scaffold] == ["lo", "low", "er", "slow"]
    # 7 characters, 3 chosen tokens, 4 scaffolds; with 4 special tokens and 256 bytes 274
    assert result.choice.size == len(result.vocabulary) == 274
    # BPE with three merges has lo, low, ▁low: one of our three
    assert result.overlap == pytest.approx(1 / 3)


def test_the_same_words_as_a_distribution_over_characters(counts):
    """Nats per character: the other mean length, over occurrences, is 59/32, 59/24, 59/12."""
    result = volt.learn(counts, criterion="muv", sizes=SIZES, epsilon=0, length="occurrences")
    expected = [1.986218 * 32 / 59, 1.925073 * 24 / 59, 1.077556 * 12 / 59]
    assert [step.entropy for step in result.steps[:3]] == pytest.approx(expected, abs=1e-6)
    assert np.argmax([step.muv or 0 for step in result.steps]) == 2
