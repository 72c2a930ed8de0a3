"""The cost of a size, and the models it is computed for."""

import numpy as np
import pytest

import volt
from volt import SettingsError
from volt.choosing.cost import MODELS, Model, cost, marginal_utility, parse_model, row_price
from volt.choosing.criteria.auto import rounded

SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
LINES = [
    " ".join(SYLLABLES[n * k % 60] + SYLLABLES[n * n * k % 59] for k in (7, 11, 13))
    for n in range(300)
]


def test_the_table_is_that_of_the_method():
    assert {one.name: (one.body, one.width) for one in MODELS.values()} == {
        "base": (44 * 10**6, 512),
        "big": (176 * 10**6, 1024),
        "gpt2": (85 * 10**6, 768),
        "1b": (10**9, 2048),
        "7b": (66 * 10**8, 4096),
        "70b": (69 * 10**9, 8192),
    }


@pytest.mark.parametrize(
    ("text", "body", "width"),
    [("300M:1024", 300 * 10**6, 1024), ("1.5b:64", 15 * 10**8, 64), ("5000:2", 5000, 2)],
)
def test_a_model_of_ones_own(text, body, width):
    assert parse_model(text) == Model(text, body, width)


def test_case_does_not_matter_and_a_bare_number_lacks_a_width():
    assert parse_model("1B") == parse_model("1b")
    with pytest.raises(SettingsError, match="not '100M'; it lacks the width: 100M:768"):
        parse_model("100M")
    for bare, width in (("1.3b", 2048), ("3b", 3072), ("8B", 4096), ("13b", 5120), ("60m", 512)):
        with pytest.raises(SettingsError, match=f"{bare}:{width}, for instance"):
            parse_model(bare)


@pytest.mark.parametrize("text", ["", "huge", "300M", "300M:", "0:512", "1M:0", "-1M:5", "1e9:512"])
def test_what_is_not_a_model_is_an_error_that_names_the_forms(text):
    with pytest.raises(SettingsError, match=r"base, big, .* or PARAMS:WIDTH such as 300M:1024"):
        parse_model(text)


def test_cost_counts_body_and_rows():
    model = Model("own", 1000, 10)
    assert cost(np.array([5, 4]), np.array([100, 200]), model).tolist() == [5 * 2000, 4 * 3000]


def test_the_cost_is_lowest_where_utility_meets_its_price():
    curve = volt.candidates([LINES]).curve
    model = Model("own", 100, 1)
    sizes = curve.size.tolist()
    cheapest = int(curve.size[np.argmin(cost(curve.tokens, curve.size, model))])
    assert sizes[0] < cheapest < sizes[-1]
    assert marginal_utility(curve, sizes[0]) is None
    assert marginal_utility(curve, cheapest) == int(
        curve.tokens[curve.at_size(cheapest - 1)] - curve.tokens[curve.at_size(cheapest)]
    )
    # The last row saved more than it cost, one row more would save less.
    price = row_price(curve, cheapest, model)
    assert price == int(curve.tokens[curve.at_size(cheapest)]) * 1 / (100 + cheapest * 1)
    assert marginal_utility(curve, cheapest + 1) <= price <= marginal_utility(curve, cheapest)


@pytest.mark.parametrize(
    ("size", "low", "high", "multiple", "expected"),
    [
        (11_743, 1880, 18_990, None, 11_712),
        (11_744, 1880, 18_990, None, 11_712),  # as far from 11,776: the lower
        (11_745, 1880, 18_990, None, 11_776),
        (491, 270, 491, None, 488),
        (4_881, 950, 4_881, None, 4_864),
        (4_860, 4_850, 4_863, None, 4_860),  # no multiple inside
        (5_000, 1, 10_000, 1000, 5_000),
        (4_095, 1, 10_000, None, 4_096),
    ],
)
def test_rounding_stays_inside_the_range(size, low, high, multiple, expected):
    assert rounded(size, low, high, multiple) == expected
