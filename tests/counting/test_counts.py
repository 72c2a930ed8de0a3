"""Counting: native equals the slow twin, however the text is fed, and nothing is lost unsaid."""

import gzip
import lzma
import random
import re
import unicodedata
from collections import Counter
from contextlib import contextmanager
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import volt
from volt import _core, reference
from volt.base.progress import Progress
from volt.counting import count as count_module
from volt.counting.words import PRETOKENIZERS as REGISTERED

PRETOKENIZERS = list(REGISTERED)
PATTERNS = {name: entry.pattern for name, entry in REGISTERED.items() if entry.pattern}
pretokenizers = st.sampled_from(PRETOKENIZERS)
max_word_lengths = st.sampled_from([2, 3, 4, 5, 7, 10, 64])
block_sizes = st.integers(1, 200)
thread_counts = st.sampled_from([1, 2, 5])

any_character = st.characters(exclude_categories=["Cs"])
any_plane = st.integers(0, 0x10FFFF).map(chr).filter(lambda c: not "\ud800" <= c <= "\udfff")
telling = st.sampled_from(
    [*"abA1!/' \t\r\n\0▁_é漢", "'s", "'ll", "'", "\r\n", "  ", "\u0301", "\ufeff", "\x85", "\u2028",
     "\u2029", "\x0b", "\x0c", "\x1c", "\xa0", "\u3000", "\u200b", "𝟘", "𝒳", "🏽", "\U000e0101"]
)  # fmt: skip
repeated = st.builds(lambda c, n: c * n, any_character | telling, st.integers(2, 70))
texts = st.lists(st.one_of(telling, any_character, any_plane, repeated), max_size=25).map("".join)


@contextmanager
def small_blocks(block: int | None):
    """Text is read in blocks of this size."""
    with pytest.MonkeyPatch.context() as patch:
        if block:
            patch.setattr(count_module, "BLOCK", block)
        yield


@pytest.fixture
def count_bytes(tmp_path):
    """Count bytes as a file, read in blocks of the size given."""

    def count(data: bytes, block: int | None = None, **options) -> volt.WordCounts:
        path = tmp_path / "text"
        path.write_bytes(data)
        with small_blocks(block):
            usual = {"input_format": "text", "threads": 1, "unit": "line"}
            return volt.count(path, **usual | options)

    return count


def write(folder, **texts: str):
    """Write each text to a file of that name; returns the paths."""
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    return [folder / name for name in texts]


def assert_equals_twin(
    found: volt.WordCounts, lines: list[str], pretokenizer: str, max_word_length: int
) -> None:
    slow = reference.words.count_words(lines, pretokenizer, max_word_length)
    assert list(found.items()) == list(slow.items())  # the same order, too
    words = [word for line in lines for word in reference.words.words_of(line, pretokenizer)]
    marks = sum(line.count("▁") for line in lines) if pretokenizer == "metaspace" else 0
    assert found.totals == volt.CountTotals(
        lines=len(lines),
        words=sum(slow.values()),
        cut_words=sum(len(word) > max_word_length for word in words),
        reserved=marks,
    )
    assert found.rule == volt.WordRule(pretokenizer, "none", max_word_length, reads="line")
    assert found.unit == 1


# ----------------------------------------------------------------------------- words and their cuts


