"""Choice: what each criterion says about the size, with words of doubt, and which tokens follow."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sizes import rows_with

import volt
from volt.base.errors import InputError, SettingsError
from volt.base.progress import Progress
from volt.choosing.choice import choose_size, fixed_choice, judge
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria.base import Evidence, Score
from volt.choosing.size_problem import SizeProblem, proposed
from volt.proposing.base import rows_of, token_set
from volt.settings import LearnSettings
from volt.tokenizing.build import build_vocabulary

SIZES = np.arange(1000, 11000, 1000)


def score(best, criterion="muv", sizes=SIZES):
    """A score that is best at one place; `muv` has no value at its first size."""
    values = np.linspace(0.1, 0.2, len(sizes))
    stepwise = criterion == "muv"
    if stepwise:
        values[0] = np.nan
    if best is not None:
        values[best] = 1.0
    return Score(criterion, sizes, values, best, stepwise)


def test_a_clear_choice_has_no_doubts():
    verdict = judge(score(4))
    assert verdict.criterion == "muv"
    assert (verdict.size, verdict.value) == (5000, 1.0)
    assert verdict.meaning == CRITERIA["muv"].meaning
    assert verdict.doubts == ()


# ---------------------------------------------------------------------------------- words of doubt


def test_the_first_step_of_s_is_no_choice_of_the_data():
    verdict = judge(score(1))
    assert verdict.size == 2000
    assert verdict.doubts == (
        "the best step (1,000 to 2,000) is the first one tried, so the list of sizes decided, not "
        "the data",
    )


def test_the_last_size_of_s_is_no_choice_of_the_data():
    verdict = judge(score(9))
    assert verdict.doubts == (
        "the best size (10,000) is the last one tried, so the list of sizes decided, not the data",
    )


def test_the_ends_of_a_curve_are_no_choice_either():
    first = judge(score(0, "mdl"))
    assert len(first.doubts) == 1
    assert "is the first one tried" in first.doubts[0]
    last = judge(score(9, "mdl"))
    assert len(last.doubts) == 1
    assert "(10,000) is the last one tried" in last.doubts[0]
    assert judge(score(1, "mdl")).doubts == ()


def test_values_that_are_missing_at_an_end_do_not_hide_it():
    values = np.array([np.nan, np.nan, 3.0, 2.0, 1.0, np.nan])
    sizes = np.arange(6) * 10 + 10
    assert "first" in judge(Score("renyi", sizes, values, 2)).doubts[0]
    values[4] = 4.0
    assert "last" in judge(Score("renyi", sizes, values, 4)).doubts[0]


def test_one_size_is_nothing_to_choose_from():
    one = Score("muv", np.array([5, 10]), np.array([np.nan, 1.0]), 1, stepwise=True)
    assert judge(one).doubts == (
        "only one size could be scored, so there was nothing to choose from",
    )


def test_no_size_qualifies():
    verdict = judge(Score("frequency", SIZES, np.full(len(SIZES), 0.5), None))
    assert (verdict.size, verdict.value) == (None, None)
    assert verdict.doubts == ("no size meets it",)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_has_a_meaning_of_one_line(criterion):
    meaning = judge(score(4, criterion)).meaning
    assert 20 < len(meaning) < 80
    assert "\n" not in meaning


# -------------------------------------------------------------------------------------- the choice

LINES = [" ".join(a + b + c for b in "eiou") for a in "lmnrst" for c in ("we", "wer", "ba")] * 150


def made_problem(lines, **options):
    """What `learn` hands to `choose_size`."""
    settings, counts = LearnSettings(**options), volt.count([lines], threads=1)
    found = proposed(counts, settings, 1)
    return SizeProblem.of(found, counts, settings, 1, Progress())


@pytest.fixture(scope="module", params=["merge", "split", "unigram", "longest"])
def problem(request):
    source = "bpe:60" if request.param in ("merge", "split") else "substring:60"
    return made_problem(LINES, candidates=source, encoding=request.param)


@pytest.fixture
def found(problem):
    return problem.candidates


def chosen(problem, **options):
    return choose_size(replace(problem, settings=replace(problem.settings, **options)))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_size_is_that_of_the_vocabulary(problem, found, criterion):
    sizes = rows_with(LINES, 4, 8, 12, 16)
    choice = chosen(problem, criterion=criterion, sizes=sizes)
    assert choice.criterion == criterion
    score = CRITERIA[criterion].score(Evidence(found, choice.steps, quality=choice.quality))
    assert replace(choice.verdict, splits=()) == judge(score)
    assert choice.size == choice.verdict.size
    assert choice.size == len(build_vocabulary(found, choice.chosen))


def test_steps_have_their_rows_and_their_s(problem, found):
    sizes = rows_with(LINES, 4, 8, 12, 16)
    choice = chosen(problem, sizes=sizes)
    # Sizes were asked for in rows; the paper's S has no fixed rows.
    assert [step.s for step in choice.steps] == [size - 260 for size in sizes]
    for step in choice.steps:
        assert step.size == len(build_vocabulary(found, step.kept)) == rows_of(found, step.kept)
        assert step.dropped == 0
        best = found.ranking("frequency")[: step.s - found.alphabet_size]
        [in_use] = found.frequencies_at([token_set(found, best)])
        assert np.array_equal(step.tokens, in_use.tokens)
    utilities = [step.muv for step in choice.steps]
    assert utilities[0] is None
    entropies = [step.entropy for step in choice.steps]
    assert utilities[1:] == pytest.approx((-np.diff(entropies) / 4).tolist())


def test_s_counts_unk_as_a_symbol_but_it_is_one_of_the_fixed_rows():
    lines = [*LINES, "qqqx"]
    problem = made_problem(lines, coverage=0.999)
    found = problem.candidates
    assert found.unknown is not None
    sizes = rows_with(lines, 5, 10, 15, coverage=0.999)
    choice = chosen(problem, sizes=sizes, rank="merge")
    assert [step.s - found.alphabet_size for step in choice.steps] == [5, 10, 15]


def test_a_given_size_is_kept_whatever_the_criteria_say(problem, found):
    sizes = rows_with(LINES, 4, 8, 12, 16)
    for size in rows_with(LINES, 0, 1, 7, 17):
        choice = chosen(problem, size=size, sizes=sizes)
        assert (choice.criterion, choice.size, choice.verdict) == ("size", size, None)
        assert len(build_vocabulary(found, choice.chosen)) == size
        assert [verdict.criterion for verdict in choice.verdicts] == list(CRITERIA)
        assert choice.messages == ()
        plain = fixed_choice(found, size, None)
        assert np.array_equal(plain.chosen, choice.chosen)
        assert (plain.size, plain.criterion, plain.steps) == (size, "size", [])


def test_doubts_of_the_criterion_that_decides_are_told(problem, found):
    options = {"criterion": "mdl", "for_model": "1M:999999"}
    choice = chosen(problem, sizes=rows_with(LINES, 5, 10, 20), **options)
    assert choice.size == found.curve.size[0]
    assert choice.messages[-1].startswith(f"{choice.size:,}: the best size is the first one tried")


def test_a_criterion_that_no_size_meets_is_an_error_that_says_what_to_do():
    few = made_problem(["low lower lowest newest"] * 3)
    with pytest.raises(InputError, match=r"frequency chooses no size .* use another `criterion`"):
        chosen(few, criterion="frequency")
    with pytest.raises(SettingsError, match="`sizes` are two or more"):
        chosen(few, sizes="300")


def test_the_summary_is_plain_data(problem):
    choice = chosen(problem, criterion="muv", sizes=rows_with(LINES, 5, 10, 15))
    summary = json.loads(json.dumps(choice.summary(), allow_nan=False))
    assert list(summary) == [
        "criterion", "size", "reason", "range", "splits", "mu", "price", "quality", "cost",
        "bound", "selection", "choices", "steps", "paper_notes", "paper_sizes",
    ]  # fmt: skip
    assert [one["size"] for one in summary["steps"]] == [step.size for step in choice.steps]
    assert [one["s"] for one in summary["steps"]] == [step.s for step in choice.steps]
    assert choice.step in choice.steps
    assert choice.step.size == choice.size
