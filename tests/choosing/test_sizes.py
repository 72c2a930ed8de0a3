"""Lists of sizes as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volt.base.errors import SettingsError
from volt.choosing.sizes import MOST, parse_sizes


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1000", [1000]),
        ("500,1000,2000", [500, 1000, 2000]),
        ("2000,500,2000", [500, 2000]),
        ("1k,2K", [1000, 2000]),
        ("1_000,20_000", [1000, 20_000]),
        (" 1 , 2 ", [1, 2]),
        ("1000:3000:1000", [1000, 2000, 3000]),
        ("1000:2999:1000", [1000, 2000]),
        ("1k:3k:1k", [1000, 2000, 3000]),
        ("5:5:1", [5]),
        ("5:6:100", [5]),
        ("1k:2k:500,1500,7", [7, 1000, 1500, 2000]),
        ("999999999999", [999_999_999_999]),
    ],
)
def test_sizes_are_lists_and_ranges_that_include_their_end(text, sizes):
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    "text",
    ["", ",", "1,", ":", "a", "1.5", "-1", "0", "0k", "+1", "1e3", "k", "1kk", "1m", "1 000", "1:2",
     "1:2:3:4", "1:2:0", "0:2:1", "2:1:1", "1__0", "1_", "_1", "1_k", "٣", "²", "1;2",
     "9999999999999"],
)  # fmt: skip
def test_what_is_no_list_of_sizes_is_an_error_that_quotes_it(text):
    with pytest.raises(SettingsError) as error:
        parse_sizes(text)
    assert repr(text) in str(error.value)


def test_a_range_names_at_most_so_many_sizes():
    assert len(parse_sizes(f"1:{MOST}:1")) == MOST
    with pytest.raises(SettingsError, match="more than"):
        parse_sizes(f"1:{MOST + 1}:1")
    with pytest.raises(SettingsError, match="more than"):
        parse_sizes("1:999999999999:1")


@given(st.integers(1, 5000), st.integers(0, 5000), st.integers(1, 700))
def test_a_range_is_pythons_with_its_end(start, length, step):
    stop = start + length
    assert parse_sizes(f"{start}:{stop}:{step}") == list(range(start, stop + 1, step))


@given(st.text("0123456789kK_:, -.x", max_size=12))
def test_any_text_gives_rising_sizes_or_a_settings_error(text):
    try:
        sizes = parse_sizes(text)
    except SettingsError:
        return
    assert sizes
    assert sizes == sorted(set(sizes))
    assert sizes[0] > 0