@given(texts, pretokenizers, max_word_lengths, thread_counts, st.none() | block_sizes)
@example("", "metaspace", 64, 1, None)
@example("\n", "metaspace", 64, 2, None)
@example("\r\n\r\n", "metaspace", 64, 1, 1)
@example("a\r", "byte-level", 64, 1, None)
@example("no final newline", "whitespace", 64, 5, 3)
@example("\ufeff\ufeffa", "metaspace", 64, 1, 1)
@example(" ▁ ▁a▁", "metaspace", 2, 1, 2)
@example("a" * 64 + " " + "b" * 65, "whitespace", 64, 1, None)
@example(" " * 40 + "a", "byte-level", 4, 1, 7)
@example("!" * 40 + "'s", "byte-level", 4, 1, 7)
@example("«" + "a" * 40 + "!" * 40 + "\r" * 40 + "x", "byte-level:llama3", 4, 1, 7)
@example(" \r" * 20 + " " * 40 + "a'Ll", "byte-level:llama3", 4, 1, 7)
@example("!" + "A" * 40 + "b語c" * 20 + "A語AAb's" + "!\u0301" * 30, "byte-level:o200k", 4, 1, 7)
@example("\u0301" + "A" * 40 + "語" * 40 + "A" * 40 + "!/\r/" * 20, "byte-level:o200k", 4, 1, 7)
@example("語" * 40 + "b" + "A" * 9, "byte-level:o200k", 4, 1, 7)
@example("a" * 200 + "\r\n" + "b" * 200, "metaspace", 3, 2, 17)
def test_native_words_equal_the_twin(
    count_bytes, text, pretokenizer, max_word_length, threads, block
):
    found = count_bytes(
        text.encode(),
        block,
        pretokenizer=pretokenizer,
        max_word_length=max_word_length,
        threads=threads,
    )
    lines = reference.words.lines_of(text.removeprefix("\ufeff"))
    assert_equals_twin(found, lines, pretokenizer, max_word_length)


@given(
    st.lists(telling | repeated, min_size=1, max_size=12).map("".join),
    pretokenizers,
    max_word_lengths,
    block_sizes,
)
def test_a_line_longer_than_a_block_is_counted_as_if_it_were_whole(
    count_bytes, text, pretokenizer, max_word_length, block
):
    line = text.replace("\n", "")
    found = count_bytes(
        line.encode(), block, pretokenizer=pretokenizer, max_word_length=max_word_length
    )
    lines = reference.words.lines_of(line.removeprefix("\ufeff"))
    assert_equals_twin(found, lines, pretokenizer, max_word_length)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("block", [64, 1000, None])
@pytest.mark.parametrize("pool", ["aabs't'll  \t\r-,.01éß漢字▁\u0301😀", "aaabcd'  ▁ไทย\u3000😀"])
def test_many_lines_and_long_words_equal_the_twin(count_bytes, pretokenizer, block, pool):
    draw = random.Random(7)
    text = "".join(
        "".join(draw.choices(pool, k=draw.choice([0, 1, 15, 16, 17, 40, 200])))
        + draw.choice(["\n", "\r\n", " "])
        for _ in range(2000)
    )
    options = {"pretokenizer": pretokenizer, "max_word_length": 6}
    lines = reference.words.lines_of(text)
    one, two, five = (
        count_bytes(text.encode(), block, threads=threads, **options) for threads in (1, 2, 5)
    )
    assert_equals_twin(one, lines, pretokenizer, 6)
    assert list(one.items()) == list(two.items()) == list(five.items())
    assert one.totals == two.totals == five.totals


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize(
    "line",
    [
        "we're I've she'll 'tis it's don't I'm he'd ''re 'r've",
        "a       b\t\t\t\tc      \u3000 d         ",
        "a" + " " * 17 + "b" + " " * 19 + "c" + "\u3000" * 7,
        "!!!!!!'s ll aaaaaaaaaaaaa1111111111é\u0301éééééé",
        "漢字かな▁▁漢 ▁字\u200b😀😀😀😀\U0010ffff\0\0\0",
    ],
)
def test_a_cut_between_blocks_may_fall_anywhere(line, pretokenizer):
    for max_word_length in (2, 3, 4, 64):
        for block in range(1, 60):
            with small_blocks(block):
                found = volt.count(
                    [[line]], pretokenizer=pretokenizer, max_word_length=max_word_length,
                    threads=1, unit="line",
                )  # fmt: skip
            assert_equals_twin(found, [line], pretokenizer, max_word_length)


