"""The class table equals Python's unicodedata, and UTF-8 is checked as Python's decoder does it."""

import importlib.util
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from volt import _core

ROOT = Path(__file__).parents[2]


def load_tool():
    path = ROOT / "tools" / "unicode_tables.py"
    spec = importlib.util.spec_from_file_location("unicode_tables", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def python_class(code_point: int) -> int:
    character = chr(code_point)
    if character in "\t\n\v\f\r\x85" or unicodedata.category(character) in ("Zs", "Zl", "Zp"):
        return 4
    return {"L": 1, "M": 2, "N": 3}.get(unicodedata.category(character)[0], 0)


def test_table_equals_unicodedata_where_both_know_the_code_point():
    table, python = version(_core.unicode_version), version(unicodedata.unidata_version)
    differ = [c for c in range(0x110000) if _core.unicode_class(c) != python_class(c)]
    if python < table:
        # Python's assigned characters are all in the table; the rest it cannot judge.
        differ = [c for c in differ if unicodedata.category(chr(c)) != "Cn"]
    elif python > table:
        # Characters that are newer than the table have class 0 in it, and so few are new in a
        # version that a table which lost a script would stand out.
        old = unicodedata.ucd_3_2_0
        new = [c for c in differ if _core.unicode_class(c) == 0 and old.category(chr(c)) == "Cn"]
        assert len(new) < 12_000 * (python[0] - table[0] + 1)
        differ = sorted(set(differ) - set(new))
    assert differ == []


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        ("a", 1), ("ß", 1), ("漢", 1), ("ʰ", 1), ("𝒳", 1), ("𐐷", 1),
        ("\u0301", 2), ("\u093f", 2), ("\u20dd", 2), ("\ufe0f", 2),
        ("7", 3), ("٣", 3), ("Ⅷ", 3), ("½", 3), ("𝟘", 3),
        (" ", 4), ("\t", 4), ("\x0b", 4), ("\x85", 4), ("\xa0", 4), ("\u2028", 4), ("\u3000", 4),
        ("\0", 0), ("\x1c", 0), ("!", 0), ("\u200b", 0), ("\ufeff", 0), ("▁", 0), ("😀", 0),
        ("\ue000", 0), ("\U0010ffff", 0),
    ],
)  # fmt: skip
def test_classes_of_single_characters(character, expected):
    assert _core.unicode_class(ord(character)) == expected


def test_case_equals_unicodedata():
    cases = {"Lu": 1, "Lt": 1, "Ll": 2}
    for code_point in range(0x110000):
        kind = unicodedata.category(chr(code_point))
        if _core.unicode_class(code_point) == 1 and kind != "Cn":
            assert _core.letter_case(code_point) == cases.get(kind, 0), hex(code_point)


def test_a_number_past_the_last_code_point_has_no_class():
    with pytest.raises(ValueError, match="code point"):
        _core.unicode_class(0x110000)


def test_committed_table_is_what_the_tool_writes(capsys):
    tool = load_tool()
    if unicodedata.unidata_version != _core.unicode_version:
        pytest.skip(
            f"Python has Unicode {unicodedata.unidata_version}, the table {_core.unicode_version}"
        )
    tool.main()
    committed = (ROOT / "src" / "core" / "base" / "unicode_tables.inc").read_text(encoding="utf-8")
    assert capsys.readouterr().out == committed


def python_position(data: bytes) -> int:
    try:
        data.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        return error.start
    return -1


# Bytes that begin, continue or break sequences are far more common here than in random bytes.
edges = st.sampled_from(
    [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC,
     0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF]
)  # fmt: skip
parts = st.one_of(
    st.lists(edges, max_size=6).map(bytes),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4).map(str.encode),
    st.integers(0, 40).map(lambda n: b"x" * n),
    st.characters(categories=["Cs"]).map(lambda c: c.encode("utf-8", "surrogatepass")),
)


@given(st.lists(parts, max_size=8).map(b"".join))
@example(b"")
@example(b"\xed\xa0\x80")
@example(b"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80")
@example(b"0123456789abcde\xff")
@example(b"0123456789abcdef\xe4\xb8")
def test_first_invalid_byte_is_where_pythons_decoder_stops(data):
    assert _core.find_invalid_utf8(data) == python_position(data)


def test_every_pair_of_first_bytes_is_judged_as_python_does():
    for first in range(0x80, 0x100):
        for second in range(0x100):
            for tail in (b"", b"\x80", b"\x80\x80", b"\xbf\xbf\x41"):
                data = bytes([first, second]) + tail
                assert _core.find_invalid_utf8(data) == python_position(data)
                # Long text is looked at in blocks of 32 bytes: the same at every place of one.
                before = (first + second) % 37
                long = b"x" * before + data + "x\u00e9\u3042\U0001f600".encode() * 8
                assert _core.find_invalid_utf8(long) == python_position(long)


@given(st.lists(parts, min_size=8, max_size=40).map(b"".join), st.integers(0, 31))
def test_the_first_invalid_byte_of_a_long_text(data, before):
    data = "\u00e9".encode() * before + data
    assert _core.find_invalid_utf8(data) == python_position(data)
