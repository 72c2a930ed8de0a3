"""Choice: the size, the interval over the draws, and the words of doubt."""

import numpy as np
import pytest

from volt.choosing.choice import choose
from volt.choosing.criteria import CRITERIA, MEANING, Score

SIZES = np.arange(1000, 11000, 1000)


def score(best, criterion="muv", sizes=SIZES):
    """A score that is best at one place; `muv` has no value at its first size."""
    values = np.linspace(0.1, 0.2, len(sizes))
    if criterion == "muv":
        values[0] = np.nan
    if best is not None:
        values[best] = 1.0
    return Score(criterion, sizes, values, best)


def test_a_clear_choice_has_no_doubts():
    choice = choose(score(4), [score(4)] * 20)
    assert choice.criterion == "muv"
    assert (choice.size, choice.value) == (5000, 1.0)
    assert choice.interval == (5000, 5000)
    assert choice.meaning == MEANING["muv"]
    assert choice.doubts == ()


def test_without_draws_there_is_no_interval():
    choice = choose(score(4))
    assert choice.interval is None
    assert choice.doubts == ()


# ---------------------------------------------------------------------------------------- interval


def picked(*places):
    return choose(score(4), [score(place) for place in places]).interval


def test_the_interval_holds_95_percent_of_the_draws():
    # Of 100 draws the 3rd from below and the 3rd from above: 2.5% lie outside on either side.
    assert picked(*[1] * 2, *[4] * 96, *[9] * 2) == (5000, 5000)
    assert picked(*[1] * 3, *[4] * 94, *[9] * 3) == (2000, 10000)
    # Of 20 draws every one counts.
    assert picked(*[4] * 19, 6) == (5000, 7000)
    assert picked(2, *[4] * 19) == (3000, 5000)
    assert picked(3) == (4000, 4000)


def test_the_interval_is_the_same_in_any_order_and_made_of_choices_that_were_made():
    places = [3, 4, 4, 5, 6, 4, 3, 4, 5, 4]
    assert picked(*places) == picked(*reversed(places)) == (4000, 7000)


# ---------------------------------------------------------------------------------- words of doubt


def test_the_first_step_of_s_is_no_choice_of_the_data():
    choice = choose(score(1))
    assert choice.size == 2000
    assert choice.doubts == (
        "the best step (1,000 to 2,000) is the first of S: where it starts decided, not the data",
    )


def test_the_last_size_of_s_is_no_choice_of_the_data():
    choice = choose(score(9))
    assert choice.doubts == (
        "the best size is the last of S (10,000): where it ends decided, not the data",
    )


def test_the_ends_of_a_curve_are_no_choice_either():
    first = choose(score(0, "mdl"))
    assert len(first.doubts) == 1
    assert "first of the sizes tried" in first.doubts[0]
    last = choose(score(9, "mdl"))
    assert len(last.doubts) == 1
    assert "last of the sizes tried (10,000)" in last.doubts[0]
    assert choose(score(1, "mdl")).doubts == ()


def test_values_that_are_missing_at_an_end_do_not_hide_it():
    values = np.array([np.nan, np.nan, 3.0, 2.0, 1.0, np.nan])
    sizes = np.arange(6) * 10 + 10
    assert "first" in choose(Score("renyi", sizes, values, 2)).doubts[0]
    values[4] = 4.0
    assert "last" in choose(Score("renyi", sizes, values, 4)).doubts[0]


def test_a_choice_that_no_draw_makes_is_in_doubt():
    choice = choose(score(4, "zipf"), [score(6, "zipf")] * 20)
    assert (choice.size, choice.interval) == (5000, (7000, 7000))
    assert choice.doubts == ("resampled counts, which lack rare words, choose 7,000 instead",)
    near = choose(score(4), [score(5)] * 10 + [score(6)] * 10)
    assert near.doubts[0].endswith("choose 6,000 to 7,000 instead")
    assert choose(score(4), [score(4)] * 10 + [score(6)] * 10).doubts == ()


def test_an_interval_over_half_of_s_is_in_doubt():
    sizes = SIZES[:9]  # 1,000 to 9,000: half of S is 4,000
    half = choose(score(4, sizes=sizes), [score(2, sizes=sizes), score(6, sizes=sizes)])
    assert half.interval == (3000, 7000)
    assert half.doubts == ()
    over = choose(score(4), [score(2)] * 10 + [score(7)] * 10)
    assert over.interval == (3000, 8000)
    assert over.doubts == (
        "resampled counts choose anything from 3,000 to 8,000, more than half of S",
    )


def test_both_doubts_are_said():
    choice = choose(score(1), [score(1)] * 10 + [score(8)] * 10)
    assert ["first" in choice.doubts[0], "more than half" in choice.doubts[1]] == [True, True]


def test_one_size_is_nothing_to_choose_from():
    one = Score("muv", np.array([5, 10]), np.array([np.nan, 1.0]), 1)
    assert choose(one).doubts == (
        "only one size could be scored, so there was nothing to choose from",
    )


def test_no_size_qualifies():
    values = np.full(len(SIZES), 0.5)
    choice = choose(Score("frequency", SIZES, values, None), [score(3, "frequency")] * 3)
    assert (choice.size, choice.value) == (None, None)
    assert choice.doubts == ("no size meets it",)


def test_no_size_qualifies_in_some_draws():
    nothing = Score("frequency", SIZES, np.full(len(SIZES), 0.5), None)
    choice = choose(score(4, "frequency"), [score(4, "frequency")] * 17 + [nothing] * 3)
    assert choice.size == 5000
    assert choice.interval is None
    assert choice.doubts == ("in 3 of 20 draws no size meets it",)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_has_a_meaning_of_one_line(criterion):
    meaning = choose(score(4, criterion)).meaning
    assert 20 < len(meaning) < 80
    assert "\n" not in meaning