@given(
    st.lists(telling | repeated, max_size=8).map("".join),
    st.lists(telling | repeated, max_size=8).map("".join),
    pretokenizers,
    st.integers(1, 40),
)
def test_no_word_or_line_goes_on_in_the_next_file(tmp_path, one, two, pretokenizer, block):
    paths = write(tmp_path, one=one, two=two)
    with small_blocks(block):
        found = volt.count(paths, pretokenizer=pretokenizer, max_word_length=5, unit="line")
    lines = [
        line
        for text in (one, two)
        for line in reference.words.lines_of(text.removeprefix("\ufeff"))
    ]
    assert_equals_twin(found, lines, pretokenizer, 5)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_a_line_of_eight_megabytes_is_counted_like_its_words(count_bytes, pretokenizer):
    line = "ein sehr langes Wort, 2024! " * 100_000 + "語" * 2_000_000
    found = count_bytes(line.encode(), 1 << 20, pretokenizer=pretokenizer)
    if pretokenizer == "metaspace":
        # A space belongs to the next word, and the last one to the run of 語.
        assert found.to_dict() == {
            "▁ein": 100_000, "▁sehr": 100_000, "▁langes": 100_000, "▁Wort": 100_000,
            ",": 100_000, "▁2024": 100_000, "!": 100_000,
            "語" * 64: 31_249, "▁" + "語" * 63: 1, "語": 1,
        }  # fmt: skip
    elif pretokenizer == "byte-level":
        assert found.to_dict() == {
            "ein": 1, " ein": 99_999, " sehr": 100_000, " langes": 100_000, " Wort": 100_000,
            ",": 100_000, " 2024": 100_000, "!": 100_000,
            "語" * 64: 31_249, " " + "語" * 63: 1, "語": 1,
        }  # fmt: skip
    elif ":" in pretokenizer:
        years = {" ": 100_000, "202": 100_000, "4": 100_000}
        if pretokenizer in ("byte-level:qwen2", "byte-level:starcoder"):
            years = {" ": 100_000, "2": 200_000, "0": 100_000, "4": 100_000}
        long = {"語" * 64: 31_249, " " + "語" * 63: 1, "語": 1}
        if pretokenizer == "byte-level:deepseek":
            years, long = years | {" ": 100_001}, {"語" * 64: 31_250}
        assert found.to_dict() == {
            "ein": 1, " ein": 99_999, " sehr": 100_000, " langes": 100_000, " Wort": 100_000,
            ",": 100_000, "!": 100_000, **years, **long,
        }  # fmt: skip
    else:
        assert found.to_dict() == {
            "ein": 100_000, "sehr": 100_000, "langes": 100_000, "Wort,": 100_000,
            "2024!": 100_000, "語" * 64: 31_250,
        }  # fmt: skip
    assert (found.totals.lines, found.totals.cut_words) == (1, 1)


@pytest.mark.parametrize("pretokenizer", PATTERNS)
@given(
    text=st.text(
        st.characters(exclude_categories=["Cn", "Cs"])
        | st.sampled_from(" '\tslredSLſ12!/語ǅ\r\n\u0301"),
        max_size=40,
    )
)
@example(text="don't you'll  they're I've I'm he'd it's \t 'ss 'LL 'r 'v've 'ſ '\ufb06 'S'x")
@example(text=" \u3000a\x85 \x1c b")
@example(text="a12345!b «c» !\r\n\n  d \n \t\n  ?\n \u0301e\n ")
def test_byte_level_words_are_those_of_the_pattern(pretokenizer, text):
    regex = pytest.importorskip("regex")
    words = regex.findall(PATTERNS[pretokenizer], text)
    assert "".join(words) == text
    assert reference.words.words_of(text, pretokenizer) == words
    assert _core.words_of(text, pretokenizer) == words
    line = text.replace("\n", "")
    assume(not line.endswith("\r"))
    found = volt.count([[line]], pretokenizer=pretokenizer, max_word_length=1000)
    assert found.to_dict() == Counter(regex.findall(PATTERNS[pretokenizer], line))


