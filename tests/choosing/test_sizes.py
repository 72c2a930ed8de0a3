"""Lists of sizes as people write them, and S, at which the paper solves transport."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volt.base.errors import InputError, SettingsError
from volt.choosing.sizes import MOST, fitting_s, listed_s, paper_s, parse_sizes


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


# ----------------------------------------------------------------------------------------------- S

PLENTY = 10**6


@pytest.mark.parametrize(
    ("alphabet", "s"),
    [
        (0, range(1000, 10_001, 1000)),
        (1, range(2000, 10_001, 1000)),
        (182, range(2000, 10_001, 1000)),
        (1000, range(2000, 10_001, 1000)),
        (1001, range(3000, 10_001, 1000)),
        (2422, range(4000, 10_001, 1000)),  # Japanese, METHOD 6
        (7000, range(8000, 10_001, 1000)),
        (8001, range(10_000, 19_001, 1000)),
        (9000, range(10_000, 19_001, 1000)),
        (9001, range(11_000, 20_001, 1000)),
        (21_000, range(22_000, 31_001, 1000)),
    ],
)
def test_the_s_of_the_paper_begins_one_step_above_the_alphabet(alphabet, s):
    assert paper_s(alphabet, PLENTY, multilingual=False) == (list(s), [])


@pytest.mark.parametrize(
    ("alphabet", "s"),
    [
        (0, range(40_000, 160_001, 10_000)),
        (30_000, range(40_000, 160_001, 10_000)),
        (30_001, range(50_000, 160_001, 10_000)),
        (155_000, range(170_000, 290_001, 10_000)),
    ],
)
def test_the_s_of_many_languages(alphabet, s):
    assert paper_s(alphabet, PLENTY, multilingual=True) == (list(s), [])


@given(st.integers(0, 400_000), st.booleans())
def test_s_starts_at_the_first_multiple_of_its_step_with_room_for_the_alphabet(
    alphabet, multilingual
):
    """METHOD 4, whatever the alphabet; never before the paper's own first size."""
    s, messages = paper_s(alphabet, PLENTY, multilingual)
    first, last, step = (40_000, 160_000, 10_000) if multilingual else (1000, 10_000, 1000)
    assert messages == []
    start = next(n for n in range(step, 10**6, step) if n >= alphabet + step)
    assert s[0] == max(first, start)
    assert s == list(range(s[0], s[-1] + 1, step))
    assert len(s) >= 2
    assert s[-1] == last or len(s) == (last - first) // step + 1


def test_sizes_that_the_candidates_do_not_reach_are_left_out_of_s():
    s, messages = paper_s(182, 4500, multilingual=False)
    assert s == [2000, 3000, 4000]
    assert messages == [
        "transport is solved at sizes from 2,000 to 4,000: the text has 182 characters and gives "
        "4,500 other candidates"
    ]
    (message,) = paper_s(182, 4500, multilingual=False, other=260)[1]
    assert "from 2,260 to 4,260" in message  # in rows, like all sizes


def test_too_little_text_scales_s_down():
    s, messages = paper_s(200, 980, multilingual=False)
    assert s == [380, 480, 580, 680, 780, 880, 980, 1080, 1180]
    assert messages == [
        "transport is solved at sizes from 380 to 1,180, not 2,000 to 10,000: the text gives 980 "
        "candidates"
    ]
    assert paper_s(182, 2, multilingual=False)[0] == [183, 184]
    for most in (0, 1):
        with pytest.raises(InputError, match=f"gives {most} candidates, too few for two sizes"):
            paper_s(182, most, multilingual=False)


def test_sizes_without_room_for_the_alphabet_are_left_out_not_scaled_up():
    assert fitting_s([10, 200, 300], 50, 10_000)[0] == [200, 300]
    assert fitting_s([50, 51, 60], 50, 10_000)[0] == [51, 60]
    for s in ([10, 20], [10, 50], [10, 300], [-200, 0]):
        with pytest.raises(SettingsError, match=r"room for the 50 characters .* larger sizes"):
            fitting_s(s, 50, 10_000)


@given(
    st.lists(st.integers(-50, 3000), min_size=2, max_size=8, unique=True).map(sorted),
    st.integers(0, 500),
    st.integers(0, 3000),
)
def test_s_always_fits_the_candidates(asked, alphabet, most):
    try:
        s, messages = fitting_s(asked, alphabet, most)
    except (InputError, SettingsError):
        assert most < 2 or sum(size > alphabet for size in asked) < 2
        return
    assert len(s) >= 2
    assert s == sorted(set(s))
    assert all(alphabet < size <= alphabet + most for size in s)
    assert s[-1] <= asked[-1]
    assert (s == asked) == (messages == [])


def test_s_is_listed_in_few_characters():
    assert listed_s(range(1000, 10_001, 1000)) == "1000:10000:1000"
    assert listed_s([14, 16, 28]) == "14,16,28"
    for s in ([14, 16, 28], [5, 6], [1000, 2000, 3000]):
        assert parse_sizes(listed_s(s)) == s
    assert listed_s([]) == ""


def test_commas_of_thousands_are_told_in_a_list():
    """A single size may be written as volt prints it: 9,920."""
    for sizes, number, plain in (
        ("9,920", "9,920", "9920"), ("8,000,16,000", "8,000", "8000"),
        ("500,16,000", "16,000", "16000"),
    ):  # fmt: skip
        with pytest.raises(SettingsError, match=f"for {number} write {plain}, a comma"):
            parse_sizes(sizes)
    assert parse_sizes("100,200,500,1000") == [100, 200, 500, 1000]
    assert parse_sizes([9, 920]) == [9, 920]