@pytest.mark.parametrize("pretokenizer", ["whitespace", "metaspace"])
@given(text=st.lists(any_character | telling, max_size=60).map("".join))
def test_words_of_a_text_with_line_ends(pretokenizer, text):
    expected = reference.words.words_of(text, pretokenizer)
    assert _core.words_of(text, pretokenizer) == expected


@given(st.lists(any_character | telling, max_size=60).map("".join))
def test_metaspace_loses_nothing(text):
    line = text.translate(dict.fromkeys(map(ord, "▁\n\r\ufeff")))
    words = reference.words.words_of(line, "metaspace")
    assert "".join(words).replace("▁", " ") == (" " + line if line else "")
    assert all("▁" not in word[1:] for word in words)
    assert volt.count([[line]], max_word_length=1000).to_dict() == Counter(words)


def test_metaspace_cuts_where_letters_with_marks_numbers_and_the_rest_meet():
    found = volt.count([["Cafe\u0301s 2nd x²!? <a>"]], pretokenizer="metaspace").to_dict()
    assert found == dict.fromkeys(
        sorted(["▁Cafe\u0301s", "▁2", "nd", "▁x", "²", "!?", "▁<", "a", ">"], key=str.encode), 1
    )


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_line_feed_ends_a_line(count_bytes, separator):
    found = count_bytes(f"a{separator}b\nc\r\n".encode())
    assert found.totals.lines == 2


def test_a_byte_order_mark_is_skipped_at_the_start_of_a_file_and_a_character_elsewhere(count_bytes):
    found = count_bytes("\ufeffa\n\ufeffa\n".encode(), pretokenizer="whitespace")
    assert found.to_dict() == {"a": 1, "\ufeffa": 1}


# ----------------------------------------------------------------------------- normalization, UTF-8

combining = st.sampled_from(
    [*"aeo 1\n", "\r\n", "\u0301", "\u0323", "\u0308", "\u0344", "\u1100", "\u1161", "\u11a8", "가",
     "\u3131", "\u314f", "\u3133", "ｶ", "ﾞ", "\u304b", "\u3099", "\u09c7", "\u09be", "\u0dd9",
     "\u0dcf", "\u0dca", "ﬁ", "Ⅷ", "\xa0", "ſ\u0307", "\u2126", "\U0001d15e",
     "\U000110a5\U000110ba", "\u0f71\u0f72", "\uffc2", "\ufb2c", "😀"]
)  # fmt: skip


@given(
    st.lists(combining | any_character, max_size=40).map("".join),
    st.sampled_from(["nfc", "nfkc"]),
    st.none() | st.integers(1, 60),
    pretokenizers,
)
@example("\u1100" * 3 + "\u314f\u3133" * 9, "nfkc", 8, "whitespace")
@example("e" + "\u0301" * 50 + "a", "nfc", 7, "whitespace")
@example("\ufeffe\u0301", "nfc", 1, "whitespace")
def test_normalized_counts_are_those_of_normalized_lines(
    count_bytes, text, form, block, pretokenizer
):
    found = count_bytes(text.encode(), block, normalize=form, pretokenizer=pretokenizer)
    lines = [
        unicodedata.normalize(form.upper(), line)
        for line in reference.words.lines_of(text.removeprefix("\ufeff"))
    ]
    assert list(found.items()) == list(reference.words.count_words(lines, pretokenizer).items())
    assert found.totals.lines == len(lines)
    assert found.rule.normalize == form


def invalid_position(data: bytes) -> tuple[int, int, int] | None:
    """Line, offset and value of the first invalid byte, by Python's decoder."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1, error.start, data[error.start]
    return None


broken_texts = st.lists(
    st.one_of(
        st.sampled_from([b"\xff", b"\xe4\xb8", b"\xed\xa0\x80", b"\xc3", b"\xf0\x9f\x98", b"\x80"]),
        texts.map(str.encode),
        st.sampled_from([b"\n", b"\r\n", b"a" * 40, "é".encode() * 20]),
    ),
    max_size=12,
).map(b"".join)


@given(broken_texts, st.sampled_from(["none", "nfc"]), st.none() | block_sizes, thread_counts)
@example(b"\xef\xbb\xbfa\r\nb\xff", "none", None, 1)
@example(b"\xef\xbb\xbfa\r\nb\xff", "nfc", None, 1)
@example(b"a\n" * 300 + b"\xe4\xb8", "none", 50, 2)
@example(b"a" * 300 + b"\xc3\n", "nfc", 50, 1)
def test_an_invalid_byte_is_named_by_file_line_and_offset(
    count_bytes, tmp_path, data, form, block, threads
):
    assume(not data.startswith((b"\xff\xfe", b"\xfe\xff")))
    expected = invalid_position(data)
    if expected is None:
        count_bytes(data, block, normalize=form, threads=threads)
        return
    line, offset, byte = expected
    with pytest.raises(volt.InputError) as error:
        count_bytes(data, block, normalize=form, threads=threads)
    assert str(error.value).startswith(
        f"{tmp_path / 'text'}, line {line}: invalid UTF-8 (byte 0x{byte:02X} at offset {offset})"
    )


def test_in_a_compressed_file_the_offset_is_that_of_the_text(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"fine\r\n" * 1000 + b"not \xfe fine\n"))
    with pytest.raises(volt.InputError, match=r"text\.gz, line 1001: .*0xFE at offset 6004"):
        volt.count(path)


@given(broken_texts, st.sampled_from(["none", "nfc"]), st.none() | block_sizes, pretokenizers)
@example("e\u0301".encode() * 9 + b"\xff" + "\u0301".encode() * 9, "nfc", 5, "whitespace")
@example("\ufffd \ufffd".encode() + b"\xff", "none", None, "whitespace")
def test_replace_counts_what_python_reads_with_replacement(
    count_bytes, data, form, block, pretokenizer
):
    assume(not data.startswith((b"\xff\xfe", b"\xfe\xff")))
    found = count_bytes(
        data, block, on_invalid="replace", normalize=form, pretokenizer=pretokenizer
    )
    body = data.removeprefix("\ufeff".encode())
    text = body.decode(errors="replace")
    lines = reference.words.lines_of(text)
    normal = [line if form == "none" else unicodedata.normalize("NFC", line) for line in lines]
    assert list(found.items()) == list(reference.words.count_words(normal, pretokenizer).items())
    assert found.totals.replaced == text.count("\ufffd") - body.count("\ufffd".encode())
    assert found.totals.lines == len(lines)


@given(broken_texts, st.sampled_from(["none", "nfc"]), st.none() | block_sizes, pretokenizers)
@example(b"good\nbad\xff", "none", None, "whitespace")
@example(b"bad\xff\n", "none", 1, "metaspace")
@example(b"x" * 100 + b"\xff" + b"y" * 100 + b"\r\ngood", "nfc", 16, "metaspace")
def test_skip_line_counts_the_other_lines(count_bytes, data, form, block, pretokenizer):
    assume(not data.startswith((b"\xff\xfe", b"\xfe\xff")))
    found = count_bytes(
        data, block, on_invalid="skip-line", normalize=form, pretokenizer=pretokenizer
    )
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data.removeprefix("\ufeff".encode()))
    good = [line for line in lines if invalid_position(line) is None]
    text = b"".join(good).decode()
    if form != "none":
        text = unicodedata.normalize("NFC", text)
    kept = reference.words.lines_of(text)
    assert list(found.items()) == list(reference.words.count_words(kept, pretokenizer).items())
    assert found.totals.skipped_lines == len(lines) - len(good)
    assert found.totals.lines == len(kept)


# ---------------------------------------------------------------------------------- weights, limits


def exact(found: volt.WordCounts) -> dict[str, Fraction]:
    return {word: Fraction(count, found.unit) for word, count in found.items()}


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abc"), max_size=5),
            st.sampled_from(
                ["1", "2", "2.5", "0.1", "0.3", "1/3", "0.001", "7/250", "1e-3", "1e3"]
            ),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_weights_are_exact(inputs):
    found = volt.count(
        [words for words, _ in inputs],
        weights=[weight for _, weight in inputs],
        pretokenizer="whitespace",
    )
    expected: Counter[str] = Counter()
    for words, weight in inputs:
        for word in words:
            expected[word] += Fraction(weight)
    assert list(exact(found).items()) == sorted(
        expected.items(), key=lambda item: (-item[1], item[0].encode())
    )
    assert found.totals.words == sum(expected.values()) * found.unit
    assert found.totals.lines == sum(len(words) for words, _ in inputs)


def test_a_weight_stands_behind_a_path_or_in_an_option(tmp_path):
    a, b = write(tmp_path, a="x x y\n", b="y\n")
    by_name = volt.count([f"{a}:2.0", f"{b}:0.5"])
    by_option = volt.count([a, b], weights=[2, 0.5])
    assert exact(by_name) == exact(by_option) == {"▁x": 4, "▁y": Fraction(5, 2)}
    assert by_name.unit == 2
    assert exact(volt.count([a, b], weights=3)) == {"▁x": 6, "▁y": 6}
    assert exact(volt.count([a, b], weights=["0.1"])) == {
        "▁x": Fraction(1, 5),
        "▁y": Fraction(1, 5),
    }


def test_a_file_whose_name_ends_like_a_weight_is_that_file(tmp_path):
    (odd,) = write(tmp_path, **{"a:2.0": "x\n"})
    assert volt.count(odd).to_dict() == {"▁x": 1}
    assert volt.count(f"{odd}:3").to_dict() == {"▁x": 3}


@pytest.mark.parametrize(
    "weight",
    ["0", "-1", "nan", "inf", "x", "", "1e10", "1e-10", "1/0", "1e999999999", 0, float("nan")],
)
def test_a_weight_that_is_no_sensible_number_is_refused(weight):
    with pytest.raises(volt.SettingsError, match="weight"):
        volt.count([["a"]], weights=weight)


def test_weights_must_match_the_inputs_and_be_given_once(tmp_path):
    a, b = write(tmp_path, a="x\n", b="y\n")
    with pytest.raises(volt.SettingsError, match="3 weights for 2 inputs"):
        volt.count([a, b], weights=[1, 2, 3])
    with pytest.raises(volt.SettingsError, match="has a weight in its name"):
        volt.count(f"{a}:2", weights=2)


def test_weights_too_fine_to_share_a_unit_are_refused():
    with pytest.raises(volt.SettingsError, match="rounder"):
        volt.count([["a"], ["b"]], weights=["1/999999937", "1/999999929"])


@pytest.mark.parametrize("word", ["a", "▁"])
def test_counts_past_63_bits_are_an_error(tmp_path, word):
    (path,) = write(tmp_path, text=f"{word}{word} {word}\n" * 5)
    with pytest.raises(volt.InputError, match=r"text: the counts do not fit into 63 bits"):
        volt.count([path, ["b"]], weights=["1e9", "1e-9"])
    assert volt.count([path, ["b"]], weights=["1e8", "1e-9"]).unit == 10**9


def test_a_counts_file_may_hold_the_largest_count_but_not_two(tmp_path):
    largest = 2**63 - 1
    one, two = write(tmp_path, one=f"a\t{largest}\n", two="b\t1\n")
    options = {"input_format": "counts", "pretokenizer": "whitespace"}
    assert volt.count(one, **options).to_dict() == {"a": largest}
    with pytest.raises(volt.InputError, match="two: the counts do not fit into 63 bits"):
        volt.count([one, two], **options)
    with pytest.raises(volt.InputError, match="one, line 1: the weighted count does not fit"):
        volt.count(one, weights=2, **options)


def test_weighted_inputs_that_fit_one_by_one_but_not_together_are_named(tmp_path):
    a, b, c = write(tmp_path, a=f"a\t{2**62}\n", b=f"b\t{2**61}\n", c="c\t5\n")
    options = {"input_format": "counts", "pretokenizer": "whitespace"}
    assert volt.count([a, c], weights=[1, 2], **options).to_dict() == {"a": 2**62, "c": 10}
    with pytest.raises(volt.InputError, match="b and 1 more: the counts do not fit into 63 bits"):
        volt.count([a, b, c], weights=[1, 2, 2], **options)


def test_weighted_inputs_keep_their_order_and_their_samples(tmp_path):
    paths = write(tmp_path, a="a\n", b="b\nb\n", c="c\n", d="d\n")
    counts = volt.count(paths, weights=[2, "1/3", 2, 1])
    assert counts.lines_of == list(zip(map(str, paths), [1, 2, 1, 1], strict=True))
    assert [one.text for one in counts.excerpts] == [b"a\n", b"b\nb\n", b"c\n", b"d\n"]
    assert counts.weighted_lines == 2 + Fraction(2, 3) + 2 + 1


def test_weighted_counts_remember_their_parts_without_weights(tmp_path):
    half = tmp_path / "half.tsv"
    volt.count([["x y y", "y"]], pretokenizer="whitespace", weights="1/2").save(half)
    (text,) = write(tmp_path, text="x x z\n")
    counts = volt.count([half, text], weights=[6, "3/2"], pretokenizer="whitespace")
    assert (counts.to_dict(), counts.unit) == ({"y": 18, "x": 12, "z": 3}, 2)
    first, second = counts.parts
    assert (first.counts.to_dict(), first.counts.unit, first.weight) == ({"y": 3, "x": 1}, 2, 6)
    assert (second.counts.to_dict(), second.counts.unit, second.weight) == ({"x": 2, "z": 1}, 1, 3)
    assert first.counts.totals.words == 4


def test_min_count_leaves_out_rarer_words_and_says_how_many(tmp_path):
    (path,) = write(tmp_path, text="a a a b b c\n")
    found = volt.count(path, min_count=2)
    assert found.to_dict() == {"▁a": 3, "▁b": 2}
    assert (found.totals.words, found.totals.pruned_words) == (5, 1)
    assert found.totals.max_undercount == 0
    assert volt.count(path, min_count=10**30).to_dict() == {}


def test_min_count_is_compared_with_weighted_counts_but_one_leaves_out_nothing(tmp_path):
    (path,) = write(tmp_path, text="a a a a b b b c\n")
    assert volt.count(path, min_count=2, weights=0.5).to_dict() == {"▁a": 4}
    assert volt.count(path, min_count=1, weights=0.5).to_dict() == {"▁a": 4, "▁b": 3, "▁c": 1}


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=600),
    st.integers(1, 60),
    st.sampled_from([1, 30, 200, None]),
)
def test_max_types_bounds_the_list_and_the_error(count_bytes, numbers, max_types, block):
    # The square makes small numbers, hence words, far more common than large ones.
    data = "".join(f"{n * n // 400}{' ' if n % 3 else chr(10)}" for n in numbers).encode()
    one, two, five = (
        count_bytes(data, block, max_types=max_types, threads=threads, pretokenizer="whitespace")
        for threads in (1, 2, 5)
    )
    assert list(one.items()) == list(two.items()) == list(five.items())
    assert one.totals == two.totals == five.totals
    everything = count_bytes(data, pretokenizer="whitespace").to_dict()
    assert len(one) <= max_types
    assert sum(everything.values()) == one.totals.words + one.totals.pruned_words
    assert one.totals.words == sum(one.to_dict().values())
    for word, count in one.items():
        assert count <= everything[word] <= count + one.totals.max_undercount
    if len(everything) <= max_types:
        assert one.to_dict() == everything
        assert one.totals.pruned_words == one.totals.max_undercount == 0


def test_max_undercount_adds_up_over_every_pruning(count_bytes):
    rounds = b"x x a b\n" * 5  # a and b go five times, x stays
    found = count_bytes(rounds, block=8, max_types=2, pretokenizer="whitespace")
    assert found.to_dict() == {"x": 10}
    assert (found.totals.max_undercount, found.totals.pruned_words) == (5, 10)


def test_max_types_keeps_some_of_many_equally_rare_words():
    words = [f"w{n}" for n in range(30)]
    found = volt.count([words], max_types=10, pretokenizer="whitespace")
    assert found.words == sorted(words)[:10]
    assert found.totals.pruned_words == 20
    bounded = volt.count([[f"w{n}" for n in range(300)]], max_types=10, pretokenizer="whitespace")
    assert len(bounded) <= 10


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_types_that_several_threads_see_count_once_against_max_types(threads):
    lines = ["a b c d", "d c b a", "a b c d e"] * 3
    found = volt.count([lines], max_types=5, threads=threads, pretokenizer="whitespace")
    assert found.to_dict() == {"a": 9, "b": 9, "c": 9, "d": 9, "e": 3}
    assert found.totals.pruned_words == 0


def test_max_types_keeps_the_most_frequent_words_of_a_single_block():
    words = [f"w{n}" for n in range(50) for _ in range(n + 1)]
    random.Random(1).shuffle(words)
    found = volt.count([[" ".join(words)]], max_types=10, pretokenizer="whitespace")
    assert found.to_dict() == {f"w{n}": n + 1 for n in range(49, 41, -1)}
    assert found.totals.max_undercount == 42
    assert found.totals.pruned_words == sum(range(1, 43))


def test_max_types_also_bounds_the_merging_of_counts_files(tmp_path):
    text = "".join(f"w{n}\t{n + 1}\n" for n in range(50))
    (path,) = write(tmp_path, counts=text)
    found = volt.count(path, max_types=10, pretokenizer="whitespace", input_format="counts")
    assert found.to_dict() == {f"w{n}": n + 1 for n in range(49, 41, -1)}
    assert found.totals.pruned_words == sum(range(1, 43))


# ------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("pretokenizer", "bert"), ("normalize", "nfd"), ("on_invalid", "ignore"),
        ("input_format", "docx"), ("max_word_length", 1), ("max_word_length", 2**40),
        ("min_count", 0), ("max_types", 0), ("threads", 0),
    ],
)  # fmt: skip
def test_an_option_out_of_range_is_refused_by_name(option, value):
    with pytest.raises(volt.SettingsError, match=option):
        volt.count([["a"]], **{option: value})


def test_defaults_are_metaspace_unnormalized_64_characters():
    found = volt.count([["e\u0301" + "x" * 70]])
    assert found.rule == volt.WordRule("metaspace", "none", 64)
    assert found.words == ["x" * 9, "▁e\u0301" + "x" * 61]
    assert found.totals == volt.CountTotals(lines=1, words=2, cut_words=1)


def test_more_threads_than_lines_is_fine():
    assert volt.count([["a", "b"]], threads=10_000, max_types=10**30).to_dict() == {
        "▁a": 1,
        "▁b": 1,
    }


class RecordedProgress(Progress):
    @contextmanager
    def stage(self, name, total=None, unit=""):
        self.total, self.done = total, []
        yield lambda done, note="": self.done.append(done)


def test_progress_rises_to_the_size_of_all_files(tmp_path):
    progress = RecordedProgress()
    volt.count(write(tmp_path, a="x y\n" * 10, b="z\n"), progress=progress)
    assert progress.total == 42
    assert progress.done == sorted(progress.done)
    assert progress.done[-1] == 42


def test_progress_has_no_total_where_the_size_is_unknown():
    progress = RecordedProgress()
    volt.count(iter(["a"]), progress=progress)
    assert progress.total is None


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize(
    "name", ["multi30k/valid.de", "libreoffice20/valid.zh", "tatoeba-ja-en/valid.ja"]
)
def test_real_text_equals_the_twin(volt_data, pretokenizer, name):
    path = volt_data(name)
    unpack = lzma.open if path.suffix == ".xz" else open
    with unpack(path, "rb") as stream:
        text = stream.read().decode()
    found = volt.count(path, pretokenizer=pretokenizer, unit="line")
    assert_equals_twin(found, reference.words.lines_of(text), pretokenizer, 64)
